//! The page of guarantees names tests that exist.

use std::fs;
use std::path::Path;

#[test]
fn every_promise_has_tests_and_each_of_them_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/guarantees.md")).unwrap();
    let mut promises = Vec::new();
    let mut missing = Vec::new();
    for line in page.lines() {
        let number = line
            .strip_prefix("**")
            .and_then(|line| line.split_once('.'));
        if let Some(number) = number.and_then(|(number, _)| number.parse::<usize>().ok()) {
            promises.push((number, 0));
        }
        let quoted = line
            .strip_prefix("- `")
            .and_then(|line| line.split_once('`'));
        let Some((file, test)) = quoted.and_then(|(name, _)| name.split_once("::")) else {
            continue;
        };
        let source = fs::read_to_string(root.join(file)).unwrap_or_default();
        match is_test(&source, test) {
            true => promises.last_mut().unwrap().1 += 1,
            false => missing.push(line),
        }
    }
    assert!(missing.is_empty(), "there are no such tests: {missing:#?}");
    let numbers: Vec<usize> = promises.iter().map(|promise| promise.0).collect();
    assert!(numbers.iter().copied().eq(1..=25), "{numbers:?}");
    let untested: Vec<_> = promises.iter().filter(|promise| promise.1 == 0).collect();
    assert!(untested.is_empty(), "no test holds {untested:?}");
}

/// Whether a source has a function of this name with the attribute `#[test]` or `#[tokio::test]`, also as a case of
/// `proptest!`, and no `#[ignore]`.
fn is_test(source: &str, name: &str) -> bool {
    let function = format!("fn {name}(");
    let Some(at) = source.find(&function) else {
        return false;
    };
    let before = source[..at].trim_end_matches("async ");
    let attributes = { before.lines().rev() }
        .skip_while(|line| line.trim().is_empty())
        .take_while(|line| line.trim_start().starts_with("#["))
        .collect::<Vec<_>>();
    let is_test = |line: &&str| ["#[test]", "#[tokio::test]"].contains(&line.trim());
    attributes.iter().any(is_test) && !attributes.iter().any(|line| line.contains("ignore"))
}

//! The pages of guarantees and of faults name tests that exist.

use std::collections::HashSet;
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

#[test]
fn every_fault_has_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = HashSet::new();
    for folder in ["crates", "tests/tests"] {
        add_tests(&root.join(folder), &mut known);
    }
    let page = fs::read_to_string(root.join("docs/faults.md")).unwrap();
    let mut rows = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let last = cells.last().unwrap().trim();
        if ["test", "---", "the same"].contains(&last) {
            continue;
        }
        rows += 1;
        let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        // A test may stand before the modules that have it: "`a_test` in `one` and `other`".
        let is_test = |name: &&str| known.contains(name.rsplit("::").next().unwrap_or_default());
        assert!(names.iter().any(is_test), "there is no such test: {line}");
        let mut tests = names.iter().filter(|name| name.contains("::"));
        assert!(tests.all(is_test), "a test is missing: {line}");
    }
    assert!(rows > 40, "{rows} rows");
}

/// Adds the names of all tests in the sources below a folder.
fn add_tests(folder: &Path, known: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_tests(&path, known);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let names = source.split("fn ").skip(1).filter_map(|rest| {
                let name = rest.split('(').next()?;
                is_test(&source, name).then(|| name.to_owned())
            });
            known.extend(names);
        }
    }
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

//! Patterns in Python's dialect against Python's own module `re`: random ones, over texts that dialects disagree about.
//!
//! `STRUCTGEN_FULL=1` takes 10,000 of them.

#![cfg(unix)]

use std::process::Command;

use serde::Deserialize;
use structgen::frontend::regex::{Dialect, RegexOptions};
use structgen::{Checker, Constraint};
use structgen_tests::{is_full_run, report};

#[derive(Deserialize)]
struct Case {
    pattern: String,
    texts: Vec<String>,
    /// Whether Python finds that the whole of each text matches.
    whole: Vec<bool>,
    /// Whether it finds a match within.
    within: Vec<bool>,
    /// Whether the pattern has a back-reference.
    refers: bool,
}

fn cases(seed: u32, count: usize) -> Vec<Case> {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/python_patterns/patterns.py"
    );
    let run = Command::new("python3")
        .args([script, &seed.to_string(), &count.to_string()])
        .output()
        .expect("Python 3 is there");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let lines = run.stdout.split(|&byte| byte == b'\n');
    { lines.filter(|line| !line.is_empty()) }
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn random_patterns_match_what_they_match_in_python() {
    let count = if is_full_run() { 10_000 } else { 600 };
    let (mut verdicts, mut matches, mut limits) = (0, 0, 0);
    let (mut referring, mut refused, mut references) = (0, 0, 0);
    for case in cases(1, count) {
        referring += usize::from(case.refers);
        for (is_search, expected) in [(false, &case.whole), (true, &case.within)] {
            let options = RegexOptions::rust()
                .with_dialect(Dialect::Python)
                .with_search(is_search);
            let pattern = &case.pattern;
            let constraint = match Constraint::regex_with(pattern, options) {
                Ok(constraint) => constraint,
                Err(error) => {
                    let reason = error.to_string();
                    let is_known = ["a back-reference", "referred to"];
                    assert!(
                        case.refers && is_known.iter().any(|known| reason.contains(known)),
                        "{pattern:?}: {error}"
                    );
                    refused += 1;
                    continue;
                }
            };
            let checker = match Checker::new(&constraint) {
                Ok(checker) => checker,
                Err(error) if error.to_string().contains("limit") => {
                    limits += 1;
                    continue;
                }
                // A pattern that no text matches is refused.
                Err(error) => {
                    assert!(
                        error.to_string().contains("no text"),
                        "{pattern:?}: {error}"
                    );
                    assert!(!expected.contains(&true), "{pattern:?}: {error}");
                    continue;
                }
            };
            for (text, &expected) in case.texts.iter().zip(expected) {
                let fits = checker.check(text.as_bytes()).unwrap().is_none();
                assert_eq!(
                    fits, expected,
                    "{pattern:?} of {text:?}, search: {is_search}"
                );
                verdicts += 1;
                references += usize::from(case.refers);
                matches += u32::from(fits);
            }
        }
    }
    report(&format!(
        "{count} patterns, {verdicts} verdicts ({matches} matches), {references} of them of \
         {referring} patterns with back-references; {refused} of {} such constraints refused, {limits} \
         limits met",
        2 * referring
    ));
    assert!(verdicts > 40 * count && matches as usize > 2 * count);
    assert!(references > count && refused < referring);
    assert!(limits * 100 < count);
}

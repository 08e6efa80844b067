//! A record of what is known not to be right.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use structgen_tests::report;

/// What is not right: a line such as `draft7 refused ref.json: remote ref`, and why.
pub(crate) type Findings = BTreeMap<String, String>;

/// Compares with the record and fails when something is found that it does not know.
///
/// `judged` says whether this run would have met a recorded finding; the others are left as they are.
pub(crate) fn compare(name: &str, header: &str, found: &Findings, judged: impl Fn(&str) -> bool) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("conformance")
        .join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let known: Findings = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once('\t').unwrap_or((line, "")))
        .map(|(finding, reason)| (finding.to_owned(), reason.to_owned()))
        .collect();
    if std::env::var_os("STRUCTGEN_UPDATE").is_some_and(|value| value == "1") {
        let mut text = header
            .lines()
            .fold(String::new(), |text, line| text + "# " + line + "\n");
        let kept = known.iter().filter(|(line, _)| !judged(line));
        let lines: BTreeMap<_, _> = kept.chain(found).collect();
        for (finding, reason) in lines {
            let reason = known.get(finding).unwrap_or(reason);
            let _ = writeln!(text, "{finding}\t{reason}");
        }
        std::fs::write(&path, text).expect("the record can be written");
        return;
    }
    let gone: Vec<&String> = known
        .keys()
        .filter(|line| judged(line) && !found.contains_key(*line))
        .collect();
    if !gone.is_empty() {
        report(&format!(
            "{name}: {} recorded findings are gone; STRUCTGEN_UPDATE=1 takes them out of the record:",
            gone.len()
        ));
        for line in gone {
            report(&format!("  {line}"));
        }
    }
    let new = news(&known, found);
    assert!(
        new.is_empty(),
        "worse than recorded in {name}.txt:\n{}",
        new.join("\n")
    );
}

/// What was found and is not known.
fn news(known: &Findings, found: &Findings) -> Vec<String> {
    found
        .iter()
        .filter(|(line, _)| !known.contains_key(*line))
        .map(|(line, reason)| format!("{line}: {reason}"))
        .collect()
}

/// A finding on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_not_recorded_is_news_and_what_is_recorded_is_not() {
    let finding = |name: &str| (name.to_owned(), "a reason".to_owned());
    let known = Findings::from([finding("draft7 refused a.json: one"), finding("gone")]);
    let found = Findings::from([finding("draft7 refused a.json: one"), finding("new")]);
    assert_eq!(news(&known, &found), ["new: a reason"]);
}

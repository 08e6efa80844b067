//! The official suite: the required cases of every draft, and its cases of formats.

use std::path::{Path, PathBuf};

use serde_json::Value;
use structgen::KeyOrder;
use structgen::frontend::json_schema::Draft;
use structgen::{Checker, Constraint, FormatMode, Profile, SchemaOptions};
use structgen_tests::{data_folder, report};

use crate::ratchet::{Findings, compare, one_line};
use crate::{Verdict, judge};

const FOLDERS: [(Draft, &str); 5] = [
    (Draft::Draft4, "draft4"),
    (Draft::Draft6, "draft6"),
    (Draft::Draft7, "draft7"),
    (Draft::Draft2019, "draft2019-09"),
    (Draft::Draft2020, "draft2020-12"),
];

const HEADER: &str = "Cases of the official suite that are refused at compile time, or judged wrongly, each with the reason.\n\
                      Written by STRUCTGEN_UPDATE=1 cargo test -p structgen-tests --test conformance";

#[derive(Default)]
struct Counts {
    cases: usize,
    compiled: usize,
    right: usize,
}

#[test]
fn no_verdict_on_the_official_suite_is_wrong_but_for_the_recorded_ones() {
    let Some(folder) = data_folder("json-schema-test-suite") else {
        return;
    };
    let findings = judge_all(&folder, &FOLDERS, "", FormatMode::Annotate);
    compare("suite", HEADER, &findings, |_| true);
}

#[test]
fn no_verdict_on_the_suites_formats_is_wrong_but_for_the_recorded_ones() {
    let Some(folder) = data_folder("json-schema-test-suite") else {
        return;
    };
    // The formats of draft 3 are known in every dialect; the dialect itself is not.
    let folders: Vec<_> = [(Draft::Draft4, "draft3")]
        .into_iter()
        .chain(FOLDERS)
        .collect();
    let findings = judge_all(&folder, &folders, "optional/format", FormatMode::Assert);
    compare("formats", HEADER, &findings, |_| true);
}

/// Judges the cases in a folder of each draft.
fn judge_all(
    suite: &Path,
    folders: &[(Draft, &str)],
    below: &str,
    formats: FormatMode,
) -> Findings {
    let mut documents = Vec::new();
    remotes(
        &suite.join("remotes"),
        "http://localhost:1234/",
        &mut documents,
    );
    let mut findings = Findings::new();
    for &(draft, name) in folders {
        let mut options = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_order(KeyOrder::Any)
            .with_draft(draft)
            .with_formats(formats);
        for (uri, document) in &documents {
            options = options.with_document(uri.clone(), document.clone());
        }
        let mut counts = Counts::default();
        for path in json_files(&suite.join("tests").join(name).join(below)) {
            run(&path, name, &options, &mut counts, &mut findings);
        }
        let share = |n: usize| 100.0 * n as f64 / counts.cases as f64;
        report(&format!(
            "{name}/{below}: {} cases, {:.1}% compiled, {:.1}% right",
            counts.cases,
            share(counts.compiled),
            share(counts.right)
        ));
        assert!(
            counts.right * 2 > counts.cases,
            "{name}: hardly anything compiles"
        );
    }
    findings
}

fn run(
    path: &Path,
    draft: &str,
    options: &SchemaOptions,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    let file = path
        .file_name()
        .expect("a file has a name")
        .to_string_lossy();
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let mut groups: Vec<Value> = serde_json::from_str(&text).expect("the file is JSON");
    for group in &mut groups {
        if draft == "draft3" {
            group["schema"]
                .as_object_mut()
                .expect("a schema is an object")
                .remove("$schema");
        }
        let group = &*group;
        let tests = group["tests"].as_array().expect("a group has tests");
        counts.cases += tests.len();
        let name = one_line(&format!(
            "{file}: {}",
            group["description"].as_str().unwrap_or_default()
        ));
        let constraint = Constraint::json_schema(&group["schema"], options)
            .and_then(|constraint| Checker::new(&constraint));
        let checker = match constraint {
            Ok(checker) => checker,
            // No value fits: then every instance has to be invalid.
            Err(error) if is_unsatisfiable(&error) => {
                counts.compiled += tests.len();
                for test in tests {
                    if test["valid"] == true {
                        let case = test["description"].as_str().unwrap_or_default();
                        findings.insert(
                            one_line(&format!("{draft} REJECTED {name}: {case}")),
                            one_line(&error.to_string()),
                        );
                    } else {
                        counts.right += 1;
                    }
                }
                continue;
            }
            Err(error) => {
                findings.insert(
                    format!("{draft} refused {name}"),
                    one_line(&error.to_string()),
                );
                continue;
            }
        };
        counts.compiled += tests.len();
        for test in tests {
            let is_valid = test["valid"].as_bool().expect("a test says what is valid");
            let case = test["description"].as_str().unwrap_or_default();
            let (kind, reason) = match judge(&checker, &test["data"].to_string(), is_valid) {
                Verdict::Right => {
                    counts.right += 1;
                    continue;
                }
                Verdict::Accepted => ("ACCEPTED", "?".to_owned()),
                Verdict::Rejected => ("REJECTED", "?".to_owned()),
                Verdict::Unknown(error) => ("undecided", one_line(&error)),
            };
            findings.insert(one_line(&format!("{draft} {kind} {name}: {case}")), reason);
        }
    }
}

fn is_unsatisfiable(error: &structgen::Error) -> bool {
    use structgen::frontend::json_schema::SchemaError;
    matches!(
        error,
        structgen::Error::Schema(SchemaError::Unsatisfiable { .. })
    )
}

fn remotes(folder: &Path, prefix: &str, documents: &mut Vec<(String, Value)>) {
    for path in entries(folder) {
        let name = path
            .file_name()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            remotes(&path, &format!("{prefix}{name}/"), documents);
        } else if name.ends_with(".json") {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            let document = serde_json::from_str(&text).expect("the file is JSON");
            documents.push((format!("{prefix}{name}"), document));
        }
    }
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    files
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    entries.sort();
    entries
}

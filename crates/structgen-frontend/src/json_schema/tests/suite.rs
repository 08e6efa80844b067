//! The official JSON Schema Test Suite, checked against the canonical form.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::corpus::{data_folder, files, limits, report};
use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Draft, FormatMode, Profile, SchemaOptions, violations};

const FOLDERS: [(Draft, &str); 5] = [
    (Draft::Draft4, "draft4"),
    (Draft::Draft6, "draft6"),
    (Draft::Draft7, "draft7"),
    (Draft::Draft2019, "draft2019-09"),
    (Draft::Draft2020, "draft2020-12"),
];

#[derive(Default)]
struct Counts {
    right: u32,
    accepted: Vec<String>,
    rejected: Vec<String>,
    refused: BTreeMap<String, u32>,
    without_grammar: u32,
}

fn remotes(folder: &Path, prefix: &str, options: SchemaOptions) -> SchemaOptions {
    let mut options = options;
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path
            .file_name()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            options = remotes(&path, &format!("{prefix}{name}/"), options);
        } else if name.ends_with(".json") {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            let document = serde_json::from_str(&text).expect("the file is JSON");
            options = options.with_document(format!("{prefix}{name}"), document);
        }
    }
    options
}

fn run(folder: &Path, options: &SchemaOptions) -> Counts {
    let mut counts = Counts::default();
    for path in files(folder) {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let groups: Vec<Value> = serde_json::from_str(&text).expect("the file is JSON");
        for group in &groups {
            let tests = group["tests"].as_array().expect("a group has tests");
            let read = |value| Json::from_value(value, &limits()).expect("a test is small");
            let instances: Vec<Json<'_>> = tests.iter().map(|test| read(&test["data"])).collect();
            let judged = judge(&read(&group["schema"]), &instances, options);
            let name = format!(
                "{}: {}",
                path.file_name()
                    .expect("a file has a name")
                    .to_string_lossy(),
                group["description"].as_str().unwrap_or_default()
            );
            let count = u32::try_from(tests.len()).expect("a group has few tests");
            match judged.canonical {
                Ok(verdicts) => {
                    if judged.grammar.is_err() {
                        counts.without_grammar += count;
                    }
                    for (test, verdict) in tests.iter().zip(verdicts) {
                        let description = test["description"].as_str().unwrap_or_default();
                        let case = format!("{name}: {description}");
                        match (test["valid"].as_bool(), verdict) {
                            (Some(false), true) => counts.accepted.push(case),
                            (Some(true), false) => counts.rejected.push(case),
                            _ => counts.right += 1,
                        }
                    }
                }
                Err(error) => {
                    *counts
                        .refused
                        .entry(format!("{name}: {error}"))
                        .or_default() += count;
                }
            }
        }
    }
    counts
}

fn show(name: &str, counts: &Counts) {
    let refused: u32 = counts.refused.values().sum();
    report(&format!(
        "{name}: {} right ({} of them without a grammar yet), {} wrongly accepted, {} wrongly rejected, {refused} refused",
        counts.right,
        counts.without_grammar,
        counts.accepted.len(),
        counts.rejected.len(),
    ));
    for case in &counts.accepted {
        report(&format!("  ACCEPTED {case}"));
    }
    for case in &counts.rejected {
        report(&format!("  REJECTED {case}"));
    }
    for (case, count) in &counts.refused {
        report(&format!("  refused {count}: {case}"));
    }
}

#[test]
fn the_canonical_form_accepts_nothing_invalid_of_the_official_suite() {
    let Some(suite) = data_folder("json-schema-test-suite") else {
        return;
    };
    for (draft, folder) in FOLDERS {
        let options = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_draft(draft)
            .with_formats(FormatMode::Annotate);
        let options = remotes(&suite.join("remotes"), "http://localhost:1234/", options);
        let counts = run(&suite.join("tests").join(folder), &options);
        show(folder, &counts);
        assert_eq!(
            counts.accepted, [""; 0],
            "{folder}: accepted though invalid"
        );
        assert_eq!(counts.rejected, [""; 0], "{folder}: rejected though valid");
        let least = [618, 839, 927, 1_259, 1_299][draft as usize];
        assert!(counts.right >= least, "{folder}: {} right", counts.right);
    }
}

#[test]
fn asserted_formats_of_the_official_suite() {
    let Some(suite) = data_folder("json-schema-test-suite") else {
        return;
    };
    for (draft, folder) in FOLDERS {
        let options = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_draft(draft);
        let counts = run(
            &suite.join("tests").join(folder).join("optional/format"),
            &options,
        );
        show(folder, &counts);
        assert_eq!(
            counts.accepted, [""; 0],
            "{folder}: accepted though invalid"
        );
        // A-labels, and long labels of letters that happen to be short in ASCII, are left out.
        let known = |case: &&String| {
            let left_out = [
                "A-label",
                "Chinese Punycode",
                "label too long if separator ignored",
            ];
            case.contains("hostname.json") && left_out.iter().any(|what| case.contains(what))
        };
        let unknown: Vec<_> = counts.rejected.iter().filter(|case| !known(case)).collect();
        assert_eq!(unknown, [""; 0], "{folder}");
        let least = [219, 325, 656, 737, 744][draft as usize];
        assert!(counts.right >= least, "{folder}: {} right", counts.right);
    }
}

#[test]
fn values_of_the_official_suite_are_validated_exactly_against_formats() {
    let Some(suite) = data_folder("json-schema-test-suite") else {
        return;
    };
    let mut wrong = Vec::new();
    let mut all = 0;
    for (draft, folder) in FOLDERS {
        let options = SchemaOptions::new().with_draft(draft);
        let folder = suite.join("tests").join(folder).join("optional/format");
        for path in files(&folder) {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            let groups: Vec<Value> = serde_json::from_str(&text).expect("the file is JSON");
            for group in &groups {
                for test in group["tests"].as_array().expect("a group has tests") {
                    let (schema, value) = (group["schema"].to_string(), test["data"].to_string());
                    let found = violations(&schema, "", &options, &value);
                    let is_valid = found.expect("the schema is supported").is_empty();
                    all += 1;
                    if test["valid"].as_bool() != Some(is_valid) {
                        wrong.push(format!("{}: {}", path.display(), test["description"]));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(all > 2_600, "{all}");
}

//! Every refused instance of the official JSON Schema suite, beside the errors of the crate `jsonschema`.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::{Path, PathBuf};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Retrieve, Uri, ValidationError, ValidationOptions};
use serde_json::Value;
use structgen::explain::{Cause, Explainer};
use structgen::frontend::json_schema::{Draft, Violation};
use structgen::{Checker, Constraint, FormatMode, KeyOrder, Profile, SchemaOptions};
use structgen_tests::{data_folder, is_full_run, report};

const FOLDERS: [(Draft, jsonschema::Draft, &str); 5] = [
    (Draft::Draft4, jsonschema::Draft::Draft4, "draft4"),
    (Draft::Draft6, jsonschema::Draft::Draft6, "draft6"),
    (Draft::Draft7, jsonschema::Draft::Draft7, "draft7"),
    (
        Draft::Draft2019,
        jsonschema::Draft::Draft201909,
        "draft2019-09",
    ),
    (
        Draft::Draft2020,
        jsonschema::Draft::Draft202012,
        "draft2020-12",
    ),
];

/// The documents that schemas of the suite refer to.
struct Documents(HashMap<String, Value>);

impl Retrieve for Documents {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let found = self.0.get(uri.as_str()).cloned();
        found.ok_or_else(|| format!("there is no document {uri}").into())
    }
}

#[derive(Default)]
struct Counts {
    refused: usize,
    compared: usize,
    by_cause: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

#[test]
fn the_keyword_is_one_that_jsonschema_names_and_the_nearest_text_matches() {
    let Some(suite) = data_folder("json-schema-test-suite") else {
        return;
    };
    let mut documents = Vec::new();
    remotes(
        &suite.join("remotes"),
        "http://localhost:1234/",
        &mut documents,
    );
    let mut counts = Counts::default();
    for (draft, theirs, folder) in FOLDERS {
        let mut options = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_order(KeyOrder::Any)
            .with_draft(draft)
            .with_formats(FormatMode::Annotate);
        for (uri, document) in &documents {
            options = options.with_document(uri.clone(), document.clone());
        }
        let validators = jsonschema::options()
            .with_draft(theirs)
            .with_retriever(Documents(documents.iter().cloned().collect()))
            .should_validate_formats(false);
        for path in json_files(&suite.join("tests").join(folder)) {
            run(&path, folder, &options, &validators, &mut counts);
        }
    }
    report(&format!(
        "{} refused texts explained ({:?}), {} of them beside jsonschema's locations",
        counts.refused, counts.by_cause, counts.compared
    ));
    assert_eq!(counts.wrong, [""; 0]);
    assert!(counts.refused >= 200, "{} texts", counts.refused);
    assert!(counts.compared * 10 >= counts.refused * 9);
}

fn run(
    path: &Path,
    folder: &str,
    options: &SchemaOptions,
    validators: &ValidationOptions<'_>,
    counts: &mut Counts,
) {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let groups: Vec<Value> = serde_json::from_str(&text).expect("the file is JSON");
    for (number, group) in groups.iter().enumerate() {
        // A sixth of the groups is enough for every day.
        if number % 6 != 0 && !is_full_run() {
            continue;
        }
        let schema = &group["schema"];
        let document = schema.to_string();
        let Ok(constraint) = Constraint::json_schema_str(&document, options) else {
            continue;
        };
        let Ok(checker) = Checker::new(&constraint) else {
            continue;
        };
        let explainer = Explainer::new(&constraint, checker).with_schema(&document, "", options);
        let theirs = validators.build(schema).ok();
        for test in group["tests"].as_array().expect("a group has tests") {
            if test["valid"] == true {
                continue;
            }
            let instance = &test["data"];
            let text = instance.to_string();
            let explanation = explainer
                .explain(text.as_bytes())
                .expect("within the limits");
            let explanation = explanation.expect("an invalid instance is refused");
            counts.refused += 1;
            *counts.by_cause.entry(explanation.cause.name()).or_default() += 1;
            let case = format!(
                "{folder}/{}: {}: {}: {text}",
                path.file_name()
                    .expect("a file has a name")
                    .to_string_lossy(),
                group["description"].as_str().unwrap_or_default(),
                test["description"].as_str().unwrap_or_default(),
            );
            match explainer
                .nearest(text.as_bytes())
                .expect("within the limits")
            {
                Some(near) if matches(&explainer, &near.text) => {}
                near => counts.wrong.push(format!("{case}: nearest {near:?}")),
            }
            let Cause::Keyword(violation) = &explanation.cause else {
                counts
                    .wrong
                    .push(format!("{case}: {:?}", explanation.cause));
                continue;
            };
            let Some(theirs) = &theirs else {
                continue;
            };
            counts.compared += 1;
            let locations: Vec<_> = theirs.iter_errors(instance).flat_map(locations).collect();
            let ours = location(violation);
            if !locations
                .iter()
                .any(|theirs| is_same(&ours, theirs, schema))
            {
                counts
                    .wrong
                    .push(format!("{case}: {ours:?}, theirs {locations:?}"));
            }
        }
    }
}

fn matches(explainer: &Explainer, text: &[u8]) -> bool {
    matches!(explainer.checker().check(text), Ok(None))
}

/// The JSON Pointers of the value and of the keyword.
fn location(violation: &Violation) -> (String, String) {
    let keyword = violation
        .keyword
        .split_once('#')
        .map_or("", |parts| parts.1);
    (violation.instance.clone(), keyword.to_owned())
}

/// Whether two locations are the same. The validator counts from the innermost schema with an `$id`, structgen from the
/// root of the document.
fn is_same(ours: &(String, String), theirs: &(String, String), schema: &Value) -> bool {
    let Some(prefix) = ours.1.strip_suffix(&*theirs.1) else {
        return false;
    };
    let has_id = |within: &Value| within.get("$id").is_some() || within.get("id").is_some();
    ours.0 == theirs.0 && (prefix.is_empty() || schema.pointer(prefix).is_some_and(has_id))
}

/// The locations of an error, in the convention of structgen: the value is the member or item that is refused, where
/// the validator names the object or array, and the keyword is that of the object, where the validator names one of a
/// schema that its keys are judged by. In draft 4, `exclusiveMaximum` is a boolean about the keyword that refuses.
fn locations(error: ValidationError<'_>) -> Vec<(String, String)> {
    let instance = error.instance_path().as_str().to_owned();
    let keyword = error.schema_path().as_str().to_owned();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => { unexpected.iter() }
            .map(|key| (format!("{instance}/{key}"), keyword.clone()))
            .collect(),
        ValidationErrorKind::AdditionalItems { limit } => {
            vec![(format!("{instance}/{limit}"), keyword)]
        }
        ValidationErrorKind::PropertyNames { .. } => {
            let end = keyword.rfind("/propertyNames").unwrap_or(keyword.len());
            vec![(instance, format!("{}/propertyNames", &keyword[..end]))]
        }
        ValidationErrorKind::ExclusiveMaximum { .. }
        | ValidationErrorKind::ExclusiveMinimum { .. } => {
            let bound = keyword.replace("exclusiveM", "m");
            vec![(instance.clone(), bound), (instance, keyword)]
        }
        _ => vec![(instance, keyword)],
    }
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = { std::fs::read_dir(folder).expect("the folder can be read") }
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}

fn remotes(folder: &Path, prefix: &str, documents: &mut Vec<(String, Value)>) {
    let mut entries: Vec<PathBuf> = { std::fs::read_dir(folder).expect("the folder can be read") }
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path
            .file_name()
            .expect("a file has a name")
            .to_string_lossy();
        if path.is_dir() {
            remotes(&path, &format!("{prefix}{name}/"), documents);
        } else if name.ends_with(".json") {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            let document = serde_json::from_str(&text).expect("the file is JSON");
            documents.push((format!("{prefix}{name}"), document));
        }
    }
}

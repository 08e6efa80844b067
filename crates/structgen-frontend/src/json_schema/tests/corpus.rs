//! Real schemas from the data set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Profile, SchemaError, SchemaLimits, SchemaOptions, SchemaWarning};

#[path = "../../../../../tests/src/data.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the tests of the whole, which use all of it"
)]
mod data_set;
pub(super) use data_set::{data_folder, report};

pub(super) fn limits() -> SchemaLimits {
    SchemaLimits::default()
}

/// All JSON files of a folder, sorted.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}

#[test]
fn real_schemas_compile_and_judge_their_instances_as_marked() {
    let Some(folder) = data_folder("maskbench") else {
        return;
    };
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut all, mut compiled, mut wrong) = (0, 0, Vec::new());
    let mut slowest = (std::time::Duration::ZERO, String::new());
    let mut total = std::time::Duration::ZERO;
    for path in files(&folder) {
        let name = path
            .file_name()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let file: serde_json::Value = serde_json::from_str(&text).expect("the file is JSON");
        let tests = file["tests"].as_array().expect("a file has tests");
        let read = |value| Json::from_value(value, &limits()).expect("an instance is small");
        let instances: Vec<Json<'_>> = tests.iter().map(|test| read(&test["data"])).collect();
        all += 1;
        let start = std::time::Instant::now();
        let whole = super::super::compile(&file["schema"], &options);
        let took = start.elapsed();
        if std::env::var_os("STRUCTGEN_TIMES").is_some() {
            report(&format!(
                "TIME {} {name} {}",
                took.as_micros(),
                whole.is_ok()
            ));
        }
        total += took;
        if took > slowest.0 {
            slowest = (took, name.clone());
        }
        let judged = judge(&read(&file["schema"]), &instances, &options);
        assert_eq!(whole.is_ok(), judged.grammar.is_ok(), "{name}");
        match &judged.grammar {
            Ok(()) => compiled += 1,
            Err(_) => reasons
                .entry(reason(&whole.expect_err("both are refused")))
                .or_default()
                .push(name.clone()),
        }
        if let Ok(verdicts) = &judged.canonical {
            for (test, verdict) in tests.iter().zip(verdicts) {
                if test["valid"].as_bool() != Some(*verdict) {
                    wrong.push(format!("{name}: judged {verdict}"));
                }
            }
        }
    }
    for (reason, names) in &reasons {
        report(&format!("{:5} {reason} ({})", names.len(), names[0]));
    }
    report(&format!(
        "{compiled} of {all} compiled, {:.1}%; mean {:?}, slowest {slowest:?}",
        f64::from(compiled) * 100.0 / f64::from(all),
        total / all
    ));
    // Only draft 4 decides by the notation whether a number is an integer (`12345.0` is not), and the canonical form is
    // about values.
    assert_eq!(wrong, ["Github_easy---o24544.json: judged true"]);
    assert!(compiled >= 5_120, "fewer schemas compile than before");
}

/// The kind of refusal.
fn reason(error: &SchemaError) -> String {
    match error {
        SchemaError::Unsupported {
            keyword, reason, ..
        } => format!("{keyword}: {reason}"),
        SchemaError::Limit { what, .. } => format!("limit: {what}"),
        SchemaError::InvalidKeyword { keyword, .. } => format!("invalid {keyword}"),
        SchemaError::UnresolvedReference { .. } => "unresolved reference".to_owned(),
        SchemaError::Unsatisfiable { conflicts, .. } => {
            format!("unsatisfiable: {}", conflicts.join(", "))
        }
        other => other.to_string(),
    }
}

/// Every warning about a real schema was checked by hand: each reports a real misspelling.
#[test]
fn real_schemas_are_warned_of_for_what_is_misspelt() {
    let Some(folder) = data_folder("maskbench") else {
        return;
    };
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for path in files(&folder) {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let file: serde_json::Value = serde_json::from_str(&text).expect("the file is JSON");
        let Ok(compiled) = super::super::compile(&file["schema"], &SchemaOptions::new()) else {
            continue;
        };
        for warning in compiled.report.warnings {
            let what = match warning {
                SchemaWarning::Keyword {
                    keyword, nearest, ..
                } => format!("`{keyword}` for `{nearest}`"),
                SchemaWarning::Format {
                    format, nearest, ..
                } => format!("format `{format}` for `{nearest}`"),
                SchemaWarning::Wrapper { what, .. } => what.to_owned(),
                SchemaWarning::Instance { members, .. } => format!("only {members}"),
            };
            *counts.entry(what).or_default() += 1;
        }
    }
    let lines = counts
        .iter()
        .map(|(what, count)| format!("{count} {what}\n"));
    expect_test::expect![[r#"
        1 `additinalProperties` for `additionalProperties`
        1 `additionalitems` for `additionalItems`
        1 `additionalproperties` for `additionalProperties`
        10 `additonalProperties` for `additionalProperties`
        4 `anyof` for `anyOf`
        1 `exclusiveMinimumm` for `exclusiveMinimum`
        3 `item` for `items`
        1 `maxlength` for `maxLength`
        1 `maxmimum` for `maximum`
        1 `minLegth` for `minLength`
        1 `minLenght` for `minLength`
        1 `minLenth` for `minLength`
        6 `minimum:` for `minimum`
        1 `mininum` for `minimum`
        2 `minitems` for `minItems`
        1 `minlength` for `minLength`
        1 `oneof` for `oneOf`
        1 `patternProperties:` for `patternProperties`
        1 `properites` for `properties`
        1 `properties ` for `properties`
        3 `ref` for `$ref`
        1 `requred` for `required`
        1 `type"` for `type`
        8 `type:` for `type`
        2 format `DATE` for `date`
        3 format `URI` for `uri`
        2 format `datetime` for `date-time`
        1 only `FuelInventoryReport`
        1 only `LanguageLearning`
        1 only `LogisticsDashboard`
    "#]]
    .assert_eq(&lines.collect::<String>());
}

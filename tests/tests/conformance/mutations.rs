//! Real documents with something changed: judged as an independent validator judges them.
//!
//! A slice by default; `STRUCTGEN_FULL=1` judges 100,000 of them. `STRUCTGEN_VERDICTS=FILE` writes all verdicts, which
//! `tests/conformance/second_validator.py` compares with those of another validator.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::{Map, Number, Value, json};
use structgen::{Checker, Constraint, FormatMode, KeyOrder, Profile, SchemaOptions};
use structgen_maskbench::{Case, case_files};
use structgen_tests::{SplitMix, data_folder, is_full_run, report};

/// The values in a document.
fn values<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    found.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| values(item, found)),
        Value::Object(entries) => entries.values().for_each(|item| values(item, found)),
        _ => {}
    }
}

/// Returns a random element.
fn one<'v, T>(random: &mut SplitMix, all: &'v [T]) -> Option<&'v T> {
    (!all.is_empty()).then(|| &all[random.below(all.len())])
}

/// The document with one thing changed; `others` are values that real documents of its kind have.
fn mutated(random: &mut SplitMix, old: &Value, others: &[&Value]) -> Value {
    let goes_down = random.below(4) > 0;
    match old {
        Value::Array(items) if !items.is_empty() => {
            let mut items = items.clone();
            let at = random.below(items.len());
            if goes_down {
                items[at] = mutated(random, &items[at].clone(), others);
                return items.into();
            }
            match random.below(4) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.swap(at, 0),
                _ => items.extend(one(random, others).map(|&other| other.clone())),
            }
            items.into()
        }
        Value::Object(entries) if !entries.is_empty() => {
            let keys: Vec<&String> = entries.keys().collect();
            let key = keys[random.below(keys.len())].clone();
            let mut entries = entries.clone();
            if goes_down {
                let new = mutated(random, &entries[&key], others);
                entries.insert(key, new);
                return entries.into();
            }
            match random.below(4) {
                0 => drop(entries.remove(&key)),
                1 => {
                    let value = entries.remove(&key);
                    entries.extend(value.map(|value| (changed(random, &key), value)));
                }
                2 => {
                    let objects = others.iter().filter_map(|other| other.as_object());
                    let keys: Vec<&String> = objects.flat_map(Map::keys).collect();
                    if let (Some(&key), Some(&value)) = (one(random, &keys), one(random, others)) {
                        entries.insert(key.clone(), value.clone());
                    }
                }
                _ => {
                    let value = one(random, others).map_or(Value::Null, |&other| other.clone());
                    entries.insert(key, value);
                }
            }
            entries.into()
        }
        Value::String(text) if goes_down => changed(random, text).into(),
        Value::Number(number) if goes_down => near(random, number),
        _ => match random.below(3) {
            0 => json!([null, true, false, 0, -1, 1.5, "", [], {}])[random.below(9)].clone(),
            _ => one(random, others).map_or(Value::Null, |&other| other.clone()),
        },
    }
}

/// A text with one character more, less, or another.
fn changed(random: &mut SplitMix, text: &str) -> String {
    const CHARACTERS: [char; 10] = ['a', 'Z', '0', '-', '.', ' ', '/', 'é', '\n', '😀'];
    let mut characters: Vec<char> = text.chars().collect();
    let at = random.below(characters.len() + 1);
    let new = CHARACTERS[random.below(CHARACTERS.len())];
    match random.below(4) {
        0 if at < characters.len() => drop(characters.remove(at)),
        1 if at < characters.len() => characters[at] = new,
        2 => return text.to_lowercase(),
        _ => characters.insert(at, new),
    }
    characters.into_iter().collect()
}

/// A number near another one. Those that doubles skip, or write with an exponent, are not the validator's to judge.
fn near(random: &mut SplitMix, number: &Number) -> Value {
    const EXACT: f64 = (1_u64 << 53) as f64;
    if number.as_f64().is_none_or(|value| value.abs() >= EXACT) {
        return number.clone().into();
    }
    match (number.as_i64(), random.below(4)) {
        (Some(whole), 0) => whole.saturating_add(1).into(),
        (Some(whole), 1) => whole.saturating_sub(1).into(),
        (Some(whole), 2) => whole.saturating_neg().into(),
        _ => {
            Number::from_f64(number.as_f64().unwrap_or(0.0) + 0.5).map_or(Value::Null, Value::from)
        }
    }
}

#[test]
fn real_documents_with_something_changed_are_judged_as_an_independent_validator_judges_them() {
    let Some(folder) = data_folder("maskbench") else {
        return;
    };
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any)
        // Validators differ in what formats they know, and how far they check them.
        .with_formats(FormatMode::Annotate);
    let mut verdicts = std::env::var_os("STRUCTGEN_VERDICTS")
        .map(|path| BufWriter::new(File::create(path).expect("the file can be written")));
    let (step, per_file) = if is_full_run() { (1, 21) } else { (20, 8) };
    let files = case_files(&[folder]).expect("the folder can be read");
    let mut random = SplitMix::new(11);
    let (mut judged, mut valid, mut schemas, mut undecided) = (0, 0, 0, 0);
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files.iter().step_by(step) {
        let case = Case::read(path, false).expect("the file is a case");
        let validator = jsonschema::options()
            .should_validate_formats(false)
            .build(&case.schema);
        let checker = Constraint::json_schema(&case.schema, &options)
            .and_then(|constraint| Checker::new(&constraint));
        let (Ok(validator), Ok(checker)) = (validator, checker) else {
            continue;
        };
        schemas += 1;
        let read =
            |text: &String| serde_json::from_str::<Value>(text).expect("an instance is JSON");
        let documents: Vec<Value> = { case.instances.iter() }
            .map(|instance| read(&instance.text))
            .collect();
        let mut others = Vec::new();
        documents
            .iter()
            .for_each(|document| values(document, &mut others));
        for _ in 0..per_file {
            let Some(mut document) = one(&mut random, &documents).cloned() else {
                break;
            };
            for _ in 0..=random.below(3) {
                document = mutated(&mut random, &document, &others);
            }
            let text = document.to_string();
            let Ok(mismatch) = checker.check(text.as_bytes()) else {
                undecided += 1;
                continue;
            };
            let is_valid = mismatch.is_none();
            judged += 1;
            valid += usize::from(is_valid);
            if let Some(out) = &mut verdicts {
                let line = json!({"file": case.file, "document": document, "valid": is_valid});
                writeln!(out, "{line}").expect("the file can be written");
            }
            if is_valid != validator.is_valid(&document) {
                wrong.entry(case.file.clone()).or_default().push(text);
            }
        }
    }
    report(&format!(
        "{judged} changed documents of {schemas} schemas, {valid} of them valid; {undecided} undecided"
    ));
    assert!(judged > 20 * undecided && judged > schemas);
    assert!(
        valid * 10 > judged && valid * 10 < judged * 9,
        "{valid} of {judged} are valid"
    );
    let shown: Vec<String> = { wrong.iter() }
        .map(|(file, texts)| format!("{file} ({}): {}", texts.len(), texts[0]))
        .collect();
    assert!(wrong.is_empty(), "judged otherwise:\n{}", shown.join("\n"));
}

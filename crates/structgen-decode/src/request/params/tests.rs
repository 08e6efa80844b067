use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::samplers::SamplingError;
use crate::{SamplingParams, Strategy};

fn set(params: &mut Params, name: &str, value: &str) -> String {
    match params.set(name, value) {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    }
}

/// Returns the serde form with every group on, and this strategy.
fn full_form(strategy: &str) -> Value {
    let mut params = Params::default();
    params.set("strategy", strategy).unwrap();
    for row in PARAMETERS {
        if matches!(row.kind, ParameterKind::Group(_))
            && row.strategy().is_none_or(|own| own == strategy)
        {
            params.set(row.name, "on").unwrap();
        }
    }
    serde_json::to_value(params).unwrap()
}

/// Collects the paths of a form, down to those that have a row in the table.
fn paths(form: &Value, path: &str, rows: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    if rows.contains(path) {
        found.insert(path.to_owned());
        let is_inner =
            |row: &String| { row.strip_prefix(path) }.is_some_and(|rest| rest.starts_with('.'));
        if !rows.iter().any(is_inner) || path == "strategy" {
            return;
        }
    }
    match form {
        Value::Object(members) => {
            for (key, member) in members {
                paths(
                    member,
                    format!("{path}.{key}").trim_start_matches('.'),
                    rows,
                    found,
                );
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_table_has_every_field_of_the_serde_forms_and_no_other() {
    for strategy in Strategy::NAMES {
        let rows = PARAMETERS
            .iter()
            .filter(|row| row.strategy().is_none_or(|own| own == strategy));
        let rows: BTreeSet<String> = rows
            .map(Parameter::path)
            .filter(|path| path != "strategy")
            .collect();
        let mut found = BTreeSet::new();
        paths(&full_form(strategy), "", &rows, &mut found);
        // The parameter `strategy` sets the name.
        assert!(found.remove("strategy.name"));
        assert_eq!(found, rows, "{strategy}");
    }
}

#[test]
fn the_table_has_every_strategy() {
    let unknown = serde_json::from_value::<Strategy>(json!({"name": "no such"}));
    let known = unknown.unwrap_err().to_string();
    let (_, known) = known.split_once("expected one of ").unwrap();
    let known: Vec<&str> = known
        .split(", ")
        .map(|name| name.trim_matches('`'))
        .collect();
    assert_eq!(known, Strategy::NAMES);
    for name in Strategy::NAMES {
        assert_eq!(Strategy::named(name).unwrap().name(), name);
    }
}

#[test]
fn names_are_unique_and_every_help_is_a_line() {
    let names: BTreeSet<&str> = PARAMETERS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), PARAMETERS.len());
    for row in PARAMETERS {
        assert!(
            !row.help.contains('\n') && !row.help.ends_with('.'),
            "{}",
            row.name
        );
        assert!(
            row.strategy()
                .is_none_or(|name| Strategy::NAMES.contains(&name))
        );
    }
}

#[test]
fn a_number_outside_its_range_is_refused_in_every_group() {
    for row in PARAMETERS.iter().filter(|row| row.place == Place::Sampling) {
        let ParameterKind::Number(range) = row.kind else {
            continue;
        };
        for number in [-1.0, -0.001, 0.0, 0.5, 0.99, 0.995, 1.0, 1.5, 1e30] {
            let mut form = full_form("sample");
            let place = form
                .pointer_mut(&format!("/{}", row.path().replace('.', "/")))
                .unwrap();
            *place = number.into();
            let sampling: SamplingParams =
                serde_json::from_value(form["options"]["sampling"].clone()).unwrap();
            let is_outside = matches!(sampling.validate(), Err(SamplingError::OutOfRange(_)));
            assert_eq!(
                is_outside,
                !range.contains(number),
                "{} = {number}",
                row.name
            );
        }
    }
}

#[test]
fn a_default_that_is_set_changes_nothing() {
    for row in PARAMETERS {
        let mut params = Params::default();
        if let Some(strategy) = row.strategy() {
            params.set("strategy", strategy).unwrap();
        }
        let is_in_group = !row.group().is_empty();
        let default = row.default_value();
        let text = match (&row.kind, &default) {
            (_, Value::Null) if matches!(row.kind, ParameterKind::Group(_)) => "off".to_owned(),
            (_, Value::Null) => "none".to_owned(),
            (ParameterKind::Tagged(_), Value::Object(tag)) => {
                let (word, number) = tag.iter().next().unwrap();
                format!("{word}:{number}")
            }
            (_, Value::String(text)) => text.clone(),
            (ParameterKind::Strategy(_), _) => "sample".to_owned(),
            (_, value) => value.to_string(),
        };
        let before = params.clone();
        assert_eq!(
            set(&mut params, row.name, &text),
            "",
            "{} = {text}",
            row.name
        );
        assert_eq!(params == before, !is_in_group, "{} = {text}", row.name);
    }
}

#[test]
fn names_may_be_short_where_one_parameter_has_them() {
    let mut params = Params::default();
    for (name, value) in [
        ("top_h", "0.5"),
        ("options.sampling.top-k", "7"),
        ("multiplier", "0.5"),
        ("xtc.threshold", "0.2"),
    ] {
        assert_eq!(set(&mut params, name, value), "");
    }
    let sampling = &params.options.sampling;
    assert_eq!((sampling.top_h, sampling.top_k), (0.5, 7));
    assert_eq!(sampling.dry.as_ref().unwrap().multiplier, 0.5);
    assert_eq!(sampling.xtc.unwrap().probability, 0.5);
    assert_eq!(set(&mut params, "strategy", "contrastive-search"), "");
    assert_eq!(set(&mut params, "alpha", "0.25"), "");
    assert_eq!(set(&mut params, "strategy.top_k", "2"), "");
    let search = crate::strategies::ContrastiveSearch {
        alpha: 0.25,
        top_k: 2,
    };
    assert_eq!(params.strategy, search.into());
    assert_eq!(params.options.sampling.top_k, 7);
}

#[test]
fn what_cannot_be_set_is_told_by_name_range_and_near_names() {
    let mut params = Params::default();
    let mut errors = Vec::new();
    for (name, value) in [
        ("top_hh", "1"),
        ("penalty", "1"),
        ("max_tokens", "1"),
        ("tempereture", "1"),
        ("", "1"),
        ("alpha", "1"),
        ("width", "4"),
        ("top_h", "1.5"),
        ("top_k", "-1"),
        ("typical_p", "0"),
        ("xtc.probability", "often"),
        ("temperature", "inf"),
        ("stop_text", "gone"),
        ("overflow", "crop"),
        ("order", "top-q"),
        ("dry", r#"{"multiplyer": 1}"#),
        ("suppress", "1,x"),
        ("strategy", "beams"),
        ("sequences", "none"),
    ] {
        errors.push(set(&mut params, name, value));
    }
    assert_eq!(params, Params::default());
    expect_test::expect![[r#"
        there is no parameter "top_hh"; did you mean top_h, contrastive_search.top_k, top_k or top_p?
        there is no parameter "penalty"; did you mean beam.length_penalty, presence_penalty, beam.diversity_penalty, frequency_penalty or repetition_penalty?
        there is no parameter "max_tokens"; did you mean max_new_tokens?
        there is no parameter "tempereture"; did you mean temperature?
        there is no parameter ""
        "alpha" may be any of contrastive.alpha, contrastive_search.alpha: give the name in full
        beam.width is a parameter of the strategy beam, and the strategy is sample: choose beam first
        top_h is "1.5", and must be a number, from 0 to 1
        top_k is "-1", and must be a whole number, 0 or more
        typical_p is "0", and must be a number, above 0, and at most 1
        xtc.probability is "often", and must be a number, from 0 to 1
        temperature is "inf", and must be a number, 0 or more
        stop_text is "gone", and must be trimmed or kept
        overflow is "crop", and must be error or crop:N
        order is "top-q", and must be the name of an order, or samplers with commas between them: unknown variant `top-q`, expected one of `forced-tokens`, `suppress`, `logit-bias`, `min-length`, `bad-words`, `repetition-penalty`, `repetition-guard`, `frequency-presence-penalty`, `dry`, `no-repeat-ngram`, `length-decay`, `top-n-sigma`, `temperature`, `top-h`, `top-k`, `typical-p`, `top-p`, `min-p`, `epsilon`, `eta`, `xtc`, `watermark`, `mirostat`, `adaptive-p`
        dry is "{\"multiplyer\": 1}", and must be on, off, or a JSON object: unknown field `multiplyer`, expected one of `multiplier`, `base`, `allowed_length`, `range`, `breakers`
        suppress is "1,x", and must be token ids with commas between them
        strategy is "beams", and must be sample, speculate, beam, guidance, contrastive, contrastive_search, asap, rejection or smc
        sequences is "none", and must be a whole number, 1 or more"#]].assert_eq(&errors.join("\n"));
}

#[test]
fn what_a_strategy_does_not_honour_is_told_with_both() {
    let mut params = Params::default();
    for (name, value) in [("strategy", "beam"), ("temperature", "0.5")] {
        assert_eq!(set(&mut params, name, value), "");
    }
    let error = params.check().unwrap_err().to_string();
    assert!(
        error.contains("beam") && error.contains("sampling.temperature"),
        "{error}"
    );
    let row = |name| PARAMETERS.iter().find(|row| row.name == name).unwrap();
    assert!(!row("xtc.threshold").honoured_by().contains(&"beam"));
    assert!(row("dry.base").honoured_by().contains(&"beam"));
    assert_eq!(row("beam.width").honoured_by(), ["beam"]);
}

#[test]
fn suppressed_tokens_survive_json() {
    let mut params = Params::default();
    assert_eq!(
        set(&mut params, "logit_bias", r#"{"3": "-inf", "4": 1.5}"#),
        ""
    );
    assert_eq!(params.options.sampling.logit_bias[&3], f32::NEG_INFINITY);
    assert_eq!(set(&mut params, "seed", "18446744073709551615"), "");
    assert_eq!(params.options.sampling.logit_bias[&3], f32::NEG_INFINITY);
    assert_eq!(params.options.sampling.seed, u64::MAX);
}

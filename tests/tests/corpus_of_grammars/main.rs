//! The corpus of small grammars in `tests/corpus`, and the grammars of `grammars/`, on the naive oracle, on masks made
//! when they are asked for, and on masks out of a file: the verdicts are right, and the masks are equal at every step.

mod case;
mod engines;

use std::collections::BTreeMap;

use case::{Case, cases, files, folder, refused};
use engines::Engines;
use regex_automata::meta::Regex;
use structgen::Constraint;
use structgen_tests::{report, vocabularies};

/// How many cases there have to be.
const CASES: usize = 300;

#[derive(Default)]
struct Counts {
    cases: usize,
    texts: usize,
    masks: usize,
    by_kind: BTreeMap<&'static str, usize>,
}

#[test]
fn verdicts_are_right_and_masks_equal_on_every_engine() {
    let vocabulary = vocabularies::with_special_tokens();
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    for (file, cases) in cases() {
        for case in &cases {
            let name = format!("{file}: {}", case.name);
            let constraint = case.source.read();
            let engines = constraint.and_then(|it| Engines::new(&it, &vocabulary));
            match engines {
                Ok(engines) => {
                    let (texts, masks) = run(case, engines, |error| {
                        wrong.push(format!("{name}: {error}"));
                    });
                    counts.texts += texts;
                    counts.masks += masks;
                }
                Err(error) => wrong.push(format!("{name}: {error}")),
            }
            counts.cases += 1;
            *counts.by_kind.entry(case.source.kind()).or_default() += 1;
        }
    }
    report(&format!(
        "{} cases ({:?}), {} texts, {} states with equal masks on three engines, {} failures",
        counts.cases,
        counts.by_kind,
        counts.texts,
        counts.masks,
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts.cases >= CASES, "{} cases", counts.cases);
}

/// Every text of a case; returns how many there were, and how many masks were compared.
fn run(case: &Case, mut engines: Engines<'_>, mut wrong: impl FnMut(String)) -> (usize, usize) {
    let mut texts = 0;
    let mut judge = |text: &str, fits: bool, takes: bool| {
        texts += 1;
        if fits != takes {
            let verdict = if takes { "accepted" } else { "rejected" };
            wrong(format!("{text:?} is {verdict}"));
        }
    };
    for (list, fits) in [(&case.accept, true), (&case.reject, false)] {
        for text in list {
            judge(text, fits, engines.takes_text(text.as_bytes()));
        }
    }
    for (list, fits) in [(&case.accept_tokens, true), (&case.reject_tokens, false)] {
        for pieces in list {
            judge(&pieces.join("·"), fits, engines.takes_pieces(pieces));
        }
    }
    for digits in &case.reject_bytes {
        let bytes: Vec<u8> = digits
            .split(' ')
            .map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal digits"))
            .collect();
        judge(digits, false, engines.takes_text(&bytes));
    }
    let masks = engines.masks;
    engines.errors.into_iter().for_each(wrong);
    (texts, masks)
}

#[test]
fn others_say_the_same_of_patterns_and_schemas() {
    let mut wrong = Vec::new();
    let mut judged = 0;
    for (file, cases) in cases() {
        for case in &cases {
            let mut judge = |text: &String, fits: bool, verdict: bool| {
                judged += 1;
                if fits != verdict {
                    wrong.push(format!("{file}: {}: {text:?}", case.name));
                }
            };
            if let Some(pattern) = &case.source.regex {
                let pattern = match case.source.search {
                    true => pattern.clone(),
                    false => format!(r"\A(?:{pattern})\z"),
                };
                let regex = Regex::new(&pattern).expect("a pattern of the crate");
                for (list, fits) in [(&case.accept, true), (&case.reject, false)] {
                    for text in list {
                        judge(text, fits, regex.is_match(text));
                    }
                }
            }
            if let Some(schema) = &case.source.schema {
                let schema = serde_json::from_str(schema).expect("a schema is JSON");
                let validator = jsonschema::options()
                    .should_validate_formats(true)
                    .build(&schema)
                    .expect("a schema");
                for text in &case.accept {
                    let value = serde_json::from_str(text).expect("the text is JSON");
                    judge(text, true, validator.is_valid(&value));
                }
            }
        }
    }
    report(&format!("{judged} verdicts are those of other crates"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged > CASES);
}

#[test]
fn the_grammars_of_the_folder_have_equal_masks_on_every_engine() {
    let vocabulary = vocabularies::with_special_tokens();
    let (mut masks, mut texts) = (0, 0);
    for path in files(&folder("grammars")) {
        if path.extension().is_none_or(|extension| extension != "gbnf") {
            continue;
        }
        let name = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy();
        let source = std::fs::read_to_string(&path).expect("the grammar can be read");
        let constraint = Constraint::gbnf(&source).expect("the grammar is understood");
        let mut engines = Engines::new(&constraint, &vocabulary).expect("the grammar compiles");
        for (kind, fits) in [("accept", true), ("reject", false)] {
            let samples = folder("grammars/samples").join(&*name).join(kind);
            for sample in files(&samples) {
                let text = std::fs::read(&sample).expect("the sample can be read");
                let text = text.strip_suffix(b"\n").unwrap_or(&text);
                assert_eq!(engines.takes_text(text), fits, "{}", sample.display());
                texts += 1;
            }
        }
        assert!(engines.errors.is_empty(), "{name}: {:#?}", engines.errors);
        masks += engines.masks;
    }
    report(&format!(
        "grammars: {texts} samples, {masks} states with equal masks on three engines"
    ));
    assert!(masks > 1_000);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let vocabulary = vocabularies::with_special_tokens();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (file, list) in refused() {
        for refused in list {
            count += 1;
            let compiled = refused
                .source
                .read()
                .and_then(|constraint| constraint.compile(&vocabulary.tables, &[vocabulary.eos]));
            let said = match compiled {
                Ok(_) => "it is taken".to_owned(),
                Err(error) => error.to_string(),
            };
            if said.trim_end() != refused.message.trim_end() {
                wrong.push(format!(
                    "{file}: {}:\nmessage = '''\n{said}'''",
                    refused.name
                ));
            }
        }
    }
    report(&format!("{count} sources are refused with their messages"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 40, "{count}");
}

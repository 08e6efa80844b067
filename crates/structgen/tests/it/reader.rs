//! The reader beside the decoder: whatever it prefers, outputs stay valid, and equal for every way of running it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use structgen::decode::strategies::{BeamOptions, Speculation};
use structgen::{
    Checker, Constraint, Error, Extraction, GenerateOptions, Model, ModelOptions, SchemaExtractor,
    SchemaOptions, Source, Strategy,
};

use crate::support::{PEOPLE, model, open, runtime};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "is_adult": {"type": "boolean"},
            "place": {"enum": ["Rome", "Oslo", "Berlin", null]},
            "others": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["name", "age", "is_adult", "place", "others"],
    })
}

fn extractor(model: Model) -> SchemaExtractor {
    let options = GenerateOptions {
        max_new_tokens: Some(120),
        ..GenerateOptions::default()
    };
    SchemaExtractor::new(model, schema(), &SchemaOptions::new(), options).unwrap()
}

fn is_valid(found: &Extraction<Value>) -> bool {
    let constraint = Constraint::json_schema(&schema(), &SchemaOptions::new()).unwrap();
    let checker = Checker::new(&constraint).unwrap();
    checker.check(found.json.as_bytes()).unwrap().is_none()
}

#[test]
fn what_is_written_is_valid_with_and_without_it() {
    let with = extractor(model());
    let without = extractor(open(&ModelOptions::new().without_reader()));
    let mut differ = 0;
    for text in PEOPLE {
        let found = [&with, &without].map(|extractor| extractor.extract(text).unwrap());
        assert!(found.iter().all(is_valid), "{found:?}");
        differ += usize::from(found[0].json != found[1].json);
    }
    assert!(differ > 0, "it has no say");
}

#[test]
fn drafts_change_nothing() {
    let plain = extractor(model());
    let drafted = plain.clone().with_strategy(Speculation::default());
    for text in PEOPLE {
        let [a, b] = [&plain, &drafted].map(|extractor| extractor.extract(text).unwrap().json);
        assert_eq!(a, b);
    }
}

#[test]
fn beams_are_weighed_as_well() {
    let one = BeamOptions {
        width: 1,
        ..BeamOptions::default()
    };
    let greedy = extractor(model());
    let beam = greedy.clone().with_strategy(one);
    for text in PEOPLE {
        let [a, b] = [&greedy, &beam].map(|extractor| extractor.extract(text).unwrap().json);
        assert_eq!(a, b);
    }
}

#[test]
fn strategies_that_follow_the_models_distribution_go_without() {
    let smc = Strategy::named("smc").unwrap();
    let mut options = GenerateOptions {
        max_new_tokens: Some(200),
        ..GenerateOptions::default()
    };
    options.sampling.temperature = 1.0;
    let extractor = extractor(model())
        .with_generate_options(options)
        .with_strategy(smc);
    let request = extractor.request(PEOPLE[0]).unwrap();
    assert!(request.options.samplers.is_empty());
    extractor.model().submit(request).unwrap().wait().unwrap();
}

#[test]
fn a_text_of_several_windows_is_read() {
    let long = format!(
        "{} {}",
        PEOPLE[2],
        "The weather was fine all day. ".repeat(120)
    );
    let found = extractor(model()).extract(&long).unwrap();
    assert!(is_valid(&found), "{found:?}");
    assert!(found.fields.iter().any(|field| field.is_grounded));
}

#[test]
fn many_threads_share_one_session() {
    let extractor = extractor(open(&ModelOptions::new()));
    let expected = PEOPLE.map(|text| extractor.extract(text).unwrap().json);
    std::thread::scope(|scope| {
        for shift in 0..8 {
            let (extractor, expected) = (extractor.clone(), &expected);
            scope.spawn(move || {
                for at in (0..PEOPLE.len()).map(|at| (at + shift) % PEOPLE.len()) {
                    assert_eq!(extractor.extract(PEOPLE[at]).unwrap().json, expected[at]);
                }
            });
        }
    });
}

/// Opens a folder with the embedded model and these bytes as its reader.
fn folder(path: &Path, reader: Option<&[u8]>) -> structgen::Result<Model> {
    let assets = structgen_model::MAIN;
    for (name, bytes) in [
        ("model.onnx", assets.model),
        ("tokenizer.json", assets.tokenizer),
        ("tokenizer_config.json", assets.tokenizer_config.as_bytes()),
        ("config.json", assets.config.as_bytes()),
        (
            "generation_config.json",
            assets.generation_config.as_bytes(),
        ),
    ] {
        fs::write(path.join(name), bytes).unwrap();
    }
    if let Some(bytes) = reader {
        fs::write(path.join("reader.onnx"), bytes).unwrap();
    }
    runtime();
    Model::open(path, &ModelOptions::new())
}

#[test]
fn a_folder_has_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let options = SchemaOptions::new().with_source(Source::Input);
    let extract = |model: Model| {
        let extractor = SchemaExtractor::new(model, schema(), &options, GenerateOptions::default());
        let extractor = extractor.unwrap();
        PEOPLE.map(|text| extractor.extract(text).unwrap().json)
    };
    let without = extract(folder(dir.path(), None).unwrap());
    let with = extract(folder(dir.path(), Some(structgen_model::READER)).unwrap());
    assert_ne!(with, without);
    assert_eq!(with, extract(model()));
}

#[test]
fn a_damaged_one_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let cut = &structgen_model::READER[..1000];
    for (bytes, said) in [
        (cut, "reader.onnx"),
        // Another graph.
        (structgen_model::HEADS, "rows"),
    ] {
        let error = folder(dir.path(), Some(bytes)).unwrap_err();
        assert!(matches!(error, Error::Load(_)), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

//! Values come from the text, whatever the model would rather write.

use std::sync::Arc;

use serde_json::{Value, json};
use structgen::decode::strategies::BeamOptions;
use structgen::grammar::Expr;
use structgen::tools::{Tool, ToolFormat, ToolGrammar, ToolOptions};
use structgen::{
    Constraint, Extractor, GenerateOptions, Model, Request, SamplingParams, SchemaExtractor,
    SchemaOptions, Source, locate, recognized_input,
};

use crate::support::{PEOPLE, Person, golden_model, model};

fn extractor(schema: Value, sampling: SamplingParams) -> SchemaExtractor {
    let options = GenerateOptions {
        sampling,
        ..GenerateOptions::default()
    };
    let schema_options = SchemaOptions::new().with_source(Source::Input);
    SchemaExtractor::new(model(), schema, &schema_options, options).unwrap()
}

const TEXTS: [&str; 5] = [
    "Mia Brandt ordered three lamps\nfor 12 May 2024, at 1.249,50 EUR; write to mia@lamps.example.",
    "Die Sitzung beginnt um halb zehn, am 3. Juni 2025, mit zwölf Gästen.",
    "On a reçu deux caisses \u{ab}\u{a0}fragiles\u{a0}\u{bb} \u{2014} il en manque 4\u{202f}000.",
    "a \"quoted\" word, a \\ and\ta tab: 7",
    "x",
];

#[test]
fn no_value_is_invented_however_tokens_are_drawn() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "short": {"type": "string", "maxLength": 12},
            "note": {"type": ["string", "null"]},
            "count": {"type": ["integer", "null"]},
            "price": {"type": ["number", "null"]},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "words": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": true},
        },
        "required": ["name", "note", "count", "price", "day", "words"],
    });
    for seed in 0..6 {
        let sampling = SamplingParams {
            temperature: 2.5,
            seed,
            ..SamplingParams::default()
        };
        let extractor = extractor(schema.clone(), sampling);
        for text in TEXTS {
            let found = extractor.extract(text).unwrap();
            assert_eq!(found.ungrounded, Vec::<String>::new(), "{text}");
            for field in &found.fields {
                let has_place = matches!(field.value, Value::String(_) | Value::Number(_));
                assert_eq!(
                    (!field.bytes.is_empty(), field.is_grounded),
                    (has_place, has_place),
                    "{} of {} in {text}",
                    field.pointer,
                    found.json
                );
            }
            // Strings occur in the text, up to whitespace.
            for key in ["name", "short", "note"] {
                if let Some(string) = found.value[key].as_str() {
                    let single = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                    assert!(
                        single(text).contains(&single(string)),
                        "{string:?} in {text}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_the_text_says_in_another_notation_can_be_written() {
    let free = SamplingParams::default();
    let day = json!({"type": "string", "format": "date"});
    let found = extractor(day, free.clone()).extract(TEXTS[1]).unwrap();
    assert_eq!(found.value, "2025-06-03");
    let guests = json!({"type": "integer", "minimum": 11, "maximum": 20});
    let found = extractor(guests, free.clone()).extract(TEXTS[1]).unwrap();
    assert_eq!(found.value, 12);
    let price = json!({"type": "number", "minimum": 1000});
    let found = extractor(price, free).extract(TEXTS[0]).unwrap();
    assert!(
        [1249.5, 2024.0].contains(&found.value.as_f64().unwrap()),
        "{}",
        found.value
    );
}

#[test]
fn whole_numbers_of_64_bits_are_extracted() {
    for (text, number) in [
        ("Card 4111111111111111", 4_111_111_111_111_111_u64),
        ("9007199254740993 items", 9_007_199_254_740_993),
        ("id 9223372036854775807", i64::MAX.unsigned_abs()),
    ] {
        let schema = json!({"type": "integer"});
        let found = extractor(schema, SamplingParams::default());
        let found = found.extract(text).unwrap();
        assert_eq!(found.value, number);
        assert_eq!(found.ungrounded, [""; 0], "{text}");
        assert!(found.fields[0].is_grounded, "{text}");
    }
    let order = json!({"type": "integer", "minimum": 1000});
    let found = extractor(order, SamplingParams::default());
    let found = found.extract("Order 2024110312345678, 2 pieces").unwrap();
    assert_eq!(found.value, 2_024_110_312_345_678_u64);
}

#[test]
fn a_pattern_that_no_span_matches_has_dates_and_amounts_in_its_notation() {
    for (pattern, text, value, span) in [
        (
            r"^[0-9]{2}\.[0-9]{2}\.[0-9]{4}$",
            "Due 12 May 2024",
            "12.05.2024",
            4..15,
        ),
        (
            r"^[0-9]+\.[0-9]{2}$",
            "Total 1.234,50 EUR",
            "1234.50",
            6..14,
        ),
        (
            r"^[0-9]{1,3}(,[0-9]{3})+\.[0-9]{2}$",
            "Total 1.234,50 EUR",
            "1,234.50",
            6..14,
        ),
        // What the text has in this notation is not read as another date.
        (
            "^[0-9]{2}/[0-9]{2}/[0-9]{4}$",
            "Due 05/12/2024",
            "05/12/2024",
            4..14,
        ),
    ] {
        let schema = json!({"type": "string", "pattern": pattern});
        let found = extractor(schema, SamplingParams::default());
        let found = found.extract(text).unwrap();
        assert_eq!(found.value, value, "{text}");
        assert_eq!(found.ungrounded, [""; 0], "{text}");
        assert!(found.fields[0].is_grounded, "{text}");
        assert_eq!(found.fields[0].bytes[0], span, "{text}");
    }
}

#[test]
fn a_value_that_the_text_lacks_is_reported() {
    let schema = json!({
        "type": "object",
        "properties": {"age": {"type": "integer"}, "size": {"type": "integer"}},
        "required": ["age"],
    });
    let found = extractor(schema, SamplingParams::default());
    let found = found.extract("nobody knows how old she is").unwrap();
    assert_eq!(found.ungrounded, ["/properties/age"]);
    // Optional values are left out.
    assert_eq!(found.value.as_object().unwrap().len(), 1);
    assert!(!found.fields[0].is_grounded);
}

#[test]
fn a_request_comes_with_the_values_that_the_text_lacks() {
    let schema = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1});
    let extractor = extractor(schema, SamplingParams::default());
    let lacking = |text| extractor.request_with_ungrounded(text).unwrap().1;
    assert_eq!(lacking("nobody knows how old she is"), ["/items"]);
    assert!(lacking("she is 36").is_empty());
}

#[test]
fn types_and_single_nodes_can_be_grounded() {
    let people = Extractor::<Person>::builder().build().unwrap();
    let found = people.extract(PEOPLE[2]).unwrap();
    assert_eq!(found.value.age, 41);
    assert!(
        PEOPLE[2].contains(&found.value.name),
        "{}",
        found.value.name
    );

    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "x-structgen": {"source": "input"}},
            "comment": {"type": "string", "maxLength": 9, "minLength": 9},
            "state": {"enum": ["Brandt"]},
        },
        "required": ["name", "comment", "state"],
        "x-structgen": {"source": "model"},
    });
    let options = GenerateOptions::default();
    let extractor = SchemaExtractor::new(model(), schema, &SchemaOptions::new(), options).unwrap();
    let found = extractor.extract(PEOPLE[2]).unwrap();
    assert!(PEOPLE[2].contains(found.value["name"].as_str().unwrap()));
    let grounded: Vec<bool> = found.fields.iter().map(|field| field.is_grounded).collect();
    // A literal of the schema may occur in the text by chance.
    assert_eq!(grounded, [true, false, false]);
    assert!(!found.fields[2].bytes.is_empty());
}

/// Returns whether the values of a schema must come from the text.
fn is_grounded(model: &Model, schema: &Value, options: &SchemaOptions) -> bool {
    let options = model.extraction_options(schema, options);
    let constraint = Constraint::json_schema(schema, &options).unwrap();
    { constraint.grammar().exprs().iter() }.any(|expr| matches!(expr, Expr::Grounded { .. }))
}

#[test]
fn values_come_from_the_text_by_default_with_the_embedded_model_alone() {
    let plain = json!({"type": "string"});
    let free = json!({"type": "string", "x-structgen": {"source": "model"}});
    let bound = json!({"type": "string", "x-structgen": {"source": "input"}});
    let open = SchemaOptions::new();
    let lifted = SchemaOptions::new().with_source(Source::Model);
    let embedded = model();
    let of = |schema, options| is_grounded(&embedded, schema, options);
    assert!(of(&plain, &open) && of(&bound, &open));
    assert!(!of(&free, &open));
    assert!(!of(&plain, &lifted) && !of(&bound, &lifted));
    let other = golden_model();
    let of = |schema, options| is_grounded(&other, schema, options);
    let asked = SchemaOptions::new().with_source(Source::Input);
    assert!(of(&bound, &open) && of(&plain, &asked));
    assert!(!of(&plain, &open) && !of(&free, &open));
}

#[test]
fn relations_hold_between_values_of_the_text() {
    let schema = json!({
        "type": "object",
        "properties": {
            "low": {"type": "integer"},
            "high": {"type": "integer", "x-structgen": {"at-least": "/low"}},
            "people": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": 12}},
                    "required": ["name"],
                },
            },
            "first": {"type": ["string", "null"], "x-structgen": {"in": "/people/*/name"}},
            "other": {"type": "string", "maxLength": 12, "x-structgen": {"not-equal": "/first"}},
        },
        "required": ["low", "high", "people", "first", "other"],
    });
    let text = "Mia, Otto and Eve were 7, 36 and 90; Eve said so.";
    for seed in 0..8 {
        let sampling = SamplingParams {
            temperature: 2.5,
            seed,
            ..SamplingParams::default()
        };
        let found = extractor(schema.clone(), sampling).extract(text).unwrap();
        let value = &found.value;
        assert_eq!(found.ungrounded, Vec::<String>::new());
        assert!(value["high"].as_i64() >= value["low"].as_i64(), "{value}");
        assert_ne!(value["other"], value["first"]);
        let mut names = value["people"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["name"]);
        let first = &value["first"];
        assert!(
            first.is_null() || names.any(|name| name == first),
            "{value}"
        );
        for field in &found.fields {
            let is_there = !matches!(field.value, Value::String(_) | Value::Number(_));
            assert!(is_there || !field.bytes.is_empty(), "{}", field.pointer);
        }
    }
}

#[test]
fn beams_are_grounded() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "words": {"type": "array", "items": {"type": "string", "maxLength": 9}, "uniqueItems": true, "maxItems": 2},
        },
        "required": ["name", "age", "words"],
    });
    let options = SchemaOptions::new().with_source(Source::Input);
    let constraint = Constraint::json_schema(&schema, &options).unwrap();
    let model = model();
    let compiled = model.compile(&constraint).unwrap();
    for text in [PEOPLE[0], PEOPLE[1], PEOPLE[5]] {
        let input = Arc::new(recognized_input(text).unwrap());
        let bound = compiled.bind(&input).unwrap();
        assert!(bound.ungrounded.is_empty());
        let prompt = format!("<schema>{{\"name\":string,\"age\":int}}<text>{text}<json>");
        let prompt = model.encode_prompt(&prompt).unwrap();
        let beams = BeamOptions {
            width: 4,
            n_best: 4,
            ..BeamOptions::default()
        };
        let options = GenerateOptions {
            max_new_tokens: Some(160),
            ..GenerateOptions::default()
        };
        let request = Request::new(&*prompt, Some(bound.constraint))
            .with_options(options)
            .with_strategy(beams);
        let outputs = model.submit(request).unwrap().wait().unwrap();
        assert_eq!(outputs.outputs.len(), 4);
        for output in outputs.outputs {
            let text_of = output.unwrap().generation.text;
            let value: Value = serde_json::from_str(&text_of).unwrap();
            let places = locate(&value, &input);
            assert!(
                places.iter().all(|place| !place.bytes.is_empty()),
                "{text_of}"
            );
        }
    }
}

#[test]
fn arguments_of_tools_are_grounded() {
    let tools = r#"[{"name": "meet", "parameters": {
        "type": "object",
        "x-structgen": {"source": "input"},
        "properties": {
            "who": {"type": "string"},
            "from": {"type": "integer"},
            "to": {"type": "integer", "x-structgen": {"at-least": "/from"}}
        },
        "required": ["who", "from", "to"]
    }}]"#;
    let format = ToolFormat::preset("hermes").unwrap();
    let tools = Tool::list(tools).unwrap();
    let grammar = ToolGrammar::new(format, tools, &ToolOptions::new()).unwrap();
    let model = model();
    let compiled = model.compile(&Constraint::tools(&grammar)).unwrap();
    let input = Arc::new(recognized_input("Eve from nine to 12, or 14").unwrap());
    let bound = compiled.bind(&input).unwrap();
    assert!(bound.ungrounded.is_empty());
    let call = |arguments: &str| {
        format!("<tool_call>\n{{\"name\": \"meet\", \"arguments\": {arguments}}}\n</tool_call>")
    };
    let fits = |arguments: &str| {
        let text = call(arguments);
        let checker = bound.constraint.matcher().check_text(text.as_bytes());
        checker.unwrap().is_none()
    };
    assert!(fits(r#"{"who": "Eve", "from": 9, "to": 12}"#));
    assert!(fits(r#"{"who": "Eve", "from": 14, "to": 14}"#));
    assert!(!fits(r#"{"who": "Eve", "from": 14, "to": 12}"#));
    assert!(!fits(r#"{"who": "Eve", "from": 9, "to": 13}"#));
    assert!(!fits(r#"{"who": "Eva", "from": 9, "to": 12}"#));
}

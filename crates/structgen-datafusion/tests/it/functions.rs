//! What each function returns, and how failed rows are handled.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::error::DataFusionError;
use structgen::Checker;
use structgen::decode::SchedulerLimits;
use structgen::{Constraint, SchemaOptions};
use structgen_datafusion::{Error, ExtraColumns, FunctionOptions, Functions};

use crate::support::{
    CONTACT, TEXTS, functions, functions_with, model_with, rows, session, try_rows,
};

fn texts() -> ArrayRef {
    Arc::new(StringArray::from(TEXTS.to_vec()))
}

#[tokio::test]
async fn extract_is_a_struct_of_the_schemas_properties() {
    let functions = functions();
    let context = session(&functions, Functions::session_config(), texts());
    let sql = "SELECT extract(body, 'contact') AS found FROM mails";
    let found = rows(&context, &functions, sql).await;
    let DataType::Struct(fields) = found[0].schema().field(0).data_type().clone() else {
        panic!("no struct");
    };
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["name", "city", "age"]);
    assert_eq!(fields[2].data_type(), &DataType::Int64);
    let first = found[0].column(0).as_struct();
    assert!(TEXTS[0].contains(first.column(0).as_string::<i32>().value(0)));
    let count: usize = found.iter().map(|batch| batch.num_rows()).sum();
    assert_eq!(
        (count as u64, functions.rows(), functions.errors()),
        (4, 4, 0)
    );
}

#[tokio::test]
async fn extract_json_is_valid_under_the_schema_and_has_its_confidence_and_spans_beside_it() {
    let functions = functions();
    let context = session(&functions, Functions::session_config(), texts());
    let sql = "SELECT body, extract_json(body, 'contact', 'error, confidence, spans').* FROM mails";
    let checker = Constraint::json_schema_str(CONTACT, &SchemaOptions::new()).unwrap();
    let checker = Checker::new(&checker).unwrap();
    for batch in rows(&context, &functions, sql).await {
        let names: Vec<_> = batch
            .schema()
            .fields()
            .iter()
            .map(|it| it.name().clone())
            .collect();
        assert_eq!(names, ["body", "value", "_error", "_confidence", "_spans"]);
        for row in 0..batch.num_rows() {
            let json = batch.column(1).as_string::<i32>().value(row);
            assert!(checker.check(json.as_bytes()).unwrap().is_none(), "{json}");
            assert!(batch.column(2).is_null(row));
            let sure = batch.column(3).as_map().value(row);
            let sure = sure.column(1).as_primitive::<Float64Type>().clone();
            assert!(sure.iter().flatten().all(|it| (0.0..=1.0).contains(&it)));
            let text = batch.column(0).as_string::<i32>().value(row);
            let spans = batch.column(4).as_list::<i32>().value(row);
            let spans = spans.as_struct();
            let number = |column: usize, at| {
                spans.column(column).as_primitive::<Int64Type>().value(at) as usize
            };
            for at in 0..spans.len() {
                let span: String = text
                    .chars()
                    .take(number(2, at))
                    .skip(number(1, at))
                    .collect();
                let pointer = spans.column(0).as_string::<i32>().value(at);
                let value: serde_json::Value = serde_json::from_str(json).unwrap();
                let value = value.pointer(pointer).unwrap();
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                // A number's span includes its unit: 36 years.
                assert!(span.contains(&value), "{value} {span}");
            }
        }
    }
}

#[tokio::test]
async fn classify_weighs_all_labels() {
    let functions = functions();
    let context = session(&functions, Functions::session_config(), texts());
    let sql = "SELECT classify(body, 'person', 'invoice', 'place').* FROM mails";
    for batch in rows(&context, &functions, sql).await {
        for row in 0..batch.num_rows() {
            let label = batch.column(0).as_string::<i32>().value(row).to_owned();
            let probability = batch.column(1).as_primitive::<Float64Type>().value(row);
            let all = batch.column(2).as_map().value(row);
            let labels = all.column(0).as_string::<i32>();
            let shares = all.column(1).as_primitive::<Float64Type>();
            assert_eq!(
                labels.iter().flatten().collect::<Vec<_>>(),
                ["person", "invoice", "place"]
            );
            let sum: f64 = shares.iter().flatten().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            let best = labels
                .iter()
                .position(|it| it == Some(label.as_str()))
                .unwrap();
            assert_eq!(shares.value(best), probability);
            assert!(shares.iter().flatten().all(|it| it <= probability));
        }
    }
}

#[tokio::test]
async fn generate_with_a_schema_is_valid_and_tokens_are_those_of_the_text() {
    let functions = functions();
    let context = session(&functions, Functions::session_config(), texts());
    let sql =
        r#"SELECT generate(body, '{"type": "integer", "minimum": 0, "maximum": 9}') FROM mails"#;
    for batch in rows(&context, &functions, sql).await {
        let texts = batch.column(0).as_string::<i32>();
        assert!(
            texts
                .iter()
                .flatten()
                .all(|it| it.parse::<u8>().is_ok_and(|it| it < 10))
        );
    }
    let sql =
        "SELECT array_length(tokens(body)) > 3 AND array_length(tokens(body)) < 50 FROM mails";
    for batch in rows(&context, &functions, sql).await {
        assert!(
            batch
                .column(0)
                .as_boolean()
                .iter()
                .all(|it| it == Some(true))
        );
    }
}

#[tokio::test]
async fn matches_needs_no_model() {
    let functions = Functions::new(|| panic!("it is not loaded"), FunctionOptions::new());
    let body = StringArray::from(vec![Some("[1, 2]"), Some("[1,"), None, Some("[\"a\"]")]);
    let context = session(&functions, Functions::session_config(), Arc::new(body));
    let sql =
        r#"SELECT matches(body, '{"type": "array", "items": {"type": "integer"}}') FROM mails"#;
    let found = rows(&context, &functions, sql).await;
    let found: Vec<_> = { found.iter() }
        .flat_map(|batch| batch.column(0).as_boolean().iter().collect::<Vec<_>>())
        .collect();
    assert_eq!(found, [Some(true), Some(false), None, Some(false)]);
}

#[tokio::test]
async fn rows_that_cannot_be_done_say_why_and_none_is_lost() {
    let functions = functions_with(FunctionOptions::new().with_max_text_bytes(1_000));
    let long = vec![b'a'; 1_001];
    let rows_of_bytes: Vec<Option<&[u8]>> = vec![
        Some(TEXTS[0].as_bytes()),
        None,
        Some(b"caf\xE9"),
        Some(&long),
        Some(b""),
        Some(b"\0\x01\x02"),
    ];
    let body: ArrayRef = Arc::new(BinaryArray::from(rows_of_bytes));
    let context = session(&functions, Functions::session_config(), body);
    let sql = "SELECT extract(body, 'contact', 'error').* FROM mails";
    let found = rows(&context, &functions, sql).await;
    let mut errors = Vec::new();
    for batch in &found {
        let column = batch.column(3).as_string::<i32>();
        errors.extend(column.iter().map(|it| it.map(str::to_owned)));
    }
    assert_eq!(
        errors,
        [
            None,
            None,
            Some("the text is not UTF-8: the byte at offset 3 begins no character".to_owned()),
            Some("the text has 1001 bytes, and 1000 are allowed".to_owned()),
            None,
            None,
        ]
    );
    assert_eq!((functions.rows(), functions.errors()), (6, 2));
}

/// Returns functions on a model that refuses all requests, since it may queue none.
fn functions_without_a_queue() -> Functions {
    let mut limits = SchedulerLimits::default();
    limits.queue = 0;
    Functions::new(move || model_with(1, limits), FunctionOptions::new())
}

#[tokio::test]
async fn a_model_that_fails_ends_the_query_with_an_error_that_is_tried_again() {
    let functions = functions_without_a_queue();
    let context = session(&functions, Functions::session_config(), texts());
    for sql in [
        r#"SELECT extract(body, '{"type": "string"}', 'error') FROM mails"#,
        "SELECT generate(body) FROM mails",
        "SELECT classify(body, 'a', 'b') FROM mails",
    ] {
        let error = try_rows(&context, &functions, sql).await.unwrap_err();
        // Ballista tries tasks with this kind of error again, and no others.
        let DataFusionError::IoError(error) = error.find_root() else {
            panic!("{sql}: {error:?}");
        };
        assert!(format!("{error:?}").contains("the queue is full"));
    }
    assert_eq!((functions.rows(), functions.errors()), (0, 0));
}

#[test]
fn a_model_that_fails_is_no_error_of_rows() {
    let functions = functions_without_a_queue();
    let extractor = functions.extractor(CONTACT, ExtraColumns::default());
    let error = extractor.unwrap().extract(&texts()).unwrap_err();
    assert!(matches!(error, Error::Interrupted(_)), "{error:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said_before_any_row() {
    let functions = Functions::new(|| panic!("it is not loaded"), FunctionOptions::new());
    let context = session(&functions, Functions::session_config(), texts());
    for (sql, expected) in [
        (
            "SELECT extract(body, body) FROM mails",
            "argument 2 of extract has to be a text literal",
        ),
        (
            "SELECT extract(body) FROM mails",
            "extract takes a text and 1 to 2 literals",
        ),
        (
            "SELECT extract(body, 'nowhere.json') FROM mails",
            "nowhere.json",
        ),
        (
            r#"SELECT extract(body, '{"type": "strin"}') FROM mails"#,
            "strin",
        ),
        (
            r#"SELECT extract(body, '{"type": "string"}', 'errors') FROM mails"#,
            "no column \"errors\"",
        ),
        (
            r#"SELECT extract(body, '{"type": "string"}').* FROM mails"#,
            "nothing for .*",
        ),
        ("SELECT lower(body).* FROM mails", ".* can follow"),
        (
            "SELECT classify(body, 'a', 'a') FROM mails",
            "the label \"a\" is given twice",
        ),
        (
            "SELECT classify(body, 'a') FROM mails",
            "at least 2 literals",
        ),
    ] {
        let error = try_rows(&context, &functions, sql).await.unwrap_err();
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            message += &format!(": {cause}");
            source = cause.source();
        }
        assert!(message.contains(expected), "{sql}: {message}");
    }
}

#[tokio::test]
async fn a_column_on_request_does_not_hide_a_property() {
    let functions = Functions::new(|| panic!("it is not loaded"), FunctionOptions::new());
    let context = session(&functions, Functions::session_config(), texts());
    let schema = r#"{"type": "object", "properties": {"_error": {"type": "string"}}}"#;
    let sql = format!("SELECT extract(body, '{schema}', 'error') FROM mails");
    let error = try_rows(&context, &functions, &sql).await.unwrap_err();
    assert!(error.to_string().contains("\"_error\""), "{error}");
}

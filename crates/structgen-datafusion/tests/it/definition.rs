//! Functions that another process creates from a definition.

use std::sync::Arc;

use datafusion::arrow::array::StringArray;
use structgen::{GenerateOptions, SamplingParams};
use structgen_datafusion::{Definition, FunctionOptions, Functions, Schemas};

use crate::support::{CONTACT, TEXTS, functions, functions_with, model, printed, rows, session};

const SQL: &str = "SELECT extract(body, 'contact').*, matches(body, 'contact') AS m FROM mails";

fn other_process() -> Functions {
    let no_schemas = Schemas::new().with_files(false);
    let options = FunctionOptions::new().with_schemas(no_schemas);
    Functions::new(|| model(1), options.with_model_id("a"))
}

async fn run(functions: &Functions, sql: &str) -> Vec<String> {
    let body = Arc::new(StringArray::from(TEXTS.to_vec()));
    let context = session(functions, Functions::session_config(), body);
    printed(&rows(&context, functions, sql).await)
}

#[tokio::test]
async fn a_definition_has_schemas_and_options() {
    let sampling = SamplingParams {
        temperature: 1.5,
        seed: 7,
        ..SamplingParams::default()
    };
    let options = FunctionOptions::new()
        .with_generate_options(GenerateOptions {
            sampling,
            ..GenerateOptions::default()
        })
        .with_max_text_bytes(40)
        .with_model_id("a");
    let here = functions_with(options);
    let expected = run(&here, SQL).await;

    let definition = serde_json::to_string(&here.definition()).unwrap();
    let definition: Definition = serde_json::from_str(&definition).unwrap();
    assert_eq!(definition, here.definition());
    assert_eq!(definition.schemas["contact"], CONTACT);
    let there = other_process().defined(&definition);
    assert_eq!(run(&there, SQL).await, expected);
    assert_eq!(there.errors(), here.errors());
    assert!(there.errors() > 0, "texts of more than 40 bytes");
}

#[tokio::test]
async fn another_model_is_an_error_of_what_needs_it() {
    let here = functions_with(FunctionOptions::new().with_model_id("b"));
    here.schema("contact").unwrap();
    let there = other_process().defined(&here.definition());
    let matches = run(&there, "SELECT matches(body, 'contact') AS m FROM mails").await;
    assert_eq!(matches.len(), TEXTS.len());
    let body = Arc::new(StringArray::from(TEXTS.to_vec()));
    let context = session(&there, Functions::session_config(), body);
    let tokens = context.sql("SELECT tokens(body) FROM mails").await.unwrap();
    let error = tokens.collect().await.unwrap_err().to_string();
    assert!(
        error.contains("the query is for the model b, and the model here is a"),
        "{error}"
    );
}

#[tokio::test]
async fn functions_that_are_planned_compute_nothing() {
    let functions = Functions::planned(FunctionOptions::new().with_model_id("b"));
    assert_eq!(functions.definition().model, "b");
    let error = functions.load_model().unwrap_err().to_string();
    assert!(error.contains("the model here is none"), "{error}");
    let body = Arc::new(StringArray::from(TEXTS.to_vec()));
    let context = session(&functions, Functions::session_config(), body);
    // A call on literals is left to the process that has the model.
    let call = context.sql("SELECT tokens('a') FROM mails").await.unwrap();
    let plan = call.into_optimized_plan().unwrap().to_string();
    assert!(plan.contains("tokens(Utf8(\"a\"))"), "{plan}");
}

#[test]
fn a_function_of_a_plan_is_recognised() {
    let functions = functions();
    let all = functions.all();
    assert!(all.iter().all(|it| Functions::of(it).is_some()));
    let theirs = datafusion::functions::core::get_field();
    assert!(Functions::of(&theirs).is_none());
}

//! What `fn main() -> Result<(), structgen::Error>` prints is a sentence with the next step.

use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::Deserialize;
use structgen::{
    Constraint, Error, Extractor, GenerateOptions, Model, ModelOptions, SchemaOptions,
};

use crate::support::model;

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Never {
    #[schemars(length(min = 3, max = 2))]
    name: String,
}

fn check<T>(result: Result<T, Error>, expected: &Expect) {
    let printed = result.err().map(|error| format!("Error: {error:?}"));
    expected.assert_eq(&printed.unwrap_or_default());
}

#[test]
fn errors_are_printed_as_sentences() {
    check(
        Model::open("no/such/folder", &ModelOptions::new()),
        &expect!["Error: no/such/folder cannot be read: there is no such folder"],
    );
    check(
        Model::embedded(&ModelOptions::new().with_variant("int8")),
        &expect![
            "Error: the embedded model does not support the option `variant`, which is for models in folders"
        ],
    );
    check(
        Model::embedded(&ModelOptions::new().with_single_tokens()),
        &expect![
            "Error: the embedded model does not support the option `single_tokens`, which is for models in folders"
        ],
    );
    check(
        Constraint::json_schema_str(
            r#"{"properties": {"a": {"type": "strin"}}}"#,
            &SchemaOptions::new(),
        ),
        &expect![
            "Error: #/properties/a/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these"
        ],
    );
    check(
        Constraint::regex("a{2"),
        &expect!["Error: unclosed counted repetition (at byte 1 of the pattern)"],
    );
    check(
        Extractor::<Never>::with_model(model(), GenerateOptions::default()),
        &expect![
            "Error: the schema of the type it::errors::Never is refused: #: no value is valid under this schema; contradicting: #/properties, #/required, #/type, #/properties/name/type, #/properties/name/minLength, #/properties/name/maxLength"
        ],
    );
    let options = GenerateOptions {
        max_new_tokens: Some(3),
        ..GenerateOptions::default()
    };
    let people = Extractor::<crate::support::Person>::with_model(model(), options).unwrap();
    check(
        people.extract("Ada, 36"),
        &expect![
            "Error: the output needs up to 22 tokens to be complete, and 3 are allowed; raise the number of new tokens to 22"
        ],
    );
}

//! What `main` prints of an error that it returns is a sentence with the next step: of `structgen::Error`, and of the
//! errors of parts that programs use alone.

use std::sync::Arc;

use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::Deserialize;
use structgen::chat::ChatTemplate;
use structgen::constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen::decode::{MockModel, Request, Scheduler, Unconstrained};
use structgen::frontend::gbnf::{self, GbnfOptions};
use structgen::frontend::json_schema;
use structgen::frontend::regex::{self, RegexOptions};
use structgen::tools::Tool;
use structgen::vocab::{TokenId, Tokenizer, Vocabulary};
use structgen::{Constraint, Extractor, GenerateOptions, Model, ModelOptions, SchemaOptions};

use crate::support::model;

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Never {
    #[schemars(length(min = 3, max = 2))]
    name: String,
}

fn check<T, E: std::fmt::Debug>(result: Result<T, E>, expected: &Expect) {
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

#[test]
fn errors_of_parts_are_printed_as_sentences() {
    check(
        Tokenizer::from_file("no/such/file.json"),
        &expect![
            "Error: cannot read the tokenizer file no/such/file.json: No such file or directory (os error 2)"
        ],
    );
    check(
        Tokenizer::from_bytes(b"{}"),
        &expect!["Error: not a tokenizer file: missing field `model`, at line 1, column 2"],
    );
    let options = SchemaOptions::new();
    check(
        json_schema::compile_str(r#"{"type": "strin"}"#, &options),
        &expect![
            "Error: #/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these"
        ],
    );
    check(
        regex::parse("a{2", RegexOptions::rust()),
        &expect!["Error: unclosed counted repetition (at byte 1 of the pattern)"],
    );
    let grammar = |text: &str| gbnf::parse(text, &GbnfOptions::default());
    check(
        grammar("root ::= item"),
        &expect![[r#"
        Error: line 1, column 10: there is no rule `item`
          |
        1 | root ::= item
          |          ^"#]],
    );
    check(
        Tool::list("{}"),
        &expect!["Error: #: a list of tools is expected here"],
    );
    check(
        ChatTemplate::from_tokenizer_config("{}"),
        &expect![
            "Error: the model has no chat template: there is neither a chat_template.jinja nor a chat_template in tokenizer_config.json; give a plain prompt instead"
        ],
    );

    let bytes = (0..=255_u8).map(|byte| vec![byte]);
    let vocabulary = Vocabulary::from_tokens(bytes, &[(TokenId(256), "<eos>")]).unwrap();
    let vocabulary = Arc::new(vocabulary);
    let tables = VocabularyTables::new(vocabulary.clone()).into();
    let compile = |eos| {
        let options = ConstraintOptions {
            eos: vec![TokenId(eos)],
            ..ConstraintOptions::default()
        };
        CompiledConstraint::new(grammar("root ::= [0-9]").unwrap(), &tables, &options)
    };
    check(
        compile(300),
        &expect![
            "Error: the end-of-sequence id 300 lies beyond the vocabulary's 257 ids: pass the ids that the model ends with"
        ],
    );
    let mut matcher = compile(256).unwrap().matcher();
    check(
        matcher.accept_token(TokenId(65)),
        &expect![
            "Error: token 65 is not allowed here: its byte 0 does not match; choose one from the mask"
        ],
    );
    check(
        matcher.rollback(1),
        &expect!["Error: 1 tokens cannot be taken back out of 0"],
    );
    matcher.accept_token(TokenId(48)).unwrap();
    matcher.accept_token(TokenId(256)).unwrap();
    check(
        matcher.accept_token(TokenId(48)),
        &expect!["Error: the output has ended, so no token can follow: check is_finished first"],
    );

    let run = |prompt: u32, model: MockModel| {
        let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(256)]);
        Scheduler::new(model, vocabulary.clone()).run(Request::new([TokenId(prompt)], free))
    };
    check(
        run(999, MockModel::new(257, 8, [TokenId(256)])),
        &expect!["Error: token 999 is outside the model's vocabulary of 257"],
    );
}

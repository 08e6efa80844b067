//! A small vocabulary, and schemas compiled for it.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "shared by tests, none of which uses all of it"
)]

use std::sync::Arc;

use serde_json::{Value, json};
use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_decode::{
    Forward, GenerateError, Generation, LanguageModel, Logits, MockCache, MockModel, ModelError,
    ModelInfo, ModelStats,
};
use structgen_frontend::json_schema::{SchemaOptions, compile};
use structgen_vocab::{TokenId, Vocabulary};

pub const EOS: TokenId = TokenId(264);

/// All bytes, some longer tokens as JSON has them, and an end-of-sequence token.
pub fn vocabulary() -> Arc<Vocabulary> {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let longer = ["\":", ",\"", "\",\"", "{\"", "\"}", "true", "123", "name"];
    let tokens = bytes.chain(longer.map(|text| text.as_bytes().to_vec()));
    Arc::new(Vocabulary::from_tokens(tokens, &[(EOS, "<eos>")]).unwrap())
}

pub fn constraint(vocabulary: &Arc<Vocabulary>, schema: &Value) -> CompiledConstraint {
    let compiled = compile(schema, &SchemaOptions::default()).unwrap();
    let tables = Arc::new(VocabularyTables::new(vocabulary.clone()));
    let options = ConstraintOptions {
        eos: vec![EOS],
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(compiled.grammar, &tables, &options).unwrap()
}

pub fn schemas() -> Vec<Value> {
    vec![
        json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "boolean"}}}}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"enum": ["red", "green", {"deep": [1, null]}]}),
        json!({"type": "number", "minimum": -3, "maximum": 12.5}),
        json!({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 4}]}),
    ]
}

pub fn prompt(len: u32, seed: u32) -> Vec<TokenId> {
    (0..len)
        .map(|i| TokenId((i * 31 + seed * 7) % 200))
        .collect()
}

/// Outputs without what they took: that is shared in a batch.
pub fn essence(output: &Result<Generation, GenerateError>) -> String {
    match output {
        Ok(output) => format!("{:?} {:?} {:?}", output.text, output.tokens, output.finish),
        Err(GenerateError::Incomplete(cut)) => {
            let cut = &cut.partial;
            format!("cut: {:?} {:?} {:?}", cut.text, cut.tokens, cut.finish)
        }
        Err(error) => error.to_string(),
    }
}

/// A model that does something before each run, which may fail.
pub struct Hooked<F>(pub MockModel, pub F);

impl<F: FnMut(&MockModel) -> Result<(), ModelError>> LanguageModel for Hooked<F> {
    type Cache = MockCache;

    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn new_cache(&mut self, left_padding: &[usize]) -> Result<MockCache, ModelError> {
        self.0.new_cache(left_padding)
    }

    fn forward(
        &mut self,
        input: Forward<'_>,
        cache: &mut MockCache,
    ) -> Result<Logits<'_>, ModelError> {
        (self.1)(&self.0)?;
        self.0.forward(input, cache)
    }

    fn stats(&self) -> ModelStats {
        self.0.stats()
    }
}

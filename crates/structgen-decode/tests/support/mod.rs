//! A small vocabulary, and schemas compiled for it.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "shared by tests, none of which uses all of it"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_decode::{
    Forward, GenerateError, GenerateOptions, Generation, LanguageModel, Logits, MockCache,
    MockModel, ModelError, ModelInfo, ModelStats,
};
use structgen_frontend::json_schema::{SchemaOptions, compile};
use structgen_frontend::regex::{self, RegexOptions};
use structgen_grammar::{Expr, Grammar, GrammarBuilder, JsonForm};
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
    of_grammar(vocabulary, compiled.grammar, &[EOS])
}

pub fn regex_constraint(
    vocabulary: &Arc<Vocabulary>,
    pattern: &str,
    eos: &[TokenId],
) -> CompiledConstraint {
    let set = regex::parse(pattern, RegexOptions::rust()).unwrap();
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(Expr::Regular(set));
    builder.define(root, body);
    of_grammar(vocabulary, builder.finish(root, JsonForm::generate()), eos)
}

fn of_grammar(
    vocabulary: &Arc<Vocabulary>,
    grammar: Grammar,
    eos: &[TokenId],
) -> CompiledConstraint {
    let tables = Arc::new(VocabularyTables::new(vocabulary.clone()));
    let options = ConstraintOptions {
        eos: eos.to_vec(),
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar, &tables, &options).unwrap()
}

/// All of [`schemas`], compiled.
pub fn constraints(vocabulary: &Arc<Vocabulary>) -> Vec<CompiledConstraint> {
    let schemas = schemas();
    let compiled = schemas.iter().map(|it| constraint(vocabulary, it));
    compiled.collect()
}

/// What goes on behind a text that is given: `ab`.
pub fn prefilled() -> GenerateOptions {
    GenerateOptions {
        prefill: vec![TokenId(97), TokenId(98)],
        max_new_tokens: Some(12),
        ..GenerateOptions::default()
    }
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

/// Pearson's statistic and its degrees of freedom; what is expected fewer than ten times is counted together.
pub fn chi_square<K: Ord>(
    expected: &BTreeMap<K, f64>,
    counts: &BTreeMap<K, u32>,
    draws: u32,
) -> (f64, usize) {
    assert!(counts.keys().all(|key| expected.contains_key(key)));
    let mut rare = (0.0, 0.0);
    let mut statistic = 0.0;
    let mut cells = 0;
    for (key, p) in expected {
        let (e, n) = (
            p * f64::from(draws),
            f64::from(counts.get(key).copied().unwrap_or(0)),
        );
        if e < 10.0 {
            rare = (rare.0 + e, rare.1 + n);
        } else {
            statistic += (n - e).powi(2) / e;
            cells += 1;
        }
    }
    if rare.0 > 1.0 {
        statistic += (rare.1 - rare.0).powi(2) / rare.0;
        cells += 1;
    }
    (statistic, cells - 1)
}

/// What chi-squared passes by chance once in ten thousand (Wilson and Hilferty 1931).
pub fn chi_square_threshold(degrees: usize) -> f64 {
    let k = degrees as f64;
    let z = 3.719;
    k * (1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

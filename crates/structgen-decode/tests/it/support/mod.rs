//! A small vocabulary, and schemas compiled for it.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "shared by tests, none of which uses all of it"
)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Value, json};
use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_decode::{
    Constraint, Delta, GenerateError, GenerateOptions, Generation, LanguageModel, MockModel,
    ModelError, ModelInfo, Outputs, Request, Scheduler,
    model::{MockEncoder, ModelStats, RowId, RowRun, RunOutput},
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

pub fn of_grammar(
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

/// A prefill in the middle of a text: `ab`.
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

/// Formats an output without its costs, which a batch shares.
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

/// A model with a hook before each run, which may fail.
pub struct Hooked<F>(pub MockModel, pub F);

impl<F: FnMut(&MockModel, &[RowRun<'_>]) -> Result<(), ModelError> + Send> LanguageModel
    for Hooked<F>
{
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        self.0.open_row()
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        self.0.fork_row(row, len)
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.0.cut_row(row, len)
    }

    fn close_row(&mut self, row: RowId) {
        self.0.close_row(row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.0.row_len(row)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        (self.1)(&self.0, rows)?;
        self.0.run(rows, hidden)
    }

    fn stats(&self) -> ModelStats {
        self.0.stats()
    }
}

/// Returns the model with a hook before each run.
pub fn hooked<F>(model: MockModel, hook: F) -> Hooked<F>
where
    F: FnMut(&MockModel, &[RowRun<'_>]) -> Result<(), ModelError> + Send,
{
    Hooked(model, hook)
}

/// Returns a scheduler of a model, with a tokenizer that encodes text in the longest tokens.
pub fn scheduler(model: impl LanguageModel + 'static, vocabulary: &Arc<Vocabulary>) -> Scheduler {
    let encoder = MockEncoder(Arc::clone(vocabulary));
    Scheduler::new(model, Arc::clone(vocabulary)).with_encoder(Arc::new(encoder))
}

/// Returns the outputs of one request on its own model.
pub fn run<C: Constraint + Clone + 'static>(
    model: &MockModel,
    vocabulary: &Arc<Vocabulary>,
    request: Request<C>,
) -> Result<Outputs, GenerateError> {
    scheduler(model.clone(), vocabulary).run(request)
}

/// Returns the output of one request on its own model.
pub fn generate<C: Constraint + Clone + 'static>(
    model: &MockModel,
    vocabulary: &Arc<Vocabulary>,
    prompt: &[TokenId],
    constraint: &C,
    options: &GenerateOptions,
) -> Result<Generation, GenerateError> {
    let next = |_: Delta<'_>| ControlFlow::Continue(());
    stream(model, vocabulary, prompt, constraint, options, next)
}

/// Returns the output of one request on its own model, as it is generated.
pub fn stream<C: Constraint + Clone + 'static>(
    model: &MockModel,
    vocabulary: &Arc<Vocabulary>,
    prompt: &[TokenId],
    constraint: &C,
    options: &GenerateOptions,
    mut on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
) -> Result<Generation, GenerateError> {
    let request = Request::new(prompt, constraint.clone()).with_options(options.clone());
    let mut scheduler = scheduler(model.clone(), vocabulary);
    scheduler
        .run_with(request, |_, delta| on_delta(delta))?
        .single()
}

/// Returns the outputs of concurrent requests, in order.
pub fn run_all<C: Constraint + Clone + 'static>(
    scheduler: &mut Scheduler,
    requests: impl IntoIterator<Item = Request<C>>,
) -> Vec<Result<Generation, GenerateError>> {
    let requests = requests.into_iter();
    let tickets: Vec<_> = requests.map(|request| scheduler.submit(request)).collect();
    let mut ended = BTreeMap::new();
    while !scheduler.is_idle() {
        ended.extend(scheduler.step());
    }
    let outputs = tickets.into_iter().map(|ticket| {
        let outputs = ended.remove(&ticket?).expect("it was submitted");
        outputs.and_then(|outputs| outputs.single())
    });
    outputs.collect()
}

/// The logits after some tokens.
pub fn logits_after(model: &MockModel, tokens: &[TokenId]) -> Vec<f32> {
    let mut model = model.clone();
    let row = model.open_row().unwrap();
    let output = model.run(&[RowRun::last(row, tokens)], false).unwrap();
    output.row(0).last().to_vec()
}

/// Their log-softmax.
pub fn log_softmax(logits: &[f32]) -> Vec<f64> {
    let logits = logits.iter().map(|&logit| f64::from(logit));
    let total = logits.clone().map(f64::exp).sum::<f64>().ln();
    logits.map(|logit| logit - total).collect()
}

/// Returns Pearson's statistic and its degrees of freedom; outcomes expected fewer than ten times are counted together.
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

/// The value that chi-squared exceeds by chance once in ten thousand (Wilson and Hilferty 1931).
pub fn chi_square_threshold(degrees: usize) -> f64 {
    let k = degrees as f64;
    let z = 3.719;
    k * (1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

//! What a step costs in which the budget refuses the tokens that the model prefers, beside the other steps of the same
//! outputs.
//!
//! ```text
//! cargo run --release -p structgen-bench --example steered_steps -- TOKENIZER
//! ```
//!
//! Logits are random and cost nothing. Outputs under three schemas and budgets of up to 40 tokens are as long as they
//! may be, so each is steered to its end. Of each output, the slowest steps are counted as the steered ones, as many as
//! there were: that bounds their time from above.

#![allow(clippy::print_stdout, reason = "prints what it measures")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use structgen::SchemaOptions;
use structgen::constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen::decode::model::{ModelStats, RowId, RowOutput, RowRun, RunOutput, check_run};
use structgen::decode::{
    GenerateOptions, LanguageModel, ModelError, ModelInfo, Request, SamplingParams, Scheduler,
};
use structgen::frontend::json_schema;
use structgen::vocab::{TokenId, Tokenizer};

const SCHEMAS: [&str; 3] = [
    r#"{"type": "string"}"#,
    r#"{"type": "object", "required": ["a", "b"], "additionalProperties": false,
        "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}}"#,
    r#"{"type": "array", "items": {"type": "string", "maxLength": 12}}"#,
];

/// A model whose logits depend on the length of the text alone.
struct Flat {
    info: ModelInfo,
    logits: Vec<Vec<f32>>,
    rows: BTreeMap<RowId, usize>,
    opened: u64,
}

impl Flat {
    fn new(width: usize, end: TokenId) -> Self {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f32 / (1u64 << 21) as f32
        };
        Self {
            info: ModelInfo::new(width, 1 << 20, vec![end]),
            logits: { 0..16 }
                .map(|_| (0..width).map(|_| random()).collect())
                .collect(),
            rows: BTreeMap::new(),
            opened: 0,
        }
    }

    fn insert(&mut self, len: usize) -> RowId {
        let row = RowId(self.opened);
        self.opened += 1;
        self.rows.insert(row, len);
        row
    }
}

impl LanguageModel for Flat {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        Ok(self.insert(0))
    }

    fn fork_row(&mut self, _: RowId, len: usize) -> Result<RowId, ModelError> {
        Ok(self.insert(len))
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.rows.insert(row, len);
        Ok(())
    }

    fn close_row(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.rows.get(&row).copied()
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        check_run(self, rows, hidden)?;
        let mut outputs = Vec::with_capacity(rows.len());
        for run in rows {
            let len = self.rows.entry(run.row).or_default();
            *len += run.tokens.len();
            let logits = &self.logits[*len % self.logits.len()];
            outputs.push(RowOutput::new(
                if run.positions > 0 { logits } else { &[] },
                self.info.logits_width,
            ));
        }
        Ok(RunOutput::new(outputs))
    }

    fn stats(&self) -> ModelStats {
        ModelStats::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("a tokenizer file is wanted")?;
    let tokenizer = Tokenizer::from_file(file)?;
    let vocabulary = tokenizer.vocabulary().clone();
    let width = vocabulary.len() + 1;
    let end = TokenId(vocabulary.len() as u32);
    let tables = Arc::new(VocabularyTables::new(vocabulary.clone()));
    println!("{width} logits");
    for (name, temperature, top_k, top_p) in [
        ("greedy", 0.0, 0, 1.0),
        ("temperature 1", 1.0, 0, 1.0),
        ("temperature 1, top-k 40, top-p 0.9", 1.0, 40, 0.9),
    ] {
        let (mut steered, mut others) = (Vec::new(), Vec::new());
        for schema in SCHEMAS {
            let grammar = json_schema::compile_str(schema, &SchemaOptions::new())?.grammar;
            let constraint =
                CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
            let mut scheduler = Scheduler::new(Flat::new(width, end), vocabulary.clone());
            // The first outputs fill the constraint's tables.
            for budget in [40, 40]
                .into_iter()
                .chain((16..=40).step_by(3))
                .cycle()
                .take(33)
            {
                let options = GenerateOptions {
                    max_new_tokens: Some(budget),
                    token_times: true,
                    sampling: SamplingParams {
                        temperature,
                        top_k,
                        top_p,
                        seed: budget as u64,
                        ..SamplingParams::default()
                    },
                    ..GenerateOptions::default()
                };
                let request =
                    Request::new([TokenId(0)], constraint.matcher()).with_options(options);
                let generation = scheduler.run(request)?.single()?;
                let times = generation.tokens.iter().filter_map(|token| token.time);
                let times: Vec<Duration> = times.collect();
                let mut steps: Vec<Duration> = times.windows(2).map(|w| w[1] - w[0]).collect();
                steps.sort_unstable_by(|a, b| b.cmp(a));
                let count = generation.stats.steered_steps.min(steps.len());
                steered.extend_from_slice(&steps[..count]);
                others.extend_from_slice(&steps[count..]);
            }
        }
        println!("{name}");
        report("steered", steered);
        report("others", others);
    }
    Ok(())
}

fn report(title: &str, mut steps: Vec<Duration>) {
    steps.sort_unstable();
    let Some(last) = steps.len().checked_sub(1) else {
        println!("  {title:<8} none");
        return;
    };
    let at = |part: usize| steps[last * part / 100];
    let (middle, high, most) = (at(50), at(90), at(100));
    println!(
        "  {title:<8} p50 {middle:.2?}, p90 {high:.2?}, slowest {most:.2?} of {} steps",
        steps.len()
    );
}

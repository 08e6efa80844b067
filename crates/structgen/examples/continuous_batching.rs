//! Compares continuous batching of requests with mixed schemas and prompt lengths, which arrive at random, with running
//! each of them alone.
//!
//! `cargo run --release -p structgen --example continuous_batching -- [MODEL_DIR] [REQUESTS] [WORKERS]
//! [LONGEST_PROMPT]`
//!
//! Prints how many outputs are equal to those of single runs, and how close the two best tokens were where one is not;
//! the time to the first token, compared with running in the order of arrival; and outputs per second, compared with
//! running in sequence.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example owns its terminal"
)]

use std::error::Error;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use structgen::constraint::CompiledConstraint;
use structgen::decode::Generation;
use structgen::vocab::TokenId;
use structgen::{Constraint, GenerateOptions, Model, ModelOptions, Request, SchemaOptions};

/// Outputs may differ where the two best allowed tokens are this close.
const MARGIN: f32 = 1e-4;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    let (requests, workers) = (number(1).unwrap_or(64), number(2).unwrap_or(1));
    let longest_prompt = number(3).unwrap_or(800);
    structgen::runtime::ensure(|line| eprint!("{line}"))?;
    let workers = NonZeroUsize::new(workers).ok_or("at least one worker")?;
    let options = ModelOptions::new().with_workers(workers);
    let model = match arguments.first().filter(|folder| !folder.is_empty()) {
        Some(folder) => Model::open(folder, &options)?,
        None => Model::embedded(&options)?,
    };
    let compiled = schemas()
        .iter()
        .map(|schema| model.compile(&Constraint::json_schema(schema, &SchemaOptions::new())?))
        .collect::<structgen::Result<Vec<_>>>()?;
    let mut random = Random(7);
    let requests: Vec<_> = (0..requests)
        .map(|_| request(&model, &compiled, longest_prompt, &mut random))
        .collect();

    let started = Instant::now();
    let single = requests.iter().map(|one| {
        model
            .submit(one.clone())?
            .wait()?
            .single()
            .map_err(Into::into)
    });
    let single: Vec<Generation> = single.collect::<structgen::Result<_>>()?;
    let one_by_one = started.elapsed();

    // While one request runs, about as many arrive as the model runs in parallel.
    let pause = one_by_one / (8 * requests.len() as u32);
    let started = Instant::now();
    let mut runs = Vec::new();
    let mut arrivals = Vec::new();
    for one in &requests {
        arrivals.push(started.elapsed());
        runs.push(model.submit(one.clone())?);
        thread::sleep(pause.mul_f64(2.0 * random.uniform()));
    }
    let mut together = Vec::new();
    for run in runs {
        together.push(run.wait()?.single()?);
    }
    let side_by_side = started.elapsed();

    let mut equal = 0;
    let mut nearest = Vec::new();
    for (one, other) in single.iter().zip(&together) {
        let differs = { one.tokens.iter().zip(&other.tokens) }.find(|(a, b)| a.id != b.id);
        match differs.and_then(|(a, _)| Some((a.alternatives.first()?, a.alternatives.get(1)?))) {
            Some((a, b)) => nearest.push(a.log_probs.allowed - b.log_probs.allowed),
            None => equal += usize::from(one.text == other.text),
        }
    }
    println!(
        "{equal} of {} outputs equal those of single runs; {} differ where the best two tokens were within {MARGIN:e}, {} elsewhere",
        single.len(),
        nearest.iter().filter(|gap| **gap <= MARGIN).count(),
        nearest.iter().filter(|gap| **gap > MARGIN).count(),
    );
    let first = together.iter().map(|output| output.stats.first_token_time);
    let in_order = in_order_of_arrival(&arrivals, &single);
    println!(
        "time to the first token: {}; in the order of arrival, one by one: {}; a single run takes {:.1?}",
        quantiles(first.collect()),
        quantiles(in_order),
        one_by_one / single.len() as u32,
    );
    println!(
        "{:.2} outputs a second side by side, {:.2} one by one: {:.2} times",
        single.len() as f64 / side_by_side.as_secs_f64(),
        single.len() as f64 / one_by_one.as_secs_f64(),
        one_by_one.as_secs_f64() / side_by_side.as_secs_f64(),
    );
    Ok(())
}

/// Returns when the first tokens would arrive if each request started after the one before has ended.
fn in_order_of_arrival(arrivals: &[Duration], single: &[Generation]) -> Vec<Duration> {
    let mut free = Duration::ZERO;
    let first = arrivals.iter().zip(single).map(|(&arrival, one)| {
        let begin = free.max(arrival);
        free = begin + one.stats.total_time;
        begin + one.stats.first_token_time - arrival
    });
    first.collect()
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    format!("median {:.1?}, p99 {:.1?}", at(0.5), at(0.99))
}

fn schemas() -> Vec<Value> {
    vec![
        json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "maxLength": 30}, "age": {"type": "integer", "minimum": 0, "maximum": 120}}}),
        json!({"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 2, "maxItems": 5}),
        json!({"enum": ["open", "closed", "waiting"]}),
        json!({"type": "object", "required": ["total", "lines"], "properties": {"total": {"type": "number"},
            "lines": {"type": "array", "maxItems": 3, "items": {"type": "object", "required": ["item"],
                "properties": {"item": {"type": "string", "maxLength": 20}, "count": {"type": "integer"}}}}}}),
    ]
}

fn request(
    model: &Model,
    compiled: &[CompiledConstraint],
    longest_prompt: usize,
    random: &mut Random,
) -> Request {
    let context = model.info().context_length;
    let most = context.saturating_sub(180).min(longest_prompt) as u64;
    let len = 20 + random.below(most.saturating_sub(20).max(1));
    let ids = model.info().logits_width as u64;
    let prompt: Vec<TokenId> = (0..len)
        .map(|_| TokenId(5 + random.below(ids.min(900) - 5) as u32))
        .collect();
    let constraint = &compiled[random.below(compiled.len() as u64) as usize];
    let options = GenerateOptions {
        max_new_tokens: Some(150),
        log_probs: true,
        alternatives: 2,
        ..GenerateOptions::default()
    };
    Request::new(prompt, Some(constraint.clone())).with_options(options)
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

//! Measures the cost of binding a constraint to an input, and of the masks of grounded values.
//!
//! ```text
//! cargo run --release -p structgen-constraint --example grounded -- \
//!     --tokenizer tokenizer.json --text FILE [--words 1000]
//! ```
//!
//! Each window of a given number of words of the text is an input. A document is written whose strings are random spans
//! of the window, and its masks are computed three times: bound to the input, unbound with cold caches, and unbound
//! with warm ones. Everything is repeated, and the least time of each mask counts, so that other load on the machine is
//! not measured.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use structgen_constraint::{CompiledConstraint, ConstraintOptions, Input, VocabularyTables};
use structgen_frontend::json_schema::{self, SchemaOptions, Source};
use structgen_grammar::Whitespace;
use structgen_vocab::{TokenId, Tokenizer};

/// The maximum number of windows of the text.
const WINDOWS: usize = 100;

/// The number of repetitions.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut tokenizer, mut text, mut words) = (None, None, 1_000);
    let mut arguments = std::env::args().skip(1);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        match &*name {
            "--tokenizer" => tokenizer = Some(value),
            "--text" => text = Some(value),
            "--words" => words = value.parse()?,
            _ => return Err(format!("{name} is not an option").into()),
        }
    }
    let (Some(tokenizer), Some(text)) = (tokenizer, text) else {
        return Err("usage: grounded --tokenizer FILE --text FILE [--words N]".into());
    };
    let tokenizer = Tokenizer::from_file(tokenizer)?;
    let text = std::fs::read_to_string(text)?;
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    for (name, schema) in schemas() {
        measure(name, &schema, &windows(&text, words), &tokenizer, &tables)?;
    }
    Ok(())
}

fn schemas() -> [(&'static str, Value); 3] {
    let object = |properties: Value| {
        let required: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flatten()
            .map(|it| it.0)
            .collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let text = json!({"type": "string"});
    [
        (
            "flat",
            object(json!({"name": text, "company": text, "city": text, "role": text})),
        ),
        (
            "bounded",
            object(json!({
                "name": {"type": "string", "minLength": 2, "maxLength": 60},
                "code": {"type": "string", "pattern": "^[a-z][a-z ]*$"},
                "note": {"type": ["string", "null"], "maxLength": 100},
            })),
        ),
        (
            "list",
            object(json!({
                "tags": {"type": "array", "items": text, "uniqueItems": true},
                "people": {"type": "array", "items": object(json!({"name": text, "role": text}))},
            })),
        ),
    ]
}

/// Returns the parts of the text that have a given number of words.
fn windows(text: &str, words: usize) -> Vec<String> {
    let starts: Vec<usize> = text
        .split_whitespace()
        .map(|word| word.as_ptr().addr() - text.as_ptr().addr())
        .collect();
    let windows = starts.len() / words;
    let step = (windows / WINDOWS).max(1);
    let window = |index: usize| {
        let end = starts
            .get((index + 1) * words)
            .copied()
            .unwrap_or(text.len());
        text[starts[index * words]..end].to_owned()
    };
    (0..windows).step_by(step).map(window).collect()
}

#[derive(Default)]
struct Times {
    masks: Vec<Duration>,
    steps: Vec<Duration>,
}

impl Times {
    fn extend(&mut self, other: Self) {
        self.masks.extend(other.masks);
        self.steps.extend(other.steps);
    }

    /// Keeps the lesser time of each mask and each step of the same document.
    fn keep_least(&mut self, other: Self) {
        if self.masks.is_empty() {
            *self = other;
            return;
        }
        let least = |times: &mut [Duration], others: &[Duration]| {
            for (time, other) in times.iter_mut().zip(others) {
                *time = (*time).min(*other);
            }
        };
        least(&mut self.masks, &other.masks);
        least(&mut self.steps, &other.steps);
    }
}

fn measure(
    name: &str,
    schema: &Value,
    inputs: &[String],
    tokenizer: &Tokenizer,
    tables: &Arc<VocabularyTables>,
) -> Result<(), Box<dyn Error>> {
    let options = SchemaOptions::new()
        .with_source(Source::Input)
        .with_whitespace(Whitespace::Compact);
    let grammar = json_schema::compile(schema, &options)?.grammar;
    let compile =
        || CompiledConstraint::new(grammar.clone(), tables, &ConstraintOptions::default());
    let known = compile()?;
    let (mut inputs_made, mut bound, mut compiled) = (Vec::new(), Vec::new(), Vec::new());
    let [mut grounded, mut cold, mut warm] = [(); 3].map(|()| Times::default());
    let mut random = 1;
    for text in inputs {
        let document = tokenizer.encode(&document(name, text, &mut random))?;
        let mut least = [Duration::MAX; 3];
        let [mut of_bound, mut of_fresh, mut of_known] = [(); 3].map(|()| Times::default());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let input = Arc::new(Input::new(text)?);
            let made = start.elapsed();
            let start = Instant::now();
            let binding = known.bind(&input)?;
            let bound = start.elapsed();
            let start = Instant::now();
            let fresh = compile()?;
            let compiled = start.elapsed();
            for (least, time) in least.iter_mut().zip([made, bound, compiled]) {
                *least = (*least).min(time);
            }
            if !binding.ungrounded.is_empty() {
                continue;
            }
            of_bound.keep_least(follow(&binding.constraint, &document)?);
            of_fresh.keep_least(follow(&fresh, &document)?);
            follow(&known, &document)?;
            of_known.keep_least(follow(&known, &document)?);
        }
        let [made, bind, compile] = least;
        inputs_made.push(made);
        bound.push(bind);
        compiled.push(compile);
        grounded.extend(of_bound);
        cold.extend(of_fresh);
        warm.extend(of_known);
    }
    println!("{name}: {} inputs", bound.len());
    print("reading an input", inputs_made);
    print("binding it", bound);
    print("compiling a grammar", compiled);
    for (what, times) in [
        ("grounded", grounded),
        ("ungrounded, nothing known", cold),
        ("ungrounded, known", warm),
    ] {
        print(&format!("mask, {what}"), times.masks);
        print(&format!("token, {what}"), times.steps);
    }
    Ok(())
}

/// Writes a document with random spans of the text.
fn document(name: &str, text: &str, random: &mut u64) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut below = |n: usize| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random % n as u64) as usize
    };
    let mut span = |most: usize, is_plain: bool| loop {
        let count = 1 + below(most);
        let from = below(words.len() - count);
        let span = words[from..from + count].join(" ");
        let is_lower = span.chars().all(|c| c == ' ' || c.is_ascii_lowercase());
        if (!is_plain || is_lower) && (2..=60).contains(&span.chars().count()) {
            return span;
        }
    };
    let value = match name {
        "flat" => {
            json!({"name": span(3, false), "company": span(4, false), "city": span(2, false), "role": span(5, false)})
        }
        "bounded" => json!({"name": span(3, false), "code": span(2, true), "note": span(5, false)}),
        _ => {
            let mut tags: Vec<String> = (0..4).map(|_| span(3, false)).collect();
            tags.sort();
            tags.dedup();
            let people: Vec<Value> = (0..3)
                .map(|_| json!({"name": span(2, false), "role": span(4, false)}))
                .collect();
            json!({"tags": tags, "people": people})
        }
    };
    value.to_string()
}

fn follow(constraint: &CompiledConstraint, document: &[TokenId]) -> Result<Times, Box<dyn Error>> {
    let mut times = Times::default();
    let mut matcher = constraint.matcher();
    for &token in document {
        let start = Instant::now();
        matcher.mask()?;
        times.masks.push(start.elapsed());
        let start = Instant::now();
        matcher.accept_token(token)?;
        times.steps.push(start.elapsed());
    }
    Ok(times)
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let micros = |share: f64| {
        let at = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    };
    let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e6 / times.len().max(1) as f64;
    println!(
        "  {what:32} p50 {:9.1} µs   p99 {:9.1}   max {:9.1}   mean {mean:9.1}",
        micros(0.5),
        micros(0.99),
        micros(1.0)
    );
}

//! The slowest step of a small request while another request of the same constraint writes a large document.
//!
//! ```text
//! cargo run --release -p structgen-constraint --example neighbours -- [--tokenizer tokenizer.json]
//! ```
//!
//! A step is a mask and an accepted token. The small request is repeated, first alone for as long as the large one
//! takes, then beside it. Other load on the machine delays steps too, so compare the two rows. Without a tokenizer,
//! tokens are single bytes.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_vocab::{TokenId, Tokenizer, Vocabulary};

/// A schema, the text of the small request, and the text of the large one.
type Case = (&'static str, &'static str, &'static str, fn() -> String);

const CASES: &[Case] = &[
    (
        "300 distinct URLs",
        r#"{"type": "array", "items": {"type": "string"}, "uniqueItems": true}"#,
        r#"["a", "b"]"#,
        || {
            let urls = (0..300).map(|i| format!(r#""https://example.com/articles/2026/{i}""#));
            format!("[{}]", urls.collect::<Vec<_>>().join(", "))
        },
    ),
    (
        "an object of 5,000 keys",
        r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#,
        r#"{"a": 1, "b": 2}"#,
        || {
            let members = (0..5_000).map(|i| format!(r#""key{i}": {i}"#));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        },
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (vocabulary, tokenizer) = match arguments.as_slice() {
        [] => {
            let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
            (Arc::new(Vocabulary::from_tokens(bytes, &[])?), None)
        }
        [flag, file] if flag == "--tokenizer" => {
            let tokenizer = Tokenizer::from_file(file)?;
            (tokenizer.vocabulary().clone(), Some(tokenizer))
        }
        _ => return Err("usage: neighbours [--tokenizer FILE]".into()),
    };
    let tables = Arc::new(VocabularyTables::new(vocabulary));
    for (name, schema, small, large) in CASES {
        let encode = |text: &str| -> Result<Vec<TokenId>, Box<dyn Error>> {
            Ok(match &tokenizer {
                Some(tokenizer) => tokenizer.encode(text)?,
                None => text.bytes().map(|byte| TokenId(byte.into())).collect(),
            })
        };
        let grammar = json_schema::compile_str(schema, &SchemaOptions::new())?.grammar;
        let compile = || {
            let options = ConstraintOptions::default();
            CompiledConstraint::new(grammar.clone(), &tables, &options)
        };
        let (small, large) = (encode(small)?, encode(&large())?);
        let constraint = compile()?;
        let begun = Instant::now();
        let mut own = Vec::new();
        write(&constraint, &large, &mut own);
        let took = begun.elapsed();
        println!("{name}: {took:.1?}");
        report("the large one", own);

        let constraint = compile()?;
        let mut alone = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < took {
            write(&constraint, &small, &mut alone);
        }
        report("the small one", alone);

        let mut beside = Vec::new();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                write(&constraint, &large, &mut Vec::new());
                is_done.store(true, Ordering::Relaxed);
            });
            while !is_done.load(Ordering::Relaxed) {
                write(&constraint, &small, &mut beside);
            }
        });
        report("beside it", beside);
    }
    Ok(())
}

fn report(title: &str, mut steps: Vec<Duration>) {
    steps.sort_unstable();
    let at = |part: usize| steps[(steps.len() - 1) * part / 1000];
    println!(
        "  {title:<13}  p50 {:.1?}, p99 {:.1?}, p99.9 {:.1?}, slowest {:.1?} of {} steps",
        at(500),
        at(990),
        at(999),
        at(1000),
        steps.len()
    );
}

/// Writes a text, with a mask before every token.
fn write(constraint: &CompiledConstraint, text: &[TokenId], steps: &mut Vec<Duration>) {
    let mut matcher = constraint.matcher();
    for &token in text {
        let begun = Instant::now();
        let allowed = matcher.mask().is_ok_and(|mask| mask.contains(token));
        let taken = matcher.accept_token(token);
        assert!(allowed && taken.is_ok(), "the text is valid");
        steps.push(begun.elapsed());
    }
}

//! Measures the time to recognise the values of a text of 1,000 words, and to list them for two leaves.
//!
//! ```text
//! cargo run --release -p structgen-recognize --example speed -- target/values.jsonl
//! ```
//!
//! The file is from `training/recognized_values.py`; without one, a paragraph is repeated.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::time::{Duration, Instant};

use serde::Deserialize;
use structgen_recognize::{Leaf, Options, allowed, recognize};

#[derive(Deserialize)]
struct Sample {
    text: String,
}

const PARAGRAPH: &str = "On 12 May 2024 at half past nine we met Ms Keller (+49 30 123456, keller@example.com) about \
    twelve crates at 1,234.50 EUR each, 19 % tax included. The next meeting takes an hour and a half and begins at \
    14:30; the notes are on https://example.com/notes/2024. Nothing else was decided, and everyone went home early. ";
const WORDS: usize = 1000;
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut source = match std::env::args().nth(1) {
        Some(path) => {
            let lines = std::fs::read_to_string(path)?;
            let texts = lines
                .lines()
                .map(|line| serde_json::from_str::<Sample>(line).map(|sample| sample.text));
            texts.collect::<Result<Vec<_>, _>>()?.join("\n\n")
        }
        None => PARAGRAPH.repeat(WORDS / 10),
    };
    source.push(' ');
    let mut words = 0;
    let end = source.char_indices().find(|(_, character)| {
        words += usize::from(character.is_whitespace());
        words == WORDS
    });
    let text = &source[..end.map_or(source.len(), |(at, _)| at)];
    let candidates = recognize(text, &Options::default());
    println!(
        "{} words, {} bytes, {} candidates",
        text.split_whitespace().count(),
        text.len(),
        candidates.len()
    );
    println!(
        "recognize         {:?}",
        median(|| recognize(text, &Options::default()).len())
    );
    for leaf in [Leaf::Integer, Leaf::Number, Leaf::Date, Leaf::HourMinute] {
        let spent = median(|| allowed(&candidates, leaf).len());
        println!(
            "{:17} {spent:?}, {} texts",
            format!("{leaf:?}"),
            allowed(&candidates, leaf).len()
        );
    }
    Ok(())
}

/// The median of the rounds.
fn median(work: impl Fn() -> usize) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(work());
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

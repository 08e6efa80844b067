//! Counts how many of a sample's typed answers are among the candidates of its texts.
//!
//! ```text
//! python3 training/recognized_values.py 4000 > target/values.jsonl
//! cargo run --release -p structgen-recognize --example recall -- target/values.jsonl
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;

use serde::Deserialize;
use structgen_recognize::{Leaf, Options, allowed, recognize};

#[derive(Deserialize)]
struct Sample {
    text: String,
    language: String,
    values: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    leaf: String,
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the path of a file from training/recognized_values.py")?;
    let mut counts: BTreeMap<(String, String), [usize; 4]> = BTreeMap::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let sample: Sample = serde_json::from_str(line)?;
        let candidates = recognize(&sample.text, &Options::default());
        for expected in &sample.values {
            let Some(leaf) = leaf(&expected.leaf) else {
                continue;
            };
            let allowed = allowed(&candidates, leaf);
            let same = |text: &str| match leaf {
                Leaf::Number => text.parse::<f64>().ok() == expected.text.parse().ok(),
                _ => text == expected.text,
            };
            let hit = allowed.iter().find(|allowed| same(&allowed.text));
            for language in [&sample.language, "all"] {
                let count = counts
                    .entry((expected.leaf.clone(), language.to_owned()))
                    .or_default();
                count[0] += 1;
                count[1] += usize::from(hit.is_some());
                count[2] += usize::from(hit.is_some_and(|hit| hit.reading() == 0));
                count[3] += allowed.len();
            }
            if hit.is_none() {
                println!(
                    "miss: {} {:?} in {:?}",
                    expected.leaf, expected.text, sample.text
                );
            }
        }
    }
    println!("leaf          language   values   reached   as best reading   candidates per leaf");
    for ((leaf, language), [all, reached, best, allowed]) in counts {
        let share = |part: usize| 100.0 * part as f64 / all as f64;
        println!(
            "{leaf:13} {language:8} {all:8} {:8.2}% {:16.2}% {:21.1}",
            share(reached),
            share(best),
            allowed as f64 / all as f64
        );
    }
    Ok(())
}

fn leaf(name: &str) -> Option<Leaf> {
    Some(match name {
        "integer" => Leaf::Integer,
        "number" => Leaf::Number,
        "hour-minute" => Leaf::HourMinute,
        "currency" => Leaf::Currency,
        format => return Leaf::for_format(format),
    })
}

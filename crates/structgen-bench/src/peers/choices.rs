//! Long lists of choices: the time and memory to compile them, and the time of their masks.

use std::sync::Arc;
use std::time::Instant;

use structgen::constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen::grammar::{GrammarBuilder, JsonForm};
use structgen::vocab::{TokenId, Tokenizer};
use structgen_maskbench::Percentiles;

use super::memory;

/// Number of texts to write, token by token.
const WRITTEN: usize = 2_000;

const SYLLABLES: [&str; 24] = [
    "ba", "den", "fel", "gor", "hau", "im", "jo", "kar", "lin", "mo", "nau", "ost", "pre", "quo",
    "ro", "sten", "tal", "ur", "ver", "wei", "xan", "yl", "zu", "ö",
];

/// A kind of texts, all of them different.
struct Kind {
    name: &'static str,
    text: fn(u64) -> String,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "names of four to seven syllables and a number",
        text: |n| {
            let mut random = mixed(n);
            let mut text = String::new();
            for _ in 0..4 + random % 4 {
                random /= 4;
                text += SYLLABLES[(random % 24) as usize];
                random /= 24;
            }
            format!("{text} {n}")
        },
    },
    Kind {
        name: "sixteen random digits of a hexadecimal number",
        text: |n| format!("{:016x}", mixed(n)),
    },
];

/// SplitMix64 (Steele, Lea and Flood 2014): different results for different numbers.
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Times `count` choices of each kind.
///
/// # Errors
/// If a list does not compile, or one of its texts is refused.
pub(crate) fn time(
    tokenizer: &Tokenizer,
    tables: &Arc<VocabularyTables>,
    eos: TokenId,
    count: u64,
) -> anyhow::Result<()> {
    for Kind { name, text } in KINDS {
        let texts: Vec<String> = (0..count).map(text).collect();
        let before = memory::peak()?;
        let begin = Instant::now();
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = builder.literals(&texts)?;
        builder.define(root, body);
        let grammar = builder.finish(root, JsonForm::generate());
        let options = ConstraintOptions {
            eos: vec![eos],
            ..ConstraintOptions::default()
        };
        let constraint = CompiledConstraint::new(grammar, tables, &options)?;
        let mut matcher = constraint.matcher();
        matcher.mask()?;
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "\n{count} choices, {name}: compile + first mask {seconds:.2} s; peak memory {} MiB, of which {} MiB before",
            memory::peak()? / 1024,
            before / 1024
        );
        let mut times = Vec::new();
        for n in 0..WRITTEN as u64 {
            let text = &texts[(mixed(n) % count) as usize];
            let mut matcher = constraint.matcher();
            for token in tokenizer.encode(text)?.into_iter().chain([eos]) {
                let begin = Instant::now();
                let mask = matcher.mask()?;
                times.push(begin.elapsed().as_secs_f64() * 1e6);
                anyhow::ensure!(mask.contains(token), "{text:?} is refused");
                drop(mask);
                matcher.accept_token(token)?;
            }
        }
        println!("microseconds{}", Percentiles::HEADER);
        println!("mask        {}", Percentiles::new(times));
    }
    Ok(())
}

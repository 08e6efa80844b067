//! Measures the cost of sampler chains, in passes: one pass is a sum over all logits in sixteen lanes, measured in the
//! same process.
//!
//! ```text
//! cargo run --release -p structgen-decode --example sampler_chains
//! ```
//!
//! 128,256 logits, all of them allowed unless a mask of 20 tokens is mentioned; one thread, the fastest of 301 runs
//! each. Times include filling the candidates and drawing.

mod yardstick;

use std::hint::black_box;
use std::io::Write;

use self::yardstick::{fastest, sum};
use structgen_decode::{
    SamplingParams,
    constraint::PlainMask,
    samplers::{Accepted, Candidates, SamplerChain, SequenceRng},
};
use structgen_vocab::{TokenId, TokenMask};

const WIDTH: usize = 128_256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SequenceRng::new(1, 0);
    // The sum of twelve uniform numbers approximates a normal distribution.
    let normal: Vec<f32> = (0..WIDTH)
        .map(|_| ((0..12).map(|_| random.uniform()).sum::<f64>() - 6.0) as f32)
        .collect();
    let scaled = |by: f32| normal.iter().map(|l| l * by).collect::<Vec<_>>();
    let mut peaked = scaled(2.0);
    for (i, place) in [77, 5_000, 64_123, 100_001].into_iter().enumerate() {
        peaked[place] = 16.0 - 1.5 * i as f32;
    }
    let vectors = [
        ("peaked", peaked),
        ("normal x 3", scaled(3.0)),
        ("flat", scaled(0.1)),
        ("equal", vec![0.0; WIDTH]),
    ];
    let all = PlainMask::new(TokenMask::full(WIDTH));
    let mut few = TokenMask::new(WIDTH);
    (0..20).for_each(|i| few.allow(TokenId(i * 6_001 + 7)));
    let few = PlainMask::new(few);

    let top_k = SamplingParams {
        temperature: 0.8,
        top_k: 40,
        top_p: 0.95,
        min_p: 0.05,
        ..SamplingParams::default()
    };
    let penalties = SamplingParams {
        repetition_penalty: 1.1,
        frequency_penalty: 0.1,
        ..top_k.clone()
    };
    let top_p = SamplingParams {
        temperature: 1.0,
        top_p: 0.95,
        ..SamplingParams::default()
    };
    let mut out = std::io::stdout();
    writeln!(
        out,
        "| logits | pass, us | chain | with penalties | top-p alone | mask of 20 tokens |\n|---|---|---|---|---|---|"
    )?;
    for (name, logits) in &vectors {
        let pass = fastest(|| {
            black_box(sum(black_box(logits)));
        });
        let mut passes = Vec::new();
        for (params, mask) in [
            (&top_k, &all),
            (&penalties, &all),
            (&top_p, &all),
            (&top_k, &few),
        ] {
            let mut chain = SamplerChain::new(params, 0)?;
            for i in 0..256 {
                chain.accept(Accepted::certain(TokenId(i * 499)));
            }
            let mut candidates = Candidates::default();
            passes.push(fastest(|| {
                black_box(chain.pick(&mut candidates, black_box(logits), mask, &[]));
            }));
        }
        let passes: Vec<_> = passes
            .iter()
            .map(|us| format!("{:.2}", us / pass))
            .collect();
        writeln!(out, "| {name} | {pass:.2} | {} |", passes.join(" | "))?;
    }
    Ok(())
}

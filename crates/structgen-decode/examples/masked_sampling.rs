//! Measures the cost of sampling from allowed tokens, in passes: one pass is a sum over all logits in sixteen lanes,
//! measured in the same process.
//!
//! ```text
//! cargo run --release -p structgen-decode --example masked_sampling
//! ```
//!
//! 128,256 logits, one thread, the fastest of 301 runs each. A mask's tokens are either scattered at random, the worst
//! case, or contiguous.

mod yardstick;

use std::hint::black_box;
use std::io::Write;

use self::yardstick::{fastest, sum};
use structgen_decode::{
    SamplingParams,
    constraint::PlainMask,
    samplers::{Candidates, SamplerChain, SequenceRng, masked_argmax, masked_softmax},
};
use structgen_vocab::{TokenId, TokenMask};

const WIDTH: usize = 128_256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SequenceRng::new(1, 0);
    // The sum of twelve uniform numbers approximates a normal distribution.
    let logits: Vec<f32> = (0..WIDTH)
        .map(|_| ((0..12).map(|_| random.uniform()).sum::<f64>() - 6.0) as f32 * 3.0)
        .collect();
    let pass = fastest(|| {
        black_box(sum(black_box(&logits)));
    });
    let sampling = SamplingParams {
        temperature: 0.7,
        top_k: 40,
        ..SamplingParams::default()
    };
    let mut chain = SamplerChain::new(&sampling, 0)?;
    let mut candidates = Candidates::default();

    let mut out = std::io::stdout();
    writeln!(out, "one pass: {pass:.2} us")?;
    writeln!(
        out,
        "| mask | arg-max | softmax | top-k 40 | (passes)\n|---|---|---|---|"
    )?;
    for (name, share, run) in [
        ("20 tokens", 20.0 / WIDTH as f64, 1),
        ("2%", 0.02, 1),
        ("50%", 0.5, 1),
        ("85%", 0.85, 1),
        ("99%", 0.99, 1),
        ("50% in runs", 0.5, 4096),
        ("99% in runs", 0.99, 1024),
        ("all", 2.0, 1),
    ] {
        let mut mask = TokenMask::new(WIDTH);
        for start in (0..WIDTH).step_by(run) {
            if name == "20 tokens" || random.uniform() >= share {
                continue;
            }
            for id in start..(start + run).min(WIDTH) {
                mask.allow(TokenId(id as u32));
            }
        }
        while name == "20 tokens" && mask.count() < 20 {
            mask.allow(TokenId((random.uniform() * WIDTH as f64) as u32));
        }
        let mask = PlainMask::new(mask);
        let argmax = fastest(|| {
            black_box(masked_argmax(black_box(&logits), &mask, &[]));
        });
        let softmax = fastest(|| {
            black_box(masked_softmax(black_box(&logits), &mask, &[]));
        });
        let top_k = fastest(|| {
            chain.fill(&mut candidates, black_box(&logits), &mask, &[]);
            black_box(candidates.len());
        });
        writeln!(
            out,
            "| {name} | {:.3} | {:.3} | {:.3} |",
            argmax / pass,
            softmax / pass,
            top_k / pass
        )?;
    }
    Ok(())
}

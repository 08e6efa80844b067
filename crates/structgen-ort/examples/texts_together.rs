//! The greedy texts of several prompts in one batch, or their best beams, as token ids.
//!
//! ```text
//! cargo run --release -p structgen-ort --example texts_together -- MODEL_FOLDER < REQUEST
//! ```
//!
//! REQUEST is `{"prompts": [[ID, …], …], "tokens": N, "banned": [ID, …], "beams": N}`: N tokens a text, none of the
//! banned ones. `training/exports/matrix.py` compares what comes out with other runtimes.

#![allow(clippy::print_stdout, reason = "prints what it generates")]

use std::error::Error;
use std::path::Path;

use serde::Deserialize;
use structgen_decode::strategies::BeamOptions;
use structgen_decode::{
    GenerateOptions, LanguageModel, Request, Scheduler, Strategy, Unconstrained,
};
use structgen_ort::{Device, LoadOptions, OrtModel, Runtime, Search};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

#[derive(Deserialize)]
struct Wanted {
    prompts: Vec<Vec<u32>>,
    tokens: usize,
    banned: Vec<u32>,
    beams: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("a model folder is wanted")?;
    let wanted: Wanted = serde_json::from_reader(std::io::stdin())?;
    let runtime = Runtime::load(&Search::from_env(None))?;
    let options = LoadOptions {
        device: Device::cpu(1),
        ..LoadOptions::default()
    };
    let model = OrtModel::open(runtime, Path::new(&folder), &options)?;
    let width = model.info().logits_width;
    let mut mask = TokenMask::full(width);
    wanted.banned.iter().for_each(|&id| mask.deny(TokenId(id)));
    // Texts are of no interest here, only ids.
    let bytes = (0..width).map(|id| format!("<{id}>").into_bytes());
    let mut scheduler = Scheduler::new(model, Vocabulary::from_tokens(bytes, &[])?);
    let mut tickets = Vec::new();
    for prompt in &wanted.prompts {
        let prompt: Vec<TokenId> = prompt.iter().copied().map(TokenId).collect();
        let options = GenerateOptions {
            max_new_tokens: Some(wanted.tokens),
            ..GenerateOptions::default()
        };
        let strategy = match wanted.beams {
            0 | 1 => Strategy::Sample,
            width => {
                let beams = BeamOptions {
                    width,
                    ..BeamOptions::default()
                };
                beams.into()
            }
        };
        let request = Request::new(prompt, Unconstrained::new(mask.clone(), &[]));
        tickets.push(scheduler.submit(request.with_options(options).with_strategy(strategy))?);
    }
    let mut texts = vec![Vec::new(); tickets.len()];
    while !scheduler.is_idle() {
        for (ticket, outputs) in scheduler.step() {
            let best = outputs?.outputs.into_iter().next().ok_or("no output")??;
            let at = tickets.iter().position(|&other| other == ticket);
            let ids = best.generation.tokens.iter().map(|token| token.id.0);
            texts[at.ok_or("a ticket of nobody")?] = ids.collect();
        }
    }
    println!("{}", serde_json::to_string(&texts)?);
    Ok(())
}

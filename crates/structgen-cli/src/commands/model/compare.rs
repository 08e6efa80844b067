//! `structgen model compare`: two models side by side, and how often they agree.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use structgen::decode::strategies::LogitsRequest;
use structgen::ort::{ModelFolder, Runtime, Weights};
use structgen::vocab::TokenId;
use structgen::{GenerateOptions, Model, ModelOptions};
use structgen_lab::agreement::Agreement;

use super::list::size;
use crate::args::at_least_one;
use crate::error::DONE;
use crate::input::read_text_file;
use crate::models::{folder_bytes, resolve};
use crate::output::write_line;

/// The default texts: prose, code, data and two more languages.
const TEXTS: [&str; 6] = [
    "The ferry leaves at seven in the morning, and in winter only on weekdays. Whoever misses it waits until noon, or \
     takes the bus around the bay, which is slower but costs half as much.",
    "fn mean(values: &[f64]) -> Option<f64> {\n    if values.is_empty() {\n        return None;\n    }\n    \
     Some(values.iter().sum::<f64>() / values.len() as f64)\n}\n",
    "{\"order\": 4711, \"items\": [{\"name\": \"lamp\", \"price\": 24.5}, {\"name\": \"desk\", \"price\": 180}], \"paid\": true}",
    "The experiment was repeated three times. Each time the temperature rose by four degrees within the first minute and \
     stayed there, so that the sensor is not to blame.",
    "Der Vertrag wurde am 3. Mai unterzeichnet und gilt für zwei Jahre. Er verlängert sich, wenn ihn niemand kündigt.",
    "Le musée est fermé le mardi. Les autres jours, il ouvre à dix heures et l'entrée est gratuite pour les enfants.",
];

/// Maximum number of tokens per text: all rows of its logits are in memory at once.
const LONGEST: usize = 256;

/// Options of `structgen model compare`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Both models run in this process, turn by turn. Tokens per second are of greedy decoding after the prompt, the median over the rounds.\n\
    Agreement: both read the same texts, and after each token the likeliest next one and KL(A || B) = sum of p ln(p/q), in nats, are compared. It takes\n\
    models of one vocabulary."
)]
pub(super) struct Args {
    /// Model folder, or the name of a registered model
    a: PathBuf,
    /// Model to compare it with
    b: PathBuf,
    #[command(flatten)]
    texts: TextsArgs,
    /// Number of rounds for measuring speed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one::<usize>)]
    rounds: usize,
    /// Number of tokens that each model generates per round
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = at_least_one::<usize>)]
    tokens: usize,
}

/// The texts that both models read.
#[derive(clap::Args, Debug)]
pub(super) struct TextsArgs {
    /// File with one text per line, instead of the six built-in ones
    #[arg(long, value_name = "FILE")]
    texts: Option<PathBuf>,
}

impl TextsArgs {
    pub(super) fn is_given(&self) -> bool {
        self.texts.is_some()
    }

    fn read(&self) -> anyhow::Result<Vec<String>> {
        let Some(path) = &self.texts else {
            return Ok(TEXTS.map(str::to_owned).to_vec());
        };
        let text = read_text_file(path)?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        if lines.is_empty() {
            bail!("there is no text in {}", path.display());
        }
        Ok(lines)
    }
}

/// One of the two models.
struct Side {
    name: String,
    bytes: u64,
    quantization: String,
    load: Duration,
    model: Model,
    /// Tokens per second in each round.
    speeds: Vec<f64>,
}

impl Side {
    fn load(named: &Path) -> anyhow::Result<Self> {
        let folder = resolve(named)?;
        let cannot = || format!("the model folder {} cannot be used", folder.display());
        let found = ModelFolder::open(&folder, None).with_context(cannot)?;
        let weights = Weights::of_files(found.files())
            .with_context(|| format!("{} cannot be read", found.file_names()))?;
        let started = Instant::now();
        let model = Model::open(&folder, &ModelOptions::new()).with_context(cannot)?;
        let load = started.elapsed();
        Ok(Self {
            name: named.display().to_string(),
            bytes: folder_bytes(&folder)?,
            quantization: weights.quantization().to_string(),
            load,
            model,
            speeds: Vec::new(),
        })
    }

    /// Generates greedily, ignoring end-of-sequence tokens.
    fn run(&mut self, tokens: usize) -> anyhow::Result<()> {
        let prompt = self.model.encode_prompt(TEXTS[0])?;
        let tokens = self.model.room_after(&prompt, tokens);
        let options = GenerateOptions {
            min_new_tokens: tokens,
            max_new_tokens: Some(tokens),
            ..GenerateOptions::default()
        };
        let generation = self.model.generate(&prompt, None, &options)?;
        let stats = &generation.stats;
        let time = stats.total_time.saturating_sub(stats.first_token_time);
        let later = generation.tokens.len().saturating_sub(1);
        self.speeds
            .push(later as f64 / time.as_secs_f64().max(1e-9));
        Ok(())
    }

    fn speed(&self) -> f64 {
        let mut speeds = self.speeds.clone();
        speeds.sort_unstable_by(f64::total_cmp);
        speeds.get(speeds.len() / 2).copied().unwrap_or_default()
    }

    fn json(&self) -> Value {
        json!({
            "model": self.name,
            "bytes": self.bytes,
            "quantization": self.quantization,
            "context": self.model.info().context_length,
            "load_seconds": self.load.as_secs_f64(),
            "tokens_per_second": self.speed(),
        })
    }
}

pub(super) fn run(args: &Args, json: bool) -> anyhow::Result<ExitCode> {
    let texts = args.texts.read()?;
    // Load the library first, so that neither model's loading time includes it.
    Runtime::load(&ModelOptions::new().search())?;
    let [mut a, mut b] = [Side::load(&args.a)?, Side::load(&args.b)?];
    for round in 0..=args.rounds {
        for side in [&mut a, &mut b] {
            side.run(args.tokens)?;
            if round == 0 {
                // The first round is for warm-up.
                side.speeds.clear();
            }
        }
    }
    let agreement = match have_one_vocabulary(&a.model, &b.model) {
        true => Some(agreement(&a.model, &b.model, &texts)?),
        false => None,
    };
    let ratio = b.speed() / a.speed();
    if json {
        let object = json!({
            "a": a.json(),
            "b": b.json(),
            "speed_ratio": ratio,
            "agreement": agreement.as_ref().map(as_json),
        });
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(DONE);
    }
    let row = |name: &str, of: &dyn Fn(&Side) -> String, more: &str| {
        let line = format!("{name:<12}  {:>20}  {:>20}  {more}", of(&a), of(&b));
        write_line(line.trim_end())
    };
    row("", &|side| shortened(&side.name), "")?;
    row("size", &|side| size(side.bytes), "")?;
    row("quantisation", &|side| side.quantization.clone(), "")?;
    row(
        "context",
        &|side| side.model.info().context_length.to_string(),
        "",
    )?;
    row(
        "load",
        &|side| format!("{:.0} ms", side.load.as_secs_f64() * 1e3),
        "",
    )?;
    let faster = format!("{ratio:.2} times as many");
    row("tokens/s", &|side| format!("{:.1}", side.speed()), &faster)?;
    match &agreement {
        Some(agreement) => write_agreement(agreement)?,
        None => write_line(
            "Their vocabularies differ, so there is no agreement about tokens to measure.",
        )?,
    }
    Ok(DONE)
}

/// Truncates a path at its start to fit into a column.
fn shortened(name: &str) -> String {
    const WIDTH: usize = 20;
    match name.chars().count() {
        length if length > WIDTH => {
            let end: String = name.chars().skip(length + 1 - WIDTH).collect();
            format!("…{end}")
        }
        _ => name.to_owned(),
    }
}

fn have_one_vocabulary(a: &Model, b: &Model) -> bool {
    let [a, b] = [a, b].map(|model| model.tokenizer().vocabulary());
    a.tokens().eq(b.tokens())
}

/// Measures the agreement of a variant of the model in a folder with a reference with the same vocabulary, over these
/// texts.
///
/// # Errors
/// If a model fails, or the vocabularies differ.
pub(super) fn agreement_of_folders(
    reference: &Path,
    folder: &Path,
    variant: Option<&str>,
    texts: &TextsArgs,
) -> anyhow::Result<Agreement> {
    let texts = texts.read()?;
    let open = |folder: &Path, options: &ModelOptions| {
        Model::open(folder, options)
            .with_context(|| format!("the model folder {} cannot be used", folder.display()))
    };
    let plain = ModelOptions::new();
    let reference = open(&resolve(reference)?, &plain)?;
    let other = match variant {
        Some(variant) => open(folder, &plain.with_variant(variant))?,
        None => open(folder, &plain)?,
    };
    if !have_one_vocabulary(&reference, &other) {
        bail!("the vocabularies of the two models differ, so their tokens cannot be compared");
    }
    agreement(&reference, &other, &texts)
}

fn agreement(reference: &Model, other: &Model, texts: &[String]) -> anyhow::Result<Agreement> {
    let agreement = Arc::new(Mutex::new((Agreement::default(), Ok(()))));
    let longest = LONGEST
        .min(reference.info().context_length)
        .min(other.info().context_length);
    for text in texts {
        let mut tokens: Vec<TokenId> = reference.encode_prompt(text)?;
        tokens.truncate(longest);
        let rows = reference.logits(&tokens, tokens.len())?;
        let found = Arc::clone(&agreement);
        let request = LogitsRequest::new(&*tokens, tokens.len(), move |at, logits| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            let (agreement, outcome) = &mut *found;
            if outcome.is_ok() {
                *outcome = agreement.push(&rows[at], logits);
            }
        });
        other.engine().run(request)?;
    }
    let (agreement, outcome) = *agreement.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.context("a model gives logits that are no numbers")?;
    Ok(agreement)
}

pub(super) fn as_json(agreement: &Agreement) -> Value {
    json!({
        "positions": agreement.positions,
        "same_greedy_token": agreement.greedy(),
        // JSON cannot represent infinity.
        "mean_kl": Some(agreement.mean_kl()).filter(|kl| kl.is_finite()),
        "largest_kl": Some(agreement.largest_kl).filter(|kl| kl.is_finite()),
    })
}

pub(super) fn write_agreement(agreement: &Agreement) -> std::io::Result<()> {
    write_line(&format!(
        "agreement     {:.1}% of {} positions have the same likeliest token; KL {:.4} nats in the mean, {:.4} at most",
        agreement.greedy() * 100.0,
        agreement.positions,
        agreement.mean_kl(),
        agreement.largest_kl
    ))
}

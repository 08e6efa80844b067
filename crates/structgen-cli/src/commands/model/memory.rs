//! `info` and `memory`: what a model consists of, and how much memory it needs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use structgen::ModelOptions;
use structgen::decode::LanguageModel;
use structgen::ort::{LoadOptions, ModelFolder, ModelSource, Runtime, Weights};
use structgen_lab::memory::{Estimate, Fit, GIGABYTE, Workload};

use super::list::size;
use crate::args::{at_least_one, whole};
use crate::error::{DONE, does_not_fit};
use crate::models::resolve;
use crate::output::write_line;
use crate::process;

/// Options of `structgen model memory`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Of a folder: the weights by type, keys and values as the graph has them (heads of keys and values, not of queries), twice where past and present are not one buffer, what a step needs besides, and what loading adds to this process, which is what counts where it is more than the runtime is known to hold.\n\
    Of a number of parameters: weights = B x bits/8 GB; cache = 2 x layers x width x context x batch x 2 bytes of the nearest of 7B (32 layers, 4096), 13B (40, 5120), 70B (80, 8192); \
    activations = 10% of the weights. A GB is 10^9 bytes."
)]
pub(super) struct Args {
    /// Model folder, or the name of a registered model
    #[arg(required_unless_present = "billions")]
    model: Option<PathBuf>,
    /// Variant of the folder's model file
    #[arg(long, value_name = "NAME", requires = "model")]
    variant: Option<String>,
    /// Number of parameters in billions, instead of a folder
    #[arg(long, value_name = "B", conflicts_with = "model")]
    billions: Option<f64>,
    /// Bits per weight
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4.0,
        conflicts_with = "model"
    )]
    bits: f64,
    /// Number of positions per sequence [default: the model's context; 4096 with --billions]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    context: Option<usize>,
    /// Number of sequences in a batch
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one::<usize>)]
    batch: usize,
    /// Available memory, in GB
    #[arg(long, value_name = "GB")]
    available: Option<f64>,
}

pub(super) fn info(model: &Path, variant: Option<&str>, json: bool) -> anyhow::Result<ExitCode> {
    let folder = resolve(model)?;
    let (found, weights) = open(&folder, variant)?;
    let layout = match (found.genai, found.shares_buffers) {
        (true, true) => "onnxruntime-genai, past and present in one buffer",
        (true, false) => "onnxruntime-genai",
        (false, _) => "optimum",
    };
    let context = found.config.context_length;
    if json {
        let object = json!({
            "files": found.files().collect::<Vec<_>>(),
            "layout": layout,
            "context": context,
            "quantization": weights.quantization(),
            "tensors": weights.tensors().len(),
            "weights": by_type(&weights),
        });
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(DONE);
    }
    let context = context.map_or("not configured".to_owned(), |context| context.to_string());
    write_line(&format!("files         {}", found.file_names()))?;
    write_line(&format!("layout        {layout}"))?;
    write_line(&format!("context       {context}"))?;
    write_line(&format!("quantization  {}", weights.quantization()))?;
    write_weights(&weights)?;
    Ok(DONE)
}

fn open(folder: &Path, variant: Option<&str>) -> anyhow::Result<(ModelFolder, Weights)> {
    let found = ModelFolder::open(folder, variant)
        .with_context(|| format!("the model folder {} cannot be used", folder.display()))?;
    let weights = Weights::of_files(found.files())
        .with_context(|| format!("{} cannot be read", found.file_names()))?;
    Ok((found, weights))
}

fn by_type(weights: &Weights) -> Value {
    let types = weights.bytes_by_type().into_iter();
    types
        .map(|(dtype, bytes)| json!({"type": dtype.name(), "bytes": bytes}))
        .collect()
}

fn write_weights(weights: &Weights) -> anyhow::Result<()> {
    for (dtype, bytes) in weights.bytes_by_type() {
        write_line(&format!(
            "weights       {:<10} {:>9}",
            dtype.name(),
            size(bytes)
        ))?;
    }
    Ok(())
}

pub(super) fn run(args: &Args, json: bool) -> anyhow::Result<ExitCode> {
    match (&args.model, args.billions) {
        (Some(model), _) => of_folder(&resolve(model)?, args, json),
        (None, Some(billions)) => estimated(billions, args, json),
        (None, None) => bail!("name a model folder, or a number of parameters by --billions"),
    }
}

fn estimated(billions: f64, args: &Args, json: bool) -> anyhow::Result<ExitCode> {
    if !(billions > 0.0 && billions.is_finite() && args.bits > 0.0 && args.bits <= 64.0) {
        bail!("--billions is a number above 0, and --bits one above 0 and up to 64");
    }
    let estimate = Estimate::new(Workload {
        billions,
        bits: args.bits,
        context: args.context.unwrap_or(4096),
        batch: args.batch,
    });
    let total = estimate.total();
    let fit = args.available.map(|available| Fit::of(total, available));
    if json {
        let mut object = serde_json::to_value(estimate)?;
        object["total"] = total.into();
        add_fit(&mut object, fit, total, args.available);
        write_line(&serde_json::to_string_pretty(&object)?)?;
    } else {
        for (name, gigabytes) in [
            ("weights", estimate.weights),
            ("cache", estimate.cache),
            ("activations", estimate.activations),
            ("together", total),
        ] {
            write_line(&format!("{name:<12}  {gigabytes:>7.2} GB"))?;
        }
        write_fit(fit, total, args.available)?;
    }
    Ok(outcome(fit))
}

fn of_folder(folder: &Path, args: &Args, json: bool) -> anyhow::Result<ExitCode> {
    let (_, weights) = open(folder, args.variant.as_deref())?;
    let mut options = LoadOptions::default();
    options.variant.clone_from(&args.variant);
    let runtime = Runtime::load(&ModelOptions::new().search())?;
    let source = ModelSource::folder(folder, &options)?;
    let before = process::resident();
    let model = source.open(runtime)?;
    let process = process::resident()
        .zip(before)
        .map(|(now, before)| now.saturating_sub(before));
    let info = model.info();
    let context = args.context.unwrap_or(info.context_length);
    let per_token = info.cache_bytes_per_token as u64;
    let uncounted = || anyhow!("so many positions take more bytes than can be counted");
    let positions = (context as u64).checked_mul(args.batch as u64);
    let of_all = |bytes: u64| positions.and_then(|positions| positions.checked_mul(bytes));
    let cache = of_all(per_token).ok_or_else(uncounted)?;
    // Past and present keys and values, unless they share a buffer.
    let copies = if model.shares_buffers() { 1 } else { 2 };
    // The runtime may hold weights in another form: wider, or packed again.
    let on_processor = weights.bytes_on_processor();
    let held = process.unwrap_or_default().max(on_processor);
    let workspace_per_token = model.workspace_bytes_per_token() as u64;
    let states = (model.state_bytes_per_row() as u64).checked_mul(args.batch as u64);
    let states = states.ok_or_else(uncounted)?;
    let workspace = of_all(workspace_per_token).ok_or_else(uncounted)?;
    let total = { cache.checked_mul(copies) }
        .and_then(|cache| cache.checked_add(held))
        .and_then(|sum| sum.checked_add(workspace))
        .and_then(|sum| sum.checked_add(states))
        .ok_or_else(uncounted)?;
    let gigabytes = total as f64 / GIGABYTE;
    let fit = args
        .available
        .map(|available| Fit::of(gigabytes, available));
    if json {
        let mut object = json!({
            "weights": by_type(&weights),
            "weight_bytes": weights.bytes(),
            "context": context,
            "batch": args.batch,
            "cache_bytes_per_token": per_token,
            "cache_bytes": cache,
            "cache_copies": copies,
            "workspace_bytes_per_token": workspace_per_token,
            "workspace_bytes": workspace,
            "state_bytes": states,
            "bytes": total,
            "weight_bytes_on_processor": on_processor,
            "process_bytes": process,
            "held_bytes": held,
        });
        add_fit(&mut object, fit, gigabytes, args.available);
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(outcome(fit));
    }
    write_weights(&weights)?;
    if on_processor > weights.bytes() {
        write_line(&format!(
            "as held       {:<10} {:>9}   float16 as float32, scales of int4 with their packed copies",
            "",
            size(on_processor)
        ))?;
    }
    if let Some(process) = process {
        write_line(&format!(
            "in memory     {:<10} {:>9}   that loading the model added to this process",
            "",
            size(process)
        ))?;
    }
    let positions = format!("{context} positions x {}", args.batch);
    write_line(&format!(
        "cache         {:<10} {:>9}   {per_token} bytes a token",
        positions,
        size(cache)
    ))?;
    if copies > 1 {
        write_line(&format!(
            "its copy      {:<10} {:>9}   each step writes the cache anew",
            "",
            size(cache)
        ))?;
    }
    if workspace > 0 {
        write_line(&format!(
            "workspace     {:<10} {:>9}   at most, for the keys and values of one layer, repeated or as float32",
            "",
            size(workspace)
        ))?;
    }
    if states > 0 {
        write_line(&format!(
            "states        {:<10} {:>9}   at most, of recurrences and convolutions, with snapshots",
            "",
            size(states)
        ))?;
    }
    write_line(&format!("together      {:<10} {:>9}", "", size(total)))?;
    write_fit(fit, gigabytes, args.available)?;
    Ok(outcome(fit))
}

fn outcome(fit: Option<Fit>) -> ExitCode {
    match fit {
        None | Some(Fit::Fits) => DONE,
        Some(_) => does_not_fit(),
    }
}

fn add_fit(object: &mut Value, fit: Option<Fit>, needed: f64, available: Option<f64>) {
    if let (Some(fit), Some(available)) = (fit, available) {
        object["fits"] = (fit == Fit::Fits).into();
        object["headroom_gb"] = (available - needed).into();
        object["advice"] = fit.advice().into();
    }
}

fn write_fit(fit: Option<Fit>, needed: f64, available: Option<f64>) -> anyhow::Result<()> {
    let (Some(fit), Some(available)) = (fit, available) else {
        return Ok(());
    };
    let room = available - needed;
    write_line(&match room >= 0.0 {
        true => format!("headroom      {room:>7.2} GB: {}", fit.advice()),
        false => format!("short of      {:>7.2} GB: {}", -room, fit.advice()),
    })?;
    Ok(())
}

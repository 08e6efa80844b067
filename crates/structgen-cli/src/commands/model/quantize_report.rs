//! `structgen model quantize-report`: how much float weights lose when quantised to few bits.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use structgen::ort::{ModelFolder, Tensor, Weights};
use structgen_lab::quantize::{BITS, Loss, QuantizeError, importance_aware, per_channel, uniform};

use super::compare::{self, TextsArgs, agreement_of_folders};
use crate::args::whole;
use crate::error::DONE;
use crate::models::resolve;
use crate::output::write_line;

/// Options of `structgen model quantize-report`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Signal-to-noise ratios in dB, 10 log10(mean w^2 / MSE), of uniform quantisation over the range of a tensor, over that of each row,\n\
    and of the weights below the 99th percentile of |w|, where the others stay floats.\nTensors with numbers that are not finite are left out."
)]
pub(super) struct Args {
    /// Model folder, ONNX file, or the name of a registered model
    model: PathBuf,
    /// Variant of the folder's model file
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Bits per weight; may be repeated
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    bits: Vec<u32>,
    /// Also report each tensor
    #[arg(long)]
    tensors: bool,
    /// Measure how far the model agrees on the next token with this one, usually the one it was quantised from
    #[arg(long, value_name = "MODEL")]
    against: Option<PathBuf>,
    #[command(flatten)]
    texts: TextsArgs,
}

/// The loss at one number of bits, computed in three ways.
#[derive(Clone, Copy)]
struct Losses {
    bits: u32,
    tensor: Loss,
    row: Loss,
    important: Loss,
}

/// Smaller tensors, such as biases and norms, stay floats in every quantisation.
const FEWEST: u64 = 256;

pub(super) fn run(args: &Args, json: bool) -> anyhow::Result<ExitCode> {
    if args.against.is_none() && args.texts.is_given() {
        bail!("--texts is for --against, and there is none");
    }
    let path = resolve(&args.model)?;
    let files = args.files(&path)?;
    let names: Vec<String> = { files.iter() }
        .map(|file| file.display().to_string())
        .collect();
    let names = names.join(", ");
    let weights = Weights::of_files(files.iter().map(PathBuf::as_path))
        .with_context(|| format!("{names} cannot be read"))?;
    let bits = match args.bits.is_empty() {
        true => BITS.to_vec(),
        false => args.bits.clone(),
    };
    let measured = Measured::of(&weights, &names, &bits, args.tensors)?;
    let agreement = { args.against.as_deref() }
        .map(|reference| {
            agreement_of_folders(reference, &path, args.variant.as_deref(), &args.texts)
        })
        .transpose()?;
    let nothing = match measured.left_out.is_empty() {
        true => format!(
            "{names} has no float weights: it is {}",
            weights.quantization()
        ),
        false => format!("{names} has no float weights that are finite"),
    };
    if measured.totals.is_empty() && agreement.is_none() {
        bail!(nothing);
    }
    if json {
        let mut object = measured.json();
        object["files"] = json!(files);
        if let Some(agreement) = &agreement {
            object["agreement"] = compare::as_json(agreement);
        }
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(DONE);
    }
    match measured.totals.first() {
        Some(losses) => {
            let weights = losses.tensor.weights;
            write_line(&format!("{weights} weights of {names}"))?;
            write_table(&measured.totals)?;
        }
        None => write_line(&nothing)?,
    }
    for name in &measured.left_out {
        write_line(&format!(
            "{name} has numbers that are not finite, and is left out"
        ))?;
    }
    for (tensor, losses) in measured.tensors.iter().flatten() {
        write_line(&format!("\n{} {:?}", tensor.name, tensor.dims))?;
        write_table(losses)?;
    }
    if let Some(agreement) = &agreement {
        compare::write_agreement(agreement)?;
    }
    Ok(DONE)
}

impl Args {
    /// Returns the files with the weights of the model at a path.
    fn files(&self, path: &Path) -> anyhow::Result<Vec<PathBuf>> {
        if !path.is_file() {
            let folder = ModelFolder::open(path, self.variant.as_deref())
                .with_context(|| format!("the model folder {} cannot be used", path.display()))?;
            return Ok(folder.files().map(Path::to_owned).collect());
        }
        let options = [
            ("--variant", self.variant.is_some()),
            ("--against", self.against.is_some()),
        ];
        match options.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => bail!(
                "{option} is for a model folder, and {} is a file",
                path.display()
            ),
            None => Ok(vec![path.to_owned()]),
        }
    }
}

/// The losses of a model's float weights.
struct Measured<'w> {
    /// Those of all tensors together.
    totals: Vec<Losses>,
    /// Those of each tensor, if they are asked for.
    tensors: Option<Vec<(&'w Tensor, Vec<Losses>)>>,
    /// The tensors with numbers that are not finite, such as the mask of a decoder.
    left_out: Vec<String>,
}

impl<'w> Measured<'w> {
    /// Quantises the tensors of the files of these names.
    fn of(
        weights: &'w Weights,
        names: &str,
        bits: &[u32],
        by_tensor: bool,
    ) -> anyhow::Result<Self> {
        let mut measured = Self {
            totals: Vec::new(),
            tensors: by_tensor.then(Vec::new),
            left_out: Vec::new(),
        };
        for tensor in weights.tensors() {
            if tensor.dims.len() < 2 || tensor.len() < FEWEST {
                continue;
            }
            let floats =
                { weights.floats(tensor) }.with_context(|| format!("{names} cannot be read"))?;
            let Some(floats) = floats else {
                continue;
            };
            match losses(&floats, tensor, bits) {
                Ok(losses) => measured.add(tensor, losses),
                Err(QuantizeError::NotFinite { .. }) => {
                    measured.left_out.push(tensor.name.clone());
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("the tensor {}", tensor.name));
                }
            }
        }
        Ok(measured)
    }

    fn add(&mut self, tensor: &'w Tensor, losses: Vec<Losses>) {
        match self.totals.is_empty() {
            true => self.totals.clone_from(&losses),
            false => { self.totals.iter_mut().zip(&losses) }
                .for_each(|(total, losses)| *total = total.and(*losses)),
        }
        if let Some(tensors) = &mut self.tensors {
            tensors.push((tensor, losses));
        }
    }

    fn json(&self) -> Value {
        let count = self
            .totals
            .first()
            .map_or(0, |losses| losses.tensor.weights);
        let mut object = json!({"weights": count, "bits": as_json(&self.totals)});
        if !self.left_out.is_empty() {
            object["left_out"] = json!(self.left_out);
        }
        if let Some(tensors) = &self.tensors {
            let of_tensor = |(tensor, losses): &(&Tensor, Vec<Losses>)| json!({"name": tensor.name, "dims": tensor.dims, "bits": as_json(losses)});
            object["tensors"] = tensors.iter().map(of_tensor).collect();
        }
        object
    }
}

fn losses(floats: &[f32], tensor: &Tensor, bits: &[u32]) -> Result<Vec<Losses>, QuantizeError> {
    let row = tensor.dims.last().copied().unwrap_or(1) as usize;
    { bits.iter() }
        .map(|&bits| {
            Ok(Losses {
                bits,
                tensor: uniform(floats, bits)?,
                row: per_channel(floats, row, bits)?,
                important: importance_aware(floats, None, bits)?,
            })
        })
        .collect()
}

impl Losses {
    fn and(self, other: Self) -> Self {
        Self {
            bits: self.bits,
            tensor: self.tensor.and(other.tensor),
            row: self.row.and(other.row),
            important: self.important.and(other.important),
        }
    }
}

fn as_json(losses: &[Losses]) -> Value {
    let of = |loss: Loss| {
        json!({
            "mse": loss.mse,
            "largest_error": loss.largest_error,
            // JSON cannot represent an infinite ratio, which means that nothing was lost.
            "snr_db": Some(loss.snr_db()).filter(|ratio| ratio.is_finite()),
        })
    };
    let one = |losses: &Losses| {
        json!({
            "bits": losses.bits,
            "per_tensor": of(losses.tensor),
            "per_row": of(losses.row),
            "importance_aware": of(losses.important),
        })
    };
    losses.iter().map(one).collect()
}

fn write_table(losses: &[Losses]) -> std::io::Result<()> {
    write_line("bits  per tensor   per row  99% of weights")?;
    for Losses {
        bits,
        tensor,
        row,
        important,
    } in losses
    {
        let ratio = |loss: &Loss| format!("{:.1} dB", loss.snr_db());
        write_line(&format!(
            "{bits:>4}  {:>10}  {:>8}  {:>14}",
            ratio(tensor),
            ratio(row),
            ratio(important)
        ))?;
    }
    Ok(())
}

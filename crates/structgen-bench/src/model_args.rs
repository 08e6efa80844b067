//! The model of a benchmark.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, bail};
use structgen::{Device, Model, ModelOptions};

use crate::tables_folder;

/// Which model, and where it runs.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// A model folder, as optimum or onnxruntime-genai writes it; without it, the embedded model
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// The variant of the folder's model file, such as quantized, int8, fp16 or q4
    #[arg(long, value_name = "NAME", requires = "model")]
    pub(crate) variant: Option<String>,
    /// Where the model runs: cpu, cuda, or cuda:N; never replaced by another
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// Threads of one run on the processor; one where nothing is said of them
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// The ONNX Runtime library's file, instead of looking for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Keep at most this many megabytes of what the model has run, for prompts that begin alike; 0 keeps nothing
    #[arg(long, value_name = "MB", default_value_t = 0)]
    prefix_cache: usize,
    /// Compute the tables of the tokenizer's vocabulary, which are otherwise kept in the folder `tables` of structgen's cache folder
    #[arg(long)]
    no_cache: bool,
    /// Leave out the model's reader
    #[arg(long)]
    no_reader: bool,
}

impl ModelArgs {
    pub(crate) fn device(&self) -> anyhow::Result<Device> {
        match self.device {
            Some(Device::Cuda { .. }) if self.threads.is_some() => {
                bail!("--threads is for the processor, and --device cuda was asked for")
            }
            Some(device @ Device::Cuda { .. }) => Ok(device),
            _ => Ok(Device::Cpu {
                threads: Some(self.threads.unwrap_or(NonZeroUsize::MIN)),
            }),
        }
    }

    pub(crate) fn options(&self) -> anyhow::Result<ModelOptions> {
        let mut options = ModelOptions::new()
            .with_device(self.device()?)
            .with_prefix_cache(self.prefix_bytes());
        if let Some(variant) = &self.variant {
            options = options.with_variant(variant);
        }
        if self.no_reader {
            options = options.without_reader();
        }
        if let Some(runtime) = &self.runtime {
            options = options.with_runtime(runtime);
        }
        if let Some(tables) = tables_folder().filter(|_| !self.no_cache && self.model.is_some()) {
            options = options.with_tables_folder(tables);
        }
        Ok(options)
    }

    pub(crate) fn prefix_bytes(&self) -> usize {
        self.prefix_cache.saturating_mul(1_000_000)
    }

    /// The model that is named, with options that were changed.
    pub(crate) fn open(&self, options: &ModelOptions) -> anyhow::Result<Model> {
        Ok(match &self.model {
            Some(folder) => Model::open(folder, options)
                .with_context(|| format!("the model folder {} cannot be used", folder.display()))?,
            None => Model::embedded(options)?,
        })
    }
}

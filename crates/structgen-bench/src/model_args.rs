//! The model of a benchmark.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, bail};
use structgen::{Device, Model, ModelOptions};

use crate::tables_folder;

/// Which model to use, and where to run it.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Model folder, as written by optimum or onnxruntime-genai [default: the embedded model]
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Variant of the folder's model file, such as quantized, int8, fp16 or q4
    #[arg(long, value_name = "NAME", requires = "model")]
    pub(crate) variant: Option<String>,
    /// Device to run the model on: cpu, cuda or cuda:N; if it is unavailable, the command fails
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// Number of threads per run on the CPU [default: 1]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Path to the ONNX Runtime library, instead of searching for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Cache at most this many megabytes of keys and values, for prompts with a common prefix; 0 disables the cache
    #[arg(long, value_name = "MB", default_value_t = 0)]
    prefix_cache: usize,
    /// Recompute the tables of the tokenizer's vocabulary instead of caching them in the folder `tables` of structgen's
    /// cache folder
    #[arg(long)]
    no_cache: bool,
    /// Disable the model's reader
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

    /// Names the device, or the number of threads on the CPU, for reports.
    pub(crate) fn device_name(&self) -> anyhow::Result<String> {
        let threads = self.threads.map_or(1, NonZeroUsize::get);
        Ok(match self.device()? {
            Device::Cuda { id } => format!("cuda:{id}"),
            _ if threads == 1 => "one thread".to_owned(),
            _ => format!("{threads} threads"),
        })
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

    /// Opens the model, with modified options.
    pub(crate) fn open(&self, options: &ModelOptions) -> anyhow::Result<Model> {
        Ok(match &self.model {
            Some(folder) => Model::open(folder, options)
                .with_context(|| format!("the model folder {} cannot be used", folder.display()))?,
            None => Model::embedded(options)?,
        })
    }
}

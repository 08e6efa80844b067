//! How to load a model.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use clap::ArgAction;
use serde::{Deserialize, Serialize};
use structgen::decode::SchedulerLimits;
use structgen::{Device, Model, ModelOptions};

use crate::args::{at_least_one, milliseconds, parallel, tables_folder};
use crate::models;
use crate::output::{detail, note};
use crate::schema_args::checked;

/// How to load a model: flags of commands without `--set`, the parameters `model.` of those with it.
#[derive(clap::Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Model")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSettings {
    /// Variant of the folder's model file, such as quantized, int8, fp16 or q4
    #[arg(long, value_name = "NAME", requires = "model")]
    pub(crate) variant: Option<String>,
    /// Device to run the model on: cpu, cuda or cuda:N; if it is unavailable, the command fails
    #[arg(long, value_name = "DEVICE", value_parser = checked(parse_device))]
    device: Option<String>,
    /// Number of threads per run on the CPU, at most 4 per core
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    threads: Option<NonZeroUsize>,
    /// Run each token on its own. For dynamically quantised models, whose output otherwise depends on what else is in
    /// the batch
    #[arg(long, requires = "model")]
    single_tokens: bool,
    /// Disable the model's reader, which scores what the text contains; the decoder finds the values alone
    #[arg(long = "no-reader", action = ArgAction::SetFalse)]
    reader: bool,
    /// Path to the ONNX Runtime library, instead of searching for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Recompute the tables of the tokenizer's vocabulary instead of caching them in the folder `tables` of structgen's
    /// cache folder
    #[arg(long = "no-cache", action = ArgAction::SetFalse)]
    keep_tables: bool,
    #[arg(skip)]
    pub(crate) prefix_cache: usize,
    #[arg(skip)]
    cache: Option<usize>,
    #[arg(skip)]
    rows: Option<usize>,
    #[arg(skip)]
    prefill_chunk: Option<usize>,
    #[arg(skip)]
    pub(crate) draft: Option<PathBuf>,
    #[arg(skip)]
    pub(crate) heads: Option<PathBuf>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            variant: None,
            device: None,
            threads: None,
            single_tokens: false,
            reader: true,
            runtime: None,
            keep_tables: true,
            prefix_cache: 0,
            cache: None,
            rows: None,
            prefill_chunk: None,
            draft: None,
            heads: None,
        }
    }
}

fn parse_device(name: &str) -> anyhow::Result<Device> {
    Ok(name.parse()?)
}

impl ModelSettings {
    /// Returns the settings for the embedded model beside another, which the folder's variant and the device are for.
    pub(crate) fn embedded(&self) -> Self {
        Self {
            variant: None,
            device: None,
            single_tokens: false,
            ..self.clone()
        }
    }

    /// Returns the name of a flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let default = Self::default();
        let given = [
            ("--variant", self.variant != default.variant),
            ("--device", self.device != default.device),
            ("--threads", self.threads != default.threads),
            (
                "--single-tokens",
                self.single_tokens != default.single_tokens,
            ),
            ("--no-reader", self.reader != default.reader),
            ("--runtime", self.runtime != default.runtime),
            ("--no-cache", self.keep_tables != default.keep_tables),
        ];
        { given.into_iter() }
            .find(|(_, is_given)| *is_given)
            .map(|(name, _)| name)
    }

    /// Returns the model options. `default` is the number of threads if neither a device nor threads were given.
    pub(crate) fn options(&self, default: Option<NonZeroUsize>) -> anyhow::Result<ModelOptions> {
        let threads = self.threads.map(parallel).transpose().map_err(|error| {
            let threads = self.threads.map_or(0, NonZeroUsize::get);
            anyhow!("the number of threads is {threads}, and {error}")
        })?;
        let device = match self.device.as_deref().map(parse_device).transpose()? {
            Some(Device::Cuda { .. }) if threads.is_some() => {
                bail!("a number of threads is for the processor, and the device cuda was asked for")
            }
            Some(device @ Device::Cuda { .. }) => Some(device),
            Some(_) => Some(Device::Cpu {
                threads: threads.or(default),
            }),
            None => { threads.or(default) }.map(|threads| Device::Cpu {
                threads: Some(threads),
            }),
        };
        let mut limits = SchedulerLimits::default();
        limits.rows = self.rows.unwrap_or(limits.rows);
        limits.prefill_chunk = self.prefill_chunk.unwrap_or(limits.prefill_chunk);
        limits.cache_bytes = self.cache.map(megabytes);
        limits.prefix_bytes = megabytes(self.prefix_cache);
        let mut options = ModelOptions::new().with_limits(limits);
        if let Some(device) = device {
            options = options.with_device(device);
        }
        if let Some(variant) = &self.variant {
            options = options.with_variant(variant);
        }
        if self.single_tokens {
            options = options.with_single_tokens();
        }
        if !self.reader {
            options = options.without_reader();
        }
        if let Some(runtime) = &self.runtime {
            options = options.with_runtime(runtime);
        }
        Ok(options)
    }

    /// Loads the model in a folder, or else the embedded one.
    pub(crate) fn load(
        &self,
        model: Option<&Path>,
        mut options: ModelOptions,
    ) -> anyhow::Result<Model> {
        let started = Instant::now();
        let tables = tables_folder().filter(|_| self.keep_tables);
        // The embedded model's vocabulary is small: computing its tables takes almost no time.
        if let (Some(_), Some(tables)) = (model, tables) {
            options = options.with_tables_folder(tables);
        }
        let folder = model.map(models::resolve).transpose()?;
        let (model, name) = match &folder {
            Some(file) if file.is_file() => {
                bail!(
                    "{} is a file, and a model is a folder with the file and its tokenizer",
                    file.display()
                )
            }
            Some(folder) => {
                let name = format!("the model folder {}", folder.display());
                let model = Model::open(folder, &options);
                (
                    model.with_context(|| format!("{name} cannot be used"))?,
                    name,
                )
            }
            None => (Model::embedded(&options)?, "the embedded model".to_owned()),
        };
        detail(&format!("{name} was loaded in {}", milliseconds(started)));
        for about_output in model.notes().iter().filter(|note| note.is_about_output()) {
            note(&format!("note: {about_output}"));
        }
        Ok(model)
    }
}

fn megabytes(number: usize) -> usize {
    number.saturating_mul(1_000_000)
}

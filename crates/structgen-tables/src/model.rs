//! The model, and how rows are processed with it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use structgen::decode::SchedulerLimits;
use structgen::{Device, GenerateOptions, Model, ModelOptions, SamplingParams};
use structgen_datafusion::FunctionOptions;

use crate::model_hash::model_hash;

/// Maximum number of queued outputs. Long texts take many.
const QUEUE: usize = 1 << 20;

/// The model of this process, and how to run it.
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
    /// Path to the ONNX Runtime library, instead of searching for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Number of rows to process in parallel, each in its own model session with its own copy of the weights [default:
    /// the number of cores; 1 with --model]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Number of rows that share a model run in each session. More rows are faster with large models, but then a value
    /// may depend on the other rows in the run, if its two best tokens are almost equally probable
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    rows_per_run: NonZeroUsize,
}

/// How to generate a row's output, in whichever process.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct RowArgs {
    /// Maximum number of tokens per row's output
    #[arg(long, value_name = "N")]
    max_new_tokens: Option<NonZeroUsize>,
    /// Sample at this temperature instead of taking the most probable tokens. A row's seed is derived from --seed and
    /// its text
    #[arg(long, value_name = "T")]
    temperature: Option<f32>,
    /// Seed of the run
    #[arg(long, value_name = "N", default_value_t = 0, requires = "temperature")]
    seed: u64,
    /// Maximum bytes of a text; a longer one is an error of its row
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    max_text_bytes: usize,
}

/// Describes everything that a row's value depends on besides its text, its schema and the program.
pub(crate) fn identity(model: &ModelArgs, rows: &RowArgs) -> anyhow::Result<String> {
    let hash = model_hash(model)?;
    Ok(format!(
        "{hash}, device {:?}, {} rows in a run, at most {:?} tokens and {} bytes, temperature {:?}, seed {}",
        model.device,
        model.rows_per_run,
        rows.max_new_tokens,
        rows.max_text_bytes,
        rows.temperature,
        rows.seed
    ))
}

impl ModelArgs {
    /// Returns a function that loads the model.
    pub(crate) fn loader(&self) -> impl Fn() -> structgen::Result<Model> + Send + Sync + 'static {
        let options = self.model_options();
        let folder = self.model.clone();
        move || match &folder {
            Some(folder) => Model::open(folder, &options),
            None => Model::embedded(&options),
        }
    }

    pub(crate) fn workers(&self) -> NonZeroUsize {
        let default = match self.model {
            // Several copies of a larger model's weights may not fit into memory.
            Some(_) => NonZeroUsize::MIN,
            None => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        self.workers.unwrap_or(default)
    }

    fn model_options(&self) -> ModelOptions {
        let mut limits = SchedulerLimits::default();
        limits.rows = self.rows_per_run.get();
        limits.queue = QUEUE;
        let mut options = ModelOptions::new()
            .with_workers(self.workers())
            .with_limits(limits);
        if let Some(device) = self.device {
            options = options.with_device(device);
        }
        if let Some(variant) = &self.variant {
            options = options.with_variant(variant);
        }
        if let Some(runtime) = &self.runtime {
            options = options.with_runtime(runtime);
        }
        if let Some(cache) = options.search().cache_dir() {
            options = options.with_tables_folder(cache.join("tables"));
        }
        options
    }
}

impl RowArgs {
    pub(crate) fn function_options(&self) -> FunctionOptions {
        let sampling = SamplingParams {
            temperature: self.temperature.unwrap_or_default(),
            seed: self.seed,
            ..SamplingParams::default()
        };
        let generate = GenerateOptions {
            max_new_tokens: self.max_new_tokens.map(NonZeroUsize::get),
            sampling,
            ..GenerateOptions::default()
        };
        FunctionOptions::new()
            .with_generate_options(generate)
            .with_max_text_bytes(self.max_text_bytes)
    }
}

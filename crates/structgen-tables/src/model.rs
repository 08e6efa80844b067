//! The model, and how rows are put to it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use structgen::decode::SchedulerLimits;
use structgen::{Device, GenerateOptions, Model, ModelOptions, SamplingParams};
use structgen_datafusion::FunctionOptions;

/// The outputs that may wait for a worker. Long texts are many of them.
const QUEUE: usize = 1 << 20;

/// The model of this process, and how it runs.
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
    /// The ONNX Runtime library's file, instead of looking for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// How many rows are worked on at a time, each in a session of the model with weights of its own. The default is
    /// the number of cores, and 1 for --model
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// How many rows share a run of each session. More are quicker with large models; but then a value may depend on
    /// the rows beside its own, where the two best tokens are all but equally probable
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    rows_per_run: NonZeroUsize,
}

/// How a row's output is generated, whichever process does it.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct RowArgs {
    /// The most tokens of a row's output
    #[arg(long, value_name = "N")]
    max_new_tokens: Option<NonZeroUsize>,
    /// Draw tokens at this temperature instead of taking the most probable ones. The seed of a row is made from --seed
    /// and its text
    #[arg(long, value_name = "T")]
    temperature: Option<f32>,
    /// The seed of the run
    #[arg(long, value_name = "N", default_value_t = 0, requires = "temperature")]
    seed: u64,
    /// The most bytes of a text; a longer one is an error of its row
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    max_text_bytes: usize,
}

/// All that a row's value depends on besides its text and schema.
pub(crate) fn identity(model: &ModelArgs, rows: &RowArgs) -> String {
    let name = match &model.model {
        Some(folder) => folder.display().to_string(),
        None => format!("embedded in {}", env!("CARGO_PKG_VERSION")),
    };
    format!(
        "{name}, variant {:?}, device {:?}, {} rows in a run, at most {:?} tokens and {} bytes, temperature {:?}, seed {}",
        model.variant,
        model.device,
        model.rows_per_run,
        rows.max_new_tokens,
        rows.max_text_bytes,
        rows.temperature,
        rows.seed
    )
}

impl ModelArgs {
    /// What loads the model.
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
            // Several copies of larger weights may not fit into memory.
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

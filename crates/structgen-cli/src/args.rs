//! Options that several commands share.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use serde_json::Value;
use structgen::constraint::{TablesSource, VocabularyTables};
use structgen::frontend::gbnf::GbnfOptions;
use structgen::frontend::regex::{Dialect, RegexOptions};
use structgen::vocab::Vocabulary;
use structgen::{
    Constraint, Device, Model, ModelOptions, OrderPreset, SamplingParams, SchemaOptions, TaskPreset,
};

use crate::input::{files_beside, read_file, read_text_file};
use crate::output::tell;

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
    #[arg(long, value_name = "DEVICE", value_parser = parse_device)]
    pub(crate) device: Option<DeviceArg>,
    /// Threads of one run on the processor
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// The ONNX Runtime library's file, instead of looking for one
    #[arg(long, value_name = "FILE")]
    pub(crate) runtime: Option<PathBuf>,
    /// Keep at most so many megabytes of what the model has run, for prompts that begin alike; 0 keeps nothing
    #[arg(long, value_name = "MB", default_value_t = 0)]
    prefix_cache: usize,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
}

/// Whether tables of vocabularies are kept.
#[derive(clap::Args, Debug)]
pub(crate) struct CacheArgs {
    /// Compute the tables of the tokenizer's vocabulary, which are otherwise kept in the folder `tables` of structgen's cache folder
    #[arg(long)]
    no_cache: bool,
}

impl CacheArgs {
    /// The folder of the tables, if they are kept and the system has a place for that.
    pub(crate) fn tables_folder(&self) -> Option<PathBuf> {
        let search = ModelOptions::new().search();
        let cache = search.cache_dir().filter(|_| !self.no_cache)?;
        Some(cache.join("tables"))
    }

    /// The tables of a vocabulary, and where they came from.
    pub(crate) fn tables(&self, vocabulary: &Arc<Vocabulary>) -> (VocabularyTables, &'static str) {
        let Some(folder) = self.tables_folder() else {
            return (VocabularyTables::new(vocabulary.clone()), "computed");
        };
        match VocabularyTables::load_or_build(vocabulary.clone(), &folder) {
            (tables, TablesSource::Loaded) => (tables, "loaded from the cache"),
            (tables, _) => (tables, "computed for the cache"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DeviceArg {
    Cpu,
    Cuda(i32),
}

fn parse_device(text: &str) -> Result<DeviceArg, String> {
    match text.split_once(':') {
        None if text == "cpu" => Ok(DeviceArg::Cpu),
        None if text == "cuda" => Ok(DeviceArg::Cuda(0)),
        Some(("cuda", id)) => match id.parse() {
            Ok(id) if id >= 0 => Ok(DeviceArg::Cuda(id)),
            _ => Err("the number of a GPU is 0 or more".into()),
        },
        _ => Err("it is cpu, cuda, or cuda:N".into()),
    }
}

impl ModelArgs {
    pub(crate) fn options(&self) -> anyhow::Result<ModelOptions> {
        self.options_on(None)
    }

    /// With so many threads, where the caller says nothing of device and threads.
    pub(crate) fn options_on(&self, default: Option<NonZeroUsize>) -> anyhow::Result<ModelOptions> {
        let mut options = ModelOptions::new();
        let threads = match self.device {
            Some(DeviceArg::Cuda(_)) => self.threads,
            _ => self.threads.or(default),
        };
        match (self.device, threads) {
            (Some(DeviceArg::Cuda(_)), Some(_)) => {
                return Err(anyhow!(
                    "--threads is for the processor, and --device cuda was asked for"
                ));
            }
            (Some(DeviceArg::Cuda(id)), None) => options = options.with_device(Device::Cuda { id }),
            (Some(DeviceArg::Cpu), threads) => {
                options = options.with_device(Device::Cpu { threads });
            }
            (None, Some(threads)) => {
                options = options.with_device(Device::Cpu {
                    threads: Some(threads),
                })
            }
            (None, None) => {}
        }
        if let Some(variant) = &self.variant {
            options = options.with_variant(variant);
        }
        if let Some(runtime) = &self.runtime {
            options = options.with_runtime(runtime);
        }
        if self.prefix_cache > 0 {
            options = options.with_prefix_cache(self.prefix_cache.saturating_mul(1_000_000));
        }
        Ok(options)
    }

    pub(crate) fn load(&self) -> anyhow::Result<Model> {
        self.load_on(None)
    }

    /// As [`options_on`](Self::options_on).
    pub(crate) fn load_on(&self, default: Option<NonZeroUsize>) -> anyhow::Result<Model> {
        let mut options = self.options_on(default)?;
        // The embedded model's vocabulary is small: its tables are computed in no time.
        if let (Some(_), Some(tables)) = (&self.model, self.cache.tables_folder()) {
            options = options.with_tables_folder(tables);
        }
        match &self.model {
            Some(folder) => Model::open(folder, &options)
                .with_context(|| format!("the model folder {} cannot be used", folder.display())),
            None => Ok(Model::embedded(&options)?),
        }
    }
}

/// How tokens are chosen: a task's parameters, or a file's, and on top of them what is named by flags.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// Parameters for a task: factual, code, balanced, chat, creative or brainstorm
    #[arg(long, value_name = "TASK", conflicts_with = "sampling")]
    task: Option<TaskPreset>,
    /// A JSON file with parameters of any sampler, such as {"dry": {"multiplier": 0.8}, "order": "llama.cpp"}
    #[arg(long, value_name = "FILE")]
    sampling: Option<PathBuf>,
    /// The order of the samplers: structgen, llama.cpp, hf, or names with commas between them
    #[arg(long, value_name = "ORDER")]
    samplers: Option<String>,
    /// Divides the logits; 0, the default, takes the likeliest token
    #[arg(long, value_name = "T")]
    temperature: Option<f32>,
    /// Keep the K likeliest tokens; 0 is off
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Keep the likeliest tokens with this much probability together; 1 is off
    #[arg(long, value_name = "P")]
    top_p: Option<f32>,
    /// Drop tokens below this share of the likeliest one's probability; 0 is off
    #[arg(long, value_name = "P")]
    min_p: Option<f32>,
    /// Divide or multiply the logits of tokens seen before; 1 is off
    #[arg(long, value_name = "R")]
    repetition_penalty: Option<f32>,
    /// The seed of the draw: equal seeds give equal output
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl SamplingArgs {
    pub(crate) fn params(&self) -> anyhow::Result<SamplingParams> {
        let mut params = match (&self.sampling, self.task) {
            (Some(path), _) => {
                let name = path.display();
                let text = read_text_file(path)
                    .with_context(|| format!("the parameters {name} cannot be used"))?;
                serde_json::from_str(&text)
                    .with_context(|| format!("the parameters {name} cannot be used"))?
            }
            (None, Some(task)) => task.params(),
            (None, None) => SamplingParams::default(),
        };
        fn set<T: Copy>(field: &mut T, flag: Option<T>) {
            *field = flag.unwrap_or(*field);
        }
        set(&mut params.temperature, self.temperature);
        set(&mut params.top_k, self.top_k);
        set(&mut params.top_p, self.top_p);
        set(&mut params.min_p, self.min_p);
        set(&mut params.repetition_penalty, self.repetition_penalty);
        set(&mut params.seed, self.seed);
        if let Some(order) = &self.samplers {
            params.order = match order.parse::<OrderPreset>() {
                Ok(preset) => preset.order(),
                Err(_) => order.split(',').map(str::parse).collect::<Result<_, _>>()?,
            };
        }
        params.validate()?;
        Ok(params)
    }
}

/// A schema file: as a value, which prompts show, and compiled from its text, with numbers as they are written.
pub(crate) fn read_schema(
    path: &std::path::Path,
    at: Option<&str>,
    options: &SchemaOptions,
) -> anyhow::Result<(Value, Constraint)> {
    let name = path.display();
    let text = read_text_file(path).with_context(|| format!("the schema {name} cannot be used"))?;
    let constraint = match at {
        Some(pointer) => Constraint::json_schema_at(&text, pointer, options),
        None => Constraint::json_schema_str(&text, options),
    };
    let constraint = constraint.with_context(|| format!("the schema {name} cannot be used"))?;
    let mut value: Value =
        serde_json::from_str(&text).with_context(|| format!("the schema {name} is not JSON"))?;
    if let (Some(pointer), Some(root)) = (at, value.as_object_mut()) {
        root.insert("$ref".to_owned(), format!("#{pointer}").into());
    }
    Ok((value, constraint))
}

/// How a regular expression is read.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Regular expression")]
pub(crate) struct RegexArgs {
    /// The syntax of the regular expression
    #[arg(long, value_enum, default_value_t = DialectArg::Rust)]
    regex_dialect: DialectArg,
    /// Let the regular expression match anywhere in the text, instead of the whole text
    #[arg(long)]
    regex_search: bool,
    /// Take & for intersection and ~ for complement in the regular expression
    #[arg(long)]
    regex_operators: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DialectArg {
    /// The Rust crate regex, with look-around
    Rust,
    /// ECMA-262, as JSON Schema has it
    Ecma,
    /// Python's module re
    Python,
}

impl RegexArgs {
    /// The text that the pattern stands for.
    pub(crate) fn read(&self, pattern: &str) -> anyhow::Result<Constraint> {
        let dialect = match self.regex_dialect {
            DialectArg::Rust => Dialect::Rust,
            DialectArg::Ecma => Dialect::Ecma262,
            DialectArg::Python => Dialect::Python,
        };
        let options = RegexOptions::rust()
            .with_dialect(dialect)
            .with_search(self.regex_search)
            .with_operators(self.regex_operators);
        Constraint::regex_with(pattern, options)
            .map_err(|error| anyhow!("the regular expression {pattern:?} cannot be used: {error}"))
    }
}

/// A grammar file, which may name others beside it.
pub(crate) fn read_grammar(path: &std::path::Path) -> anyhow::Result<Constraint> {
    let name = path.display();
    let text =
        read_text_file(path).with_context(|| format!("the grammar {name} cannot be used"))?;
    let options = GbnfOptions {
        files: Some(files_beside(path)),
        ..GbnfOptions::default()
    };
    let constraint = Constraint::gbnf_with(&text, &options)
        .with_context(|| format!("the grammar {name} cannot be used"))?;
    for warning in constraint.warnings() {
        tell(&format!("warning: {name}: {warning}"));
    }
    Ok(constraint)
}

/// Documents that references may name: all JSON files of a folder, as `http://localhost:1234/` and their path.
pub(crate) fn read_documents(folder: &std::path::Path) -> anyhow::Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(dir) = folders.pop() {
        let entries = std::fs::read_dir(&dir)
            .with_context(|| format!("the folder {} cannot be read", dir.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    let mut documents = Vec::new();
    for path in found {
        let document = serde_json::from_slice(&read_file(&path)?)
            .with_context(|| format!("the document {} is not JSON", path.display()))?;
        let relative = path.strip_prefix(folder).unwrap_or(&path);
        let parts: Vec<_> = relative
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        documents.push((
            format!("http://localhost:1234/{}", parts.join("/")),
            document,
        ));
    }
    Ok(documents)
}

//! The model of a benchmark: for its prompts, and for the loops.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use structgen::decode::{LanguageModel, ModelInfo, Scheduler, SchedulerLimits};
use structgen::ort::{LoadOptions, ModelConfig, ModelSource, OrtHeads, Runtime};
use structgen::vocab::{Tokenizer, TokenizerOptions};
use structgen::{Device, Model, ModelOptions};
use structgen_model::Assets;

use super::rounds::Loops;
use crate::tables_folder;

/// Which model, and where it runs.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(super) struct ModelArgs {
    /// A model folder, as optimum or onnxruntime-genai writes it; without it, the embedded model
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// The variant of the folder's model file, such as quantized, int8, fp16 or q4
    #[arg(long, value_name = "NAME", requires = "model")]
    variant: Option<String>,
    /// Where the model runs: cpu, cuda, or cuda:N; never replaced by another
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// Threads of one run on the processor; one where nothing is said of them
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// The ONNX Runtime library's file, instead of looking for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Keep at most so many megabytes of what the model has run, for prompts that begin alike; 0 keeps nothing
    #[arg(long, value_name = "MB", default_value_t = 0)]
    prefix_cache: usize,
    /// Compute the tables of the tokenizer's vocabulary, which are otherwise kept in the folder `tables` of structgen's cache folder
    #[arg(long)]
    no_cache: bool,
}

impl ModelArgs {
    fn device(&self) -> anyhow::Result<Device> {
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

    fn options(&self) -> anyhow::Result<ModelOptions> {
        let mut options = ModelOptions::new().with_device(self.device()?);
        if let Some(variant) = &self.variant {
            options = options.with_variant(variant);
        }
        if let Some(runtime) = &self.runtime {
            options = options.with_runtime(runtime);
        }
        if let Some(tables) = tables_folder().filter(|_| !self.no_cache && self.model.is_some()) {
            options = options.with_tables_folder(tables);
        }
        Ok(options)
    }

    /// The model that prompts are written and constraints are compiled for.
    pub(super) fn load(&self) -> anyhow::Result<Model> {
        let options = self.options()?;
        Ok(match &self.model {
            Some(folder) => Model::open(folder, &options)
                .with_context(|| format!("the model folder {} cannot be used", folder.display()))?,
            None => Model::embedded(&options)?,
        })
    }

    /// What the loops run on, with what drafts if that is wanted.
    pub(super) fn load_loops(&self, draft: Option<&Path>, drafts: bool) -> anyhow::Result<Loops> {
        let runtime = Runtime::load(&self.options()?.search())?;
        let target = match &self.model {
            Some(folder) => self.folder(folder)?,
            None => self.embedded(&structgen_model::MAIN)?,
        };
        let bare = target.source.open(runtime)?;
        let tokenizer = Arc::new(target.tokenizer(bare.info())?);
        let mut limits = SchedulerLimits::default();
        limits.prefix_bytes = self.prefix_cache.saturating_mul(1_000_000);
        let vocabulary = tokenizer.vocabulary().clone();
        let text_tokens = vocabulary.text_tokens().clone();
        let mut scheduler = Scheduler::new(target.source.open(runtime)?, vocabulary)
            .with_encoder(tokenizer)
            .with_limits(limits);
        let draft = match (draft, &self.model) {
            _ if !drafts => None,
            (Some(folder), _) => Some(self.folder(folder).with_context(|| {
                let folder = folder.display();
                format!("the draft model folder {folder} cannot be used")
            })?),
            (None, None) => Some(self.embedded(&structgen_model::DRAFT)?),
            (None, Some(_)) => None,
        };
        let has_draft = draft.is_some();
        if let Some(draft) = draft {
            let model = draft.source.open(runtime)?;
            let tokenizer = draft.tokenizer(model.info())?;
            scheduler = scheduler.with_draft(model, tokenizer.vocabulary())?;
        }
        let has_heads = drafts && self.model.is_none();
        if has_heads {
            let heads = OrtHeads::from_bytes(runtime, structgen_model::HEADS, self.device()?)?;
            scheduler = scheduler.with_heads(heads);
        }
        Ok(Loops {
            bare,
            scheduler,
            text_tokens,
            has_draft,
            has_heads,
        })
    }

    fn folder(&self, folder: &Path) -> anyhow::Result<Source> {
        let options = LoadOptions {
            device: self.device()?,
            variant: self.variant.clone(),
        };
        let file = folder.join("tokenizer.json");
        Ok(Source {
            source: ModelSource::folder(folder, &options)?,
            tokenizer: std::fs::read(&file)
                .with_context(|| format!("{} cannot be read", file.display()))?,
        })
    }

    fn embedded(&self, assets: &Assets) -> anyhow::Result<Source> {
        let config = ModelConfig::from_json(assets.config, Some(assets.generation_config))?;
        Ok(Source {
            source: ModelSource::bytes(assets.model, config, self.device()?),
            tokenizer: assets.tokenizer.to_vec(),
        })
    }
}

/// A model that can be opened any number of times, and the bytes of its tokenizer.
struct Source {
    source: ModelSource,
    tokenizer: Vec<u8>,
}

impl Source {
    fn tokenizer(&self, info: &ModelInfo) -> anyhow::Result<Tokenizer> {
        let options = TokenizerOptions::new()
            .logits_len(info.logits_width)
            .special_tokens(info.eos.iter().copied());
        Ok(Tokenizer::from_bytes_with(&self.tokenizer, &options)?)
    }
}

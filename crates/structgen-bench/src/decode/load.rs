//! The models of the loops.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use structgen::decode::{LanguageModel, ModelInfo, Scheduler, SchedulerLimits};
use structgen::ort::{LoadOptions, ModelConfig, ModelSource, OrtHeads, Runtime};
use structgen::vocab::{Tokenizer, TokenizerOptions, tokenizer_file};
use structgen_model::Assets;

use super::rounds::Loops;
use crate::model_args::ModelArgs;

impl ModelArgs {
    /// Loads what the loops run on, with draft model and heads if requested.
    pub(super) fn load_loops(&self, draft: Option<&Path>, drafts: bool) -> anyhow::Result<Loops> {
        let runtime = Runtime::load(&self.options()?.search())?;
        let target = match &self.model {
            Some(folder) => self.folder(folder)?,
            None => self.embedded(&structgen_model::MAIN)?,
        };
        let bare = target.source.open(runtime)?;
        let tokenizer = Arc::new(target.tokenizer(bare.info())?);
        let mut limits = SchedulerLimits::default();
        limits.prefix_bytes = self.prefix_bytes();
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
            ..LoadOptions::default()
        };
        Ok(Source {
            source: ModelSource::folder(folder, &options)?,
            tokenizer: TokenizerSource::File(tokenizer_file(folder)),
        })
    }

    fn embedded(&self, assets: &Assets) -> anyhow::Result<Source> {
        let config = ModelConfig::from_json(assets.config, Some(assets.generation_config))?;
        let source = ModelSource::bytes(assets.model, config, self.device()?);
        Ok(Source {
            source: match assets.shares_buffers() {
                true => source.sharing_buffers(),
                false => source,
            },
            tokenizer: TokenizerSource::Json(assets.tokenizer),
        })
    }
}

/// A model that can be opened any number of times, and its tokenizer.
struct Source {
    source: ModelSource,
    tokenizer: TokenizerSource,
}

enum TokenizerSource {
    File(PathBuf),
    Json(&'static [u8]),
}

impl Source {
    fn tokenizer(&self, info: &ModelInfo) -> anyhow::Result<Tokenizer> {
        let options = TokenizerOptions::new()
            .logits_len(info.logits_width)
            .ends(info.eos.iter().copied());
        match &self.tokenizer {
            TokenizerSource::Json(json) => Ok(Tokenizer::from_bytes_with(json, &options)?),
            TokenizerSource::File(path) => Tokenizer::from_file_with(path, &options)
                .with_context(|| format!("the tokenizer {} cannot be used", path.display())),
        }
    }
}

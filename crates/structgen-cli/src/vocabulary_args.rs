//! Whose tokens a command shows.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use structgen::constraint::{CompiledConstraint, ConstraintOptions};
use structgen::ort::{ModelConfig, ModelFolder};
use structgen::vocab::{TokenId, Vocabulary, tokenizer_file};
use structgen::{CancelToken, Constraint};

use crate::args::{CacheArgs, whole};
use crate::models;

/// Whose tokens to show; the model itself is not run.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Tokens")]
pub(crate) struct VocabularyArgs {
    /// Show the tokens of this model folder or registered model [default: the embedded model]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Show the tokens of this tokenizer.json
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    tokenizer: Option<PathBuf>,
    /// End-of-sequence token id of the tokenizer; may be repeated
    #[arg(long, value_name = "ID", requires = "tokenizer", value_parser = whole::<u32>)]
    eos: Vec<u32>,
    /// Maximum number of tokens to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>)]
    pub(crate) most: usize,
    #[command(flatten)]
    cache: CacheArgs,
}

impl VocabularyArgs {
    /// Returns the vocabulary, and the ids that end an output.
    fn read(&self) -> anyhow::Result<(Vocabulary, Vec<TokenId>)> {
        if let Some(file) = &self.tokenizer {
            let vocabulary = Vocabulary::from_tokenizer_file(file)
                .with_context(|| format!("the tokenizer {} cannot be used", file.display()))?;
            return Ok((vocabulary, self.eos.iter().copied().map(TokenId).collect()));
        }
        let folder = self.model.as_deref().map(models::resolve).transpose()?;
        let Some(folder) = folder else {
            let assets = structgen_model::MAIN;
            let vocabulary = Vocabulary::from_tokenizer_json(assets.tokenizer)?;
            let config = ModelConfig::from_json(assets.config, Some(assets.generation_config))?;
            return Ok((vocabulary, config.eos));
        };
        let cannot = || format!("the model folder {} cannot be used", folder.display());
        let eos = ModelFolder::open(&folder, None)
            .with_context(cannot)?
            .config
            .eos;
        let vocabulary =
            Vocabulary::from_tokenizer_file(tokenizer_file(&folder)).with_context(cannot)?;
        Ok((vocabulary, eos))
    }

    /// Compiles the constraint for the vocabulary.
    pub(crate) fn compile(
        &self,
        constraint: &Constraint,
        token: Option<CancelToken>,
    ) -> anyhow::Result<CompiledConstraint> {
        let (vocabulary, eos) = self.read()?;
        let vocabulary = Arc::new(vocabulary);
        let (tables, _) = self.cache.tables(&vocabulary);
        let is_known = |id: &TokenId| id.index() < vocabulary.len();
        let mut options = ConstraintOptions {
            eos: eos.into_iter().filter(is_known).collect(),
            ..ConstraintOptions::default()
        };
        options.limits.cancel = token;
        Ok(constraint.compile_with(&Arc::new(tables), &options)?)
    }
}

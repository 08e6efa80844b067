//! How sequences are searched: beams, drafts, forced text, contrast, faithful samplers.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use structgen::Model;
use structgen::constraint::CompiledConstraint;
use structgen::decode::{
    BeamOptions, ClassifierFreeGuidance, ContrastiveDecoding, ContrastiveSearch, Distinct,
    DraftLength, EarlyStopping, ExpectedGrammaticality, FaithfulOptions, FaithfulOutput, ForcedEnd,
    JumpForward, PromptLookup, SmcOptions, Speculation,
};
use structgen::ort::OrtHeads;
use structgen::vocab::TokenId;
use structgen::{GenerateOptions, SamplingParams};

use crate::args::ModelArgs;

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum JumpForwardArg {
    /// Changes nothing about what is written
    Exact,
    /// Fewer runs of the model, which loses the choice of other tokens for the same text
    Canonical,
}

impl From<JumpForwardArg> for JumpForward {
    fn from(arg: JumpForwardArg) -> Self {
        match arg {
            JumpForwardArg::Exact => Self::Exact,
            JumpForwardArg::Canonical => Self::Canonical,
        }
    }
}

/// How tokens are drafted.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Speculation")]
pub(crate) struct SpeculationArgs {
    /// Draft tokens that the model looks at together, which changes how fast they come and nothing else: model, lookup (what followed the
    /// last tokens before), forced (text that the constraint forces), heads (extra heads of the model); several with commas
    #[arg(long, value_enum, value_name = "SOURCE", value_delimiter = ',')]
    speculate: Vec<SourceArg>,
    /// The folder of the model that drafts, of the same vocabulary; without it, the embedded draft of the embedded model
    #[arg(long, value_name = "DIR", requires = "speculate")]
    draft_model: Option<PathBuf>,
    /// The file of the heads that draft; without it, those of the embedded model, or `heads.onnx` in the folder of --model
    #[arg(long, value_name = "FILE", requires = "speculate")]
    draft_heads: Option<PathBuf>,
    /// The most tokens of one draft; their number follows how many are kept
    #[arg(long, value_name = "N", requires = "speculate")]
    draft_tokens: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SourceArg {
    Model,
    Lookup,
    Forced,
    Heads,
}

impl SpeculationArgs {
    /// The heads that draft, if they do.
    pub(crate) fn load_heads(&self, target: &ModelArgs) -> anyhow::Result<Option<OrtHeads>> {
        if !self.speculate.contains(&SourceArg::Heads) {
            return match &self.draft_heads {
                Some(_) => Err(anyhow!("--draft-heads is for --speculate heads")),
                None => Ok(None),
            };
        }
        let options = target.options()?;
        let beside = || Some(target.model.as_ref()?.join("heads.onnx"));
        let Some(file) = self.draft_heads.clone().or_else(beside) else {
            return Ok(Some(Model::embedded_heads(&options)?));
        };
        let heads = Model::open_heads(&file, &options);
        let heads =
            heads.with_context(|| format!("the heads of {} cannot be used", file.display()))?;
        Ok(Some(heads))
    }

    /// The model that drafts, if one does.
    pub(crate) fn load(&self, target: &ModelArgs) -> anyhow::Result<Option<Model>> {
        if !self.speculate.contains(&SourceArg::Model) {
            return match &self.draft_model {
                Some(_) => Err(anyhow!("--draft-model is for --speculate model")),
                None => Ok(None),
            };
        }
        second_model(
            self.draft_model.as_deref(),
            target,
            "--speculate model",
            "--draft-model DIR",
        )
        .map(Some)
    }

    pub(crate) fn speculation<'d>(
        &self,
        draft: Option<&'d mut Model>,
        heads: Option<&'d mut OrtHeads>,
    ) -> Option<Speculation<'d>> {
        if self.speculate.is_empty() {
            return None;
        }
        let mut speculation = Speculation::new();
        if let Some(draft) = draft {
            let vocabulary = draft.tokenizer().vocabulary().clone();
            speculation = speculation.with_model(draft.language_model(), vocabulary);
        }
        if let Some(heads) = heads {
            speculation = speculation.with_heads(heads);
        }
        if self.speculate.contains(&SourceArg::Lookup) {
            speculation = speculation.with_lookup(PromptLookup::default());
        }
        if self.speculate.contains(&SourceArg::Forced) {
            speculation = speculation.with_forced_text();
        }
        if let Some(most) = self.draft_tokens {
            speculation = speculation.with_length(DraftLength::Adaptive(most));
        }
        Some(speculation)
    }
}

/// A model beside the one of `--model`: of a folder, or the embedded draft beside the embedded model.
fn second_model(
    folder: Option<&Path>,
    target: &ModelArgs,
    what: &str,
    option: &str,
) -> anyhow::Result<Model> {
    let options = target.options()?;
    match (folder, &target.model) {
        (Some(folder), _) => Model::open(folder, &options).with_context(|| {
            let folder = folder.display();
            format!("the model folder {folder} of {option} cannot be used")
        }),
        (None, None) => Ok(Model::embedded_draft(&options)?),
        (None, Some(_)) => Err(anyhow!(
            "{what} needs a second model beside the one of --model: {option}"
        )),
    }
}

/// Two opinions about every token.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Contrast")]
pub(crate) struct ContrastArgs {
    /// Classifier-free guidance: make what the prompt changes so much stronger; 1 is off
    #[arg(long, value_name = "SCALE", conflicts_with_all = ["tools", "speculate", "sequences", "beams", "contrastive"])]
    guidance: Option<f32>,
    /// The prompt that guidance leads away from; without it, the last token of the prompt
    #[arg(long, value_name = "TEXT", requires = "guidance")]
    guidance_prompt: Option<String>,
    /// Contrastive decoding: what a smaller model likes as well counts for less
    #[arg(long, conflicts_with_all = ["tools", "speculate", "sequences", "beams"])]
    contrastive: bool,
    /// The folder of the smaller model, of the same vocabulary; without it, the embedded draft of the embedded model
    #[arg(long, value_name = "DIR", requires = "contrastive")]
    amateur_model: Option<PathBuf>,
    /// Look at tokens with this share of the largest probability
    #[arg(
        long,
        value_name = "A",
        default_value_t = 0.1,
        requires = "contrastive"
    )]
    contrast_alpha: f32,
    /// How much the smaller model counts
    #[arg(
        long,
        value_name = "B",
        default_value_t = 0.5,
        requires = "contrastive"
    )]
    contrast_beta: f32,
    /// Contrastive search: of the most probable tokens, the one that is unlike all before it as well, by the model's hidden states
    #[arg(long, conflicts_with_all = ["tools", "speculate", "sequences", "beams", "contrastive", "guidance"])]
    contrastive_search: bool,
    /// How much being unlike counts, from 0 to 1
    #[arg(
        long,
        value_name = "A",
        default_value_t = 0.6,
        requires = "contrastive_search"
    )]
    search_alpha: f32,
    /// How many tokens are looked at
    #[arg(
        long,
        value_name = "K",
        default_value_t = 4,
        requires = "contrastive_search"
    )]
    search_top_k: usize,
}

impl ContrastArgs {
    /// The smaller model, if one is asked for.
    pub(crate) fn load(&self, target: &ModelArgs) -> anyhow::Result<Option<Model>> {
        let folder = self.amateur_model.as_deref();
        { self.contrastive }
            .then(|| second_model(folder, target, "--contrastive", "--amateur-model DIR"))
            .transpose()
    }

    pub(crate) fn contrastive<'d>(
        &self,
        amateur: Option<&'d mut Model>,
    ) -> Option<ContrastiveDecoding<'d>> {
        let amateur = amateur?;
        let vocabulary = amateur.tokenizer().vocabulary().clone();
        let contrast = ContrastiveDecoding::new(amateur.language_model(), vocabulary);
        let contrast = contrast.with_alpha(self.contrast_alpha);
        Some(contrast.with_beta(self.contrast_beta))
    }

    pub(crate) fn search(&self) -> Option<ContrastiveSearch> {
        self.contrastive_search.then_some(ContrastiveSearch {
            alpha: self.search_alpha,
            top_k: self.search_top_k,
        })
    }

    pub(crate) fn guidance(
        &self,
        model: &Model,
    ) -> structgen::Result<Option<ClassifierFreeGuidance>> {
        let Some(scale) = self.guidance else {
            return Ok(None);
        };
        let guidance = ClassifierFreeGuidance::new(scale);
        Ok(Some(match &self.guidance_prompt {
            Some(text) => guidance.with_prompt(model.encode_prompt(text)?),
            None => guidance,
        }))
    }
}

/// How beams are searched.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Beam search")]
pub(crate) struct BeamArgs {
    /// Search the best outputs with so many beams; each is printed as JSON on a line of its own: {"text", "score", "log_prob"}
    #[arg(long, value_name = "N", conflicts_with_all = ["tools", "speculate", "sequences"])]
    beams: Option<usize>,
    /// How many outputs to print, best first
    #[arg(long, value_name = "N", default_value_t = 1, requires = "beams")]
    n_best: usize,
    /// The score is the sum of log probabilities over the length to this power
    #[arg(
        long,
        value_name = "P",
        default_value_t = 1.0,
        requires = "beams",
        allow_negative_numbers = true
    )]
    length_penalty: f64,
    /// When to stop, once there are as many outputs as beams
    #[arg(long, value_enum, default_value_t = EarlyStoppingArg::Heuristic, requires = "beams")]
    early_stopping: EarlyStoppingArg,
    /// Beams are in so many groups, which a penalty parts
    #[arg(long, value_name = "N", default_value_t = 1, requires = "beams")]
    beam_groups: usize,
    /// Taken from a token's log probability for each beam of an earlier group that has just chosen it
    #[arg(long, value_name = "P", default_value_t = 0.0, requires = "beams")]
    diversity_penalty: f64,
    /// Draw the continuations of beams, by --temperature and the rest of the sampling
    #[arg(long, requires = "beams")]
    beam_sample: bool,
    /// Count log probabilities among allowed tokens instead of all
    #[arg(long, requires = "beams")]
    renormalize: bool,
    /// Which outputs count as the same
    #[arg(long, value_enum, default_value_t = DistinctArg::Text, requires = "beams")]
    distinct: DistinctArg,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum EarlyStoppingArg {
    /// When the best beam would be no better if it ended now
    Heuristic,
    /// At once
    Always,
    /// When no beam can become better
    Never,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DistinctArg {
    /// Those of the same tokens
    Tokens,
    /// Those of the same text
    Text,
    /// Those of the same JSON value
    Json,
}

impl BeamArgs {
    pub(crate) fn options(&self) -> Option<BeamOptions> {
        Some(BeamOptions {
            width: self.beams?,
            n_best: self.n_best,
            length_penalty: self.length_penalty,
            early_stopping: match self.early_stopping {
                EarlyStoppingArg::Heuristic => EarlyStopping::Heuristic,
                EarlyStoppingArg::Always => EarlyStopping::Always,
                EarlyStoppingArg::Never => EarlyStopping::Never,
            },
            groups: self.beam_groups,
            diversity_penalty: self.diversity_penalty,
            sample: self.beam_sample,
            renormalize: self.renormalize,
            distinct: match self.distinct {
                DistinctArg::Tokens => Distinct::Tokens,
                DistinctArg::Text => Distinct::Text,
                DistinctArg::Json => Distinct::JsonValue,
            },
        })
    }
}

/// How the model's own distribution is kept.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Faithful sampling")]
pub(crate) struct FaithfulArgs {
    /// Draw from the model's own distribution at temperature 1, given the constraint, which masks alone distort. Each output is printed as JSON on a line
    /// of its own: {"text", "log_prob", "masked_log_prob", "weight"}
    #[arg(long, value_enum, value_name = "HOW", conflicts_with_all = [
        "tools", "speculate", "sequences", "beams", "guidance", "contrastive", "contrastive_search", "stop", "task", "sampling", "samplers", "temperature", "top_k", "top_p", "min_p",
        "repetition_penalty"
    ])]
    faithful: Option<FaithfulArg>,
    /// How many outputs to draw one after another
    #[arg(long, value_name = "N", default_value_t = 1, requires = "faithful")]
    samples: usize,
    /// Give up after so many attempts at one output
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "faithful")]
    attempts: u64,
    /// How many particles to follow side by side
    #[arg(long, value_name = "N", default_value_t = 16, requires = "faithful")]
    particles: usize,
    /// Where nothing can follow, do not count how probable it is that the model ends by itself
    #[arg(long, requires = "faithful")]
    free_end: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FaithfulArg {
    /// One attempt for each output; comes to the distribution as more are drawn
    Asap,
    /// Exact; takes what attempts it takes, and learns from each
    Rejection,
    /// Particles with weights, side by side; the more of them, the closer
    Smc,
}

impl FaithfulArgs {
    /// The outputs, if such are asked for.
    pub(crate) fn outputs(
        &self,
        model: &mut Model,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Option<structgen::Result<Vec<FaithfulOutput>>> {
        let how = self.faithful?;
        let options = GenerateOptions {
            sampling: SamplingParams {
                temperature: 1.0,
                ..options.sampling.clone()
            },
            ..options.clone()
        };
        let forced_end = match self.free_end {
            true => ForcedEnd::Free,
            false => ForcedEnd::Counted,
        };
        let faithful = FaithfulOptions {
            outputs: self.samples,
            attempts: self.attempts,
            forced_end,
        };
        let learned = &mut ExpectedGrammaticality::default();
        Some(match how {
            FaithfulArg::Asap => {
                { model.sample_asap(prompt, constraint, &options, &faithful, learned) }
                    .map(|samples| samples.outputs)
            }
            FaithfulArg::Rejection => {
                { model.sample_by_rejection(prompt, constraint, &options, &faithful, learned) }
                    .map(|samples| samples.outputs)
            }
            FaithfulArg::Smc => {
                let smc = SmcOptions {
                    particles: self.particles,
                    forced_end,
                    ..SmcOptions::default()
                };
                { model.sample_smc(prompt, constraint, &options, &smc) }
                    .map(|samples| samples.outputs)
            }
        })
    }
}

//! How outputs are searched for: the strategies with their options, errors and reports, as plain data.

mod beam;
mod contrast;
mod contrastive_search;
mod faithful;
pub(crate) mod learned;
mod smc;
mod speculation;
#[cfg(test)]
mod tests;

pub use beam::{BeamError, BeamOptions, Distinct, EarlyStopping};
pub use contrast::{ClassifierFreeGuidance, ContrastError, ContrastiveDecoding};
pub use contrastive_search::ContrastiveSearch;
pub use faithful::{AttemptCounts, FaithfulError, FaithfulOptions, ForcedEnd};
pub use learned::ExpectedGrammaticality;
pub use smc::{Resampling, SmcEstimates, SmcOptions};
pub use speculation::{DraftLength, PromptLookup, SourceStats, Speculation, SpeculationStats};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::params::PARAMETERS;
use super::{GenerateError, GenerateOptions};
use crate::parameter::{Effect, OutOfRange, Parameter, form_of};

/// How outputs are searched for.
///
/// In JSON a strategy is an object with its options and the key `name`: `{"name": "sample"}`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// One token after another, sampled or greedy.
    #[default]
    Sample,
    /// Like `sample`, but with fewer runs of the model if drafts are accepted (speculative decoding).
    Speculate(Speculation),
    /// Beam search: several sequences in parallel, of which the best are continued.
    Beam(BeamOptions),
    /// Classifier-free guidance: amplifies the effect of the prompt.
    Guidance(ClassifierFreeGuidance),
    /// Contrastive decoding: tokens that the draft model also finds probable count for less.
    Contrastive(ContrastiveDecoding),
    /// Contrastive search: probable tokens whose hidden states differ from those of the text so far.
    ContrastiveSearch(ContrastiveSearch),
    /// Outputs in sequence, each drawn from a distribution closer to the model's own: adaptive sampling with
    /// approximate expected futures (ASAp; Park et al. 2024, "Grammar-Aligned Decoding").
    ///
    /// Each token is drawn from the allowed ones, in proportion to the model's probability times the bound on the mass
    /// of its continuations. The first output is that of masked sampling. With each output, the [learned
    /// bounds](FaithfulOptions::learned) become tighter, and the distribution approaches the target, which is the
    /// model's own distribution conditioned on the constraint; it is reached in the limit only. Outputs depend on
    /// earlier ones through the learned bounds. [`Rejection`](Strategy::Rejection) learns the same bounds and is exact
    /// from the first output on; ASAp takes only one attempt per output.
    ///
    /// [`ForcedEnd`](crate::strategies::ForcedEnd) determines how the end counts. Nothing steers towards the end: an
    /// attempt that reaches `max_new_tokens` without being complete is restarted. The temperature must be 1. An
    /// output's text is not streamed.
    ///
    /// ```
    /// use structgen_decode::{
    ///     GenerateOptions, MockModel, Request, SamplingParams, Scheduler, Strategy, Unconstrained,
    /// };
    /// use structgen_decode::strategies::{ExpectedGrammaticality, FaithfulOptions};
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::from_tokens(
    ///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
    ///     &[(TokenId(3), "<eos>")],
    /// )?;
    /// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
    /// let sampling = SamplingParams { temperature: 1.0, ..SamplingParams::default() };
    /// let max_new_tokens = Some(4);
    /// let options = GenerateOptions { sampling, max_new_tokens, sequences: 20, ..GenerateOptions::default() };
    /// let learned = ExpectedGrammaticality::default();
    /// let faithful = FaithfulOptions { learned: Some(learned.clone()), ..FaithfulOptions::default() };
    /// let request = Request::new([TokenId(0)], free).with_options(options).with_strategy(Strategy::Asap(faithful));
    /// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
    /// assert_eq!(scheduler.run(request)?.all()?.len(), 20);
    /// assert!(learned.log_bound(&[]) < 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Asap(FaithfulOptions),
    /// Outputs drawn exactly from the target, independently of each other: what the model would write, discarded unless
    /// it is a complete output of at most `max_new_tokens` tokens.
    ///
    /// An attempt ends at the first token that is not allowed. What it shows is [learned](FaithfulOptions::learned), so
    /// that no later attempt can fail in the same position (adaptive rejection). If the bound of a prefix is `c`, its
    /// allowed tokens share `c`, each by the model's probability times its own bound, and what is missing to `c` is the
    /// chance of rejection. The product of the bounds telescopes to that of the empty prefix, so each complete output
    /// is drawn with its probability divided by a constant. With a limit of zero in
    /// [`ExpectedGrammaticality::with_limit`](crate::strategies::ExpectedGrammaticality::with_limit), this is plain
    /// rejection. If the model hardly ever writes a complete output, the request ends with
    /// [`FaithfulError::Attempts`](crate::strategies::FaithfulError::Attempts).
    Rejection(FaithfulOptions),
    /// Weighted outputs by sequential Monte Carlo (Loula et al. 2025, "Syntactic and Semantic Control of Large Language
    /// Models via Sequential Monte Carlo").
    ///
    /// Each particle draws its tokens under the mask, and its weight is multiplied by the probability mass that the
    /// mask kept. When a few particles have most of the weight, all are resampled in proportion to it. The outputs are
    /// the particles that became complete, in no particular order, each with its weight; an output may occur more than
    /// once. As the number of particles grows, they approach the target; with few, the distribution of an output drawn
    /// by weight lies between masked sampling and the target.
    ///
    /// [`ForcedEnd`](crate::strategies::ForcedEnd) determines how the end counts. Nothing steers towards the end: a
    /// particle that reaches `max_new_tokens` or the time limit without being complete has no weight. Equal particles
    /// share their runs of the model. The temperature must be 1. Texts are not streamed.
    ///
    /// ```
    /// use structgen_decode::{GenerateOptions, MockModel, Request, SamplingParams, Scheduler, Unconstrained};
    /// use structgen_decode::strategies::SmcOptions;
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::from_tokens(
    ///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
    ///     &[(TokenId(3), "<eos>")],
    /// )?;
    /// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
    /// let sampling = SamplingParams { temperature: 1.0, ..SamplingParams::default() };
    /// let options = GenerateOptions { sampling, max_new_tokens: Some(4), ..GenerateOptions::default() };
    /// let smc = SmcOptions { particles: 32, ..SmcOptions::default() };
    /// let request = Request::new([TokenId(0)], free).with_options(options).with_strategy(smc);
    /// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
    /// let outputs = scheduler.run(request)?.all()?;
    /// let sum: f64 = outputs.iter().filter_map(|output| output.weight).sum();
    /// assert!((sum - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Smc(SmcOptions),
}

impl From<Speculation> for Strategy {
    fn from(speculation: Speculation) -> Self {
        Self::Speculate(speculation)
    }
}

impl From<BeamOptions> for Strategy {
    fn from(beams: BeamOptions) -> Self {
        Self::Beam(beams)
    }
}

impl From<ClassifierFreeGuidance> for Strategy {
    fn from(guidance: ClassifierFreeGuidance) -> Self {
        Self::Guidance(guidance)
    }
}

impl From<ContrastiveDecoding> for Strategy {
    fn from(contrastive: ContrastiveDecoding) -> Self {
        Self::Contrastive(contrastive)
    }
}

impl From<ContrastiveSearch> for Strategy {
    fn from(search: ContrastiveSearch) -> Self {
        Self::ContrastiveSearch(search)
    }
}

impl From<SmcOptions> for Strategy {
    fn from(options: SmcOptions) -> Self {
        Self::Smc(options)
    }
}

impl Strategy {
    /// The names of all strategies, as in JSON.
    pub const NAMES: [&'static str; 9] = [
        "sample",
        "speculate",
        "beam",
        "guidance",
        "contrastive",
        "contrastive_search",
        "asap",
        "rejection",
        "smc",
    ];

    /// Returns the strategy with this name, with default options.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(serde_json::json!({ "name": name })).ok()
    }

    /// Returns its name, as in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Speculate(_) => "speculate",
            Self::Beam(_) => "beam",
            Self::Guidance(_) => "guidance",
            Self::Contrastive(_) => "contrastive",
            Self::ContrastiveSearch(_) => "contrastive_search",
            Self::Asap(_) => "asap",
            Self::Rejection(_) => "rejection",
            Self::Smc(_) => "smc",
        }
    }

    /// Returns whether it accepts the [caller's own samplers](GenerateOptions::samplers): strategies that follow the
    /// model's own distribution do not.
    #[must_use]
    pub fn takes_samplers(&self) -> bool {
        !matches!(self, Self::Asap(_) | Self::Rejection(_) | Self::Smc(_))
    }

    /// Returns whether it honours an option; setting one that it does not is an error.
    pub(in crate::request) fn honours(&self, option: &Parameter) -> bool {
        match self {
            Self::Sample | Self::Speculate(_) => true,
            Self::Beam(beams) => beams.honours(option.effect),
            // Two texts of different lengths would have to be cropped alike.
            Self::Guidance(_) | Self::Contrastive(_) => option.effect != Effect::Overflow,
            Self::ContrastiveSearch(search) => search.honours(option.effect),
            Self::Asap(_) | Self::Rejection(_) => faithful::honours(option),
            Self::Smc(_) => faithful::honours(option) && option.effect != Effect::Sequences,
        }
    }

    /// Returns the number of tasks of a request: one per output that is found independently.
    pub(crate) fn count(&self, options: &GenerateOptions) -> usize {
        match self {
            // One output after another, since each improves the next.
            Self::Asap(_) | Self::Rejection(_) => 1,
            _ => options.sequences,
        }
    }

    /// Returns an error for an option that is set but not honoured by the strategy.
    pub(crate) fn check(&self, options: &GenerateOptions) -> Result<(), GenerateError> {
        let refused: Vec<_> = PARAMETERS.iter().filter(|row| !self.honours(row)).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let (set, unset) = (form_of(options), form_of(&GenerateOptions::default()));
        for row in refused {
            let path = row.path();
            let option = path.strip_prefix("options.").unwrap_or(&path).to_owned();
            let pointer = format!("/{}", option.replace('.', "/"));
            let value = set.pointer(&pointer);
            if value != unset.pointer(&pointer) {
                return Err(GenerateError::NotHonoured {
                    strategy: self.name(),
                    option,
                    value: value.map_or_else(String::new, Value::to_string),
                });
            }
        }
        Ok(())
    }
}

/// Checks the numbers of a strategy's options against the ranges in the table of parameters.
pub(crate) fn check_ranges(strategy: &str, options: &impl Serialize) -> Result<(), OutOfRange> {
    let form = form_of(options);
    let mut rows = PARAMETERS.iter();
    rows.try_for_each(|row| match row.strategy() == Some(strategy) {
        true => row.check(&form),
        false => Ok(()),
    })
}

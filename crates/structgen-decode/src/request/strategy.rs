use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GenerateError, GenerateOptions, Request};
use crate::sequence::Codec;
use crate::strategies::beam::{BeamOptions, BeamSearch};
use crate::strategies::contrast::{ClassifierFreeGuidance, Contrast, ContrastiveDecoding};
use crate::strategies::contrastive_search::{ContrastiveSearch, Search};
use crate::strategies::faithful::{self, Attempts, Smc};
use crate::strategies::sample::Sample;
use crate::strategies::speculate::{Speculate, Speculation};
use crate::task::Task;
use crate::{
    Constraint, ModelInfo,
    strategies::{FaithfulOptions, SmcOptions},
};

/// How outputs are looked for.
///
/// In JSON a strategy is an object with the key `name`, beside its own options: `{"name": "sample"}`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// One token after another, drawn or the largest.
    #[default]
    Sample,
    /// As `sample`, with fewer runs of the model where drafts are kept.
    Speculate(Speculation),
    /// Several sequences side by side, of which the best go on.
    Beam(BeamOptions),
    /// What the prompt changes is made stronger.
    Guidance(ClassifierFreeGuidance),
    /// What the draft model likes as well counts for less.
    Contrastive(ContrastiveDecoding),
    /// Probable tokens whose hidden states are unlike those of the text so far.
    ContrastiveSearch(ContrastiveSearch),
    /// Outputs one after another, whose distribution comes closer to the model's own with each: adaptive sampling with
    /// approximate expected futures (ASAp; Park et al. 2024, "Grammar-Aligned Decoding").
    ///
    /// Each token is drawn by the model's probability times the bound of what it leads to, among the allowed ones. The
    /// first output is what masks alone would give. With each, [what is learned](FaithfulOptions::learned) comes closer
    /// to the truth and the outputs' distribution to the target, the model's own one given the constraint; it is
    /// reached in the limit only. Outputs depend on those before, by what was learned.
    /// [`Rejection`](Strategy::Rejection) learns the same and is exact from the first output on; this takes one attempt
    /// for each output.
    ///
    /// [`ForcedEnd`](crate::strategies::ForcedEnd) decides how the end counts; nothing steers towards it: an attempt that comes
    /// to the last of `max_new_tokens` without being complete is begun anew. The temperature has to be one. An output's
    /// text comes as a whole.
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
    /// Outputs from the target exactly, each independent of the others: what the model would write, thrown away unless
    /// it is a complete output of at most `max_new_tokens` tokens.
    ///
    /// An attempt ends at the first token that is not allowed. What it shows is [learned](FaithfulOptions::learned),
    /// and no later attempt can fail in the same position (adaptive rejection): where the bound of a beginning is `c`,
    /// its allowed tokens share `c`, each by the model's probability times its own bound, and what is missing to `c` is
    /// the chance of rejection. The bounds' product telescopes to that of the empty beginning, so that each complete
    /// output comes with its probability over one constant.
    /// [`ExpectedGrammaticality::with_limit`](crate::strategies::ExpectedGrammaticality::with_limit) of zero makes it plain
    /// rejection. Where the model hardly ever writes a complete output, it ends with
    /// [`FaithfulError::Attempts`](crate::strategies::FaithfulError::Attempts).
    Rejection(FaithfulOptions),
    /// Weighted outputs by sequential Monte Carlo (Loula et al. 2025, "Syntactic and Semantic Control of Large Language
    /// Models via Sequential Monte Carlo").
    ///
    /// Each particle draws its tokens under the mask, and its weight is multiplied by the probability that the mask let
    /// through. Where few particles have most of the weight, all are drawn anew in proportion to it. The outputs are
    /// the particles that became complete, in no order that means anything, each with its weight; an output may be
    /// there more than once. They tend to the target as the number of particles grows: for few, the distribution of an
    /// output drawn by weight lies between that of masks and the target.
    ///
    /// [`ForcedEnd`](crate::strategies::ForcedEnd) decides how the end counts; nothing steers towards it: a particle that comes
    /// to the last of `max_new_tokens` without being complete has no weight, and neither has one that is not complete
    /// in time. Particles that are equal share their runs of the model. The temperature has to be one. The texts come
    /// at the end.
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

/// The options that count only where tokens are drawn: temperatures, and samplers that truncate. Without a draw, these
/// choose nothing.
pub(crate) const DRAWING: [&str; 15] = [
    "sampling.temperature",
    "sampling.dynamic_temperature",
    "sampling.top_k",
    "sampling.top_k_ties",
    "sampling.top_p",
    "sampling.min_p",
    "sampling.typical_p",
    "sampling.epsilon_cutoff",
    "sampling.eta_cutoff",
    "sampling.top_n_sigma",
    "sampling.top_h",
    "sampling.xtc",
    "sampling.min_keep",
    "sampling.mirostat",
    "sampling.adaptive_p",
];

impl From<SmcOptions> for Strategy {
    fn from(options: SmcOptions) -> Self {
        Self::Smc(options)
    }
}

/// What tasks are made with.
pub struct Resources<'a> {
    pub(crate) codec: &'a Codec,
    pub(crate) target: &'a ModelInfo,
    pub(crate) draft: Option<&'a ModelInfo>,
    /// The width of the hidden states that heads take, where there are heads.
    pub(crate) heads_width: Option<usize>,
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

    /// The strategy of a name, with its defaults.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(serde_json::json!({ "name": name })).ok()
    }

    /// Its name, as in JSON.
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

    /// Whether it takes [samplers of the caller's own](GenerateOptions::samplers): those do not that follow the model's own
    /// distribution.
    #[must_use]
    pub fn takes_samplers(&self) -> bool {
        !matches!(self, Self::Asap(_) | Self::Rejection(_) | Self::Smc(_))
    }

    /// The options that it does not honour; one that is set is an error.
    pub(super) fn refuses(&self) -> Vec<&'static str> {
        match self {
            Self::Sample | Self::Speculate(_) => Vec::new(),
            Self::Beam(beams) => beams.refuses(),
            // Two texts of different lengths would have to be cut alike.
            Self::Guidance(_) | Self::Contrastive(_) => vec!["overflow"],
            Self::ContrastiveSearch(search) => search.refuses(),
            Self::Asap(_) | Self::Rejection(_) => faithful::refused(),
            Self::Smc(_) => [&faithful::refused()[..], &["sequences"]].concat(),
        }
    }

    /// The tasks of a request, one for each output that is found by itself.
    pub(crate) fn tasks<C: Constraint + Clone + 'static>(
        request: Request<C>,
        resources: &Resources<'_>,
    ) -> Result<Vec<Box<dyn Task>>, GenerateError> {
        let Request {
            prompt,
            constraint,
            options,
            strategy,
            ..
        } = request;
        strategy.check(&options)?;
        let sequences = options.sequences;
        let options = Arc::new(options);
        let task = |number| -> Result<Box<dyn Task>, GenerateError> {
            let constraint = constraint.clone();
            Ok(match &strategy {
                Self::Sample => Box::new(Sample::start(
                    &prompt, constraint, &options, number, resources,
                )?),
                Self::Speculate(speculation) => Box::new(Speculate::start(
                    &prompt,
                    constraint,
                    &options,
                    *speculation,
                    number,
                    resources,
                )?),
                Self::Beam(beams) => Box::new(BeamSearch::start(
                    &prompt, constraint, &options, beams, resources,
                )?),
                Self::Guidance(guidance) => Box::new(Contrast::guided(
                    &prompt, constraint, &options, guidance, number, resources,
                )?),
                Self::Contrastive(contrastive) => Box::new(Contrast::contrastive(
                    &prompt,
                    constraint,
                    &options,
                    *contrastive,
                    number,
                    resources,
                )?),
                Self::ContrastiveSearch(search) => Box::new(Search::start(
                    &prompt, constraint, &options, *search, resources,
                )?),
                Self::Asap(asap) => Box::new(Attempts::start(
                    &prompt,
                    constraint,
                    &options,
                    asap.clone(),
                    false,
                    resources,
                )?),
                Self::Rejection(rejection) => Box::new(Attempts::start(
                    &prompt,
                    constraint,
                    &options,
                    rejection.clone(),
                    true,
                    resources,
                )?),
                Self::Smc(smc) => Box::new(Smc::start(
                    &prompt,
                    constraint,
                    &options,
                    smc.clone(),
                    resources,
                )?),
            })
        };
        let tasks = match &strategy {
            // One output after another, each of which teaches the next.
            Self::Asap(_) | Self::Rejection(_) => 1,
            _ => sequences,
        };
        (0..tasks).map(task).collect()
    }

    /// Refuses options that are set and that the strategy does not honour.
    pub(super) fn check(&self, options: &GenerateOptions) -> Result<(), GenerateError> {
        let refused = self.refuses();
        if refused.is_empty() {
            return Ok(());
        }
        // By way of text, which has numbers as they were written.
        let json = |options| {
            let text = serde_json::to_string(options)?;
            serde_json::from_str::<Value>(&text)
        };
        let (Ok(set), Ok(unset)) = (json(options), json(&GenerateOptions::default())) else {
            return Ok(());
        };
        let pointer = |name: &str| format!("/{}", name.replace('.', "/"));
        let is_set =
            |name: &&&'static str| set.pointer(&pointer(name)) != unset.pointer(&pointer(name));
        match refused.iter().find(is_set) {
            Some(option) => Err(GenerateError::NotHonoured {
                strategy: self.name(),
                option: (*option).to_owned(),
                value: set
                    .pointer(&pointer(option))
                    .map_or_else(String::new, Value::to_string),
            }),
            None => Ok(()),
        }
    }
}

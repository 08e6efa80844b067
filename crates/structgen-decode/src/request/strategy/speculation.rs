//! The options of speculative decoding, and the statistics of drafts.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The sources and length of drafts.
///
/// Drafts never change what is generated. At temperature 0 the output is that of
/// [`Strategy::Sample`](crate::Strategy::Sample), token for token. The same holds for every seed if no model drafts,
/// since such drafts are tested by making the usual choice. Tokens that a model drafts by drawing are accepted by the
/// rule of Leviathan, Kalman and Matias (2023), so that outputs have the same distribution. It compares the
/// distributions after constraint and samplers.
///
/// For each token, the sources are tried in this order: forced tokens; forced text, as tokenized by the encoder; prompt
/// lookup; extra heads; the draft model.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::request::Report;
/// use structgen_decode::strategies::{PromptLookup, Speculation};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(20), ..GenerateOptions::default() };
/// let plain = Request::new([TokenId(0)], free).with_options(options);
/// let lookup = Speculation { lookup: Some(PromptLookup::default()), ..Speculation::default() };
/// let speculative = plain.clone().with_strategy(lookup);
/// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
/// let plain = scheduler.run(plain)?.single()?;
/// let outputs = scheduler.run(speculative)?;
/// let Report::Speculation(stats) = &outputs.report else { panic!("no statistics") };
/// assert!(stats.target_runs <= plain.stats.runs);
/// assert_eq!(outputs.single()?.text, plain.text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Speculation {
    /// Whether the scheduler's [draft model](crate::Scheduler::with_draft) drafts.
    pub model: bool,
    /// Drafts what followed the last tokens when they occurred before, in the prompt or in the output.
    pub lookup: Option<PromptLookup>,
    /// Whether the scheduler's [extra heads](crate::Scheduler::with_heads) draft: from the target's state after the
    /// last tokens that it has run, each head predicts one token, the largest that is allowed.
    pub heads: bool,
    /// Whether text that the constraint forces is drafted, as tokenized by the scheduler's
    /// [encoder](crate::Scheduler::with_encoder).
    pub forced_text: bool,
    /// The number of tokens per draft.
    pub length: DraftLength,
}

/// The number of tokens to draft before the model verifies them. Forced tokens count as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftLength {
    /// Always the same.
    Fixed(NonZeroUsize),
    /// Two more after a draft that was accepted whole, one fewer otherwise, from 1 to this many: the schedule of
    /// transformers.
    Adaptive(NonZeroUsize),
}

impl Default for DraftLength {
    /// Adaptive, up to 16.
    fn default() -> Self {
        Self::Adaptive(NonZeroUsize::MIN.saturating_add(15))
    }
}

impl DraftLength {
    /// The initial adaptive length.
    const FIRST: usize = 5;

    pub(crate) fn first(self) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) => most.get().min(Self::FIRST),
        }
    }

    /// Returns the length after a draft.
    pub(crate) fn after(self, length: usize, kept_whole: bool) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) if kept_whole => most.get().min(length + 2),
            Self::Adaptive(_) => length.saturating_sub(1).max(1),
        }
    }
}

/// Which tokens to look up, for drafts from prompt and output (Saxena 2023, "prompt lookup decoding").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptLookup {
    /// Maximum number of last tokens to match; longer matches are preferred.
    pub longest: usize,
    /// Minimum number of last tokens to match; at least one.
    pub shortest: usize,
}

impl Default for PromptLookup {
    /// From three tokens down to one.
    fn default() -> Self {
        Self {
            longest: 3,
            shortest: 1,
        }
    }
}

/// Statistics of drafts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpeculationStats {
    /// Tokens generated, including forced ones.
    pub tokens: u64,
    /// Runs of the target in which a choice was made.
    pub target_runs: u64,
    /// Runs of the draft model.
    pub draft_runs: u64,
    /// Runs of the extra heads.
    pub head_runs: u64,
    /// Time spent drafting, including runs of the draft model and the constraint's masks.
    pub draft_time: Duration,
    /// Tokens that the target tested, by position in the draft. Forced tokens are excluded.
    pub tested: Vec<u64>,
    /// Tokens that were accepted, by position in the draft.
    pub kept: Vec<u64>,
    /// Drafts of the draft model.
    pub model: SourceStats,
    /// Drafts of extra heads.
    pub heads: SourceStats,
    /// Drafts by prompt lookup.
    pub lookup: SourceStats,
    /// Drafts of forced text.
    pub forced_text: SourceStats,
}

/// Statistics of one source of drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SourceStats {
    /// Tokens that the target tested.
    pub tested: u64,
    /// Tokens that were accepted.
    pub kept: u64,
}

impl SpeculationStats {
    /// Returns the tokens per run of the target; zero before the first.
    #[must_use]
    pub fn tokens_per_run(&self) -> f64 {
        self.tokens as f64 / self.target_runs.max(1) as f64
    }

    /// Returns the acceptance rate at each position of the draft, among the tokens that the target tested.
    #[must_use]
    pub fn acceptance(&self) -> Vec<f64> {
        let pairs = self.kept.iter().zip(&self.tested);
        pairs
            .map(|(&kept, &tested)| kept as f64 / tested.max(1) as f64)
            .collect()
    }

    /// Adds the statistics of other drafts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.target_runs += other.target_runs;
        self.draft_runs += other.draft_runs;
        self.head_runs += other.head_runs;
        self.draft_time += other.draft_time;
        for (sums, terms) in [
            (&mut self.tested, &other.tested),
            (&mut self.kept, &other.kept),
        ] {
            sums.resize(sums.len().max(terms.len()), 0);
            sums.iter_mut()
                .zip(terms)
                .for_each(|(sum, term)| *sum += term);
        }
        for (sum, term) in [
            (&mut self.model, other.model),
            (&mut self.heads, other.heads),
            (&mut self.lookup, other.lookup),
            (&mut self.forced_text, other.forced_text),
        ] {
            sum.tested += term.tested;
            sum.kept += term.kept;
        }
    }
}

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::PromptLookup;

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

    pub(super) fn first(self) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) => most.get().min(Self::FIRST),
        }
    }

    /// Returns the length after a draft.
    pub(super) fn after(self, length: usize, kept_whole: bool) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) if kept_whole => most.get().min(length + 2),
            Self::Adaptive(_) => length.saturating_sub(1).max(1),
        }
    }
}

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::PromptLookup;

/// Where drafts come from and how long they are.
///
/// Drafts never change what is generated. At temperature zero the output is that of
/// [`Strategy::Sample`](crate::Strategy::Sample), token for token, and so it is for every seed where no model drafts:
/// then drafts are tested by making the choice as always. What a model drafts by drawing is kept by the rule of
/// Leviathan, Kalman and Matias (2023), so that outputs have the same distribution. The distributions compared are
/// those after constraint and samplers.
///
/// Sources are asked in this order, for each token: what the constraint forces; the text that it forces, as a tokenizer
/// writes it; what followed the last tokens before; extra heads; the draft model.
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
    /// Drafts what followed the last tokens when they came before, in the prompt or in the output.
    pub lookup: Option<PromptLookup>,
    /// Whether the scheduler's [extra heads](crate::Scheduler::with_heads) draft: from the target's state after the
    /// last tokens that it has run, each head guesses one token, the largest that is allowed.
    pub heads: bool,
    /// Whether text that the constraint forces is drafted, in the tokens that the scheduler's
    /// [encoder](crate::Scheduler::with_encoder) gives.
    pub forced_text: bool,
    /// The number of tokens drafted at once.
    pub length: DraftLength,
}

/// The number of tokens drafted before the model looks at them. Those that the constraint forces count as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftLength {
    /// Always the same.
    Fixed(NonZeroUsize),
    /// Two more after a draft that was kept whole, one fewer after one that was not, from 1 to this many: the schedule
    /// of transformers.
    Adaptive(NonZeroUsize),
}

impl Default for DraftLength {
    /// Adaptive, up to 16.
    fn default() -> Self {
        Self::Adaptive(NonZeroUsize::MIN.saturating_add(15))
    }
}

impl DraftLength {
    /// Where an adaptive length begins.
    const FIRST: usize = 5;

    pub(super) fn first(self) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) => most.get().min(Self::FIRST),
        }
    }

    /// The length after a draft.
    pub(super) fn after(self, length: usize, kept_whole: bool) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) if kept_whole => most.get().min(length + 2),
            Self::Adaptive(_) => length.saturating_sub(1).max(1),
        }
    }
}

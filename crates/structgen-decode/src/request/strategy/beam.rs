//! The options of beam search.

use serde::{Deserialize, Serialize};

use super::check_ranges;
use crate::parameter::{Effect, OutOfRange};

/// Beam search: several sequences in parallel, of which the best are continued.
///
/// The outputs are the `n_best` best sequences, each with its score, best first; sequences that were cut are omitted as
/// long as there are others. Text is not streamed, since a beam may be dropped at any time before the end.
///
/// Without a constraint, sequences and scores are those of transformers' `generate` in versions 4.5x: penalties and
/// biases apply to log probabilities. A beam ends when the constraint allows: with an end-of-sequence token, which
/// counts in its score like any other, or without one if nothing can follow. The budget works as in sampling: no beam
/// takes a token after which it could not be completed. A width of one gives the greedy output if no sampler is on.
///
/// The defaults are those of transformers' `generate`, except for the width. Temperature and truncating samplers are
/// refused unless beams are drawn; [`sequences`](crate::GenerateOptions::sequences) is refused in favour of `n_best`.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::strategies::BeamOptions;
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let beams = BeamOptions { width: 3, n_best: 2, ..BeamOptions::default() };
/// assert!(beams.validate().is_ok());
/// let request = Request::new([TokenId(0)], free).with_options(options).with_strategy(beams);
/// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
/// let outputs = scheduler.run(request)?.all()?;
/// assert!(outputs[0].score >= outputs[1].score);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeamOptions {
    /// Number of beams to continue in each step, over all groups; at most 65,536.
    pub width: usize,
    /// Number of outputs to return, best first.
    pub n_best: usize,
    /// Exponent of the length in the score, which is the sum of log probabilities divided by the number of tokens,
    /// including end-of-sequence, to this power. Values above zero favour longer outputs.
    pub length_penalty: f64,
    /// When to stop.
    pub early_stopping: EarlyStopping,
    /// Number of beam groups of equal size, searched one after the other in each step (Vijayakumar et al. 2016).
    pub groups: usize,
    /// Subtracted from a token's log probability for each beam of an earlier group that has just chosen it, before the
    /// penalties of the sampler chain.
    pub diversity_penalty: f64,
    /// Whether to draw continuations without replacement, in proportion to the softmax of their sums, rather than take
    /// the best. Temperature, truncating samplers and a grammar's temperatures are honoured only then. Where a grammar
    /// sets the temperature to 0, a beam is continued with its best token.
    pub sample: bool,
    /// Whether log probabilities are over the allowed tokens, rather than over all.
    pub renormalize: bool,
    /// Which outputs count as the same; only the best of these is returned.
    pub distinct: Distinct,
}

impl Default for BeamOptions {
    fn default() -> Self {
        Self {
            width: 4,
            n_best: 1,
            length_penalty: 1.0,
            early_stopping: EarlyStopping::Heuristic,
            groups: 1,
            diversity_penalty: 0.0,
            sample: false,
            renormalize: false,
            distinct: Distinct::Tokens,
        }
    }
}

/// When to stop a beam search; it always stops when no token is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyStopping {
    /// When there are as many outputs as beams, and the best beam would score worse than the worst of them if it ended
    /// now.
    #[default]
    Heuristic,
    /// As soon as there are as many outputs as beams.
    Always,
    /// When there are as many outputs as beams, and no beam can score better than the worst of them, however long it
    /// becomes.
    Never,
}

/// Which outputs of a beam search count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distinct {
    /// Outputs with the same tokens: a text may be found in several tokenizations.
    #[default]
    Tokens,
    /// Outputs with the same text. Of beams with the same text, only the best is continued.
    Text,
    /// Outputs with the same JSON value: numbers are compared by value, objects without regard to order. Texts that are
    /// not JSON are compared as texts.
    JsonValue,
}

/// An invalid option of beam search.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BeamError {
    /// A number outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// More outputs than beams.
    #[error("beam.n_best is {n_best}, and must be from 1 to the width, {width}")]
    FewBeams {
        /// The number of outputs.
        n_best: usize,
        /// The number of beams.
        width: usize,
    },
    /// The beams cannot be divided into groups of equal size.
    #[error("{width} beams cannot be divided into {groups} groups of the same size")]
    Uneven {
        /// The number of beams.
        width: usize,
        /// The number of groups.
        groups: usize,
    },
    /// A diversity penalty is set, but there is only one group.
    #[error("a diversity penalty is between groups of beams, and there is one group")]
    OneGroup,
    /// Groups cannot be combined with drawing.
    #[error("beams in groups cannot be drawn: choose groups or sampling")]
    DrawnGroups,
    /// Drawing needs a temperature above zero.
    #[error("beams cannot be drawn at temperature 0")]
    ColdDraw,
}

impl BeamOptions {
    /// Checks every field.
    ///
    /// # Errors
    /// [`BeamError`] for the first invalid field.
    pub fn validate(&self) -> Result<(), BeamError> {
        check_ranges("beam", self)?;
        let Self {
            width,
            n_best,
            groups,
            ..
        } = *self;
        if n_best > width {
            return Err(BeamError::FewBeams { n_best, width });
        }
        if width % groups != 0 {
            return Err(BeamError::Uneven { width, groups });
        }
        if groups == 1 && self.diversity_penalty > 0.0 {
            return Err(BeamError::OneGroup);
        }
        if groups > 1 && self.sample {
            return Err(BeamError::DrawnGroups);
        }
        Ok(())
    }

    /// Returns whether beam search honours options with an effect.
    pub(super) fn honours(&self, effect: Effect) -> bool {
        match effect {
            Effect::Request | Effect::Logits | Effect::Tokens => true,
            Effect::Draws => self.sample,
            // Feedback is about the probabilities of single draws, which do not exist when drawing without replacement.
            Effect::Feedback | Effect::Sequences | Effect::ForcedText | Effect::Overflow => false,
        }
    }
}

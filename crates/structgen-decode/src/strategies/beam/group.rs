//! A group of beams: which continue, which become outputs, and when it is done.

use structgen_vocab::TokenId;

use super::{BeamOptions, EarlyStopping};
use crate::sequence::{Sequence, SomeMask};
use crate::{Constraint, FinishReason};

/// A beam that is being continued.
pub(super) struct Beam<C: Constraint> {
    pub(super) sequence: Sequence<C>,
    /// The mask for the next choice, once it is computed.
    pub(super) mask: SomeMask<C>,
    /// The sum of its tokens' log probabilities, after penalties.
    pub(super) sum: f64,
    /// Its row in the last demand.
    pub(super) row: usize,
}

/// A beam that has ended.
pub(super) struct Hypothesis<C> {
    pub(super) sequence: Sequence<C>,
    pub(super) reason: FinishReason,
    pub(super) sum: f64,
    pub(super) score: f64,
    /// Outputs with the same key are the same.
    pub(super) key: Option<Vec<u8>>,
}

/// A continuation.
pub(super) struct Child<C: Constraint> {
    /// How many are better, or were drawn before.
    pub(super) rank: usize,
    pub(super) token: TokenId,
    pub(super) beam: Beam<C>,
    /// Why it ended, if it did.
    pub(super) reason: Option<FinishReason>,
    pub(super) key: Option<Vec<u8>>,
}

pub(super) struct Group<C: Constraint> {
    pub(super) beams: Vec<Beam<C>>,
    /// Best first.
    pub(super) finished: Vec<Hypothesis<C>>,
    width: usize,
    /// Whether a beam may still become one of the best.
    improvable: bool,
    pub(super) done: bool,
}

impl<C: Constraint> Group<C> {
    pub(super) fn new(first: Sequence<C>, width: usize) -> Self {
        Self {
            beams: vec![Beam {
                sequence: first,
                mask: None,
                sum: 0.0,
                row: 0,
            }],
            finished: Vec::new(),
            width,
            improvable: true,
            done: false,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Advances the group with continuations, best first, each of `len` tokens, including end-of-sequence, out of at
    /// most `most`.
    ///
    /// A single group follows transformers' `_beam_search` (4.5x), and several its `BeamSearchScorer`. These differ in
    /// the score by which the best beam is compared when a search stops, and in which beams become outputs when no
    /// token is left. Returns the last tokens of the beams that continue, and of those that ran out of tokens.
    pub(super) fn step(
        &mut self,
        children: Vec<Child<C>>,
        len: usize,
        most: usize,
        options: &BeamOptions,
    ) -> Vec<TokenId> {
        let scorer = options.groups > 1;
        let best_of_all = children.first().map(|child| child.beam.sum);
        let is_full = self.finished.len() == self.width;
        let takes = scorer
            || (self.improvable && !(is_full && options.early_stopping == EarlyStopping::Always));
        self.beams.clear();
        let mut cut = Vec::new();
        // What other groups must differ from, even at the last step.
        let mut last = Vec::new();
        let mut going = Vec::new();
        for child in children {
            let Child {
                rank, beam, key, ..
            } = child;
            match child.reason {
                Some(FinishReason::MaxTokens) if scorer => {
                    if cut.len() < self.width {
                        last.push(child.token);
                        cut.push((beam, key));
                    }
                }
                Some(reason) => {
                    if rank < self.width && takes {
                        self.add(beam, reason, key, len, options);
                    }
                }
                None => going.push((child.token, beam)),
            }
        }
        // Drawn continuations are in the order of the draw.
        going.sort_by(|(_, a), (_, b)| b.sum.total_cmp(&a.sum));
        going.truncate(self.width);
        let mut tokens: Vec<TokenId>;
        (tokens, self.beams) = going.into_iter().unzip();
        tokens.append(&mut last);
        let best = match scorer {
            true => best_of_all,
            false => self.beams.first().map(|beam| beam.sum),
        };
        let length = match options.early_stopping {
            EarlyStopping::Never if options.length_penalty > 0.0 => most,
            _ => len,
        };
        let best = best.map(|sum| sum / (length as f64).powf(options.length_penalty));
        let is_full = self.finished.len() == self.width;
        let worst = self.finished.last().map(|hypothesis| hypothesis.score);
        let worst = worst.filter(|_| is_full);
        self.improvable &= match (best, worst) {
            (Some(best), Some(worst)) => best > worst,
            _ => true,
        };
        self.done |= !self.improvable
            || (is_full && options.early_stopping == EarlyStopping::Always)
            || (self.beams.is_empty() && cut.is_empty());
        if !self.done {
            for (beam, key) in cut {
                self.add(beam, FinishReason::MaxTokens, key, len, options);
            }
        }
        if self.done || self.beams.is_empty() {
            self.end();
        }
        tokens
    }

    /// Drops the beams that are still being continued.
    pub(super) fn end(&mut self) {
        self.done = true;
        self.beams.clear();
    }

    /// Adds an output if it is one of the best.
    pub(super) fn add(
        &mut self,
        beam: Beam<C>,
        reason: FinishReason,
        key: Option<Vec<u8>>,
        len: usize,
        options: &BeamOptions,
    ) {
        let score = beam.sum / (len as f64).powf(options.length_penalty);
        if key.is_some()
            && let Some(same) = self.finished.iter().position(|other| other.key == key)
        {
            if self.finished[same].score >= score {
                return;
            }
            self.finished.remove(same);
        }
        let place = self.finished.partition_point(|other| other.score >= score);
        self.finished.insert(
            place,
            Hypothesis {
                sequence: beam.sequence,
                reason,
                sum: beam.sum,
                score,
                key,
            },
        );
        self.finished.truncate(self.width);
    }
}

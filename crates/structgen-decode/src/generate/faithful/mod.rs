//! Samplers whose outputs follow the model's own distribution, given the constraint.
//!
//! Masks take forbidden tokens away and share their probability among the allowed ones, at every step anew. That is a distribution over
//! complete outputs, but not the model's: a beginning that looks likely and leads to unlikely ends gets too much. Here the target is
//!
//! > P(tokens, end) / Z, for every complete output, and nothing for any other,
//!
//! where P is the model's at temperature one over all of its tokens, and Z the sum of P over all complete outputs of at most
//! [`max_new_tokens`](crate::GenerateOptions::max_new_tokens) tokens. The end counts as [`ForcedEnd`] says. Forced tokens count by
//! their probability like any other, so that the model runs on them, too: on a stretch of them at once.

mod error;
mod learned;
mod path;
mod runs;
mod smc;
mod steps;
mod tries;

pub use error::FaithfulError;
pub use learned::ExpectedGrammaticality;
pub use smc::{Resampling, SmcOptions, SmcSamples};
pub use tries::{FaithfulOptions, FaithfulSamples};

use std::ops::ControlFlow;

use structgen_vocab::TokenId;

use super::jump::Words;
use super::sequence::Sequence;
use super::step::Scores;
use super::{
    Delta, FinishReason, GenerateError, GenerateOptions, Generation, Generator, JumpForward,
    TokenLogProbs,
};
use crate::{Constraint, LanguageModel};
use path::Path;
use runs::Runs;

/// How the end counts where the output is complete and nothing can follow.
///
/// Elsewhere it always counts by the probability of the end-of-sequence token that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForcedEnd {
    /// By what the model says of all end-of-sequence tokens together: the model itself might go on. The target is then the model's
    /// distribution over whole texts, and the model is asked once more behind the last token.
    #[default]
    Counted,
    /// As certain. The target is then that of a model that ends wherever nothing can follow, which suits models that never end of themselves.
    Free,
}

/// An output that was drawn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FaithfulOutput {
    /// The output. Its statistics tell the model's runs since the output before.
    pub generation: Generation,
    /// The logarithm of P(tokens, end), natural: the model's, before any mask.
    pub log_prob: f64,
    /// For each token, and last for the end, the logarithm of the probability that the mask let through.
    ///
    /// What it removed is one less the exponential. Where the end is free and forced, it has no entry.
    pub log_kept: Vec<f64>,
    /// The output's share of the sample. All of them add up to one.
    pub weight: f64,
}

impl FaithfulOutput {
    /// The logarithm of the probability with which masks alone would have drawn this output at temperature one.
    ///
    /// Where it is far above [`log_prob`](FaithfulOutput::log_prob), masks prefer the output for what they removed.
    #[must_use]
    pub fn masked_log_prob(&self) -> f64 {
        self.log_prob - self.log_kept.iter().sum::<f64>()
    }
}

/// A token or the end, as the model saw it.
#[derive(Debug, Clone, Copy)]
struct Score {
    /// The logarithm of the token's probability over all tokens.
    ln_p: f64,
    /// The logarithm of the probability of all allowed tokens.
    ln_kept: f64,
    /// Whether nothing else was allowed.
    forced: bool,
}

/// What all faithful samplers begin with: a checked sequence that stands where the output begins, to be copied for every output.
struct Template<'a, 'o, C> {
    sequence: Sequence<'o, C>,
    words: Words<'a>,
    /// The most tokens of an output.
    budget: usize,
    end: ForcedEnd,
}

impl<'a, 'o, C: Constraint + Clone> Template<'a, 'o, C> {
    fn new<M: LanguageModel>(
        generator: &Generator<'a, M>,
        prompt: &[TokenId],
        constraint: &C,
        options: &'o GenerateOptions,
        end: ForcedEnd,
    ) -> Result<Self, GenerateError> {
        let words = generator.words();
        let info = generator.model.info();
        let sequence = Sequence::start(prompt, constraint.clone(), options, 0, info, words)?;
        let refused = [
            (sequence.chain.is_greedy(), "a temperature of zero"),
            (
                !sequence.chain.is_plain(),
                "a sampler, or a temperature that is not one",
            ),
            (!options.stop.is_empty(), "a stop string"),
            (options.min_new_tokens > 0, "a least number of tokens"),
            (
                options.jump_forward == JumpForward::Canonical,
                "canonical forced text",
            ),
        ];
        if let Some(&(_, what)) = refused.iter().find(|(is_asked, _)| *is_asked) {
            return Err(FaithfulError::OtherTarget { what }.into());
        }
        let not_told = [
            (options.alternatives > 0, "alternatives of tokens"),
            (options.token_times, "times of tokens"),
        ];
        if let Some(&(_, what)) = not_told.iter().find(|(is_asked, _)| *is_asked) {
            return Err(FaithfulError::NotTold { what }.into());
        }
        Ok(Self {
            budget: sequence.limits().remaining,
            sequence,
            words,
            end,
        })
    }

    /// The path before the first token.
    fn path(&self) -> Path<C> {
        Path::new(self.sequence.constraint.clone(), self.budget, self.end)
    }

    /// The output of a path that has come to its end.
    fn output(
        &self,
        path: &Path<C>,
        finish: FinishReason,
        scores: &[Score],
        runs: &mut Runs<'_, impl LanguageModel>,
    ) -> Result<FaithfulOutput, GenerateError> {
        let mut sequence = self.sequence.clone();
        let end = match finish {
            FinishReason::Eos(id) => Some(id),
            _ => None,
        };
        let tokens = path.tokens().iter().copied().chain(end);
        for (id, score) in tokens.zip(scores) {
            let log_probs = TokenLogProbs {
                model: score.ln_p as f32,
                allowed: (score.ln_p - score.ln_kept) as f32,
            };
            let known = Scores {
                log_probs: self.sequence.options.log_probs.then_some(log_probs),
                alternatives: Vec::new(),
            };
            sequence.take_known(id, score.forced, known, self.words)?;
        }
        runs.report(&mut sequence.stats);
        let mut silent = |_: Delta<'_>| ControlFlow::Continue(());
        Ok(FaithfulOutput {
            generation: sequence.finish(finish, self.words, &mut silent)?,
            log_prob: scores.iter().map(|score| score.ln_p).sum(),
            log_kept: scores.iter().map(|score| score.ln_kept).collect(),
            weight: 1.0,
        })
    }
}

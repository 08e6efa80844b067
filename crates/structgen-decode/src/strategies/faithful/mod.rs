//! Samplers whose outputs follow the model's own distribution, conditioned on the constraint.
//!
//! Masks remove forbidden tokens and redistribute their probability among the allowed ones, at every step anew. The
//! result is a distribution over complete outputs, but not the model's: a prefix that is likely but has only unlikely
//! completions gets too much probability. Here the target is
//!
//! > P(tokens, end) / Z, for every complete output, and nothing for any other,
//!
//! where P is the model's distribution at temperature 1 over all of its tokens, and Z the sum of P over all complete
//! outputs of at most [`max_new_tokens`](crate::GenerateOptions::max_new_tokens) tokens. [`ForcedEnd`] determines how
//! the end counts. Forced tokens count by their probability like any other, so the model runs on them too, several at
//! once.

mod allowed;
mod attempts;
mod path;
mod smc;
mod visit;

pub use crate::request::strategy::{
    AttemptCounts, ExpectedGrammaticality, FaithfulError, FaithfulOptions, ForcedEnd, Resampling,
    SmcEstimates, SmcOptions,
};
pub(crate) use attempts::Attempts;
pub(crate) use smc::Smc;

use std::ops::ControlFlow;
use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use crate::demand::{Demand, Given, RowDemand, Text};
use crate::sequence::{Scores, Sequence};
use crate::task::Context;
use crate::{
    Constraint, Delta, FinishReason, GenerateError, GenerateOptions, Output,
    request::{GenerationStats, TokenLogProbs},
};
use path::Path;

/// The probabilities of a token or an end, under the model and the mask.
#[derive(Debug, Clone, Copy)]
struct Score {
    /// The logarithm of the token's probability over all tokens.
    ln_p: f64,
    /// The logarithm of the probability of all allowed tokens.
    ln_kept: f64,
    /// Whether nothing else was allowed.
    forced: bool,
}

/// The common start of all faithful samplers: a checked sequence before its first token, to be cloned for every output.
struct Template<C> {
    /// Its statistics count the runs since the last output.
    sequence: Sequence<C>,
    /// The maximum number of tokens per output.
    budget: usize,
    end: ForcedEnd,
    /// Whether the model's row contains the prompt except its last token, whose logits every output starts with.
    has_prompt: bool,
}

impl<C: Constraint + Clone> Template<C> {
    fn new(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        end: ForcedEnd,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let (info, codec) = (resources.target, resources.codec);
        let sequence = Sequence::start(prompt, constraint, Arc::clone(options), 0, info, codec)?;
        let refused = [
            (
                sequence.chain.is_guided(),
                "a constraint that sets temperatures",
            ),
            (!options.samplers.is_empty(), "samplers of the caller's own"),
            (sequence.chain.is_greedy(), "a temperature of zero"),
            (!sequence.chain.is_plain(), "a temperature that is not one"),
        ];
        if let Some(&(_, what)) = refused.iter().find(|(is_set, _)| *is_set) {
            return Err(FaithfulError::OtherTarget { what }.into());
        }
        Ok(Self {
            budget: sequence.limits().remaining,
            sequence,
            end,
            has_prompt: false,
        })
    }

    /// Returns prompt and prefill.
    fn prompt(&self) -> &[TokenId] {
        self.sequence.all()
    }

    /// Returns the path before the first token.
    fn path(&self) -> Path<C> {
        Path::new(self.sequence.constraint.clone(), self.budget, self.end)
    }

    /// Returns the tokens whose logits determine the next `n` positions of a path, after `keep` tokens of its row.
    fn row(&self, parent: usize, path: &Path<C>, n: usize) -> RowDemand {
        let prompt = self.prompt();
        // The logits of the prompt's last token are those of the first position.
        let first = prompt.len() - 1 + path.visited();
        let keep = if self.has_prompt { first } else { 0 };
        let text = prompt.iter().chain(path.tokens());
        RowDemand {
            parent,
            keep,
            tokens: text.skip(keep).take(first + n - keep).copied().collect(),
            positions: n,
        }
    }

    /// Returns the demand for these rows, after which the model has processed the prompt.
    fn demand(&mut self, rows: Vec<RowDemand>) -> Demand {
        self.has_prompt = true;
        Demand::rows(Text::Main, rows)
    }

    fn count_run(&mut self, given: &Given<'_>) {
        if let Some(row) = given.rows.first() {
            self.sequence.take_run(given, row);
        }
    }

    /// Returns the output of a path that has ended. Its text is passed on at once, as a whole.
    fn output(
        &mut self,
        number: usize,
        path: &Path<C>,
        finish: FinishReason,
        scores: &[Score],
        cx: &mut Context<'_>,
    ) -> Result<Output, GenerateError> {
        let mut sequence = self.sequence.clone();
        self.sequence.stats = GenerationStats {
            prompt_tokens: sequence.stats.prompt_tokens,
            ..GenerationStats::default()
        };
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
                ..Scores::default()
            };
            sequence.take_known(id, score.forced, known, cx.codec)?;
        }
        let mut silent = |_: Delta<'_>| ControlFlow::Continue(());
        let generation = sequence.finish(finish, cx.codec, &mut silent)?;
        let prefill = &self.sequence.options.prefill;
        // The output is complete: there is nothing left for the callback to stop.
        let _ = (cx.on_delta)(
            number,
            Delta {
                text: &generation.text,
                tokens: generation.tokens.len(),
                generated: &generation.tokens,
                output: &[prefill, path.tokens()].concat(),
            },
        );
        Ok(Output {
            log_prob: Some(scores.iter().map(|score| score.ln_p).sum()),
            log_kept: Some(scores.iter().map(|score| score.ln_kept).collect()),
            ..Output::from(generation)
        })
    }
}

//! ASAp and rejection: outputs are drawn in sequence from the prompt on, and each improves the bounds for the next.

use std::sync::Arc;

use structgen_vocab::TokenId;

use super::allowed::AllowedDraw;
use super::path::{Continuation, Path};
use super::visit::{Draws, Visit, Visitor};
use super::{AttemptCounts, FaithfulError, FaithfulOptions, Score, Template};
use crate::demand::{Demand, Given};
use crate::request::strategy::learned::{Beginning, ExpectedGrammaticality, Situation};
use crate::strategies::start::Resources;
use crate::task::{Context, Task, TaskSize};
use crate::{
    Constraint, FinishReason, GenerateError, GenerateOptions, Output, Outputs, request::Report,
};

/// Outputs that are drawn in sequence, each in one or several attempts. An attempt cuts the row back to the prompt.
pub(crate) struct Attempts<C: Constraint> {
    template: Template<C>,
    options: FaithfulOptions,
    learned: ExpectedGrammaticality,
    /// Whether the mass that masks remove ends an attempt.
    rejects: bool,
    draw: AllowedDraw,
    /// A buffer for the remembered tokens at a position.
    known: Vec<TokenId>,
    draws: Draws,
    attempt: Option<Attempt<C>>,
    /// Attempts at the current output.
    tried: u64,
    wanted: usize,
    found: Vec<Output>,
    counts: AttemptCounts,
    stopped: Option<Stopped>,
}

/// An attempt at an output.
struct Attempt<C: Constraint> {
    path: Path<C>,
    at: Beginning,
    /// The remembered prefixes that were visited.
    visited: Vec<u32>,
    scores: Vec<Score>,
    outcome: Option<Outcome>,
}

/// How an attempt ended.
enum Outcome {
    Complete(FinishReason),
    Rejected,
    Unfinished,
}

/// Why not all outputs were found.
enum Stopped {
    Attempts,
    TimeLimit,
    Cancelled,
}

impl<C: Constraint + Clone> Attempts<C> {
    /// Starts ASAp, or rejection.
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        faithful: FaithfulOptions,
        rejects: bool,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let template = Template::new(prompt, constraint, options, faithful.forced_end, resources)?;
        let learned = faithful.learned.clone().unwrap_or_default();
        learned.lock().enter(Situation {
            prompt: template.prompt().to_vec(),
            budget: template.budget,
            end: template.end,
        })?;
        let eos = template.sequence.constraint.eos();
        Ok(Self {
            draw: AllowedDraw::new(resources.target.logits_width, eos),
            draws: Draws::new(options.sampling.seed, 0),
            template,
            options: faithful,
            learned,
            rejects,
            known: Vec::new(),
            attempt: None,
            tried: 0,
            wanted: options.sequences,
            found: Vec::new(),
            counts: AttemptCounts::default(),
            stopped: None,
        })
    }

    fn begin(&mut self) -> Attempt<C> {
        self.tried += 1;
        self.counts.attempts += 1;
        Attempt {
            path: self.template.path(),
            at: self.learned.lock().empty(),
            visited: Vec::new(),
            scores: Vec::new(),
            outcome: None,
        }
    }

    /// Learns from an attempt, and takes its output if it has one.
    fn conclude(
        &mut self,
        attempt: Attempt<C>,
        outcome: Outcome,
        cx: &mut Context<'_>,
    ) -> Result<(), GenerateError> {
        self.learned.lock().update(&attempt.visited);
        match outcome {
            Outcome::Rejected => self.counts.rejected += 1,
            Outcome::Unfinished => self.counts.unfinished += 1,
            Outcome::Complete(finish) => {
                let Attempt { path, scores, .. } = attempt;
                let number = self.found.len();
                let output = self.template.output(number, &path, finish, &scores, cx)?;
                self.found.push(output);
                self.tried = 0;
                let seed = self.template.sequence.options.sampling.seed;
                self.draws = Draws::new(seed, self.found.len());
            }
        }
        Ok(())
    }

    /// Returns why no further attempt is started, or this one is not continued.
    fn limit(&self) -> Option<Stopped> {
        if self.template.sequence.is_late() {
            Some(Stopped::TimeLimit)
        } else if self.attempt.is_none() && self.tried == self.options.attempts {
            Some(Stopped::Attempts)
        } else {
            None
        }
    }
}

impl<C: Constraint> Attempt<C> {
    /// Ends the attempt if that takes no logits.
    fn end(&mut self, learned: &ExpectedGrammaticality) {
        self.outcome = match self.path.next() {
            Some(Continuation::FreeEnd) => {
                Some(Outcome::Complete(FinishReason::ConstraintFinished))
            }
            Some(Continuation::Nothing) => {
                learned.lock().set_rest(self.at.node, f64::NEG_INFINITY);
                self.visited.extend(self.at.node);
                Some(Outcome::Unfinished)
            }
            _ => None,
        };
    }

    /// Records the result of the next position.
    fn take(&mut self, visit: Visit) -> Result<(), GenerateError> {
        self.visited.extend(self.at.node);
        match visit {
            Visit::Rejected => self.outcome = Some(Outcome::Rejected),
            Visit::Nothing => self.outcome = Some(Outcome::Unfinished),
            Visit::Token { token, score, next } => {
                self.scores.push(score);
                match self.path.finish(token) {
                    Some(reason) => self.outcome = Some(Outcome::Complete(reason)),
                    None => {
                        self.path.go_on(token)?;
                        self.at = next;
                    }
                }
            }
        }
        Ok(())
    }
}

impl<C: Constraint + Clone> Task for Attempts<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        while self.stopped.is_none() && self.found.len() < self.wanted {
            self.stopped = self.limit();
            if self.stopped.is_some() {
                break;
            }
            let mut attempt = match self.attempt.take() {
                Some(attempt) => attempt,
                None => self.begin(),
            };
            let mut n = 0;
            if attempt.outcome.is_none() {
                n = attempt.path.look_ahead()?;
                attempt.end(&self.learned);
            }
            if let Some(outcome) = attempt.outcome.take() {
                self.conclude(attempt, outcome, cx)?;
                continue;
            }
            let row = self.template.row(0, &attempt.path, n);
            demands.push(self.template.demand(vec![row]));
            self.attempt = Some(attempt);
            break;
        }
        Ok(())
    }

    fn give(&mut self, _: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        self.template.count_run(given);
        let (Some(attempt), [output]) = (&mut self.attempt, given.rows) else {
            return Ok(());
        };
        let mut bounds = self.learned.lock();
        let mut visitor = Visitor {
            bounds: &mut bounds,
            draw: &mut self.draw,
            known: &mut self.known,
            rejects: self.rejects,
            eos: self.template.sequence.constraint.eos(),
            draws: &mut self.draws,
        };
        for position in 0..output.positions() {
            // An attempt that has ended needs no more.
            let Some(continuation) = { attempt.path.next() }
                .filter(|_| attempt.outcome.is_none())
                .cloned()
            else {
                break;
            };
            let (logits, step) = (output.logits(position), attempt.path.visited());
            let visit = visitor.visit(attempt.at, &continuation, logits, step)?;
            attempt.take(visit)?;
        }
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.template.sequence.most_tokens();
        TaskSize::new(1, tokens)
    }

    fn stop(&mut self, reason: FinishReason) {
        self.stopped = Some(match reason {
            FinishReason::TimeLimit => Stopped::TimeLimit,
            _ => Stopped::Cancelled,
        });
    }

    fn finish(self: Box<Self>, _: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        let Self {
            found,
            wanted,
            counts,
            stopped,
            options,
            ..
        } = *self;
        let stopped = stopped.filter(|_| found.len() < wanted);
        let weight = Some(1.0 / found.len() as f64);
        let outputs = found
            .into_iter()
            .map(|output| Ok(Output { weight, ..output }));
        let outputs = Outputs {
            outputs: outputs.collect(),
            report: Report::Attempts(counts),
        };
        let Some(stopped) = stopped else {
            return Ok(outputs);
        };
        let found = Box::new(outputs);
        let error = match stopped {
            Stopped::Attempts => FaithfulError::Attempts {
                attempts: options.attempts,
                wanted,
                found,
            },
            Stopped::TimeLimit => FaithfulError::TimeLimit { wanted, found },
            Stopped::Cancelled => FaithfulError::Cancelled { wanted, found },
        };
        Err(error.into())
    }
}

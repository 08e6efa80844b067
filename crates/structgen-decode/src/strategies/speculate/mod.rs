//! Speculative decoding: tokens are drafted cheaply, and the model verifies all of them in one run.

mod draft;
mod heads;
mod lookup;
mod stats;

pub use crate::request::strategy::{
    DraftLength, PromptLookup, SourceStats, Speculation, SpeculationStats,
};

use std::ops::ControlFlow;
use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use super::writing::Writing;
use crate::demand::{Demand, Given, Text};
use crate::request::{Outputs, Report};
use crate::sequence::Next;
use crate::task::{Context, Task, TaskSize};
use crate::{Constraint, Delta, FinishReason, GenerateError, GenerateOptions, model::RowOutput};
use draft::{Drafted, Drafter, Drafting};

/// The source of a drafted token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// No other token is allowed.
    Forced,
    /// Planned earlier by a source.
    Plan,
    ForcedText,
    Lookup,
    Heads,
    Model,
}

/// A sequence whose tokens are drafted.
pub(crate) struct Speculate<C: Constraint> {
    writing: Writing<C>,
    size: TaskSize,
    state: State,
    options: Speculation,
    drafter: Drafter,
    /// The number of tokens to draft next.
    length: usize,
    /// The outcome of a demand that was run in pieces.
    pieces: Pieces,
}

#[derive(Debug, PartialEq)]
enum State {
    /// A draft comes next, unless the output has ended.
    Idle,
    /// A draft is in progress, or complete.
    Drafting(Drafting),
    /// The model verifies the first `fed` drafted tokens, after the tokens it has not processed.
    Checking { unseen: usize, fed: usize },
}

/// The requested positions of a demand that took several runs.
#[derive(Default)]
struct Pieces {
    logits: Vec<f32>,
    hidden: Vec<f32>,
}

impl Pieces {
    fn push(&mut self, output: &RowOutput<'_>) {
        for position in 0..output.positions() {
            self.logits.extend_from_slice(output.logits(position));
            self.hidden
                .extend_from_slice(output.hidden(position).unwrap_or_default());
        }
    }

    fn output(&self, like: &RowOutput<'_>) -> RowOutput<'_> {
        let width = like.last().len();
        let output = RowOutput::new(&self.logits, width);
        match self.hidden.len() / output.positions() {
            0 => output,
            width => output.with_hidden(&self.hidden, width),
        }
    }
}

impl<C: Constraint> Speculate<C> {
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        speculation: Speculation,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let (info, codec) = (resources.target, resources.codec);
        if speculation.model && resources.draft.is_none() {
            let strategy = "speculate";
            return Err(GenerateError::NoDraft { strategy });
        }
        if speculation.forced_text && codec.encoder.is_none() {
            return Err(GenerateError::NoEncoder);
        }
        if speculation.heads {
            heads::check(resources.heads_width, info)?;
        }
        let seed = options.sampling.seed;
        let writing = Writing::start(prompt, constraint, options, number, resources)?;
        let draft = resources.draft.filter(|_| speculation.model);
        Ok(Self {
            size: writing.size().with_draft(draft),
            writing,
            state: State::Idle,
            options: speculation,
            drafter: Drafter::new(speculation, seed, number as u64),
            length: speculation.length.first(),
            pieces: Pieces::default(),
        })
    }

    /// Returns what is needed to continue: the draft model's prediction, or the target's verification of the whole
    /// draft.
    fn demand(&mut self, drafting: Drafting) -> Demand {
        self.state = State::Drafting(drafting);
        if drafting == Drafting::NeedsModel {
            return self.drafter.demand();
        }
        let sequence = &self.writing.sequence;
        let eos = sequence.limits().eos;
        let drafts = self.drafter.drafts.iter();
        // The logits after an end are not needed.
        let fed = drafts
            .filter(|drafted| !eos.contains(&drafted.token))
            .count();
        let unseen = sequence.unseen(false);
        let seen = sequence.seen;
        let mut tokens = sequence.all()[seen..].to_vec();
        let drafted = self.drafter.drafts[..fed].iter();
        tokens.extend(drafted.map(|drafted| drafted.token));
        let positions = sequence.positions(unseen) + fed;
        self.state = State::Checking { unseen, fed };
        self.pieces = Pieces::default();
        Demand::row(Text::Main, seen, tokens, positions).with_hidden(self.options.heads)
    }

    /// Accepts the tokens of the draft that are kept, and one more token.
    fn check(
        &mut self,
        output: &RowOutput<'_>,
        fed: usize,
        cx: &mut Context<'_>,
    ) -> Result<(), GenerateError> {
        let (codec, number) = (cx.codec, self.writing.number());
        let on_delta = &mut *cx.on_delta;
        let on_delta: &mut dyn FnMut(Delta<'_>) -> ControlFlow<()> =
            &mut |delta| on_delta(number, delta);
        let drafts = std::mem::take(&mut self.drafter.drafts);
        let mut mask = self.writing.mask.take();
        let sequence = &mut self.writing.sequence;
        let stats = &mut self.drafter.stats;
        stats.target_runs += 1;
        let mut at = 0;
        let mut tested = 0;
        let next = loop {
            let drafted: Option<&Drafted> = drafts.get(at);
            let forced = match at {
                0 => None,
                _ => {
                    let ready = sequence.ready_mask()?;
                    let forced = sequence.forced_token(ready.as_deref(), codec)?;
                    mask = ready.map(Ok);
                    forced
                }
            };
            let (token, ended) = match forced {
                Some(token) => (token, sequence.take_forced(token, codec, on_delta)?),
                None => {
                    let logits = output.logits(output.positions() - 1 - fed + at);
                    let draw = drafted.and_then(|drafted| drafted.draw.as_ref());
                    let chosen = sequence.pick(logits, mask.take(), draw, cx.step)?;
                    let token = chosen.accepted.token;
                    (token, sequence.take_chosen(chosen, codec, on_delta)?)
                }
            };
            // A forced token's own logits are also those of this run.
            sequence.see(0, output, fed - at);
            let kept = drafted.is_some_and(|drafted| drafted.token == token);
            if let Some(drafted) = drafted
                && forced.is_none()
            {
                stats.count(drafted.source, tested, kept);
                tested += 1;
            }
            if let Some(reason) = ended {
                break Next::Ended(reason);
            }
            if !kept {
                break sequence.advance(codec, on_delta)?;
            }
            sequence.seen += 1;
            at += 1;
            if let Some(reason) = sequence.ended() {
                break Next::Ended(reason);
            }
        };
        if let (Next::Logits(_), Some(hidden)) = (
            &next,
            output.hidden(output.positions() - 1 - fed + at.min(fed)),
        ) {
            // After it, the token was chosen that is the last except for forced ones.
            self.drafter.state.set(hidden, self.writing.sequence.seen);
        }
        if !drafts.is_empty() {
            let kept_whole = at == drafts.len();
            self.length = self.options.length.after(self.length, kept_whole);
        }
        self.state = State::Idle;
        self.writing.set(next);
        Ok(())
    }
}

impl<C: Constraint> Task for Speculate<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        self.writing.begin(cx)?;
        let context_length = cx.target.context_length;
        let has_ended = self.writing.has_ended();
        let sequence = &mut self.writing.sequence;
        if has_ended {
            demands.extend(sequence.demand(true, context_length));
            return Ok(());
        }
        let drafting = match self.state {
            State::Idle => {
                if sequence.crop(context_length) {
                    self.drafter.state.forget();
                }
                let room = context_length - sequence.all().len();
                // The target's own choice after the draft takes the last remaining token.
                let remaining = sequence.limits().remaining - 1;
                let most = self.length.min(remaining).min(room);
                self.drafter.begin(sequence, most, cx)?
            }
            State::Drafting(drafting) => drafting,
            State::Checking { .. } => return Ok(()),
        };
        demands.push(self.demand(drafting));
        Ok(())
    }

    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let output = &given.rows[0];
        if given.text == Text::Draft {
            self.drafter.count_run(given.times.model);
            if given.is_done && matches!(self.state, State::Drafting(_)) {
                let logits = Some(output.last());
                let drafting = self.drafter.go_on(&mut self.writing.sequence, logits, cx)?;
                self.state = State::Drafting(drafting);
            }
            return Ok(());
        }
        let sequence = &mut self.writing.sequence;
        let State::Checking { unseen, fed } = self.state else {
            sequence.take_run(given, output);
            return Ok(());
        };
        sequence.reuse(given.reused);
        let unseen = unseen - given.reused;
        self.state = State::Checking { unseen, fed };
        let mut pieces = std::mem::take(&mut self.pieces);
        if !given.is_done || !pieces.logits.is_empty() {
            pieces.push(output);
        }
        if !given.is_done {
            self.pieces = pieces;
            sequence.count_run(&given.times);
            return Ok(());
        }
        let output = match pieces.logits.is_empty() {
            true => *output,
            false => pieces.output(output),
        };
        sequence.see(unseen, &output, fed);
        sequence.count_run(&given.times);
        self.check(&output, fed, cx)
    }

    fn size(&self) -> TaskSize {
        self.size
    }

    fn stop(&mut self, reason: FinishReason) {
        self.writing.stop(reason);
        self.state = State::Idle;
    }

    fn finish(mut self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        self.drafter.end(&mut self.writing.sequence)?;
        let mut stats = self.drafter.stats;
        stats.tokens += self.writing.sequence.len() as u64;
        Ok(Outputs {
            report: Report::Speculation(stats),
            ..self.writing.finish(cx)
        })
    }
}

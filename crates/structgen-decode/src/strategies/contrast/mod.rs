//! Two opinions about every token: an expert and an amateur, or one model after two prompts.

mod error;
mod options;

pub use error::ContrastError;
pub(super) use error::check;
pub use options::{ClassifierFreeGuidance, ContrastiveDecoding};

use std::sync::Arc;

use structgen_vocab::TokenId;

use crate::request::{Output, Outputs, Resources};
use crate::samplers::{ContrastRule, Opinions};
use crate::sequence::{Next, Sequence, SomeMask};
use crate::task::{Context, Demand, Given, Task, TaskSize, Text};
use crate::{Constraint, FinishReason, GenerateError, GenerateOptions, ModelError};

/// A sequence whose tokens are chosen by two opinions.
pub(crate) struct Contrast<C: Constraint> {
    /// Which output of its request it is.
    number: usize,
    sequence: Sequence<C>,
    state: State,
    /// What the next token is chosen by, once it is there.
    mask: SomeMask<C>,
    other: OtherText,
    /// The logits after both texts.
    opinions: Arc<Opinions>,
}

#[derive(Debug, PartialEq)]
enum State {
    /// Nothing was delivered or forced yet.
    New,
    /// The next token is chosen by the logits after both texts, which are not demanded yet.
    Choosing,
    /// Both are demanded.
    Waiting,
    /// The output has ended; log probabilities of its last tokens may be missing.
    Ended(FinishReason),
}

/// The text that the other opinion is about: another prompt and the output, or the same text.
struct OtherText {
    text: Text,
    prompt: Vec<TokenId>,
    /// The number of its tokens that the model has seen.
    seen: usize,
}

impl OtherText {
    fn new(text: Text, prompt: Vec<TokenId>) -> Self {
        let seen = 0;
        Self { text, prompt, seen }
    }

    /// A run of what follows the tokens that were seen, where the model can hold it.
    fn demand(&self, output: &[TokenId], cx: &Context<'_>) -> Result<Demand, GenerateError> {
        let needed = self.prompt.len() + output.len();
        let info = match self.text {
            Text::Draft => cx.draft.unwrap_or(cx.target),
            Text::Main | Text::OtherPrompt => cx.target,
        };
        let context_length = info.context_length;
        if needed > context_length {
            return Err(match self.text {
                Text::Draft => ContrastError::AmateurContext { tokens: needed }.into(),
                Text::Main | Text::OtherPrompt => {
                    GenerateError::Model(ModelError::ContextOverflow {
                        needed,
                        context_length,
                    })
                }
            });
        }
        let tokens = self.prompt.iter().chain(output).skip(self.seen);
        let tokens = tokens.copied().collect();
        Ok(Demand::row(self.text, self.seen, tokens, 1))
    }
}

impl<C: Constraint> Contrast<C> {
    /// A sequence with [`ClassifierFreeGuidance`].
    pub(crate) fn guided(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        guidance: &ClassifierFreeGuidance,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let scale = guidance.scale;
        check("scale", scale, scale.is_finite(), "finite")?;
        // The last token of the prompt, as transformers has it.
        let other = match guidance.prompt.is_empty() {
            true => prompt.last().copied().into_iter().collect(),
            false => guidance.prompt.clone(),
        };
        let other = OtherText::new(Text::OtherPrompt, other);
        let rule = ContrastRule::Guidance { scale };
        Self::start(prompt, constraint, options, other, rule, number, resources)
    }

    /// A sequence by [`ContrastiveDecoding`].
    pub(crate) fn contrastive(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        contrastive: ContrastiveDecoding,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let ContrastiveDecoding { alpha, beta } = contrastive;
        let is_share = (0.0..=1.0).contains(&alpha);
        check("alpha", alpha, is_share, "from 0 to 1")?;
        let is_weight = beta.is_finite() && beta >= 0.0;
        check("beta", beta, is_weight, "0 or more")?;
        if resources.draft.is_none() {
            let strategy = "contrastive";
            return Err(GenerateError::NoDraft { strategy });
        }
        let other = OtherText::new(Text::Draft, prompt.to_vec());
        let rule = ContrastRule::Contrastive { alpha, beta };
        Self::start(prompt, constraint, options, other, rule, number, resources)
    }

    fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        other: OtherText,
        rule: ContrastRule,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let (info, codec) = (resources.target, resources.codec);
        let options = Arc::clone(options);
        let stream = number as u64;
        let mut sequence = Sequence::start(prompt, constraint, options, stream, info, codec)?;
        sequence.chain.set_contrast(rule);
        Ok(Self {
            number,
            sequence,
            state: State::New,
            mask: None,
            other,
            opinions: Arc::default(),
        })
    }

    fn set(&mut self, next: Next<C::Mask>) {
        match next {
            Next::Ended(reason) => self.state = State::Ended(reason),
            Next::Logits(mask) => {
                self.state = State::Choosing;
                self.mask = mask.map(Ok);
            }
        }
    }

    /// Chooses a token by both opinions.
    fn choose(&mut self, cx: &mut Context<'_>) -> Result<Next<C::Mask>, GenerateError> {
        let number = self.number;
        Arc::make_mut(&mut self.opinions).set_totals();
        self.sequence.chain.set_opinions(Arc::clone(&self.opinions));
        let next = self.sequence.choose(
            &self.opinions.own,
            self.mask.take(),
            cx.step,
            cx.codec,
            &mut |delta| (cx.on_delta)(number, delta),
        );
        // The next ones are written where these are.
        self.sequence.chain.set_opinions(Arc::default());
        next
    }
}

impl<C: Constraint> Task for Contrast<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        let number = self.number;
        if self.state == State::New {
            let next = self
                .sequence
                .begin(cx.codec, &mut |delta| (cx.on_delta)(number, delta))?;
            self.set(next);
        } else if self.state == State::Waiting {
            let next = self.choose(cx)?;
            self.set(next);
        }
        let has_ended = matches!(self.state, State::Ended(_));
        demands.extend(self.sequence.demand(has_ended, cx.target.context_length));
        if !has_ended {
            let output = self.sequence.output();
            demands.push(self.other.demand(output, cx)?);
            self.state = State::Waiting;
        }
        Ok(())
    }

    fn give(&mut self, _: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let output = &given.rows[0];
        match given.text {
            Text::Main => self.sequence.take_run(given, output),
            Text::OtherPrompt | Text::Draft => self.other.seen += given.reused + given.tokens,
        }
        if given.is_done && self.state == State::Waiting {
            let opinions = Arc::make_mut(&mut self.opinions);
            let logits = match given.text {
                Text::Main => &mut opinions.own,
                Text::OtherPrompt | Text::Draft => &mut opinions.other,
            };
            logits.clear();
            logits.extend_from_slice(output.last());
        }
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.sequence.most_tokens();
        match self.other.text {
            Text::OtherPrompt => {
                let other = tokens - self.sequence.prompt_len() + self.other.prompt.len();
                let (rows, tokens) = (2, tokens.max(other));
                TaskSize { rows, tokens }
            }
            Text::Main | Text::Draft => TaskSize { rows: 1, tokens },
        }
    }

    fn can_prepare(&self) -> bool {
        self.state == State::Waiting && self.mask.is_none()
    }

    fn prepare(&mut self) {
        self.mask = Some(self.sequence.constraint.mask());
    }

    fn stop(&mut self, reason: FinishReason) {
        if !matches!(self.state, State::Ended(_)) {
            self.state = State::Ended(reason);
        }
    }

    fn finish(self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        let number = self.number;
        let reason = match self.state {
            State::Ended(reason) => reason,
            State::New | State::Choosing | State::Waiting => FinishReason::Cancelled,
        };
        let output = self
            .sequence
            .finish(reason, cx.codec, &mut |delta| (cx.on_delta)(number, delta));
        Ok(Outputs::new(vec![output.map(Output::from)]))
    }
}

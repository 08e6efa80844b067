//! Contrasts two opinions about every token: of an expert and an amateur, or of one model after two prompts.

pub use crate::request::strategy::{ClassifierFreeGuidance, ContrastError, ContrastiveDecoding};

use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use super::writing::Writing;
use crate::demand::{Demand, Given, Text};
use crate::request::Outputs;
use crate::request::strategy::check_ranges;
use crate::samplers::{ContrastRule, Opinions};
use crate::task::{Context, Task, TaskSize};
use crate::{Constraint, FinishReason, GenerateError, GenerateOptions, ModelError};

/// A sequence whose tokens are chosen by two opinions.
pub(crate) struct Contrast<C: Constraint> {
    writing: Writing<C>,
    size: TaskSize,
    /// Whether the logits after both texts are demanded, for choosing the next token.
    is_waiting: bool,
    other: OtherText,
    /// The logits after both texts.
    opinions: Arc<Opinions>,
}

/// The text for the other opinion: another prompt and the output, or the same text.
struct OtherText {
    text: Text,
    prompt: Vec<TokenId>,
    /// The number of its tokens that the model has processed.
    seen: usize,
}

impl OtherText {
    fn new(text: Text, prompt: Vec<TokenId>) -> Self {
        let seen = 0;
        Self { text, prompt, seen }
    }

    /// Returns a demand for the tokens not processed yet, or an error if they exceed the context.
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
    /// Creates a sequence with [`ClassifierFreeGuidance`].
    pub(crate) fn guided(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        guidance: &ClassifierFreeGuidance,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let scale = guidance.scale;
        check_ranges("guidance", guidance).map_err(ContrastError::from)?;
        // The last token of the prompt, as in transformers.
        let other = match guidance.prompt.is_empty() {
            true => prompt.last().copied().into_iter().collect(),
            false => guidance.prompt.clone(),
        };
        let other = OtherText::new(Text::OtherPrompt, other);
        let rule = ContrastRule::Guidance { scale };
        Self::start(prompt, constraint, options, other, rule, number, resources)
    }

    /// Creates a sequence with [`ContrastiveDecoding`].
    pub(crate) fn contrastive(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        contrastive: ContrastiveDecoding,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let ContrastiveDecoding { alpha, beta } = contrastive;
        check_ranges("contrastive", &contrastive).map_err(ContrastError::from)?;
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
        let mut writing = Writing::start(prompt, constraint, options, number, resources)?;
        writing.sequence.chain.set_contrast(rule);
        let size = writing.size();
        let size = match other.text {
            Text::OtherPrompt => {
                let prompt = writing.sequence.prompt_len();
                let tokens = size.tokens - prompt + other.prompt.len();
                TaskSize::new(2, size.tokens.max(tokens))
            }
            Text::Main | Text::Draft => size.with_draft(resources.draft),
        };
        Ok(Self {
            writing,
            size,
            is_waiting: false,
            other,
            opinions: Arc::default(),
        })
    }

    /// Chooses a token by both opinions.
    fn choose(&mut self, cx: &mut Context<'_>) -> Result<(), GenerateError> {
        Arc::make_mut(&mut self.opinions).set_totals();
        let opinions = Arc::clone(&self.opinions);
        self.writing.sequence.chain.set_opinions(opinions);
        let chosen = self.writing.choose(&self.opinions.own, cx);
        // Release these, so that the next ones reuse their buffers.
        self.writing.sequence.chain.set_opinions(Arc::default());
        chosen
    }
}

impl<C: Constraint> Task for Contrast<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        match std::mem::take(&mut self.is_waiting) && !self.writing.has_ended() {
            true => self.choose(cx)?,
            false => self.writing.begin(cx)?,
        }
        let has_ended = self.writing.has_ended();
        let sequence = &mut self.writing.sequence;
        demands.extend(sequence.demand(has_ended, cx.target.context_length));
        if !has_ended {
            demands.push(self.other.demand(sequence.output(), cx)?);
            self.is_waiting = true;
        }
        Ok(())
    }

    fn give(&mut self, _: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let output = &given.rows[0];
        match given.text {
            Text::Main => self.writing.sequence.take_run(given, output),
            Text::OtherPrompt | Text::Draft => self.other.seen += given.reused + given.tokens,
        }
        if given.is_done && self.is_waiting {
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
        self.size
    }

    fn can_prepare(&self) -> bool {
        self.is_waiting && self.writing.needs_mask()
    }

    fn prepare(&mut self) {
        self.writing.compute_mask();
    }

    fn stop(&mut self, reason: FinishReason) {
        self.writing.stop(reason);
    }

    fn finish(self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        Ok(self.writing.finish(cx))
    }
}

//! The seam between strategies and models: a request under way that never sees a model.
//!
//! A [`Task`] demands tokens to be run on its rows ([`Demand`]) and is given their logits ([`Given`]). Who runs
//! them, together with whose rows, and in how many pieces, is the scheduler's business; so every strategy batches,
//! streams, can be cancelled and shares prompts without knowing of it.

use std::ops::ControlFlow;
use std::time::Duration;

use structgen_vocab::TokenId;

use crate::sequence::{Codec, Step};
use crate::{
    Delta, FinishReason, GenerateError, ModelInfo, Outputs,
    model::{DraftHeads, RowOutput},
};

/// A request under way: a state machine that owns its constraint, samplers and text, and no model.
///
/// The scheduler calls [`advance`](Task::advance); while that demands something, it runs the model and
/// [gives](Task::give) the task what came of it, demand by demand, and then lets it advance again. A task that demands
/// nothing has ended, and is [finished](Task::finish).
pub(crate) trait Task: Send {
    /// Goes on as far as the task can without a model, and adds what it then needs. Every demand before has been met.
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError>;

    /// Takes the outcome of a run of some of the tokens of one demand: all of them, or a piece of a long one.
    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError>;

    /// The most rows and tokens that the task may have a model hold at once.
    fn size(&self) -> TaskSize;

    /// Whether there is work, such as a mask, that could be done while the model runs.
    fn can_prepare(&self) -> bool {
        false
    }

    /// Does the work that needs no logits, beside the run of the model.
    fn prepare(&mut self) {}

    /// Ends the task at its next advance, with what there is by then.
    fn stop(&mut self, reason: FinishReason);

    /// The outputs of a task that demands nothing more.
    fn finish(self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError>;
}

/// What a task may take of a model's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskSize {
    /// The most rows at a time.
    pub(crate) rows: usize,
    /// The most tokens of a row.
    pub(crate) tokens: usize,
}

impl TaskSize {
    /// The most tokens of all rows.
    pub(crate) fn bound(self) -> usize {
        self.rows.saturating_mul(self.tokens)
    }
}

/// What a task works with besides its own state.
pub(crate) struct Context<'a> {
    pub(crate) codec: &'a Codec,
    pub(crate) target: &'a ModelInfo,
    pub(crate) draft: Option<&'a ModelInfo>,
    /// Buffers for choosing a token.
    pub(crate) step: &'a mut Step,
    pub(crate) heads: Option<&'a mut (dyn DraftHeads + 'static)>,
    /// Receives the text as it comes, with the number of the output; it may end that output.
    pub(crate) on_delta: &'a mut dyn FnMut(usize, Delta<'_>) -> ControlFlow<()>,
}

/// One of the texts that a task has a model look at. Each has rows of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Text {
    /// Prompt and output, read by the target model.
    Main,
    /// Another prompt and the output, read by the target model.
    OtherPrompt,
    /// Prompt and output, read by the draft model.
    Draft,
}

impl Text {
    /// All texts, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Main, Self::OtherPrompt, Self::Draft];

    /// Whether the draft model reads it.
    pub(crate) fn is_drafted(self) -> bool {
        self == Self::Draft
    }
}

/// Tokens to run. The rows of a demand take the place of the text's rows of the demand before.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) text: Text,
    /// All take the same number of tokens.
    pub(crate) rows: Vec<RowDemand>,
    /// Whether the hidden states of the positions are wanted as well.
    pub(crate) hidden: bool,
}

/// What one row is to hold after a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowDemand {
    /// The row of the text's last demand that this one continues; of the first demand, zero.
    pub(crate) parent: usize,
    /// The number of the parent's tokens that it begins with. At zero it is a new text, and what is known of it need
    /// not be run.
    pub(crate) keep: usize,
    /// The tokens after these, at least one.
    pub(crate) tokens: Vec<TokenId>,
    /// The number of last positions whose logits are wanted.
    pub(crate) positions: usize,
}

impl Demand {
    /// A demand of one row.
    pub(crate) fn row(text: Text, keep: usize, tokens: Vec<TokenId>, positions: usize) -> Self {
        let parent = 0;
        let row = RowDemand {
            parent,
            keep,
            tokens,
            positions,
        };
        Self::rows(text, vec![row])
    }

    /// A demand of several rows.
    pub(crate) fn rows(text: Text, rows: Vec<RowDemand>) -> Self {
        Self {
            text,
            rows,
            hidden: false,
        }
    }

    /// The same demand, which asks for hidden states where `hidden` is set.
    pub(crate) fn with_hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }
}

/// The outcome of a run for one demand.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    pub(crate) text: Text,
    /// The number of the demand's first tokens that were known, and so not run: told once, with the first run.
    pub(crate) reused: usize,
    /// The number of tokens of each row that were run now.
    pub(crate) tokens: usize,
    /// Whether these were the last of the demand.
    pub(crate) is_done: bool,
    /// For each row, those of the wanted positions that are among these tokens.
    pub(crate) rows: &'a [RowOutput<'a>],
    pub(crate) times: RunTimes,
}

/// What a run took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunTimes {
    /// Time in [`LanguageModel::run`](crate::LanguageModel::run).
    pub(crate) model: Duration,
    /// The part of it in the backend.
    pub(crate) backend: Duration,
    /// Time in which the model had run and a mask was not ready.
    pub(crate) masks: Duration,
}

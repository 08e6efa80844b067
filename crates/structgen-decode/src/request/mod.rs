//! Requests and outputs, as plain data.

pub(crate) mod choice;
mod error;
mod options;
mod outputs;
pub mod params;
mod result;
pub(crate) mod strategy;

pub use error::{GenerateError, Incomplete};
pub(crate) use options::ids;
pub use options::{ContextOverflow, GenerateOptions, JumpForward, StopText};
pub use outputs::{Delta, Output, Outputs, Report};
pub use params::Params;
pub use result::{
    Alternative, FinishReason, GeneratedToken, Generation, GenerationStats, MaskReport,
    TokenLogProbs,
};
pub use strategy::Strategy;

use structgen_vocab::TokenId;

/// A prompt, a constraint on the output, and how to generate it.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let request = Request::new([TokenId(0)], free).with_options(options);
/// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
/// let output = scheduler.run(request)?.single()?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Request<C> {
    /// The tokens before the output.
    pub prompt: Vec<TokenId>,
    /// The constraint, in its state at the start of the output.
    pub constraint: C,
    /// How tokens are chosen and when outputs end.
    pub options: GenerateOptions,
    /// How outputs are searched for.
    pub strategy: Strategy,
    /// Requests with a higher priority are admitted first; among equals, those of each client in turn, the earlier
    /// first.
    pub priority: i32,
    /// Whose request it is. Clients have equal shares of an [`Engine`](crate::Engine): one with many waiting requests
    /// does not delay another with few.
    pub client: u64,
    /// Whether a [`Run`](crate::Run) reports the text as it is generated.
    pub events: bool,
}

impl<C> Request<C> {
    /// Creates a request for one greedy output.
    pub fn new(prompt: impl Into<Vec<TokenId>>, constraint: C) -> Self {
        Self {
            prompt: prompt.into(),
            constraint,
            options: GenerateOptions::default(),
            strategy: Strategy::default(),
            priority: 0,
            client: 0,
            events: false,
        }
    }

    /// Replaces the constraint.
    #[must_use]
    pub fn with_constraint<D>(self, constraint: D) -> Request<D> {
        Request {
            prompt: self.prompt,
            constraint,
            options: self.options,
            strategy: self.strategy,
            priority: self.priority,
            client: self.client,
            events: self.events,
        }
    }

    /// Sets how tokens are chosen and when outputs end.
    #[must_use]
    pub fn with_options(mut self, options: GenerateOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets how outputs are searched for.
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// Asks for [events](crate::Event) while the request runs.
    #[must_use]
    pub fn with_events(mut self) -> Self {
        self.events = true;
        self
    }

    /// Sets the priority over other requests.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets whose request it is.
    #[must_use]
    pub fn with_client(mut self, client: u64) -> Self {
        self.client = client;
        self
    }
}

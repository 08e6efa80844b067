//! Options: what the model may, must and must not do.

use std::sync::Arc;

use structgen_frontend::json_schema::SchemaOptions;
use structgen_grammar::Grammar;

/// Which tools may or must be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides: text, or text and calls.
    #[default]
    Auto,
    /// At least one call, and no text.
    Required,
    /// Only text, which never contains a call.
    None,
    /// One call of this tool, and no text.
    Named(String),
    /// Only some of the tools.
    Subset {
        /// The tools.
        names: Vec<String>,
        /// Whether a call of one of them is required.
        required: bool,
    },
}

/// Whether a model reasons before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// There may be reasoning, if the format has it.
    #[default]
    Allowed,
    /// There is no reasoning.
    Off,
    /// There must be reasoning.
    Required,
    /// The prompt has opened the reasoning, so the output starts within it. Some chat templates end in `<think>`.
    Open,
}

/// The content of an output without calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// Any text.
    #[default]
    Text,
    /// A JSON value that is valid under the schema with this text, in which every number is exact, as written. There is
    /// then no text before calls.
    Json(String),
    /// A text of this grammar. There are then no calls, unless the format encloses text in markers.
    Grammar(Arc<Grammar>),
}

/// What the model may, must and must not do.
///
/// ```
/// use structgen_tools::{ToolChoice, ToolOptions};
///
/// let options = ToolOptions::new().with_choice(ToolChoice::Required).with_max_calls(1);
/// assert_eq!(options.max_calls, Some(1));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOptions {
    /// Which tools may or must be called.
    pub choice: ToolChoice,
    /// Whether the model reasons.
    pub reasoning: Reasoning,
    /// The maximum number of tokens of reasoning, without its markers; if `None`, as many as the output may have.
    pub reasoning_tokens: Option<u32>,
    /// The content of an output without calls.
    pub content: Content,
    /// The maximum number of calls in one output, at least one; if `None`, as many as the format allows.
    pub max_calls: Option<u32>,
    /// Whether text may precede the calls; if `None`, it may unless a call is required.
    pub text_before_calls: Option<bool>,
    /// How the schemas are compiled.
    pub schema: SchemaOptions,
}

impl ToolOptions {
    /// The defaults: the model decides, may reason if the format allows it, and may write any number of calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets which tools may or must be called.
    #[must_use]
    pub fn with_choice(mut self, choice: ToolChoice) -> Self {
        self.choice = choice;
        self
    }

    /// Sets whether the model reasons.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Sets the maximum number of tokens of reasoning. What has begun is completed: no character is cut.
    ///
    /// ```
    /// use structgen_tools::{ToolFormat, ToolGrammar, ToolOptions};
    ///
    /// let options = ToolOptions::new().with_reasoning_tokens(200);
    /// let format = ToolFormat::preset("qwen").expect("it is a preset");
    /// let grammar = ToolGrammar::new(format, Vec::new(), &options)?;
    /// assert!(grammar.grammar().to_string().contains("%tokens{0,200}("));
    /// # Ok::<(), structgen_tools::ToolError>(())
    /// ```
    #[must_use]
    pub fn with_reasoning_tokens(mut self, most: u32) -> Self {
        self.reasoning_tokens = Some(most);
        self
    }

    /// Sets the content of an output without calls.
    #[must_use]
    pub fn with_content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// Sets the maximum number of calls in one output.
    #[must_use]
    pub fn with_max_calls(mut self, max: u32) -> Self {
        self.max_calls = Some(max.max(1));
        self
    }

    /// Sets whether text may precede the calls.
    #[must_use]
    pub fn with_text_before_calls(mut self, text: bool) -> Self {
        self.text_before_calls = Some(text);
        self
    }

    /// Sets how the schemas are compiled.
    #[must_use]
    pub fn with_schema_options(mut self, options: SchemaOptions) -> Self {
        self.schema = options;
        self
    }

    /// Whether a call is required.
    pub(crate) fn demands_call(&self) -> bool {
        match &self.choice {
            ToolChoice::Required | ToolChoice::Named(_) => true,
            ToolChoice::Subset { required, .. } => *required,
            ToolChoice::Auto | ToolChoice::None => false,
        }
    }
}

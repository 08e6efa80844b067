//! What the model may, must and must not do.

use std::sync::Arc;

use serde_json::Value;
use structgen_frontend::json_schema::SchemaOptions;
use structgen_grammar::Grammar;

/// Which tools may or must be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides: text, or text and calls.
    #[default]
    Auto,
    /// One call or more, and no text.
    Required,
    /// Text only, which never holds a call.
    None,
    /// One call of this tool, and no text.
    Named(String),
    /// Only these tools are there.
    Subset {
        /// The tools.
        names: Vec<String>,
        /// Whether one of them has to be called.
        required: bool,
    },
}

/// What becomes of the reasoning that a model writes before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// There may be some, if the format knows any.
    #[default]
    Allowed,
    /// There is none.
    Off,
    /// There must be some.
    Required,
    /// The prompt has opened it: the output starts within it. Some chat templates end in `<think>`.
    Open,
}

/// What the output is where it is no call.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// Any text.
    #[default]
    Text,
    /// A JSON value that fits this schema. There is no text before calls then.
    Json(Value),
    /// A text of this grammar. There are no calls then, unless the format has markers around texts.
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
    /// What becomes of reasoning.
    pub reasoning: Reasoning,
    /// The most tokens of reasoning, its markers not counted; without it, as many as the output may have.
    pub reasoning_tokens: Option<u32>,
    /// What the output is where it is no call.
    pub content: Content,
    /// The most calls in one output; without it, as many as the format knows. At least one.
    pub max_calls: Option<u32>,
    /// Whether text may come before the calls; without it, it may where calls are not demanded.
    pub text_before_calls: Option<bool>,
    /// How the schemas are compiled.
    pub schema: SchemaOptions,
}

impl ToolOptions {
    /// The defaults: the model decides, reasons if it can, and writes as many calls as it likes.
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

    /// Sets what becomes of reasoning.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Sets the most tokens of reasoning. What has begun is completed: a character is not cut.
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

    /// Sets what the output is where it is no call.
    #[must_use]
    pub fn with_content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// Sets the most calls in one output.
    #[must_use]
    pub fn with_max_calls(mut self, max: u32) -> Self {
        self.max_calls = Some(max.max(1));
        self
    }

    /// Sets whether text may come before the calls.
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

    /// Whether there has to be a call.
    pub(crate) fn demands_call(&self) -> bool {
        match &self.choice {
            ToolChoice::Required | ToolChoice::Named(_) => true,
            ToolChoice::Subset { required, .. } => *required,
            ToolChoice::Auto | ToolChoice::None => false,
        }
    }
}

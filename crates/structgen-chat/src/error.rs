/// Why there is no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// A file beside the template is not JSON, or its template is of a wrong kind.
    #[error("{file}: {problem}")]
    Config {
        /// The file's name.
        file: &'static str,
        /// What is wrong, with line and column where it is not JSON.
        problem: String,
    },
    /// The model comes without a chat template.
    #[error(
        "the model has no chat template: there is neither a chat_template.jinja nor a chat_template in \
         tokenizer_config.json; give a plain prompt instead"
    )]
    NoTemplate,
    /// No template has the name asked for.
    #[error("there is no chat template {name:?}; there are {}", available.join(", "))]
    UnknownName {
        /// The name.
        name: String,
        /// The names that there are.
        available: Vec<String>,
    },
    /// The template is not Jinja, or uses a part of it that is not supported.
    #[error("the chat template cannot be read, line {line}: {reason}")]
    Syntax {
        /// The line, from one.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The template refuses the conversation.
    #[error("the chat template refuses the conversation: {message}")]
    Raised {
        /// The template's own words.
        message: String,
    },
    /// The template failed.
    #[error("the chat template failed in line {line}: {reason}")]
    Render {
        /// The line, from one.
        line: usize,
        /// What went wrong.
        reason: String,
    },
    /// The template is too large, or wants to do too much.
    #[error("the chat template exceeds the limit of {value} {limit} in line {line}")]
    Limit {
        /// The line, from one.
        line: usize,
        /// What is limited.
        limit: &'static str,
        /// The limit.
        value: u64,
    },
    /// The options do not go with one another or with the conversation.
    #[error("{problem}")]
    Options {
        /// What is wrong.
        problem: String,
    },
    /// There is no thread to render on.
    #[error("no thread can be started to render the chat template: {problem}")]
    Thread {
        /// The system's reason.
        problem: String,
    },
}

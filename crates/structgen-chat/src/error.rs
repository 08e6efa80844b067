/// Why no prompt could be rendered.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// A file next to the template is not JSON, or its template has the wrong type.
    #[error("{file}: {problem}")]
    Config {
        /// The file's name.
        file: &'static str,
        /// What is wrong, with line and column if it is not JSON.
        problem: String,
    },
    /// The model has no chat template.
    #[error(
        "the model has no chat template: there is neither a chat_template.jinja nor a chat_template in \
         tokenizer_config.json; give a plain prompt instead"
    )]
    NoTemplate,
    /// No template has the requested name.
    #[error("there is no chat template {name:?}; there are {}", available.join(", "))]
    UnknownName {
        /// The name.
        name: String,
        /// The available names.
        available: Vec<String>,
    },
    /// The template is not Jinja, or uses an unsupported part of it.
    #[error("the chat template cannot be read, line {line}: {reason}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The template refuses the conversation.
    #[error("the chat template refuses the conversation: {message}")]
    Raised {
        /// The template's message.
        message: String,
    },
    /// Rendering failed.
    #[error("the chat template failed in line {line}: {reason}")]
    Render {
        /// The line, from 1.
        line: usize,
        /// What went wrong.
        reason: String,
    },
    /// The template is too large, or exceeds a limit on its work or memory.
    #[error("the chat template exceeds the limit of {value} {limit} in line {line}")]
    Limit {
        /// The line, from 1.
        line: usize,
        /// What is limited.
        limit: &'static str,
        /// The limit.
        value: u64,
    },
    /// The options contradict one another or the conversation.
    #[error("{problem}")]
    Options {
        /// What is wrong.
        problem: String,
    },
    /// No thread could be started for rendering.
    #[error("no thread can be started to render the chat template: {problem}")]
    Thread {
        /// The system's reason.
        problem: String,
    },
    /// Rendering panicked, which is a fault of this library.
    #[error("a fault in this library ended the rendering of the chat template; please report it")]
    Panicked,
}

structgen_sentence::debug_as_sentence!(ChatError);

use minijinja::{Error, ErrorKind};

/// Why there is no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The configuration is no JSON, or its template is of a wrong kind.
    #[error("tokenizer_config.json: {problem}")]
    Config {
        /// What is wrong, with line and column where it is no JSON.
        problem: String,
    },
    /// The model comes without a chat template.
    #[error(
        "the model has no chat template: tokenizer_config.json has no chat_template; give a plain prompt instead"
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
    /// The template is no Jinja.
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
}

impl ChatError {
    pub(super) fn of(error: Error) -> Self {
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            if let Some(Raised(message)) = cause.downcast_ref() {
                let message = message.clone();
                return Self::Raised { message };
            }
            source = cause.source();
        }
        let line = error.line().unwrap_or(1);
        let reason = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        match error.kind() {
            ErrorKind::SyntaxError | ErrorKind::UnknownFilter | ErrorKind::UnknownTest
                if error.detail().is_some() =>
            {
                Self::Syntax { line, reason }
            }
            _ => Self::Render { line, reason },
        }
    }
}

/// Marks an error that the template raised by itself.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Raised(pub(super) String);

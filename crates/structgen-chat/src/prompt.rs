use std::ops::Range;

use crate::{ChatError, ChatMessage};

/// A conversation as text, with the ranges of bytes that come from the template.
///
/// Names of special tokens are tokens in [`trusted`](Self::trusted) ranges only: a user who writes `<|im_end|>` does
/// not end a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatPrompt {
    text: String,
    trusted: Vec<Range<usize>>,
}

impl ChatPrompt {
    pub(crate) fn new(text: String, trusted: Vec<Range<usize>>) -> Self {
        Self { text, trusted }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ranges of bytes that come from the template: in order, not empty, and not adjacent.
    #[must_use]
    pub fn trusted(&self) -> &[Range<usize>] {
        &self.trusted
    }

    /// Appends a text that does not come from the template.
    pub(crate) fn push_data(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Removes everything after the text of the final message, as `apply_chat_template(continue_final_message=True)`
    /// does.
    pub(crate) fn cut_after(&mut self, message: Option<&ChatMessage>) -> Result<(), ChatError> {
        let wrong = |problem: &str| ChatError::Options {
            problem: format!("the final message cannot be continued: {problem}"),
        };
        let text =
            { message.and_then(ChatMessage::last_text) }.ok_or_else(|| wrong("it has no text"))?;
        let trimmed = text.trim();
        let Some(start) = self.text.rfind(trimmed) else {
            return Err(wrong(
                "its text is not in the prompt, because the template leaves it out or changes it",
            ));
        };
        let is_whole = self.text[start..].starts_with(text);
        let end = start + if is_whole { text.len() } else { trimmed.len() };
        self.text.truncate(end);
        self.trusted.retain(|range| range.start < end);
        if let Some(last) = self.trusted.last_mut() {
            last.end = last.end.min(end);
        }
        Ok(())
    }
}

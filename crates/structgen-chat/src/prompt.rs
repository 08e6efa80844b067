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

    /// Removes everything from the end of the final message's text on, as
    /// `apply_chat_template(continue_final_message=True)` does.
    fn cut(&mut self, message: &Continued) -> Result<(), ChatError> {
        let tag = self.text.rfind(TAG.trim_end());
        let Some(at) = tag.filter(|_| self.text.contains(message.text.trim())) else {
            return Err(cannot_continue(
                "its text is not in the prompt, because the template leaves it out or changes it",
            ));
        };
        // Without the space at its end, the template trims messages, and would have trimmed the text without the tag.
        let end = match self.text[at..].starts_with(TAG) {
            true => at,
            false => self.text[..at].trim_end().len(),
        };
        self.text.truncate(end);
        self.trusted.retain(|range| range.start < end);
        if let Some(last) = self.trusted.last_mut() {
            last.end = last.end.min(end);
        }
        Ok(())
    }
}

/// The mark at the end of a message that is continued, as in transformers. The message's own text may occur again after
/// it: `e` does in most markers of the end of a turn.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// A conversation whose final message is continued.
pub(crate) struct Continued {
    /// The messages, with the mark in the last.
    messages: Vec<ChatMessage>,
    /// The text of the last, without it.
    text: String,
}

impl Continued {
    pub(crate) fn new(messages: &[ChatMessage]) -> Result<Self, ChatError> {
        let mut messages = messages.to_vec();
        let last = messages.last_mut().and_then(ChatMessage::last_text_mut);
        let last = last.ok_or_else(|| cannot_continue("it has no text"))?;
        let text = last.clone();
        last.push_str(TAG);
        Ok(Self { messages, text })
    }

    /// Renders the messages, and removes what follows the final text.
    pub(crate) fn render(
        &self,
        render: impl FnOnce(&[ChatMessage]) -> Result<ChatPrompt, ChatError>,
    ) -> Result<ChatPrompt, ChatError> {
        let mut prompt = render(&self.messages)?;
        prompt.cut(self)?;
        Ok(prompt)
    }
}

fn cannot_continue(problem: &str) -> ChatError {
    ChatError::Options {
        problem: format!("the final message cannot be continued: {problem}"),
    }
}

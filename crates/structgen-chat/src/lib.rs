//! Chat templates: render a conversation to a prompt, with the template files of a model.
//!
//! A template is a Jinja program that comes with a model and is as untrusted as the conversation. So
//! - every operation is counted: a template that takes too many steps or too much memory ends with
//!   [`ChatError::Limit`], which names the limit;
//! - every string tracks which of its bytes come from the template, through filters and slices: [`ChatPrompt`]. Names
//!   of special tokens are tokens only in these bytes.
//!
//! ```
//! use structgen_chat::{ChatMessage, ChatOptions, ChatTemplate};
//!
//! let template = ChatTemplate::from_tokenizer_config(
//!     r#"{"bos_token": "<s>", "chat_template":
//!         "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m.content | trim }}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"}"#,
//! )?;
//! let prompt = template.render(&[ChatMessage::user(" <s>Hello! ")], &ChatOptions::default())?;
//! assert_eq!(prompt.text(), "<s>[user] <s>Hello!\n[assistant] ");
//! // The template's `<s>` is a token, and the user's is text.
//! assert_eq!(prompt.trusted()[0], 0.."<s>[user] ".len());
//! # Ok::<(), structgen_chat::ChatError>(())
//! ```

mod error;
mod jinja;
mod message;
mod prompt;
mod template;
mod time;

#[cfg(test)]
mod tests;

pub use error::ChatError;
pub use jinja::ChatLimits;
pub use message::{ChatMessage, last_user_text};
pub use prompt::ChatPrompt;
pub use template::{ChatOptions, ChatTemplate};

//! The terminals of JSON: strings, keys, and the punctuation of objects and arrays.

mod content;
mod gap;
mod keys;
mod punctuation;
mod string;
mod utf8;
mod value;
mod value_text;
mod written;

pub(crate) use content::{Content, LONGEST_ESCAPE, escaped_length, is_plain};
pub(crate) use gap::GapMachine;
pub(crate) use keys::{ClassContent, ClassMachine, KeyContent, class_of, label_of_class};
pub(crate) use punctuation::{CLOSE, MORE, Punctuation, PunctuationMachine};
pub(crate) use string::StringMachine;
pub use utf8::Utf8;
pub(crate) use value::Value;
pub(crate) use value_text::ValueText;

use structgen_grammar::EscapeForm;

use crate::{LimitExceeded, Terminal};

/// A JSON string that may hold anything, quotes included, with the escapes of a form.
///
/// # Errors
/// Never, in fact: the machine has no limits.
pub fn any_string(escapes: EscapeForm) -> Result<Terminal, LimitExceeded> {
    let content = Content::Any { min: 0, max: None };
    Terminal::new(StringMachine::new(content, escapes))
}

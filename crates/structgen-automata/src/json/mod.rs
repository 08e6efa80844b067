//! The terminals of JSON: strings, keys, and the punctuation of objects and arrays.

mod content;
mod keys;
mod punctuation;
mod string;
mod utf8;
mod value;

pub(crate) use content::{Content, LONGEST_ESCAPE, escaped_length, is_plain};
pub(crate) use keys::{ClassContent, KeyContent, class_of, label_of_class};
pub(crate) use punctuation::{CLOSE, MORE, Punctuation, PunctuationMachine};
pub(crate) use string::StringMachine;
pub use utf8::Utf8;
pub(crate) use value::Value;

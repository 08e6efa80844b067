//! The terminals of JSON: strings, keys, and the punctuation of objects and arrays.

mod content;
mod punctuation;
mod string;
mod utf8;

pub(crate) use content::{Content, KeyContent, OTHER_KEY, escaped_length};
pub(crate) use punctuation::{CLOSE, MORE, Punctuation, PunctuationMachine};
pub(crate) use string::StringMachine;

//! The terminals of JSON: strings, keys, and the punctuation of objects and arrays.

mod content;
mod escapes;
mod gap;
mod grounded;
mod keys;
mod punctuation;
mod string;
mod text_sets;
mod utf8;

pub(crate) use content::{Content, is_plain};
pub(crate) use gap::GapMachine;
pub(crate) use grounded::GroundedContent;
pub(crate) use keys::{ClassContent, ClassMachine, KeyContent, class_of, label_of_class};
pub(crate) use punctuation::{CLOSE, MORE, Punctuation, PunctuationMachine};
pub(crate) use string::StringMachine;
pub(crate) use text_sets::{TextSet, TextSets};
pub use utf8::Utf8;

//! The terminals of JSON: strings, keys, and the punctuation of objects and arrays.

mod content;
mod gap;
mod grounded;
mod key_sets;
mod keys;
mod punctuation;
mod string;
mod utf8;

pub(crate) use content::{Content, is_plain};
pub(crate) use gap::GapMachine;
pub(crate) use grounded::GroundedContent;
pub(crate) use key_sets::{KeySet, KeySets};
pub(crate) use keys::{
    AllowedKeys, ClassContent, ClassMachine, KeyContent, class_of, label_of_class,
};
pub(crate) use punctuation::{CLOSE, MORE, Punctuation, PunctuationMachine};
pub(crate) use string::StringMachine;
pub use utf8::Utf8;

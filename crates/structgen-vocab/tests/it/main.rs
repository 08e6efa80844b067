//! Vocabularies and tokenizers from the outside: real files, small ones of every scheme, and hostile ones.

mod hostile_files;
mod other_files;
mod real_tokenizers;
mod real_vocabularies;
mod schemes;
mod support;

//! Tokenizers in other files than `tokenizer.json`, converted to the equivalent of such a file.
//!
//! A SentencePiece model, or `vocab.json` with `merges.txt`, lacks some settings: which tokens surround a text, which
//! are added, how the first space is treated. These are in `tokenizer_config.json` or in the code of the tokenizer's
//! class. Classes whose ids or rules differ from their files are refused by name.

mod byte_level;
mod config;
mod merges;
mod protobuf;
mod sentencepiece;
mod unigram_or_bpe;

use std::path::{Path, PathBuf};

use crate::VocabularyError;
use crate::file::{Merges, TokenizerFile, read_limited};

/// The files that a tokenizer is read from, in order of preference, and those that are read with it.
const FILES: [&str; 5] = [
    JSON,
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    VOCAB,
];
const JSON: &str = "tokenizer.json";
const VOCAB: &str = "vocab.json";
const MERGES: &str = "merges.txt";

/// Returns the file of a model folder that its tokenizer is read from: `tokenizer.json`, else a SentencePiece model
/// (`tokenizer.model`, `spiece.model`), else `vocab.json`, next to which is `merges.txt`.
///
/// If none of them exists, returns the path of `tokenizer.json`.
#[must_use]
pub fn tokenizer_file(folder: &Path) -> PathBuf {
    let mut paths = FILES.iter().map(|name| folder.join(name));
    let found = paths
        .find(|path| path.is_file() && (!is_named(path, VOCAB) || beside(path, MERGES).is_file()));
    found.unwrap_or_else(|| folder.join(JSON))
}

/// Reads the tokenizer of a file that is not a `tokenizer.json`; `None` if the file should be one.
pub(crate) fn read_other(path: &Path) -> Result<Option<TokenizerFile<Merges>>, VocabularyError> {
    let is_model = path
        .extension()
        .is_some_and(|extension| extension == "model");
    if is_model {
        let model = sentencepiece::Model::read(&read_limited(path)?)?;
        let config = config::Config::beside(path)?;
        unigram_or_bpe::tokenizer(model, &config).map(Some)
    } else if is_named(path, VOCAB) {
        let vocab = read_limited(path)?;
        let merges = read_limited(&beside(path, MERGES))?;
        let config = config::Config::beside(path)?;
        byte_level::tokenizer(&vocab, &merges, &config).map(Some)
    } else {
        Ok(None)
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|own| own == name)
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(name)
}

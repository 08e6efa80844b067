//! Tokenizers in other files than a `tokenizer.json`: read into what such a file would say.
//!
//! A SentencePiece model and `vocab.json` with `merges.txt` leave open what is in `tokenizer_config.json` or in the code
//! of a tokenizer's class: which tokens are put around a text, which are added, how the first space is treated. Classes
//! whose ids or rules are others than their files' are refused by name.

mod byte_level;
mod config;
mod merges;
mod protobuf;
mod sentencepiece;
mod unigram_or_bpe;

use std::path::{Path, PathBuf};

use crate::VocabularyError;
use crate::file::{Merge, TokenizerFile, read_limited};

/// Names of the files that a tokenizer is read from, the first one that is there; and of those that are read with it.
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

/// The file of a model folder that its tokenizer is read from: `tokenizer.json`, else a SentencePiece model
/// (`tokenizer.model`, `spiece.model`), else `vocab.json`, beside which is `merges.txt`.
///
/// Where there is none, it is the `tokenizer.json` that is missing.
#[must_use]
pub fn tokenizer_file(folder: &Path) -> PathBuf {
    let mut paths = FILES.iter().map(|name| folder.join(name));
    let found = paths
        .find(|path| path.is_file() && (!is_named(path, VOCAB) || beside(path, MERGES).is_file()));
    found.unwrap_or_else(|| folder.join(JSON))
}

/// The tokenizer of a file that is no `tokenizer.json`; `None` for one that should be.
pub(crate) fn read_other(
    path: &Path,
) -> Result<Option<TokenizerFile<Vec<Merge>>>, VocabularyError> {
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

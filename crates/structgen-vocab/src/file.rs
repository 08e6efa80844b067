//! The JSON of a Hugging Face `tokenizer.json`, as far as it is needed.
//!
//! Only types are checked here; those who read the fields check their meaning. The large lists are parsed straight into
//! vectors, because a `serde_json::Value` of a file with 128,000 tokens takes several times the size of the file.

use crate::error::check_size;
use crate::{Vocabulary, VocabularyError};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::io::Read;
use std::path::Path;
use structgen_artifact::open_regular;

/// A tokenizer file; `M` is what is kept of its merges.
#[derive(Debug, Deserialize)]
pub(crate) struct TokenizerFile<M> {
    #[serde(default)]
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) added_tokens: Vec<AddedToken>,
    #[serde(default)]
    pub(crate) normalizer: Value,
    #[serde(default)]
    pub(crate) pre_tokenizer: Value,
    #[serde(default)]
    pub(crate) post_processor: Value,
    #[serde(default)]
    pub(crate) decoder: Value,
    pub(crate) model: Model<M>,
    /// A prefix of every text that is not empty, not repeated after added tokens. A `tokenizer.json` uses normalisers
    /// instead.
    #[serde(skip)]
    pub(crate) text_prefix: Option<&'static str>,
    /// A compiled character map, applied before the normaliser, as in SentencePiece.
    #[serde(skip)]
    pub(crate) charsmap: Option<Vec<u8>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AddedToken {
    pub(crate) id: u64,
    pub(crate) content: String,
    pub(crate) single_word: bool,
    pub(crate) lstrip: bool,
    pub(crate) rstrip: bool,
    pub(crate) normalized: bool,
    pub(crate) special: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Model<M> {
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) vocab: Pieces,
    pub(crate) merges: Option<M>,
    #[serde(default)]
    pub(crate) dropout: Option<f64>,
    #[serde(default)]
    pub(crate) unk_token: Option<String>,
    #[serde(default)]
    pub(crate) unk_id: Option<u64>,
    #[serde(default)]
    pub(crate) continuing_subword_prefix: Option<String>,
    #[serde(default)]
    pub(crate) end_of_word_suffix: Option<String>,
    #[serde(default)]
    pub(crate) fuse_unk: Option<bool>,
    #[serde(default)]
    pub(crate) byte_fallback: Option<bool>,
    #[serde(default)]
    pub(crate) ignore_merges: Option<bool>,
}

impl<'a, M: Deserialize<'a>> TokenizerFile<M> {
    /// Parses a file of at most [`MAX_FILE_BYTES`](Vocabulary::MAX_FILE_BYTES).
    pub(crate) fn parse(json: &'a [u8]) -> Result<Self, VocabularyError> {
        check_size(FILE_SIZE, json.len(), Vocabulary::MAX_FILE_BYTES as usize)?;
        let file: Self =
            serde_json::from_slice(json).map_err(|error| VocabularyError::json(&error))?;
        if let Some(version) = file.version.as_deref().filter(|&version| version != "1.0") {
            return Err(VocabularyError::unsupported(
                "/version",
                version,
                "only version 1.0 of the format is known",
            ));
        }
        Ok(file)
    }
}

const FILE_SIZE: &str = "the tokenizer file in bytes";

/// Reads a file, up to the maximum size of a tokenizer file.
pub(crate) fn read_limited(path: &Path) -> Result<Vec<u8>, VocabularyError> {
    let io = |source| VocabularyError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    open_regular(path)
        .map_err(io)?
        .take(Vocabulary::MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    check_size(FILE_SIZE, bytes.len(), Vocabulary::MAX_FILE_BYTES as usize)?;
    Ok(bytes)
}

/// A model's vocabulary, in the order of the file, including repeated strings.
#[derive(Debug, Default)]
pub(crate) enum Pieces {
    /// The model has none.
    #[default]
    Missing,
    /// Strings with their ids.
    Ids(Vec<(String, u64)>),
    /// Strings with their scores; the ids are the indices.
    Scores(Vec<(String, f64)>),
}

impl<'de> Deserialize<'de> for Pieces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PiecesVisitor;
        impl<'de> Visitor<'de> for PiecesVisitor {
            type Value = Pieces;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from tokens to ids or a list of tokens with scores")
            }

            fn visit_unit<E>(self) -> Result<Pieces, E> {
                Ok(Pieces::Missing)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pieces, A::Error> {
                let mut pieces = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    check_room(&pieces, "tokens", Vocabulary::MAX_TOKENS)?;
                    pieces.push(entry);
                }
                Ok(Pieces::Ids(pieces))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pieces, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = seq.next_element()? {
                    check_room(&pieces, "tokens", Vocabulary::MAX_TOKENS)?;
                    pieces.push(piece);
                }
                Ok(Pieces::Scores(pieces))
            }
        }
        deserializer.deserialize_any(PiecesVisitor)
    }
}

/// Rejects a list that is too long while it is read, before it takes hundreds of megabytes.
fn check_room<T, E: serde::de::Error>(list: &[T], what: &str, limit: usize) -> Result<(), E> {
    match list.len() < limit {
        true => Ok(()),
        false => Err(E::custom(format_args!(
            "more than {limit} {what}, the most that is accepted"
        ))),
    }
}

/// The merges of a model, best first.
#[derive(Debug, Default)]
pub(crate) struct Merges(pub(crate) Vec<Merge>);

impl Merges {
    /// The maximum number, several times that of the largest known model.
    pub(crate) const MAX: usize = 1 << 21;
}

impl<'de> Deserialize<'de> for Merges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MergesVisitor;
        impl<'de> Visitor<'de> for MergesVisitor {
            type Value = Merges;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of merges")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Merges, A::Error> {
                let mut merges = Vec::new();
                while let Some(merge) = seq.next_element()? {
                    check_room(&merges, "merges", Merges::MAX)?;
                    merges.push(merge);
                }
                Ok(Merges(merges))
            }
        }
        deserializer.deserialize_seq(MergesVisitor)
    }
}

/// One merge, written as `"a b"` or as `["a", "b"]`.
#[derive(Debug)]
pub(crate) struct Merge(pub(crate) String, pub(crate) String);

impl<'de> Deserialize<'de> for Merge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MergeVisitor;
        impl<'de> Visitor<'de> for MergeVisitor {
            type Value = Merge;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two tokens as a list or with one space between")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Merge, E> {
                match text.split_once(' ') {
                    Some((a, b)) if !b.contains(' ') => Ok(Merge(a.to_owned(), b.to_owned())),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Merge, A::Error> {
                let missing = |n| serde::de::Error::invalid_length(n, &self);
                let a = seq.next_element()?.ok_or_else(|| missing(0))?;
                let b = seq.next_element()?.ok_or_else(|| missing(1))?;
                if seq.next_element::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(missing(3));
                }
                Ok(Merge(a, b))
            }
        }
        deserializer.deserialize_any(MergeVisitor)
    }
}

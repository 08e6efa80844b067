//! A SentencePiece model: its pieces and its normalisation (`sentencepiece_model.proto` of SentencePiece 0.2).

use std::collections::HashSet;

use super::protobuf::{Fields, Value};
use crate::error::check_size;
use crate::{Vocabulary, VocabularyError};

/// The maximum length of the compiled character map, in bytes: several times that of the largest known one.
const MAX_CHARSMAP_BYTES: usize = 4 << 20;

/// The contents of a model file.
#[derive(Debug, PartialEq)]
pub(super) struct Model {
    pub(super) kind: Kind,
    /// The pieces; their ids are the indices.
    pub(super) pieces: Vec<Piece>,
    /// The index of the piece for unknown characters.
    pub(super) unknown: usize,
    /// Whether characters without a piece are spelled by pieces for bytes.
    pub(super) byte_fallback: bool,
    /// The compiled character map, if texts are normalised.
    pub(super) charsmap: Vec<u8>,
    /// Whether a space is added at the start of a text.
    pub(super) dummy_prefix: bool,
    /// Whether spaces at the ends of a text are removed, and runs of spaces reduced to one.
    pub(super) removes_spaces: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Unigram,
    Bpe,
}

#[derive(Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Byte,
}

impl Model {
    /// Parses a model file. Takes no more memory than is proportional to the file.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, VocabularyError> {
        let mut model = Self {
            kind: Kind::Unigram,
            pieces: Vec::new(),
            unknown: 0,
            byte_fallback: false,
            charsmap: Vec::new(),
            dummy_prefix: true,
            removes_spaces: true,
        };
        let mut total = 0;
        for field in Fields::of(bytes) {
            match field.ok_or_else(no_model)? {
                (1, Value::Bytes(piece)) => {
                    check_size(
                        "the token ids",
                        model.pieces.len() + 1,
                        Vocabulary::MAX_TOKENS,
                    )?;
                    let piece = Piece::read(piece)?;
                    total += piece.text.len();
                    check_size("all tokens in bytes", total, Vocabulary::MAX_TOTAL_BYTES)?;
                    model.pieces.push(piece);
                }
                (2, Value::Bytes(trainer)) => model.read_trainer(trainer)?,
                (3, Value::Bytes(normalizer)) => model.read_normalizer(normalizer)?,
                _ => {}
            }
        }
        // Hashed with a random key, as a `NameMap`.
        let mut texts = HashSet::new();
        if model.pieces.is_empty() || !model.pieces.iter().all(|piece| texts.insert(&*piece.text)) {
            return Err(no_model());
        }
        let is_unknown = |piece: &Piece| piece.role == Role::Unknown;
        let unknown = model.pieces.iter().position(is_unknown);
        model.unknown = unknown.ok_or_else(no_model)?;
        Ok(model)
    }

    fn read_trainer(&mut self, message: &[u8]) -> Result<(), VocabularyError> {
        for field in Fields::of(message) {
            match field.ok_or_else(no_model)? {
                (3, Value::Number(1)) => self.kind = Kind::Unigram,
                (3, Value::Number(2)) => self.kind = Kind::Bpe,
                (3, Value::Number(kind)) => {
                    return Err(unsupported(
                        "model_type",
                        kind,
                        "only Unigram (1) and BPE (2) models are understood",
                    ));
                }
                (24, Value::Number(1)) => {
                    return Err(unsupported(
                        "treat_whitespace_as_suffix",
                        true,
                        "only spaces at the beginning of tokens are understood",
                    ));
                }
                (35, Value::Number(flag)) => self.byte_fallback = flag != 0,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_normalizer(&mut self, message: &[u8]) -> Result<(), VocabularyError> {
        for field in Fields::of(message) {
            match field.ok_or_else(no_model)? {
                (2, Value::Bytes(map)) => {
                    check_size("the character map in bytes", map.len(), MAX_CHARSMAP_BYTES)?;
                    self.charsmap = map.to_vec();
                }
                (3, Value::Number(flag)) => self.dummy_prefix = flag != 0,
                (4, Value::Number(flag)) => self.removes_spaces = flag != 0,
                (5, Value::Number(0)) => {
                    return Err(unsupported(
                        "escape_whitespaces",
                        false,
                        "only pieces with spaces as `▁` are understood",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Piece {
    fn read(message: &[u8]) -> Result<Self, VocabularyError> {
        let mut piece = Self {
            text: String::new(),
            score: 0.0,
            role: Role::Normal,
        };
        for field in Fields::of(message) {
            match field.ok_or_else(no_model)? {
                (1, Value::Bytes(text)) => {
                    let text = std::str::from_utf8(text).map_err(|_| no_model())?;
                    check_size("a token in bytes", text.len(), Vocabulary::MAX_TOKEN_BYTES)?;
                    piece.text = text.to_owned();
                }
                (2, Value::Float(score)) if score.is_finite() => piece.score = score,
                (2, _) => return Err(no_model()),
                (3, Value::Number(role)) => {
                    piece.role = match role {
                        1 => Role::Normal,
                        2 => Role::Unknown,
                        3 => Role::Control,
                        4 => Role::UserDefined,
                        6 => Role::Byte,
                        _ => {
                            return Err(unsupported(
                                "type",
                                role,
                                "a piece that is not used, or of an unknown kind",
                            ));
                        }
                    }
                }
                _ => {}
            }
        }
        match piece.text.is_empty() {
            true => Err(no_model()),
            false => Ok(piece),
        }
    }
}

fn no_model() -> VocabularyError {
    VocabularyError::NoSentencePieceModel
}

fn unsupported(
    field: &str,
    found: impl std::fmt::Display,
    reason: &'static str,
) -> VocabularyError {
    VocabularyError::unsupported(field, found, reason)
}

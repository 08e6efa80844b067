//! Encodes and decodes texts.

mod added;
mod affixes;
mod charsmap;
mod least;
mod limits;
mod patterns;
mod pipeline;

use crate::file::{AddedToken, Merges, TokenizerFile, read_limited};
use crate::names::checked_id;
use crate::source;
use crate::{TokenId, TokenizerError, Vocabulary, VocabularyError};
use affixes::Affixes;
use pipeline::Pipeline;
use std::ops::Range;
use std::path::Path;
use std::slice;
use std::sync::Arc;

/// A Hugging Face tokenizer together with its [`Vocabulary`].
///
/// It distinguishes trusted from untrusted text. [`encode`](Self::encode) is for untrusted text: the name of a special
/// token in it is plain text and is spelled by ordinary tokens, so nobody can start or end a turn by writing
/// `<|im_end|>`. [`encode_prompt`](Self::encode_prompt) is for trusted templates, in which such names are the special
/// tokens, and [`encode_mixed`](Self::encode_mixed) for templates with untrusted texts in them.
///
/// Truncation, padding and merge dropout have no use in decoding: the first two are ignored, and a model with dropout
/// is refused, because its encoding is random.
///
/// ```no_run
/// use structgen_vocab::Tokenizer;
///
/// let tokenizer = Tokenizer::from_file("model/tokenizer.json")?;
/// let ids = tokenizer.encode("Hello <|endoftext|>")?;
/// assert!(ids.iter().all(|&id| !tokenizer.vocabulary().is_special(id)));
/// assert_eq!(tokenizer.decode(&ids, true)?, "Hello <|endoftext|>");
/// # Ok::<(), structgen_vocab::TokenizerError>(())
/// ```
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Arc<Vocabulary>,
    pipeline: Pipeline,
    affixes: Affixes,
}

/// What a model's configuration adds to the tokenizer's file.
///
/// ```
/// use structgen_vocab::{TokenId, TokenizerOptions};
///
/// let options = TokenizerOptions::new()
///     .logits_len(32_064)
///     .ends([TokenId(2)]);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct TokenizerOptions {
    logits_len: Option<usize>,
    special_tokens: Vec<TokenId>,
    ends: Vec<TokenId>,
}

impl TokenizerOptions {
    /// No additions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of the model's logits. It may be padded beyond the tokenizer's ids. Only special tokens of the
    /// tokenizer may lie beyond it; the model can never generate these.
    #[must_use]
    pub fn logits_len(mut self, logits: usize) -> Self {
        self.logits_len = Some(logits);
        self
    }

    /// Marks further tokens as special: they are then never read from untrusted text.
    #[must_use]
    pub fn special_tokens(mut self, ids: impl IntoIterator<Item = TokenId>) -> Self {
        self.special_tokens.extend(ids);
        self
    }

    /// Sets the ends of sequence that the model's configuration names. Those in the tokenizer become special. Others
    /// are ignored, since some configurations name too many: [`Vocabulary::token_name`] has no name for them.
    #[must_use]
    pub fn ends(mut self, ids: impl IntoIterator<Item = TokenId>) -> Self {
        self.ends.extend(ids);
        self
    }
}

impl Tokenizer {
    /// Reads a tokenizer's file: a `tokenizer.json`; a SentencePiece model, whose name ends in `.model`; or a
    /// `vocab.json` with the `merges.txt` next to it. The latter two are completed by the `tokenizer_config.json`,
    /// `special_tokens_map.json`, `added_tokens.json` and `config.json` next to them. [`tokenizer_file`] finds the file
    /// of a model folder.
    ///
    /// # Errors
    /// If the file cannot be read, its [`Vocabulary`] is refused, or another part of it is not usable.
    ///
    /// [`tokenizer_file`]: crate::tokenizer_file
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TokenizerError> {
        Self::from_file_with(path, &TokenizerOptions::new())
    }

    /// As [`from_file`](Self::from_file), with what the model's configuration adds.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file) and [`from_bytes_with`](Self::from_bytes_with).
    pub fn from_file_with(
        path: impl AsRef<Path>,
        options: &TokenizerOptions,
    ) -> Result<Self, TokenizerError> {
        match source::read_other(path.as_ref())? {
            Some(file) => Self::from_parts(file, options),
            None => Self::from_bytes_with(&read_limited(path.as_ref())?, options),
        }
    }

    /// Parses the content of a `tokenizer.json`.
    ///
    /// # Errors
    /// If its [`Vocabulary`] is refused, or another part of it is not usable.
    pub fn from_bytes(json: &[u8]) -> Result<Self, TokenizerError> {
        Self::from_bytes_with(json, &TokenizerOptions::new())
    }

    /// As [`from_bytes`](Self::from_bytes), with what the model's configuration adds.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), and if the options name a token that is not in the file, or fewer logits
    /// than it has ids.
    pub fn from_bytes_with(
        json: &[u8],
        options: &TokenizerOptions,
    ) -> Result<Self, TokenizerError> {
        Self::from_parts(TokenizerFile::parse(json)?, options)
    }

    fn from_parts(
        mut file: TokenizerFile<Merges>,
        options: &TokenizerOptions,
    ) -> Result<Self, TokenizerError> {
        let mut vocabulary = Vocabulary::from_file_parts(&file)?;
        let ends = options.ends.iter().copied();
        let ends = ends.filter(|&id| vocabulary.token_name(id).is_some());
        let special: Vec<TokenId> = options.special_tokens.iter().copied().chain(ends).collect();
        if !special.is_empty() {
            vocabulary = vocabulary.with_special_tokens(&special)?;
            mark_special(&mut file.added_tokens, &vocabulary)?;
        }
        if let Some(logits) = options.logits_len {
            vocabulary = vocabulary.with_logits_len(logits)?;
        }
        let affixes = Affixes::read(&file.post_processor, &vocabulary)?;
        let pipeline = pipeline::build(file, &vocabulary)?;
        Ok(Self {
            vocabulary: Arc::new(vocabulary),
            pipeline,
            affixes,
        })
    }

    /// Encodes an untrusted text.
    ///
    /// The result contains no special token, whatever the text is, except the model's unknown token if a character
    /// cannot be spelled. Nothing is added before or after the text. Some tokenizers (SentencePiece's) put a space
    /// before it.
    ///
    /// # Errors
    /// If the tokenizer has no token for a character of the text, not even an unknown token.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, TokenizerError> {
        self.pipeline.encode(text, &[])
    }

    /// Encodes a trusted text, in which the names of special tokens are those tokens.
    ///
    /// With `add_special`, the tokens that the tokenizer puts around a text (often one for its beginning) are added. A
    /// chat template usually writes them itself.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_prompt(
        &self,
        text: &str,
        add_special: bool,
    ) -> Result<Vec<TokenId>, TokenizerError> {
        let ids = self.encode_mixed(text, slice::from_ref(&(0..text.len())))?;
        if !add_special {
            return Ok(ids);
        }
        let Affixes { before, after } = &self.affixes;
        Ok([before, &ids, after]
            .into_iter()
            .flatten()
            .copied()
            .collect())
    }

    /// Returns the tokens that [`encode_prompt`](Self::encode_prompt) appends to a text.
    #[must_use]
    pub fn appended(&self) -> &[TokenId] {
        &self.affixes.after
    }

    /// Encodes a text that is trusted in some ranges of bytes, such as a chat prompt: a special token's name that lies
    /// within a range is that token. Nothing is added around the text.
    ///
    /// The ranges must be in order and not empty, and must not overlap or touch.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_mixed(
        &self,
        text: &str,
        trusted: &[Range<usize>],
    ) -> Result<Vec<TokenId>, TokenizerError> {
        self.pipeline.encode(text, trusted)
    }

    /// Returns a number of tokens that every encoding of a text has at least, without encoding it: its length divided
    /// by that of the longest token. It is zero for tokenizers that may shorten a text beforehand.
    #[must_use]
    pub fn least_tokens(&self, text: &str) -> usize {
        self.pipeline.least_tokens(text)
    }

    /// Decodes tokens with the tokenizer's own decoder.
    ///
    /// Bytes that are not UTF-8 become U+FFFD, and some tokenizers (SentencePiece's) remove the first space of the
    /// text. Special tokens decode to their names, or to nothing with `skip_special`; holes and ids beyond the
    /// vocabulary decode to nothing.
    ///
    /// # Errors
    /// If the tokenizer's decoder fails.
    pub fn decode(&self, ids: &[TokenId], skip_special: bool) -> Result<String, TokenizerError> {
        self.pipeline.decode(ids, skip_special)
    }

    /// The bytes that the tokens add after other text; special tokens, holes and ids beyond the vocabulary add none.
    #[must_use]
    pub fn decode_bytes(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter()
            .filter_map(|&id| self.vocabulary.token_bytes(id))
            .flatten()
            .copied()
            .collect()
    }

    /// The tokenizer's vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }
}

/// Adds the special tokens of a vocabulary to a file's added tokens.
fn mark_special(
    added: &mut Vec<AddedToken>,
    vocabulary: &Vocabulary,
) -> Result<(), VocabularyError> {
    let mut known = crate::TokenMask::new(vocabulary.len());
    for token in added.iter_mut() {
        let id = checked_id(token.id)?;
        if vocabulary.is_special(id) && !token.content.is_empty() {
            token.special = true;
            known.allow(id);
        }
    }
    for (id, name) in vocabulary.special_tokens() {
        if !known.contains(id) {
            added.push(AddedToken {
                id: u64::from(id.0),
                content: name.to_owned(),
                single_word: false,
                lstrip: false,
                rstrip: false,
                normalized: false,
                special: true,
            });
        }
    }
    Ok(())
}

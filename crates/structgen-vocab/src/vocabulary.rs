//! The vocabulary: the bytes of every token.

use crate::error::check_size;
use crate::file::{TokenizerFile, read_limited};
use crate::names::{add_tokens, model_names};
use crate::{TokenId, TokenMask, TokenTrie, VocabularyError, scheme, source};
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

/// The tokens of a tokenizer as byte strings: exactly the bytes that they add to a text.
///
/// An id is one of three things. An *ordinary* token has bytes. A *special* token (end of sequence, a chat role) has a
/// name and no bytes, so no text ever matches it. All other ids below [`len`](Self::len) are *holes*: ids that the
/// tokenizer skips, tokens without bytes, and logits that only pad the model's output.
///
/// The bytes are those that a token adds *after other text*: `▁foo` of a SentencePiece vocabulary is ` foo`, although
/// its decoder removes the first space of a text.
///
/// ```
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let tokens = ["a", "b", "ab", ""].map(|token| token.as_bytes().to_vec());
/// let vocabulary = Vocabulary::from_tokens(tokens, &[(TokenId(3), "</s>")])?;
/// assert_eq!(vocabulary.token_bytes(TokenId(2)), Some(&b"ab"[..]));
/// assert_eq!(vocabulary.token_bytes(TokenId(3)), None);
/// assert_eq!(vocabulary.special_token("</s>"), Some(TokenId(3)));
/// # Ok::<(), structgen_vocab::VocabularyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The bytes of all tokens, ordered by id; `offsets` has one more entry than there are ids.
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    /// The strings of the tokens in the file, stored like `bytes`.
    names: String,
    name_offsets: Vec<u32>,
    /// The ids that have bytes.
    text: TokenMask,
    special: TokenMask,
    /// Hashed with a random key, as a [`NameMap`](crate::names::NameMap).
    specials_by_name: HashMap<Box<str>, TokenId>,
    byte_tokens: Box<[Option<TokenId>; 256]>,
    /// Built on first use: it may come from a file instead.
    trie: OnceLock<TokenTrie>,
    max_token_len: usize,
    fingerprint: [u8; 32],
}

/// A token as given by a file or a caller.
#[derive(Clone, Debug, Default)]
struct RawToken {
    name: String,
    bytes: Vec<u8>,
    special: bool,
}

/// The total size of some tokens. It is checked with each token, so that a list beyond the limits is never built.
#[derive(Default)]
struct TotalSize {
    bytes: usize,
    names: usize,
}

impl TotalSize {
    fn add(&mut self, token: &RawToken) -> Result<(), VocabularyError> {
        let (bytes, name) = (token.bytes.len(), token.name.len());
        check_size(
            "a token in bytes",
            bytes.max(name),
            Vocabulary::MAX_TOKEN_BYTES,
        )?;
        self.bytes += bytes;
        self.names += name;
        check_size(
            "all tokens in bytes",
            self.bytes.max(self.names),
            Vocabulary::MAX_TOTAL_BYTES,
        )
    }
}

impl Vocabulary {
    /// The maximum size of a tokenizer file: 128 MiB, several times the largest known one.
    pub const MAX_FILE_BYTES: u64 = 128 << 20;
    /// The maximum number of ids: 2,097,152, several times the largest known vocabulary.
    pub const MAX_TOKENS: usize = 1 << 21;
    /// The maximum length of the string of one token, in bytes.
    pub const MAX_TOKEN_BYTES: usize = 1024;
    /// The maximum total length of all tokens, in bytes.
    pub const MAX_TOTAL_BYTES: usize = 12 << 20;

    /// Reads the vocabulary of a Hugging Face `tokenizer.json`.
    ///
    /// Supports BPE and Unigram models, either byte-level (a `ByteLevel` decoder) or as in SentencePiece (`Metaspace`
    /// or `Replace`, with or without `ByteFallback`). Added tokens that are not special are text.
    ///
    /// # Errors
    /// If it is not a tokenizer file, contradicts itself, exceeds a limit, or uses a scheme that is not supported
    /// ([`VocabularyError::UnsupportedScheme`]).
    pub fn from_tokenizer_json(json: &[u8]) -> Result<Self, VocabularyError> {
        Self::from_file_parts(&TokenizerFile::<IgnoredAny>::parse(json)?)
    }

    /// Reads the vocabulary of any tokenizer file that [`Tokenizer::from_file`] reads.
    ///
    /// # Errors
    /// As [`from_tokenizer_json`](Self::from_tokenizer_json), and if the file cannot be read.
    ///
    /// [`Tokenizer::from_file`]: crate::Tokenizer::from_file
    pub fn from_tokenizer_file(path: impl AsRef<Path>) -> Result<Self, VocabularyError> {
        match source::read_other(path.as_ref())? {
            Some(file) => Self::from_file_parts(&file),
            None => Self::from_tokenizer_json(&read_limited(path.as_ref())?),
        }
    }

    /// Builds a vocabulary from a list; the ids are the indices.
    ///
    /// A special token replaces the token of the list at its id, and may lie beyond the end of the list. A token
    /// without bytes is a hole.
    ///
    /// # Errors
    /// If there are more tokens or bytes than the limits allow.
    pub fn from_tokens(
        tokens: impl IntoIterator<Item = Vec<u8>>,
        specials: &[(TokenId, &str)],
    ) -> Result<Self, VocabularyError> {
        let mut list = Vec::new();
        let mut total = TotalSize::default();
        for bytes in tokens {
            check_size("the token ids", list.len() + 1, Self::MAX_TOKENS)?;
            let token = RawToken {
                bytes,
                ..RawToken::default()
            };
            total.add(&token)?;
            list.push(token);
        }
        for &(id, name) in specials {
            check_size("the token ids", id.index() + 1, Self::MAX_TOKENS)?;
            if list.len() <= id.index() {
                list.resize_with(id.index() + 1, RawToken::default);
            }
            list[id.index()] = RawToken {
                name: name.to_owned(),
                bytes: Vec::new(),
                special: true,
            };
        }
        Self::build(list)
    }

    pub(crate) fn from_file_parts<M>(file: &TokenizerFile<M>) -> Result<Self, VocabularyError> {
        let scheme = scheme::detect(file)?;
        let mut names = model_names(&file.model)?;
        let specials = add_tokens(&mut names, &file.added_tokens)?;
        let mut list = Vec::new();
        let mut total = TotalSize::default();
        for (id, name) in names {
            check_size("a token in bytes", name.len(), Self::MAX_TOKEN_BYTES)?;
            list.resize_with(id.index(), RawToken::default);
            let special = specials.contains_key(&id);
            let bytes = if special {
                Vec::new()
            } else {
                scheme.token_bytes(name)
            };
            let token = RawToken {
                bytes,
                name: name.to_owned(),
                special,
            };
            total.add(&token)?;
            list.push(token);
        }
        Self::build(list)
    }

    /// Adapts the vocabulary to the number of the model's logits. Ids that only pad the logits are holes; special
    /// tokens beyond them, such as those for inputs that are not text, are dropped.
    ///
    /// # Errors
    /// If there are fewer logits than ids of text, or more than [`MAX_TOKENS`](Self::MAX_TOKENS).
    pub fn with_logits_len(mut self, logits: usize) -> Result<Self, VocabularyError> {
        check_size("the logits", logits, Self::MAX_TOKENS)?;
        if let Some(last) = self.text.iter().last().filter(|id| id.index() >= logits) {
            return Err(VocabularyError::LogitsTooNarrow { logits, last });
        }
        self.offsets.resize(logits + 1, self.bytes.len() as u32);
        self.name_offsets
            .resize(logits + 1, self.names.len() as u32);
        self.text = resized(&self.text, logits);
        self.special = resized(&self.special, logits);
        self.specials_by_name.retain(|_, id| id.index() < logits);
        self.fingerprint = self.compute_fingerprint();
        Ok(self)
    }

    /// Makes further tokens special: they keep their names and lose their bytes.
    ///
    /// This is for ids that a model's configuration names as its end of sequence but the tokenizer file does not mark.
    ///
    /// # Errors
    /// If the file has no token with one of the ids.
    pub fn with_special_tokens(self, ids: &[TokenId]) -> Result<Self, VocabularyError> {
        for &id in ids {
            if self.token_name(id).is_none() {
                return Err(VocabularyError::UnknownToken { id });
            }
        }
        if ids.iter().all(|&id| self.is_special(id)) {
            return Ok(self);
        }
        let mut specials = self.special.clone();
        specials.allow_all(ids);
        Self::build(
            (0..self.len() as u32)
                .map(TokenId)
                .map(|id| {
                    let special = specials.contains(id);
                    let bytes = self.token_bytes(id).filter(|_| !special);
                    RawToken {
                        name: self.token_name(id).unwrap_or_default().to_owned(),
                        bytes: bytes.unwrap_or_default().to_vec(),
                        special,
                    }
                })
                .collect(),
        )
    }

    fn build(list: Vec<RawToken>) -> Result<Self, VocabularyError> {
        check_size("the token ids", list.len(), Self::MAX_TOKENS)?;
        let mut vocabulary = Self {
            bytes: Vec::new(),
            offsets: vec![0],
            names: String::new(),
            name_offsets: vec![0],
            text: TokenMask::new(list.len()),
            special: TokenMask::new(list.len()),
            specials_by_name: HashMap::new(),
            byte_tokens: Box::new([None; 256]),
            trie: OnceLock::new(),
            max_token_len: 0,
            fingerprint: [0; 32],
        };
        let mut total = TotalSize::default();
        for (id, token) in (0..).map(TokenId).zip(&list) {
            total.add(token)?;
            vocabulary.bytes.extend_from_slice(&token.bytes);
            vocabulary.names.push_str(&token.name);
            vocabulary.offsets.push(vocabulary.bytes.len() as u32);
            vocabulary.name_offsets.push(vocabulary.names.len() as u32);
            if token.special {
                vocabulary.special.allow(id);
                // Of two special tokens with the same name, the first one is found.
                vocabulary
                    .specials_by_name
                    .entry(token.name.as_str().into())
                    .or_insert(id);
            } else if !token.bytes.is_empty() {
                vocabulary.text.allow(id);
            }
            if let [byte] = token.bytes[..] {
                vocabulary.byte_tokens[usize::from(byte)].get_or_insert(id);
            }
        }
        let lengths = vocabulary.tokens().map(|(_, bytes)| bytes.len());
        vocabulary.max_token_len = lengths.max().unwrap_or(0);
        vocabulary.fingerprint = vocabulary.compute_fingerprint();
        Ok(vocabulary)
    }

    /// The number of ids, including holes and padding: the width of masks and logits.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of an ordinary token; `None` for special tokens, holes and ids beyond the width.
    ///
    /// Never empty: decoding would not advance on a token that adds nothing to a text.
    #[inline]
    #[must_use]
    pub fn token_bytes(&self, id: TokenId) -> Option<&[u8]> {
        let start = *self.offsets.get(id.index())? as usize;
        let end = *self.offsets.get(id.index() + 1)? as usize;
        (start < end).then(|| &self.bytes[start..end])
    }

    /// All ordinary tokens with their bytes, ordered by id.
    pub fn tokens(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        self.text
            .iter()
            .filter_map(|id| Some((id, self.token_bytes(id)?)))
    }

    /// The ordinary tokens as a mask, which is the token mask of a grammar that allows any text.
    #[must_use]
    pub fn text_tokens(&self) -> &TokenMask {
        &self.text
    }

    /// Whether the id is that of a special token.
    #[inline]
    #[must_use]
    pub fn is_special(&self, id: TokenId) -> bool {
        self.special.contains(id)
    }

    /// The special tokens with their names, ordered by id.
    pub fn special_tokens(&self) -> impl Iterator<Item = (TokenId, &str)> {
        self.special
            .iter()
            .filter_map(|id| Some((id, self.token_name(id)?)))
    }

    /// The special token with a name, such as `<|endoftext|>`.
    #[must_use]
    pub fn special_token(&self, name: &str) -> Option<TokenId> {
        self.specials_by_name.get(name).copied()
    }

    /// A token's string in the file, such as `Ġhello`; `None` for holes, and for ordinary tokens of a vocabulary that
    /// was built from a list.
    #[must_use]
    pub fn token_name(&self, id: TokenId) -> Option<&str> {
        let start = *self.name_offsets.get(id.index())? as usize;
        let end = *self.name_offsets.get(id.index() + 1)? as usize;
        (start < end).then(|| &self.names[start..end])
    }

    /// For every byte, the lowest id of the tokens that consist of that byte.
    ///
    /// If all 256 exist, every byte string can be spelled. A byte without such a token only occurs within longer
    /// tokens.
    #[inline]
    #[must_use]
    pub fn byte_tokens(&self) -> &[Option<TokenId>; 256] {
        &self.byte_tokens
    }

    /// The ordinary tokens as a trie. The first call builds it.
    #[inline]
    #[must_use]
    pub fn trie(&self) -> &TokenTrie {
        self.trie
            .get_or_init(|| TokenTrie::from_tokens(self.tokens()))
    }

    /// Adopts a trie that was loaded from a file, so that it need not be built. Checks in one pass that it is the trie
    /// of the ordinary tokens; if not, changes nothing and returns `false`.
    #[must_use]
    pub fn adopt_trie(&self, trie: TokenTrie) -> bool {
        let fits = trie.is_of(self.text.count(), |id| self.token_bytes(id));
        if fits {
            // A trie that was already built is equal.
            self.trie.get_or_init(|| trie);
        }
        fits
    }

    /// The length of the longest token, in bytes.
    #[must_use]
    pub fn max_token_len(&self) -> usize {
        self.max_token_len
    }

    /// A SHA-256 of the width, the bytes of every token and the names of the special ones.
    ///
    /// Vocabularies with the same fingerprint have the same masks, so it can be a key of caches.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    fn compute_fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"structgen vocabulary 1\0");
        hash.update((self.len() as u64).to_le_bytes());
        for id in (0..self.len() as u32).map(TokenId) {
            let (kind, content) = if self.is_special(id) {
                (2, self.token_name(id).unwrap_or_default().as_bytes())
            } else {
                let bytes = self.token_bytes(id).unwrap_or_default();
                (u8::from(!bytes.is_empty()), bytes)
            };
            hash.update([kind]);
            // The length keeps two tokens from being read as one.
            hash.update((content.len() as u32).to_le_bytes());
            hash.update(content);
        }
        hash.finalize().into()
    }
}

fn resized(mask: &TokenMask, len: usize) -> TokenMask {
    let mut resized = TokenMask::new(len);
    for id in mask.iter().filter(|id| id.index() < len) {
        resized.allow(id);
    }
    resized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(tokens: &[&str], specials: &[(TokenId, &str)]) -> Vocabulary {
        let tokens = tokens.iter().map(|token| token.as_bytes().to_vec());
        Vocabulary::from_tokens(tokens, specials).unwrap()
    }

    #[test]
    fn holes_and_special_tokens_have_no_bytes() {
        let vocabulary = vocabulary(
            &["a", "", "b", "</s>"],
            &[(TokenId(3), "eos"), (TokenId(6), "pad")],
        );
        assert_eq!(vocabulary.len(), 7);
        let ids: Vec<TokenId> = vocabulary.tokens().map(|(id, _)| id).collect();
        assert_eq!(ids, [TokenId(0), TokenId(2)]);
        for id in [1, 3, 4, 5, 6, 7, u32::MAX].map(TokenId) {
            assert_eq!(vocabulary.token_bytes(id), None);
            assert!(!vocabulary.text_tokens().contains(id));
        }
        assert_eq!(vocabulary.trie().find(b"</s>"), None);
        assert_eq!(vocabulary.special_token("eos"), Some(TokenId(3)));
        assert_eq!(vocabulary.special_token("a"), None);
        assert_eq!(vocabulary.token_name(TokenId(6)), Some("pad"));
        assert_eq!(vocabulary.token_name(TokenId(0)), None);
    }

    #[test]
    fn tokens_with_the_same_bytes_are_all_kept() {
        let vocabulary = vocabulary(&["x", "a", "a"], &[]);
        let a = vocabulary.trie().child(TokenTrie::ROOT, b'a').unwrap();
        assert_eq!(vocabulary.trie().tokens(a), [TokenId(1), TokenId(2)]);
        assert_eq!(
            vocabulary.byte_tokens()[usize::from(b'a')],
            Some(TokenId(1))
        );
    }

    #[test]
    fn fingerprints_tell_vocabularies_apart() {
        let all = [
            vocabulary(&["ab", "c"], &[]),
            vocabulary(&["a", "bc"], &[]),
            vocabulary(&["c", "ab"], &[]),
            vocabulary(&["ab", "c", ""], &[]),
            vocabulary(&["ab", ""], &[(TokenId(1), "c")]),
            vocabulary(&["ab", ""], &[(TokenId(1), "d")]),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                assert_ne!(a.fingerprint(), b.fingerprint());
            }
            assert_eq!(a.fingerprint(), a.clone().fingerprint());
        }
    }

    #[test]
    fn a_vocabulary_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Vocabulary>();
        shared::<crate::Tokenizer>();
    }
}

//! The pipeline of the `tokenizers` crate, built from a checked file.
//!
//! The crate could load the file itself, with three problems. It renumbers added tokens, so their ids differ from the
//! file's wherever the model's ids have holes. Its models match the names of special tokens in the model's own
//! vocabulary, even if told to ignore special tokens. And it reads a large file through a tree of JSON values, which
//! takes most of the time. So the model is built here without its special tokens, with dense ids, and ids are
//! translated at the boundary.

use super::added::AddedTokens;
use super::charsmap::Map;
use super::least::LeastTokens;
use super::{charsmap, limits, patterns};
use crate::error::shorten_middle;
use crate::file::{AddedToken, Merge, Merges, Model, Pieces, TokenizerFile};
use crate::names::checked_id;
use crate::{TokenId, TokenizerError, Vocabulary};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::unigram::Unigram;
use tokenizers::{
    DecoderWrapper, Model as _, ModelWrapper, NormalizedString, Normalizer as _, NormalizerWrapper,
    OffsetType, PostProcessorWrapper, PreTokenizer as _, PreTokenizerWrapper, TokenizerImpl,
};

type Inner = TokenizerImpl<
    ModelWrapper,
    NormalizerWrapper,
    PreTokenizerWrapper,
    PostProcessorWrapper,
    DecoderWrapper,
>;

/// Encodes and decodes.
pub(super) struct Pipeline {
    /// Contains all added tokens, for decoding.
    inner: Inner,
    added: AddedTokens,
    /// The vocabulary's id for each id of `inner`.
    ids: Vec<TokenId>,
    /// For decoding: the id of `inner` for each id of the vocabulary.
    inner_ids: FxHashMap<TokenId, u32>,
    /// Added before every text that is not empty.
    text_prefix: Option<&'static str>,
    /// Applied before the normaliser of `inner`.
    charsmap: Option<Map>,
    least: Option<LeastTokens>,
}

/// The normalisation of a text, before it is split into tokens.
#[derive(Clone, Copy)]
pub(super) struct Normalization<'p> {
    charsmap: Option<&'p Map>,
    steps: Option<&'p NormalizerWrapper>,
}

impl Normalization<'_> {
    pub(super) fn apply(self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        if let Some(map) = self.charsmap {
            map.normalize(text);
        }
        match self.steps {
            Some(steps) => steps.normalize(text),
            None => Ok(()),
        }
    }
}

pub(super) fn build(
    file: TokenizerFile<Merges>,
    vocabulary: &Vocabulary,
) -> Result<Pipeline, TokenizerError> {
    check_steps(&file)?;
    let least = LeastTokens::of(&file, vocabulary);
    let charsmap = match file.charsmap.map(|map| Map::read(&map)) {
        Some(None) => {
            return Err(TokenizerError::Pipeline {
                pointer: "/normalizer",
                message: "the compiled character map is broken".to_owned(),
            });
        }
        map => map.flatten(),
    };
    let normalizer: Option<NormalizerWrapper> = part(file.normalizer, "/normalizer")?;
    let pre_tokenizer: Option<PreTokenizerWrapper> = part(file.pre_tokenizer, "/pre_tokenizer")?;
    let decoder: Option<DecoderWrapper> = part(file.decoder, "/decoder")?;
    let (model, ids) = build_model(file.model, vocabulary)?;
    let added: Vec<_> = file.added_tokens.iter().map(added_token).collect();
    let inner = guarded(|| {
        let mut inner = TokenizerImpl::new(model);
        inner.with_normalizer(normalizer);
        inner.with_pre_tokenizer(pre_tokenizer);
        inner.with_decoder(decoder);
        inner.add_tokens(&added);
        Ok(inner)
    })
    .map_err(|message| TokenizerError::Pipeline {
        pointer: "/added_tokens",
        message,
    })?;
    let mut pipeline = Pipeline::new(inner, ids, &file.added_tokens, charsmap)?;
    pipeline.text_prefix = file.text_prefix;
    pipeline.least = least;
    Ok(pipeline)
}

/// Refuses a normaliser and a pre-tokenizer that are broken, far too large, or lengthen texts too much.
fn check_steps(file: &TokenizerFile<Merges>) -> Result<(), TokenizerError> {
    let normalizer = limits::check(&file.normalizer, "/normalizer")?;
    let pre_tokenizer = limits::check(&file.pre_tokenizer, "/pre_tokenizer")?;
    patterns::check(&file.normalizer)?;
    let maps = charsmap::check(&file.normalizer).map_err(|message| TokenizerError::Pipeline {
        pointer: "/normalizer",
        message,
    })?;
    let normalizer = normalizer.saturating_mul(maps);
    limits::check_growth(normalizer, "/normalizer")?;
    limits::check_growth(normalizer.saturating_mul(pre_tokenizer), "/pre_tokenizer")
}

impl Pipeline {
    fn new(
        inner: Inner,
        mut ids: Vec<TokenId>,
        added: &[AddedToken],
        charsmap: Option<Map>,
    ) -> Result<Self, TokenizerError> {
        let mut known = Vec::with_capacity(added.len());
        for token in added {
            if token.content.is_empty() {
                continue;
            }
            let Some(inner_id) = inner.token_to_id(&token.content) else {
                continue;
            };
            let index = inner_id as usize;
            if ids.len() <= index {
                ids.resize(index + 1, TokenId(u32::MAX));
            }
            ids[index] = checked_id(token.id)?;
            known.push((token, inner_id));
        }
        let normalization = Normalization {
            charsmap: charsmap.as_ref(),
            steps: inner.get_normalizer(),
        };
        let added = guarded(|| AddedTokens::new(&known, normalization)).map_err(|message| {
            TokenizerError::Pipeline {
                pointer: "/added_tokens",
                message,
            }
        })?;
        // If a token is both in the model and added, the added one comes later and is used.
        let inner_ids = ids.iter().copied().zip(0..).collect();
        Ok(Self {
            inner,
            added,
            ids,
            inner_ids,
            text_prefix: None,
            charsmap,
            least: None,
        })
    }

    /// Returns a number of tokens that a text has at least; zero if none is known.
    pub(super) fn least_tokens(&self, text: &str) -> usize {
        self.least.map_or(0, |least| least.count(text))
    }

    /// Encodes a text; special tokens are found in the trusted ranges only.
    pub(super) fn encode(
        &self,
        text: &str,
        trusted: &[Range<usize>],
    ) -> Result<Vec<TokenId>, TokenizerError> {
        match self.text_prefix {
            Some(prefix) if !text.is_empty() => {
                let by = prefix.len();
                let trusted = trusted.iter().map(|range| range.start + by..range.end + by);
                self.encode_whole(&[prefix, text].concat(), &trusted.collect::<Vec<_>>())
            }
            _ => self.encode_whole(text, trusted),
        }
    }

    fn encode_whole(
        &self,
        text: &str,
        trusted: &[Range<usize>],
    ) -> Result<Vec<TokenId>, TokenizerError> {
        let normalization = Normalization {
            charsmap: self.charsmap.as_ref(),
            steps: self.inner.get_normalizer(),
        };
        let encoding = guarded(|| {
            let mut pieces = self.added.split(text, trusted, normalization)?;
            if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
                pre_tokenizer.pre_tokenize(&mut pieces)?;
            }
            pieces.tokenize(|piece| self.inner.get_model().tokenize(piece.get()))?;
            pieces.into_encoding(None, 0, OffsetType::None)
        })
        .map_err(|message| TokenizerError::Encode { message })?;
        let ids = encoding.get_ids().iter();
        Ok(ids.map(|&id| self.ids[id as usize]).collect())
    }

    pub(super) fn decode(
        &self,
        ids: &[TokenId],
        skip_special: bool,
    ) -> Result<String, TokenizerError> {
        let ids: Vec<u32> = ids
            .iter()
            .filter_map(|id| self.inner_ids.get(id).copied())
            .collect();
        guarded(|| self.inner.decode(&ids, skip_special))
            .map_err(|message| TokenizerError::Decode { message })
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("ids", &self.ids.len())
            .finish_non_exhaustive()
    }
}

/// Calls into the `tokenizers` crate and turns panics into errors.
///
/// Known causes of panics (prefixes, templates, truncation, compiled character maps) are checked beforehand. This is
/// the last resort for unknown ones, since a tokenizer file is untrusted input. It has no effect in a build that aborts
/// on panics.
fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(shorten_middle(&error.to_string())),
        Err(_) => Err("this part of the file is broken".to_owned()),
    }
}

fn part<T: DeserializeOwned>(
    value: Value,
    pointer: &'static str,
) -> Result<Option<T>, TokenizerError> {
    guarded(|| Ok(serde_json::from_value(value)?))
        .map_err(|message| TokenizerError::Pipeline { pointer, message })
}

fn added_token(token: &AddedToken) -> tokenizers::AddedToken {
    tokenizers::AddedToken::from(token.content.clone(), token.special)
        .single_word(token.single_word)
        .lstrip(token.lstrip)
        .rstrip(token.rstrip)
        .normalized(token.normalized)
}

/// Builds the model without its special tokens; also returns the vocabulary's ids of its tokens.
fn build_model(
    model: Model<Merges>,
    vocabulary: &Vocabulary,
) -> Result<(ModelWrapper, Vec<TokenId>), TokenizerError> {
    let built = match model.vocab {
        Pieces::Scores(pieces) => {
            let (pieces, ids, unk_id) = kept_pieces(pieces, model.unk_id, vocabulary)?;
            let byte_fallback = model.byte_fallback == Some(true);
            guarded(|| Unigram::from(pieces, unk_id, byte_fallback))
                .map(|unigram| (ModelWrapper::Unigram(unigram), ids))
        }
        Pieces::Ids(_) | Pieces::Missing => {
            return build_bpe(model, vocabulary);
        }
    };
    built.map_err(|message| TokenizerError::Pipeline {
        pointer: "/model/vocab",
        message,
    })
}

/// A name that models never match: the unknown token keeps its index under it.
const NO_TEXT: &str = "";

type KeptPieces = (Vec<(String, f64)>, Vec<TokenId>, Option<usize>);

fn kept_pieces(
    pieces: Vec<(String, f64)>,
    unk_id: Option<u64>,
    vocabulary: &Vocabulary,
) -> Result<KeptPieces, TokenizerError> {
    // The trie of such a model has a hash map for each byte.
    const MAX_BYTES: usize = 4 << 20;
    let total: usize = pieces.iter().map(|(name, _)| name.len()).sum();
    if total > MAX_BYTES {
        return Err(TokenizerError::Pipeline {
            pointer: "/model/vocab",
            message: format!("{total} bytes of tokens, and at most {MAX_BYTES} are accepted"),
        });
    }
    let unk_id = unk_id.map(checked_id).transpose()?;
    let mut kept = Vec::with_capacity(pieces.len());
    let mut ids = Vec::with_capacity(pieces.len());
    let mut new_unk = None;
    for ((name, score), id) in pieces.into_iter().zip((0..).map(TokenId)) {
        let special = vocabulary.is_special(id);
        if unk_id == Some(id) {
            new_unk = Some(kept.len());
        } else if special || name.is_empty() {
            continue;
        }
        kept.push((if special { NO_TEXT.to_owned() } else { name }, score));
        ids.push(id);
    }
    if unk_id.is_some() && new_unk.is_none() {
        return Err(TokenizerError::Pipeline {
            pointer: "/model/unk_id",
            message: "there is no such token".to_owned(),
        });
    }
    Ok((kept, ids, new_unk))
}

fn build_bpe(
    model: Model<Merges>,
    vocabulary: &Vocabulary,
) -> Result<(ModelWrapper, Vec<TokenId>), TokenizerError> {
    let error = |pointer, message: String| TokenizerError::Pipeline { pointer, message };
    if model.dropout.is_some_and(|dropout| dropout != 0.0) {
        let message = "merge dropout makes the encoding random".to_owned();
        return Err(error("/model/dropout", message));
    }
    let Pieces::Ids(pieces) = model.vocab else {
        let message = "a BPE model maps tokens to ids".to_owned();
        return Err(error("/model/vocab", message));
    };
    let mut unk_token = model.unk_token;
    let mut vocab = Vocab::default();
    vocab.reserve(pieces.len());
    let mut ids = Vec::with_capacity(pieces.len());
    for (name, id) in pieces {
        let id = checked_id(id)?;
        let special = vocabulary.is_special(id);
        let name = if special && unk_token.as_ref() == Some(&name) {
            unk_token = Some(NO_TEXT.to_owned());
            NO_TEXT.to_owned()
        } else if special || name.is_empty() {
            continue;
        } else {
            name
        };
        vocab.insert(name, ids.len() as u32);
        ids.push(id);
    }
    // Merges from or to a special token would name a token that is missing.
    let is_special = |name: &str| vocabulary.special_token(name).is_some();
    let merges = model
        .merges
        .unwrap_or_default()
        .0
        .into_iter()
        .filter(|Merge(a, b)| !is_special(a) && !is_special(b) && !is_special(&format!("{a}{b}")))
        .map(|Merge(a, b)| (a, b))
        .collect();
    let mut builder = BPE::builder()
        .vocab_and_merges(vocab, merges)
        .fuse_unk(model.fuse_unk == Some(true))
        .byte_fallback(model.byte_fallback == Some(true))
        .ignore_merges(model.ignore_merges == Some(true));
    if let Some(unk_token) = unk_token {
        builder = builder.unk_token(unk_token);
    }
    let bpe = guarded(|| builder.build()).map_err(|message| error("/model/merges", message))?;
    Ok((ModelWrapper::BPE(bpe), ids))
}

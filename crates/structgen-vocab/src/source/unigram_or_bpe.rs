//! Converts a SentencePiece model to a tokenizer.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::config::{Config, plain};
use super::merges;
use super::sentencepiece::{Kind, Model, Role};
use crate::VocabularyError;
use crate::file::{self, AddedToken, Merges, Pieces, TokenizerFile};
use crate::names::NameMap;

/// The tokenizers whose ids are those of their pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The model alone, without tokens around a text.
    Plain,
    /// Llama and Gemma: a token for the beginning before a text.
    Llama,
    /// T5: the end of sequence after a text, and tokens `<extra_id_0>` and so on after the pieces.
    T5,
}

impl Class {
    fn of(config: &Config) -> Result<Self, VocabularyError> {
        match (config.class(), config.model_type()) {
            (Some("LlamaTokenizer" | "CodeLlamaTokenizer" | "GemmaTokenizer"), _) => {
                Ok(Self::Llama)
            }
            (Some("T5Tokenizer" | "MT5Tokenizer"), _) => Ok(Self::T5),
            (Some(class), _) => Err(unknown("/tokenizer_class", class)),
            (None, None) => Ok(Self::Plain),
            (
                None,
                Some(
                    "llama" | "mistral" | "mixtral" | "gemma" | "gemma2" | "gemma3" | "gemma3_text",
                ),
            ) => Ok(Self::Llama),
            (None, Some("t5" | "mt5" | "umt5" | "longt5")) => Ok(Self::T5),
            (None, Some(model_type)) => Err(unknown("/model_type", model_type)),
        }
    }
}

fn unknown(pointer: &str, class: &str) -> VocabularyError {
    VocabularyError::unsupported(
        pointer,
        class,
        "the ids of such a tokenizer may be others than those of its SentencePiece model; save it as a tokenizer.json: \
         AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
    )
}

/// The number of T5's extra tokens if its configuration names none, and the maximum number.
const EXTRA_IDS: u64 = 100;
const MOST_EXTRA_IDS: u64 = 10_000;

/// SentencePiece's mark for a space.
const SPACE: &str = "▁";

pub(super) fn tokenizer(
    mut model: Model,
    config: &Config,
) -> Result<TokenizerFile<Merges>, VocabularyError> {
    let class = Class::of(config)?;
    let has_symbols = { model.pieces.iter() }.any(|piece| piece.role == Role::UserDefined);
    if has_symbols && model.removes_spaces {
        return Err(VocabularyError::unsupported(
            "remove_extra_whitespaces",
            true,
            "a model with symbols of its own keeps the spaces beside them and no others, which is not understood",
        ));
    }
    let added_tokens = added_tokens(&model, class, config)?;
    let prefix = config
        .flag("add_prefix_space")
        .unwrap_or(model.dummy_prefix);
    // With `legacy` off, the mark is put before a text and not again after each added token. SentencePiece itself knows
    // user-defined symbols, and puts no mark after them.
    let prefix = match (prefix, has_symbols || config.flag("legacy") == Some(false)) {
        (false, _) => Prefix::None,
        (true, true) => Prefix::OfText,
        (true, false) => Prefix::OfPieces,
    };
    let affixes = Affixes::of(class, config, &added_tokens);
    Ok(TokenizerFile {
        version: None,
        normalizer: normalizer(&model, prefix),
        pre_tokenizer: Value::Null,
        text_prefix: (prefix == Prefix::OfText).then_some(SPACE),
        charsmap: (!model.charsmap.is_empty()).then(|| std::mem::take(&mut model.charsmap)),
        post_processor: affixes.template(),
        decoder: decoder(&model, prefix),
        model: file_model(model)?,
        added_tokens,
    })
}

/// Where a space is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    None,
    /// Before the text.
    OfText,
    /// Before each part between added tokens.
    OfPieces,
}

/// Control symbols, user-defined symbols, and the tokens that the configuration adds.
fn added_tokens(
    model: &Model,
    class: Class,
    config: &Config,
) -> Result<Vec<AddedToken>, VocabularyError> {
    let ids: NameMap<'_, u64> = { model.pieces.iter().zip(0..) }
        .map(|(piece, id)| (&*piece.text, id))
        .collect();
    let configured = config.added_tokens(|name| ids.get(name).copied())?;
    let configured_ids: HashSet<u64> = configured.iter().map(|token| token.id).collect();
    let mut tokens: Vec<AddedToken> = { model.pieces.iter().zip(0..) }
        .filter(|(piece, _)| {
            matches!(
                piece.role,
                Role::Unknown | Role::Control | Role::UserDefined
            )
        })
        .filter(|(_, id)| !configured_ids.contains(id))
        .map(|(piece, id)| plain(id, &piece.text, piece.role != Role::UserDefined))
        .collect();
    tokens.extend(configured);
    if class == Class::T5 && !config.lists_added() {
        let count = config.number("extra_ids").unwrap_or(EXTRA_IDS);
        if count > MOST_EXTRA_IDS {
            return Err(VocabularyError::unsupported(
                "/extra_ids",
                count,
                "at most 10000 are added",
            ));
        }
        let last = model.pieces.len() as u64 + count;
        let extra = (0..count).map(|i| plain(last - 1 - i, &format!("<extra_id_{i}>"), true));
        tokens.extend(extra);
    }
    Ok(tokens)
}

/// The tokens that a class puts around a text, by name and id.
struct Affixes {
    before: Option<(String, u64)>,
    after: Option<(String, u64)>,
}

impl Affixes {
    fn of(class: Class, config: &Config, added: &[AddedToken]) -> Self {
        let token = |field: &str, usual: &str| {
            let name = config.token(field).unwrap_or(usual);
            let found = added.iter().find(|token| token.content == name)?;
            Some((name.to_owned(), found.id))
        };
        let is_on = |flag: &str, usual: bool| config.flag(flag).unwrap_or(usual);
        let (begins, ends) = match class {
            Class::Plain => (false, false),
            Class::Llama => (is_on("add_bos_token", true), is_on("add_eos_token", false)),
            Class::T5 => (false, true),
        };
        Self {
            before: token("bos_token", "<s>").filter(|_| begins),
            after: token("eos_token", "</s>").filter(|_| ends),
        }
    }

    fn template(&self) -> Value {
        let special =
            |(name, _): &(String, u64)| json!({"SpecialToken": {"id": name, "type_id": 0}});
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let parts = { self.before.iter().map(special) }
            .chain([text])
            .chain(self.after.iter().map(special));
        let ids = self.before.iter().chain(&self.after);
        let ids = ids.map(|(name, id)| {
            (
                name.clone(),
                json!({"id": name, "ids": [id], "tokens": [name]}),
            )
        });
        json!({
            "type": "TemplateProcessing",
            "single": parts.collect::<Vec<_>>(),
            "pair": [],
            "special_tokens": ids.collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn normalizer(model: &Model, prefix: Prefix) -> Value {
    let replace = |pattern: Value, content: &str| json!({"type": "Replace", "pattern": pattern, "content": content});
    let mut steps = Vec::new();
    if model.removes_spaces {
        // The mark before a text is not a space of the text.
        steps.push(replace(json!({"Regex": "^ +|(?<=^▁) +| +$"}), ""));
        steps.push(replace(json!({"Regex": " {2,}"}), " "));
    }
    if prefix == Prefix::OfPieces {
        steps.push(json!({"type": "Prepend", "prepend": SPACE}));
    }
    steps.push(replace(json!({"String": " "}), SPACE));
    json!({"type": "Sequence", "normalizers": steps})
}

fn decoder(model: &Model, prefix: Prefix) -> Value {
    let mut steps = vec![json!({"type": "Replace", "pattern": {"String": SPACE}, "content": " "})];
    if model.byte_fallback {
        steps.push(json!({"type": "ByteFallback"}));
    }
    steps.push(json!({"type": "Fuse"}));
    if prefix != Prefix::None {
        steps.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    json!({"type": "Sequence", "decoders": steps})
}

fn file_model(model: Model) -> Result<file::Model<Merges>, VocabularyError> {
    let empty = file::Model {
        kind: None,
        vocab: Pieces::Missing,
        merges: None,
        dropout: None,
        unk_token: None,
        unk_id: None,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
        fuse_unk: Some(true),
        byte_fallback: Some(model.byte_fallback),
        ignore_merges: None,
    };
    Ok(match model.kind {
        Kind::Unigram => file::Model {
            kind: Some("Unigram".to_owned()),
            unk_id: Some(model.unknown as u64),
            vocab: Pieces::Scores(scores(model)),
            ..empty
        },
        Kind::Bpe => {
            // Pieces that are not text are never merged.
            let texts = { model.pieces.iter().zip(0..) }
                .filter(|(piece, _)| matches!(piece.role, Role::Normal | Role::UserDefined))
                .map(|(piece, id)| (&*piece.text, id, piece.score));
            file::Model {
                kind: Some("BPE".to_owned()),
                merges: Some(merges::of_scores(texts)?),
                unk_token: Some(model.pieces[model.unknown].text.clone()),
                vocab: Pieces::Ids(
                    { model.pieces.into_iter().zip(0..) }
                        .map(|(piece, id)| (piece.text, id))
                        .collect(),
                ),
                ..empty
            }
        }
    })
}

/// The pieces of a Unigram model with their scores. Pieces that are not text get a score that is never preferred: a
/// text that equals the name of a byte is spelled by other pieces.
fn scores(model: Model) -> Vec<(String, f64)> {
    let normal = model
        .pieces
        .iter()
        .filter(|piece| piece.role == Role::Normal);
    let least = normal.map(|piece| piece.score).fold(0.0, f32::min);
    let pieces = model.pieces.into_iter();
    let scores = pieces.map(|piece| {
        let score = match piece.role {
            Role::Byte => least - 100.0,
            _ => piece.score,
        };
        (piece.text, f64::from(score))
    });
    scores.collect()
}

//! `vocab.json` with `merges.txt`: byte-level BPE, as GPT-2 introduced it.

use serde_json::{Value, json};

use super::config::{Config, plain};
use super::merges;
use crate::VocabularyError;
use crate::file::{AddedToken, Merges, Model, Pieces, TokenizerFile};
use crate::names::NameMap;

/// The tokenizers whose rules are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// GPT-2 and its descendants.
    Gpt2,
    /// Qwen2, which splits a text differently.
    Qwen2,
    /// RoBERTa and BART: GPT-2's tokenizer, with tokens around a text.
    Bart,
}

impl Class {
    fn of(config: &Config) -> Result<Self, VocabularyError> {
        match (config.class(), config.model_type()) {
            (Some("GPT2Tokenizer" | "CodeGenTokenizer"), _) => Ok(Self::Gpt2),
            (Some("Qwen2Tokenizer"), _) => Ok(Self::Qwen2),
            (Some("BartTokenizer" | "RobertaTokenizer"), _) => Ok(Self::Bart),
            (Some(class), _) => Err(unknown("/tokenizer_class", class)),
            (None, Some("gpt2" | "gpt_neo" | "gptj" | "codegen")) => Ok(Self::Gpt2),
            (None, Some("qwen2" | "qwen3" | "qwen2_moe" | "qwen3_moe")) => Ok(Self::Qwen2),
            (None, Some("bart" | "roberta")) => Ok(Self::Bart),
            (None, model_type) => Err(unknown("/model_type", model_type.unwrap_or("missing"))),
        }
    }
}

fn unknown(pointer: &str, class: &str) -> VocabularyError {
    VocabularyError::unsupported(
        pointer,
        class,
        "how such a tokenizer cuts a text is in neither vocab.json nor merges.txt; save it as a tokenizer.json: \
         AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
    )
}

/// The pattern by which Qwen2's tokenizer splits a text before merging.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(super) fn tokenizer(
    vocab: &[u8],
    merge_lines: &[u8],
    config: &Config,
) -> Result<TokenizerFile<Merges>, VocabularyError> {
    let class = Class::of(config)?;
    let vocab: Pieces =
        serde_json::from_slice(vocab).map_err(|error| VocabularyError::json(&error))?;
    let Pieces::Ids(pieces) = vocab else {
        return Err(VocabularyError::unsupported(
            "/",
            "a list",
            "a vocab.json maps tokens to ids",
        ));
    };
    let added_tokens = added_tokens(&pieces, class, config)?;
    let prefix = config.flag("add_prefix_space").unwrap_or(false);
    let byte_level = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": use_regex});
    Ok(TokenizerFile {
        version: None,
        text_prefix: None,
        charsmap: None,
        normalizer: match class {
            Class::Qwen2 => json!({"type": "NFC"}),
            Class::Gpt2 | Class::Bart => Value::Null,
        },
        pre_tokenizer: match class {
            Class::Qwen2 => json!({"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": false},
                byte_level(false),
            ]}),
            Class::Gpt2 | Class::Bart => byte_level(true),
        },
        post_processor: post_processor(class, config, &added_tokens),
        decoder: byte_level(true),
        model: Model {
            kind: Some("BPE".to_owned()),
            vocab: Pieces::Ids(pieces),
            merges: Some(merges::of_lines(merge_lines)?),
            dropout: None,
            unk_token: None,
            unk_id: None,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            fuse_unk: None,
            byte_fallback: None,
            ignore_merges: None,
        },
        added_tokens,
    })
}

/// The tokens that the configuration adds, and those of the class's own special tokens that the vocabulary contains.
fn added_tokens(
    pieces: &[(String, u64)],
    class: Class,
    config: &Config,
) -> Result<Vec<AddedToken>, VocabularyError> {
    let ids: NameMap<'_, u64> = { pieces.iter() }
        .map(|(piece, id)| (&**piece, *id))
        .collect();
    let id_of = |name: &str| ids.get(name).copied();
    let mut tokens = config.added_tokens(id_of)?;
    let own: &[&str] = match class {
        Class::Gpt2 | Class::Qwen2 => &["<|endoftext|>"],
        Class::Bart => &["<s>", "</s>", "<unk>", "<pad>", "<mask>"],
    };
    for name in own {
        if let Some(id) = id_of(name).filter(|id| tokens.iter().all(|token| token.id != *id)) {
            let mut token = plain(id, name, true);
            token.lstrip = *name == "<mask>";
            tokens.push(token);
        }
    }
    Ok(tokens)
}

fn post_processor(class: Class, config: &Config, added: &[AddedToken]) -> Value {
    let token = |field: &str, usual: &str| {
        let name = config.token(field).unwrap_or(usual);
        let found = added.iter().find(|token| token.content == name)?;
        Some((name.to_owned(), found.id))
    };
    match class {
        Class::Bart => match (token("cls_token", "<s>"), token("sep_token", "</s>")) {
            (Some(cls), Some(sep)) => json!({"type": "RobertaProcessing", "cls": cls, "sep": sep}),
            _ => Value::Null,
        },
        _ => match token("bos_token", "<|endoftext|>") {
            Some((name, id)) if config.flag("add_bos_token") == Some(true) => json!({
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [],
                "special_tokens": {&name: {"id": name, "ids": [id], "tokens": [name]}},
            }),
            _ => Value::Null,
        },
    }
}

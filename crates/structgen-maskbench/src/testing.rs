//! Tokenizers and cases for tests.

use serde_json::{Map, Value, json};
use structgen_vocab::Tokenizer;

use crate::{Case, Instance};

/// A tokenizer of single bytes and these merges, which works on whole texts.
pub(crate) fn tokenizer(merges: &[[&str; 2]]) -> Tokenizer {
    let letters = (0..=u8::MAX).map(|byte| letter(byte).to_string());
    let merged = merges.iter().map(|pair| pair.concat());
    let vocabulary: Map<String, Value> = letters
        .chain(merged)
        .enumerate()
        .map(|(id, token)| (token, id.into()))
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocabulary, "merges": merges,
        },
    });
    Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap()
}

/// The letter by which byte-level tokenizers name a byte.
fn letter(byte: u8) -> char {
    let is_plain = |byte| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_plain(byte) {
        return byte.into();
    }
    let others = (0..byte).filter(|&other| !is_plain(other)).count();
    char::from_u32(0x100 + u32::try_from(others).unwrap()).unwrap()
}

/// A case of instances, with whether each is valid.
pub(crate) fn case(schema: &Value, instances: &[(&str, bool)]) -> Case {
    let instance = |&(text, is_valid): &(&str, bool)| Instance {
        text: text.into(),
        is_valid,
    };
    Case {
        file: String::new(),
        schema: schema.clone(),
        schema_text: schema.to_string(),
        instances: instances.iter().map(instance).collect(),
    }
}

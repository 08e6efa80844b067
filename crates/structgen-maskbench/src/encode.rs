//! The tokens of a text, and of nothing else.

use structgen_vocab::{TokenId, Tokenizer, TokenizerError};

/// The tokens of a text. Some tokenizers (SentencePiece's) put a space before it, which is no part of a model's answer:
/// the text is then encoded after a line break, whose tokens are removed.
///
/// # Errors
/// When the tokenizer refuses the text.
pub fn encode_answer(tokenizer: &Tokenizer, text: &str) -> Result<Vec<TokenId>, TokenizerError> {
    let tokens = tokenizer.encode(text)?;
    if tokenizer.decode_bytes(&tokens) == text.as_bytes() {
        return Ok(tokens);
    }
    let after_break = tokenizer.encode(&format!("\n{text}"))?;
    let is_text = |&from: &usize| tokenizer.decode_bytes(&after_break[from..]) == text.as_bytes();
    // The break is one token or two at the front; if it is part of a token of the text, the space stays.
    Ok(match (0..after_break.len().min(8)).find(is_text) {
        Some(from) => after_break[from..].to_vec(),
        None => tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as SentencePiece has them, a space for each text, and bytes.
    const SPACED: &str = r#"{
        "model": {
            "type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "<unk>",
            "vocab": {"<unk>": 0, "▁": 1, "{": 2, "}": 3, "▁{": 4, "<0x0A>": 5, "a": 6},
            "merges": ["▁ {"]
        },
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        ]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        ]},
        "added_tokens": [], "pre_tokenizer": null, "post_processor": null
    }"#;

    #[test]
    fn a_space_that_the_tokenizer_puts_is_taken_off() {
        let tokenizer = Tokenizer::from_bytes(SPACED.as_bytes()).unwrap();
        let text = "{a}";
        let plain = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode_bytes(&plain), b" {a}");
        let answer = encode_answer(&tokenizer, text).unwrap();
        assert_eq!(tokenizer.decode_bytes(&answer), text.as_bytes());
        assert_eq!(answer, [2, 6, 3].map(TokenId));
    }
}

//! `tokenizer.json`: the bytes are the file.

use structgen_vocab::{Tokenizer, Vocabulary};

/// Reads a tokenizer and takes texts to tokens and back.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When the trie and the vocabulary disagree, or a token lies outside of the vocabulary.
pub fn tokenizer_json(data: &[u8]) -> bool {
    if let Ok(vocabulary) = Vocabulary::from_tokenizer_json(data) {
        for (id, bytes) in vocabulary.tokens() {
            if vocabulary.is_special(id) || bytes.is_empty() {
                continue;
            }
            let node = vocabulary.trie().find(bytes);
            let is_found = node.is_some_and(|node| vocabulary.trie().tokens(node).contains(&id));
            assert!(is_found, "the trie lacks {id:?}");
        }
    }
    Tokenizer::from_bytes(data).is_ok_and(|tokenizer| {
        look_at(&tokenizer);
        true
    })
}

/// Takes texts to tokens and back.
///
/// # Panics
/// When a token lies outside of the vocabulary.
pub(crate) fn look_at(tokenizer: &Tokenizer) {
    let len = tokenizer.vocabulary().len();
    for text in [
        "",
        "Hello, world",
        " ü日😀\n\t\u{0}",
        "<s></s><|endoftext|>",
    ] {
        if let Ok(tokens) = tokenizer.encode(text) {
            assert!(tokens.iter().all(|token| token.index() < len));
            // Whatever they return, they return.
            let _ = tokenizer.decode_bytes(&tokens);
            let _ = tokenizer.decode(&tokens, true);
        }
    }
}

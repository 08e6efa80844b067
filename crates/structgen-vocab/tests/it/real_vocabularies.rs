//! The vocabularies of real tokenizers, and of one like SentencePiece's, compared with decoding by the `tokenizers`
//! crate.

use crate::support::real_tokenizer;
use structgen_vocab::{TokenId, TokenTrie, Vocabulary};

struct Real {
    vocabulary: Vocabulary,
    reference: tokenizers::Tokenizer,
}

fn load(name: &str) -> Option<Real> {
    real_tokenizer(name).map(|json| Real::new(&json))
}

impl Real {
    fn new(json: &[u8]) -> Self {
        Self {
            vocabulary: Vocabulary::from_tokenizer_json(json).unwrap(),
            reference: tokenizers::Tokenizer::from_bytes(json).unwrap(),
        }
    }

    fn decode(&self, ids: &[TokenId]) -> String {
        let ids: Vec<u32> = ids.iter().map(|id| id.0).collect();
        self.reference.decode(&ids, false).unwrap()
    }

    /// Single-byte tokens before and after a token that complete its characters: a decoder reports nothing about the
    /// bytes of a broken character.
    fn completed(&self, bytes: &[u8]) -> Option<(Vec<TokenId>, Vec<TokenId>)> {
        const BEFORE: [&[u8]; 11] = [
            b"",
            &[0xC2],
            &[0xE1],
            &[0xE1, 0x80],
            &[0xF1],
            &[0xF1, 0x80],
            &[0xF1, 0x80, 0x80],
            &[0xE0],
            &[0xED],
            &[0xF0],
            &[0xF4],
        ];
        const AFTER: [&[u8]; 8] = [
            b"",
            &[0x80],
            &[0x80, 0x80],
            &[0x80, 0x80, 0x80],
            &[0xA0],
            &[0xA0, 0x80],
            &[0x90, 0x80],
            &[0x90, 0x80, 0x80],
        ];
        let ids = |bytes: &[u8]| -> Vec<TokenId> {
            let tokens = bytes
                .iter()
                .map(|&b| self.vocabulary.byte_tokens()[usize::from(b)]);
            tokens.map(Option::unwrap).collect()
        };
        BEFORE.iter().find_map(|before| {
            let after = AFTER
                .iter()
                .find(|after| std::str::from_utf8(&[before, bytes, after].concat()).is_ok())?;
            Some((ids(before), ids(after)))
        })
    }

    /// The bytes of every token are what it adds to a text. Returns the number of bytes that occur in no character at
    /// all, which decoding cannot check.
    fn check_bytes_in_context(&self) -> usize {
        let context = self.vocabulary.trie().find(b"x").unwrap();
        // The later one of `<0x78>` and `x`: a run of byte tokens decodes as one.
        let context = *self.vocabulary.trie().tokens(context).last().unwrap();
        assert_eq!(self.decode(&[context]), "x");
        let mut undecidable = 0;
        for (id, bytes) in self.vocabulary.tokens() {
            let Some((before, after)) = self.completed(bytes) else {
                undecidable += 1;
                assert_eq!(bytes.len(), 1, "token {id}: {bytes:?}");
                assert_eq!(self.decode(&[context, id]), "x\u{FFFD}");
                continue;
            };
            let ids: Vec<TokenId> = [&[context][..], &before, &[id], &after].concat();
            let spelled: Vec<u8> = ids
                .iter()
                .flat_map(|&id| self.vocabulary.token_bytes(id).unwrap())
                .copied()
                .collect();
            assert_eq!(
                self.decode(&ids).as_bytes(),
                spelled,
                "token {id} {:?}",
                self.vocabulary.token_name(id)
            );
        }
        undecidable
    }
}

#[test]
fn bytes_are_the_decoding_in_context_of_the_embedded_tokenizer() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../structgen-model/assets/main/tokenizer.json"
    );
    let real = Real::new(&std::fs::read(file).unwrap());
    assert_eq!(real.vocabulary.special_tokens().count(), 5);
    assert_eq!(real.check_bytes_in_context(), 13);
}

/// A tokenizer as SentencePiece's with byte fallback: bytes as `<0x41>`, and spaces as `▁`.
#[test]
fn bytes_are_the_decoding_in_context_with_byte_fallback() {
    let bytes = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>"));
    let pieces = [
        "x", "a", "b", "ab", "▁", "▁▁", "▁a", "▁ab", "é", "日本", "\n", "a▁",
    ]
    .map(String::from);
    let vocabulary: serde_json::Map<_, _> = (0_u32..)
        .zip(["<unk>".to_owned()].into_iter().chain(bytes).chain(pieces))
        .map(|(id, piece)| (piece, id.into()))
        .collect();
    let file = serde_json::json!({
        "version": "1.0",
        "added_tokens": [{
            "id": 0, "content": "<unk>", "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false
        }],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"}
        ]},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true,
            "vocab": vocabulary,
            "merges": ["a b", "▁ ▁", "▁ a", "▁ ab", "a ▁"]
        }
    });
    let real = Real::new(file.to_string().as_bytes());
    assert_eq!(
        real.vocabulary.token_bytes(TokenId(257 + 7)),
        Some(&b" ab"[..])
    );
    assert_eq!(real.vocabulary.token_bytes(TokenId(1)), Some(&[0][..]));
    assert_eq!(real.check_bytes_in_context(), 13);
}

#[test]
fn bytes_are_the_decoding_in_context_gpt2() {
    let Some(real) = load("gpt2") else { return };
    assert_eq!(real.vocabulary.len(), 50_257);
    assert_eq!(real.vocabulary.trie().token_count(), 50_256);
    assert_eq!(
        real.vocabulary.special_tokens().collect::<Vec<_>>(),
        [(TokenId(50_256), "<|endoftext|>")]
    );
    // 0xC0, 0xC1 and from 0xF5 on.
    assert_eq!(real.check_bytes_in_context(), 13);
}

#[test]
fn bytes_are_the_decoding_in_context_phi3() {
    let Some(real) = load("phi3") else { return };
    let vocabulary = &real.vocabulary;
    assert_eq!(vocabulary.len(), 32_011);
    assert_eq!(vocabulary.special_tokens().count(), 13);
    assert_eq!(vocabulary.special_token("<|user|>"), Some(TokenId(32_010)));
    // The file does not mark its end of sequence, so it is text unless it is made special.
    assert_eq!(vocabulary.token_bytes(TokenId(2)), Some(&b"</s>"[..]));
    let marked = vocabulary
        .clone()
        .with_special_tokens(&[TokenId(2)])
        .unwrap();
    assert_eq!(marked.token_bytes(TokenId(2)), None);
    assert_eq!(marked.special_token("</s>"), Some(TokenId(2)));
    assert_eq!(
        marked.trie().token_count() + 1,
        vocabulary.trie().token_count()
    );
    assert_ne!(marked.fingerprint(), vocabulary.fingerprint());
    // `<0x41>` and `A` both exist, and the lower id represents the byte.
    let both = vocabulary
        .trie()
        .tokens(vocabulary.trie().find(b"A").unwrap());
    assert_eq!(both.len(), 2);
    assert_eq!(vocabulary.byte_tokens()[usize::from(b'A')], Some(both[0]));
    assert_eq!(vocabulary.token_name(both[0]), Some("<0x41>"));
    assert_eq!(real.check_bytes_in_context(), 13);
}

#[test]
fn bytes_are_the_decoding_in_context_llama3() {
    let Some(real) = load("llama3") else { return };
    assert_eq!(real.vocabulary.len(), 128_256);
    assert_eq!(real.vocabulary.special_tokens().count(), 256);
    assert_eq!(real.vocabulary.trie().token_count(), 128_000);
    // One more node for the root.
    assert_eq!(real.vocabulary.trie().len(), 274_520 + 1);
    assert_eq!(real.check_bytes_in_context(), 13);
}

#[test]
fn bytes_are_the_decoding_in_context_o200k() {
    let Some(real) = load("o200k") else { return };
    assert_eq!(real.vocabulary.trie().token_count(), 199_998);
    assert_eq!(real.vocabulary.trie().len(), 421_660 + 1);
    // The ids are those of the file, with a hole of 18 ids.
    assert_eq!(real.vocabulary.len(), 200_019);
    assert_eq!(
        real.vocabulary.special_tokens().collect::<Vec<_>>(),
        [
            (TokenId(199_999), "<|endoftext|>"),
            (TokenId(200_018), "<|endofprompt|>")
        ]
    );
    assert_eq!(real.vocabulary.token_bytes(TokenId(199_998)), None);
    assert_eq!(real.vocabulary.token_bytes(TokenId(200_000)), None);
    assert_eq!(real.check_bytes_in_context(), 13);
}

#[test]
fn every_byte_has_a_token_in_the_real_vocabularies() {
    for name in ["gpt2", "phi3"] {
        let Some(json) = real_tokenizer(name) else {
            return;
        };
        let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
        for byte in 0..=255 {
            let id = vocabulary.byte_tokens()[usize::from(byte)].unwrap();
            assert_eq!(vocabulary.token_bytes(id), Some(&[byte][..]));
        }
    }
}

#[test]
fn the_trie_of_a_real_vocabulary_finds_every_token() {
    let Some(json) = real_tokenizer("phi3") else {
        return;
    };
    let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
    let trie: &TokenTrie = vocabulary.trie();
    for (id, bytes) in vocabulary.tokens() {
        let node = trie.find(bytes).unwrap();
        assert!(trie.tokens(node).contains(&id));
    }
    assert_eq!(vocabulary.text_tokens().count(), trie.token_count());
    assert_eq!(vocabulary.max_token_len(), trie.max_depth());
}

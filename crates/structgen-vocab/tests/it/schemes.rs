//! Small tokenizers of every supported scheme, and refusals of all others.

use serde_json::{Value, json};
use structgen_vocab::{TokenId, Tokenizer, Vocabulary, VocabularyError};

fn added(id: u64, content: &str, special: bool) -> Value {
    json!({
        "id": id, "content": content, "special": special, "single_word": false,
        "lstrip": false, "rstrip": false, "normalized": false,
    })
}

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})
}

fn metaspace() -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})
}

fn replace() -> Value {
    json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})
}

fn sequence(decoders: Value) -> Value {
    json!({"type": "Sequence", "decoders": decoders})
}

/// A BPE file. `x` is token 0.
fn bpe(tokens: &[&str], pre_tokenizer: Value, decoder: Value) -> Value {
    let vocab: serde_json::Map<String, Value> = (0u64..)
        .zip(["x"].iter().chain(tokens))
        .map(|(id, &token)| (token.to_owned(), id.into()))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": pre_tokenizer, "post_processor": null,
        "decoder": decoder,
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    })
}

/// A Unigram file. `x` is token 0 and `<unk>` token 1.
fn unigram(tokens: &[&str], decoder: Value) -> Value {
    let vocab: Vec<Value> = ["x", "<unk>"]
        .iter()
        .chain(tokens)
        .map(|token| json!([token, -1.0]))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(1, "<unk>", true)],
        "normalizer": null, "pre_tokenizer": metaspace(), "post_processor": null,
        "decoder": decoder,
        "model": {"type": "Unigram", "unk_id": 1, "vocab": vocab},
    })
}

/// Reads a file and compares each ordinary token, in context, with the `tokenizers` crate.
fn checked(file: &Value) -> Vocabulary {
    let json = serde_json::to_vec(file).unwrap();
    let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
    let reference = tokenizers::Tokenizer::from_bytes(&json).unwrap();
    for (id, bytes) in vocabulary.tokens() {
        let both = reference.decode(&[0, 0, id.0], false).unwrap();
        let context = reference.decode(&[0, 0], false).unwrap();
        let expected = String::from_utf8_lossy(bytes);
        assert_eq!(both, format!("{context}{expected}"), "token {id}");
    }
    // The whole tokenizer works, not only its bytes.
    Tokenizer::from_bytes(&json).unwrap();
    vocabulary
}

fn bytes(vocabulary: &Vocabulary, id: u32) -> &[u8] {
    vocabulary.token_bytes(TokenId(id)).unwrap()
}

#[test]
fn byte_level_alone_and_in_sequences() {
    let tokens = ["Ġa", "Ã©", "Ã", "Ċ", "東"];
    let pre = json!({"type": "Sequence", "pretokenizers": [byte_level()]});
    let by_pre_tokenizer = bpe(&tokens, pre, byte_level());
    let mut by_normalizer = bpe(
        &tokens,
        Value::Null,
        sequence(json!([sequence(json!([byte_level()])), {"type": "Fuse"}])),
    );
    by_normalizer["normalizer"] = json!({"type": "ByteLevel"});
    for mut file in [by_pre_tokenizer, by_normalizer] {
        // An added token is decoded like any other: `é` is a letter of the byte-level alphabet.
        file["added_tokens"] = json!([
            added(6, "é", false),
            added(7, "a é", false),
            added(8, "<s>", true)
        ]);
        let vocabulary = checked(&file);
        assert_eq!(bytes(&vocabulary, 1), b" a");
        assert_eq!(bytes(&vocabulary, 2), "é".as_bytes());
        assert_eq!(bytes(&vocabulary, 3), [0xC3]);
        assert_eq!(bytes(&vocabulary, 4), b"\n");
        assert_eq!(bytes(&vocabulary, 5), "東".as_bytes());
        assert_eq!(bytes(&vocabulary, 6), [0xE9]);
        assert_eq!(bytes(&vocabulary, 7), "a é".as_bytes());
        assert_eq!(vocabulary.token_bytes(TokenId(8)), None);
        assert_eq!(vocabulary.special_token("<s>"), Some(TokenId(8)));
    }
}

#[test]
fn sentencepiece_with_byte_fallback() {
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let fallback = json!({"type": "ByteFallback"});
    let fuse = json!({"type": "Fuse"});
    for decoder in [
        sequence(json!([replace(), fallback, fuse, strip])),
        sequence(json!([replace(), fallback, fuse])),
        sequence(json!([metaspace(), fallback])),
    ] {
        let tokens = ["▁foo", "▁▁", "<0x41>", "A", "<0xE9>", "<0xG0>"];
        let mut file = bpe(&tokens, Value::Null, decoder);
        file["model"]["byte_fallback"] = json!(true);
        let vocabulary = checked(&file);
        assert_eq!(bytes(&vocabulary, 1), b" foo");
        assert_eq!(bytes(&vocabulary, 2), b"  ");
        assert_eq!(bytes(&vocabulary, 3), b"A");
        assert_eq!(bytes(&vocabulary, 4), b"A");
        assert_eq!(bytes(&vocabulary, 5), [0xE9]);
        assert_eq!(bytes(&vocabulary, 6), b"<0xG0>");
        assert_eq!(vocabulary.byte_tokens()[0x41], Some(TokenId(3)));
        assert_eq!(vocabulary.byte_tokens()[0x42], None);
    }
}

#[test]
fn unigram_with_metaspace() {
    let vocabulary = checked(&unigram(&["▁foo", "<0x41>", "é"], metaspace()));
    assert_eq!(bytes(&vocabulary, 2), b" foo");
    // This decoder has no byte fallback, so the string stands for itself.
    assert_eq!(bytes(&vocabulary, 3), b"<0x41>");
    assert!(vocabulary.is_special(TokenId(1)));
}

#[test]
fn models_never_spell_special_tokens_from_untrusted_text() {
    // Unigram models match every piece of their list, including those of special tokens.
    let mut file = unigram(
        &["</s>", "<", "/", "s", ">", "▁", "u", "n", "k"],
        metaspace(),
    );
    file["added_tokens"] = json!([added(1, "<unk>", true), added(2, "</s>", true)]);
    let json = serde_json::to_vec(&file).unwrap();
    let mut leaky = tokenizers::Tokenizer::from_bytes(&json).unwrap();
    leaky.set_encode_special_tokens(true);
    assert!(leaky.encode("x</s>", false).unwrap().get_ids().contains(&2));
    let tokenizer = Tokenizer::from_bytes(&json).unwrap();
    let ids = tokenizer.encode("x</s><unk>").unwrap();
    assert!(
        ids.iter().all(|&id| !tokenizer.vocabulary().is_special(id)),
        "{ids:?}"
    );
    assert_eq!(tokenizer.decode_bytes(&ids), b" x</s><unk>");
    assert_eq!(
        tokenizer.encode_prompt("</s>", false).unwrap(),
        [TokenId(2)]
    );
    // A character that cannot be spelled becomes the unknown token, as the model expects.
    assert!(tokenizer.encode("é").unwrap().contains(&TokenId(1)));

    // Models with `ignore_merges` look up whole words.
    let mut file = bpe(&["a", "b", "ab"], byte_level(), byte_level());
    file["model"]["ignore_merges"] = json!(true);
    file["model"]["merges"] = json!([["a", "b"]]);
    file["added_tokens"] = json!([added(3, "ab", true)]);
    let json = serde_json::to_vec(&file).unwrap();
    let tokenizer = Tokenizer::from_bytes(&json).unwrap();
    assert_eq!(tokenizer.encode("ab").unwrap(), [TokenId(1), TokenId(2)]);
    assert_eq!(tokenizer.encode_prompt("ab", false).unwrap(), [TokenId(3)]);
}

#[test]
fn characters_without_a_token_are_an_error_where_there_is_no_unknown_token() {
    let mut file = unigram(&["a"], metaspace());
    file["model"]["unk_id"] = Value::Null;
    let tokenizer = Tokenizer::from_bytes(&serde_json::to_vec(&file).unwrap()).unwrap();
    assert!(tokenizer.encode("é").is_err());
}

/// Refused decoders, with the pointer that the error names and a part of the message.
#[test]
fn unknown_schemes_are_refused_by_name() {
    let plain = |decoder: Value| bpe(&["▁a"], Value::Null, decoder);
    let model = |model: Value| {
        let mut file = plain(replace());
        file["model"] = model;
        file
    };
    let with = |pointer: &str, value: Value| {
        let mut file = plain(replace());
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        file.pointer_mut(parent).unwrap()[name] = value;
        file
    };
    let fallback = json!({"type": "ByteFallback"});
    let fuse = json!({"type": "Fuse"});
    let strip = |stop: u64| json!({"type": "Strip", "content": " ", "start": 0, "stop": stop});
    let regex = json!({"type": "Replace", "pattern": {"Regex": "▁"}, "content": " "});
    let nothing = json!({"type": "Replace", "pattern": {"String": ""}, "content": " "});
    let cases = [
        (
            model(json!({"type": "WordPiece", "vocab": {"a": 0}})),
            "/model/type",
            "WordPiece",
        ),
        (
            model(json!({"type": "WordLevel", "vocab": {"a": 0}})),
            "/model/type",
            "WordLevel",
        ),
        (model(json!({"vocab": {"a": 0}})), "/model/type", "missing"),
        (
            model(json!({"type": "BPE", "merges": []})),
            "/model/vocab",
            "missing",
        ),
        (
            model(json!({"type": "BPE", "vocab": {"a": 0}})),
            "/model/merges",
            "missing",
        ),
        (
            model(json!({"type": "BPE", "vocab": [["a", 0]], "merges": []})),
            "/model/vocab",
            "a list",
        ),
        (
            model(json!({"type": "Unigram", "vocab": {"a": 0}})),
            "/model/vocab",
            "a map",
        ),
        (
            with("/model/end_of_word_suffix", json!("</w>")),
            "/model/end_of_word_suffix",
            "</w>",
        ),
        (
            with("/model/continuing_subword_prefix", json!("##")),
            "/model/continuing_subword_prefix",
            "##",
        ),
        (
            with("/model/byte_fallback", json!(true)),
            "/decoder",
            "no ByteFallback",
        ),
        (
            with("/pre_tokenizer", byte_level()),
            "/decoder",
            "the decoder is not",
        ),
        (with("/version", json!("2.0")), "/version", "2.0"),
        (plain(Value::Null), "/decoder", "without a decoder"),
        (plain(json!({})), "/decoder", "without a type"),
        (plain(json!({"type": "WordPiece"})), "/decoder", "WordPiece"),
        (
            plain(json!({"type": "BPEDecoder"})),
            "/decoder",
            "BPEDecoder",
        ),
        (plain(json!({"type": "CTC"})), "/decoder", "CTC"),
        (plain(fuse.clone()), "/decoder", "neither ByteLevel nor"),
        (
            plain(byte_level()),
            "/pre_tokenizer",
            "nothing on the way in",
        ),
        (plain(sequence(json!({}))), "/decoder", "list of decoders"),
        (
            plain(sequence(json!([fallback, replace()]))),
            "/decoder/decoders/1",
            "behind a ByteFallback",
        ),
        (
            plain(sequence(json!([fuse, replace()]))),
            "/decoder/decoders/1",
            "behind a ByteFallback",
        ),
        (
            plain(sequence(json!([fuse, byte_level()]))),
            "/decoder/decoders/1",
            "behind a ByteFallback",
        ),
        (
            plain(sequence(json!([replace(), strip(0)]))),
            "/decoder/decoders/1",
            "every token",
        ),
        (
            plain(sequence(json!([replace(), fuse, strip(1)]))),
            "/decoder/decoders/2",
            "at the end",
        ),
        (plain(regex), "/decoder", "string by a string"),
        (plain(nothing), "/decoder", "Replace of nothing"),
        (
            plain(json!({"type": "Metaspace", "replacement": "ab"})),
            "/decoder",
            "one character",
        ),
    ];
    for (file, expected, message) in cases {
        let json = serde_json::to_vec(&file).unwrap();
        match Vocabulary::from_tokenizer_json(&json) {
            Err(error @ VocabularyError::UnsupportedScheme { .. }) => {
                let text = error.to_string();
                let VocabularyError::UnsupportedScheme { pointer, .. } = error else {
                    unreachable!()
                };
                assert_eq!(pointer, expected, "{text}");
                assert!(text.contains(message), "{text}");
            }
            other => panic!("{file}: {other:?}"),
        }
        assert!(Tokenizer::from_bytes(&json).is_err());
    }
}

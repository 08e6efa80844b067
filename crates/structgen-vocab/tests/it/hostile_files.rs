//! Broken and hostile tokenizer files: each is a typed error, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use structgen_vocab::{TokenId, Tokenizer, TokenizerError, Vocabulary, VocabularyError};

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})
}

fn small_file() -> Value {
    json!({
        "version": "1.0", "truncation": {"max_length": 0, "stride": 9, "strategy": "LongestFirst"},
        "padding": null,
        "added_tokens": [{
            "id": 4, "content": "<eos>", "special": true, "single_word": false,
            "lstrip": true, "rstrip": true, "normalized": true,
        }],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        "pre_tokenizer": byte_level(), "post_processor": null, "decoder": byte_level(),
        "model": {
            "type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"],
            "unk_token": null, "byte_fallback": false,
        },
    })
}

fn small_unigram_file() -> Value {
    let metaspace = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"});
    json!({
        "version": "1.0",
        "added_tokens": [{
            "id": 4, "content": "</s>", "special": true, "single_word": true,
            "lstrip": false, "rstrip": false, "normalized": false,
        }],
        "normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "s", "type_id": 0}}],
            "pair": [], "special_tokens": {"s": {"id": "s", "ids": [4], "tokens": ["</s>"]}},
        },
        "decoder": {"type": "Sequence", "decoders": [metaspace, {"type": "ByteFallback"}]},
        "model": {
            "type": "Unigram", "unk_id": 0, "byte_fallback": true,
            "vocab": [["<unk>", 0.0], ["▁", -1.0], ["a", -2.5], ["<0x0A>", -3], ["</s>", 0]],
        },
    })
}

fn edited(pointer: &str, value: Value) -> Vec<u8> {
    let mut file = small_file();
    *file.pointer_mut(pointer).unwrap() = value;
    serde_json::to_vec(&file).unwrap()
}

fn error(json: &[u8]) -> VocabularyError {
    let error = Vocabulary::from_tokenizer_json(json).unwrap_err();
    assert!(Tokenizer::from_bytes(json).is_err());
    error
}

#[test]
fn the_small_file_is_fine() {
    let json = serde_json::to_vec(&small_file()).unwrap();
    let tokenizer = Tokenizer::from_bytes(&json).unwrap();
    // Truncation to nothing is ignored.
    assert_eq!(tokenizer.encode("ab a").unwrap(), [2, 3, 0].map(TokenId));
    assert_eq!(tokenizer.vocabulary().len(), 5);
}

#[test]
fn the_small_unigram_file_is_fine() {
    let json = serde_json::to_vec(&small_unigram_file()).unwrap();
    let tokenizer = Tokenizer::from_bytes(&json).unwrap();
    let ids = tokenizer.encode_prompt("a  a\n", true).unwrap();
    assert_eq!(ids, [1, 2, 1, 2, 3, 4].map(TokenId));
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), "a a\n");
    assert_eq!(tokenizer.decode_bytes(&ids), b" a a\n");
}

#[test]
fn what_is_not_a_tokenizer_file_says_where() {
    let at = |json: &[u8]| match error(json) {
        VocabularyError::Json {
            line,
            column,
            message,
        } => {
            assert!(!message.is_empty());
            (line, column)
        }
        other => panic!("{other}"),
    };
    assert_eq!(at(b""), (1, 0));
    assert_eq!(at(b"\n  hello"), (2, 3));
    assert_eq!(at(b"[]"), (1, 2));
    assert_eq!(at(b"{}"), (1, 2));
    at(b"{\"model\": 7}");
    at(b"\xFF\xFE{}");
    at(&vec![b'['; 100_000]);
    at(format!("{{\"decoder\": {}", "[".repeat(100_000)).as_bytes());
    at(format!("{{\"decoder\": {}", "{\"a\":".repeat(100_000)).as_bytes());
    // Every prefix of a valid file.
    let whole = serde_json::to_vec(&small_file()).unwrap();
    for len in 0..whole.len() {
        at(&whole[..len]);
    }
}

#[test]
fn fields_of_other_types_are_refused() {
    for (pointer, value) in [
        ("/added_tokens", json!({})),
        ("/added_tokens/0", json!("<eos>")),
        ("/added_tokens/0/id", json!(-1)),
        ("/added_tokens/0/id", json!(1.5)),
        ("/added_tokens/0/id", json!("1")),
        ("/added_tokens/0/id", json!(1e30)),
        ("/added_tokens/0/content", json!(["a"])),
        ("/added_tokens/0/special", json!(1)),
        ("/model", json!([])),
        ("/model/vocab", json!("a")),
        ("/model/vocab/a", json!(-1)),
        ("/model/vocab/a", json!("0")),
        ("/model/vocab/a", Value::Null),
        ("/model/byte_fallback", json!("yes")),
    ] {
        let error = error(&edited(pointer, value.clone()));
        assert!(
            matches!(error, VocabularyError::Json { .. }),
            "{pointer} {value}: {error}"
        );
    }
}

#[test]
fn messages_quote_long_texts_in_part() {
    let long = json!("a".repeat(100_000));
    for (pointer, expected) in [
        ("/model/byte_fallback", "aaa\", expected a boolean"),
        ("/model/vocab/a", "aaa\", expected u64"),
        ("/model/merges/0", "aaa\", expected two tokens"),
        ("/pre_tokenizer/use_regex", "aaa\", expected a boolean"),
        ("/model/type", "aaa…: only BPE"),
    ] {
        let error = Tokenizer::from_bytes(&edited(pointer, long.clone())).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(expected), "{pointer}: {message}");
        assert!(message.len() < 400, "{pointer}: {message}");
    }
}

#[test]
fn huge_ids_are_refused_instead_of_filled_up() {
    for id in [Vocabulary::MAX_TOKENS as u64, 4_000_000_000, u64::MAX] {
        for pointer in ["/added_tokens/0/id", "/model/vocab/a"] {
            match error(&edited(pointer, json!(id))) {
                VocabularyError::TooLarge { size, limit, .. } => {
                    assert_eq!((size, limit), (id, Vocabulary::MAX_TOKENS as u64 - 1));
                }
                other => panic!("{other}"),
            }
        }
    }
    // The highest valid id is accepted.
    let json = edited("/added_tokens/0/id", json!(Vocabulary::MAX_TOKENS - 1));
    let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
    assert_eq!(vocabulary.len(), Vocabulary::MAX_TOKENS);
    assert_eq!(vocabulary.trie().token_count(), 4);
}

#[test]
fn ids_and_names_that_are_given_twice_are_refused() {
    let token = |id: u64, content: &str, special: bool| {
        json!({
            "id": id, "content": content, "special": special, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let twice = serde_json::to_string(&small_file())
        .unwrap()
        .replace("\"ab\":2", "\"ab\":2,\"a\":7");
    for json in [
        edited("/model/vocab/b", json!(0)),
        twice.into_bytes(),
        edited(
            "/added_tokens",
            json!([token(4, "x", true), token(4, "y", true)]),
        ),
        edited(
            "/added_tokens",
            json!([token(4, "x", true), token(5, "x", true)]),
        ),
        edited(
            "/added_tokens",
            json!([token(4, "x", true), token(4, "x", false)]),
        ),
        edited("/added_tokens", json!([token(4, "a", true)])),
        edited("/added_tokens", json!([token(0, "x", true)])),
    ] {
        let error = error(&json);
        assert!(
            matches!(error, VocabularyError::ConflictingToken { .. }),
            "{error}"
        );
    }
    // A repeated but equal token is not a contradiction.
    let json = edited(
        "/added_tokens",
        json!([token(4, "x", true), token(4, "x", true)]),
    );
    Tokenizer::from_bytes(&json).unwrap();
}

/// A merge with an empty token would produce the same token forever.
#[test]
fn merges_that_go_in_circles_are_refused() {
    for merges in [
        json!([["a", ""]]),
        json!([["", ""]]),
        json!([["ab", ""], ["a", "b"]]),
    ] {
        let mut file = small_file();
        file["model"]["merges"] = merges.clone();
        for vocab in [
            json!({"a": 0, "b": 1, "ab": 2, "Ġ": 3}),
            json!({"a": 0, "b": 1, "ab": 2, "": 3}),
        ] {
            file["model"]["vocab"] = vocab;
            let json = serde_json::to_vec(&file).unwrap();
            let error = Tokenizer::from_bytes(&json).unwrap_err();
            assert!(
                matches!(
                    error,
                    TokenizerError::Pipeline {
                        pointer: "/model/merges",
                        ..
                    }
                ),
                "{merges} {error}"
            );
        }
    }
}

#[test]
fn ten_million_tokens_are_refused_before_all_are_read() {
    let ids: Vec<String> = (0..7_000_000)
        .map(|id| format!("\"{id:x}\":{id}"))
        .collect();
    let scores: Vec<String> = (0..10_000_000)
        .map(|id| format!("[\"{id:x}\",0]"))
        .collect();
    for (kind, vocab) in [
        ("BPE", format!("{{{}}}", ids.join(","))),
        ("Unigram", format!("[{}]", scores.join(","))),
    ] {
        let json = format!(r#"{{"model": {{"type": "{kind}", "vocab": {vocab}}}}}"#);
        let error = error(json.as_bytes()).to_string();
        assert!(
            error.contains("more than 2097152 tokens"),
            "{kind}: {error}"
        );
    }
}

#[test]
#[cfg(unix)]
fn pipes_and_devices_are_refused_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("tokenizer.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [pipe.as_path(), std::path::Path::new("/dev/zero")] {
        let error = Tokenizer::from_file(path).unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
    }
}

#[test]
fn sizes_are_bounded() {
    let long = "a".repeat(Vocabulary::MAX_TOKEN_BYTES + 1);
    let name = |name: &str| json!({name: 0});
    assert!(Vocabulary::from_tokenizer_json(&edited("/model/vocab", name(&long[1..]))).is_ok());
    for json in [
        edited("/model/vocab", name(&long)),
        edited("/added_tokens/0/content", json!(long)),
        vec![b' '; Vocabulary::MAX_FILE_BYTES as usize + 1],
    ] {
        let error = error(&json);
        assert!(matches!(error, VocabularyError::TooLarge { .. }), "{error}");
    }
    // Replacements that double a token repeatedly.
    let double =
        json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaaaaaaaa"});
    let steps: Vec<Value> = (0..10)
        .map(|_| double.clone())
        .chain([json!({
            "type": "Replace", "pattern": {"String": "▁"}, "content": " ",
        })])
        .collect();
    let mut file = small_file();
    file["pre_tokenizer"] = Value::Null;
    file["decoder"] = json!({"type": "Sequence", "decoders": steps});
    let error = error(&serde_json::to_vec(&file).unwrap());
    assert!(matches!(error, VocabularyError::TooLarge { .. }), "{error}");

    let many = (0..20_000).map(|_| vec![b'x'; 1000]);
    let error = Vocabulary::from_tokens(many, &[]).unwrap_err();
    assert!(matches!(error, VocabularyError::TooLarge { .. }), "{error}");
    assert!(Vocabulary::from_tokens([], &[(TokenId(u32::MAX), "far")]).is_err());
}

#[test]
fn parts_that_only_encoding_needs_are_refused_by_pointer() {
    let split = |regex: String| json!({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": false});
    let with_bytes =
        |step: Value| json!({"type": "Sequence", "pretokenizers": [step, byte_level()]});
    let deep = format!("{}a{}", "(".repeat(3000), ")".repeat(3000));
    for (pointer, value) in [
        ("/normalizer", json!({"type": "Unknown"})),
        ("/normalizer", json!(7)),
        (
            "/normalizer",
            json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        ),
        (
            "/normalizer",
            json!({"type": "Precompiled", "precompiled_charsmap": 7}),
        ),
        (
            "/normalizer",
            json!({"type": "Sequence", "normalizers": vec![json!({"type": "NFC"}); 1000]}),
        ),
        ("/pre_tokenizer", with_bytes(split("(".to_owned()))),
        ("/pre_tokenizer", with_bytes(split(deep))),
        (
            "/pre_tokenizer",
            with_bytes(split("a{65536}{65536}".to_owned())),
        ),
        ("/pre_tokenizer", with_bytes(split("a".repeat(100_000)))),
        (
            "/normalizer",
            json!({"type": "Sequence", "normalizers": vec![json!({
            "type": "Replace", "pattern": {"String": "a"}, "content": "aa",
        }); 40]}),
        ),
        // Each doubles the bytes that are not printable.
        (
            "/pre_tokenizer",
            json!({"type": "Sequence", "pretokenizers": vec![byte_level(); 40]}),
        ),
        (
            "/normalizer",
            json!({"type": "Prepend", "prepend": "a".repeat(4 << 20)}),
        ),
        ("/post_processor", json!({"type": "Unknown"})),
        ("/post_processor", template_of_many_tokens()),
        (
            "/post_processor",
            json!({"type": "Sequence", "processors": vec![byte_level(); 1000]}),
        ),
        ("/model/merges", json!(["a z"])),
        ("/model/merges", json!([["z", "a"]])),
    ] {
        let json = edited(pointer, value.clone());
        Vocabulary::from_tokenizer_json(&json).unwrap();
        match Tokenizer::from_bytes(&json) {
            Err(TokenizerError::Pipeline { pointer: named, .. }) => assert_eq!(named, pointer),
            Err(other) => panic!("{pointer}: {other}"),
            Ok(_) => panic!("{pointer}: accepted {value}"),
        }
    }
    let mut file = small_file();
    file["model"]["dropout"] = json!(0.1);
    let json = serde_json::to_vec(&file).unwrap();
    assert!(matches!(
        Tokenizer::from_bytes(&json),
        Err(TokenizerError::Pipeline {
            pointer: "/model/dropout",
            ..
        })
    ));
    for merge in ["a", "a b c", ""] {
        let json = edited("/model/merges", json!([merge]));
        assert!(matches!(
            Tokenizer::from_bytes(&json),
            Err(TokenizerError::Vocabulary(VocabularyError::Json { .. }))
        ));
    }
}

/// A template that names a token a hundred times, which is a hundred tokens.
fn template_of_many_tokens() -> Value {
    let mut single = vec![json!({"SpecialToken": {"id": "s", "type_id": 0}}); 100];
    single.push(json!({"Sequence": {"id": "A", "type_id": 0}}));
    json!({
        "type": "TemplateProcessing", "single": single, "pair": [],
        "special_tokens": {"s": {"id": "s", "ids": vec![4; 100], "tokens": vec!["<eos>"; 100]}},
    })
}

#[test]
fn steps_that_lengthen_a_text_count_together() {
    let mut file = small_file();
    let replace =
        json!({"type": "Replace", "pattern": {"String": "a"}, "content": "b".repeat(2000)});
    file["normalizer"] = replace;
    let open = |file: &Value| Tokenizer::from_bytes(&serde_json::to_vec(file).unwrap());
    open(&file).unwrap();
    file["pre_tokenizer"]["add_prefix_space"] = json!(true);
    let error = open(&file).unwrap_err().to_string();
    assert!(error.contains("6000 times the text's length"), "{error}");
}

/// Such a name would match everywhere, without end.
#[test]
fn a_name_that_normalisation_removes_is_found_nowhere() {
    let strip = json!({"type": "Strip", "strip_left": true, "strip_right": true});
    let remove = json!({"type": "Replace", "pattern": {"Regex": " "}, "content": ""});
    for (normalizer, special) in [(&strip, false), (&strip, true), (&remove, false)] {
        let mut file = small_file();
        file["normalizer"] = normalizer.clone();
        let mut token = file["added_tokens"][0].clone();
        token["id"] = json!(5);
        token["content"] = json!(" ");
        token["special"] = json!(special);
        file["added_tokens"].as_array_mut().unwrap().push(token);
        let tokenizer = Tokenizer::from_bytes(&serde_json::to_vec(&file).unwrap()).unwrap();
        for (text, ids) in [("", &[][..]), ("a", &[0]), ("ab<eos> b", &[2, 4, 1])] {
            let ids: Vec<TokenId> = ids.iter().copied().map(TokenId).collect();
            assert_eq!(tokenizer.encode_prompt(text, false).unwrap(), ids, "{text}");
        }
        assert_eq!(tokenizer.encode("a").unwrap(), [TokenId(0)]);
    }
}

/// The names have one hash under the usual function with a fixed key, and comparing each with all others takes minutes.
#[test]
fn names_that_collide_under_a_fixed_hash_function_are_read_at_once() {
    let names = (0..300_000).map(|n| format!("oasfxudbxenvjqyg{n:08}6/ufpm+J"));
    let vocab: serde_json::Map<String, Value> = names.clone().zip((5..).map(Value::from)).collect();
    let json = edited("/model/vocab", Value::Object(vocab));
    let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
    assert_eq!(vocabulary.trie().token_count(), 300_000);
    let eos = &small_file()["added_tokens"][0];
    let added: Vec<Value> = { names.zip(5..).take(100_000) }
        .map(|(name, id)| {
            let mut token = eos.clone();
            token["id"] = json!(id);
            token["content"] = json!(name);
            token
        })
        .collect();
    let json = edited("/added_tokens", Value::Array(added));
    let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
    assert_eq!(vocabulary.special_tokens().count(), 100_000);
}

#[test]
fn a_decoder_of_many_steps_is_refused() {
    let open = |steps: usize| {
        let fuse = json!({"type": "Fuse"});
        let mut list = vec![fuse; steps - 2];
        list.insert(0, json!({"type": "Metaspace", "replacement": "▁"}));
        let mut file = small_unigram_file();
        file["model"]["byte_fallback"] = json!(false);
        file["decoder"] = json!({"type": "Sequence", "decoders": list});
        Vocabulary::from_tokenizer_json(&serde_json::to_vec(&file).unwrap())
    };
    open(16).unwrap();
    let error = open(17).unwrap_err();
    assert!(matches!(error, VocabularyError::TooLarge { .. }), "{error}");
}

#[test]
fn names_that_the_decoder_lengthens_are_refused_before_all_are_there() {
    let replace = json!({"type": "Replace", "pattern": {"String": "x"}, "content": "b".repeat(64)});
    let space = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
    let mut file = small_file();
    file["pre_tokenizer"] = Value::Null;
    file["decoder"] = json!({"type": "Sequence", "decoders": [replace, space]});
    let names = (0..100_000).map(|n| format!("xxxxxxxxxxxxxxx{n}"));
    let vocab: serde_json::Map<String, Value> = names.zip((5..).map(Value::from)).collect();
    file["model"]["vocab"] = Value::Object(vocab);
    let json = serde_json::to_vec(&file).unwrap();
    let mut error = None;
    let used = allocation_counter::measure(|| {
        error = Vocabulary::from_tokenizer_json(&json).err();
    });
    assert!(matches!(error, Some(VocabularyError::TooLarge { .. })));
    assert!(used.bytes_max < 60_000_000, "{} bytes", used.bytes_max);
}

#[test]
fn millions_of_merges_are_refused_before_all_are_read() {
    let merges = ["\"a b\""; (1 << 21) + 1].join(",");
    let json = String::from_utf8(edited("/model/merges", json!(["a b"]))).unwrap();
    let open = |merges: &str| {
        let json = json.replace("\"a b\"", merges);
        Tokenizer::from_bytes(json.as_bytes())
    };
    open("\"a b\",\"a b\"").unwrap();
    let error = open(&merges).unwrap_err().to_string();
    assert!(error.contains("more than 2097152 merges"), "{error}");
}

/// Sizes that would be allocated without a check, and indices that would be followed.
#[test]
fn broken_character_maps_are_refused() {
    // A size of 4 GiB with nothing after it; a trie of one unit that points outside of it.
    for map in ["/////w==", "BAAAAP////8A"] {
        let map = json!({"type": "Precompiled", "precompiled_charsmap": map});
        let list = json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, map]});
        for normalizer in [map, list] {
            let error = Tokenizer::from_bytes(&edited("/normalizer", normalizer)).unwrap_err();
            assert!(
                error.to_string().contains("character map is broken"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Tokenizer::from_file("no/such/tokenizer.json").unwrap_err();
    assert!(
        error.to_string().contains("no/such/tokenizer.json"),
        "{error}"
    );
    assert!(matches!(
        Vocabulary::from_tokenizer_file("."),
        Err(VocabularyError::Io { .. })
    ));
}

#[test]
fn logits_are_padded_and_only_special_tokens_are_cut() {
    let json = serde_json::to_vec(&small_file()).unwrap();
    let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
    let wide = vocabulary.clone().with_logits_len(70).unwrap();
    assert_eq!(wide.len(), 70);
    assert_eq!(wide.text_tokens().len(), 70);
    assert_eq!(wide.text_tokens().count(), 4);
    assert_eq!(wide.token_bytes(TokenId(69)), None);
    assert_eq!(wide.token_name(TokenId(69)), None);
    assert!(wide.is_special(TokenId(4)) && !wide.is_special(TokenId(5)));
    assert_ne!(wide.fingerprint(), vocabulary.fingerprint());
    let same = vocabulary.clone().with_logits_len(5).unwrap();
    assert_eq!(same.fingerprint(), vocabulary.fingerprint());
    let narrow = vocabulary.clone().with_logits_len(4).unwrap();
    assert_eq!((narrow.len(), narrow.special_tokens().count()), (4, 0));
    let name = vocabulary.token_name(TokenId(4)).unwrap();
    assert_eq!(narrow.token_name(TokenId(4)), None);
    assert_eq!(vocabulary.special_token(name), Some(TokenId(4)));
    assert_eq!(narrow.special_token(name), None);
    assert_eq!(narrow.text_tokens().count(), 4);
    assert!(matches!(
        vocabulary.clone().with_logits_len(3),
        Err(VocabularyError::LogitsTooNarrow {
            logits: 3,
            last: TokenId(3)
        })
    ));
    assert!(vocabulary.with_logits_len(usize::MAX).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Bytes of a valid file, overwritten, cut and repeated.
    #[test]
    fn damaged_files_do_not_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
        text in "\\PC{0,12}",
        unigram in any::<bool>(),
    ) {
        let file = if unigram { small_unigram_file() } else { small_file() };
        let mut json = serde_json::to_vec(&file).unwrap();
        for (at, byte, kind) in edits {
            let at = at.index(json.len());
            match kind {
                0 => json[at] = byte,
                1 => { json.remove(at); }
                2 => json.insert(at, byte),
                _ => json[at] = b"0123456789\"{}[],:-e"[usize::from(byte) % 19],
            }
        }
        if let Ok(tokenizer) = Tokenizer::from_bytes(&json) {
            if let Ok(ids) = tokenizer.encode(&text) {
                let _ = tokenizer.decode(&ids, true);
                prop_assert!(ids.iter().all(|&id| id.index() < tokenizer.vocabulary().len()));
            }
            let _ = tokenizer.encode_prompt(&text, true);
        }
    }
}

//! Tokenizers without a `tokenizer.json`: texts encode as in the Python implementations (`tests/fixtures/make.py`), and
//! no file, however damaged, causes a panic.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use structgen_vocab::{TokenId, Tokenizer, TokenizerError, Vocabulary, tokenizer_file};

const FOLDERS: [&str; 9] = [
    "unigram",
    "symbols",
    "llama",
    "llama_new",
    "gemma",
    "t5",
    "gpt2",
    "qwen2",
    "bart",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn open(folder: &Path) -> Result<Tokenizer, TokenizerError> {
    Tokenizer::from_file(tokenizer_file(folder))
}

fn ids(value: &Value) -> Vec<TokenId> {
    let ids = value.as_array().unwrap().iter();
    ids.map(|id| TokenId(id.as_u64().unwrap() as u32)).collect()
}

#[test]
fn tokens_are_those_of_the_reference() {
    let mut wrong = Vec::new();
    for name in FOLDERS {
        let folder = fixture(name);
        let tokenizer = open(&folder).unwrap();
        let golden = fs::read_to_string(folder.join("golden.json")).unwrap();
        let golden: Value = serde_json::from_str(&golden).unwrap();
        for row in golden.as_array().unwrap() {
            let text = row["text"].as_str().unwrap();
            let got = tokenizer.encode(text).unwrap();
            assert!(tokenizer.least_tokens(text) <= got.len(), "{name} {text:?}");
            if got != ids(&row["ids"]) {
                wrong.push(format!("{name} {text:?}: {got:?} for {}", row["ids"]));
            }
            // In a trusted prompt, the names of special tokens are these tokens.
            if !text.contains("<s>") {
                let got = tokenizer.encode_prompt(text, true).unwrap();
                if got != ids(&row["prompt"]) {
                    wrong.push(format!(
                        "{name} prompt {text:?}: {got:?} for {}",
                        row["prompt"]
                    ));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
}

#[test]
fn a_text_has_at_least_as_many_tokens_as_its_length_says() {
    // A character that a space is written as, one that NFC and NFKC make shorter, and one that is composed.
    let units = [
        "x ",
        " ",
        "\n",
        "▁",
        "\u{212a}",
        "\u{fb03}",
        "e\u{301}",
        "\u{1100}\u{1161}\u{11a8}",
        "日",
    ];
    for name in FOLDERS {
        let tokenizer = open(&fixture(name)).unwrap();
        for unit in units {
            let text = unit.repeat(500);
            let found = tokenizer.encode(&text).unwrap().len();
            let least = tokenizer.least_tokens(&text);
            assert!(least <= found, "{name} {unit:?}: {least} > {found}");
        }
    }
    // Of texts that its character map may shorten, nothing is known.
    assert_eq!(
        open(&fixture("t5"))
            .unwrap()
            .least_tokens(&"x ".repeat(500)),
        0
    );
}

#[test]
fn texts_come_back_where_nothing_is_normalised() {
    for name in ["llama", "llama_new", "gemma", "gpt2", "bart"] {
        let tokenizer = open(&fixture(name)).unwrap();
        for text in ["The ship leaves at nine.", " two  spaces ", "日本語 é 😀\n"] {
            let tokens = tokenizer.encode(text).unwrap();
            assert_eq!(tokenizer.decode(&tokens, true).unwrap(), text, "{name}");
        }
    }
}

#[test]
fn a_vocabulary_is_read_alone_as_with_its_tokenizer() {
    for name in FOLDERS {
        let file = tokenizer_file(&fixture(name));
        let vocabulary = Vocabulary::from_tokenizer_file(&file).unwrap();
        let tokenizer = Tokenizer::from_file(&file).unwrap();
        let other = tokenizer.vocabulary();
        assert_eq!(vocabulary.len(), other.len());
        for id in (0..vocabulary.len() as u32).map(TokenId) {
            assert_eq!(vocabulary.token_bytes(id), other.token_bytes(id), "{name}");
        }
    }
}

#[test]
fn a_tokenizer_json_counts_more_and_a_vocabulary_without_merges_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let name = || {
        let file = tokenizer_file(dir.path());
        file.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let write = |name: &str| fs::write(dir.path().join(name), "").unwrap();
    assert_eq!(name(), "tokenizer.json");
    write("vocab.json");
    assert_eq!(name(), "tokenizer.json");
    write("merges.txt");
    assert_eq!(name(), "vocab.json");
    write("spiece.model");
    assert_eq!(name(), "spiece.model");
    write("tokenizer.json");
    assert_eq!(name(), "tokenizer.json");
}

/// A copy of a fixture with other configuration files.
fn configured(name: &str, files: &[(&str, &str)]) -> Result<Tokenizer, String> {
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    for (file, text) in files {
        fs::write(dir.path().join(file), text).unwrap();
    }
    open(dir.path()).map_err(|error| error.to_string())
}

#[test]
fn classes_with_ids_or_rules_of_their_own_are_refused_by_name() {
    let refused = |name, file, text| configured(name, &[(file, text)]).unwrap_err();
    let errors = [
        refused(
            "llama",
            "tokenizer_config.json",
            r#"{"tokenizer_class": "XLMRobertaTokenizer"}"#,
        ),
        refused("unigram", "config.json", r#"{"model_type": "camembert"}"#),
        refused(
            "gpt2",
            "tokenizer_config.json",
            r#"{"tokenizer_class": "CLIPTokenizer"}"#,
        ),
        refused("gpt2", "tokenizer_config.json", "{}"),
        refused("gpt2", "tokenizer_config.json", "{"),
        refused("gpt2", "special_tokens_map.json", "[1,\n]"),
        refused("llama", "config.json", "{'model_type': 'llama'}"),
        refused("gpt2", "merges.txt", "#version: 0.2\na b c\n"),
        refused("gpt2", "vocab.json", "[1]"),
        refused(
            "t5",
            "tokenizer_config.json",
            r#"{"tokenizer_class": "T5Tokenizer", "extra_ids": 99999999}"#,
        ),
        refused("llama", "tokenizer.model", "IQ== 0\nIg== 1\n"),
    ];
    expect_test::expect![[r#"
        unsupported tokenizer: /tokenizer_class is XLMRobertaTokenizer: the ids of such a tokenizer may be others than those of its SentencePiece model; save it as a tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)
        unsupported tokenizer: /model_type is camembert: the ids of such a tokenizer may be others than those of its SentencePiece model; save it as a tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)
        unsupported tokenizer: /tokenizer_class is CLIPTokenizer: how such a tokenizer cuts a text is in neither vocab.json nor merges.txt; save it as a tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)
        unsupported tokenizer: /model_type is missing: how such a tokenizer cuts a text is in neither vocab.json nor merges.txt; save it as a tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)
        tokenizer_config.json is not JSON: EOF while parsing an object, at line 1, column 1
        special_tokens_map.json is not JSON: trailing comma, at line 2, column 1
        config.json is not JSON: key must be a string, at line 1, column 2
        line 2 of merges.txt is not two tokens with a space between them
        not a tokenizer file: invalid type: integer `1`, expected a tuple of size 2, at line 1, column 2
        unsupported tokenizer: /extra_ids is 99999999: at most 10000 are added
        not a SentencePiece model of pieces with scores, one of them for unknown characters"#]].assert_eq(&errors.join("\n"));
}

#[test]
fn tokens_that_the_configuration_adds_are_added() {
    let config = r#"{"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {
        "0": {"content": "<unk>", "special": true}, "1": {"content": "<s>", "special": true},
        "2": {"content": "</s>", "special": true}, "700": {"content": "<|user|>", "special": true},
        "701": {"content": "<tool>", "special": false}}}"#;
    let tokenizer = configured("llama", &[("tokenizer_config.json", config)]).unwrap();
    let vocabulary = tokenizer.vocabulary();
    assert!(vocabulary.is_special(TokenId(700)));
    assert_eq!(vocabulary.token_bytes(TokenId(701)), Some(&b"<tool>"[..]));
    assert_eq!(
        tokenizer.encode_prompt("<|user|>", false).unwrap(),
        [TokenId(700)]
    );
    assert!(
        !tokenizer
            .encode("<|user|>")
            .unwrap()
            .contains(&TokenId(700))
    );
}

#[test]
fn damaged_files_are_errors_or_harmless() {
    for name in ["unigram", "llama", "symbols"] {
        let folder = fixture(name);
        let whole = fs::read(folder.join("tokenizer.model")).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokenizer.model");
        let try_bytes = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            if let Ok(tokenizer) = Tokenizer::from_file(&file) {
                let _ = tokenizer.encode("a text, <0x41> and 日本語");
            }
        };
        let step = whole.len() / 60;
        for at in (0..whole.len()).step_by(step) {
            try_bytes(&whole[..at]);
            let mut flipped = whole.clone();
            flipped[at] ^= 0xff;
            try_bytes(&flipped);
        }
        // The trainer's and the normaliser's settings are at the end.
        for at in whole.len() - 200..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x41;
            try_bytes(&flipped);
        }
    }
    // A piece whose length exceeds the file, and a million pieces without text.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokenizer.model");
    for bytes in [
        vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
        [0x0a, 0x00].repeat(1_000_000),
        vec![0xff; 100],
        Vec::new(),
    ] {
        fs::write(&file, bytes).unwrap();
        assert!(Tokenizer::from_file(&file).is_err());
    }
}

/// Writes a SentencePiece model: an unknown piece and others without scores, and its settings.
fn model_file(
    pieces: impl Iterator<Item = String>,
    settings: &[u8],
) -> (tempfile::TempDir, PathBuf) {
    let field = |number: u8, bytes: &[u8]| {
        let mut field = vec![number << 3 | 2];
        let mut len = bytes.len();
        while len >= 0x80 {
            field.push(len as u8 | 0x80);
            len >>= 7;
        }
        field.push(len as u8);
        [&field, bytes].concat()
    };
    // Of the kind 2, which is unknown.
    let unknown = [&field(1, b"<unk>")[..], &[3 << 3, 2]].concat();
    let mut bytes = field(1, &unknown);
    for piece in pieces {
        bytes.extend(field(1, &field(1, piece.as_bytes())));
    }
    // A trainer of the kind 2, which is BPE.
    bytes.extend(field(2, &[3 << 3, 2]));
    bytes.extend(field(3, &field(2, settings)));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokenizer.model");
    fs::write(&file, bytes).unwrap();
    (dir, file)
}

#[test]
fn a_model_with_far_more_merges_than_pieces_is_refused() {
    let open = |longest: usize| {
        let (_dir, file) = model_file((1..=longest).map(|len| "a".repeat(len)), &[]);
        Vocabulary::from_tokenizer_file(file).map_err(|error| error.to_string())
    };
    assert_eq!(open(100).unwrap().len(), 101);
    // Half a million merges with 350 MB.
    let error = open(1024).unwrap_err();
    assert!(
        error.starts_with("all merges in bytes is too large"),
        "{error}"
    );
}

#[test]
fn a_huge_character_map_is_refused() {
    let (_dir, file) = model_file(std::iter::empty(), &vec![0; 5 << 20]);
    let error = Tokenizer::from_file(file).unwrap_err().to_string();
    assert!(
        error.starts_with("the character map in bytes is too large"),
        "{error}"
    );
}

/// Comparing each with all others would take minutes.
#[test]
fn many_tokens_are_looked_up_and_not_compared_with_each_other() {
    const COUNT: u64 = 200_000;
    let names: Vec<String> = (0..COUNT)
        .map(|n| format!("<an added token {n:06}>"))
        .collect();
    let ids: serde_json::Map<String, Value> = names
        .iter()
        .cloned()
        .zip((1000..).map(Value::from))
        .collect();
    let special = serde_json::json!({"additional_special_tokens": names});
    let dir = tempfile::tempdir().unwrap();
    for name in ["tokenizer.model", "tokenizer_config.json"] {
        fs::copy(fixture("llama").join(name), dir.path().join(name)).unwrap();
    }
    let config = r#"{"tokenizer_class": "LlamaTokenizer"}"#;
    for (name, text) in [
        ("tokenizer_config.json", config.to_owned()),
        ("special_tokens_map.json", special.to_string()),
        ("added_tokens.json", Value::Object(ids).to_string()),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let vocabulary = Vocabulary::from_tokenizer_file(dir.path().join("tokenizer.model")).unwrap();
    assert!(vocabulary.is_special(TokenId(1000 + COUNT as u32 - 1)));
}

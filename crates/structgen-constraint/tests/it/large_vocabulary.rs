//! Masks over a vocabulary of some thousands of tokens, as many as a walk needs before it decides subtrees as a whole:
//! with a few hundred, it takes one token after the other.

use std::sync::{Arc, LazyLock};

use structgen_constraint::{CompiledConstraint, VocabularyTables, oracle};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_grammar::{Grammar, Whitespace};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::compile_with;

/// Words of one and two syllables, as they are, capitalised and after a space, and what tokens have around words.
fn tokens() -> Vec<Vec<u8>> {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let consonants = "bdgklmnrst".chars();
    let syllables = consonants.flat_map(|c| "aeio".chars().map(move |v| format!("{c}{v}")));
    let syllables: Vec<String> = syllables.collect();
    let longer = { syllables.iter() }.flat_map(|first| {
        syllables
            .iter()
            .map(move |second| format!("{first}{second}"))
    });
    let words: Vec<String> = syllables.iter().cloned().chain(longer).collect();
    for (i, word) in words.iter().enumerate() {
        let mut add = |token: String| tokens.push(token.into_bytes());
        add(word.clone());
        add(format!(" {word}"));
        match i % 20 {
            0 => add(format!("{word}\"")),
            1 => add(format!("{word}\":")),
            2 => add(format!("{word}\",\"")),
            3 => add(format!("\"{word}")),
            4 => add(format!(" \"{word}")),
            5 => add(format!("\",\"{word}")),
            6 => add(format!("{word} ")),
            7 => add(format!("{word}, {word}")),
            8 => add(format!("{word}.")),
            9 => add(format!("{word}\\n")),
            10 => add(format!("{word}é")),
            11 => add(format!(" {word}-{word}")),
            12 => add(format!("{word}12")),
            13 => add(format!("{word}\"]")),
            14 => add(format!("\":\"{word} {word}")),
            15 => add(format!("\":\" {word}")),
            16 => add(format!("\":\"{word}\",\"{word}")),
            17 => add(format!("{{\"{word}\":\"{word}\\n")),
            18 => add(format!("{word}\\\"{word}\"")),
            _ => add(format!("{}{}", word[..1].to_uppercase(), &word[1..])),
        }
    }
    let others = [
        "  ",
        "    ",
        "\n",
        "\n\n",
        "\": \"",
        "\": ",
        "\",",
        "\", \"",
        "{\"",
        "\"}",
        "]}",
        "[[",
        "],[",
        "[\"",
        "\"]",
        "null",
        "true",
        "false",
        "12",
        "123",
        "2024",
        "-1",
        "0.",
        ".5",
        "e5",
        "\\n",
        "\\u00",
        "\\\"",
        "é",
        "日本",
        "日",
        "://",
        "https",
        "...",
        "------------------------",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "--",
        "_",
        "__",
    ];
    tokens.extend(others.map(|token| token.as_bytes().to_vec()));
    tokens.push(OF_TWO_KEYS.as_bytes().to_vec());
    tokens.extend([&b"\xE6\x97"[..], b"\x97\xA5", b" \xC3"].map(<[u8]>::to_vec));
    tokens
}

/// A token that ends two keys, one of which has begun before it.
const OF_TWO_KEYS: &str = " ba\":1,\"mi ba\":";

static TABLES: LazyLock<Arc<VocabularyTables>> = LazyLock::new(|| {
    let mut tokens = tokens();
    let eos = TokenId(tokens.len() as u32);
    tokens.push(b"<eos>".to_vec());
    let vocabulary = Vocabulary::from_tokens(tokens, &[(eos, "<eos>")]).expect("a vocabulary");
    Arc::new(VocabularyTables::new(Arc::new(vocabulary)))
});

/// Compares the mask with the oracle's in every state of a text, cut into its longest tokens.
fn compare(constraint: &CompiledConstraint, text: &str) {
    let vocabulary = constraint.vocabulary();
    let mut matcher = constraint.matcher();
    let mut rest = text.as_bytes();
    loop {
        let mask = matcher.mask().expect("within limits");
        let naive = oracle::mask(&matcher).expect("within limits");
        let shown = |tokens: Vec<TokenId>| {
            let token = |id: &TokenId| vocabulary.token_bytes(*id).unwrap_or_default();
            let texts = tokens.iter().take(8).map(token);
            let texts = texts.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            texts.collect::<Vec<_>>()
        };
        let excess = mask.bits().iter().filter(|&token| !naive.contains(token));
        let excess = shown(excess.collect());
        let missing = naive.iter().filter(|&token| !mask.bits().contains(token));
        let missing = shown(missing.collect());
        assert!(
            excess.is_empty() && missing.is_empty(),
            "{text}, before {:?}: excess {excess:?}, missing {missing:?}",
            String::from_utf8_lossy(rest)
        );
        let fits = |&(_, bytes): &(TokenId, &[u8])| !bytes.is_empty() && rest.starts_with(bytes);
        let longest = vocabulary
            .tokens()
            .filter(fits)
            .max_by_key(|(_, bytes)| bytes.len());
        let Some((token, bytes)) = longest else {
            break;
        };
        matcher.accept_token(token).expect("the mask allows it");
        rest = &rest[bytes.len()..];
    }
    assert!(matcher.is_accepting(), "{text}");
}

fn grammar_of(schema: &str, whitespace: Whitespace) -> Grammar {
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_whitespace(whitespace);
    let compiled = json_schema::compile_str(schema, &options);
    compiled.expect("a schema").grammar
}

#[test]
fn masks_of_schemas_are_those_of_the_oracle() {
    let cases = [
        (
            r#"true"#,
            r#"{"bado":[1,"mi é",{"":null}], "ta":{"ra":-12.5e5}}"#,
        ),
        (r#"{"type": "string"}"#, r#""bado, mi\n\u00e9 12""#),
        (r#"{"type": "string", "maxLength": 9}"#, r#""bado mibe""#),
        (
            r#"{"type": "string", "minLength": 5, "maxLength": 40}"#,
            r#""bado mibe gido""#,
        ),
        (
            r#"{"type": "string", "pattern": "^(\\S+\\s+){0,3}\\S+$"}"#,
            r#""bado mi-be 12 gi""#,
        ),
        (
            r#"{"type": "string", "pattern": "^[a-z ]+$"}"#,
            r#""bado mibe gi""#,
        ),
        (
            r#"{"type": "string", "pattern": "^[a-z]{2,5}(-[a-z]{2,5}){1,3}$"}"#,
            r#""bado-mi-be""#,
        ),
        (
            r#"{"type": "string", "pattern": "ba.*do"}"#,
            r#""mi ba do""#,
        ),
        (
            r#"{"type": "string", "pattern": "^[^-]*$", "minLength": 3}"#,
            r#""mi é\n do""#,
        ),
        (r#"{"type": "string", "format": "date"}"#, r#""2024-12-01""#),
        (
            r#"{"type": "string", "format": "uri"}"#,
            r#""https://bado.mi/be""#,
        ),
        (
            r#"{"enum": ["bado", "bado mi", "be\"go", 12, null]}"#,
            r#""bado mi""#,
        ),
        (
            r#"{"type": "object", "patternProperties": {"^[a-z]{2,6}$": {"type": "integer"}},
                "additionalProperties": false}"#,
            r#"{"bado":12,"ba":1,"badomi":123}"#,
        ),
        (
            r#"{"type": "object", "properties": {"bado": {"type": "string"}, "badomi": {"type": "number"}},
                "required": ["bado"]}"#,
            r#"{"mi":"ba","bado":"mi", "badomi":-0.5}"#,
        ),
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}}"#,
            r#"["bado","badomi", "ba", ""]"#,
        ),
        (
            r#"{"type": "array", "maxItems": 3, "items": {"type": "string", "pattern": "^\\S+( \\S+)?$"}}"#,
            r#"["bado mi","ba","go é"]"#,
        ),
        (
            r#"{"type": "array", "items": {"type": "number", "minimum": -3, "maximum": 500}}"#,
            "[12,-0.5,123]",
        ),
    ];
    for (schema, text) in cases {
        for whitespace in [Whitespace::Spaced, Whitespace::Bounded { max: 64 }] {
            compare(&compile_with(grammar_of(schema, whitespace), &TABLES), text);
        }
    }
}

#[test]
fn masks_that_depend_on_the_text_of_a_key_are_not_shared() {
    let of_pattern = r#"{"type": "object", "patternProperties": {"^[a-zA-Z0-9]+( [a-zA-Z0-9]{2})?$": {"type": "integer"}},
        "additionalProperties": false}"#;
    for schema in [r#"{"type": "object"}"#, of_pattern] {
        let constraint = compile_with(grammar_of(schema, Whitespace::Spaced), &TABLES);
        let has_token = |begun: &str| {
            let mut matcher = constraint.matcher();
            for byte in begun.bytes() {
                let token = TokenId(u32::from(byte));
                matcher.accept_token(token).expect("it is allowed");
            }
            let mask = matcher.mask().expect("within limits");
            let tokens = constraint.vocabulary().tokens();
            let mut tokens = tokens.filter(|&(_, bytes)| bytes == OF_TWO_KEYS.as_bytes());
            let (token, _) = tokens.next().expect("a token");
            mask.contains(token)
        };
        // The key would be there twice.
        assert!(!has_token("{\"mi"), "{schema}");
        assert!(has_token("{\"go"), "{schema}");
        assert!(!has_token("{\"mi"), "{schema}");
    }
}

#[test]
fn masks_of_grammars_are_those_of_the_oracle() {
    let cases = [
        (r#"root ::= [a-z]+ (" " [a-z]+)* [.!]"#, "bado mi be."),
        (r#"root ::= ("ba" | "bado")+ " "? [0-9]*"#, "badoba 12"),
        (
            r#"root ::= "\"" ([^"\\] | "\\" .)* "\"" ("," [^,]{2,5})?"#,
            "\"mi\\n é\",bado",
        ),
        (
            r#"root ::= line{1,3}
line ::= [^\n]* "\n""#,
            "bado mi é\n12\n",
        ),
    ];
    for (grammar, text) in cases {
        let parsed = gbnf::parse(grammar, &GbnfOptions::default()).expect("a grammar");
        compare(&compile_with(parsed, &TABLES), text);
    }
}

//! Real tokenizers, compared with the `tokenizers` crate loading the same files itself.

use crate::support::real_tokenizer;
use structgen_vocab::{TokenId, Tokenizer, TokenizerOptions};

const TEXTS: [&str; 12] = [
    "",
    " ",
    "Hello, world!",
    "  two  spaces\n\n\ttabs\r\n",
    "{\"name\": \"Ada\", \"born\": 1815, \"ok\": [true, null, -1.5e-3]}",
    "Grüße aus Zürich, 東京 und Ελλάδα",
    "emoji 🦀👩‍👩‍👧 and e\u{301}",
    "\u{0}\u{1}\u{7f}\u{ad}\u{feff}",
    "\u{10FFFF}\u{E000}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "I'll we've THEY'RE 12345678901234567890",
    "▁ ▁x <0x41> Ġ",
];

fn load(name: &str) -> Option<Tokenizer> {
    Some(Tokenizer::from_bytes(&real_tokenizer(name)?).unwrap())
}

fn load_both(name: &str) -> Option<(Tokenizer, tokenizers::Tokenizer)> {
    let reference = tokenizers::Tokenizer::from_bytes(real_tokenizer(name)?).unwrap();
    Some((load(name)?, reference))
}

fn raw(ids: &[TokenId]) -> Vec<u32> {
    ids.iter().map(|id| id.0).collect()
}

fn check_same(name: &str) {
    let Some((own, reference)) = load_both(name) else {
        return;
    };
    for text in TEXTS {
        let expected = reference.encode(text, false).unwrap();
        let ids = own.encode(text).unwrap();
        assert_eq!(raw(&ids), expected.get_ids(), "{name}: {text:?}");
        assert!(own.least_tokens(text) <= ids.len(), "{name}: {text:?}");
        assert_eq!(own.encode_prompt(text, false).unwrap(), ids);
        let with_affixes = reference.encode(text, true).unwrap();
        let prompt = own.encode_prompt(text, true).unwrap();
        assert_eq!(raw(&prompt), with_affixes.get_ids(), "{name}: {text:?}");
        assert_eq!(
            own.decode(&ids, true).unwrap(),
            reference.decode(expected.get_ids(), true).unwrap()
        );
        // SentencePiece's text has a space of its own in front; byte-level text does not.
        let bytes = own.decode_bytes(&ids);
        let bytes = match name {
            "phi3" if !text.is_empty() => &bytes[1..],
            _ => &bytes,
        };
        // U+2581 is SentencePiece's mark for a space.
        let text = if name == "phi3" {
            text.replace('▁', " ")
        } else {
            text.to_owned()
        };
        assert_eq!(bytes, text.as_bytes(), "{name}");
    }
}

#[test]
fn gpt2_encodes_as_the_reference() {
    check_same("gpt2");
}

#[test]
fn phi3_encodes_as_the_reference() {
    check_same("phi3");
}

#[test]
fn llama3_encodes_as_the_reference() {
    check_same("llama3");
}

#[test]
fn o200k_encodes_as_the_reference() {
    check_same("o200k");
}

#[test]
fn names_of_special_tokens_in_untrusted_text_are_text() {
    for name in ["gpt2", "phi3", "llama3", "o200k"] {
        let Some(own) = load(name) else { return };
        for (_, special) in own.vocabulary().special_tokens() {
            // Alone too: models with `ignore_merges` look up whole words in their vocabulary.
            for text in [
                special.to_owned(),
                format!("a {special} b"),
                special.repeat(2),
            ] {
                let ids = own.encode(&text).unwrap();
                assert!(
                    ids.iter().all(|&id| !own.vocabulary().is_special(id)),
                    "{name}: {text:?} is {ids:?}"
                );
                assert_eq!(own.decode(&ids, false).unwrap(), text);
            }
        }
    }
}

#[test]
fn names_of_special_tokens_in_prompts_are_those_tokens() {
    for name in ["gpt2", "phi3", "llama3"] {
        let Some((own, reference)) = load_both(name) else {
            return;
        };
        for (id, special) in own.vocabulary().special_tokens() {
            let text = format!("a{special}\nb {special}");
            let ids = own.encode_prompt(&text, false).unwrap();
            assert_eq!(
                raw(&ids),
                reference.encode(text.as_str(), false).unwrap().get_ids()
            );
            assert_eq!(ids.iter().filter(|&&other| other == id).count(), 2);
            assert_eq!(
                own.decode(&ids, false).unwrap(),
                reference.decode(&raw(&ids), false).unwrap()
            );
            assert!(!own.decode(&ids, true).unwrap().contains(special));
        }
    }
}

/// The `tokenizers` crate renumbers added tokens, which moves them into o200k's hole.
#[test]
fn added_tokens_have_the_ids_of_the_file_behind_holes() {
    let Some(own) = load("o200k") else {
        return;
    };
    let ids = own
        .encode_prompt("<|endofprompt|>hi<|endoftext|>", false)
        .unwrap();
    assert_eq!(ids.first(), Some(&TokenId(200_018)));
    assert_eq!(ids.last(), Some(&TokenId(199_999)));
    assert_eq!(
        own.decode(&ids, false).unwrap(),
        "<|endofprompt|>hi<|endoftext|>"
    );
    assert_eq!(own.decode(&ids, true).unwrap(), "hi");
    let hole_and_padding = [TokenId(199_998), TokenId(200_005), TokenId(u32::MAX)];
    assert_eq!(own.decode(&hole_and_padding, false).unwrap(), "");
    assert_eq!(own.decode_bytes(&hole_and_padding), b"");
}

#[test]
fn a_model_can_name_special_tokens_and_padding() {
    let Some(json) = real_tokenizer("phi3") else {
        return;
    };
    let plain = Tokenizer::from_bytes(&json).unwrap();
    assert!(plain.encode("a</s>").unwrap().contains(&TokenId(2)));

    let options = TokenizerOptions::new()
        .logits_len(32_064)
        .special_tokens([TokenId(2)]);
    let tokenizer = Tokenizer::from_bytes_with(&json, &options).unwrap();
    assert_eq!(tokenizer.vocabulary().len(), 32_064);
    assert!(tokenizer.vocabulary().is_special(TokenId(2)));
    let ids = tokenizer.encode("a</s>").unwrap();
    assert!(!ids.contains(&TokenId(2)));
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), "a</s>");
    assert!(
        tokenizer
            .encode_prompt("a</s>", false)
            .unwrap()
            .contains(&TokenId(2))
    );

    let options = TokenizerOptions::new().special_tokens([TokenId(32_064)]);
    assert!(Tokenizer::from_bytes_with(&json, &options).is_err());

    // A configuration may name ends of sequence that do not exist.
    let ends = TokenizerOptions::new().ends([TokenId(2), TokenId(32_064)]);
    let tokenizer = Tokenizer::from_bytes_with(&json, &ends).unwrap();
    assert!(tokenizer.vocabulary().is_special(TokenId(2)));
    assert_eq!(tokenizer.vocabulary().token_name(TokenId(32_064)), None);
}

#[test]
fn a_tokenizer_may_be_wider_than_the_model_by_special_tokens() {
    // As in Gemma 3, whose last token stands for an image.
    let Some(json) = real_tokenizer("phi3") else {
        return;
    };
    let plain = Tokenizer::from_bytes(&json).unwrap();
    let (last, name) = plain.vocabulary().special_tokens().last().unwrap();
    assert_eq!(last.index(), plain.vocabulary().len() - 1);
    let options = TokenizerOptions::new().logits_len(last.index());
    let narrow = Tokenizer::from_bytes_with(&json, &options).unwrap();
    assert_eq!(narrow.vocabulary().len(), last.index());
    // Trusted text can still contain it, and the model rejects it; untrusted text never does.
    assert_eq!(narrow.encode_prompt(name, false).unwrap(), [last]);
    let text = narrow.encode(name).unwrap();
    assert!(text.iter().all(|id| id.index() < last.index()));
    assert_eq!(narrow.decode(&text, false).unwrap(), name);
}

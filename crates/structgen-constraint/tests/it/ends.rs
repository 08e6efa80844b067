//! Ends of sequence: every one of the model's where the output may end, and no other token without a text anywhere.

use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_frontend::{gbnf, json_schema};
use structgen_grammar::Grammar;
use structgen_vocab::{TokenId, Vocabulary};

const EOS: [TokenId; 2] = [TokenId(257), TokenId(260)];

/// All bytes, then `<pad>`, `<eos>`, a hole in the ids, `<tool>` and `<end_of_turn>`.
fn vocabulary() -> Arc<VocabularyTables> {
    let names = ["<pad>", "<eos>", "", "<tool>", "<end_of_turn>"];
    let bytes = (0..=255).map(|byte| vec![byte]);
    let tokens = bytes.chain(names.map(|name| name.as_bytes().to_vec()));
    let special: Vec<_> = { (256..).map(TokenId).zip(names) }
        .filter(|(_, name)| !name.is_empty())
        .collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &special).unwrap();
    Arc::new(VocabularyTables::new(Arc::new(vocabulary)))
}

fn constraint(grammar: Grammar) -> CompiledConstraint {
    let options = ConstraintOptions {
        eos: EOS.to_vec(),
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar, &vocabulary(), &options).unwrap()
}

fn schema(text: &str) -> CompiledConstraint {
    constraint(
        json_schema::compile_str(text, &Default::default())
            .unwrap()
            .grammar,
    )
}

/// Walks along a text and compares every mask: the ends of sequence are all allowed where the text may end, and
/// otherwise none; nothing else beyond the bytes is.
fn check(constraint: &CompiledConstraint, text: &str, ends: &[usize]) {
    let mut matcher = constraint.matcher();
    for at in 0..=text.len() {
        let mask = matcher.mask().unwrap();
        let allowed: Vec<TokenId> = (256..261)
            .map(TokenId)
            .filter(|&token| mask.contains(token))
            .collect();
        let expected = if ends.contains(&at) { &EOS[..] } else { &[] };
        assert_eq!(allowed, expected, "{text} at {at}");
        assert_eq!(matcher.is_accepting(), ends.contains(&at), "{text} at {at}");
        for token in (256..261).map(TokenId) {
            let mut ended = matcher.clone();
            let accepted = ended.accept_token(token);
            assert_eq!(
                accepted.is_ok(),
                expected.contains(&token),
                "{token} at {at}"
            );
            if accepted.is_ok() {
                assert!(ended.is_finished());
                assert_eq!(ended.mask().unwrap().count(), 0);
                assert!(
                    EOS.iter()
                        .all(|&token| ended.clone().accept_token(token).is_err())
                );
            }
        }
        if let Some(&byte) = text.as_bytes().get(at) {
            matcher.accept_token(TokenId(byte.into())).unwrap();
        }
    }
}

#[test]
fn all_ends_of_sequence_are_allowed_exactly_where_the_output_may_end() {
    check(&schema(r#"{"type": "integer"}"#), "-12", &[2, 3]);
    check(
        &schema(r#"{"type": "string"}"#),
        r#""<eos>\n<tool>""#,
        &[15],
    );
    let object = r#"{"properties": {"a": {"enum": [1, 12]}}, "required": ["a"], "additionalProperties": false}"#;
    check(&schema(object), r#"{"a":12}"#, &[8]);
    let grammar = |text| constraint(gbnf::parse(text, &Default::default()).unwrap());
    check(
        &grammar(r#"root ::= ("ab" | "abc")*"#),
        "ababc",
        &[0, 2, 4, 5],
    );
    check(&grammar(r#"root ::= [^x]*"#), "<pad>", &[0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_special_token_is_allowed_where_the_grammar_names_it_and_nowhere_else() {
    let grammar = gbnf::parse(r#"root ::= "a" <tool> "b"?"#, &Default::default()).unwrap();
    let constraint = constraint(grammar);
    let mut matcher = constraint.matcher();
    let special = |matcher: &mut structgen_constraint::Matcher| -> Vec<u32> {
        let mask = matcher.mask().unwrap();
        (256..261)
            .filter(|&token| mask.contains(TokenId(token)))
            .collect()
    };
    assert_eq!(special(&mut matcher), [0_u32; 0]);
    matcher.accept_token(TokenId(u32::from(b'a'))).unwrap();
    assert_eq!(special(&mut matcher), [259]);
    matcher.accept_token(TokenId(259)).unwrap();
    assert_eq!(special(&mut matcher), [257, 260]);
}

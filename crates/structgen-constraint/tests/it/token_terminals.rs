//! Token terminals: named tokens, and all tokens except a named one.

use std::sync::Arc;

use structgen_constraint::{
    CompileError, CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables, WarmLimits,
    oracle,
};
use structgen_frontend::gbnf::{GbnfOptions, parse};
use structgen_vocab::{TokenId, Vocabulary};

const THINK: TokenId = TokenId(260);
const END_THINK: TokenId = TokenId(261);
const EOS: TokenId = TokenId(262);
const BOLD: TokenId = TokenId(258);

fn compile(text: &str) -> Result<CompiledConstraint, CompileError> {
    let longer = ["ab", "abc", "<b>", "a<"];
    let tokens = (0..=255_u8)
        .map(|byte| vec![byte])
        .chain(longer.map(|text| text.as_bytes().to_vec()))
        // A hole after the special tokens.
        .chain([
            b"<think>".to_vec(),
            b"</think>".to_vec(),
            b"<eos>".to_vec(),
            vec![],
        ]);
    let special = [(THINK, "<think>"), (END_THINK, "</think>"), (EOS, "<eos>")];
    let vocabulary = Vocabulary::from_tokens(tokens, &special).expect("a vocabulary");
    let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary)));
    let options = ConstraintOptions {
        eos: vec![EOS],
        ..ConstraintOptions::default()
    };
    let grammar = parse(text, &GbnfOptions::default()).expect("a grammar");
    CompiledConstraint::new(grammar, &tables, &options)
}

fn allowed(matcher: &mut Matcher) -> Vec<TokenId> {
    let mask = matcher.mask().expect("within the limits");
    let naive = oracle::mask(matcher).expect("within the limits");
    assert_eq!(mask.bits(), &naive);
    for id in (0..naive.len() as u32).map(TokenId) {
        assert_eq!(
            matcher.clone().accept_token(id).is_ok(),
            naive.contains(id),
            "{id:?}"
        );
    }
    naive.iter().collect()
}

#[test]
fn every_token_but_one_is_taken() {
    let constraint = compile("root ::= <think> !</think>* </think> [a-z]*").expect("it compiles");
    let mut matcher = constraint.matcher();
    assert_eq!(allowed(&mut matcher), [THINK]);
    matcher.accept_token(THINK).expect("allowed");
    // All texts and special tokens, but neither the end-of-sequence token nor the hole.
    let inside: Vec<TokenId> = (0..=END_THINK.0).map(TokenId).collect();
    for token in [TokenId(0), THINK, BOLD, TokenId(0xC3)] {
        assert_eq!(allowed(&mut matcher), inside);
        matcher.accept_token(token).expect("allowed");
    }
    assert_eq!(matcher.completion_cost().unwrap(), 1);
    matcher.accept_token(END_THINK).expect("allowed");
    let behind: Vec<TokenId> = (u32::from(b'a')..=u32::from(b'z'))
        .chain([256, 257, EOS.0])
        .map(TokenId)
        .collect();
    assert_eq!(allowed(&mut matcher), behind);
}

#[test]
fn a_token_goes_by_its_text_where_it_is_not_special() {
    let constraint = compile("root ::= <b> !<[98]>").expect("it compiles");
    let mut matcher = constraint.matcher();
    assert_eq!(allowed(&mut matcher), [BOLD]);
    matcher.accept_token(BOLD).expect("allowed");
    let others = allowed(&mut matcher);
    assert_eq!(others.len(), EOS.0 as usize - 1);
    assert!(!others.contains(&TokenId(98)) && !others.contains(&EOS));
    for unknown in ["<c>", "!<c>", "<[264]>", "!<[264]>"] {
        let found = compile(&format!("root ::= {unknown}"));
        assert!(
            matches!(found, Err(CompileError::UnknownToken { .. })),
            "{unknown}"
        );
    }
}

#[test]
fn masks_are_the_oracles_where_text_and_tokens_mix() {
    for text in [
        "root ::= !<b>* | \"<b>\" root",
        "root ::= (!<think> | \"ab\")* \"c\"",
        "root ::= (<[256]> \"c\" | \"ab\" \"x\" | !<[256]> \"d\"){2,3}",
        "root ::= !<[259]>{3} <[259]> | [a-c]+ !<[97]>",
        "root ::= root !<think> | <think>",
    ] {
        let constraint = compile(text).expect("it compiles");
        constraint
            .warm(&WarmLimits {
                time: std::time::Duration::from_secs(60),
                ..WarmLimits::default()
            })
            .expect("within the limits");
        for seed in 0..20_u32 {
            let mut matcher = constraint.matcher();
            for step in 0..6 {
                let tokens = allowed(&mut matcher);
                assert!(!tokens.is_empty() || matcher.is_finished(), "{text}");
                let Some(&token) =
                    tokens.get((seed * 37 + step * 91) as usize % tokens.len().max(1))
                else {
                    break;
                };
                matcher.accept_token(token).expect("allowed");
                if token == EOS {
                    break;
                }
            }
        }
    }
}

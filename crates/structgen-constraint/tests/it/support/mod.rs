//! A vocabulary, and random walks that compare the fast path with the naive oracle.

use std::collections::BTreeSet;
use std::sync::Arc;

use structgen_constraint::{
    CompileError, CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables, oracle,
};
use structgen_grammar::{
    ArrayShape, Expr, ExprId, Grammar, GrammarBuilder, JsonForm, NumberSet, ObjectShape, Slot,
    StringShape,
};
use structgen_vocab::{TokenId, Vocabulary};

#[path = "../../../../../tests/src/random.rs"]
#[allow(unreachable_pub, reason = "shared with the tests of the whole")]
mod random;

pub(crate) use random::SplitMix;

/// All bytes, and tokens that cross the boundaries of everything in JSON.
pub(crate) fn vocabulary() -> Arc<VocabularyTables> {
    vocabulary_with(&[])
}

pub(crate) fn vocabulary_with(more: &[&str]) -> Arc<VocabularyTables> {
    let longer = [
        "\":",
        "\": ",
        "\",",
        "\", \"",
        "{\"",
        "\"}",
        "}}",
        "]}",
        "[[",
        "],[",
        ",\"",
        "a\":",
        "a\":1,\"a\":",
        "{\"a\":1,\"a\":",
        "{\"a\":1,\"",
        "[1,1",
        "[1,\"a\",\"a\"",
        "\":1,\"",
        "b\":\"",
        "\":{\"a",
        "tr",
        "true",
        "false",
        "null",
        "10",
        "123",
        "0.",
        "1e",
        "e5",
        "-1",
        "\\u",
        "\\u00",
        "\\\"",
        "u0061",
        "\\n",
        "é",
        "日本",
        "日",
        "aa",
        "ab",
        "aaaa",
        " ",
        "  ",
        "\n",
        ": ",
        ", ",
        "\"a\":\"b\"",
        "\"a",
        "a\"",
        "foo",
        "bar",
        "\"foo\"",
        "x,y",
        "()",
        "((",
        "))",
        "+",
        "+1",
        "1+1",
    ];
    let partial: [&[u8]; 3] = [&[0xE6, 0x97], &[0x97, 0xA5], &[0xC3]];
    let tokens = (0..=255_u8)
        .map(|byte| vec![byte])
        .chain(
            longer
                .iter()
                .chain(more)
                .map(|text| text.as_bytes().to_vec()),
        )
        .chain(partial.iter().map(|bytes| bytes.to_vec()))
        .chain([b"<eos>".to_vec()]);
    let count = 256 + longer.len() + more.len() + partial.len();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(TokenId(count as u32), "<eos>")]).unwrap();
    Arc::new(VocabularyTables::new(Arc::new(vocabulary)))
}

/// The same with tokens that are longer than chains of counting states are followed, and longer than short ones.
pub(crate) fn compile_with_long_tokens(grammar: Grammar) -> CompiledConstraint {
    let longer = [
        "aaaaaaaaaaaaaaaaaaaa",
        "abababababababababababab",
        "aaaaaaaaaaaaaaaaaa12",
        "bbbbbbbbbbbbbbbbbb\"",
        "                    ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "\",\"aaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    compile_with(grammar, &vocabulary_with(&longer))
}

pub(crate) fn compile(grammar: Grammar) -> CompiledConstraint {
    compile_with(grammar, &vocabulary())
}

pub(crate) fn compile_with(grammar: Grammar, tables: &Arc<VocabularyTables>) -> CompiledConstraint {
    try_compile(grammar, tables).unwrap()
}

pub(crate) fn try_compile(
    grammar: Grammar,
    tables: &Arc<VocabularyTables>,
) -> Result<CompiledConstraint, CompileError> {
    let eos = tables.vocabulary().special_token("<eos>").unwrap();
    let options = ConstraintOptions {
        eos: vec![eos],
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar, tables, &options)
}

/// Walks at random and compares in every state: masks, acceptance of each token, and the completion cost.
pub(crate) fn walk_and_compare(constraint: &CompiledConstraint, seed: u64, budget: u64) -> Vec<u8> {
    let mut random = SplitMix::new(seed);
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    let budget = budget.max(matcher.completion_cost().unwrap());
    for taken in 0..=budget {
        let mask = matcher.mask().unwrap();
        let naive = oracle::mask(&matcher).unwrap();
        let excess: Vec<TokenId> = mask
            .bits()
            .iter()
            .filter(|&token| !naive.contains(token))
            .collect();
        let missing: Vec<TokenId> = naive
            .iter()
            .filter(|&token| !mask.bits().contains(token))
            .collect();
        let shown = String::from_utf8_lossy(&text).into_owned();
        assert!(
            excess.is_empty() && missing.is_empty(),
            "after {shown:?}: excess {excess:?}, missing {missing:?}"
        );
        assert!(mask.count() > 0, "a dead end after {shown:?}");
        let left = budget - taken;
        assert!(
            matcher.completion_cost().unwrap() <= left,
            "after {shown:?}"
        );
        // Some token stays within the budget, or the text may end.
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        let mut is_affordable =
            |token: TokenId| left > 0 && matcher.completion_cost_after(token).unwrap() < left;
        let drawn: Vec<TokenId> = (0..8).map(|_| tokens[random.below(tokens.len())]).collect();
        let token = drawn.into_iter().find(|&token| is_affordable(token));
        let Some(token) =
            token.or_else(|| tokens.iter().copied().find(|&token| is_affordable(token)))
        else {
            assert!(
                matcher.is_accepting(),
                "nothing affordable after {shown:?} with {left} left, cost {}",
                matcher.completion_cost().unwrap()
            );
            return text;
        };
        let fork: Matcher = matcher.clone();
        matcher.accept_token(token).unwrap();
        if matcher.is_finished() && constraint.eos().contains(&token) {
            return text;
        }
        // A token that the grammar names has no text.
        let bytes = constraint.vocabulary().token_bytes(token);
        text.extend_from_slice(bytes.unwrap_or_default());
        // Rolling back one token gives the same mask.
        let mut back = matcher.clone();
        back.rollback(1).unwrap();
        assert_eq!(
            back.mask().unwrap().bits(),
            fork.clone().mask().unwrap().bits()
        );
    }
    assert!(
        matcher.is_accepting(),
        "unfinished: {}",
        String::from_utf8_lossy(&text)
    );
    text
}

/// Walks at random without a budget, and checks that in every state some token lowers the cost.
pub(crate) fn walk_and_hold(constraint: &CompiledConstraint, seed: u64, length: usize) {
    let mut random = SplitMix::new(seed);
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    for _ in 0..length {
        let mask = matcher.mask().unwrap();
        let cost = matcher.completion_cost().unwrap();
        let is_end = |token: &TokenId| constraint.eos().contains(token);
        let tokens: Vec<TokenId> = mask.bits().iter().filter(|token| !is_end(token)).collect();
        let mut is_cheaper =
            |token: &TokenId| matcher.completion_cost_after(*token).unwrap() < cost;
        assert!(
            cost == 0 || tokens.iter().any(&mut is_cheaper),
            "nothing is cheaper than {cost} after {:?}",
            String::from_utf8_lossy(&text)
        );
        if tokens.is_empty() {
            break;
        }
        // Any token, or one that leads towards the end.
        let mut token = tokens[random.below(tokens.len())];
        if random.below(2) == 0 {
            token = { tokens.iter().copied() }.find(is_cheaper).unwrap_or(token);
        }
        matcher.accept_token(token).unwrap();
        text.extend_from_slice(
            constraint
                .vocabulary()
                .token_bytes(token)
                .unwrap_or_default(),
        );
    }
}

/// Returns all texts of a constraint that allows few, byte by byte.
pub(crate) fn texts(constraint: &CompiledConstraint) -> BTreeSet<String> {
    let vocabulary = constraint.vocabulary().clone();
    let mut found = BTreeSet::new();
    let mut open: Vec<(Matcher, Vec<u8>)> = vec![(constraint.matcher(), Vec::new())];
    while let Some((mut matcher, text)) = open.pop() {
        assert!(found.len() + open.len() < 200_000, "too many texts");
        if matcher.is_accepting() {
            found.insert(String::from_utf8(text.clone()).unwrap());
        }
        if matcher.is_finished() {
            continue;
        }
        let mask = matcher.mask().unwrap();
        assert!(
            mask.bits().iter().next().is_some(),
            "a dead end after {text:?}"
        );
        for token in mask.bits().iter() {
            let Some(&[byte]) = vocabulary.token_bytes(token) else {
                continue;
            };
            let mut next = matcher.clone();
            next.accept_token(token).unwrap();
            open.push((next, [&text[..], &[byte]].concat()));
        }
    }
    found
}

/// How a token is chosen among the allowed ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taste {
    Random,
    Longest,
    Letters,
    Quotes,
    Digits,
}

pub(crate) const TASTES: [Taste; 5] = [
    Taste::Random,
    Taste::Longest,
    Taste::Letters,
    Taste::Quotes,
    Taste::Digits,
];

pub(crate) fn generate(
    constraint: &CompiledConstraint,
    taste: Taste,
    random: &mut SplitMix,
) -> String {
    let vocabulary = constraint.vocabulary();
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    let mut budget = matcher.completion_cost().unwrap() + 200;
    while !matcher.is_finished() {
        let mask = matcher.mask().unwrap();
        let mut tokens: Vec<TokenId> = mask.bits().iter().collect();
        assert!(
            !tokens.is_empty(),
            "a dead end after {:?}",
            String::from_utf8_lossy(&text)
        );
        // Tokens after which the output can be completed within the budget, one by one and all at once.
        let within = matcher.tokens_within(budget - 1).unwrap();
        tokens.retain(|&token| {
            let is_within = matcher.completion_cost_after(token).unwrap() < budget;
            if let Some(within) = &within
                && !constraint.eos().contains(&token)
            {
                assert_eq!(within.contains(token), is_within, "{token:?}");
            }
            is_within
        });
        assert!(
            !tokens.is_empty(),
            "no way to the end after {:?}",
            String::from_utf8_lossy(&text)
        );
        let bytes = |token: TokenId| vocabulary.token_bytes(token).unwrap_or_default();
        let has = |token: &&TokenId, like: fn(&u8) -> bool| bytes(**token).iter().any(like);
        let favourite = match taste {
            Taste::Random => None,
            Taste::Longest => tokens.iter().max_by_key(|token| bytes(**token).len()),
            Taste::Letters => tokens
                .iter()
                .find(|token| has(token, u8::is_ascii_alphabetic)),
            Taste::Quotes => tokens.iter().find(|token| has(token, |byte| *byte == b'"')),
            Taste::Digits => tokens.iter().find(|token| has(token, u8::is_ascii_digit)),
        };
        let token = match favourite {
            Some(&token) if random.below(8) > 0 => token,
            _ => tokens[random.below(tokens.len())],
        };
        matcher.accept_token(token).unwrap();
        text.extend_from_slice(bytes(token));
        budget -= 1;
    }
    String::from_utf8(text).unwrap()
}

pub(crate) fn json(build: impl Fn(&mut GrammarBuilder) -> ExprId, form: JsonForm) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = build(&mut builder);
    builder.define(root, body);
    builder.finish(root, form)
}

/// Any JSON value.
pub(crate) fn any_value(builder: &mut GrammarBuilder) -> ExprId {
    let rule = builder.declare("json-value");
    let value = builder.rule(rule);
    let arms = [
        Expr::String(StringShape::default()),
        Expr::Number(NumberSet::default()),
        Expr::Object(Box::new(ObjectShape {
            additional: Some(Slot::of(value)),
            ..ObjectShape::default()
        })),
        Expr::Array(Box::new(ArrayShape {
            rest: Some(Slot::of(value)),
            ..ArrayShape::default()
        })),
        Expr::Bytes(b"true"[..].into()),
        Expr::Bytes(b"false"[..].into()),
        Expr::Bytes(b"null"[..].into()),
    ];
    let arms: Vec<_> = arms.into_iter().map(|arm| builder.expr(arm)).collect();
    let body = builder.choice(arms);
    builder.define(rule, body);
    value
}

//! Guides: limits on tokens, compared with a separate count, and temperatures.

use crate::support::{
    any_value, compile, compile_with_long_tokens, json, vocabulary, walk_and_compare,
};
use proptest::prelude::*;
use structgen_automata::{GuideRefused, ProgramError};
use structgen_constraint::{CompileError, CompiledConstraint, ConstraintOptions, Matcher, oracle};
use structgen_grammar::{
    ArrayShape, CharSet, Expr, ExprId, Grammar, GrammarBuilder, Guide, JsonForm, Regular, Slot,
    Temperature,
};
use structgen_vocab::TokenId;

fn grammar(build: impl Fn(&mut GrammarBuilder) -> ExprId) -> Grammar {
    json(build, JsonForm::generate())
}

fn letters(builder: &mut GrammarBuilder, low: char, high: char, min: u32) -> ExprId {
    let set = CharSet::new([(low, high)]);
    let letter = builder.expr(Expr::Regular(Regular::Chars(set)));
    builder.repeat(letter, min, None)
}

fn limited(builder: &mut GrammarBuilder, most: u32, body: ExprId) -> ExprId {
    builder.guided(Guide::MaxTokens(most), body)
}

fn warm(builder: &mut GrammarBuilder, temperature: f32, body: ExprId) -> ExprId {
    let temperature = Temperature::new(temperature).unwrap();
    builder.guided(Guide::Temperature(temperature), body)
}

/// Accepts tokens given by their texts; returns the index of the first that is refused.
fn take(matcher: &mut Matcher, tokens: &[&str]) -> Result<(), usize> {
    let vocabulary = matcher.constraint().vocabulary().clone();
    for (place, text) in tokens.iter().enumerate() {
        let node = vocabulary.trie().find(text.as_bytes()).unwrap();
        let token = vocabulary.trie().tokens(node)[0];
        let allowed = matcher.mask().unwrap().contains(token);
        let taken = matcher.accept_token(token).is_ok();
        assert_eq!(allowed, taken, "{text:?} at {place}");
        if !taken {
            return Err(place);
        }
    }
    Ok(())
}

/// `+`, at most three tokens of letters, `1`.
fn three(builder: &mut GrammarBuilder) -> ExprId {
    let (plus, one) = (builder.bytes("+"), builder.bytes("1"));
    let word = letters(builder, 'a', 'z', 0);
    let word = limited(builder, 3, word);
    builder.sequence([plus, word, one])
}

#[test]
fn at_most_so_many_tokens_begin_in_a_part() {
    let constraint = compile(grammar(three));
    for (tokens, refused) in [
        (&["+", "1"][..], None),
        (&["+", "foo", "bar", "aaaa", "1"], None),
        (&["+", "a", "a", "a", "1"], None),
        (&["+", "a", "a", "a", "a"], Some(4)),
        (&["+", "aaaa", "aaaa", "ab", "foo"], Some(4)),
        // A token that begins before the part does not count.
        (&["+1"], None),
    ] {
        let mut matcher = constraint.matcher();
        assert_eq!(take(&mut matcher, tokens).err(), refused, "{tokens:?}");
        assert_eq!(matcher.is_accepting(), refused.is_none(), "{tokens:?}");
    }
}

#[test]
fn a_token_is_refused_behind_which_more_is_missing_than_tokens_are_left() {
    // `foo` begins with a whole word, or continues to "foobarfoobar".
    let build = |builder: &mut GrammarBuilder| {
        let long = builder.bytes("foobarfoobar");
        let ab = letters(builder, 'a', 'b', 1);
        let either = builder.choice([long, ab]);
        let part = limited(builder, 10, either);
        let end = builder.bytes("()");
        builder.sequence([part, end])
    };
    let constraint = compile(grammar(build));
    // After "foo", nine of twelve bytes are missing, and nine tokens are left; after "f", eleven bytes are missing.
    let mut matcher = constraint.matcher();
    assert_eq!(
        take(&mut matcher, &["foo", "bar", "foo", "bar", "()"]),
        Ok(())
    );
    let mut matcher = constraint.matcher();
    assert_eq!(take(&mut matcher, &["f"]), Err(0));
    let mut matcher = constraint.matcher();
    let bytes = ["foo", "b", "a", "r", "f", "o", "o", "b", "a", "r", "()"];
    assert_eq!(take(&mut matcher, &bytes), Ok(()));
    for seed in 0..100 {
        walk_and_compare(&constraint, seed, 40);
    }
}

#[test]
fn a_limit_below_the_shortest_text_is_an_error() {
    let build = |most: u32| {
        let grammar = grammar(|builder| {
            let text = builder.bytes("hello");
            limited(builder, most, text)
        });
        CompiledConstraint::new(grammar, &vocabulary(), &ConstraintOptions::default())
    };
    assert!(build(5).is_ok());
    let error = build(4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "%tokens{0,4} is too low: the shortest text of the part takes 5 bytes, and each may need a token of its own"
    );
    let CompileError::Program(ProgramError::Guide { why, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(why, GuideRefused::TooFewTokens { needed: 5 });
}

#[test]
fn guides_in_left_recursion_and_in_distinct_items_are_refused() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let again = builder.rule(root);
    let (plus, a) = (builder.bytes("+"), builder.bytes("a"));
    let more = builder.sequence([again, plus, a]);
    let guided = limited(&mut builder, 9, more);
    let body = builder.choice([guided, a]);
    builder.define(root, body);
    let recursive = builder.finish(root, JsonForm::generate());
    let distinct = grammar(|builder| {
        let value = builder.bytes("true");
        let item = warm(builder, 0.5, value);
        builder.expr(Expr::Array(Box::new(ArrayShape {
            rest: Some(Slot::of(item)),
            unique: true,
            ..ArrayShape::default()
        })))
    });
    for (grammar, why) in [
        (recursive, GuideRefused::LeftRecursion),
        (distinct, GuideRefused::DistinctItem),
    ] {
        let refused =
            CompiledConstraint::new(grammar, &vocabulary(), &ConstraintOptions::default());
        let Err(CompileError::Program(ProgramError::Guide { why: found, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(found, why);
    }
}

#[test]
fn limits_nest_and_every_round_has_its_own() {
    let build = |builder: &mut GrammarBuilder| {
        let word = letters(builder, 'a', 'b', 1);
        let word = limited(builder, 2, word);
        let comma = builder.bytes("x,y");
        let more = builder.sequence([comma, word]);
        let rest = builder.repeat(more, 0, None);
        let list = builder.sequence([word, rest]);
        let list = limited(builder, 9, list);
        let end = builder.bytes(" ");
        builder.sequence([list, end])
    };
    let constraint = compile(grammar(build));
    for (tokens, refused) in [
        (
            &["a", "ab", "x,y", "aaaa", "b", "x,y", "ab", "ab", " "][..],
            None,
        ),
        // One more byte of ",ya" is missing than tokens are left.
        (
            &["a", "ab", "x,y", "aaaa", "b", "x,y", "ab", "ab", "x"],
            Some(8),
        ),
        // The third token of a word.
        (&["a", "ab", "a"], Some(2)),
        // The ninth token of the list may end a word, but not begin another.
        (&["a", "a", "x,y", "a", "a", "x,y", "a", "a", " "], None),
        (
            &["a", "a", "x,y", "a", "a", "x,y", "a", "a", "x,y"],
            Some(8),
        ),
    ] {
        let mut matcher = constraint.matcher();
        assert_eq!(take(&mut matcher, tokens).err(), refused, "{tokens:?}");
    }
    for seed in 0..200 {
        walk_and_compare(&constraint, seed, 30);
    }
}

#[test]
fn json_in_a_limited_part_is_closed_in_time() {
    let build = |builder: &mut GrammarBuilder| {
        let value = any_value(builder);
        let value = limited(builder, 14, value);
        let (open, close) = (builder.bytes("<"), builder.bytes(">"));
        builder.sequence([open, value, close])
    };
    let constraint = compile(grammar(build));
    for seed in 0..120 {
        walk_and_compare(&constraint, seed, 60);
    }
}

#[test]
fn masks_near_and_far_from_a_limit_are_the_oracles() {
    let build = |builder: &mut GrammarBuilder| {
        let any = builder.expr(Expr::Regular(Regular::any_text()));
        let thought = limited(builder, 6, any);
        let stop = builder.bytes("())");
        let word = letters(builder, 'a', 'z', 2);
        let word = limited(builder, 4, word);
        builder.sequence([thought, stop, word])
    };
    let constraint = compile_with_long_tokens(grammar(build));
    for seed in 0..60 {
        walk_and_compare(&constraint, seed, 24);
    }
}

#[test]
fn a_character_that_is_cut_off_is_refused_where_its_rest_takes_more_tokens_than_are_left() {
    let any = |builder: &mut GrammarBuilder| {
        let any = builder.expr(Expr::Regular(Regular::any_text()));
        limited(builder, 4, any)
    };
    let constraint = compile(grammar(any));
    let vocabulary = constraint.vocabulary().clone();
    let token = |bytes: &[u8]| {
        vocabulary
            .trie()
            .tokens(vocabulary.trie().find(bytes).unwrap())[0]
    };
    // The first byte of a character of each length, after each number of tokens.
    for (first, length) in [(b'a', 1), (0xC3, 2), (0xE6, 3), (0xF0, 4)] {
        for taken in 0..=4 {
            let mut matcher = constraint.matcher();
            for _ in 0..taken {
                matcher.accept_token(token(b"foo")).unwrap();
            }
            let first = token(&[first]);
            let allowed = matcher.mask().unwrap().contains(first);
            assert_eq!(allowed, taken + length <= 4, "{taken} {length}");
            assert_eq!(oracle::mask(&matcher).unwrap().contains(first), allowed);
            assert_eq!(matcher.accept_token(first).is_ok(), allowed);
        }
    }
    for seed in 0..60 {
        walk_and_compare(&constraint, seed, 4);
    }
}

/// Counts the tokens that begin between `+` and `1`; returns whether the text matches.
fn fits_three(constraint: &CompiledConstraint, tokens: &[TokenId]) -> Option<bool> {
    let mut text = Vec::new();
    let mut begun = 0;
    for &token in tokens {
        // The part begins after the plus, and ends before the one.
        begun += usize::from(!text.is_empty() && !text.contains(&b'1'));
        text.extend_from_slice(constraint.vocabulary().token_bytes(token)?);
    }
    // A token that has only what follows the part began in it too, since the part ended there.
    let last = constraint.vocabulary().token_bytes(*tokens.last()?)?;
    let begun = begun - usize::from(last == b"1" && tokens.len() > 1);
    let inner = text.strip_prefix(b"+")?.strip_suffix(b"1")?;
    Some(inner.iter().all(u8::is_ascii_lowercase) && begun <= 3)
}

proptest! {
    #[test]
    fn every_cut_of_a_text_is_judged_by_its_tokens(word in "[a-c]{0,7}", cuts in prop::collection::vec(any::<bool>(), 9)) {
        let constraint = compile(grammar(three));
        let text = format!("+{word}1");
        let trie = constraint.vocabulary().trie();
        // Joins bytes to tokens, where there is a token with their text.
        let mut tokens: Vec<TokenId> = Vec::new();
        let mut piece: Vec<u8> = Vec::new();
        for (byte, cut) in text.bytes().zip(cuts) {
            let longer = [&piece[..], &[byte]].concat();
            let known = |bytes: &[u8]| trie.find(bytes).map(|node| trie.tokens(node).to_vec());
            match known(&longer).filter(|tokens| !tokens.is_empty()) {
                Some(found) if !piece.is_empty() && !cut => {
                    tokens.pop();
                    tokens.push(found[0]);
                    piece = longer;
                }
                _ => {
                    tokens.push(known(&[byte]).unwrap()[0]);
                    piece = vec![byte];
                }
            }
        }
        let mut matcher = constraint.matcher();
        let taken = tokens.iter().all(|&token| matcher.accept_token(token).is_ok());
        let fits = fits_three(&constraint, &tokens).unwrap();
        prop_assert_eq!(taken && matcher.is_accepting(), fits, "{:?}", tokens);
    }
}

#[test]
fn temperatures_are_those_of_the_parts_in_which_a_token_may_begin() {
    let build = |builder: &mut GrammarBuilder| {
        let name = letters(builder, 'a', 'z', 1);
        let name = warm(builder, 0.75, name);
        let value = letters(builder, '0', '9', 0);
        let cold = warm(builder, 0.0, value);
        let plus = builder.bytes("+");
        let both = builder.sequence([plus, cold, plus]);
        let outer = warm(builder, 1.5, both);
        let end = builder.bytes("()");
        builder.sequence([name, outer, end])
    };
    let constraint = compile(grammar(build));
    let mut matcher = constraint.matcher();
    let mut found = vec![matcher.temperature().unwrap()];
    for token in ["aaaa", "+", "123", "+", "("] {
        take(&mut matcher, &[token]).unwrap();
        found.push(matcher.temperature().unwrap());
    }
    assert_eq!(
        found,
        [
            Some(0.75),
            // Letters, or the plus.
            Some(1.5),
            // A digit, or the plus after the digits.
            Some(1.5),
            Some(1.5),
            None,
            None
        ]
    );
    // If no other reading is possible, the inner temperature applies.
    let build = |builder: &mut GrammarBuilder| {
        let inner = builder.bytes("aab");
        let inner = warm(builder, 0.25, inner);
        warm(builder, 1.5, inner)
    };
    let constraint = compile(grammar(build));
    let mut matcher = constraint.matcher();
    take(&mut matcher, &["aa"]).unwrap();
    assert_eq!(matcher.temperature().unwrap(), Some(0.25));
    take(&mut matcher, &["b"]).unwrap();
    assert_eq!(matcher.temperature().unwrap(), None);
    // Elsewhere, no temperature is set.
    assert_eq!(
        compile(grammar(three)).matcher().temperature().unwrap(),
        None
    );
}

#[test]
fn a_text_is_checked_without_its_tokens() {
    let constraint = compile(grammar(three));
    let text = format!("+{}1", "a".repeat(100));
    assert_eq!(
        constraint.matcher().check_text(text.as_bytes()).unwrap(),
        None
    );
}

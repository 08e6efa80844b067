//! Patterns with nested counters: every text can be completed.

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use structgen_automata::Limits;
use structgen_constraint::{CompiledConstraint, ConstraintOptions, MatcherError};
use structgen_frontend::regex::{RegexOptions, parse};
use structgen_grammar::{Expr, Grammar, GrammarBuilder, JsonForm};
use structgen_vocab::TokenId;

use crate::support::{SplitMix, compile, vocabulary};

fn grammar(pattern: &str) -> Grammar {
    let set = parse(pattern, RegexOptions::json_schema()).expect(pattern);
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let set = builder.expr(Expr::Regular(set));
    builder.define(root, set);
    builder.finish(root, JsonForm::generate())
}

/// A random sequence in which most parts are counted, with these bounds.
fn pattern(random: &mut SplitMix, bounds: &[usize], depth: usize) -> String {
    const ATOMS: [&str; 8] = ["[ab]", "[^ ]", " ", "[a-z]", "a", "b", "aa", "[^\\n]"];
    let mut pattern = String::new();
    for _ in 0..1 + random.below(3) {
        let is_group = depth == 0 || depth < 3 && random.below(3) == 0;
        pattern += &match is_group {
            true => format!("(?:{})", self::pattern(random, bounds, depth + 1)),
            false => ATOMS[random.below(ATOMS.len())].to_owned(),
        };
        let most = bounds[random.below(bounds.len())];
        let least = [0, 1, random.below(most + 1)][random.below(3)];
        pattern += &match random.below(8) {
            0 if !is_group => String::new(),
            1 => "?".to_owned(),
            2 => "*".to_owned(),
            3 => "+".to_owned(),
            _ => format!("{{{least},{most}}}"),
        };
    }
    pattern
}

/// Writes a text of at most `length` random tokens. `check` gets the text and the allowed tokens of every state.
fn write(
    constraint: &CompiledConstraint,
    random: &mut SplitMix,
    length: usize,
    mut check: impl FnMut(&[u8], &[TokenId]),
) -> Result<Vec<u8>, MatcherError> {
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    for _ in 0..length {
        let mask = matcher.mask()?;
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        check(&text, &tokens);
        if tokens.is_empty() || tokens == constraint.eos() {
            break;
        }
        // The matcher accepts tokens of the mask, and one of them is kept.
        for _ in 0..4 {
            let token = tokens[random.below(tokens.len())];
            matcher.clone().accept_token(token)?;
        }
        let mut texts = tokens
            .iter()
            .filter(|token| !constraint.eos().contains(token));
        let nth = random.below(texts.clone().count());
        let token = *texts.nth(nth).expect("one of them");
        matcher.accept_token(token)?;
        text.extend_from_slice(
            constraint
                .vocabulary()
                .token_bytes(token)
                .unwrap_or_default(),
        );
    }
    Ok(text)
}

#[test]
fn masks_are_those_of_an_automaton_with_all_counters_unrolled() {
    let mut random = SplitMix::new(1);
    let mut compared = 0;
    for _ in 0..300 {
        let pattern = pattern(&mut random, &[2, 3, 5], 0);
        let dfa = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .start_kind(StartKind::Anchored)
                    .match_kind(MatchKind::All)
                    .minimize(true)
                    .dfa_size_limit(Some(1 << 19))
                    .determinize_size_limit(Some(1 << 21)),
            )
            .build(&format!("(?:{pattern})\\z"));
        let Ok(dfa) = dfa else {
            continue;
        };
        let anchored = start::Config::new().anchored(Anchored::Yes);
        let start = dfa.start_state(&anchored).expect("no look-behind");
        let constraint = compile(grammar(&format!("^(?:{pattern})$")));
        let run = |mut state, bytes: &[u8]| {
            bytes
                .iter()
                .for_each(|&byte| state = dfa.next_state(state, byte));
            state
        };
        let mut state = start;
        let mut read = 0;
        let check = |text: &[u8], tokens: &[TokenId]| {
            state = run(state, &text[read..]);
            read = text.len();
            let vocabulary = constraint.vocabulary();
            for token in (0..vocabulary.len() as u32).map(TokenId) {
                let expected = match constraint.eos().contains(&token) {
                    true => dfa.is_match_state(dfa.next_eoi_state(state)),
                    false => {
                        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                        !bytes.is_empty() && !dfa.is_dead_state(run(state, bytes))
                    }
                };
                let is_allowed = tokens.binary_search(&token).is_ok();
                let text = String::from_utf8_lossy(text);
                assert_eq!(is_allowed, expected, "{token} after {text:?} of {pattern}");
            }
            compared += 1;
        };
        write(&constraint, &mut random, 40, check).expect(&pattern);
    }
    assert!(compared > 2_000, "{compared} masks");
}

#[test]
fn no_text_ends_in_the_middle() {
    let mut random = SplitMix::new(2);
    let known = [
        r"(\S+\s*){1,100}",
        r"(\S{1,30}\s*){1,100}",
        r"(\S{1,100}\s?){1,100}",
        r"(.{0,20}x?.{0,20}){1,20}",
    ];
    let mut patterns: Vec<String> = known.map(str::to_owned).to_vec();
    patterns.extend((0..120).map(|_| pattern(&mut random, &[3, 20, 100], 0)));
    for pattern in patterns {
        let constraint = compile(grammar(&format!("^(?:{pattern})$")));
        let written = write(&constraint, &mut random, 300, |_, _| ());
        assert!(written.is_ok(), "{pattern}: {written:?}");
    }
}

fn with_expressions(pattern: &str, expressions: usize) -> CompiledConstraint {
    let mut limits = Limits::default();
    limits.regular.expressions = expressions;
    let options = ConstraintOptions {
        limits,
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar(pattern), &vocabulary(), &options).expect(pattern)
}

/// States of other texts that fill the memory are no reason to refuse a text.
#[test]
fn full_states_are_replaced() {
    let constraint = with_expressions(r"^(?:[a-z]{1,30} ?){1,100}$", 700);
    let mut first = constraint.matcher();
    first.accept_token(TokenId(b'a'.into())).expect("a letter");
    for seed in 0..20 {
        let written = write(&constraint, &mut SplitMix::new(seed), 60, |_, _| ());
        assert!(written.is_ok(), "{seed}: {written:?}");
    }
    assert!(constraint.statistics().states_dropped > 0);
    first.accept_token(TokenId(b'b'.into())).expect("a letter");
    assert_eq!(first.tokens().count(), 2);
}

/// A mask that exceeds the limit is refused, and the states of others stay.
#[test]
fn a_mask_that_is_too_large_leaves_the_others_their_states() {
    let constraint = with_expressions("^(?:no|[abc].*[ab123].{30})$", 300);
    let mut small = constraint.matcher();
    small
        .accept_token(TokenId(b'n'.into()))
        .expect("one of the two");
    small.mask().expect("a small mask");
    let mut large = constraint.matcher();
    large.accept_token(TokenId(b'a'.into())).expect("the other");
    for _ in 0..3 {
        let error = large.mask().expect_err("too large");
        assert!(
            error.to_string().contains("exceed the limit of 300"),
            "{error}"
        );
    }
    assert_eq!(constraint.statistics().states_dropped, 0);
    small.accept_token(TokenId(b'o'.into())).expect("the end");
    assert!(small.is_accepting());
}

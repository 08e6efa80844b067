//! Counted repetitions of parts that can be split in several ways.

use crate::support::{compile, vocabulary, walk_and_compare};
use structgen_automata::Limits;
use structgen_constraint::{CompiledConstraint, ConstraintOptions, MatcherError, oracle};
use structgen_frontend::gbnf::{GbnfOptions, parse};

/// The recursion keeps the part from being a regular set, whose counters are handled elsewhere.
const PART: &str = "x ::= \"a\" | \"aa\" | \"(\" x \")\"";

fn gbnf(root: &str) -> CompiledConstraint {
    let text = format!("root ::= {root}\n{PART}\n");
    compile(parse(&text, &GbnfOptions::default()).expect("a grammar"))
}

fn takes(constraint: &CompiledConstraint, text: &str) -> bool {
    let mismatch = constraint.matcher().check_text(text.as_bytes());
    mismatch.expect("within limits").is_none()
}

#[test]
fn ambiguous_runs_are_counted_exactly() {
    for min in 0..=9_usize {
        for more in [0, 1, 2, 5] {
            let max = min + more;
            let constraint = gbnf(&format!("x{{{min},{max}}}"));
            let endless = gbnf(&format!("x{{{min},}} \";\""));
            for length in 0..=2 * max + 2 {
                let text = "a".repeat(length);
                // With `runs` runs, a text has between `runs` and twice as many letters.
                let fits = (min..=max).any(|runs| (runs..=2 * runs).contains(&length));
                assert_eq!(takes(&constraint, &text), fits, "{min} {max} {length}");
                let fits = length >= min;
                assert_eq!(takes(&endless, &(text + ";")), fits, "{min} {length}");
            }
        }
    }
}

#[test]
fn runs_of_runs_are_counted_exactly() {
    for (min, max, low, high) in [(2, 3, 2, 4), (3, 3, 0, 3), (0, 2, 3, 5), (4, 7, 2, 2)] {
        let constraint = gbnf(&format!("(x{{{min},{max}}}){{{low},{high}}}"));
        for length in 0..=2 * max * high + 2 {
            let fits = (low..=high).any(|outer| {
                (outer * min..=outer * max).any(|runs| (runs..=2 * runs).contains(&length))
            });
            let text = "a".repeat(length);
            let case = (min, max, low, high, length);
            assert_eq!(takes(&constraint, &text), fits, "{case:?}");
        }
    }
}

/// Returns how many states a text of this many letters leads to.
fn states(root: &str, letters: usize) -> usize {
    let constraint = gbnf(root);
    takes(&constraint, &"a".repeat(letters));
    constraint.statistics().states
}

/// Nested counts and recursion, where every letter can begin a part or end any number of them.
const AMBIGUOUS: [&str; 8] = [
    "x{100,400}{100,400}",
    "%json {}{255,510}{255,510} | x{90,}{20,700}",
    "root{3,6} | [^b]",
    "root{0,255}{255,510} | \"a\" | \"\"",
    "root{255,502}{255,298} | x | (. | root)",
    "(x | root){0,}{0,}{0,}{0,}",
    "root{0,}{0,255}{255,510}{255,510} | x | (root){0,}{0,}",
    "root root root | root root | x | \"\"",
];

#[test]
fn states_grow_with_the_text_and_not_with_its_readings() {
    for root in AMBIGUOUS {
        let (some, more) = (states(root, 30), states(root, 60));
        // Each letter adds equally many once all frames exist.
        assert!(more < 4 * some, "{root}: {some} states, then {more}");
        assert!(more < 40_000, "{root}: {more} states");
    }
}

#[test]
fn masks_of_ambiguous_counts_equal_the_oracle() {
    let mut walked = 0;
    for (seed, root) in AMBIGUOUS.iter().enumerate() {
        let constraint = gbnf(root);
        // The walk is completed, unless that takes thousands of letters.
        if constraint.matcher().completion_cost().unwrap() < 50 {
            walk_and_compare(&constraint, seed as u64, 12);
            walked += 1;
        }
    }
    assert!(walked >= 5, "{walked}");
}

#[test]
fn what_is_too_ambiguous_is_an_error_at_the_token_that_is_and_nothing_is_lost() {
    let grammar = parse("root ::= root root | \"a\"", &GbnfOptions::default()).unwrap();
    let options = ConstraintOptions {
        limits: Limits {
            work: 1_000,
            ..Limits::default()
        },
        ..ConstraintOptions::default()
    };
    let constraint = CompiledConstraint::new(grammar, &vocabulary(), &options).unwrap();
    let mut matcher = constraint.matcher();
    let letter = matcher.mask().unwrap().bits().first().unwrap();
    // Work is counted per letter, so the first letters stay within the limit; later ones have more alternatives.
    let (taken, refused) = (0..1_000)
        .find_map(|taken| Some((taken, matcher.accept_token(letter).err()?)))
        .unwrap();
    assert!(taken > 8, "{taken}");
    let MatcherError::Limit(limit) = refused else {
        panic!("{refused}");
    };
    assert_eq!(
        limit.to_string(),
        "alternatives looked at for one token exceed the limit of 1000"
    );
    assert_eq!(matcher.tokens().count(), taken);
    matcher.rollback(5).unwrap();
    assert_eq!(
        matcher.mask().unwrap().bits(),
        &oracle::mask(&matcher).unwrap()
    );
}

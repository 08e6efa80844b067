//! Nested counters: sets whose texts can be split into rounds in many ways.

use super::*;
use crate::arena::Node;

/// Reads the text; returns the maximum number of alternatives open at once, and the number of expressions.
fn cost_of(pattern: &str, text: &str) -> (usize, usize) {
    let set = parse(pattern, RegexOptions::json_schema()).expect(pattern);
    let mut machine = machine(&set);
    let mut state = machine.start().expect("live").expect("not empty");
    let mut most = 1;
    for &byte in text.as_bytes() {
        let next = machine.step(&state, byte).expect("within the limits");
        state = next.unwrap_or_else(|| panic!("{pattern} goes on after {text:?}"));
        if let Node::Union(arms) = machine.steps.arena.node(state.0) {
            most = most.max(arms.len());
        }
    }
    (most, machine.size())
}

/// Words of one to nine letters.
fn words(count: usize) -> String {
    let words = (0..count).map(|n| &"xylophone"[..1 + n * 7 % 9]);
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn one_ambiguous_counter_takes_a_few_alternatives() {
    for pattern in [
        r"^(\S+\s*){1,100}$",
        r"^(\w+\W*)*$",
        r"^(\S*\s?){0,100}$",
        r"^((\S+\s*){1,100}[^x]?){1,100}$",
        r"^(.{0,20}x?.{0,20}){1,20}$",
        r"^((a|b|[a-y])+ ?|x+ ){0,150}$",
    ] {
        let (most, size) = cost_of(pattern, &words(60));
        assert!(most <= 8, "{pattern}: {most} alternatives");
        assert!(size <= 6_000, "{pattern}: {size} expressions");
    }
}

/// No alternative covers another: there are as many as the smaller counter has values.
#[test]
fn alternatives_grow_with_the_smaller_counter() {
    for n in [10, 20, 40] {
        let text = words(6 * n);
        for pattern in [
            format!(r"^(\S{{1,{n}}}\s*){{1,1000}}$"),
            format!(r"^(\S{{1,{n}}}\s?){{900,1000}}$"),
            format!(r"^(\S{{1,500}}\s?x*){{1,{n}}}.*$"),
            format!(r"^((a|[a-z]{{1,{n}}})\s?){{1,1000}}$"),
        ] {
            let (most, size) = cost_of(&pattern, &text);
            assert!(most <= 3 * n + 4, "{pattern}: {most} alternatives");
            assert!(size <= 200 * n * n, "{pattern}: {size} expressions");
        }
    }
}

#[test]
fn ranges_that_leave_a_gap_are_kept_apart() {
    // A round takes three letters or five, so the rests are sums of these.
    let set = parse(r"^(?:(?:a{3}|a{5}){2,4}b){2}$", RegexOptions::json_schema()).expect("valid");
    let mut machine = machine(&set);
    let rounds = |length: usize| {
        (2..=4).any(|rounds| (0..=rounds).any(|fives| 3 * rounds + 2 * fives == length))
    };
    for one in 0..=21 {
        for other in 0..=21 {
            let text = format!("{}b{}b", "a".repeat(one), "a".repeat(other));
            let expected = rounds(one) && rounds(other);
            assert_eq!(accepts(&mut machine, text.as_bytes()), expected, "{text}");
        }
    }
}
#[test]
fn rounds_that_begin_alike_take_as_many_alternatives_as_they_have_places() {
    let letter = |n: u32| {
        if (n * n * 7 + n / 3) % 5 < 2 {
            'a'
        } else {
            'b'
        }
    };
    let text: String = (0..150).map(letter).collect();
    for (pattern, at_most) in [
        // Where a round may end depends on letters far back, so states are sets of positions.
        (r"^(?:[ab]*a[ab]{6}b?){5,100}.*$", 4),
        (r"^(?:[ab]*a[ab]{6}){0,100}$", 4),
        (r"^(?:(?:a|b|ab)*a[ab]{1,6}[bc]){0,100}.*$", 4),
        // Three nested counters: one alternative has several counters at once.
        (r"^(?:(?:[ab]{1,6}b?){1,6}c?){1,60}$", 8),
        (r"^(?:(?:(?:[ab]{2,5}b?){3,20}c?){1,60}a?){2,50}$", 8),
    ] {
        let (most, size) = cost_of(pattern, &text);
        assert!(most <= at_most, "{pattern}: {most} alternatives");
        assert!(size <= 4_000, "{pattern}: {size} expressions");
    }
}

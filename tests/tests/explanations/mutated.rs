//! Texts that a pattern refuses, made from ones that it matches: the first offset that does not match is where an
//! automaton of the crate `regex-automata` has no way on, and the nearest text matches there as well.

use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use structgen::explain::Explainer;
use structgen::{Checker, Constraint};
use structgen_tests::report;

/// Patterns, and a text of each.
const PATTERNS: [(&str, &str); 12] = [
    (r"[A-Z]{2}-[0-9]{4}(-[a-z]+)?", "QR-1480-gate"),
    (
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
        "2024-11-30",
    ),
    (
        r"(GET|POST|DELETE) /[a-z/]+( HTTP/1\.[01])?",
        "POST /orders/new HTTP/1.1",
    ),
    (
        r"[a-z0-9._]+@[a-z0-9]+(\.[a-z]{2,})+",
        "mia.brandt@post.example",
    ),
    (
        r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?",
        "-12.50e+3",
    ),
    (r"(a|ab)(c|bcd)(d*)", "abcddd"),
    (r"#[0-9a-f]{6}", "#a0c4ff"),
    (r"([0-9]{1,3}\.){3}[0-9]{1,3}", "192.168.10.7"),
    (r"(yes|no|maybe)(, (yes|no|maybe)){0,3}", "yes, maybe, no"),
    (
        r"v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta)\.[0-9]+)?",
        "v1.20.3-beta.4",
    ),
    (
        r"<([a-z]+)( [a-z]+='[a-z ]*')*>",
        "<note kind='to do' id='x'>",
    ),
    (r"(ab|ba)*c{2,3}", "abbaabcc"),
];

/// What a character is replaced by, and what comes between two.
const STRANGER: char = '!';

/// Texts one edit away.
fn mutated(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for at in 0..=text.len() {
        let (before, after) = text.split_at(at);
        texts.push(before.to_owned());
        texts.push(format!("{before}{STRANGER}{after}"));
        if let Some(rest) = after.get(1..) {
            texts.push(format!("{before}{rest}"));
            texts.push(format!("{before}{STRANGER}{rest}"));
        }
    }
    texts
}

fn automaton(pattern: &str) -> dense::DFA<Vec<u32>> {
    dense::Builder::new()
        .configure(dense::Config::new().match_kind(MatchKind::All))
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build(pattern)
        .expect("the pattern is one of the crate's")
}

/// Where the text stops being the beginning of one that matches; none where it matches.
fn mismatch(dfa: &dense::DFA<Vec<u32>>, text: &str) -> Option<usize> {
    let input = Input::new(text).anchored(Anchored::Yes);
    let mut state = dfa.start_state_forward(&input).expect("there is a start");
    for (offset, byte) in text.bytes().enumerate() {
        state = dfa.next_state(state, byte);
        // A state after a match has a way on only if some byte leads on.
        let leads_on = |state| {
            !dfa.is_dead_state(state)
                && (dfa.is_match_state(dfa.next_eoi_state(state))
                    || (0..=255).any(|byte| !dfa.is_dead_state(dfa.next_state(state, byte))))
        };
        if !leads_on(state) {
            return Some(offset);
        }
    }
    let end = dfa.next_eoi_state(state);
    (!dfa.is_match_state(end)).then_some(text.len())
}

#[test]
fn the_first_offset_is_an_automatons_and_the_nearest_text_is_one_edit_away() {
    let mut refused = 0;
    for (pattern, text) in PATTERNS {
        let dfa = automaton(pattern);
        let constraint = Constraint::regex(pattern).unwrap();
        let explainer = Explainer::new(&constraint, Checker::new(&constraint).unwrap());
        assert_eq!(mismatch(&dfa, text), None, "{pattern}");
        for text in mutated(text) {
            let explanation = explainer.explain(text.as_bytes()).unwrap();
            let offset = explanation.map(|explanation| explanation.mismatch.offset);
            assert_eq!(offset, mismatch(&dfa, &text), "{pattern} {text:?}");
            if offset.is_none() {
                continue;
            }
            refused += 1;
            let nearest = explainer.nearest(text.as_bytes()).unwrap().unwrap();
            let near = String::from_utf8(nearest.text).unwrap();
            assert_eq!(mismatch(&dfa, &near), None, "{pattern} {text:?} {near:?}");
            let is_farther = nearest.edits > 1 && text.contains(STRANGER);
            assert!(
                !is_farther,
                "{pattern} {text:?} {near:?}: one edit suffices"
            );
        }
    }
    report(&format!("{refused} mutated texts of patterns explained"));
    assert!(refused >= 200, "{refused} texts");
}

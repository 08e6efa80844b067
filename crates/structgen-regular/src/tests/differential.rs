//! Differential tests with `regex-automata`.

use proptest::prelude::*;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};

use super::*;

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "[abc]",
        1 => Just("é".to_owned()),
        1 => Just("€".to_owned()),
        1 => Just("[a-c]".to_owned()),
        1 => Just("[^a]".to_owned()),
        1 => Just("[é-ž€]".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just("abc".to_owned()),
        1 => Just("(?:)".to_owned()),
        1 => Just("\\p{Greek}".to_owned()),
    ];
    patterns(
        leaf,
        5,
        24,
        "\\*|\\+|\\?|\\{2\\}|\\{1,3\\}|\\{2,\\}|\\{0,4\\}",
    )
}

/// Nested counters and few letters: texts can be split into rounds in many ways.
fn ambiguous() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => "[ab]",
        3 => Just("[ab]".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just("ab".to_owned()),
    ];
    patterns(
        leaf,
        4,
        12,
        "\\?|\\*|\\{1,3\\}|\\{2,3\\}|\\{0,4\\}|\\{3\\}|\\{1,5\\}|\\{2,6\\}",
    )
}

/// Compares acceptance, liveness and costs with those of a minimal automaton in which all counters are unrolled; skips
/// patterns for which that is large.
fn agrees_with_a_minimal_dfa(pattern: &str, texts: &[String]) -> Result<(), TestCaseError> {
    let dfa = dense::Builder::new()
        .configure(
            dense::Config::new()
                .start_kind(regex_automata::dfa::StartKind::Anchored)
                .match_kind(MatchKind::All)
                .minimize(true)
                .dfa_size_limit(Some(1 << 21))
                .determinize_size_limit(Some(1 << 23)),
        )
        .build(&format!("(?:{pattern})\\z"));
    let Ok(dfa) = dfa else {
        return Ok(());
    };
    let set = parse(pattern, RegexOptions::rust()).expect("a pattern of the dialect");
    let mut machine = machine(&set);
    for text in texts {
        let mut state = dfa
            .start_state(&start::Config::new().anchored(Anchored::Yes))
            .expect("no look-behind");
        let mut ours = machine.start().expect("within the limits");
        for &byte in text.as_bytes() {
            state = dfa.next_state(state, byte);
            ours = match ours {
                Some(at) => machine.step(&at, byte).expect("within the limits"),
                None => None,
            };
            prop_assert_eq!(
                ours.is_none(),
                dfa.is_dead_state(state),
                "{} on {:?}",
                pattern,
                text
            );
        }
        let theirs = dfa.is_match_state(dfa.next_eoi_state(state));
        let accepted = ours.is_some_and(|at| machine.is_accepting(&at));
        prop_assert_eq!(accepted, theirs, "{} on {:?}", pattern, text);
        if let Some(at) = ours {
            let cost = machine.cost(&at) as usize;
            let rest = completion(&mut machine, at);
            prop_assert_eq!(rest.len(), cost, "{} behind {:?}", pattern, text);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn acceptance_and_liveness_agree_with_a_minimal_dfa(
        pattern in pattern(),
        texts in prop::collection::vec("[abcéα€\\n]{0,8}", 12),
    ) {
        agrees_with_a_minimal_dfa(&pattern, &texts)?;
    }

    #[test]
    fn counters_within_counters_agree_with_a_minimal_dfa(
        pattern in ambiguous(),
        counter in "\\{0,3\\}|\\{2,4\\}|\\{1,6\\}|\\{3,5\\}",
        texts in prop::collection::vec("[abc]{0,4}|[ab]{3,30}|a{0,25}|(ab){0,15}", 12),
    ) {
        agrees_with_a_minimal_dfa(&format!("(?:{pattern}){counter}"), &texts)?;
    }
}

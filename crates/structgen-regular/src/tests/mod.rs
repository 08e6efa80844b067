//! Regular machines compared with independent implementations.

mod abstraction;
mod boolean;
mod counting;
mod dialects;
mod differential;
mod limits;
mod look;
mod nested;
mod patterns;
mod random;
mod references;

use structgen_frontend::regex::{RegexOptions, parse};
use structgen_grammar::{CharSet, Regular};

use self::random::patterns;
use super::*;

fn machine(regular: &Regular) -> RegularMachine {
    RegularMachine::new(regular, RegularLimits::default()).expect("within the limits")
}

/// The state after the text, or `None` once dead.
fn walk(machine: &mut RegularMachine, text: &[u8]) -> Option<RegularState> {
    let mut state = machine.start().expect("within the limits")?;
    for &byte in text {
        state = machine.step(&state, byte).expect("within the limits")?;
    }
    Some(state)
}

fn accepts(machine: &mut RegularMachine, text: &[u8]) -> bool {
    walk(machine, text).is_some_and(|state| machine.is_accepting(&state))
}

/// Follows falling costs to a final state, which proves that the state is live.
fn completion(machine: &mut RegularMachine, state: RegularState) -> Vec<u8> {
    let mut state = state;
    let mut text = Vec::new();
    loop {
        let cost = machine.cost(&state);
        assert_eq!(cost == 0, machine.is_accepting(&state));
        if cost == 0 {
            return text;
        }
        let next = (0..=u8::MAX).find_map(|byte| {
            let next = machine.step(&state, byte).expect("within the limits")?;
            (machine.cost(&next) < cost).then_some((byte, next))
        });
        let (byte, cheaper) = next.expect("some byte makes the rest cheaper");
        text.push(byte);
        state = cheaper;
    }
}

fn chars(low: char, high: char) -> Regular {
    Regular::Chars(CharSet::new([(low, high)]))
}

#[test]
fn characters_are_their_utf8_bytes() {
    for set in [
        CharSet::all(),
        CharSet::new([('é', 'ż'), ('a', 'c')]),
        CharSet::new([('\u{7F}', '\u{80}'), ('\u{7FF}', '\u{800}')]),
        CharSet::new([('\u{FFFF}', '\u{10000}')]),
        CharSet::from_iter(('\0'..='\u{2FFF}').step_by(3)),
        CharSet::from_iter(['\n', '"', '\u{2028}']).complement(),
    ] {
        let mut machine = machine(&Regular::Chars(set.clone()));
        for c in
            ('\0'..='\u{3100}').chain(['\u{D7FF}', '\u{E000}', '\u{FFFF}', '\u{10000}', char::MAX])
        {
            let accepted = accepts(&mut machine, c.encode_utf8(&mut [0; 4]).as_bytes());
            assert_eq!(accepted, set.contains(c), "{c:?} in {set:?}");
        }
        for wrong in [
            &b"\xC3"[..],
            b"\x80",
            b"\xED\xA0\x80",
            b"\xC0\x80",
            b"\xF5\x80\x80\x80",
        ] {
            assert!(!accepts(&mut machine, wrong), "{wrong:?} in {set:?}");
        }
    }
}

#[test]
fn equal_sets_are_one_state() {
    let words = Regular::union([
        Regular::literal("start"),
        Regular::literal("smart"),
        Regular::literal("part"),
    ]);
    let mut machine = machine(&words);
    let after_sta = walk(&mut machine, b"sta");
    assert!(after_sta.is_some());
    assert_eq!(after_sta, walk(&mut machine, b"sma"));
    assert_eq!(after_sta, walk(&mut machine, b"pa"));
}

#[test]
fn a_found_search_stays_in_one_state() {
    let search = Regular::concat([
        Regular::any_text(),
        Regular::literal("é"),
        Regular::repeat(chars('0', '9'), 2, Some(5)),
        Regular::any_text(),
    ]);
    let mut machine = machine(&search);
    let found = walk(&mut machine, "x é12".as_bytes());
    assert!(found.is_some());
    assert_eq!(found, walk(&mut machine, "é12 é1".as_bytes()));
    assert_eq!(found, walk(&mut machine, "é12345678éé€".as_bytes()));
    assert!(!accepts(&mut machine, "é1 é".as_bytes()));
}

/// Checks which texts a pattern of JSON Schema is found in.
#[track_caller]
fn check(pattern: &str, found: &[&str], not_found: &[&str]) {
    let set = parse(pattern, RegexOptions::json_schema()).expect(pattern);
    let mut machine = machine(&set);
    for (texts, expected) in [(found, true), (not_found, false)] {
        for text in texts {
            let is_found = accepts(&mut machine, text.as_bytes());
            assert_eq!(is_found, expected, "{pattern} on {text:?}");
        }
    }
}

//! Number sets from a few words, and walks through a machine.

use structgen_automata::Machine;
use structgen_automata::number::{NumberMachine, NumberState};
use structgen_grammar::{JsonForm, NumberBound, NumberForm, NumberSet};

/// Parses `">=1 <2.5 *0.1 !0.3"` as a set: `*` for multiples, `!` for excluded multiples.
pub(crate) fn set(text: &str) -> NumberSet {
    let mut set = NumberSet::default();
    for part in text.split_whitespace() {
        let digits = part.trim_start_matches(['<', '>', '=', '*', '!']);
        let value = digits.parse().expect("a number");
        let bound = |exclusive| {
            Some(NumberBound {
                value: digits.parse().expect("a number"),
                exclusive,
            })
        };
        match &part[..part.len() - digits.len()] {
            ">=" => set.lower = bound(false),
            ">" => set.lower = bound(true),
            "<=" => set.upper = bound(false),
            "<" => set.upper = bound(true),
            "*" => set.multiples_of.push(value),
            "!" => set.not_multiples_of.push(value),
            other => panic!("no operator: {other}"),
        }
    }
    set.multiples_of.sort();
    set.not_multiples_of.sort();
    set
}

pub(crate) fn exact() -> NumberForm {
    JsonForm::exact().numbers
}

/// Numbers with one spelling each.
pub(crate) fn generate() -> NumberForm {
    NumberForm {
        redundant_fraction: false,
        ..JsonForm::generate().numbers
    }
}

pub(crate) fn machine(set: &NumberSet, form: &NumberForm) -> NumberMachine {
    NumberMachine::new(set, form).expect("within limits")
}

pub(crate) fn walk(machine: &mut NumberMachine, text: &str) -> Option<NumberState> {
    let mut state = machine.start().expect("within limits")?;
    for byte in text.bytes() {
        state = machine.step(&state, byte).expect("within limits")?;
    }
    Some(state)
}

pub(crate) fn accepts(machine: &mut NumberMachine, text: &str) -> bool {
    walk(machine, text).is_some_and(|state| machine.accept(&state).is_some())
}

/// Every byte that a number text may hold.
pub(crate) const BYTES: &[u8] = b"0123456789-+.eE";

//! Every text of a small form: acceptance, liveness and cost in both directions.

use std::fmt::Debug;

use proptest::prelude::*;
use structgen_automata::number::ExcludingMachine;
use structgen_automata::{LimitExceeded, Machine};
use structgen_grammar::{NumberForm, NumberSet};

use super::oracle;
use super::support::{machine, set};

/// Bounds and divisors on this scale are integers: 10^-SCALE is the unit.
const SCALE: i64 = 16;

/// A number set in 128-bit integers, which the small forms never leave.
struct SmallSet {
    lower: Option<(i128, bool)>,
    upper: Option<(i128, bool)>,
    divisors: Vec<i128>,
    excluded: Vec<i128>,
}

impl SmallSet {
    fn new(set: &NumberSet) -> Self {
        let scaled = |text: String| {
            let parts = oracle::split(&text).expect("a number");
            scale(&parts)
        };
        let all = |divisors: &[structgen_grammar::Decimal]| {
            divisors
                .iter()
                .map(|divisor| scaled(divisor.to_string()))
                .collect()
        };
        let bound = |bound: &structgen_grammar::NumberBound| {
            (scaled(bound.value.to_string()), bound.exclusive)
        };
        Self {
            lower: set.lower.as_ref().map(bound),
            upper: set.upper.as_ref().map(bound),
            divisors: all(&set.multiples_of),
            excluded: all(&set.not_multiples_of),
        }
    }

    fn has(&self, value: i128) -> bool {
        self.lower
            .is_none_or(|(end, exclusive)| value > end || (value == end && !exclusive))
            && self
                .upper
                .is_none_or(|(end, exclusive)| value < end || (value == end && !exclusive))
            && self.divisors.iter().all(|divisor| value % divisor == 0)
            && self.excluded.iter().all(|divisor| value % divisor != 0)
    }
}

fn scale(parts: &oracle::Parts<'_>) -> i128 {
    let fraction = parts.fraction.unwrap_or("");
    let digits = parts.whole.bytes().chain(fraction.bytes());
    let mantissa = digits.fold(0_i128, |number, digit| {
        number * 10 + i128::from(digit - b'0')
    });
    let exponent = parts.exponent.map_or(0, |(negative, digits)| {
        let magnitude: i64 = digits.parse().expect("few digits");
        if negative { -magnitude } else { magnitude }
    });
    let power = SCALE + exponent - fraction.len() as i64;
    let magnitude = mantissa * 10_i128.pow(u32::try_from(power).expect("on the scale"));
    if parts.negative {
        -magnitude
    } else {
        magnitude
    }
}

struct Walk<'a, M> {
    set: SmallSet,
    form: &'a NumberForm,
    machine: M,
    /// Whether costs must be those of the shortest completions, and ends must be reported.
    is_exact: bool,
    source: &'a NumberSet,
    text: String,
    nodes: usize,
}

impl<M: Machine<Error = LimitExceeded>> Walk<'_, M>
where
    M::State: Debug,
{
    /// Finds the length of the shortest completion of `text` by trying all, and compares it with the machine's answers.
    fn visit(&mut self, state: Option<M::State>) -> Option<u32> {
        self.nodes += 1;
        // Two digits of an exponent exceed 128 bits.
        let accepted = if self.form.exponent_digits > 1 {
            oracle::accepts(self.source, self.form, &self.text)
        } else {
            oracle::split(&self.text)
                .is_some_and(|parts| parts.has_form(self.form) && self.set.has(scale(&parts)))
        };
        let mut shortest = accepted.then_some(0);
        let mut can_go_on = false;
        let mut gets_cheaper = false;
        for &byte in b"0123456789-+.e" {
            let next = state
                .as_ref()
                .and_then(|state| self.machine.step(state, byte).expect("within limits"));
            can_go_on |= next.is_some();
            if let (Some(state), Some(next)) = (&state, &next) {
                gets_cheaper |= self.machine.cost(next) < self.machine.cost(state);
            }
            self.text.push(char::from(byte));
            if !is_prefix(&self.text, self.form) {
                assert!(next.is_none(), "{self}");
            } else if let Some(cost) = self.visit(next) {
                shortest = Some(shortest.map_or(cost + 1, |known| known.min(cost + 1)));
            }
            self.text.pop();
        }
        assert_eq!(state.is_some(), shortest.is_some(), "liveness: {self}");
        if let Some(state) = state {
            assert_eq!(self.machine.accept(&state).is_some(), accepted, "{self}");
            if self.is_exact {
                assert_eq!(Some(self.machine.cost(&state)), shortest, "cost: {self}");
                let ends = accepted && !can_go_on;
                assert_eq!(self.machine.is_end(&state), ends, "{self}");
            }
            let is_done = accepted && self.machine.cost(&state) == 0;
            assert!(gets_cheaper || is_done, "cost: {self}");
            let upper = self.machine.step(&state, b'E').expect("within limits");
            let lower = self.machine.step(&state, b'e').expect("within limits");
            assert_eq!(upper, lower, "{self}");
        }
        shortest
    }
}

impl<M> std::fmt::Display for Walk<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} in {:?} as {:?}", self.text, self.source, self.form)
    }
}

/// Returns whether some number text of the form, with trailing zeros allowed, begins with `text`.
fn is_prefix(text: &str, form: &NumberForm) -> bool {
    let form = NumberForm {
        redundant_fraction: true,
        negative_zero: true,
        ..*form
    };
    // One digit completes every prefix.
    let mut whole = [b'0'; 24];
    whole[..text.len()].copy_from_slice(text.as_bytes());
    [text.len(), text.len() + 1].iter().any(|&length| {
        std::str::from_utf8(&whole[..length])
            .ok()
            .and_then(oracle::split)
            .is_some_and(|parts| parts.has_form(&form))
    })
}

fn exhaust(set: &NumberSet, form: &NumberForm) -> usize {
    if !set.not_multiples_of.is_empty() {
        let machine = ExcludingMachine::new(set, form).expect("within limits");
        return exhaust_with(machine, false, set, form);
    }
    let mut machine = machine(set, form);
    let is_empty = structgen_automata::number::is_empty(set, form).expect("within limits");
    assert_eq!(machine.start().expect("within limits").is_none(), is_empty);
    exhaust_with(machine, true, set, form)
}

fn exhaust_with<M: Machine<Error = LimitExceeded>>(
    mut machine: M,
    is_exact: bool,
    set: &NumberSet,
    form: &NumberForm,
) -> usize
where
    M::State: Debug,
{
    let start = machine.start().expect("within limits");
    let mut walk = Walk {
        set: SmallSet::new(set),
        form,
        machine,
        is_exact,
        source: set,
        text: String::new(),
        nodes: 0,
    };
    walk.visit(start);
    walk.nodes
}

fn form(integer: u16, fraction: u16, exponent: u16, redundant_fraction: bool) -> NumberForm {
    NumberForm {
        exponent: exponent > 0,
        redundant_fraction,
        negative_zero: redundant_fraction,
        integer_digits: integer,
        fraction_digits: fraction,
        exponent_digits: exponent,
    }
}

#[test]
fn all_texts_of_two_and_two_digits_with_an_exponent() {
    let nodes = exhaust(&set(">=-0.05 <12 *0.3"), &form(2, 2, 1, true));
    assert!(nodes > 500_000, "{nodes}");
}

#[test]
fn all_texts_without_an_exponent() {
    let sets = [
        "",
        "*1",
        ">=0",
        "<0",
        "<=0",
        "*0.01",
        "*25",
        "*0.75 >1",
        ">=13 <=13",
        ">13 <14",
        ">1.3 <1.31",
        "*1 >1.1 <1.9",
        "*8 >=100",
        "*1.1 <-3",
        ">9.9",
        ">99.99",
        "*100",
        "*1000",
        "*0.01 >0 <0.02",
        "*0.001 >0 <0.01",
        // Bounds with more digits than the form or the divisor has.
        ">=0.12 <0.125",
        ">=12 <12.5",
        ">11.5 <=12.5 *1",
        "*0.1 >=1.2 <1.25",
    ];
    for text in sets {
        for redundant in [false, true] {
            exhaust(&set(text), &form(2, 2, 0, redundant));
            exhaust(&set(text), &form(3, 0, 0, redundant));
        }
    }
    exhaust(&set("*0.001 >0 <0.002"), &form(1, 3, 0, false));
}

#[test]
fn all_texts_of_what_is_no_multiple() {
    let sets = [
        "!1",
        "!3",
        "*1 !3",
        "*0.5 !1",
        "*2 !1",
        "*2 *3 !6",
        "*2 *3 !12",
        "!0.01",
        "!0.5 !0.3 >=1 <2",
        ">=13 <=13 !1",
        ">=13 <=13.1 !1",
        ">=0 <=3 *1 !2 !3",
        ">-2 <2 !0.1",
        "!100 *10",
    ];
    for text in sets {
        for redundant in [false, true] {
            exhaust(&set(text), &form(2, 2, 0, redundant));
            exhaust(&set(text), &form(3, 0, 0, redundant));
        }
        exhaust(&set(text), &form(1, 1, 1, true));
    }
}

#[test]
fn forms_without_any_digits_have_no_numbers() {
    for (integer, fraction, exponent) in [(0, 2, 1), (0, 0, 0), (1, 0, 0), (1, 0, 1), (1, 0, 2)] {
        for redundant in [false, true] {
            let form = form(integer, fraction, exponent, redundant);
            exhaust(&set("*1"), &form);
            exhaust(&set(">0 <1"), &form);
            exhaust(&set(">=10"), &form);
        }
    }
}

/// Few digits, so that bounds, divisors and texts meet often.
fn small_number() -> impl Strategy<Value = String> {
    (0_u32..400, -6_i32..4).prop_map(|(mantissa, exponent)| format!("{mantissa}e{exponent}"))
}

fn small_set() -> impl Strategy<Value = NumberSet> {
    let bound = |operators: &'static [&'static str]| {
        proptest::option::weighted(
            0.7,
            (
                proptest::sample::select(operators),
                any::<bool>(),
                small_number(),
            )
                .prop_map(|(operator, negative, number)| {
                    format!("{operator}{}{number}", if negative { "-" } else { "" })
                }),
        )
    };
    let divisors = proptest::collection::vec(
        (1_u32..130, -4_i32..2).prop_map(|(mantissa, exponent)| format!("*{mantissa}e{exponent}")),
        0..3,
    );
    (bound(&[">", ">="]), bound(&["<", "<="]), divisors).prop_map(|(lower, upper, divisors)| {
        let words: Vec<String> = lower.into_iter().chain(upper).chain(divisors).collect();
        set(&words.join(" "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn all_texts_of_random_sets(set in small_set(), redundant in any::<bool>()) {
        exhaust(&set, &form(1, 1, 1, redundant));
        exhaust(&set, &form(2, 1, 1, redundant));
        exhaust(&set, &form(2, 2, 0, redundant));
        exhaust(&set, &form(1, 0, 2, redundant));
    }
}

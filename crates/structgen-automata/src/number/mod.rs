//! Numbers as byte automata: exact sets of decimals, in every spelling of JSON.
//!
//! The text of a number is a mantissa and an exponent. While the mantissa is read, a state has the comparison of its
//! significant digits with those of the bounds, and their remainder by the divisors; the decimal point and the exponent
//! only move the place of the number. At the end of the mantissa, the allowed exponents are one interval. No states are
//! explored ahead: liveness and cost are computed by arithmetic on digits.

mod bound;
mod divisor;
mod excluding;
mod exponent;
mod listed;
mod mantissa;
mod room;
mod search;

use structgen_grammar::{NumberForm, NumberSet};

use crate::bytes::run_between;
use crate::{ByteClasses, ByteSet, Ends, LimitExceeded, Machine, Span};

use bound::{Magnitudes, Standing};
use divisor::Divisor;
use exponent::Exponent;
use mantissa::Mantissa;
use search::{Continuation, Prefix};

pub use excluding::{ExcludingMachine, ExcludingState};
pub(crate) use listed::ListedNumbersMachine;
pub(crate) use room::with_room;

/// The automaton of a number set: accepts the JSON texts (RFC 8259) of its numbers that are written in a form.
///
/// Values are exact, whatever their size. Without [`redundant_fraction`](NumberForm::redundant_fraction), no fraction
/// ends in a zero, and without [`negative_zero`](NumberForm::negative_zero), zero has no sign. The only label is 0. The
/// cost of a state is the length of the shortest completion.
///
/// ```
/// use structgen_automata::{Machine, number::NumberMachine};
/// use structgen_grammar::{JsonForm, NumberBound, NumberSet};
///
/// let mut set = NumberSet::integers();
/// set.upper = Some(NumberBound { value: "15".parse()?, exclusive: true });
/// let mut machine = NumberMachine::new(&set, &JsonForm::exact().numbers)?;
/// let mut accepts = |text: &str| {
///     let mut state = machine.start()?;
///     for byte in text.bytes() {
///         let Some(before) = state else { break };
///         state = machine.step(&before, byte)?;
///     }
///     Ok::<_, structgen_automata::LimitExceeded>(state.is_some_and(|state| machine.accept(&state).is_some()))
/// };
/// assert!(accepts("14")?);
/// assert!(accepts("1.40e1")?);
/// assert!(accepts("-1E+9")?);
/// assert!(!accepts("15")?);
/// assert!(!accepts("14.5")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NumberMachine {
    rules: Rules,
}

/// A state of a [`NumberMachine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberState(Phase);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Start,
    Minus,
    Mantissa(Mantissa),
    Exponent(Exponent),
}

/// Returns whether no number of the set can be written in the form.
///
/// # Errors
/// If the divisors of the set or the digits of the form exceed the limits of [`NumberMachine::new`].
pub fn is_empty(set: &NumberSet, form: &NumberForm) -> Result<bool, LimitExceeded> {
    Ok(!NumberMachine::new(set, form)?.rules.is_live(Phase::Start))
}

/// The maximum number of digits of a form on one side of the point. The time for a step and a cost grows with it.
const MAX_FORM_DIGITS: u16 = 1000;

/// What all states have in common.
#[derive(Clone, Debug)]
struct Rules {
    form: NumberForm,
    /// Zero if exponents are not allowed.
    exponent_digits: u16,
    largest_exponent: i64,
    divisor: Option<Divisor>,
    positive: Magnitudes,
    negative: Magnitudes,
    /// Whether the sign makes no difference for nonzero numbers.
    signs_agree: bool,
    /// Whether the sign makes no difference at all.
    zeros_agree: bool,
}

impl NumberMachine {
    /// Creates the automaton of `set` in `form`. No states are built ahead.
    ///
    /// [`NumberSet::not_multiples_of`] is ignored; see [`ExcludingMachine`]. The signs of the divisors in
    /// [`NumberSet::multiples_of`] are ignored, and only zero is a multiple of zero.
    ///
    /// # Errors
    /// If the least common multiple of the divisors, apart from its power of ten, is above 10¹⁸, or if the form has
    /// more than 1000 digits on one side of the point. (Exponents may have any number of digits.)
    pub fn new(set: &NumberSet, form: &NumberForm) -> Result<Self, LimitExceeded> {
        let form = &if set.written_whole {
            NumberForm {
                exponent: false,
                fraction_digits: 0,
                ..*form
            }
        } else {
            *form
        };
        if form.integer_digits.max(form.fraction_digits) > MAX_FORM_DIGITS {
            return Err(LimitExceeded {
                what: "the digits before or behind the point of a number",
                limit: u64::from(MAX_FORM_DIGITS),
            });
        }
        let exponent_digits = if form.exponent {
            form.exponent_digits
        } else {
            0
        };
        let positive = Magnitudes::of(set, false);
        let mut negative = Magnitudes::of(set, true);
        negative.zero &= form.negative_zero;
        let signs_agree = positive.mirrors(&negative);
        let zeros_agree = signs_agree && positive.zero == negative.zero;
        let rules = Rules {
            form: *form,
            exponent_digits,
            largest_exponent: exponent::largest(exponent_digits),
            divisor: Divisor::least_common_multiple(&set.multiples_of)?,
            positive,
            negative,
            signs_agree,
            zeros_agree,
        };
        Ok(Self { rules })
    }
}

/// The bytes of numbers, sorted.
const SIGNIFICANT: &[u8] = b"+-.0123456789Ee";

impl Machine for NumberMachine {
    type State = NumberState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<NumberState>, LimitExceeded> {
        let live = self.rules.is_live(Phase::Start);
        Ok(live.then_some(NumberState(Phase::Start)))
    }

    fn step(
        &mut self,
        state: &NumberState,
        byte: u8,
    ) -> Result<Option<NumberState>, LimitExceeded> {
        Ok(self.rules.step(state.0, byte).map(NumberState))
    }

    fn equivalent_bytes(&mut self, _state: &NumberState, byte: u8) -> (u8, u8) {
        run_between(SIGNIFICANT, byte)
    }

    fn first(&mut self, state: &NumberState) -> Option<ByteSet> {
        let mut first = ByteSet::of(b"0123456789");
        match state.0 {
            Phase::Start => first.insert(b'-'),
            Phase::Minus => {}
            Phase::Mantissa(mantissa) => {
                if !mantissa.has_point() && self.rules.form.fraction_digits > 0 {
                    first.insert(b'.');
                }
                if self.rules.exponent_digits > 0 {
                    first.insert(b'e');
                    first.insert(b'E');
                }
            }
            Phase::Exponent(_) => {
                first.insert(b'+');
                first.insert(b'-');
            }
        }
        Some(first)
    }

    fn span(&mut self, state: &NumberState) -> Option<Span> {
        let Phase::Mantissa(mantissa) = state.0 else {
            return None;
        };
        Some(Span {
            closed: ByteClasses::of_bytes(b'0'..=b'9'),
            code_points: mantissa.free_digits(&self.rules)?,
            exits: ByteClasses::of_bytes(*b".eE"),
            goes_on: false,
            // Wherever the number ends, it does so under its only label.
            ends: Ends::Under(0),
        })
    }

    fn has_classes(&self, state: &NumberState) -> bool {
        matches!(state.0, Phase::Mantissa(_) | Phase::Exponent(_))
    }

    fn accept(&self, state: &NumberState) -> Option<u32> {
        self.rules.is_final(state.0).then_some(0)
    }

    fn is_end(&self, state: &NumberState) -> bool {
        self.rules.is_final(state.0)
            && !b"0123456789.e"
                .iter()
                .any(|&byte| self.rules.step(state.0, byte).is_some())
    }

    fn cost(&mut self, state: &NumberState) -> u32 {
        self.rules.cost(state.0)
    }
}

impl Rules {
    fn magnitudes(&self, negative: bool) -> &Magnitudes {
        if negative {
            &self.negative
        } else {
            &self.positive
        }
    }

    fn step(&self, phase: Phase, byte: u8) -> Option<Phase> {
        match (phase, byte) {
            (Phase::Start, b'-') => self.is_live(Phase::Minus).then_some(Phase::Minus),
            (Phase::Start | Phase::Minus, b'0'..=b'9') => {
                let negative = phase == Phase::Minus;
                Mantissa::first(self, negative, byte - b'0').map(Phase::Mantissa)
            }
            (Phase::Mantissa(mantissa), b'0'..=b'9') => {
                mantissa.digit(self, byte - b'0').map(Phase::Mantissa)
            }
            (Phase::Mantissa(mantissa), b'.') => mantissa.point(self).map(Phase::Mantissa),
            (Phase::Mantissa(mantissa), b'e' | b'E') => {
                let (low, high) = mantissa.exponents(self)?;
                Exponent::new(low, high, self.exponent_digits).map(Phase::Exponent)
            }
            (Phase::Exponent(exponent), _) => exponent.step(byte).map(Phase::Exponent),
            _ => None,
        }
    }

    fn is_final(&self, phase: Phase) -> bool {
        match phase {
            Phase::Start | Phase::Minus => false,
            Phase::Mantissa(mantissa) => mantissa.is_final(self),
            Phase::Exponent(exponent) => exponent.is_final(),
        }
    }

    fn is_live(&self, phase: Phase) -> bool {
        match phase {
            Phase::Start => self.is_sign_live(false) || self.is_sign_live(true),
            Phase::Minus => self.is_sign_live(true),
            // Steps return only live states.
            Phase::Mantissa(_) | Phase::Exponent(_) => true,
        }
    }

    fn cost(&self, phase: Phase) -> u32 {
        match phase {
            Phase::Start => {
                let positive = self.sign_cost(false, u32::MAX);
                let negative = self.sign_cost(true, positive.saturating_sub(1));
                positive.min(negative.saturating_add(1))
            }
            Phase::Minus => self.sign_cost(true, u32::MAX),
            Phase::Mantissa(mantissa) => mantissa.cost(self),
            Phase::Exponent(exponent) => exponent.cost().unwrap_or(u32::MAX),
        }
    }

    fn is_sign_live(&self, negative: bool) -> bool {
        let magnitudes = self.magnitudes(negative);
        let prefix = self.no_digits(magnitudes);
        self.form.integer_digits > 0
            && (magnitudes.zero
                || self
                    .first_digits()
                    .iter()
                    .any(|first| first.is_live(&prefix, self.largest_exponent)))
    }

    /// Returns the length of the shortest number of a sign, without the sign, or `limit` if none is shorter.
    fn sign_cost(&self, negative: bool, mut limit: u32) -> u32 {
        let magnitudes = self.magnitudes(negative);
        if magnitudes.zero && self.form.integer_digits > 0 {
            limit = limit.min(1);
        }
        let prefix = self.no_digits(magnitudes);
        let [at_least_one, below_one] = self.first_digits();
        if let Some(cost) = at_least_one.shortest(&prefix, self.exponent_digits, limit) {
            limit = cost;
        }
        if self.form.integer_digits > 0
            && let Some(cost) =
                below_one.shortest(&prefix, self.exponent_digits, limit.saturating_sub(1))
        {
            limit = cost + 1;
        }
        limit
    }

    fn no_digits<'a>(&'a self, magnitudes: &'a Magnitudes) -> Prefix<'a> {
        Prefix {
            magnitudes,
            divisor: self.divisor.as_ref(),
            digits: 0,
            lower: Standing::Tied,
            upper: Standing::Tied,
            residue: 0,
            zeros: 0,
            needs_nonzero: false,
        }
    }

    /// Returns how a number continues after its sign: with a nonzero digit, or after a zero.
    fn first_digits(&self) -> [Continuation; 2] {
        let at_least_one = Continuation {
            position: 0,
            before_point: (1, i64::from(self.form.integer_digits)),
            behind_point: (0, i64::from(self.form.fraction_digits)),
            fraction: None,
            below_one: false,
        };
        let below_one = Continuation {
            before_point: (0, 0),
            below_one: true,
            ..at_least_one
        };
        [at_least_one, below_one]
    }
}

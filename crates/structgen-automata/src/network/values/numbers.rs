//! How far a text agrees with some numbers, however these are written.
//!
//! A number is ±0.d₁d₂… × 10^exponent. A set of numbers is a tree by sign, digits, and exponent. The digits of a text
//! lead down the tree; trailing zeros, the point and the written exponent only determine which exponent it has.

use structgen_grammar::{Decimal, NumberForm};

use crate::ByteSet;
use crate::json::{TextSet, TextSets};

/// The numbers that a text may still become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberProgress {
    part: NumberPart,
    /// What follows all digits read so far, in the numbers that begin with them.
    longer: TextSet,
    /// The exponents of the numbers whose digits were read; only zeros follow.
    complete: TextSet,
    /// Whether zero is one of the numbers and nothing else was read.
    zero: bool,
    /// Whether a nonzero digit was read.
    has_digits: bool,
    /// The exponent of the number if the text ends before an exponent is written.
    exponent: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NumberPart {
    Integer,
    Fraction,
    /// After `e`.
    Mark,
    Exponent {
        is_negative: bool,
        value: i64,
    },
}

/// The text of zero in the tree.
const ZERO: &[u8] = b"0";

/// Separates digits and exponent.
const END: u8 = 0xFF;

/// An upper bound on the exponents of numbers.
const MAX_EXPONENT: i64 = 1 << 60;

/// Returns the numbers with one more.
pub(super) fn with(numbers: TextSet, number: &Decimal, sets: &TextSets) -> TextSet {
    sets.with(numbers, &text(number))
}

pub(super) fn has(numbers: TextSet, number: &Decimal, sets: &TextSets) -> bool {
    sets.has(numbers, &text(number))
}

fn text(number: &Decimal) -> Vec<u8> {
    if number.is_zero() {
        return ZERO.into();
    }
    let mut text = vec![if number.is_negative() { b'-' } else { b'+' }];
    text.extend_from_slice(number.digits());
    text.push(END);
    text.extend_from_slice(&exponent_text(number.exponent()));
    text
}

/// Encodes exponents in their order.
fn exponent_text(exponent: i64) -> [u8; 8] {
    (exponent ^ i64::MIN).to_be_bytes()
}

impl NumberProgress {
    /// The bytes of numbers.
    pub(super) const FIRST: ByteSet = ByteSet::of(b"+-.0123456789Ee");

    /// Returns the state after the sign of these numbers, or before their first digit.
    pub(super) fn signed(numbers: TextSet, is_negative: bool, sets: &TextSets) -> Self {
        let sign = if is_negative { b'-' } else { b'+' };
        Self {
            part: NumberPart::Integer,
            longer: sets.after(numbers, sign),
            complete: TextSet::NONE,
            zero: sets.has(numbers, ZERO),
            has_digits: false,
            exponent: 0,
        }
    }

    /// Returns the numbers that are left after one more byte.
    pub(super) fn step(self, byte: u8, form: &NumberForm, sets: &TextSets) -> Option<Self> {
        let mut next = self;
        match (self.part, byte) {
            (NumberPart::Integer | NumberPart::Fraction, b'0'..=b'9') => {
                next.read_digit(byte - b'0', sets)
            }
            (NumberPart::Integer, b'.') => next.part = NumberPart::Fraction,
            (NumberPart::Integer | NumberPart::Fraction, b'e' | b'E') => {
                next.part = NumberPart::Mark;
                next.longer = TextSet::NONE;
            }
            (NumberPart::Mark, b'+' | b'-') => {
                next.part = NumberPart::Exponent {
                    is_negative: byte == b'-',
                    value: 0,
                };
            }
            (NumberPart::Mark, b'0'..=b'9') => {
                next.part = NumberPart::Exponent {
                    is_negative: false,
                    value: i64::from(byte - b'0'),
                };
            }
            (NumberPart::Exponent { is_negative, value }, b'0'..=b'9') => {
                let value = (value * 10 + i64::from(byte - b'0')).min(MAX_EXPONENT);
                next.part = NumberPart::Exponent { is_negative, value };
            }
            _ => return None,
        }
        if !form.exponent {
            next.drop_out_of_reach(sets);
        }
        next.drop_wrong_exponents(sets);
        next.forget_exponent_of_zero();
        (next.zero || next.longer != TextSet::NONE || next.complete != TextSet::NONE)
            .then_some(next)
    }

    fn read_digit(&mut self, digit: u8, sets: &TextSets) {
        let is_fraction = self.part == NumberPart::Fraction;
        if digit == 0 && !self.has_digits {
            self.exponent -= i64::from(is_fraction);
            return;
        }
        self.zero = false;
        self.has_digits = true;
        self.exponent += i64::from(!is_fraction);
        self.longer = sets.after(self.longer, digit);
        if digit != 0 {
            self.complete = sets.after(self.longer, END);
        }
    }

    /// If no exponent may be written, the point is fixed once it is read, and before that it never moves to the left.
    fn drop_out_of_reach(&mut self, sets: &TextSets) {
        if !self.has_digits {
            return;
        }
        let exponent = exponent_text(self.exponent);
        match self.part {
            NumberPart::Integer => {
                if { sets.last(self.complete) }.is_some_and(|last| *last < exponent[..]) {
                    self.complete = TextSet::NONE;
                }
            }
            _ => {
                self.complete = match sets.has(self.complete, &exponent) {
                    true => sets.with(TextSet::NONE, &exponent),
                    false => TextSet::NONE,
                };
            }
        }
    }

    /// Once an exponent is being written, its first digits must be those of one that leads to a number.
    fn drop_wrong_exponents(&mut self, sets: &TextSets) {
        let NumberPart::Exponent { is_negative, value } = self.part else {
            return;
        };
        // The exponents that begin like this, by the number of digits that follow; none is longer than the largest one.
        let (mut least, mut largest) = (value, value);
        while least <= MAX_EXPONENT && largest <= MAX_EXPONENT {
            let (from, to) = match is_negative {
                true => (-largest, -least),
                false => (least, largest),
            };
            let from = exponent_text(self.exponent.saturating_add(from));
            let to = exponent_text(self.exponent.saturating_add(to));
            if { sets.first_from(self.complete, &from) }.is_some_and(|first| *first <= to[..]) {
                return;
            }
            if largest == MAX_EXPONENT {
                break;
            }
            least = least.saturating_mul(10);
            largest = largest
                .saturating_mul(10)
                .saturating_add(9)
                .min(MAX_EXPONENT);
        }
        self.complete = TextSet::NONE;
    }

    /// Zero may have any exponent, so its texts differ only in their part.
    fn forget_exponent_of_zero(&mut self) {
        if self.longer != TextSet::NONE || self.complete != TextSet::NONE {
            return;
        }
        self.exponent = 0;
        if let NumberPart::Exponent { value, .. } = &mut self.part {
            *value = 0;
        }
    }

    /// Returns whether the text is one of the numbers'.
    pub(super) fn is_text(self, sets: &TextSets) -> bool {
        let moved = match self.part {
            NumberPart::Integer | NumberPart::Fraction => 0,
            NumberPart::Mark => return false,
            NumberPart::Exponent {
                is_negative: true,
                value,
            } => -value,
            NumberPart::Exponent { value, .. } => value,
        };
        self.zero || sets.has(self.complete, &exponent_text(self.exponent + moved))
    }
}

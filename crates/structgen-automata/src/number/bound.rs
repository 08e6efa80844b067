//! The magnitudes of the numbers of one sign: bounds as digit strings.

use structgen_grammar::{NumberBound, NumberSet};

/// One end of a range of magnitudes: 0.d₁d₂… × 10^`exponent`, above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) digits: Box<[u8]>,
    pub(super) exponent: i64,
    pub(super) exclusive: bool,
}

/// The numbers of one sign in a number set, by their magnitude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Magnitudes {
    pub(super) lower: Option<Bound>,
    pub(super) upper: Option<Bound>,
    /// Whether the set may have any above zero.
    pub(super) above_zero: bool,
    /// Whether zero may be written with this sign.
    pub(super) zero: bool,
}

/// How significant digits compare with those of a bound, wherever the decimal point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// The bound no longer matters.
    Free,
    Below,
    /// Equal so far.
    Tied,
    Above,
}

impl Magnitudes {
    /// Returns the positive numbers of `set`, or the negative ones with `negative`.
    pub(super) fn of(set: &NumberSet, negative: bool) -> Self {
        let (lower, upper) = if negative {
            (&set.upper, &set.lower)
        } else {
            (&set.lower, &set.upper)
        };
        let same_sign =
            |bound: &NumberBound| !bound.value.is_zero() && bound.value.is_negative() == negative;
        let magnitude = |bound: &NumberBound| Bound {
            digits: bound.value.digits().into(),
            exponent: bound.value.exponent(),
            exclusive: bound.exclusive,
        };
        let keeps_zero = |bound: &Option<NumberBound>, lower: bool| match bound {
            None => true,
            Some(bound) if bound.value.is_zero() => !bound.exclusive,
            Some(bound) => bound.value.is_negative() == lower,
        };
        Self {
            lower: lower
                .as_ref()
                .filter(|bound| same_sign(bound))
                .map(magnitude),
            above_zero: upper.as_ref().is_none_or(same_sign)
                // Only zero is a multiple of zero.
                && !set.multiples_of.iter().any(structgen_grammar::Decimal::is_zero),
            upper: upper
                .as_ref()
                .filter(|bound| same_sign(bound))
                .map(magnitude),
            zero: keeps_zero(&set.lower, true) && keeps_zero(&set.upper, false),
        }
    }

    /// Returns whether both have the same numbers above zero.
    pub(super) fn mirrors(&self, other: &Self) -> bool {
        self.above_zero == other.above_zero
            && self.lower == other.lower
            && self.upper == other.upper
    }
}

impl Bound {
    /// Returns the digit at `index`; zeros follow the last one.
    pub(super) fn digit(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(0)
    }

    /// Returns the standing of digits with one more at `index`, where `before` is that of the digits before it.
    pub(super) fn push(&self, before: Standing, index: usize, digit: u8) -> Standing {
        match (before, digit.cmp(&self.digit(index))) {
            (Standing::Tied, std::cmp::Ordering::Less) => Standing::Below,
            (Standing::Tied, std::cmp::Ordering::Greater) => Standing::Above,
            (before, _) => before,
        }
    }

    /// Returns the standing of `count` digits if no more follow.
    pub(super) fn finish(&self, standing: Standing, count: usize) -> Standing {
        if standing == Standing::Tied && count < self.digits.len() {
            Standing::Below
        } else {
            standing
        }
    }
}

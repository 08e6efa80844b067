//! The part of a number before the exponent: its state and its steps.

use super::Rules;
use super::bound::{Bound, Standing};
use super::exponent::INFINITE;
use super::search::{Continuation, Exponents, Prefix};

/// A state after at least one digit and before an exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mantissa {
    negative: bool,
    has_point: bool,
    is_zero: bool,
    lower: Standing,
    upper: Standing,
    fraction_digits: u16,
    /// The number without an exponent is 0.d₁d₂… × 10^`position`. Zero if it does not matter.
    position: i32,
    /// The digits as an integer are M × 10^`zeros`, as far as that matters.
    zeros: u32,
    /// M modulo the divisor.
    residue: u64,
}

impl Mantissa {
    /// Returns the live state after the first digit.
    pub(super) fn first(rules: &Rules, negative: bool, digit: u8) -> Option<Self> {
        let magnitudes = rules.magnitudes(negative);
        let standing = |bound: &Option<Bound>| match bound {
            None => Standing::Free,
            Some(_) => Standing::Tied,
        };
        let zero = Self {
            negative,
            has_point: false,
            is_zero: true,
            lower: standing(&magnitudes.lower),
            upper: standing(&magnitudes.upper),
            fraction_digits: 0,
            position: 0,
            zeros: 0,
            residue: 0,
        };
        if rules.form.integer_digits == 0 {
            return None;
        }
        let state = if digit == 0 {
            zero
        } else {
            Self {
                position: 1,
                ..zero.push(rules, digit)?
            }
        };
        state.normalized(rules).live(rules)
    }

    pub(super) fn has_point(&self) -> bool {
        self.has_point
    }

    /// Returns the number of digits that may follow, whatever they are, before a point or an exponent; `None` if it
    /// depends on the digits.
    pub(super) fn free_digits(&self, rules: &Rules) -> Option<u32> {
        let is_free = (self.lower, self.upper) == (Standing::Free, Standing::Free);
        // In a fraction without redundant digits, a zero needs a digit after it.
        let is_plain = !self.has_point || rules.form.redundant_fraction;
        let is_multiple = match &rules.divisor {
            None => true,
            Some(divisor) => !self.has_point && divisor.divides_integers(),
        };
        if !is_free || !is_plain || !is_multiple || self.is_zero {
            return None;
        }
        let most = i32::from(rules.form.integer_digits);
        let left = match self.has_point {
            true => i32::from(rules.form.fraction_digits) - i32::from(self.fraction_digits),
            false => most - self.position,
        };
        u32::try_from(left).ok()
    }

    /// Returns the live state after one more digit.
    pub(super) fn digit(&self, rules: &Rules, digit: u8) -> Option<Self> {
        let mut next = *self;
        if self.has_point {
            if self.fraction_digits == rules.form.fraction_digits {
                return None;
            }
            next.fraction_digits += 1;
        } else {
            if self.is_zero || self.position >= i32::from(rules.form.integer_digits) {
                return None;
            }
            next.position += 1;
        }
        let mut next = next.push(rules, digit)?;
        if self.is_zero && !next.is_zero {
            next.position = -i32::from(self.fraction_digits);
        }
        next.normalized(rules).live(rules)
    }

    /// Returns the live state after the decimal point.
    pub(super) fn point(&self, rules: &Rules) -> Option<Self> {
        if self.has_point || rules.form.fraction_digits == 0 {
            return None;
        }
        let next = Self {
            has_point: true,
            ..*self
        };
        next.normalized(rules).live(rules)
    }

    /// Returns the exponents with which the number, if it ends here, is in the set; `None` if it cannot end here.
    pub(super) fn exponents(&self, rules: &Rules) -> Option<Exponents> {
        let ends_in_zero = self.is_zero || self.zeros > 0;
        let unfinished =
            self.fraction_digits == 0 || (ends_in_zero && !rules.form.redundant_fraction);
        if self.has_point && unfinished {
            return None;
        }
        let magnitudes = rules.magnitudes(self.negative);
        if self.is_zero {
            return magnitudes.zero.then_some((-INFINITE, INFINITE));
        }
        let (mut low, mut high) = (-INFINITE, INFINITE);
        let position = i64::from(self.position);
        let ended = |bound: &Bound, standing| match bound.finish(standing, self.digits()) {
            Standing::Tied if bound.exclusive => None,
            standing => Some(standing),
        };
        if let Some(bound) = magnitudes.lower.as_ref()
            && self.lower != Standing::Free
        {
            let reached = matches!(
                ended(bound, self.lower),
                Some(Standing::Tied | Standing::Above)
            );
            low = bound.exponent - position + i64::from(!reached);
        }
        if let Some(bound) = magnitudes.upper.as_ref()
            && self.upper != Standing::Free
        {
            let kept = matches!(
                ended(bound, self.upper),
                Some(Standing::Tied | Standing::Below)
            );
            high = bound.exponent - position - i64::from(!kept);
        }
        if let Some(divisor) = &rules.divisor {
            let least = divisor.least_exponent(self.residue)?;
            low = low.max(least + i64::from(self.fraction_digits) - i64::from(self.zeros));
        }
        (low <= high).then_some((low, high))
    }

    pub(super) fn is_final(&self, rules: &Rules) -> bool {
        self.exponents(rules)
            .is_some_and(|(low, high)| low <= 0 && 0 <= high)
    }

    /// Returns the length of the shortest completion.
    pub(super) fn cost(&self, rules: &Rules) -> u32 {
        if self.is_final(rules) {
            return 0;
        }
        // A zero that is not final lacks the digit after its point.
        let limit = if self.zero_is_live(rules) {
            1
        } else {
            u32::MAX
        };
        self.continuation(rules)
            .shortest(&self.prefix(rules), rules.exponent_digits, limit)
            .unwrap_or(limit)
    }

    fn live(self, rules: &Rules) -> Option<Self> {
        let live = self.zero_is_live(rules)
            || self
                .continuation(rules)
                .is_live(&self.prefix(rules), rules.largest_exponent);
        live.then_some(self)
    }

    fn zero_is_live(&self, rules: &Rules) -> bool {
        self.is_zero
            && rules.magnitudes(self.negative).zero
            && (!self.has_point || rules.form.redundant_fraction)
    }

    /// Returns the number of significant digits; correct as long as a bound matters.
    fn digits(&self) -> usize {
        let digits = self.position + i32::from(self.fraction_digits);
        // Zeros after the point are not significant digits, so this is never below zero.
        digits.unsigned_abs() as usize
    }

    fn prefix<'a>(&self, rules: &'a Rules) -> Prefix<'a> {
        // A number that is zero so far continues with a nonzero digit in any case.
        let lacks_digit = !self.is_zero && (self.fraction_digits == 0 || self.zeros > 0);
        Prefix {
            magnitudes: rules.magnitudes(self.negative),
            divisor: rules.divisor.as_ref(),
            // Only zero has no significant digits.
            digits: if self.is_zero {
                0
            } else {
                self.digits().max(1)
            },
            lower: self.lower,
            upper: self.upper,
            residue: self.residue,
            zeros: self.zeros,
            needs_nonzero: self.has_point && lacks_digit && !rules.form.redundant_fraction,
        }
    }

    fn continuation(&self, rules: &Rules) -> Continuation {
        let written = i64::from(self.fraction_digits);
        let position = i64::from(self.position);
        let more_integer_digits = if self.has_point || self.is_zero {
            0
        } else {
            i64::from(rules.form.integer_digits) - position
        };
        Continuation {
            position,
            before_point: (0, more_integer_digits),
            behind_point: (
                i64::from(self.has_point && written == 0),
                i64::from(rules.form.fraction_digits) - written,
            ),
            fraction: self.has_point.then_some(written),
            below_one: self.is_zero,
        }
    }

    /// Adds the digit to the standing and the residue; the caller has increased the counts.
    fn push(mut self, rules: &Rules, digit: u8) -> Option<Self> {
        let magnitudes = rules.magnitudes(self.negative);
        if self.is_zero {
            if digit == 0 {
                return Some(self);
            }
            if !magnitudes.above_zero {
                return None;
            }
        }
        let index = if self.is_zero { 0 } else { self.digits() - 1 };
        if let Some(bound) = &magnitudes.lower {
            self.lower = bound.push(self.lower, index, digit);
        }
        if let Some(bound) = &magnitudes.upper {
            self.upper = bound.push(self.upper, index, digit);
        }
        self.is_zero = false;
        match &rules.divisor {
            None => {
                // All that matters is whether the fraction ends in a zero.
                let counts = self.has_point && !rules.form.redundant_fraction;
                self.zeros = u32::from(counts && digit == 0);
            }
            Some(_) if digit == 0 => self.zeros += 1,
            Some(divisor) => {
                self.residue = divisor.append(self.residue, u64::from(self.zeros) + 1, digit);
                self.zeros = 0;
            }
        }
        Some(self)
    }

    /// Returns the state without what no longer makes a difference, so that equal states merge.
    fn normalized(mut self, rules: &Rules) -> Self {
        self.forget_zeros(rules);
        self.forget_bounds(rules);
        let both_free = (self.lower, self.upper) == (Standing::Free, Standing::Free);
        if both_free && self.has_point {
            self.position = 0;
        }
        let signs_agree = if self.is_zero {
            rules.zeros_agree
        } else {
            both_free || rules.signs_agree
        };
        self.negative &= !signs_agree;
        self
    }

    /// Without exponents, zeros beyond those that the divisor needs go into the residue.
    fn forget_zeros(&mut self, rules: &Rules) {
        if let Some(divisor) = &rules.divisor
            && rules.largest_exponent == 0
        {
            let most = i64::from(self.fraction_digits) + divisor.exponent.max(0);
            while i64::from(self.zeros) > most {
                self.residue = divisor.append(self.residue, 1, 0);
                self.zeros -= 1;
            }
        }
    }

    /// A bound that every continuation satisfies becomes free.
    fn forget_bounds(&mut self, rules: &Rules) {
        let magnitudes = rules.magnitudes(self.negative);
        let written = i64::from(self.fraction_digits);
        let position = i64::from(self.position);
        let fraction_digits = i64::from(rules.form.fraction_digits);
        let (lowest, highest) = match (self.is_zero, self.has_point) {
            (true, _) => (1 - fraction_digits, -written),
            (false, true) => (position, position),
            (false, false) => (position, i64::from(rules.form.integer_digits)),
        };
        let lowest = lowest - rules.largest_exponent;
        let highest = highest + rules.largest_exponent;
        if let Some(bound) = &magnitudes.lower {
            let stands = match self.lower {
                Standing::Above => true,
                Standing::Tied => {
                    !bound.exclusive && !self.is_zero && self.digits() >= bound.digits.len()
                }
                Standing::Below | Standing::Free => false,
            };
            if bound.exponent < lowest || (bound.exponent == lowest && stands) {
                self.lower = Standing::Free;
            }
        }
        if let Some(bound) = &magnitudes.upper {
            let stands = self.upper == Standing::Below;
            if bound.exponent > highest || (bound.exponent == highest && stands) {
                self.upper = Standing::Free;
            }
        }
    }
}

//! Decides by arithmetic, without a search, whether digits can be completed to a number of the set.
//!
//! A completion appends digits and chooses an exponent. What matters is the **place** of the number: P, if the number
//! is 0.d₁d₂… × 10^P. Strictly between the places of the bounds, the bounds do not matter, and a larger place has more
//! room: its last digit weighs more, or it has more digits, so whatever is a multiple at one place has a counterpart at
//! the next. So three places decide: those of the two bounds, and the largest one between them. At one place the
//! question is whether an interval of integers contains a multiple of a modulus, which digit strings with a remainder
//! answer.

use super::bound::{Bound, Magnitudes, Standing};
use super::divisor::{Divisor, multiply_by_power_of_ten};
use super::exponent::{MOST_DIGITS, largest};

/// What was written already.
pub(super) struct Prefix<'a> {
    pub(super) magnitudes: &'a Magnitudes,
    pub(super) divisor: Option<&'a Divisor>,
    /// The number of significant digits. If 0, the number so far is zero, and the next significant digit is not.
    pub(super) digits: usize,
    pub(super) lower: Standing,
    pub(super) upper: Standing,
    /// The digits as an integer are M × 10^`zeros`, and this is M modulo the divisor.
    pub(super) residue: u64,
    pub(super) zeros: u32,
    /// Whether some further digit must not be zero, if there are significant digits.
    pub(super) needs_nonzero: bool,
}

/// The digits that may follow: their number, and where they put the decimal point.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Without an exponent, the number is at place `position` + n, with n from `least` to `most`; n is the number of
    /// further digits before the point or, below one, minus the number of zeros after it.
    pub(super) position: i64,
    pub(super) least: i64,
    pub(super) most: i64,
    /// `digits` + n digits follow.
    pub(super) digits: i64,
    /// The number of digits after the point in the end.
    pub(super) fraction: i64,
}

/// An interval of exponents.
pub(super) type Exponents = (i64, i64);

impl Prefix<'_> {
    /// Returns whether some completion within `room`, with an exponent in `exponents`, is in the set.
    pub(super) fn has_completion(&self, room: Room, exponents: Exponents) -> bool {
        if room.least > room.most || (self.digits == 0 && !self.magnitudes.above_zero) {
            return false;
        }
        let lowest = room.position + room.least + exponents.0;
        let highest = room.position + room.most + exponents.1;
        let lower = self.lower_bound().map_or(i64::MIN, |bound| bound.exponent);
        let upper = self.upper_bound().map_or(i64::MAX, |bound| bound.exponent);
        let inner = highest.min(upper.saturating_sub(1));
        let allowed = |place: i64| {
            (lowest.max(lower)..=highest.min(upper)).contains(&place)
                && self.has_completion_at(place, room, exponents.0)
        };
        allowed(inner) || allowed(lower) || allowed(upper)
    }

    fn lower_bound(&self) -> Option<&Bound> {
        let matters = self.lower != Standing::Free;
        self.magnitudes.lower.as_ref().filter(|_| matters)
    }

    fn upper_bound(&self) -> Option<&Bound> {
        let matters = self.upper != Standing::Free;
        self.magnitudes.upper.as_ref().filter(|_| matters)
    }

    fn has_completion_at(&self, place: i64, room: Room, least_exponent: i64) -> bool {
        let before_point = room.most.min(place - room.position - least_exponent);
        let digits = room.digits + before_point;
        let exponent = place - room.position - before_point - room.fraction;
        let lower = match (self.lower_bound(), self.lower) {
            (Some(bound), Standing::Below) if bound.exponent == place => return false,
            (Some(bound), Standing::Tied) if bound.exponent == place => Some(bound),
            _ => None,
        };
        let upper = match (self.upper_bound(), self.upper) {
            (Some(bound), Standing::Above) if bound.exponent == place => return false,
            (Some(bound), Standing::Tied) if bound.exponent == place => Some(bound),
            _ => None,
        };
        let Some((kept, modulus, residue)) = self.modulus(digits, exponent) else {
            return false;
        };
        self.interval_has_multiple(lower, upper, kept, modulus, residue)
    }

    /// Returns how many of `digits` further digits may be nonzero, what must divide the integer that ends with them,
    /// and the remainder of what was written. `None` if there is no solution.
    fn modulus(&self, digits: i64, exponent: i64) -> Option<(usize, u64, u64)> {
        let zeros = i64::from(self.zeros);
        let (kept, modulus, zeros) = match self.divisor {
            None => (digits, 1, 0),
            Some(divisor) => {
                let surplus = exponent - divisor.exponent;
                if surplus >= 0 {
                    (digits, divisor.modulus(surplus.unsigned_abs()), zeros)
                } else if -surplus <= digits {
                    (digits + surplus, divisor.core, zeros)
                } else {
                    (0, divisor.core, zeros + digits + surplus)
                }
            }
        };
        let zeros = u64::try_from(zeros).ok()?;
        let residue = multiply_by_power_of_ten(self.residue, zeros, modulus);
        Some((usize::try_from(kept).ok()?, modulus, residue))
    }

    /// Returns whether `kept` digits between the bounds, after what was written, make a multiple of `modulus`.
    fn interval_has_multiple(
        &self,
        lower: Option<&Bound>,
        upper: Option<&Bound>,
        kept: usize,
        modulus: u64,
        mut residue: u64,
    ) -> bool {
        let is_first = self.digits == 0;
        // The largest integer minus the smallest; `residue` becomes that of the smallest.
        let mut span: i128 = 0;
        let mut lowest_is_zero = true;
        for index in 0..kept {
            let low = lower.map_or(u8::from(is_first && index == 0), |bound| {
                bound.digit(self.digits + index)
            });
            let high = upper.map_or(9, |bound| bound.digit(self.digits + index));
            span = span * 10 + i128::from(high) - i128::from(low);
            if span < 0 {
                return false;
            }
            // Further digits and exclusive ends remove at most two, so every remainder occurs.
            if span >= i128::from(modulus) + 2 {
                return true;
            }
            lowest_is_zero &= low == 0;
            if modulus > 1 {
                residue = (residue * 10 + u64::from(low)) % modulus;
            }
        }
        let end = self.digits + kept;
        let raised = match lower {
            Some(bound) => {
                bound.digits.len() > end
                    || bound.exclusive
                    || (self.needs_nonzero && lowest_is_zero)
            }
            None => self.needs_nonzero || (is_first && kept == 0),
        };
        let lowered = upper.is_some_and(|bound| bound.exclusive && bound.digits.len() <= end);
        span -= i128::from(raised) + i128::from(lowered);
        residue = (residue + u64::from(raised)) % modulus;
        let missing = (modulus - residue) % modulus;
        i128::from(missing) <= span
    }
}

/// What can be appended to a mantissa.
#[derive(Clone, Copy)]
pub(super) struct Continuation {
    pub(super) position: i64,
    /// The minimum and maximum number of digits before the point.
    pub(super) before_point: (i64, i64),
    /// The minimum and maximum number of digits after the point.
    pub(super) behind_point: (i64, i64),
    /// The number of digits already after the point; `None` if there is no point yet.
    pub(super) fraction: Option<i64>,
    /// Whether the number is zero so far and has its digit before the point.
    pub(super) below_one: bool,
}

impl Continuation {
    /// Returns the room with at most `behind_point` more digits after the point.
    fn room(&self, (least, most): (i64, i64), behind_point: i64) -> Room {
        let written = self.fraction.unwrap_or(0);
        let fraction = written + behind_point;
        if self.below_one {
            Room {
                position: 0,
                least: 1 - fraction,
                most: -written,
                digits: fraction,
                fraction,
            }
        } else {
            Room {
                position: self.position,
                least,
                most,
                digits: behind_point,
                fraction,
            }
        }
    }

    /// Returns whether some completion is in the set, with exponents up to ±`largest_exponent`.
    pub(super) fn is_live(&self, prefix: &Prefix<'_>, largest_exponent: i64) -> bool {
        let room = self.room(self.before_point, self.behind_point.1);
        prefix.has_completion(room, (-largest_exponent, largest_exponent))
    }

    /// Returns the length of the shortest completion, if it is shorter than `limit`.
    pub(super) fn shortest(
        &self,
        prefix: &Prefix<'_>,
        exponent_digits: u16,
        mut limit: u32,
    ) -> Option<u32> {
        let mut best = None;
        for (length, exponents) in exponents_by_length(exponent_digits) {
            if length >= limit {
                break;
            }
            let whole = self.room(self.before_point, self.behind_point.1);
            if !prefix.has_completion(whole, exponents) {
                continue;
            }
            for before_point in self.before_point.0..=self.before_point.1 {
                let Some(left) = i64::from(limit - length).checked_sub(before_point + 1) else {
                    break;
                };
                if left < 0 {
                    break;
                }
                let found = self.fewest_behind_point(left, |behind_point| {
                    let room = self.room((before_point, before_point), behind_point);
                    prefix.has_completion(room, exponents)
                });
                if let Some(cost) = found {
                    // Below `limit`, so it fits.
                    limit = length + (before_point + cost) as u32;
                    best = Some(limit);
                }
            }
        }
        best
    }

    /// Returns the cost of the fewest digits after the point for which `suffices` holds, if it is at most `limit`. If
    /// some number of digits suffices, so does a larger one.
    fn fewest_behind_point(&self, limit: i64, suffices: impl Fn(i64) -> bool) -> Option<i64> {
        let point = i64::from(self.fraction.is_none());
        let cost = |digits: i64| if digits == 0 { 0 } else { digits + point };
        let (mut low, mut high) = self.behind_point;
        high = high.min((limit - point).max(0));
        if low > high || !suffices(high) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if suffices(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(cost(high)).filter(|&cost| cost <= limit)
    }
}

/// Returns the intervals of exponents that take at most a number of bytes, including the `e`, by length.
fn exponents_by_length(digits: u16) -> impl Iterator<Item = (u32, Exponents)> {
    let parts = (1..=digits.min(MOST_DIGITS)).flat_map(|digits| {
        let most = largest(digits);
        let length = u32::from(digits) + 1;
        [(length, (0, most)), (length + 1, (-most, 0))]
    });
    std::iter::once((0, (0, 0))).chain(parts)
}

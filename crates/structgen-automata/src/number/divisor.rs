//! Several divisors as one, with the powers of two and five kept separate.

use structgen_grammar::Decimal;

use crate::LimitExceeded;

/// The largest core of a divisor. It leaves room for one more decimal digit in 64 bits.
const MAX_CORE: u128 = 1_000_000_000_000_000_000;

/// The maximum number of significant digits of a divisor; they fit 128 bits.
const MAX_DIGITS: usize = 38;

/// The positive number `core` × 10^`exponent`, where `core` = `odd` × `prime`^`power`, `odd` is coprime to ten, and
/// `prime` is 2 or 5.
///
/// An integer times a power of ten is a multiple of it if `odd` divides the integer and there are enough twos and
/// fives. So the exponent of a number only has to be large enough; [`Divisor::least_exponent`] returns the least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    pub(super) core: u64,
    pub(super) exponent: i64,
    odd: u64,
    prime: u64,
    power: u32,
}

/// A positive rational whose denominator has only the prime factors 2 and 5.
struct Factors {
    twos: i64,
    fives: i64,
    odd: u128,
}

impl Divisor {
    /// Returns the least common multiple of `divisors`, or `None` if there are none. Signs and zeros are ignored.
    pub(super) fn least_common_multiple(
        divisors: &[Decimal],
    ) -> Result<Option<Self>, LimitExceeded> {
        let mut all: Option<Factors> = None;
        for divisor in divisors.iter().filter(|divisor| !divisor.is_zero()) {
            let next = Factors::of(divisor)?;
            all = Some(match all {
                None => next,
                Some(before) => before.least_common_multiple(&next)?,
            });
        }
        all.map(Self::from_factors).transpose()
    }

    fn from_factors(factors: Factors) -> Result<Self, LimitExceeded> {
        let exponent = factors.twos.min(factors.fives);
        let (prime, power) = if factors.twos > factors.fives {
            (2, factors.twos - exponent)
        } else {
            (5, factors.fives - exponent)
        };
        let power = u32::try_from(power).map_err(|_| too_large())?;
        let core = u128::from(prime)
            .checked_pow(power)
            .and_then(|twos_or_fives: u128| twos_or_fives.checked_mul(factors.odd))
            .filter(|&core| core <= MAX_CORE)
            .ok_or_else(too_large)?;
        // Both fit: they are at most `MAX_CORE`.
        let (core, odd) = (core as u64, factors.odd as u64);
        Ok(Self {
            core,
            exponent,
            odd,
            prime,
            power,
        })
    }

    /// Returns the smallest t for which M × 10^t is a multiple, up to zeros at the end of M, where `residue` is M
    /// modulo `core`. `None` if no power of ten suffices.
    pub(super) fn least_exponent(&self, residue: u64) -> Option<i64> {
        if self.core == 1 {
            return Some(self.exponent);
        }
        if !residue.is_multiple_of(self.odd) {
            return None;
        }
        let mut missing = self.power;
        let mut rest = residue;
        // A residue of zero has all the factors.
        while missing > 0 && rest.is_multiple_of(self.prime) {
            rest /= self.prime;
            missing -= 1;
        }
        Some(self.exponent + i64::from(missing))
    }

    /// Returns whether every integer is a multiple.
    pub(super) fn divides_integers(&self) -> bool {
        self.core == 1 && self.exponent <= 0
    }

    /// Returns what must divide M so that M × 10^(`exponent` + `surplus`) is a multiple.
    pub(super) fn modulus(&self, surplus: u64) -> u64 {
        let helped = u64::from(self.power).min(surplus) as u32;
        self.core / self.prime.pow(helped)
    }

    /// Returns the residue of M × 10^`zeros` + `digit`, where `residue` is M modulo `core`.
    pub(super) fn append(&self, residue: u64, zeros: u64, digit: u8) -> u64 {
        (multiply_by_power_of_ten(residue, zeros, self.core) + u64::from(digit)) % self.core
    }
}

/// Returns `residue` × 10^`zeros` modulo `modulus`, which is at most [`MAX_CORE`].
pub(super) fn multiply_by_power_of_ten(residue: u64, mut zeros: u64, modulus: u64) -> u64 {
    if modulus == 1 {
        return 0;
    }
    let product = |left: u64, right: u64| {
        // The remainder is below a 64-bit modulus.
        (u128::from(left) * u128::from(right) % u128::from(modulus)) as u64
    };
    let mut result = residue % modulus;
    let mut square = 10 % modulus;
    while zeros > 0 && result != 0 {
        if zeros & 1 == 1 {
            result = product(result, square);
        }
        square = product(square, square);
        zeros >>= 1;
    }
    result
}

impl Factors {
    fn of(value: &Decimal) -> Result<Self, LimitExceeded> {
        let digits = value.digits();
        if digits.len() > MAX_DIGITS {
            return Err(too_large());
        }
        let exponent = value.exponent() - digits.len() as i64;
        let mut odd = digits
            .iter()
            .fold(0_u128, |number, &digit| number * 10 + u128::from(digit));
        let (mut twos, mut fives) = (exponent, exponent);
        // Not zero, so that the loops end.
        twos += i64::from(odd.trailing_zeros());
        odd >>= odd.trailing_zeros();
        while odd.is_multiple_of(5) {
            odd /= 5;
            fives += 1;
        }
        Ok(Self { twos, fives, odd })
    }

    fn least_common_multiple(&self, other: &Self) -> Result<Self, LimitExceeded> {
        let odd = (self.odd / greatest_common_divisor(self.odd, other.odd))
            .checked_mul(other.odd)
            .ok_or_else(too_large)?;
        Ok(Self {
            twos: self.twos.max(other.twos),
            fives: self.fives.max(other.fives),
            odd,
        })
    }
}

fn greatest_common_divisor(mut left: u128, mut right: u128) -> u128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

fn too_large() -> LimitExceeded {
    LimitExceeded {
        what: "the divisors of a number, their common power of ten aside,",
        limit: MAX_CORE as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(divisors: &[&str]) -> Result<(u64, i64), LimitExceeded> {
        let divisors: Vec<Decimal> = divisors
            .iter()
            .map(|text| text.parse().expect("a number"))
            .collect();
        let divisor = Divisor::least_common_multiple(&divisors)?.expect("not empty");
        Ok((divisor.core, divisor.exponent))
    }

    #[test]
    fn least_common_multiples_are_taken_over_the_rationals() {
        assert_eq!(common(&["1"]), Ok((1, 0)));
        assert_eq!(common(&["0.5", "0.2"]), Ok((1, 0)));
        assert_eq!(common(&["0.5", "0.3"]), Ok((15, -1)));
        assert_eq!(common(&["1e400"]), Ok((1, 400)));
        assert_eq!(common(&["1e400", "3e-400"]), Ok((3, 400)));
        assert_eq!(common(&["0", "25"]), Ok((25, 0)));
        assert_eq!(common(&["1e-20", "7"]), Ok((7, 0)));
        assert_eq!(
            common(&["1", "0.30000000000000004"]),
            Ok((7_500_000_000_000_001, 0))
        );
    }

    #[test]
    fn what_has_too_many_digits_is_refused() {
        assert!(common(&[&"7".repeat(19)]).is_err());
        assert!(common(&[&"7".repeat(100)]).is_err());
        assert!(common(&["999999999999999989", "999999999999999967"]).is_err());
        // 2^60 × 5^0: the power of ten is of no use.
        assert!(common(&["1152921504606846976"]).is_err());
    }
}

//! Exact decimals.

use std::fmt;

/// An exact decimal number with as many fractional digits as in the text: `12.50` is not shortened to `12.5`.
///
/// ```
/// use structgen_recognize::Number;
///
/// let number: Number = "12.50".parse().unwrap();
/// assert_eq!(number.to_string(), "12.50");
/// assert_eq!(number.shortest().to_string(), "12.5");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number {
    mantissa: i128,
    scale: u8,
}

/// Numbers with more digits are not recognised; `10^36` leaves room for the arithmetic on `i128`.
pub const MAX_DIGITS: usize = 36;
const LIMIT: i128 = 10i128.pow(MAX_DIGITS as u32);

impl Number {
    /// Returns `mantissa` divided by ten to the power of `scale`, or `None` beyond [`MAX_DIGITS`].
    pub(crate) fn new(mantissa: i128, scale: u8) -> Option<Number> {
        (-LIMIT < mantissa && mantissa < LIMIT && usize::from(scale) < MAX_DIGITS)
            .then_some(Number { mantissa, scale })
    }

    /// Returns the number with the digits of `whole` (several parts if it is grouped), then those of `fraction`.
    pub(crate) fn from_digits<'a>(
        whole: impl IntoIterator<Item = &'a str>,
        fraction: &str,
    ) -> Option<Number> {
        let mut mantissa: i128 = 0;
        for digit in whole
            .into_iter()
            .flat_map(str::bytes)
            .chain(fraction.bytes())
        {
            mantissa =
                mantissa * 10 + i128::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            if mantissa >= LIMIT {
                return None;
            }
        }
        Number::new(mantissa, u8::try_from(fraction.len()).ok()?)
    }

    /// Returns the number without trailing zeros after the point.
    pub fn shortest(self) -> Number {
        let Number {
            mut mantissa,
            mut scale,
        } = self;
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        Number { mantissa, scale }
    }

    /// Returns the value as an integer, if all fractional digits are zero.
    pub fn to_integer(self) -> Option<i128> {
        let shortest = self.shortest();
        (shortest.scale == 0).then_some(shortest.mantissa)
    }

    /// Returns whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// Returns whether the value is smaller; the order of the type is that of the digits.
    pub(crate) fn is_less(self, other: Number) -> bool {
        self.plus(other.negated()).is_some_and(Number::is_negative)
    }

    pub(crate) fn negated(self) -> Number {
        Number {
            mantissa: -self.mantissa,
            ..self
        }
    }

    pub(crate) fn plus(self, other: Number) -> Option<Number> {
        let scale = self.scale.max(other.scale);
        let aligned = |number: Number| number.mantissa.checked_mul(power(scale - number.scale)?);
        Number::new(aligned(self)?.checked_add(aligned(other)?)?, scale)
    }

    /// Returns the product, without the trailing zeros made superfluous by the factor: 2.5 times 1,000 is 2,500.
    pub(crate) fn times(self, factor: i128) -> Option<Number> {
        Some(Number::new(self.mantissa.checked_mul(factor)?, self.scale)?.shortest())
    }

    /// Returns a hundredth of the number, with two more fractional digits.
    pub(crate) fn hundredth(self) -> Option<Number> {
        Number::new(self.mantissa, self.scale.checked_add(2)?)
    }

    /// Returns the quotient, if it has at most `places` more fractional digits than the number.
    pub(crate) fn divided(self, divisor: i128, places: u8) -> Option<Number> {
        let scaled = self.mantissa.checked_mul(power(places)?)?;
        (divisor != 0 && scaled % divisor == 0).then_some(())?;
        Some(Number::new(scaled / divisor, self.scale.checked_add(places)?)?.shortest())
    }
}

fn power(exponent: u8) -> Option<i128> {
    10i128.checked_pow(u32::from(exponent))
}

impl From<u32> for Number {
    fn from(value: u32) -> Number {
        Number {
            mantissa: i128::from(value),
            scale: 0,
        }
    }
}

/// Why a text is not a [`Number`]: it does not match `-?[0-9]+(\.[0-9]+)?`, or has more than [`MAX_DIGITS`] digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotANumber(String);

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a decimal number of at most {MAX_DIGITS} digits",
            self.0
        )
    }
}

impl std::error::Error for NotANumber {}

impl std::str::FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Number, NotANumber> {
        let (digits, negative) = text
            .strip_prefix('-')
            .map_or((text, false), |rest| (rest, true));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let complete = !whole.is_empty() && fraction.is_empty() != digits.contains('.');
        let number = complete
            .then(|| Number::from_digits([whole], fraction))
            .flatten();
        let number = number.ok_or_else(|| NotANumber(text.to_owned()))?;
        Ok(if negative { number.negated() } else { number })
    }
}

/// Formats a JSON number: digits and a point, without grouping or exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let scale = usize::from(self.scale);
        let digits = format!(
            "{:0width$}",
            self.mantissa.unsigned_abs(),
            width = scale + 1
        );
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        write!(
            f,
            "{sign}{whole}{}{fraction}",
            if scale > 0 { "." } else { "" }
        )
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

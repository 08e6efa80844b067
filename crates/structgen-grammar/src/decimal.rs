//! Exact decimals: the numbers of JSON, never rounded.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// An exact decimal number: ±0.d₁d₂…dₙ × 10^exponent with d₁ and dₙ not zero; zero has no digits.
///
/// Equal numbers have equal representations, however they were written.
///
/// ```
/// use structgen_grammar::Decimal;
///
/// let a: Decimal = "1.50e2".parse()?;
/// assert_eq!(a, "150".parse()?);
/// assert_eq!(a.to_string(), "150");
/// assert!(a < "150.0001".parse()?);
/// # Ok::<(), structgen_grammar::decimal::DecimalError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    negative: bool,
    /// Digits 0 to 9, neither the first nor the last of them zero.
    digits: Box<[u8]>,
    /// The power of ten: the value is 0.d₁d₂… times 10^exponent.
    exponent: i64,
}

/// Why a text is not a decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// The text is not a JSON number.
    #[error("not a JSON number")]
    Syntax,
    /// The number is not zero, and its [`Decimal::exponent`] is beyond ±10¹⁵.
    #[error("the exponent is out of range")]
    Exponent,
}

impl Decimal {
    /// The digits, most significant first, without zeros at either end.
    #[must_use]
    pub fn digits(&self) -> &[u8] {
        &self.digits
    }

    /// The position of the decimal point: the value is ±0.d₁d₂… × 10^exponent. Zero has exponent 0.
    #[must_use]
    pub fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Whether the number is negative.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether the number is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether the number is an integer.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.exponent >= self.digits.len() as i64
    }

    /// The number with the opposite sign; zero stays zero.
    #[must_use]
    pub fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.is_zero();
        self
    }

    /// The number with these digits (0 to 9), if they are in canonical form.
    pub(crate) fn from_canonical(negative: bool, digits: &[u8], exponent: i64) -> Option<Self> {
        let in_range = (-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent);
        if !in_range || digits.iter().any(|&digit| digit > 9) {
            return None;
        }
        let number = Self::from_parts(negative, digits, exponent);
        let is_kept =
            number.digits() == digits && number.exponent == exponent && number.negative == negative;
        is_kept.then_some(number)
    }

    fn from_parts(negative: bool, digits: &[u8], exponent: i64) -> Self {
        let leading = digits.iter().take_while(|&&digit| digit == 0).count();
        let significant = &digits[leading..];
        let trailing = significant
            .iter()
            .rev()
            .take_while(|&&digit| digit == 0)
            .count();
        let digits: Box<[u8]> = significant[..significant.len() - trailing].into();
        if digits.is_empty() {
            return Self::default();
        }
        Self {
            negative,
            digits,
            exponent: exponent - leading as i64,
        }
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self
                .exponent
                .cmp(&other.exponent)
                .then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Parses a JSON number (RFC 8259).
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (negative, rest) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, Some(0)),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return Err(DecimalError::Syntax),
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || !is_digits(whole) || !is_digits(fraction) {
            return Err(DecimalError::Syntax);
        }
        let digits: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .map(|byte| byte - b'0')
            .collect();
        // Zero is zero, whatever its exponent.
        let number = Self::from_parts(
            negative,
            &digits,
            exponent.unwrap_or(0) + whole.len() as i64,
        );
        let in_range = exponent.is_some() && number.exponent.abs() <= MAX_EXPONENT;
        if number.is_zero() || in_range {
            Ok(number)
        } else {
            Err(DecimalError::Exponent)
        }
    }
}

/// The maximum magnitude of an exponent: sums of exponents and lengths stay far within 64 bits.
const MAX_EXPONENT: i64 = 1_000_000_000_000_000;

/// The exponent, or `None` if it has so many digits that no mantissa brings the number back into range.
fn parse_exponent(text: &str) -> Result<Option<i64>, DecimalError> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DecimalError::Syntax);
    }
    let significant = digits.trim_start_matches('0');
    // A mantissa of 10^17 digits does not fit into memory.
    if significant.len() > 17 {
        return Ok(None);
    }
    let value = significant
        .bytes()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Ok(Some(if negative { -value } else { value }))
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        let text = value.unsigned_abs().to_string();
        let digits: Vec<u8> = text.bytes().map(|byte| byte - b'0').collect();
        Self::from_parts(value < 0, &digits, digits.len() as i64)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The longest run of zeros that `Display` writes before it switches to an exponent.
const PLAIN_ZEROS: i64 = 20;

impl fmt::Display for Decimal {
    /// Writes a JSON number: in plain notation if that takes few zeros, else with an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.negative {
            f.write_str("-")?;
        }
        let digit = |&digit: &u8| char::from(b'0' + digit);
        let text: String = self.digits.iter().map(digit).collect();
        let length = text.len() as i64;
        if (length..=length + PLAIN_ZEROS).contains(&self.exponent) {
            write!(f, "{text}{}", "0".repeat((self.exponent - length) as usize))
        } else if (1..length).contains(&self.exponent) {
            let (whole, fraction) = text.split_at(self.exponent as usize);
            write!(f, "{whole}.{fraction}")
        } else if (-PLAIN_ZEROS..=0).contains(&self.exponent) {
            write!(f, "0.{}{text}", "0".repeat(-self.exponent as usize))
        } else {
            let (first, rest) = text.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            write!(f, "{first}{point}{rest}e{}", self.exponent - 1)
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

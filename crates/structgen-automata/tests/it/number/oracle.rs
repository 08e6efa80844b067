//! The meaning of a number text, computed with big integers and without the automaton.

use num_bigint::BigInt;
use structgen_grammar::{NumberForm, NumberSet};

/// mantissa × 10^exponent.
pub(crate) struct Value {
    mantissa: BigInt,
    exponent: i64,
}

/// The parts of a number text.
pub(crate) struct Parts<'a> {
    pub(crate) negative: bool,
    pub(crate) whole: &'a str,
    pub(crate) fraction: Option<&'a str>,
    pub(crate) exponent: Option<(bool, &'a str)>,
}

/// Returns the parts of a JSON number, or `None` if the text is not one.
pub(crate) fn split(text: &str) -> Option<Parts<'_>> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => {
            let tail = &rest[at + 1..];
            let sign = match tail.strip_prefix('-') {
                Some(digits) => (true, digits),
                None => (false, tail.strip_prefix('+').unwrap_or(tail)),
            };
            (&rest[..at], Some(sign))
        }
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.find('.') {
        Some(at) => (&mantissa[..at], Some(&mantissa[at + 1..])),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|(_, text)| digits(text));
    is_number.then_some(Parts {
        negative,
        whole,
        fraction,
        exponent,
    })
}

impl Parts<'_> {
    /// Returns whether the text is written in the form.
    pub(crate) fn has_form(&self, form: &NumberForm) -> bool {
        let fraction = self.fraction.unwrap_or("");
        let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
        let redundant = fraction.ends_with('0');
        let signed_zero = self.negative && is_zero(self.whole) && is_zero(fraction);
        self.whole.len() <= usize::from(form.integer_digits)
            && fraction.len() <= usize::from(form.fraction_digits)
            && (form.redundant_fraction || !redundant)
            && (form.negative_zero || !signed_zero)
            && self.exponent.is_none_or(|(_, digits)| {
                form.exponent && digits.len() <= usize::from(form.exponent_digits)
            })
    }

    pub(crate) fn value(&self) -> Value {
        let fraction = self.fraction.unwrap_or("");
        let magnitude: BigInt = format!("{}{fraction}", self.whole)
            .parse()
            .expect("digits only");
        let exponent = self.exponent.map_or(0, |(negative, digits)| {
            let magnitude: i64 = digits.parse().expect("few digits");
            if negative { -magnitude } else { magnitude }
        });
        Value {
            mantissa: if self.negative { -magnitude } else { magnitude },
            exponent: exponent - fraction.len() as i64,
        }
    }
}

impl Value {
    pub(crate) fn parse(text: &str) -> Self {
        split(text).expect("a number").value()
    }

    /// Both as integers on the same scale.
    fn scaled(&self, other: &Self) -> (BigInt, BigInt) {
        let least = self.exponent.min(other.exponent);
        let scale =
            |value: &Self| &value.mantissa * BigInt::from(10).pow((value.exponent - least) as u32);
        (scale(self), scale(other))
    }

    pub(crate) fn is_in(&self, set: &NumberSet) -> bool {
        let zero = BigInt::from(0);
        let against = |text: String| self.scaled(&Value::parse(&text));
        let above = set.lower.as_ref().is_none_or(|bound| {
            let (value, end) = against(bound.value.to_string());
            value > end || (value == end && !bound.exclusive)
        });
        let below = set.upper.as_ref().is_none_or(|bound| {
            let (value, end) = against(bound.value.to_string());
            value < end || (value == end && !bound.exclusive)
        });
        above
            && below
            && set.multiples_of.iter().all(|divisor| {
                let (value, divisor) = against(divisor.to_string());
                value % divisor == zero
            })
    }
}

/// Returns whether the text is a number of the set in the form.
pub(crate) fn accepts(set: &NumberSet, form: &NumberForm, text: &str) -> bool {
    split(text).is_some_and(|parts| parts.has_form(form) && parts.value().is_in(set))
}

#[test]
fn the_oracle_knows_simple_numbers() {
    let form = super::support::exact();
    let set = super::support::set(">=-1.5 <1e2 *0.25");
    for text in ["0", "-0.0", "-1.5", "99.75", "9.975e1", "25e-2", "0e7"] {
        assert!(accepts(&set, &form, text), "{text}");
    }
    for text in [
        "-1.75", "100", "0.1", "01", "1.", ".5", "1e", "+1", "1e+", "",
    ] {
        assert!(!accepts(&set, &form, text), "{text}");
    }
}

//! Numbers: combines bounds and multiples, exactly.

use std::cmp::Ordering;

use structgen_grammar::{Decimal, NumberBound, NumberSet};

use super::branch::Branch;
use super::{Canonicalizer, Numbers, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{Atom, Origin, TypeSet};

impl<'j> Canonicalizer<'_, 'j> {
    /// The numbers of a branch.
    pub(super) fn finish_numbers(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        let types = branch.types.intersection(TypeSet::NUMBER);
        let mut numbers = Numbers {
            source: branch.source(),
            ..Numbers::default()
        };
        let mut excluded: Vec<&Decimal> = Vec::new();
        if types == TypeSet::INTEGER {
            numbers.set.multiples_of.push(Decimal::from(1));
        }
        for traced in &branch.atoms {
            match &traced.atom {
                Atom::Lower(bound) => raise(&mut numbers.set.lower, bound),
                Atom::Upper(bound) => lower(&mut numbers.set.upper, bound),
                Atom::MultipleOf(divisor) => numbers.set.multiples_of.push(divisor.clone()),
                Atom::WrittenWhole => numbers.set.written_whole = true,
                Atom::NotMultipleOf(divisor) => {
                    numbers
                        .not_multiples_of
                        .push((divisor.clone(), traced.origin));
                }
                Atom::NotValues(values) => {
                    excluded.extend(values.iter().filter_map(|value| match value {
                        Json::Number(number) => Some(number),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
        if types == TypeSet::FRACTION {
            let origin = branch.atoms.last().map(|traced| traced.origin);
            let origin = origin.unwrap_or(Origin {
                schema: self.reached().last().copied().unwrap_or(super::SchemaId(0)),
                keyword: "type",
            });
            numbers.not_multiples_of.push((Decimal::from(1), origin));
        }
        normalize(&mut numbers.set);
        if is_empty(&numbers.set) {
            return Ok(());
        }
        excluded.sort_unstable();
        excluded.dedup();
        for point in excluded {
            if !contains(&numbers.set, point).unwrap_or(true) {
                continue;
            }
            self.step(1)?;
            let bound = NumberBound {
                value: point.clone(),
                exclusive: true,
            };
            // The points are in ascending order, so the numbers below this one are final.
            let mut below = numbers.clone();
            lower(&mut below.set.upper, &bound);
            add(below, out);
            raise(&mut numbers.set.lower, &bound);
        }
        add(numbers, out);
        Ok(())
    }
}

fn add(mut numbers: Numbers, out: &mut Values) {
    normalize(&mut numbers.set);
    if !is_empty(&numbers.set) {
        out.add_numbers(numbers);
    }
}

fn raise(lower: &mut Option<NumberBound>, bound: &NumberBound) {
    let tighter = lower.as_ref().is_none_or(|old| {
        let order = bound.value.cmp(&old.value);
        order == Ordering::Greater || order == Ordering::Equal && bound.exclusive
    });
    if tighter {
        *lower = Some(bound.clone());
    }
}

fn lower(upper: &mut Option<NumberBound>, bound: &NumberBound) {
    let tighter = upper.as_ref().is_none_or(|old| {
        let order = bound.value.cmp(&old.value);
        order == Ordering::Less || order == Ordering::Equal && bound.exclusive
    });
    if tighter {
        *upper = Some(bound.clone());
    }
}

/// Removes divisors implied by others, and rounds the bounds of integers to integers.
fn normalize(set: &mut NumberSet) {
    set.multiples_of.sort_unstable();
    set.multiples_of.dedup();
    let all = set.multiples_of.clone();
    set.multiples_of.retain(|divisor| {
        let follows =
            |other: &Decimal| other != divisor && is_multiple_of(other, divisor).unwrap_or(false);
        !all.iter().any(follows)
    });
    if !set.multiples_of.iter().any(Decimal::is_integer) {
        return;
    }
    if let Some(bound) = &mut set.lower {
        if !bound.value.is_integer() {
            *bound = NumberBound {
                value: floor(&bound.value.clone().negated()).negated(),
                exclusive: false,
            };
        } else if bound.exclusive && bound.value.exponent() < MANY_DIGITS {
            *bound = NumberBound {
                value: plus_one(&bound.value),
                exclusive: false,
            };
        }
    }
    if let Some(bound) = &mut set.upper {
        if !bound.value.is_integer() {
            *bound = NumberBound {
                value: floor(&bound.value),
                exclusive: false,
            };
        } else if bound.exclusive && bound.value.exponent() < MANY_DIGITS {
            *bound = NumberBound {
                value: plus_one(&bound.value.clone().negated()).negated(),
                exclusive: false,
            };
        }
    }
}

/// The maximum number of digits of an integer that is incremented.
const MANY_DIGITS: i64 = 400;

/// Whether the set is empty; exact for numbers of ordinary size, otherwise judged by the bounds alone.
fn is_empty(set: &NumberSet) -> bool {
    let (Some(low), Some(high)) = (&set.lower, &set.upper) else {
        return false;
    };
    match low.value.cmp(&high.value) {
        Ordering::Greater => true,
        Ordering::Equal => {
            low.exclusive || high.exclusive || contains(set, &low.value) == Some(false)
        }
        Ordering::Less => {
            !set.multiples_of.is_empty() && has_multiple(set, low, high) == Some(false)
        }
    }
}

/// Whether a multiple of all divisors lies within the bounds; `None` if the numbers have too many digits.
fn has_multiple(set: &NumberSet, low: &NumberBound, high: &NumberBound) -> Option<bool> {
    let multiples = Multiples::of(set, low, high)?;
    Some(multiples.first <= multiples.last)
}

/// The numbers of a bounded set, in ascending order, if they are at most [`FEW`]; `None` as well if more than
/// [`MANY_MULTIPLES`] would have to be looked at, or the numbers have too many digits.
pub(crate) fn few_numbers(set: &NumberSet) -> Option<Vec<Decimal>> {
    let (Some(low), Some(high)) = (&set.lower, &set.upper) else {
        return None;
    };
    if set.multiples_of.is_empty() {
        return None;
    }
    let Multiples {
        first,
        last,
        period,
        scale,
    } = Multiples::of(set, low, high)?;
    if last.checked_sub(first)? / period >= MANY_MULTIPLES {
        return None;
    }
    let multiples = std::iter::successors(Some(first), |number| number.checked_add(period));
    let mut found = Vec::new();
    for number in multiples.take_while(|&number| number <= last) {
        let number: Decimal = format!("{number}e-{scale}").parse().ok()?;
        let mut excluded = false;
        for divisor in &set.not_multiples_of {
            excluded |= is_multiple_of(&number, divisor)?;
        }
        if !excluded {
            found.push(number);
        }
        if found.len() > FEW {
            return None;
        }
    }
    Some(found)
}

/// The most multiples between two bounds that are looked at one by one.
const MANY_MULTIPLES: i128 = 1000;

/// The most numbers that are told one by one.
const FEW: usize = 32;

/// The multiples of all divisors between two bounds, as integers over a power of ten.
struct Multiples {
    first: i128,
    last: i128,
    period: i128,
    scale: i64,
}

impl Multiples {
    /// `None` if the numbers have too many digits.
    fn of(set: &NumberSet, low: &NumberBound, high: &NumberBound) -> Option<Self> {
        let decimals = |number: &Decimal| number.digits().len() as i64 - number.exponent();
        let numbers = || set.multiples_of.iter().chain([&low.value, &high.value]);
        let scale = numbers().map(decimals).max()?.max(0);
        let mut period: i128 = 1;
        for divisor in &set.multiples_of {
            let divisor = scaled(divisor, scale)?;
            period = (period / gcd(period, divisor)).checked_mul(divisor)?;
        }
        let (bottom, top) = (scaled(&low.value, scale)?, scaled(&high.value, scale)?);
        let mut first = bottom.div_euclid(period).checked_mul(period)?;
        if first < bottom || low.exclusive && first == bottom {
            first = first.checked_add(period)?;
        }
        Some(Self {
            first,
            last: top - i128::from(high.exclusive),
            period,
            scale,
        })
    }
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The number times ten to the power of `scale`, if that is an integer of at most 37 digits.
fn scaled(number: &Decimal, scale: i64) -> Option<i128> {
    let length = number.exponent().checked_add(scale)?;
    if number.is_zero() {
        return Some(0);
    }
    if !(number.digits().len() as i64..=37).contains(&length) {
        return None;
    }
    let digit = |origin| i128::from(number.digits().get(origin).copied().unwrap_or(0));
    let value = (0..length as usize).fold(0, |value, origin| value * 10 + digit(origin));
    Some(if number.is_negative() { -value } else { value })
}

/// Whether the number is in the set; `None` if the numbers have too many digits.
pub(super) fn contains(set: &NumberSet, number: &Decimal) -> Option<bool> {
    let above = set
        .lower
        .as_ref()
        .is_none_or(|bound| is_above(number, bound));
    let below = set
        .upper
        .as_ref()
        .is_none_or(|bound| is_below(number, bound));
    if !above || !below {
        return Some(false);
    }
    for divisor in &set.multiples_of {
        if !is_multiple_of(number, divisor)? {
            return Some(false);
        }
    }
    Some(true)
}

pub(super) fn is_above(number: &Decimal, bound: &NumberBound) -> bool {
    let order = number.cmp(&bound.value);
    order == Ordering::Greater || order == Ordering::Equal && !bound.exclusive
}

pub(super) fn is_below(number: &Decimal, bound: &NumberBound) -> bool {
    let order = number.cmp(&bound.value);
    order == Ordering::Less || order == Ordering::Equal && !bound.exclusive
}

/// Whether the number is an integer times the divisor; `None` for divisors of more than 19 digits, unless it is
/// obvious.
pub(super) fn is_multiple_of(number: &Decimal, divisor: &Decimal) -> Option<bool> {
    if number.is_zero() {
        return Some(true);
    }
    // As integers times powers of ten, without trailing zeros.
    let power = |number: &Decimal| number.exponent() - number.digits().len() as i64;
    let gap = power(number) - power(divisor);
    if gap < 0 {
        // A multiple's digits would end in a zero.
        return Some(false);
    }
    if number.digits() == divisor.digits() {
        return Some(true);
    }
    if divisor.digits().len() > 19 {
        return None;
    }
    let digit = |value: u128, &digit: &u8| value * 10 + u128::from(digit);
    let modulus = divisor.digits().iter().fold(0, digit);
    let rest = number
        .digits()
        .iter()
        .fold(0, |value, next| digit(value, next) % modulus);
    let mut factor = 10 % modulus;
    let mut product = rest;
    let mut exponent = gap;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product = product * factor % modulus;
        }
        factor = factor * factor % modulus;
        exponent /= 2;
    }
    Some(product % modulus == 0)
}

/// The greatest integer that is not greater than the number.
fn floor(number: &Decimal) -> Decimal {
    if number.is_integer() {
        return number.clone();
    }
    let count = usize::try_from(number.exponent()).unwrap_or(0);
    let truncated = from_digits(&number.digits()[..count], number.is_negative());
    if number.is_negative() {
        plus_one(&truncated.negated()).negated()
    } else {
        truncated
    }
}

/// One more than an integer.
fn plus_one(number: &Decimal) -> Decimal {
    let length = usize::try_from(number.exponent()).unwrap_or(0);
    let mut digits: Vec<u8> = number.digits().to_vec();
    digits.resize(length, 0);
    if number.is_negative() {
        // A negative number: its magnitude decreases by one.
        for digit in digits.iter_mut().rev() {
            if *digit > 0 {
                *digit -= 1;
                break;
            }
            *digit = 9;
        }
        return from_digits(&digits, true);
    }
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return from_digits(&digits, false);
        }
        *digit = 0;
    }
    digits.insert(0, 1);
    from_digits(&digits, false)
}

fn from_digits(digits: &[u8], negative: bool) -> Decimal {
    let first = digits.iter().position(|&digit| digit != 0);
    let Some(first) = first else {
        return Decimal::default();
    };
    let text: String = digits[first..]
        .iter()
        .map(|&digit| char::from(b'0' + digit))
        .collect();
    let number: Decimal = text.parse().unwrap_or_default();
    if negative { number.negated() } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        text.parse().expect("a number")
    }

    #[test]
    fn multiples_are_exact() {
        for (value, divisor, expected) in [
            ("0.3", "0.1", true),
            ("4.35", "0.01", true),
            ("4.35", "0.1", false),
            ("1e300", "7", false),
            ("7e300", "7", true),
            ("0", "3", true),
            ("-9", "3", true),
            ("1e-3", "1", false),
            ("1e22", "0.0001", true),
            ("9007199254740993", "3", true),
            ("9007199254740993", "2", false),
        ] {
            let found = is_multiple_of(&number(value), &number(divisor));
            assert_eq!(found, Some(expected), "{value} by {divisor}");
        }
    }

    #[test]
    fn rounding_is_that_of_floor() {
        for (value, expected) in [
            ("1.5", "1"),
            ("-1.5", "-2"),
            ("0.1", "0"),
            ("-0.1", "-1"),
            ("99.5", "99"),
            ("-99.5", "-100"),
            ("1200", "1200"),
        ] {
            assert_eq!(floor(&number(value)), number(expected), "{value}");
        }
        assert_eq!(plus_one(&number("99")), number("100"));
        assert_eq!(plus_one(&number("-100")), number("-99"));
        assert_eq!(plus_one(&number("-1")), number("0"));
        assert_eq!(plus_one(&number("0")), number("1"));
    }

    #[test]
    fn emptiness_between_bounds_is_seen() {
        let set = |low: &str, high: &str, divisors: &[&str]| NumberSet {
            lower: Some(NumberBound {
                value: number(low),
                exclusive: false,
            }),
            upper: Some(NumberBound {
                value: number(high),
                exclusive: true,
            }),
            multiples_of: divisors.iter().map(|text| number(text)).collect(),
            ..NumberSet::default()
        };
        assert!(is_empty(&set("1", "5", &["5"])));
        assert!(!is_empty(&set("1", "5.1", &["5"])));
        assert!(is_empty(&set("1", "12", &["4", "6"])));
        assert!(!is_empty(&set("-12", "0", &["4", "6"])));
        assert!(is_empty(&set("0.11", "0.12", &["0.1"])));
    }

    #[test]
    fn few_numbers_are_told_one_by_one() {
        let set = |low: &str, high: &str, divisors: &[&str], others: &[&str]| {
            let bound = |text: &str, exclusive| NumberBound {
                value: number(text),
                exclusive,
            };
            let numbers = |texts: &[&str]| texts.iter().map(|text| number(text)).collect();
            NumberSet {
                lower: Some(bound(low, false)),
                upper: Some(bound(high, true)),
                multiples_of: numbers(divisors),
                not_multiples_of: numbers(others),
                ..NumberSet::default()
            }
        };
        let found = |set| few_numbers(&set).map(|it| it.iter().map(Decimal::to_string).collect());
        let texts = |texts: &[&str]| Some(texts.iter().map(|&it| it.to_owned()).collect());
        let found: [Option<Vec<String>>; 6] = [
            found(set("-10", "10", &["2.5"], &["5"])),
            found(set("-100000", "-10000", &["8721"], &["2", "5", "7", "11"])),
            found(set("0", "1", &["1"], &["7"])),
            // Too many, too many multiples, and endlessly many.
            found(set("0", "50", &["1"], &["7"])),
            found(set("0", "1001", &["1"], &["1"])),
            found(set("0", "1", &[], &["7"])),
        ];
        let wanted = [
            texts(&["-7.5", "-2.5", "2.5", "7.5"]),
            texts(&["-78489", "-26163"]),
            texts(&[]),
            None,
            None,
            None,
        ];
        assert_eq!(found, wanted);
    }
}

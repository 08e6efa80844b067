//! Numbers derived from others: `2½`, `2 1/2`, `1e6`, `two and a half`, `un millón y medio`, `minus 5`.

use super::quantity::{Quantities, Quantity};
use super::scale;
use crate::language::{Entry, Sense};
use crate::tokens::{Kind, Tokens};
use crate::{Language, Number};

pub(super) fn scan(tokens: &Tokens<'_>, plain: &Quantities) -> Vec<Quantity> {
    let mut list = Vec::new();
    for at in 0..tokens.len() {
        if let Some((end, number)) = bare_fraction(tokens, at) {
            add_scaled(tokens, Quantity::of(at, end, number), &mut list);
        }
    }
    for quantity in plain.iter() {
        list.extend(exponent(tokens, quantity));
        list.extend(scale::earlier_end(tokens, plain, quantity));
        for scaled in scale::scan(tokens, quantity) {
            list.extend(and_a_half(tokens, &scaled));
            list.push(scaled);
        }
        if let Some(mixed) = mixed(tokens, quantity) {
            add_scaled(tokens, mixed, &mut list);
        }
        if let Some(whole_and_half) = and_a_half(tokens, quantity) {
            let scaled = scale::scan(tokens, &whole_and_half);
            let alone = scaled.is_empty().then_some(whole_and_half);
            list.extend(scaled.into_iter().chain(alone));
        }
    }
    let negative: Vec<Quantity> = plain
        .iter()
        .chain(&list)
        .filter_map(|quantity| minus(tokens, quantity))
        .collect();
    list.extend(negative);
    list
}

/// Adds a number, also with the scale after it: `½ million`, `2½ million`.
fn add_scaled(tokens: &Tokens<'_>, quantity: Quantity, list: &mut Vec<Quantity>) {
    list.extend(scale::scan(tokens, &quantity));
    list.push(quantity);
}

/// `½` or `1/2`.
fn bare_fraction(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Number)> {
    let (numerator, denominator, end) = match tokens.kind(at)? {
        Kind::Mark('½') => (1, 2, at + 1),
        Kind::Mark('¼') => (1, 4, at + 1),
        Kind::Mark('¾') => (3, 4, at + 1),
        Kind::Mark('⅕') => (1, 5, at + 1),
        Kind::Mark('⅖') => (2, 5, at + 1),
        Kind::Mark('⅗') => (3, 5, at + 1),
        Kind::Mark('⅘') => (4, 5, at + 1),
        Kind::Mark('⅛') => (1, 8, at + 1),
        Kind::Mark('⅜') => (3, 8, at + 1),
        Kind::Mark('⅝') => (5, 8, at + 1),
        Kind::Mark('⅞') => (7, 8, at + 1),
        Kind::Digits if tokens.is_mark(at + 1, '/') => {
            let alone = !tokens.is_mark(at.wrapping_sub(1), '/') && !tokens.is_mark(at + 3, '/');
            (
                tokens.digits(at, 1, 2)?,
                tokens.digits(at + 2, 1, 2).filter(|_| alone)?,
                at + 3,
            )
        }
        _ => return None,
    };
    let number = Number::from(numerator).divided(i128::from(denominator), 4)?;
    (numerator < denominator).then_some((end, number))
}

/// An integer, then a fraction: `2½`, `2 ½`, `2 1/2`.
fn mixed(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<Quantity> {
    let after_space = tokens.skip_space(quantity.end);
    if after_space == quantity.end && tokens.kind(after_space) == Some(Kind::Digits) {
        return None;
    }
    let (end, fraction) = bare_fraction(tokens, after_space)?;
    let wholes = quantity
        .readings
        .iter()
        .filter(|number| number.to_integer().is_some());
    let readings: Vec<Number> = wholes
        .filter_map(|whole| away_from_zero(*whole, fraction))
        .collect();
    let first = *readings.first()?;
    Some(Quantity {
        readings,
        ..Quantity::of(quantity.first, end, first)
    })
}

/// `1.5e6`, `2E-3`.
fn exponent(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<Quantity> {
    let number = quantity
        .readings
        .first()
        .filter(|_| matches!(tokens.str(quantity.end), "e" | "E"))?;
    let negative = tokens.is_mark(quantity.end + 1, '-');
    let signed = negative || tokens.is_mark(quantity.end + 1, '+');
    let at = quantity.end + 1 + usize::from(signed);
    let exponent = tokens.digits(at, 1, 2)?;
    let factor = 10i128.checked_pow(exponent)?;
    let ends = tokens.kind(at + 1) != Some(Kind::Word);
    let value = if negative {
        number.divided(factor, exponent as u8)
    } else {
        number.times(factor)
    };
    Some(Quantity::of(
        quantity.first,
        at + 1,
        value.filter(|_| ends)?,
    ))
}

/// `two and a half`, `deux et demi`, and of larger numbers `un millón y medio`.
fn and_a_half(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<Quantity> {
    let whole = quantity
        .readings
        .first()
        .filter(|number| number.to_integer().is_some())?;
    let (end, half) = tail(tokens, quantity.end, quantity.language)?;
    let half = half.times(unit_of(tokens, quantity))?;
    Some(Quantity {
        language: quantity.language,
        ..Quantity::of(quantity.first, end, away_from_zero(*whole, half)?)
    })
}

/// Returns a whole number with a fraction after it: `-2½` is -2.5.
fn away_from_zero(whole: Number, fraction: Number) -> Option<Number> {
    whole.plus(if whole.is_negative() {
        fraction.negated()
    } else {
        fraction
    })
}

/// Returns what a half after the number is a half of: of a million after `un millón`.
fn unit_of(tokens: &Tokens<'_>, quantity: &Quantity) -> i128 {
    let counts = |entry: &&Entry| quantity.speaks(entry.language);
    let entries = tokens.all_entries(quantity.end - 1).iter().filter(counts);
    let mut units = entries.filter_map(|entry| match entry.sense {
        Sense::Scale(scale @ 1_000_000..) => Some(i128::from(scale)),
        Sense::Collective(size) => Some(i128::from(size)),
        _ => None,
    });
    units.next().unwrap_or(1)
}

/// Matches `and a half` or `et quart` at a position; returns what it adds.
pub(super) fn tail(
    tokens: &Tokens<'_>,
    at: usize,
    language: Option<Language>,
) -> Option<(usize, Number)> {
    let and = tokens.skip_space(at);
    if and == at {
        return None;
    }
    let spoken = |entry: &&_| {
        let entry: &crate::language::Entry = entry;
        entry.sense == Sense::And
            && entry.language != Language::German
            && language.is_none_or(|own| own == entry.language)
    };
    tokens.entries(and).filter(spoken).find_map(|entry| {
        let mut part = tokens.skip_space(and + 1);
        if tokens.has(part, entry.language, Sense::Article)
            || tokens.has(part, entry.language, Sense::Unit(1))
        {
            part = tokens.skip_space(part + 1);
        }
        tokens
            .senses(part, entry.language)
            .find_map(|sense| match sense {
                Sense::Half => Some((part + 1, Number::new(5, 1)?)),
                Sense::Quarter => Some((part + 1, Number::new(25, 2)?)),
                _ => None,
            })
    })
}

/// `minus 5`, `menos dos`.
fn minus(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<Quantity> {
    let word = tokens.back_space(quantity.first);
    let at = word
        .checked_sub(1)
        .filter(|at| word < quantity.first && tokens.has_any(*at, Sense::Minus))?;
    let readings = quantity
        .readings
        .iter()
        .map(|number| number.negated())
        .collect();
    Some(Quantity {
        first: at,
        readings,
        ambiguous: None,
        ..quantity.clone()
    })
}

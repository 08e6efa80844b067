//! Numbers derived from others: `2½`, `2 1/2`, `1e6`, `3 million`, `5k`, `two and a half`, `minus 5`.

use super::quantity::{Quantities, Quantity};
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Language, Number};

pub(super) fn scan(tokens: &Tokens<'_>, plain: &Quantities) -> Vec<Quantity> {
    let mut list = Vec::new();
    for at in 0..tokens.len() {
        if let Some((end, number)) = bare_fraction(tokens, at) {
            list.push(Quantity::of(at, end, number));
        }
    }
    for quantity in plain.iter() {
        let longer = [
            mixed(tokens, quantity),
            exponent(tokens, quantity),
            and_a_half(tokens, quantity),
        ];
        list.extend(longer.into_iter().flatten());
        list.extend(scaled(tokens, quantity));
        list.extend(minus(tokens, quantity));
    }
    list
}

/// `½` or `1/2`.
fn bare_fraction(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Number)> {
    let (numerator, denominator, end) = match tokens.kind(at)? {
        Kind::Mark('½') => (1, 2, at + 1),
        Kind::Mark('¼') => (1, 4, at + 1),
        Kind::Mark('¾') => (3, 4, at + 1),
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
    let whole = quantity
        .readings
        .first()
        .filter(|number| number.to_integer().is_some() && !number.is_negative())?;
    Some(Quantity::of(quantity.first, end, whole.plus(fraction)?))
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

/// `3 million`, `2,5 Mio.`, `3 dozen`, `5k`: for digits only; number words include the scale already.
fn scaled<'a>(
    tokens: &'a Tokens<'_>,
    quantity: &'a Quantity,
) -> impl Iterator<Item = Quantity> + use<'a> {
    let at = tokens.skip_space(quantity.end);
    let glued = at == quantity.end;
    let entries = tokens
        .entries(at)
        .filter(move |_| quantity.language.is_none());
    let mut factors: Vec<i128> = entries
        .filter_map(|entry| match entry.sense {
            Sense::Hundred => Some(100),
            Sense::Scale(_) if tokens.str(at).len() == 1 && !glued => None,
            Sense::Scale(scale) => Some(i128::from(scale)),
            Sense::Collective(size) => Some(i128::from(size)),
            _ => None,
        })
        .collect();
    if quantity.language.is_none() && glued && tokens.str(at) == "M" {
        factors.push(1_000_000);
    }
    factors.dedup();
    factors.into_iter().filter_map(move |factor| {
        let readings: Vec<Number> = quantity
            .readings
            .iter()
            .filter_map(|number| number.times(factor))
            .collect();
        (!readings.is_empty()).then(|| Quantity {
            end: at + 1,
            readings,
            ambiguous: None,
            ..quantity.clone()
        })
    })
}

/// `two and a half`, `deux et demi`, `two and a half million`.
fn and_a_half(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<Quantity> {
    let whole = quantity
        .readings
        .first()
        .filter(|number| number.to_integer().is_some())?;
    let (end, half) = tail(tokens, quantity.end, quantity.language)?;
    let sum = whole.plus(half)?;
    let scale_at = tokens.skip_space(end);
    let scale = tokens
        .entries(scale_at)
        .find_map(|entry| match entry.sense {
            Sense::Scale(scale) if scale_at > end && tokens.str(scale_at).len() > 1 => {
                Some(i128::from(scale))
            }
            _ => None,
        });
    let (end, number) = match scale {
        Some(scale) => (scale_at + 1, sum.times(scale)?),
        None => (end, sum),
    };
    Some(Quantity {
        language: quantity.language,
        ..Quantity::of(quantity.first, end, number)
    })
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

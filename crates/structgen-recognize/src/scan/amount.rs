//! Amounts of money: `€12.50`, `-$5`, `12,50 EUR`, `US$5`, `five pounds`, `CHF 20.-`, `12 € 50`, `50 cents`,
//! `2,5 Mio. €`, `3 millones de euros`.

use std::ops::Range;

use super::currency::{self, Codes};
use super::digits::is_signed;
use super::quantity::Quantity;
use super::{Found, Scan, scale};
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Number, Value};

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for quantity in scan.quantities.iter() {
        let mut numbers = quantity.readings.clone();
        if quantity.ambiguous.is_some() && scan.options.decimal_mark.is_none() {
            // Prices have two decimals, so `1.234 €` is grouped.
            numbers.sort_by_key(|number| number.to_integer().is_none());
        }
        let end = end_of_digits(tokens, quantity);
        currency_first(tokens, quantity.first..end, &numbers, found);
        currency_last(tokens, quantity, end, &numbers, found);
    }
}

/// `€12.50`, and `-€12.50` as a negative amount first.
fn currency_first(
    tokens: &Tokens<'_>,
    number: Range<usize>,
    numbers: &[Number],
    found: &mut Found<'_>,
) {
    let Some((first, codes)) = currency::before(tokens, tokens.back_space(number.start)) else {
        return;
    };
    if !numbers[0].is_negative() && is_signed(tokens, first) {
        let negative = numbers.iter().map(|number| number.negated());
        let both: Vec<Number> = negative.chain(numbers.iter().copied()).collect();
        add(found, first - 1..number.end, &both, codes);
    } else {
        add(found, first..number.end, numbers, codes);
    }
}

/// `12.50 €`, `12 € 50`, `50 cents`, `2,5 Mio. €`, `3 millones de euros`.
fn currency_last(
    tokens: &Tokens<'_>,
    quantity: &Quantity,
    end: usize,
    numbers: &[Number],
    found: &mut Found<'_>,
) {
    // `5 millones de euros`, `5 millones y medio de euros`.
    let last = end - 1;
    let scaled = scale::is_scale(tokens, last) || tokens.has_any(last, Sense::Half);
    let at = if scaled {
        currency::start_after_scale(tokens, end)
    } else {
        tokens.skip_space(end)
    };
    if let Some((after, codes)) = currency::starting_at(tokens, at) {
        // In `3 Mio. €5` and `10k-$20k`, the sign belongs to the next number.
        let marked = tokens.is_mark(end, '.') || tokens.is_hyphen(end);
        let of_next = scaled && marked && tokens.kind(after) == Some(Kind::Digits);
        if !of_next {
            add(found, quantity.first..after, numbers, codes);
        }
        if let (Some((end, number)), false) = (with_cents(tokens, quantity, after), scaled) {
            add(found, quantity.first..end, &[number], codes);
        }
    }
    for entry in tokens.entries(at) {
        match entry.sense {
            Sense::Cent(codes) => {
                if let Some(number) = numbers[0].hundredth() {
                    add(found, quantity.first..at + 1, &[number], codes);
                }
            }
            Sense::ScaledCurrency(scale, codes) => {
                let scaled = numbers
                    .iter()
                    .filter_map(|number| number.times(i128::from(scale)));
                let scaled: Vec<Number> = scaled.collect();
                add(found, quantity.first..at + 1, &scaled, codes);
            }
            _ => {}
        }
    }
}

fn add(found: &mut Found<'_>, tokens: Range<usize>, numbers: &[Number], currencies: Codes) {
    let readings = numbers.iter().map(|number| Value::Amount {
        number: *number,
        currencies,
    });
    found.add(tokens.start, tokens.end, readings.collect());
}

/// Returns the end of `20.-` and `20,--`, where the dashes stand for no cents.
fn end_of_digits(tokens: &Tokens<'_>, quantity: &Quantity) -> usize {
    let dash = |at| matches!(tokens.kind(at), Some(Kind::Mark('-' | '–' | '—')));
    let mut end = quantity.end;
    if matches!(tokens.kind(end), Some(Kind::Mark('.' | ','))) && dash(end + 1) {
        end += 2 + usize::from(dash(end + 2));
    }
    end
}

/// Matches `12 € 50` and `12€50`.
fn with_cents(tokens: &Tokens<'_>, quantity: &Quantity, end: usize) -> Option<(usize, Number)> {
    let whole = quantity
        .readings
        .first()
        .filter(|number| number.to_integer().is_some() && !number.is_negative())?;
    let at = tokens.skip_space(end);
    let alone = !matches!(
        tokens.kind(at + 1),
        Some(Kind::Mark('.' | ',' | '%' | '€' | '$') | Kind::Word)
    );
    let cents = tokens.digits(at, 2, 2).filter(|_| alone)?;
    Some((at + 1, whole.plus(Number::new(i128::from(cents), 2)?)?))
}

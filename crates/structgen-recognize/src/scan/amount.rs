//! Amounts of money: `€12.50`, `12,50 EUR`, `US$5`, `five pounds`, `CHF 20.-`, `12 € 50`, `50 cents`.

use std::ops::Range;

use super::quantity::Quantity;
use super::{Found, Scan};
use crate::language::{DOLLAR, EURO, POUND, Sense, YEN};
use crate::tokens::{Kind, Tokens};
use crate::{Number, Value};

type Codes = &'static [&'static str];

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for quantity in scan.quantities.iter() {
        let mut numbers = quantity.readings.clone();
        if quantity.ambiguous.is_some() && scan.options.decimal_mark.is_none() {
            // Prices have two decimals, so `1.234 €` is grouped.
            numbers.sort_by_key(|number| number.to_integer().is_none());
        }
        let digits_end = end_of_digits(tokens, quantity);
        if let Some((first, codes)) = currency_before(tokens, tokens.back_space(quantity.first)) {
            add(found, first..digits_end, &numbers, codes);
        }
        let at = tokens.skip_space(digits_end);
        if let Some((end, codes)) = currency_at(tokens, at) {
            add(found, quantity.first..end, &numbers, codes);
            if let Some((end, number)) = with_cents(tokens, quantity, end) {
                add(found, quantity.first..end, &[number], codes);
            }
        }
        for entry in tokens.entries(at) {
            if let Sense::Cent(codes) = entry.sense
                && let Some(number) = numbers[0].hundredth()
            {
                add(found, quantity.first..at + 1, &[number], codes);
            }
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

fn sign(kind: Option<Kind>) -> Option<Codes> {
    match kind? {
        Kind::Mark('€') => Some(EURO),
        Kind::Mark('$') => Some(DOLLAR),
        Kind::Mark('£') => Some(POUND),
        Kind::Mark('¥') => Some(YEN),
        Kind::Mark('₹') => Some(&["INR"]),
        Kind::Mark('₩') => Some(&["KRW"]),
        Kind::Mark('₺') => Some(&["TRY"]),
        Kind::Mark('₽') => Some(&["RUB"]),
        Kind::Mark('₴') => Some(&["UAH"]),
        _ => None,
    }
}

/// Returns the dollar named by the letters before its sign: `US$`, `C$`.
fn dollar(letters: &str) -> Option<Codes> {
    match letters {
        "US" | "U" => Some(&["USD"]),
        "C" | "CA" | "CAN" => Some(&["CAD"]),
        "A" | "AU" => Some(&["AUD"]),
        "NZ" => Some(&["NZD"]),
        "HK" => Some(&["HKD"]),
        "S" => Some(&["SGD"]),
        "MX" => Some(&["MXN"]),
        "R" => Some(&["BRL"]),
        _ => None,
    }
}

/// Returns the start of the currency that ends before `end`, and its codes.
fn currency_before(tokens: &Tokens<'_>, end: usize) -> Option<(usize, Codes)> {
    let at = end.checked_sub(1)?;
    if let Some(codes) = sign(tokens.kind(at)) {
        let named = at
            .checked_sub(1)
            .filter(|_| tokens.is_mark(at, '$'))
            .and_then(|letters| {
                Some((letters, dollar(&tokens.str(letters).to_ascii_uppercase())?))
            });
        return Some(named.unwrap_or((at, codes)));
    }
    // `Fr. 12.50`.
    let word = if tokens.is_mark(at, '.') {
        at.checked_sub(1)?
    } else {
        at
    };
    Some((word, currency_word(tokens, word)?))
}

/// Returns the end of the currency at `at`, and its codes.
fn currency_at(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Codes)> {
    if let Some(codes) = sign(tokens.kind(at)) {
        return Some((at + 1, codes));
    }
    // `5k€`, `5 k€` are numbers with a scale; `5 US-Dollar` and `5 US dollars` have the country first.
    let country = dollar(tokens.str(at))
        .filter(|_| tokens.is_hyphen(at + 1) || tokens.skip_space(at + 1) > at + 1);
    if let Some(codes) = country
        && currency_word(tokens, at + 2) == Some(DOLLAR)
    {
        return Some((at + 3, codes));
    }
    Some((at + 1, currency_word(tokens, at)?))
}

fn currency_word(tokens: &Tokens<'_>, at: usize) -> Option<Codes> {
    tokens.entries(at).find_map(|entry| match entry.sense {
        Sense::Currency(codes) => Some(codes),
        _ => None,
    })
}

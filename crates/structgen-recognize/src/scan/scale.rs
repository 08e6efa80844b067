//! Numbers with a scale: `3 million`, `2,5 Mio.`, `5 mil millones`, `3 dozen`, `5k`, `$5m`, `3 M€`, `zweieinhalb
//! Millionen`.

use super::currency;
use super::date::range_end_before;
use super::quantity::{Quantities, Quantity};
use crate::language::{Entry, Sense};
use crate::tokens::Tokens;
use crate::{Language, Number};

/// Maximum number of scale words after a number, as in `5 hundred thousand million`.
const MAX_WORDS: usize = 3;

/// Returns the quantity with the scales after it. A word with several meanings gives several readings, the one in the
/// language of the text first.
pub(super) fn scan(tokens: &Tokens<'_>, quantity: &Quantity) -> Vec<Quantity> {
    let mut list: Vec<Quantity> = Vec::new();
    for (end, factor) in factors(tokens, quantity) {
        let readings = quantity.readings.iter();
        let readings = readings.filter_map(|number| number.times(factor));
        match list.iter_mut().find(|known| known.end == end) {
            Some(known) => known.readings.extend(readings),
            None => list.push(Quantity {
                end,
                readings: readings.collect(),
                ambiguous: None,
                ..quantity.clone()
            }),
        }
    }
    list.extend(thousands_and_millions(tokens, quantity));
    list.retain(|scaled| !scaled.readings.is_empty());
    list
}

/// `5 mil 300 millones`: 5,300 million.
fn thousands_and_millions(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<Quantity> {
    let spanish = |at: usize, scale| tokens.has(at, Language::Spanish, Sense::Scale(scale));
    let thousand = tokens.skip_space(quantity.end);
    let hundreds = tokens.skip_space(thousand + 1);
    let millions = tokens.skip_space(hundreds + 1);
    let spoken = spanish(thousand, 1_000) && spanish(millions, 1_000_000);
    let rest = tokens.digits(hundreds, 1, 3).filter(|_| spoken)?;
    let whole = quantity.readings.first()?.times(1_000)?;
    let sum = whole.plus(Number::from(rest))?.times(1_000_000)?;
    Some(Quantity::of(quantity.first, millions + 1, sum)).filter(|_| quantity.language.is_none())
}

/// Returns the `3` of `3 to 5 million` and `$3-$5 million` in the scale of the later number, first, and as written.
pub(super) fn earlier_end(
    tokens: &Tokens<'_>,
    plain: &Quantities,
    later: &Quantity,
) -> Option<Quantity> {
    let (factor, largest) = scale_of(tokens, later)?;
    let first = currency::before(tokens, tokens.back_space(later.first))
        .map_or(later.first, |(first, _)| first);
    let earlier = plain
        .ending_at(range_end_before(tokens, first)?)
        .find(|earlier| earlier.language == later.language)?;
    let scaled = earlier.readings.iter().map(|number| number.times(factor));
    let written = earlier.readings.iter().copied().map(Some);
    let readings: Vec<Number> = scaled.chain(written).collect::<Option<_>>()?;
    let smaller = !readings[0].is_negative() && readings[0].is_less(largest);
    smaller.then(|| Quantity {
        readings,
        ambiguous: None,
        ..earlier.clone()
    })
}

/// Returns the scale of a number, with or without it in its words, and the number in this scale.
fn scale_of(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<(i128, Number)> {
    if let Some((_, factor)) = factors(tokens, quantity).into_iter().next() {
        return Some((factor, quantity.readings[0].times(factor)?));
    }
    let mut senses = tokens.senses(quantity.end - 1, quantity.language?);
    let factor = senses.find_map(|sense| match sense {
        Sense::Scale(scale) => Some(i128::from(scale)),
        _ => None,
    })?;
    Some((factor, quantity.readings[0]))
}

/// Returns whether the word is a scale or a count of things.
pub(super) fn is_scale(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.all_entries(at).iter().any(|entry| {
        matches!(
            entry.sense,
            Sense::Scale(_) | Sense::AmountScale(_) | Sense::Collective(_)
        )
    })
}

/// Returns the factors after a number, each with its end.
fn factors(tokens: &Tokens<'_>, quantity: &Quantity) -> Vec<(usize, i128)> {
    // Numbers in words include the scale already, except fractions and numbers that are one word.
    let in_words = quantity.language.is_some();
    if in_words
        && quantity.readings[0].to_integer().is_some()
        && !tokens.all_entries(quantity.end - 1).is_empty()
    {
        return Vec::new();
    }
    let hyphen = tokens.is_hyphen(quantity.end) && tokens.str(quantity.end + 1).len() > 1;
    let at = tokens.skip_space(quantity.end + usize::from(hyphen));
    let mut factors: Vec<(usize, i128)> = Vec::new();
    factors.extend(letter_of_amount(tokens, quantity, at).map(|factor| (at + 1, factor)));
    for (entry, factor) in words(tokens, quantity, at) {
        factors.push((at + 1, factor));
        factors.extend(longer(tokens, at + 1, factor, entry.language));
    }
    if !in_words && at == quantity.end && tokens.str(at) == "M" && factors.is_empty() {
        factors.push((at + 1, 1_000_000));
    }
    // Languages share words.
    let mut distinct: Vec<(usize, i128)> = Vec::new();
    for found in factors {
        if !distinct.contains(&found) {
            distinct.push(found);
        }
    }
    distinct
}

/// Returns the meanings of a scale word, those in the language of the text first.
fn words(tokens: &Tokens<'_>, quantity: &Quantity, at: usize) -> Vec<(&'static Entry, i128)> {
    let glued = at == quantity.end;
    let short = tokens.str(at).len() == 1;
    let in_words = quantity.language.is_some();
    let with_currency = || {
        let end = currency::start_after_scale(tokens, at + 1);
        currency::precedes(tokens, quantity.first) || currency::starting_at(tokens, end).is_some()
    };
    let counts = |entry: &&Entry| {
        let own = !entry.homograph || entry.language == tokens.language;
        let possible = matches!(entry.sense, Sense::Scale(_)) && !tokens.is_language_known;
        quantity.speaks(entry.language) && (own || possible || in_words)
    };
    let entries = tokens.all_entries(at).iter().filter(counts);
    let mut words: Vec<(&Entry, i128)> = entries
        .filter_map(|entry| {
            let factor = match entry.sense {
                Sense::Hundred if !in_words => 100,
                Sense::Scale(_) if short && !glued => return None,
                Sense::Scale(scale) => i128::from(scale),
                Sense::AmountScale(scale) if with_currency() => i128::from(scale),
                Sense::Collective(size) => i128::from(size),
                _ => return None,
            };
            Some((entry, factor))
        })
        .collect();
    words.sort_by_key(|(entry, _)| entry.language != tokens.language);
    words
}

/// Returns the factors of the larger scale words of the same language after a scale word: `mil millones`.
fn longer(tokens: &Tokens<'_>, end: usize, factor: i128, language: Language) -> Vec<(usize, i128)> {
    let mut longer = Vec::new();
    let (mut end, mut factor, mut last) = (end, factor, factor);
    for _ in 1..MAX_WORDS {
        let at = tokens.skip_space(end);
        let scale = tokens.senses(at, language).find_map(|sense| match sense {
            Sense::Scale(scale) if tokens.str(at).len() > 1 => Some(i128::from(scale)),
            _ => None,
        });
        let Some(scale) = scale.filter(|scale| at > end && *scale > last) else {
            break;
        };
        let Some(product) = factor.checked_mul(scale) else {
            break;
        };
        (end, factor, last) = (at + 1, product, scale);
        longer.push((end, factor));
    }
    longer
}

/// Returns the scale of a letter next to a currency: `$5m`, `£1.2B`, `$2T`, `3 M€`, `20 T€`.
fn letter_of_amount(tokens: &Tokens<'_>, quantity: &Quantity, at: usize) -> Option<i128> {
    let letters = tokens.str(at);
    if currency::sign(tokens.kind(at + 1)).is_some() {
        return match letters {
            "k" | "K" | "T" => Some(1_000),
            "m" | "M" => Some(1_000_000),
            _ => None,
        };
    }
    if !currency::precedes(tokens, quantity.first) {
        return None;
    }
    match letters {
        // The Spanish word for a thousand, or an English abbreviation.
        "mil" if tokens.language == Language::English => Some(1_000_000),
        _ if at > quantity.end => None,
        "m" | "mm" | "MM" => Some(1_000_000),
        "b" | "B" => Some(1_000_000_000),
        "T" => Some(1_000_000_000_000),
        _ => None,
    }
}

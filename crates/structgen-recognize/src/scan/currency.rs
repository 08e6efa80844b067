//! Currencies: signs, codes and names before and after a number.

use crate::language::{DOLLAR, EURO, POUND, Sense, YEN};
use crate::tokens::{Kind, Tokens};

/// ISO 4217 codes, most common first.
pub(super) type Codes = &'static [&'static str];

pub(super) fn sign(kind: Option<Kind>) -> Option<Codes> {
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
        "US" | "U" | "USD" => Some(&["USD"]),
        "C" | "CA" | "CAN" | "CAD" => Some(&["CAD"]),
        "A" | "AU" | "AUD" => Some(&["AUD"]),
        "NZ" | "NZD" => Some(&["NZD"]),
        "HK" | "HKD" => Some(&["HKD"]),
        "S" | "SGD" => Some(&["SGD"]),
        "MX" | "MXN" => Some(&["MXN"]),
        "R" => Some(&["BRL"]),
        _ => None,
    }
}

/// Returns the start of the currency that ends before `end`, and its codes.
pub(super) fn before(tokens: &Tokens<'_>, end: usize) -> Option<(usize, Codes)> {
    let at = end.checked_sub(1)?;
    if let Some(codes) = sign(tokens.kind(at)) {
        // `US$`, `US-$`.
        let letters = at.checked_sub(1 + usize::from(tokens.is_hyphen(at.wrapping_sub(1))));
        let with_country = letters
            .filter(|_| tokens.is_mark(at, '$'))
            .and_then(|letters| Some((letters, dollar(&tokens.str(letters).to_ascii_uppercase())?)))
            .filter(|(letters, _)| letters + 1 == at || tokens.str(*letters).len() > 1);
        return Some(with_country.unwrap_or((at, codes)));
    }
    // `Fr. 12.50`.
    let word = if tokens.is_mark(at, '.') {
        at.checked_sub(1)?
    } else {
        at
    };
    Some((word, named(tokens, word)?))
}

/// Returns the end of the currency at `at`, and its codes.
pub(super) fn starting_at(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Codes)> {
    if let Some(codes) = sign(tokens.kind(at)) {
        return Some((at + 1, codes));
    }
    // `5 US$`, `5 US-$`, `5 US-Dollar` and `5 US dollars` have the country first.
    if let Some(codes) = dollar(tokens.str(at)) {
        if tokens.is_mark(at + 1, '$') {
            return Some((at + 2, codes));
        }
        let gap = tokens.is_hyphen(at + 1) || tokens.skip_space(at + 1) > at + 1;
        let sign = tokens.is_hyphen(at + 1) && tokens.is_mark(at + 2, '$');
        if sign || gap && named(tokens, at + 2) == Some(DOLLAR) {
            return Some((at + 3, codes));
        }
    }
    Some((at + 1, named(tokens, at)?))
}

fn named(tokens: &Tokens<'_>, at: usize) -> Option<Codes> {
    tokens.entries(at).find_map(|entry| match entry.sense {
        Sense::Currency(codes) => Some(codes),
        _ => None,
    })
}

/// Returns whether a sign or a code such as `USD` directly precedes the number at `first`.
pub(super) fn precedes(tokens: &Tokens<'_>, first: usize) -> bool {
    let is_code = |at: usize| {
        tokens.kind(at) != Some(Kind::Word)
            || tokens.str(at).bytes().all(|byte| byte.is_ascii_uppercase())
    };
    before(tokens, tokens.back_space(first)).is_some_and(|(at, _)| is_code(at))
}

/// Returns where the currency after a number with a scale word can start: after the point of `Mio. €`, the preposition
/// of `millones de euros` and `million d'euros`, and the hyphen of `million-euro`.
pub(super) fn start_after_scale(tokens: &Tokens<'_>, end: usize) -> usize {
    let short = tokens.str(end - 1).len() <= 4;
    let mark = short && tokens.is_mark(end, '.') || tokens.is_hyphen(end);
    let at = tokens.skip_space(end + usize::from(mark));
    let elided =
        tokens.str(at) == "d" && matches!(tokens.kind(at + 1), Some(Kind::Mark('\'' | '’')));
    if elided {
        at + 2
    } else if tokens.has_any(at, Sense::Of) {
        tokens.skip_space(at + 1)
    } else {
        at
    }
}

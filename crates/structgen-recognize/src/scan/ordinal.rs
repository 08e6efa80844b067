//! Ordinals: `3rd`, `third`, `twenty-first`, `2ème`, `1.º`.

use super::{Found, Scan};
use crate::Value;
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    for at in 0..scan.tokens.len() {
        if let Some((first, end, value)) = ordinal(scan.tokens, at) {
            found.add(first, end, vec![Value::Ordinal(value)]);
        }
    }
}

/// Returns the ordinal whose digits or last word are at `at`.
pub(super) fn ordinal(tokens: &Tokens<'_>, at: usize) -> Option<(usize, usize, u32)> {
    if tokens.kind(at)? == Kind::Digits {
        let mark = at + 1 + usize::from(tokens.is_mark(at + 1, '.'));
        let value = tokens
            .digits(at, 1, 4)
            .filter(|_| tokens.has_any(mark, Sense::OrdinalMark))?;
        let continues = matches!(tokens.kind_before(at), Some(Kind::Mark(',' | '.')))
            && tokens.kind(at.wrapping_sub(2)) == Some(Kind::Digits);
        if !continues {
            return Some((at, mark + 1, value));
        }
        // `1,000th`.
        let thousands = tokens.digits(at - 2, 1, 3);
        let is_longer = matches!(tokens.kind_before(at - 2), Some(Kind::Mark(',' | '.')));
        let grouped = tokens.is_mark(at - 1, ',') && tokens.str(at).len() == 3 && !is_longer;
        return Some((
            at - 2,
            mark + 1,
            thousands.filter(|_| grouped)? * 1000 + value,
        ));
    }
    if let Ok(found) = tokens.ordinals.binary_search_by_key(&at, |(at, _)| *at) {
        return Some((at, at + 1, tokens.ordinals[found].1));
    }
    tokens.entries(at).find_map(|entry| {
        let Sense::Ordinal(value) = entry.sense else {
            return None;
        };
        let ten = at
            .checked_sub(2)
            .filter(|_| tokens.is_hyphen(at - 1) && value < 10)
            .and_then(|ten| {
                tokens
                    .senses(ten, entry.language)
                    .find_map(|sense| match sense {
                        Sense::Ten(tens) => Some((ten, u32::from(tens))),
                        _ => None,
                    })
            });
        let (first, tens) = ten.unwrap_or((at, 0));
        Some((first, at + 1, tens + u32::from(value)))
    })
}

//! Percentages: `19 %`, `7.5%`, `twenty percent`, `3 pour cent`, `5–10 %`.

use super::date::range_end_before;
use super::quantity::Quantity;
use super::{Found, Scan};
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Language, Value};

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for quantity in scan.quantities.iter() {
        let Some(end) = sign_after(tokens, quantity) else {
            continue;
        };
        found.add(quantity.first, end, percentages(quantity));
        // The `5` of `5–10 %`.
        let earlier = range_end_before(tokens, quantity.first)
            .and_then(|end| scan.quantities.ending_at(end).next())
            .filter(|earlier| earlier.readings[0].is_less(quantity.readings[0]));
        if let Some(earlier) = earlier {
            found.add(earlier.first, earlier.end, percentages(earlier));
        }
    }
}

fn percentages(quantity: &Quantity) -> Vec<Value> {
    quantity
        .readings
        .iter()
        .copied()
        .map(Value::Percent)
        .collect()
}

/// Returns the end of the sign after a number; in `half a percent`, an article precedes it.
fn sign_after(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<usize> {
    let at = tokens.skip_space(quantity.end);
    let article = || {
        let language = quantity.language?;
        let noun = tokens.skip_space(at + 1);
        (tokens.has(quantity.end - 1, language, Sense::Half)
            && tokens.has(at, language, Sense::Article)
            && tokens.has(noun, language, Sense::Percent))
        .then_some(noun + 1)
    };
    sign(tokens, at).or_else(article)
}

/// Returns the end of the sign or words at `at`.
fn sign(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    if matches!(tokens.kind(at), Some(Kind::Mark('%' | '٪' | '％')))
        || tokens.has_any(at, Sense::Percent)
    {
        return Some(at + 1);
    }
    // `per cent`, `pour cent`, `por ciento`.
    let preposition = ["per", "pour", "por"]
        .iter()
        .any(|word| tokens.str(at).eq_ignore_ascii_case(word));
    let hundred = tokens.skip_space(at + 1);
    let counted = tokens.has(hundred, Language::French, Sense::Hundred)
        || tokens.has(hundred, Language::Spanish, Sense::Hundreds(100));
    (preposition && counted).then_some(hundred + 1)
}

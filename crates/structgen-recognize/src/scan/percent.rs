//! Percentages: `19 %`, `7.5%`, `twenty percent`, `3 pour cent`.

use super::{Found, Scan};
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Language, Value};

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    for quantity in scan.quantities.iter() {
        if let Some(end) = sign(scan.tokens, scan.tokens.skip_space(quantity.end)) {
            let readings = quantity
                .readings
                .iter()
                .copied()
                .map(Value::Percent)
                .collect();
            found.add(quantity.first, end, readings);
        }
    }
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

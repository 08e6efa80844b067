//! Phone numbers: seven to fifteen digits in common groupings, such as `+49 30 123456`, `(030) 12 34 56`,
//! `555-123-4567` and `06.12.34.56.78`.

use super::{Found, Scan};
use crate::Value;
use crate::tokens::{Kind, Tokens};

/// The limits of the E.164 numbering plan.
const DIGITS: std::ops::RangeInclusive<usize> = 7..=15;
/// Maximum number of tokens in a number: each digit on its own, with two marks before it.
const MAX_TOKENS: usize = 48;

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    let mut at = 0;
    while at < tokens.len() {
        match phone(tokens, at) {
            Some((end, number)) => {
                found.add(at, end, vec![Value::Phone(number)]);
                at = end;
            }
            None => at += 1,
        }
    }
}

fn phone(tokens: &Tokens<'_>, at: usize) -> Option<(usize, String)> {
    let international = tokens.is_mark(at, '+');
    let begins = international || tokens.is_mark(at, '(') || tokens.kind(at) == Some(Kind::Digits);
    let inside = matches!(
        tokens.kind_before(at),
        Some(Kind::Word | Kind::Digits | Kind::Mark('.' | '-' | '/' | ':' | '#' | '_'))
    );
    if !begins || inside {
        return None;
    }
    let mut number = String::from(if international { "+" } else { "" });
    let mut end = at;
    let mut next = at + usize::from(international);
    while next < at + MAX_TOKENS {
        match tokens.kind(next) {
            Some(Kind::Digits) if number.len() + tokens.str(next).len() <= *DIGITS.end() + 1 => {
                number.push_str(tokens.str(next));
                next += 1;
                end = next;
            }
            Some(Kind::Space) if tokens.str(next) != "\n" => next += 1,
            Some(Kind::Mark('-' | '.' | '/' | '(' | ')')) => next += 1,
            _ => break,
        }
        // At most ` - ` between two groups.
        if next > end + 3 {
            break;
        }
    }
    let count = number.len() - usize::from(international);
    let goes_on =
        tokens.kind(end) == Some(Kind::Word) && tokens.kind_before(end) == Some(Kind::Digits);
    (DIGITS.contains(&count) && !goes_on).then_some((end, number))
}

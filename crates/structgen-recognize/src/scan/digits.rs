//! Numbers in digits: `1.234,50`, `1,234.50`, `1 234`, `1'234`, `12,34,567`, `-5`, `.5`, and `1e6`.

use std::cmp::Ordering;

use super::currency;
use super::quantity::Quantity;
use crate::tokens::{Kind, Tokens};
use crate::{DecimalMark, Number};

/// Maximum number of space-separated groups of three digits: as many as a [`Number`] can have.
const MAX_SPACED_GROUPS: usize = 11;

pub(super) fn scan(tokens: &Tokens<'_>, list: &mut Vec<Quantity>) {
    let mut at = 0;
    let mut grouped_until = 0;
    while at < tokens.len() {
        if tokens.kind(at) != Some(Kind::Digits) {
            at += 1;
            continue;
        }
        let begun = list.len();
        let inside_group = at < grouped_until;
        if !inside_group && let Some(quantity) = spaced_groups(tokens, at) {
            grouped_until = quantity.end;
            list.push(quantity);
        }
        let end = end_of_run(tokens, at);
        // The zeros of `1 000` are no number.
        if !inside_group || tokens.str(at) != "000" {
            run(tokens, at, end, list);
        }
        sign(tokens, at, &mut list[begun..]);
        at = end;
    }
}

/// Returns the mark that most of the unambiguous fractions of the text use.
pub(super) fn mark_in_use(list: &[Quantity]) -> Option<DecimalMark> {
    let uses = |mark| {
        list.iter()
            .filter(|quantity| quantity.mark == Some(mark))
            .count()
    };
    match uses(DecimalMark::Point).cmp(&uses(DecimalMark::Comma)) {
        Ordering::Greater => Some(DecimalMark::Point),
        Ordering::Less => Some(DecimalMark::Comma),
        Ordering::Equal => None,
    }
}

fn separator(kind: Option<Kind>) -> Option<char> {
    match kind {
        Some(Kind::Mark(mark @ ('.' | ',' | '\'' | '’'))) => Some(mark),
        _ => None,
    }
}

fn mark(separator: char) -> Option<DecimalMark> {
    match separator {
        '.' => Some(DecimalMark::Point),
        ',' => Some(DecimalMark::Comma),
        _ => None,
    }
}

/// Returns the end of the digits at `at` with separators between them.
fn end_of_run(tokens: &Tokens<'_>, at: usize) -> usize {
    let mut end = at + 1;
    while separator(tokens.kind(end)).is_some() && tokens.kind(end + 1) == Some(Kind::Digits) {
        end += 2;
    }
    end
}

/// Adds the numbers of a run of digits and separators.
fn run(tokens: &Tokens<'_>, at: usize, end: usize, list: &mut Vec<Quantity>) {
    if let Some(quantity) = lakhs(tokens, at, end) {
        list.push(quantity);
        if currency::before(tokens, tokens.back_space(at)).is_some() {
            return;
        }
    }
    if let Some(quantity) = one_number(tokens, at, end) {
        let listed = end == at + 3 && tokens.is_mark(at + 1, ',') && in_a_list(tokens, at, end);
        list.push(quantity);
        if !listed {
            return;
        }
    } else if (at..end).any(|token| tokens.is_mark(token, ','))
        && (at..end).any(|token| tokens.is_mark(token, '.'))
    {
        // Cells of a row, such as `7,8,2.5`.
        let mut first = at;
        for cut in (at..=end).filter(|token| *token == end || tokens.is_mark(*token, ',')) {
            match one_number(tokens, first, cut) {
                Some(quantity) => list.push(quantity),
                None => parts(tokens, first, cut, list),
            }
            first = cut + 1;
        }
        return;
    }
    parts(tokens, at, end, list);
}

/// Adds each run of digits on its own, as in a version or a date.
fn parts(tokens: &Tokens<'_>, at: usize, end: usize, list: &mut Vec<Quantity>) {
    for part in (at..end).step_by(2) {
        if let Some(number) = Number::from_digits([tokens.str(part)], "") {
            list.push(Quantity::of(part, part + 1, number));
        }
    }
}

/// Returns whether another comma directly precedes or follows, as between the cells of a row.
pub(super) fn in_a_list(tokens: &Tokens<'_>, at: usize, end: usize) -> bool {
    let before = matches!(tokens.kind_before(at), Some(Kind::Mark(',' | ';')));
    let after = matches!(tokens.kind(end), Some(Kind::Mark(',' | ';')))
        && !matches!(tokens.kind(end + 1), None | Some(Kind::Space | Kind::Break));
    before || after
}

/// Parses the run as one number, if its separators allow that.
fn one_number(tokens: &Tokens<'_>, at: usize, end: usize) -> Option<Quantity> {
    let part = |token: usize| tokens.str(token);
    if end == at + 1 {
        let after_point = tokens.is_mark(at.wrapping_sub(1), '.')
            && matches!(
                tokens.kind_before(at - 1),
                None | Some(Kind::Space | Kind::Break | Kind::Mark('-' | '$' | '€' | '£'))
            );
        let number = if after_point {
            Number::from_digits(["0"], part(at))?
        } else {
            Number::from_digits([part(at)], "")?
        };
        return Some(Quantity::of(at - usize::from(after_point), end, number));
    }
    let last = separator(tokens.kind(end - 2))?;
    let first = separator(tokens.kind(at + 1))?;
    let alike = (at + 1..end - 2)
        .step_by(2)
        .all(|token| separator(tokens.kind(token)) == Some(first));
    let groups_until = |end: usize| {
        (1..=3).contains(&part(at).len())
            && !part(at).starts_with('0')
            && (at + 2..end).step_by(2).all(|token| part(token).len() == 3)
    };
    let whole = |end: usize| (at..end).step_by(2).map(part);
    let grouped = || Number::from_digits(whole(end), "");
    let decimal = || Number::from_digits(whole(end - 2), part(end - 1));
    if !alike {
        return None;
    }
    if first != last {
        let decimal_mark = mark(last).filter(|_| groups_until(end - 2))?;
        return Some(Quantity {
            mark: Some(decimal_mark),
            ..Quantity::of(at, end, decimal()?)
        });
    }
    match (groups_until(end), end == at + 3, mark(last)) {
        (true, true, Some(ambiguous)) => Some(Quantity {
            ambiguous: Some(ambiguous),
            readings: vec![grouped()?, decimal()?],
            ..Quantity::of(at, end, grouped()?)
        }),
        (true, ..) => Some(Quantity::of(at, end, grouped()?)),
        (false, true, Some(decimal_mark)) => Some(Quantity {
            mark: Some(decimal_mark),
            ..Quantity::of(at, end, decimal()?)
        }),
        (false, ..) => None,
    }
}

/// `12,34,567.50`: the last group has three digits, and the others have two, as is usual in India. Since a list of
/// numbers may look like that, it has to be an amount or whole thousands.
fn lakhs(tokens: &Tokens<'_>, at: usize, end: usize) -> Option<Quantity> {
    if end < at + 5 {
        return None;
    }
    let has_fraction = tokens.is_mark(end - 2, '.');
    let whole_end = if has_fraction { end - 2 } else { end };
    let (first, last) = (tokens.str(at), whole_end - 1);
    let grouped = whole_end >= at + 5
        && first.len() <= 2
        && !first.starts_with('0')
        && (at + 1..last)
            .step_by(2)
            .all(|mark| tokens.is_mark(mark, ','))
        && (at + 2..last)
            .step_by(2)
            .all(|group| tokens.str(group).len() == 2)
        && tokens.str(last).len() == 3;
    let is_amount = || {
        currency::before(tokens, tokens.back_space(at)).is_some()
            || currency::starting_at(tokens, tokens.skip_space(end)).is_some()
    };
    let is_whole = !in_a_list(tokens, at, end) && !has_fraction && tokens.str(last) == "000";
    if !grouped || !(is_whole || is_amount()) {
        return None;
    }
    let whole = (at..whole_end).step_by(2).map(|group| tokens.str(group));
    let fraction = if has_fraction {
        tokens.str(end - 1)
    } else {
        ""
    };
    Some(Quantity {
        mark: has_fraction.then_some(DecimalMark::Point),
        ..Quantity::of(at, end, Number::from_digits(whole, fraction)?)
    })
}

/// `1 234 567,89`: groups of three digits after single spaces.
fn spaced_groups(tokens: &Tokens<'_>, at: usize) -> Option<Quantity> {
    let is_group =
        |token: usize| tokens.kind(token) == Some(Kind::Digits) && tokens.str(token).len() == 3;
    let is_gap = |token: usize| {
        tokens.kind(token) == Some(Kind::Space)
            && tokens.str(token).chars().count() == 1
            && !matches!(tokens.str(token), "\n" | "\t")
    };
    if tokens.str(at).len() > 3
        || tokens.str(at).starts_with('0')
        || separator(tokens.kind_before(at)).is_some()
    {
        return None;
    }
    let mut end = at + 1;
    while is_gap(end) && is_group(end + 1) && end < at + 2 * MAX_SPACED_GROUPS {
        end += 2;
    }
    if end == at + 1 {
        return None;
    }
    let whole = (at..end).step_by(2).map(|token| tokens.str(token));
    let decimal_mark = separator(tokens.kind(end)).and_then(mark);
    match decimal_mark.filter(|_| end_of_run(tokens, end - 1) == end + 2) {
        Some(decimal_mark) => {
            let number = Number::from_digits(whole, tokens.str(end + 1))?;
            Some(Quantity {
                mark: Some(decimal_mark),
                ..Quantity::of(at, end + 2, number)
            })
        }
        None if separator(tokens.kind(end)).is_some()
            && tokens.kind(end + 1) == Some(Kind::Digits) =>
        {
            None
        }
        None => Some(Quantity::of(at, end, Number::from_digits(whole, "")?)),
    }
}

/// Returns whether a minus sign directly precedes what starts at `at`, rather than a hyphen between two things.
pub(super) fn is_signed(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(tokens.kind_before(at), Some(Kind::Mark('-' | '−' | '–')))
        && !matches!(
            at.checked_sub(2).and_then(|before| tokens.kind(before)),
            Some(Kind::Word | Kind::Digits | Kind::Mark(')' | '.' | '/' | '-'))
        )
}

/// Adds the negative readings to the numbers that start at `at`, if a sign precedes them: as the best but not the only
/// ones, since a hyphen may also join words or start an item of a list.
fn sign(tokens: &Tokens<'_>, at: usize, list: &mut [Quantity]) {
    let signed = is_signed(tokens, at);
    for quantity in list
        .iter_mut()
        .filter(|quantity| signed && quantity.first == at)
    {
        let negative: Vec<Number> = quantity
            .readings
            .iter()
            .map(|number| number.negated())
            .collect();
        quantity.readings.splice(0..0, negative);
        quantity.first -= 1;
    }
}

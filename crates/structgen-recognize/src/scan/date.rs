//! Dates in digits: `2024-05-12`, `12.05.2024`, `5/12/24`, `12.5.`, `5/12`, `2024/05/12`.
//!
//! With points, the day comes first. With slashes and hyphens, both orders are readings if both dates exist.

use super::{Found, Scan};
use crate::date::full_years;
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Date, DateOrder, Language, Number, Options, Value};

/// Days that share one month: `3., 5. und 7. Mai`.
const MAX_SHARED: usize = 8;

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    let order = order(tokens, scan.options);
    for at in (0..tokens.len()).filter(|at| tokens.kind(*at) == Some(Kind::Digits)) {
        let Some(written) = written(tokens, at) else {
            basic(tokens, at, found);
            continue;
        };
        let readings = written.readings(order);
        if let Some(date) = readings.first().filter(|_| written.mark == '.') {
            earlier_days(tokens, at, date.month, date.year, found);
        }
        found.add(
            at,
            written.end,
            readings.into_iter().map(Value::Date).collect(),
        );
    }
}

/// `20240512`: first a number, and second a date.
fn basic(tokens: &Tokens<'_>, at: usize, found: &mut Found<'_>) {
    let Some(digits) = tokens.digits(at, 8, 8) else {
        return;
    };
    let (year, month, day) = (digits / 10_000, digits / 100 % 100, digits % 100);
    if (1900..2100).contains(&year)
        && let Some(date) = Date::new(Some(year as u16), month as u8, Some(day as u8))
    {
        found.add(
            at,
            at + 1,
            vec![Value::Number(Number::from(digits)), Value::Date(date)],
        );
    }
}

/// Two or three numbers written as a date.
struct Written {
    mark: char,
    /// Its possible years, best first; only `None` if it has no year.
    years: Vec<Option<u16>>,
    first: u8,
    second: u8,
    year_first: bool,
    end: usize,
}

impl Written {
    fn readings(&self, order: DateOrder) -> Vec<Date> {
        let mut readings = Vec::new();
        for year in &self.years {
            let day_first = Date::new(*year, self.second, Some(self.first));
            let month_first = Date::new(*year, self.first, Some(self.second));
            let both = match (self.mark, order) {
                _ if self.year_first => [month_first, None],
                ('.', _) => [day_first, None],
                (_, DateOrder::DayFirst) => [day_first, month_first],
                (_, DateOrder::MonthFirst) => [month_first, day_first],
            };
            readings.extend(both.into_iter().flatten());
        }
        readings.dedup();
        readings
    }

    /// Returns the order, if the date can be read in only one.
    fn shows(&self) -> Option<DateOrder> {
        let slashes = self.mark != '.' && !self.year_first && self.years[0].is_some();
        match (self.first > 12, self.second > 12) {
            (true, false) if slashes => Some(DateOrder::DayFirst),
            (false, true) if slashes => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }
}

/// Determines the order of day and month, by the rule of [`Options::date_order`].
fn order(tokens: &Tokens<'_>, options: &Options) -> DateOrder {
    let shown = || (0..tokens.len()).find_map(|at| written(tokens, at)?.shows());
    let usual = if tokens.language == Language::English {
        DateOrder::MonthFirst
    } else {
        DateOrder::DayFirst
    };
    options.date_order.or_else(shown).unwrap_or(usual)
}

fn written(tokens: &Tokens<'_>, at: usize) -> Option<Written> {
    let mark = separator(tokens.kind(at + 1))?;
    let joined = |at: usize| tokens.is_mark(at, mark) && tokens.kind(at + 1) == Some(Kind::Digits);
    let inside = at >= 2
        && separator(tokens.kind(at - 1)).is_some()
        && tokens.kind(at - 2) == Some(Kind::Digits);
    if inside || tokens.kind_before(at) == Some(Kind::Word) && mark != '/' && mark != '.' {
        return None;
    }
    if tokens.str(at).len() == 4 {
        let year = tokens.digits(at, 4, 4)? as u16;
        let (month, day) = (
            tokens.digits(at + 2, 1, 2)? as u8,
            tokens.digits(at + 4, 1, 2)? as u8,
        );
        let whole = joined(at + 1) && joined(at + 3) && !joined(at + 5);
        return whole.then_some(Written {
            mark,
            years: vec![Some(year)],
            first: month,
            second: day,
            year_first: true,
            end: at + 5,
        });
    }
    let first = tokens.digits(at, 1, 2)? as u8;
    // `12. 5. 2024` has spaces after the points.
    let gap = |at: usize| {
        if mark == '.' {
            tokens.skip_space(at)
        } else {
            at
        }
    };
    let second_at = gap(at + 2);
    let second = tokens.digits(second_at, 1, 2)? as u8;
    let year_at = gap(second_at + 2);
    let has_gap = year_at > second_at + 2 || second_at > at + 2;
    let year = tokens
        .digits(year_at, 2, 4)
        .filter(|_| tokens.is_mark(second_at + 1, mark) && !joined(year_at + 1));
    let years: Vec<Option<u16>> = match (year, tokens.str(year_at).len()) {
        (Some(year), 4) => vec![Some(year as u16)],
        (Some(year), 2) if !has_gap => full_years(year as u16).map(Some).collect(),
        _ => Vec::new(),
    };
    if !years.is_empty() {
        return Some(Written {
            mark,
            years,
            first,
            second,
            year_first: false,
            end: year_at + 1,
        });
    }
    // Without a year: `12.5.` with a second point, or `5/12`.
    let end = match mark {
        '.' if tokens.is_mark(second_at + 1, '.')
            && tokens.kind(second_at + 2) != Some(Kind::Digits) =>
        {
            second_at + 2
        }
        '/' if !joined(second_at + 1) => second_at + 1,
        _ => return None,
    };
    Some(Written {
        mark,
        years: vec![None],
        first,
        second,
        year_first: false,
        end,
    })
}

fn separator(kind: Option<Kind>) -> Option<char> {
    match kind {
        Some(Kind::Mark(mark @ ('.' | '/' | '-'))) => Some(mark),
        _ => None,
    }
}

/// Adds the days before `first` that share its month: the `3` of `3–5 May`, or of `vom 3. bis 5.5.2024`.
pub(super) fn earlier_days(
    tokens: &Tokens<'_>,
    first: usize,
    month: u8,
    year: Option<u16>,
    found: &mut Found<'_>,
) {
    let mut first = first;
    for _ in 0..MAX_SHARED {
        let Some(end) = range_before(tokens, first) else {
            return;
        };
        let mut digits = end;
        if tokens.has_any(digits.wrapping_sub(1), Sense::OrdinalMark)
            || tokens.is_mark(digits.wrapping_sub(1), '.')
        {
            digits -= 1;
        }
        let Some(at) = digits.checked_sub(1) else {
            return;
        };
        let Some(day) = tokens.digits(at, 1, 2) else {
            return;
        };
        let Some(date) = Date::new(year, month, Some(day as u8)) else {
            return;
        };
        if matches!(tokens.kind_before(at), Some(Kind::Mark('.' | ':' | '/'))) {
            return;
        }
        found.add(at, at + 1, vec![Value::Date(date)]);
        first = at;
    }
}

/// Returns the end of what precedes the connector of a range or list that ends at `first`: `–`, `to`, `bis zum`, `and`.
pub(super) fn range_before(tokens: &Tokens<'_>, first: usize) -> Option<usize> {
    let mut at = tokens.back_space(first);
    let mut connected = false;
    for _ in 0..3 {
        let Some(before) = at.checked_sub(1) else {
            break;
        };
        let mark = matches!(
            tokens.kind(before),
            Some(Kind::Mark('-' | '–' | '—' | '/' | '&' | ','))
        );
        if !(mark
            || tokens.has_any(before, Sense::Until)
            || connected && tokens.has_any(before, Sense::Filler))
        {
            break;
        }
        connected = true;
        at = tokens.back_space(before);
    }
    connected.then_some(at)
}

/// Returns the end of the number before the connector of a range that ends at `first`: a dash or `to`, but not a comma,
/// and `and` only in `between 3 and 5`.
pub(super) fn range_end_before(tokens: &Tokens<'_>, first: usize) -> Option<usize> {
    let connector = tokens.back_space(first).checked_sub(1)?;
    let end = tokens.back_space(connector);
    if tokens.has_any(connector, Sense::And) {
        let mut number = end.checked_sub(1)?;
        while number >= 2 && matches!(tokens.kind(number - 1), Some(Kind::Mark('.' | ','))) {
            number -= 2;
        }
        let before = tokens.str(tokens.back_space(number).wrapping_sub(1));
        let between = ["between", "zwischen", "entre"]
            .iter()
            .any(|word| before.eq_ignore_ascii_case(word));
        return between.then_some(end);
    }
    let dash = matches!(tokens.kind(connector), Some(Kind::Mark('-' | '–' | '—')));
    (dash || tokens.has_any(connector, Sense::Until)).then_some(end)
}

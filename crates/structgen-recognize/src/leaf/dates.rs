//! Dates, and the years of dates without one.

use std::ops::Range;

use super::{Leaf, List, readings};
use crate::{Candidate, Date, Value};

pub(super) fn list(candidates: &[Candidate], leaf: Leaf, list: &mut List) {
    for (candidate, reading, date) in full(candidates) {
        let text = match leaf {
            Leaf::YearMonth => Date { day: None, ..date }.to_string(),
            _ if date.is_full() => date.to_string(),
            _ => continue,
        };
        list.add(text, &candidate.span, reading);
    }
}

/// Returns all dates with their candidates; dates without a year are completed from the text.
pub(super) fn full(candidates: &[Candidate]) -> impl Iterator<Item = (&Candidate, usize, Date)> {
    let years = Years::of(candidates);
    readings(candidates).filter_map(move |(candidate, reading, value)| {
        let (Value::Date(date) | Value::DateTime(date, _)) = value else {
            return None;
        };
        let date = match date.year {
            Some(_) => *date,
            None => date.in_year(years.nearest(&candidate.span)?)?,
        };
        Some((candidate, reading, date))
    })
}

/// The years that the text mentions, by position.
struct Years(Vec<(usize, u16)>);

impl Years {
    /// Collects the years of dates, or if no date has one, numbers that look like a year.
    fn of(candidates: &[Candidate]) -> Years {
        let years = |year: fn(&Candidate) -> Option<u16>| -> Vec<(usize, u16)> {
            candidates
                .iter()
                .filter_map(|candidate| Some((candidate.span.start, year(candidate)?)))
                .collect()
        };
        let of_dates = years(|candidate| match candidate.readings.first()? {
            Value::Date(date) | Value::DateTime(date, _) => date.year,
            _ => None,
        });
        Years(if of_dates.is_empty() {
            years(written_year)
        } else {
            of_dates
        })
    }

    /// Returns the year whose position is closest to the start of the span; the earlier of two.
    fn nearest(&self, span: &Range<usize>) -> Option<u16> {
        let after = self.0.partition_point(|(at, _)| *at < span.start);
        let around = self.0[after.saturating_sub(1)..].iter().take(2);
        around
            .min_by_key(|(at, _)| at.abs_diff(span.start))
            .map(|(_, year)| *year)
    }
}

/// Returns a number of four digits from 1900 to 2099.
fn written_year(candidate: &Candidate) -> Option<u16> {
    match candidate.readings[..] {
        [Value::Number(number)] if candidate.span.len() == 4 => u16::try_from(number.to_integer()?)
            .ok()
            .filter(|year| (1900..2100).contains(year)),
        _ => None,
    }
}

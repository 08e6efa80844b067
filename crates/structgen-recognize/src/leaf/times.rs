//! Dates with times.

use std::ops::Range;

use super::{List, dates, readings};
use crate::{Candidate, Date, Time, Value};

/// Adds every date with a time, and every time with the closest dates before and after it.
pub(super) fn with_dates(candidates: &[Candidate], list: &mut List) {
    let dates: Vec<(&Candidate, usize, Date)> = dates::full(candidates)
        .filter(|(_, _, date)| date.is_full())
        .collect();
    for (candidate, reading, value) in readings(candidates) {
        match value {
            Value::DateTime(date, time) if date.is_full() => {
                add(list, *date, *time, &candidate.span, reading);
            }
            Value::Time(time) => {
                let after =
                    dates.partition_point(|(date, ..)| date.span.start < candidate.span.start);
                for (date_candidate, date_reading, date) in around(&dates, after) {
                    let span = candidate.span.start.min(date_candidate.span.start)
                        ..candidate.span.end.max(date_candidate.span.end);
                    add(list, *date, *time, &span, reading + date_reading);
                }
            }
            _ => {}
        }
    }
}

/// Returns the readings of the last date before a position and of the first one after it.
fn around<'c>(
    dates: &'c [(&Candidate, usize, Date)],
    after: usize,
) -> impl Iterator<Item = &'c (&'c Candidate, usize, Date)> {
    let same = |one: usize, other: usize| dates[one].0.span.start == dates[other].0.span.start;
    let first = (0..after)
        .rev()
        .take(4)
        .take_while(|at| same(*at, after - 1))
        .last()
        .unwrap_or(after);
    let end = (after..dates.len())
        .take(4)
        .take_while(|at| same(*at, after))
        .last()
        .map_or(after, |last| last + 1);
    dates[first..end].iter()
}

fn add(list: &mut List, date: Date, time: Time, span: &Range<usize>, reading: usize) {
    let offset = time.offset_text();
    for (less_likely, time) in time.with_seconds().into_iter().enumerate() {
        list.add(
            format!("{date}T{time}{offset}"),
            span,
            reading + less_likely,
        );
    }
}

//! Dates with times: `2024-05-12T09:30:00Z`, `2024-05-12 09:30:00`, `12/May/2024:09:30:00`.

use rustc_hash::FxHashMap;

use crate::{Candidate, Value};

/// Adds a candidate for every date that is directly followed by a time.
pub(super) fn join(text: &str, candidates: &mut Vec<Candidate>) {
    let is_date = |value: &Value| matches!(value, Value::Date(date) if date.day.is_some());
    let dates = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| candidate.readings.iter().any(is_date));
    let by_end: FxHashMap<usize, usize> = dates
        .map(|(index, candidate)| (candidate.span.end, index))
        .collect();
    let joined: Vec<Candidate> = candidates
        .iter()
        .filter_map(|time| {
            let joint = text[..time.span.start]
                .chars()
                .next_back()
                .filter(|joint| matches!(joint, ' ' | 'T' | ':'))?;
            let date = &candidates[*by_end.get(&(time.span.start - joint.len_utf8()))?];
            let pairs = date
                .readings
                .iter()
                .flat_map(|date| time.readings.iter().map(move |time| (date, time)));
            let readings: Vec<Value> = pairs
                .filter_map(|pair| match pair {
                    (Value::Date(date), Value::Time(time)) => Some(Value::DateTime(*date, *time)),
                    _ => None,
                })
                .collect();
            (!readings.is_empty()).then_some(Candidate {
                span: date.span.start..time.span.end,
                readings,
            })
        })
        .collect();
    candidates.extend(joined);
}

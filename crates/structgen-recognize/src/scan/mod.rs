//! The recognisers, one file per kind.
//!
//! Numbers come first, since most other values are a number with a word or sign beside it. Each recogniser scans the
//! tokens once and looks a bounded number of tokens ahead or back, so the total time is linear.

mod address;
mod amount;
mod clock;
mod clock_words;
mod currency;
mod date;
mod day_and_month;
mod digits;
mod duration;
mod fraction;
mod identifier;
mod number_words;
mod offset;
mod ordinal;
mod percent;
mod phone;
mod quantity;
mod scale;
mod stamp;
mod url;

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::tokens::Tokens;
use crate::{Candidate, Options, Value};

use quantity::Quantities;

/// The input of the recognisers.
struct Scan<'t> {
    tokens: &'t Tokens<'t>,
    options: &'t Options,
    /// All numbers of the text, in digits and words.
    quantities: Quantities,
}

/// The candidates found.
struct Found<'t> {
    tokens: &'t Tokens<'t>,
    candidates: Vec<Candidate>,
    /// Spans whose parts may be the real meaning: `ten to twelve` is a time, or a range of two numbers.
    loose: FxHashSet<Range<usize>>,
}

impl Found<'_> {
    /// Adds a candidate with the tokens from `first` to before `end`, unless it has no readings.
    fn add(&mut self, first: usize, end: usize, readings: Vec<Value>) {
        let tokens = end
            .checked_sub(1)
            .and_then(|last| Some((self.tokens.get(first)?, self.tokens.get(last)?)));
        if let (Some((first, last)), false) = (tokens, readings.is_empty()) {
            self.candidates.push(Candidate {
                span: first.start..last.end,
                readings,
            });
        }
    }

    /// Adds a candidate that does not replace those of its parts.
    fn add_loose(&mut self, first: usize, end: usize, readings: Vec<Value>) {
        let before = self.candidates.len();
        self.add(first, end, readings);
        self.loose.extend(
            self.candidates[before..]
                .iter()
                .map(|candidate| candidate.span.clone()),
        );
    }

    /// Adds a part of the text.
    fn add_bytes(&mut self, start: usize, end: usize, value: Value) {
        self.candidates.push(Candidate {
            span: start..end,
            readings: vec![value],
        });
    }
}

/// Returns all candidates, ordered by their starts, longer ones first.
pub(crate) fn scan(tokens: &Tokens<'_>, options: &Options) -> Vec<Candidate> {
    let scan = Scan {
        tokens,
        options,
        quantities: Quantities::of(tokens, options),
    };
    let mut found = Found {
        tokens,
        candidates: Vec::new(),
        loose: FxHashSet::default(),
    };
    for quantity in scan.quantities.iter() {
        found.add(quantity.first, quantity.end, quantity.values().collect());
    }
    for recognize in [
        ordinal::recognize,
        percent::recognize,
        amount::recognize,
        duration::recognize,
        date::recognize,
        day_and_month::recognize,
        clock::recognize,
        clock_words::recognize,
        phone::recognize,
    ] {
        recognize(&scan, &mut found);
    }
    for recognize in [url::recognize, address::recognize, identifier::recognize] {
        recognize(tokens.text, &mut found);
    }
    let mut candidates = found.candidates;
    split_signs(tokens.text, &mut candidates);
    sort(&mut candidates);
    drop_parts(&mut candidates, &found.loose);
    stamp::join(tokens.text, &mut candidates);
    sort(&mut candidates);
    candidates
}

/// Moves the readings without a minus sign to a candidate of their own, which begins after the sign.
fn split_signs(text: &str, candidates: &mut Vec<Candidate>) {
    let mut unsigned = Vec::new();
    for candidate in candidates.iter_mut() {
        let sign = text[candidate.span.clone()].chars().next();
        let Some(sign) = sign.filter(|sign| matches!(sign, '-' | '−' | '–')) else {
            continue;
        };
        if !candidate.readings.iter().any(is_negative) {
            continue;
        }
        let (negative, readings): (Vec<Value>, Vec<Value>) =
            { candidate.readings.drain(..) }.partition(is_negative);
        candidate.readings = negative;
        if !readings.is_empty() {
            unsigned.push(Candidate {
                span: candidate.span.start + sign.len_utf8()..candidate.span.end,
                readings,
            });
        }
    }
    candidates.extend(unsigned);
}

fn is_negative(value: &Value) -> bool {
    match value {
        Value::Number(number) | Value::Percent(number) | Value::Amount { number, .. } => {
            number.is_negative()
        }
        _ => false,
    }
}

fn sort(candidates: &mut Vec<Candidate>) {
    candidates.sort_by_key(|candidate| (candidate.span.start, usize::MAX - candidate.span.end));
    candidates.dedup();
}

/// Drops dates, times and durations that are a part of a longer one: in `quarter to nine`, nine is not a time.
fn drop_parts(candidates: &mut Vec<Candidate>, loose: &FxHashSet<Range<usize>>) {
    let mut moment = 0..0;
    let mut duration = 0..0;
    candidates.retain(|Candidate { span, readings }| {
        // Some may be just a number as well.
        let part = readings
            .iter()
            .find(|value| !matches!(value, Value::Number(_)));
        let longest = match part {
            Some(Value::Date(_) | Value::Time(_)) => &mut moment,
            Some(Value::Duration(_)) => &mut duration,
            _ => return true,
        };
        if span.end <= longest.end && span != longest {
            return false;
        }
        if !loose.contains(span) {
            *longest = span.clone();
        }
        true
    });
}

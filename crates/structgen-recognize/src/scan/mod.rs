//! The recognisers, a file per kind.
//!
//! Numbers come first, since most others are a number with a word or sign beside it. Each recogniser goes over the
//! tokens once and looks a bounded number of tokens ahead or back, which keeps the whole linear.

mod address;
mod amount;
mod clock;
mod clock_words;
mod date;
mod day_and_month;
mod digits;
mod duration;
mod fraction;
mod identifier;
mod number_words;
mod ordinal;
mod percent;
mod phone;
mod quantity;
mod stamp;
mod url;

use crate::tokens::Tokens;
use crate::{Candidate, Options, Value};

use quantity::{Quantities, Quantity};

/// What the recognisers read.
struct Scan<'t> {
    tokens: &'t Tokens<'t>,
    options: &'t Options,
    /// All numbers of the text, in digits and words.
    quantities: Quantities,
}

/// What they have found.
struct Found<'t> {
    tokens: &'t Tokens<'t>,
    candidates: Vec<Candidate>,
}

impl Found<'_> {
    /// Adds the tokens from `first` to before `end`; nothing where there are no readings.
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

    /// Adds a part of the text.
    fn add_bytes(&mut self, start: usize, end: usize, value: Value) {
        self.candidates.push(Candidate {
            span: start..end,
            readings: vec![value],
        });
    }
}

/// All candidates, by their beginnings, longer ones first.
pub(crate) fn scan(tokens: &Tokens<'_>, options: &Options) -> Vec<Candidate> {
    let scan = Scan {
        tokens,
        options,
        quantities: Quantities::of(tokens, options),
    };
    let mut found = Found {
        tokens,
        candidates: Vec::new(),
    };
    for Quantity {
        first,
        end,
        readings,
        ..
    } in scan.quantities.iter()
    {
        found.add(
            *first,
            *end,
            readings.iter().copied().map(Value::Number).collect(),
        );
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
    stamp::join(tokens.text, &mut candidates);
    candidates.sort_by_key(|candidate| (candidate.span.start, usize::MAX - candidate.span.end));
    candidates.dedup();
    candidates
}

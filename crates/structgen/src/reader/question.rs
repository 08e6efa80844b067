//! What a reader is asked: the fields of a schema and a text, as tokens; and what its answer comes to.

use serde_json::Value;
use structgen_automata::Input;
use structgen_ort::SpanLogits;

use super::fields::{FieldKind, ReadField};
use super::labels::prefer_labelled;
use super::lists::list_probabilities;
use super::spans::{Candidate, Ends, recognized, span_text};
use super::texts::{Listed, Texts};
use super::tokens::TextTokens;
use super::words::contains;
use super::yes_no;

/// Spans begin where that is at least this probable, in comparison with the most probable place.
const LEAST_START: f64 = 3e-4;

/// What the logit of an option gains that is in the text word by word. The reader learnt from texts that mostly say it
/// in other words. On held-out passages, it takes enums from 34 to 77 percent, and any gain between 1 and 4 is as good.
const SAID: f32 = 2.0;

/// A place of a list is at least this probable.
const LEAST_LISTED: f64 = 0.05;

/// A value of a list ends at a token with at least this probability, if it begins at its first.
const LEAST_END: f64 = 0.01;

/// The most spans that a field in an array keeps, and the most recognised values of any field.
const MAX_LISTED: usize = 512;

/// The most spans that a field keeps.
const MAX_SPANS: usize = 64;

/// A field among the tokens.
#[derive(Debug, Clone)]
pub(super) struct AskedField {
    pub(super) at: usize,
    /// Where its options are.
    pub(super) options: Vec<usize>,
    /// The position that stands for no value.
    pub(super) none: Option<usize>,
}

/// What is read of a field: the reader's logits, with what the words of the text add to them.
pub(super) struct Reading<'r> {
    pub(super) field: &'r ReadField,
    asked: &'r AskedField,
    pub(super) starts: Vec<f32>,
    ends: &'r [f32],
    recognized: Vec<Candidate>,
}

impl<'r> Reading<'r> {
    /// That of the field with this number.
    pub(super) fn new(
        field: &'r ReadField,
        asked: &'r AskedField,
        number: usize,
        logits: &'r SpanLogits,
        tokens: &TextTokens,
        input: &Input,
    ) -> Self {
        let sequence = tokens.first + tokens.spans.len();
        let row = number * sequence..(number + 1) * sequence;
        let mut starts = logits.starts[row.clone()].to_vec();
        match &field.kind {
            FieldKind::Options(options) => {
                for (option, &at) in options.iter().zip(&asked.options) {
                    let text = option.as_str();
                    if text.is_some_and(|text| contains(&tokens.words, text)) {
                        starts[at] += SAID;
                    }
                }
                if let ([Value::Bool(true), Value::Bool(false)], &[yes, no]) =
                    (&options[..], &asked.options[..])
                    && !field.is_many
                {
                    // The likelier one gains, so that it gains on no value as well.
                    let log_odds = yes_no::log_odds(field, tokens, input.text());
                    starts[yes] += log_odds.max(0.0);
                    starts[no] -= log_odds.min(0.0);
                }
            }
            _ if field.is_many => {}
            _ => prefer_labelled(field, asked.none, tokens, &mut starts),
        }
        Self {
            field,
            asked,
            starts,
            ends: &logits.ends[row],
            recognized: recognized(field, input, tokens),
        }
    }

    /// The tokens at which a value can begin.
    fn places(&self, tokens: &TextTokens) -> Vec<usize> {
        let is_any = match self.field.kind {
            FieldKind::Options(_) => return Vec::new(),
            FieldKind::Number => false,
            FieldKind::String { has_pattern, .. } => has_pattern || self.recognized.is_empty(),
        };
        if is_any {
            return tokens.starts.clone();
        }
        let mut places: Vec<usize> = self.recognized.iter().map(|it| it.first).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The tokens at which a value can begin, in their order, each with the probability that it does.
    pub(super) fn place_probabilities(&self, tokens: &TextTokens) -> Vec<(usize, f64)> {
        let places = self.places(tokens);
        let logit = |&at: &usize| self.starts[tokens.first + at];
        let probabilities: Vec<f64> = match self.field.is_many {
            true => {
                let logits: Vec<f32> = places.iter().map(logit).collect();
                let lines: Vec<usize> = places.iter().map(|&at| tokens.line(at)).collect();
                list_probabilities(&logits, &lines)
            }
            false => {
                let none = self.asked.none.map(|at| self.starts[at]);
                softmax(places.iter().map(logit).chain(none))
            }
        };
        places.into_iter().zip(probabilities).collect()
    }

    /// The texts that the value can have, and how probable each is.
    pub(super) fn texts(&self, tokens: &TextTokens, input: &Input) -> Texts {
        let Self {
            field,
            asked,
            starts,
            ..
        } = self;
        if let FieldKind::Options(options) = &field.kind {
            let positions = asked.options.iter().copied().chain(asked.none);
            let probabilities = softmax(positions.map(|at| starts[at]));
            let nulls = field.is_nullable.then(|| "null".to_owned());
            let texts = options.iter().map(ToString::to_string).chain(nulls);
            return Texts::new(texts.zip(probabilities));
        }
        let places = self.place_probabilities(tokens);
        if field.is_many {
            return self.list(&places, tokens, input);
        }
        let some: f64 = places.iter().map(|(_, probability)| probability).sum();
        let none = if asked.none.is_some() {
            1.0 - some
        } else {
            0.0
        };
        let found = self.candidates(&places, tokens, input);
        let total: f64 = found.iter().map(|(_, weight)| weight).sum();
        let share = (1.0 - none) / total.max(f64::MIN_POSITIVE);
        let values = { found.into_iter() }.map(|(it, weight)| (it.text, weight * share));
        let null = field.is_nullable.then(|| ("null".to_owned(), none));
        Texts::new(values.chain(null))
    }

    /// The texts that the input has for the field, each with how probable its place is.
    fn candidates(
        &self,
        places: &[(usize, f64)],
        tokens: &TextTokens,
        input: &Input,
    ) -> Vec<(Candidate, f64)> {
        let ends = Ends {
            logits: self.ends,
            tokens,
        };
        let probability = |first: usize| {
            let at = places.binary_search_by_key(&first, |&(place, _)| place);
            at.map_or(0.0, |at| places[at].1)
        };
        let largest = { places.iter() }.map(|(_, it)| *it).fold(0.0, f64::max);
        let (least, most) = match self.field.is_many {
            true => (LEAST_LISTED, MAX_LISTED),
            false => (largest * LEAST_START, MAX_SPANS),
        };
        let mut found: Vec<(Candidate, f64)> = { self.recognized.iter() }
            .map(|it| (it.clone(), probability(it.first)))
            .filter(|(_, probability)| *probability >= least)
            .collect();
        found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        found.truncate(MAX_LISTED);
        for (it, weight) in &mut found {
            *weight *= ends.at(it.first, it.last).exp();
        }
        let FieldKind::String { has_pattern, .. } = self.field.kind else {
            return found;
        };
        if !self.recognized.is_empty() && !has_pattern {
            return found;
        }
        let mut spans: Vec<(usize, usize, f64)> = Vec::new();
        for &(first, probability) in places.iter().filter(|(_, it)| *it >= least) {
            let after = ends.after(first);
            spans.extend(after.map(|(last, ln)| (first, last, probability * ln.exp())));
        }
        if self.field.is_many {
            spans.retain(|&(first, _, weight)| weight >= LEAST_END * probability(first));
        }
        spans.sort_by(|(.., a), (.., b)| b.total_cmp(a));
        for (first, last, weight) in spans.into_iter().take(most) {
            let text = span_text(input, tokens, first, last);
            found.push((Candidate { text, first, last }, weight));
        }
        found
    }

    /// The values of a list.
    fn list(&self, places: &[(usize, f64)], tokens: &TextTokens, input: &Input) -> Texts {
        let mut found = self.candidates(places, tokens, input);
        found.sort_by_key(|(it, _)| it.first);
        let mut values = Vec::new();
        // Those that begin at a place share its probability.
        for here in found.chunk_by(|(a, _), (b, _)| a.first == b.first) {
            let at = places.binary_search_by_key(&here[0].0.first, |&(place, _)| place);
            let probability = at.map_or(0.0, |at| places[at].1);
            if probability < LEAST_LISTED {
                continue;
            }
            let total: f64 = here.iter().map(|(_, weight)| weight).sum();
            let share = probability / total.max(f64::MIN_POSITIVE);
            values.extend(here.iter().map(|(it, weight)| Listed {
                text: it.text.clone(),
                start: it.first as u32,
                end: it.last as u32,
                probability: weight * share,
            }));
        }
        Texts::list(values)
    }
}

fn softmax(logits: impl Iterator<Item = f32> + Clone) -> Vec<f64> {
    let largest = logits.clone().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = logits
        .map(|logit| f64::from(logit - largest).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

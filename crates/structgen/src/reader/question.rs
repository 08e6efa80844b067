//! What a reader is asked: the fields of a schema and a text, as tokens; and what its answer comes to.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use structgen_automata::Input;
use structgen_constraint::CandidateValue;
use structgen_ort::SpanLogits;

use super::fields::{FieldKind, ReadField};
use super::texts::{Listed, Texts};
use super::words::{Word, contains, labels, words};

/// A value of more tokens is not looked for.
const LONGEST_SPAN: usize = 40;

/// Spans begin where that is at least this probable, in comparison with the most probable place.
const LEAST_START: f64 = 3e-4;

/// What the logit of an option gains that is in the text word by word. The reader learnt from texts that mostly say it
/// in other words. On held-out passages, it takes enums from 34 to 77 percent, and any gain between 1 and 4 is as good.
const SAID: f32 = 2.0;

/// What the logit of a place gains that stands in the same line after a word of the field's key, and at most how many
/// bytes later. On held-out passages, that is half a percent to one percent of all fields, and any gain between 1 and 3
/// is as good.
const LABELLED: (f32, usize) = (2.0, 40);

/// A value of a list is at least this probable, in comparison with the most probable one.
const LEAST_LISTED: f64 = 0.05;

/// The most spans that a field in an array keeps.
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

/// The tokens of a text, and where they begin among all.
pub(super) struct TextTokens {
    pub(super) first: usize,
    /// The bytes of each.
    pub(super) spans: Vec<Range<usize>>,
    /// Those at which a value can begin, and end.
    starts: Vec<usize>,
    ends: Vec<usize>,
    words: Vec<Word>,
}

impl TextTokens {
    pub(super) fn new(first: usize, spans: Vec<Range<usize>>, text: &str) -> Self {
        let before = |at: usize| text.get(..at).and_then(|text| text.chars().next_back());
        let after = |at: usize| text.get(at..).and_then(|text| text.chars().next());
        let is_word = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
        let is_space = |it: Option<char>| it.is_none_or(char::is_whitespace);
        // A token that ends within a character has no border there.
        let is_border =
            |at: usize| text.is_char_boundary(at) && !(is_word(before(at)) && is_word(after(at)));
        let tokens = || {
            spans
                .iter()
                .enumerate()
                .filter(|(_, span)| !span.is_empty())
        };
        Self {
            starts: tokens()
                .filter(|(_, span)| is_border(span.start) && !is_space(after(span.start)))
                .map(|(at, _)| at)
                .collect(),
            ends: tokens()
                .filter(|(_, span)| is_border(span.end) && !is_space(before(span.end)))
                .map(|(at, _)| at)
                .collect(),
            words: words(text),
            first,
            spans,
        }
    }

    /// The tokens that stand soon after a word of a key, in the same line.
    fn labelled(&self, key: &str, text: &str) -> BTreeSet<usize> {
        let after = |end: usize| {
            let from = self
                .starts
                .partition_point(|&at| self.spans[at].start < end);
            self.starts[from..].iter().copied().take_while(move |&at| {
                let start = self.spans[at].start;
                start <= end + LABELLED.1 && !text[end..start].contains('\n')
            })
        };
        labels(&self.words, key).flat_map(after).collect()
    }

    /// The token that has a byte.
    fn at(&self, byte: usize) -> Option<usize> {
        let at = self.spans.partition_point(|span| span.end <= byte);
        (at < self.spans.len()).then_some(at)
    }
}

/// The texts that the value of a field can have, and how probable each is.
pub(super) fn texts(
    field: &ReadField,
    asked: &AskedField,
    number: usize,
    logits: &SpanLogits,
    tokens: &TextTokens,
    input: &Input,
) -> Texts {
    let sequence = tokens.first + tokens.spans.len();
    let starts = &logits.starts[number * sequence..][..sequence];
    let ends = &logits.ends[number * sequence..][..sequence];
    if let FieldKind::Options(options) = &field.kind {
        let positions: Vec<usize> = asked.options.iter().copied().chain(asked.none).collect();
        let is_said = |value: &Value| {
            let text = value.as_str();
            text.is_some_and(|text| contains(&tokens.words, text))
        };
        let gained = { options.iter() }.map(|value| if is_said(value) { SAID } else { 0.0 });
        let gained: Vec<f32> = gained.chain([0.0]).collect();
        let logits = positions
            .iter()
            .zip(&gained)
            .map(|(&at, gained)| starts[at] + gained);
        let probabilities = softmax(logits);
        let nulls = field.is_nullable.then(|| "null".to_owned());
        let texts = options.iter().map(ToString::to_string).chain(nulls);
        return Texts::new(texts.zip(probabilities));
    }
    let key = field.path.last().map_or("", String::as_str);
    let mut starts = starts.to_vec();
    for at in tokens.labelled(key, input.text()) {
        starts[tokens.first + at] += LABELLED.0;
    }
    let starts = &*starts;
    let positions = { tokens.starts.iter() }.map(|at| tokens.first + at);
    let positions: Vec<usize> = positions.chain(asked.none).collect();
    let probabilities = softmax(positions.iter().map(|&at| starts[at]));
    let none = match asked.none {
        Some(_) => probabilities.last().copied().unwrap_or(0.0),
        None => 0.0,
    };
    let found = candidates(field, input, tokens, starts, ends);
    if field.is_many {
        return list(found, tokens, starts, ends);
    }
    let scores = found.iter().map(|it| it.score);
    let largest = scores.fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = { found.iter() }
        .map(|it| (it.score - largest).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    let share = (1.0 - none) / total;
    let values = { found.into_iter().zip(weights) }.map(|(it, weight)| (it.text, weight * share));
    let null = field.is_nullable.then(|| ("null".to_owned(), none));
    Texts::new(values.chain(null))
}

/// A text that a value can have, and the tokens that it was read from.
struct Candidate {
    text: String,
    first: usize,
    last: usize,
    score: f64,
}

/// The values of a list: how probable each place is in comparison with the most probable one, where a value ends at the
/// first probable end.
fn list(found: Vec<Candidate>, tokens: &TextTokens, starts: &[f32], ends: &[f32]) -> Texts {
    let of = |logits: &[f32], places: &[usize]| {
        let logits = |at: &usize| f64::from(logits[tokens.first + at]);
        let largest = { places.iter() }
            .map(logits)
            .fold(f64::NEG_INFINITY, f64::max);
        move |logit: f32| (f64::from(logit) - largest).exp().min(1.0)
    };
    let (begins, finishes) = (of(starts, &tokens.starts), of(ends, &tokens.ends));
    let values = found.into_iter().filter_map(|it| {
        let begins = begins(starts[tokens.first + it.first]);
        let from = tokens.ends.partition_point(|&at| at < it.first);
        let before = tokens.ends[from..].iter().take_while(|&&at| at < it.last);
        let earlier = before.map(|at| 1.0 - 0.95 * finishes(ends[tokens.first + at]));
        let finishes = finishes(ends[tokens.first + it.last]) * earlier.product::<f64>();
        (begins > LEAST_LISTED).then_some(Listed {
            text: it.text,
            start: it.first as u32,
            end: it.last as u32,
            probability: begins * finishes,
        })
    });
    Texts::list(values.collect())
}

/// The texts that the input has for a field, each with its score.
fn candidates(
    field: &ReadField,
    input: &Input,
    tokens: &TextTokens,
    starts: &[f32],
    ends: &[f32],
) -> Vec<Candidate> {
    let score = |first: usize, last: usize| {
        f64::from(starts[tokens.first + first]) + f64::from(ends[tokens.first + last])
    };
    let mut found = Vec::new();
    for candidate in input.candidates() {
        let text = match (&candidate.value, &field.kind) {
            (CandidateValue::Number(number), FieldKind::Number) => number.to_string(),
            (
                CandidateValue::String { format, text },
                FieldKind::String {
                    format: wanted,
                    has_pattern,
                },
            ) if *has_pattern || wanted.as_deref() == Some(&**format) => json_string(text),
            _ => continue,
        };
        let span = &candidate.span;
        if let Some(first) = tokens.at(span.start)
            && let Some(last) = tokens.at(span.end.saturating_sub(1))
        {
            let score = score(first, last);
            found.push(Candidate {
                text,
                first,
                last,
                score,
            });
        }
    }
    let FieldKind::String { has_pattern, .. } = field.kind else {
        return found;
    };
    if !found.is_empty() && !has_pattern {
        return found;
    }
    let largest = { tokens.starts.iter() }
        .map(|&at| starts[tokens.first + at])
        .fold(f32::NEG_INFINITY, f32::max);
    let least = f64::from(largest) + LEAST_START.ln();
    let mut spans = Vec::new();
    for &first in &tokens.starts {
        if f64::from(starts[tokens.first + first]) < least {
            continue;
        }
        let from = tokens.ends.partition_point(|&at| at < first);
        let lasts = tokens.ends[from..].iter();
        for &last in lasts.take_while(|&&at| at < first + LONGEST_SPAN) {
            spans.push((first, last, score(first, last)));
        }
    }
    spans.sort_by(|(.., a), (.., b)| b.total_cmp(a));
    let most = if field.is_many { MAX_LISTED } else { MAX_SPANS };
    for (first, last, score) in spans.into_iter().take(most) {
        let bytes = tokens.spans[first].start..tokens.spans[last].end;
        let words: Vec<&str> = input.text()[bytes].split_whitespace().collect();
        let text = json_string(&words.join(" "));
        found.push(Candidate {
            text,
            first,
            last,
            score,
        });
    }
    found
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn softmax(logits: impl Iterator<Item = f32> + Clone) -> Vec<f64> {
    let largest = logits.clone().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = logits
        .map(|logit| f64::from(logit - largest).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_and_end_at_borders_of_words() {
        let text = "Total: 12.50 €";
        let spans = [
            0..3,
            3..5,
            5..6,
            6..7,
            7..8,
            8..9,
            9..10,
            10..11,
            11..12,
            12..13,
            13..16,
        ];
        let tokens = TextTokens::new(4, spans.to_vec(), text);
        assert_eq!(tokens.starts, [0, 2, 4, 6, 7, 10]);
        assert_eq!(tokens.ends, [1, 2, 5, 6, 8, 10]);
        assert_eq!(
            [tokens.at(0), tokens.at(4), tokens.at(15), tokens.at(16)],
            [Some(0), Some(1), Some(10), None]
        );
    }
}

//! The most probable alternatives to the values of fields.

use std::collections::VecDeque;
use std::ops::Range;

use serde_json::Value;
use structgen_constraint::CompiledConstraint;
use structgen_decode::samplers::OwnSamplers;
use structgen_decode::{
    GenerateOptions, Generation, Outputs, Run,
    strategies::{BeamOptions, Distinct, EarlyStopping},
};
use structgen_vocab::TokenId;

use crate::reader::Preference;
use crate::value_request::{ValueRequest, value_after};
use crate::{AlternativeValue, Field, Model, Result};

/// Tokens that an alternative may have beyond twice the number of the field's own.
const MORE_TOKENS: usize = 32;

/// The beams of a search, at least: fewer can all spell one value, in several ways.
const LEAST_BEAMS: usize = 8;

/// The parameters of the searches for alternatives in all fields of an output.
pub(crate) struct Searches {
    pub(crate) model: Model,
    pub(crate) prompt: Vec<TokenId>,
    /// What the output starts with.
    pub(crate) prefill: Vec<TokenId>,
    pub(crate) constraint: CompiledConstraint,
    /// The reader's preference.
    pub(crate) preference: Option<Preference>,
    /// Maximum number of alternatives per field.
    pub(crate) most: usize,
    /// The fields still to be searched, each with the bytes of its value in the output.
    pub(crate) rest: VecDeque<(usize, Range<usize>)>,
    pub(crate) running: VecDeque<Search>,
}

/// A search in progress.
pub(crate) struct Search {
    /// The field's index.
    pub(crate) field: usize,
    pub(crate) run: Run,
    /// The output's text before the value.
    pub(crate) before: String,
}

impl Searches {
    /// Returns the next search to wait for, and keeps as many others running as can run in parallel.
    pub(crate) fn next(&mut self, output: &Generation) -> Result<Option<Search>> {
        let width = self.width();
        let rows = self.model.engine().limits().rows * self.model.workers();
        while (self.running.is_empty() || (self.running.len() + 1) * width <= rows)
            && let Some((field, span)) = self.rest.pop_front()
        {
            match self.submit(output, field, &span) {
                Err(error) if error.is_queue_full() && !self.running.is_empty() => {
                    self.rest.push_front((field, span));
                    break;
                }
                search => self.running.push_back(search?),
            }
        }
        Ok(self.running.pop_front())
    }

    /// Twice as many beams as values: the field's own value is among them, and several beams may spell the same value.
    fn width(&self) -> usize {
        let wanted = self.most.saturating_add(1).saturating_mul(2);
        wanted
            .max(LEAST_BEAMS)
            .min(self.model.engine().limits().rows)
    }

    /// Submits a beam search whose beams end with the value, or once it is much longer than the field's own.
    fn submit(&self, output: &Generation, field: usize, span: &Range<usize>) -> Result<Search> {
        let tokens = &output.tokens;
        let first = tokens.partition_point(|token| token.span.end <= span.start);
        let last = tokens.partition_point(|token| token.span.start < span.end);
        let generated = tokens[..first].iter().map(|token| token.id);
        let written: Vec<TokenId> = self.prefill.iter().copied().chain(generated).collect();
        let from = tokens
            .get(first)
            .map_or(span.start, |token| token.span.start);
        let before = output.text.get(from..span.start).unwrap_or_default();
        let value = ValueRequest::new(&self.prompt, &self.constraint, &written, before)?;
        let longest = value
            .completion_cost
            .saturating_add(2 * (last - first) + MORE_TOKENS);
        let preference = self.preference.clone();
        let samplers = preference.map(|it| OwnSamplers::new(it.after(&written)));
        let options = GenerateOptions {
            samplers: samplers.unwrap_or_default(),
            max_new_tokens: Some(self.model.room_after(&value.request.prompt, longest)),
            ..GenerateOptions::default()
        };
        let width = self.width();
        let beams = BeamOptions {
            width,
            n_best: width,
            length_penalty: 0.0,
            early_stopping: EarlyStopping::Never,
            renormalize: true,
            distinct: Distinct::Text,
            ..BeamOptions::default()
        };
        let request = value.request.with_options(options).with_strategy(beams);
        Ok(Search {
            field,
            run: self.model.engine().submit(request)?,
            before: before.to_owned(),
        })
    }
}

/// Returns the values other than the field's own that a search has found, best first.
///
/// They share what the field's own value leaves of the probability. In the search, the reader has a lower weight than
/// in the extraction, which by itself would give them more.
pub(crate) fn others(
    outputs: Outputs,
    before: &str,
    field: &Field,
    most: usize,
) -> Vec<AlternativeValue> {
    let mut values: Vec<AlternativeValue> = Vec::new();
    for output in outputs.outputs.into_iter().flatten() {
        let value = value_after(before, &output.generation.text);
        if let Some(Ok(value)) = value.map(serde_json::from_str::<Value>) {
            let probability = output.log_prob.map_or(0.0, f64::exp);
            add(AlternativeValue { value, probability }, &mut values);
        }
    }
    values.retain(|other| !is_same(&other.value, &field.value));
    let sum: f64 = values.iter().map(|other| other.probability).sum();
    let left = field.probability.map_or(1.0, |own| (1.0 - own).max(0.0));
    if sum > left {
        for other in &mut values {
            other.probability *= left / sum;
        }
    }
    values.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    values.truncate(most);
    values
}

/// Adds a value, or its probability if the value is known.
fn add(value: AlternativeValue, values: &mut Vec<AlternativeValue>) {
    match { values.iter_mut() }.find(|known| is_same(&known.value, &value.value)) {
        Some(known) => known.probability += value.probability,
        None => values.push(value),
    }
}

/// Returns whether two values are equal; `5` and `5.0` are.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            a.as_f64() == b.as_f64()
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_numbers_are_one_value_however_they_are_written() {
        let mut values = Vec::new();
        for (text, probability) in [("5", 0.5), ("7", 0.125), ("5.0", 0.25), ("\"5\"", 0.0625)] {
            let value = serde_json::from_str(text).unwrap();
            add(AlternativeValue { value, probability }, &mut values);
        }
        let found = values.iter().map(|it| (it.value.clone(), it.probability));
        let expected = [(json!(5), 0.75), (json!(7), 0.125), (json!("5"), 0.0625)];
        assert_eq!(found.collect::<Vec<_>>(), expected);

        assert!(is_same(
            &json!(300_000_000_000_000_u64),
            &json!(300_000_000_000_000.0)
        ));
        // Neighbours that are one floating-point number are still two integers.
        assert!(!is_same(
            &json!(9_007_199_254_740_992_u64),
            &json!(9_007_199_254_740_993_u64)
        ));
    }
}

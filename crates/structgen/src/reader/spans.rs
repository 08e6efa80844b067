//! The parts of a text that a field's value may be.

use std::ops::Range;

use structgen_automata::Input;
use structgen_constraint::CandidateValue;
use structgen_ort::SpanLogits;

use super::text_units::TextUnits;

/// A text that a value can have, and the units that it was read from.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) text: String,
    pub(super) first: usize,
    pub(super) last: usize,
    /// The logarithm of how likely it is that this is meant by its part of the text; 0 for what is as likely as can be.
    pub(super) ln_meant: f64,
}

/// The logarithm of how probable another reading of a date or a time is beside the first one: `8:45` is rather in the
/// morning than in the evening.
const OTHER_READING: f64 = -1.5;

/// The strings of a format that were recognised in the text; of a pattern, those of all formats.
pub(super) fn recognized(
    format: Option<&str>,
    has_pattern: bool,
    input: &Input,
    units: &TextUnits,
) -> Vec<Candidate> {
    let found = { input.candidates().iter() }.filter_map(|candidate| match &candidate.value {
        CandidateValue::String { format: own, text } if has_pattern || format == Some(own) => {
            let mut found = placed(json_string(text), &candidate.span, units)?;
            if candidate.reading > 0 {
                found.ln_meant += OTHER_READING;
            }
            Some(found)
        }
        _ => None,
    });
    found.collect()
}

/// A value that was read from a part of the text.
pub(super) fn placed(text: String, span: &Range<usize>, units: &TextUnits) -> Option<Candidate> {
    Some(Candidate {
        text,
        first: units.at(span.start)?,
        last: units.at(span.end.saturating_sub(1))?,
        ln_meant: 0.0,
    })
}

/// How probable it is that a value ends at a unit, where it begins at another.
pub(super) struct Ends<'e> {
    /// The field's logits of all positions.
    own: &'e [f32],
    all: &'e SpanLogits,
    units: &'e TextUnits,
    /// The numbers of a position's vector.
    width: usize,
}

impl<'e> Ends<'e> {
    /// Those of the query with this number.
    pub(super) fn new(query: usize, all: &'e SpanLogits, units: &'e TextUnits) -> Self {
        let sequence = units.first + units.spans.len();
        Self {
            own: &all.ends[query * sequence..][..sequence],
            all,
            units,
            width: all.first_vectors.len() / sequence,
        }
    }

    /// The units at which a value that begins at `first` can end, each with the logarithm of how probable that is.
    pub(super) fn after(&self, first: usize) -> impl Iterator<Item = (usize, f64)> {
        let total = self.total(first);
        { self.lasts(first) }.map(move |last| (last, self.logit(first, last) - total))
    }

    /// The same for one of them, or for a unit in which a value ends.
    pub(super) fn at(&self, first: usize, last: usize) -> f64 {
        (self.logit(first, last) - self.total(first)).min(0.0)
    }

    fn lasts(&self, first: usize) -> impl Iterator<Item = usize> {
        let from = self.units.ends.partition_point(|&at| at < first);
        let lasts = self.units.ends[from..].iter().copied();
        lasts.take_while(move |&at| at < first + self.all.distances.len())
    }

    fn logit(&self, first: usize, last: usize) -> f64 {
        let vector = |all: &'e [f32], unit: usize| {
            &all[(self.units.first + unit) * self.width..][..self.width]
        };
        let begun = vector(&self.all.first_vectors, first);
        let ended = vector(&self.all.last_vectors, last);
        let product: f32 = begun.iter().zip(ended).map(|(a, b)| a * b).sum();
        let distance = { &self.all.distances }
            .get(last.saturating_sub(first))
            .or(self.all.distances.last());
        f64::from(self.own[self.units.first + last] + product + distance.copied().unwrap_or(0.0))
    }

    /// The logarithm of the sum over all ends.
    fn total(&self, first: usize) -> f64 {
        let logits = || self.lasts(first).map(|last| self.logit(first, last));
        let largest = logits().fold(f64::NEG_INFINITY, f64::max);
        match largest.is_finite() {
            true => largest + logits().map(|it| (it - largest).exp()).sum::<f64>().ln(),
            false => 0.0,
        }
    }
}

/// A part of the text as JSON, on one line.
pub(super) fn span_text(input: &Input, units: &TextUnits, first: usize, last: usize) -> String {
    let bytes = units.spans[first].start..units.spans[last].end;
    let words: Vec<&str> = input.text()[bytes].split_whitespace().collect();
    json_string(&words.join(" "))
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::text_units::tests::units_of;
    use super::*;

    #[test]
    fn an_end_depends_on_the_beginning() {
        let text = "Ann Lee, Rome";
        let units = units_of(text);
        let all = SpanLogits {
            starts: Vec::new(),
            ends: vec![0.0, 1.0, 0.0, 1.0],
            first_vectors: [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]].concat(),
            last_vectors: [[0.0, 9.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]].concat(),
            distances: vec![0.5, 0.0, -1.0],
        };
        let ends = Ends::new(0, &all, &units);
        let found: Vec<(usize, f64)> = ends.after(0).collect();
        // Not at the comma that ends a part of a sentence elsewhere, and not as far as Rome.
        assert_eq!(
            found.iter().map(|&(last, _)| last).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        let total: f64 = found.iter().map(|(_, ln)| ln.exp()).sum();
        assert!((total - 1.0).abs() < 1e-9);
        let gained = |a: usize, b: usize| found[a].1 - found[b].1;
        assert!((gained(1, 0) - 2.5).abs() < 1e-6);
        assert!((gained(1, 2) - 4.0).abs() < 1e-6);
        assert!((ends.at(0, 1) - found[1].1).abs() < 1e-9);
        let lee: Vec<f64> = ends.after(1).map(|(_, ln)| ln).collect();
        assert!((lee[0] - lee[2] - 1.5).abs() < 1e-6, "{lee:?}");
    }
}

//! Reading: a second, small model that says where in a text each field of a schema has its value.
//!
//! The decoder writes a document from left to right, and has read the text in the same way. A reader looks at schema
//! and text in both directions at once, which makes it the better judge of which of the text's values is meant; what it
//! cannot do is write. So it weighs what the decoder chooses among: [`Preference`] is a sampler that adds to each
//! token's logit how much the probability of the document, as the reader has it, changes with the token. What may be
//! written is the constraint's matter as before.
//!
//! A text passes through the files in this order: [`fields`] of the schema, a [`question`] of [`units`], the graph's
//! logits, what the text's [`words`] add to them ([`labels`], [`yes_no`], places [`taken`]), the [`spans`] of values,
//! [`texts`] with probabilities, the [`document`] that they make, the [`preference`].

mod document;
mod fields;
mod labels;
mod preference;
mod question;
mod spans;
mod taken;
mod text_units;
mod texts;
mod units;
mod words;
mod yes_no;

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::Value;
use structgen_automata::Input;
use structgen_decode::ModelError;
use structgen_ort::{OrtReader, Part, ReadUnit, SpanLogits};
use structgen_vocab::Tokenizer;

use crate::Result;
use document::{Document, LazyDocument};
use fields::{FieldKind, ReadField, fields};
pub(crate) use preference::Preference;
use question::{AskedField, Reading};
use taken::avoid_taken;
use text_units::TextUnits;
use units::{Mark, RowsOfUnits, units};

/// The most units of a run; the reader learnt from 520 at most. A longer text is read in windows.
const MAX_RUN: usize = 560;

/// The most units of a schema's fields; one that has more is left to the decoder alone.
const MAX_QUESTIONS: usize = 320;

/// The units that neighbouring windows share.
const SHARED: usize = 64;

/// The most windows; a longer text is left to the decoder alone.
const MAX_WINDOWS: usize = 64;

/// How much the reader's logarithms count. Of held-out families and domains, 69.6 and 62.6 percent of the fields are
/// right with 5, 69.3 and 62.4 with 8.
const WEIGHT: f32 = 5.0;

/// The reader of a model.
pub(crate) struct Reader {
    tokenizer: Arc<Tokenizer>,
    /// The sessions that nobody uses.
    idle: Mutex<Vec<OrtReader>>,
    is_idle: Condvar,
}

/// A schema's fields, as units.
pub(crate) struct Questions {
    fields: Vec<ReadField>,
    asked: Vec<AskedField>,
    units: Vec<ReadUnit>,
}

/// What a reader finds in a text, once somebody wants to know.
#[derive(Clone)]
pub(crate) struct Found {
    document: Arc<LazyDocument>,
    /// Why there is nothing, where the graph failed.
    failure: Arc<Mutex<Option<ModelError>>>,
}

/// Adds a mark and a text; returns where the mark is.
fn put(
    mark: Mark,
    text: &str,
    rows: &mut RowsOfUnits<'_>,
    all: &mut Vec<ReadUnit>,
) -> Result<usize> {
    let at = all.len();
    let part = match mark {
        Mark::Option => Part::Option,
        _ => Part::Question,
    };
    all.push(ReadUnit::new(mark.rows(), part, false));
    all.extend(rows.read(text, &units(text), Part::Question)?);
    Ok(at)
}

impl Reader {
    /// A reader that reads as many texts side by side as it has sessions; none where it has none.
    pub(crate) fn new(tokenizer: Arc<Tokenizer>, sessions: Vec<OrtReader>) -> Option<Self> {
        (!sessions.is_empty()).then(|| Self {
            tokenizer,
            idle: Mutex::new(sessions),
            is_idle: Condvar::new(),
        })
    }

    /// The questions of a schema; none where it has no fields that are asked about.
    pub(crate) fn questions(&self, schema: &Value) -> Result<Option<Questions>> {
        let mut rows = RowsOfUnits::new(&self.tokenizer);
        let mut found = Questions {
            fields: fields(schema),
            asked: Vec::new(),
            units: Vec::new(),
        };
        let Questions {
            fields,
            asked,
            units,
        } = &mut found;
        for field in fields.iter() {
            let at = put(Mark::Field, &field.name, &mut rows, units)?;
            let mut options = Vec::new();
            if let FieldKind::Options(values) = &field.kind {
                for value in values {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        value => value.to_string(),
                    };
                    options.push(put(Mark::Option, &text, &mut rows, units)?);
                }
            }
            let none = { field.is_optional }
                .then(|| put(Mark::None, "", &mut rows, units))
                .transpose()?;
            asked.push(AskedField { at, options, none });
            if units.len() > MAX_QUESTIONS {
                return Ok(None);
            }
        }
        Ok((!found.fields.is_empty()).then_some(found))
    }

    /// Reads a text; none where it is too long.
    pub(crate) fn read(
        self: &Arc<Self>,
        questions: &Arc<Questions>,
        input: Arc<Input>,
    ) -> Result<Option<Found>> {
        let found = units(input.text());
        let text = TextUnits::new(questions.units.len() + 1, &found, input.text());
        if windows(text.first, found.len()).len() > MAX_WINDOWS {
            return Ok(None);
        }
        let mut all = questions.units.clone();
        all.push(ReadUnit::new(Mark::Text.rows(), Part::Question, false));
        let mut rows = RowsOfUnits::new(&self.tokenizer);
        all.extend(rows.read(input.text(), &found, Part::Text)?);
        let failure = Arc::new(Mutex::new(None));
        let (reader, questions) = (Arc::clone(self), Arc::clone(questions));
        let failed = Arc::clone(&failure);
        let read = move || match reader.document(&questions, &all, &text, &input) {
            Ok(document) => document,
            Err(error) => {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Document::new(Vec::new())
            }
        };
        Ok(Some(Found {
            document: Arc::new(LazyDocument::new(Box::new(read))),
            failure,
        }))
    }

    fn document(
        &self,
        questions: &Questions,
        units: &[ReadUnit],
        text: &TextUnits,
        input: &Input,
    ) -> std::result::Result<Document, ModelError> {
        let logits = self.logits(questions, units, text.first)?;
        let fields = questions.fields.iter().zip(&questions.asked).enumerate();
        let readings = fields.map(|(number, (field, asked))| {
            Reading::new(field, asked, number, &logits, text, input)
        });
        let mut readings: Vec<Reading<'_>> = readings.collect();
        avoid_taken(&mut readings, text);
        let values = { readings.iter() }
            .map(|reading| (reading.field.path.clone(), reading.texts(text, input)));
        Ok(Document::new(values.collect()))
    }

    /// The logits of a text, which is read in windows where it is long: of each unit, those of the window in which it
    /// is least at the edge.
    fn logits(
        &self,
        questions: &Questions,
        units: &[ReadUnit],
        first: usize,
    ) -> std::result::Result<SpanLogits, ModelError> {
        let positions: Vec<i64> = questions.asked.iter().map(|it| it.at as i64).collect();
        let windows = windows(first, units.len() - first);
        if windows.len() == 1 {
            return self.session(|session| session.read(units, &positions));
        }
        let (fields, sequence) = (positions.len(), units.len());
        let mut whole = SpanLogits {
            starts: vec![0.0; fields * sequence],
            ends: vec![0.0; fields * sequence],
            ..SpanLogits::default()
        };
        for (at, window) in windows.iter().enumerate() {
            let inside = first + window.start..first + window.end;
            let part = [&units[..first], &units[inside]].concat();
            let read = self.session(|session| session.read(&part, &positions))?;
            let from = if at == 0 { 0 } else { SHARED / 2 };
            for (field, asked) in questions.asked.iter().enumerate() {
                let row = field * sequence;
                let starts = &read.starts[field * part.len()..][..part.len()];
                let ends = &read.ends[field * part.len()..][..part.len()];
                let to = row + first + window.start + from;
                // What a list has at a place is told by comparison with no value in the same window.
                let none = asked.none.filter(|_| questions.fields[field].is_many);
                let none = none.map_or(0.0, |at| starts[at]);
                let here = starts[first + from..].iter().map(|logit| logit - none);
                for (place, logit) in whole.starts[to..].iter_mut().zip(here) {
                    *place = logit;
                }
                whole.ends[to..][..window.len() - from].copy_from_slice(&ends[first + from..]);
                for &option in &asked.options {
                    whole.starts[row + option] += starts[option] / windows.len() as f32;
                }
                if let Some(none) = asked.none
                    && !questions.fields[field].is_many
                {
                    // There is a value where any window has one.
                    let logit = &mut whole.starts[row + none];
                    *logit = match at {
                        0 => starts[none],
                        _ => logit.min(starts[none]),
                    };
                }
            }
            let width = read.first_vectors.len() / part.len();
            for (all, here) in [
                (&mut whole.first_vectors, read.first_vectors),
                (&mut whole.last_vectors, read.last_vectors),
            ] {
                all.resize(sequence * width, 0.0);
                let to = (first + window.start + from) * width;
                let rows = &here[(first + from) * width..];
                all[to..][..rows.len()].copy_from_slice(rows);
            }
            whole.distances = read.distances;
        }
        Ok(whole)
    }

    /// Waits for a session and uses it.
    fn session<T>(&self, use_it: impl FnOnce(&mut OrtReader) -> T) -> T {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = loop {
            match idle.pop() {
                Some(session) => break session,
                None => {
                    idle = { self.is_idle.wait(idle) }.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(idle);
        let done = use_it(&mut session);
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(session);
        self.is_idle.notify_one();
        done
    }
}

/// The windows of a text with `units` units, which follow `first` others in each run. Neighbours share [`SHARED`]
/// units.
fn windows(first: usize, units: usize) -> Vec<Range<usize>> {
    let width = MAX_RUN - first.min(MAX_QUESTIONS + 1);
    let from = |start: usize| start..units.min(start + width);
    std::iter::successors(Some(from(0)), |last| {
        (last.end < units).then(|| from(last.end - SHARED))
    })
    .collect()
}

impl Found {
    /// The sampler that prefers what was found.
    pub(crate) fn preference(&self, tokenizer: &Tokenizer) -> Preference {
        let vocabulary = Arc::clone(tokenizer.vocabulary());
        Preference::new(Arc::clone(&self.document), vocabulary, WEIGHT)
    }

    /// An error of the graph, the first time that it is asked for.
    pub(crate) fn failure(&self) -> Option<ModelError> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_a_text_and_share_units() {
        for end in [0, 460] {
            let whole = 0..end;
            assert_eq!(windows(100, end), [whole]);
        }
        assert_eq!(windows(100, 461), [0..460, 396..461]);
        for (first, units) in [(1, 5000), (MAX_QUESTIONS + 1, 5000)] {
            let found = windows(first, units);
            assert!(found.iter().all(|it| first + it.len() <= MAX_RUN + 1));
            assert_eq!((found[0].start, found.last().unwrap().end), (0, units));
            let shared = |pair: &[Range<usize>]| pair[0].end - pair[1].start == SHARED;
            assert!(found.windows(2).all(shared));
        }
    }
}

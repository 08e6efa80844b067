//! Reading: a second, small model that says where in a text each field of a schema has its value.
//!
//! The decoder writes a document from left to right, and has read the text in the same way. A reader looks at schema
//! and text in both directions at once, which makes it the better judge of which of the text's values is meant; what it
//! cannot do is write. So it weighs what the decoder chooses among: [`Preference`] is a sampler that adds to each
//! token's logit how much the probability of the document, as the reader has it, changes with the token. What may be
//! written is the constraint's matter as before.
//!
//! A text passes through the files in this order: [`fields`] of the schema, a [`question`] of [`units`] with what they
//! mean ([`lexicon`]), their [`sites`] and what they point at ([`pointers`]), the graph's logits, what the text's
//! [`words`] add to them ([`labels`], places [`taken`]), the [`spans`] of values and the [`numbers`], [`texts`] with
//! probabilities, the [`document`] that they make, a [`position`] in it, the [`preference`].

mod articles;
mod courtesy;
mod document;
mod fields;
mod labels;
mod lexicon;
mod numbers;
mod pointers;
mod position;
mod preference;
mod question;
mod sites;
mod spans;
mod taken;
mod text_units;
mod texts;
mod units;
mod words;

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use structgen_automata::Input;
use structgen_decode::ModelError;
use structgen_frontend::json_schema::{CompileReport, KeyOrder, Profile};
use structgen_ort::{OrtReader, ReadUnit, SpanLogits};
use structgen_vocab::Tokenizer;

use crate::Result;
use document::{Document, LazyDocument};
use fields::{FieldKind, ReadSchema};
pub(crate) use preference::Preference;
use question::{AskedField, Reading};
use sites::{Part, sites};
use taken::avoid_taken;
use text_units::TextUnits;
use units::{Mark, RowsOfUnits, Unit, UnitRows, units};

/// The most units of a run; the reader learnt from 520 at most. A longer text is read in windows.
const MAX_RUN: usize = 560;

/// The most units of a schema's fields; one that has more is left to the decoder alone.
const MAX_QUESTIONS: usize = 320;

/// The units that neighbouring windows share.
const SHARED: usize = 64;

/// The most windows; a longer text is left to the decoder alone.
const MAX_WINDOWS: usize = 64;

/// How much the reader's logarithms count. Of held-out families and domains, 74.3 and 69.8 percent of the fields are
/// right with 12, 74.0 and 69.3 with 8, 74.3 and 69.6 with 20.
const WEIGHT: f32 = 12.0;

/// The same where alternatives are looked for: with the weight above, hardly anything is left for them.
const WEIGHT_OF_ALTERNATIVES: f32 = 3.0;

/// The reader of a model.
pub(crate) struct Reader {
    tokenizer: Arc<Tokenizer>,
    sessions: Mutex<Sessions>,
    is_idle: Condvar,
    open: Open,
}

/// Opens a session.
type Open = Box<dyn Fn() -> Option<OrtReader> + Send + Sync>;

/// The sessions of a reader.
struct Sessions {
    /// Those that nobody uses.
    idle: Vec<OrtReader>,
    /// The number of those that are not open yet.
    unopened: usize,
}

/// A schema's fields, as units.
#[derive(Default)]
pub(crate) struct Questions {
    schema: ReadSchema,
    asked: Vec<AskedField>,
    /// The positions that are asked where values are, and the number of the field of each.
    queries: Vec<(i64, usize)>,
    parts: Vec<Part>,
    rows: Vec<UnitRows>,
}

/// What a reader finds in a text, once somebody wants to know.
#[derive(Clone)]
pub(crate) struct Found {
    document: Arc<LazyDocument>,
    /// Why there is nothing, where the graph failed.
    failure: Arc<Mutex<Option<ModelError>>>,
}

impl Questions {
    /// Adds a mark and a text; returns where the mark is.
    fn put(
        &mut self,
        mark: Mark,
        part: Part,
        text: &str,
        rows: &mut RowsOfUnits<'_>,
    ) -> Result<usize> {
        let at = self.rows.len();
        self.rows.push(mark.rows());
        self.rows.extend(rows.read(text, &units(text))?);
        self.parts.push(part);
        Ok(at)
    }

    /// The questions and some units of a text, which have these rows.
    fn with(&self, units: &[Unit], rows: &[UnitRows], text: &str) -> Vec<ReadUnit> {
        let mark = [Mark::Text.rows()];
        let rows = self.rows.iter().chain(&mark).chain(rows).copied();
        let roles = sites(&self.parts, text, units);
        { rows.zip(roles) }
            .map(|(UnitRows { form, senses }, roles)| ReadUnit {
                rows: form,
                senses,
                roles,
            })
            .collect()
    }
}

impl Reader {
    /// A reader that reads as many texts side by side as it has sessions.
    pub(crate) fn new(tokenizer: Arc<Tokenizer>, sessions: Vec<OrtReader>) -> Self {
        Self::with_sessions(tokenizer, sessions, 0, Box::new(|| None))
    }

    /// A reader that opens up to `more` sessions once all others are in use. One that cannot be opened is done without.
    pub(crate) fn on_demand(
        tokenizer: Arc<Tokenizer>,
        first: OrtReader,
        more: usize,
        open: Open,
    ) -> Self {
        Self::with_sessions(tokenizer, vec![first], more, open)
    }

    fn with_sessions(
        tokenizer: Arc<Tokenizer>,
        idle: Vec<OrtReader>,
        unopened: usize,
        open: Open,
    ) -> Self {
        Self {
            tokenizer,
            sessions: Mutex::new(Sessions { idle, unopened }),
            is_idle: Condvar::new(),
            open,
        }
    }

    /// The questions of a schema that was compiled with this report; none where it has no fields that are asked about.
    pub(crate) fn questions(
        &self,
        schema: &Value,
        report: &CompileReport,
    ) -> Result<Option<Questions>> {
        let mut rows = RowsOfUnits::new(&self.tokenizer);
        let mut schema = ReadSchema::new(schema);
        // Which key comes next is known where they come in order, and no others between them.
        if report.profile == Profile::Exact || report.key_order != KeyOrder::Declared {
            schema.keys.clear();
        }
        let mut found = Questions::default();
        for (number, field) in schema.fields.iter().enumerate() {
            let mut put = |mark, option, text: &str| {
                found.put(
                    mark,
                    Part::new(number, field.is_many, option, text),
                    text,
                    &mut rows,
                )
            };
            let at = put(Mark::Field, 0, &field.name)?;
            let mut options = Vec::new();
            if let FieldKind::Options(values) = &field.kind {
                for (option, value) in (1..).zip(values) {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        value => value.to_string(),
                    };
                    options.push(put(Mark::Option, option, &text)?);
                }
            }
            let none = field
                .is_optional
                .then(|| put(Mark::None, 0, ""))
                .transpose()?;
            let query = found.queries.len();
            let asked = if field.is_many && !options.is_empty() {
                &options[..]
            } else {
                &[at]
            };
            found
                .queries
                .extend(asked.iter().map(|&at| (at as i64, number)));
            found.asked.push(AskedField {
                query,
                options,
                none,
            });
            if found.rows.len() > MAX_QUESTIONS {
                return Ok(None);
            }
        }
        found.schema = schema;
        Ok((!found.asked.is_empty()).then_some(found))
    }

    /// Reads a text; none where it is too long.
    pub(crate) fn read(
        self: &Arc<Self>,
        questions: &Arc<Questions>,
        input: Arc<Input>,
    ) -> Result<Option<Found>> {
        let found = units(input.text());
        let text = TextUnits::new(questions.rows.len() + 1, &found, input.text());
        if windows(text.first, found.len()).len() > MAX_WINDOWS {
            return Ok(None);
        }
        let rows = RowsOfUnits::new(&self.tokenizer).read(input.text(), &found)?;
        let failure = Arc::new(Mutex::new(None));
        let (reader, questions) = (Arc::clone(self), Arc::clone(questions));
        let failed = Arc::clone(&failure);
        let read = move || match reader.document(&questions, (&found, &rows), &text, &input) {
            Ok(document) => document,
            Err(error) => {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Document::new(Vec::new(), &[])
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
        units: (&[Unit], &[UnitRows]),
        text: &TextUnits,
        input: &Input,
    ) -> std::result::Result<Document, ModelError> {
        let logits = self.logits(questions, units, input.text())?;
        let schema = &questions.schema;
        let fields = schema.fields.iter().zip(&questions.asked);
        let readings =
            fields.map(|(field, asked)| Reading::new(field, asked, &logits, text, input));
        let mut readings: Vec<Reading<'_>> = readings.collect();
        avoid_taken(&mut readings, text);
        let values = readings.iter().map(|reading| reading.value(text, input));
        Ok(Document::new(values.collect(), &schema.keys))
    }

    /// The logits of a text, which is read in windows where it is long: of each unit, those of the window in which it
    /// is least at the edge.
    fn logits(
        &self,
        questions: &Questions,
        (units, rows): (&[Unit], &[UnitRows]),
        text: &str,
    ) -> std::result::Result<SpanLogits, ModelError> {
        let positions: Vec<i64> = questions.queries.iter().map(|&(at, _)| at).collect();
        let first = questions.rows.len() + 1;
        let windows = windows(first, units.len());
        let part = |window: &Range<usize>| {
            questions.with(&units[window.clone()], &rows[window.clone()], text)
        };
        if let [whole] = &windows[..] {
            return self.session(|session| session.read(&part(whole), &positions));
        }
        let (queries, sequence) = (positions.len(), first + units.len());
        let mut whole = SpanLogits {
            starts: vec![0.0; queries * sequence],
            ends: vec![0.0; queries * sequence],
            ..SpanLogits::default()
        };
        for (at, window) in windows.iter().enumerate() {
            let part = part(window);
            let read = self.session(|session| session.read(&part, &positions))?;
            let from = if at == 0 { 0 } else { SHARED / 2 };
            for (query, &(_, field)) in questions.queries.iter().enumerate() {
                let asked = &questions.asked[field];
                let is_many = questions.schema.fields[field].is_many;
                let row = query * sequence;
                let starts = &read.starts[query * part.len()..][..part.len()];
                let ends = &read.ends[query * part.len()..][..part.len()];
                let to = row + first + window.start + from;
                // What a list has at a place is told by comparison with no value in the same window.
                let none = asked.none.filter(|_| is_many);
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
                    && !is_many
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

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session out: an idle one, or a new one, or else it waits for one.
    fn take(&self) -> OrtReader {
        let mut sessions = self.lock();
        loop {
            if let Some(session) = sessions.idle.pop() {
                return session;
            }
            if sessions.unopened > 0 {
                sessions.unopened -= 1;
                drop(sessions);
                if let Some(session) = (self.open)() {
                    return session;
                }
                sessions = self.lock();
            } else {
                sessions = { self.is_idle.wait(sessions) }.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Waits for a session and uses it.
    fn session<T>(&self, use_it: impl FnOnce(&mut OrtReader) -> T) -> T {
        let mut session = self.take();
        let done = use_it(&mut session);
        self.lock().idle.push(session);
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
        self.weighing(tokenizer, WEIGHT)
    }

    /// The same for a search for other values, which it leaves a share of the probability.
    pub(crate) fn mild_preference(&self, tokenizer: &Tokenizer) -> Preference {
        self.weighing(tokenizer, WEIGHT_OF_ALTERNATIVES)
    }

    fn weighing(&self, tokenizer: &Tokenizer, weight: f32) -> Preference {
        let vocabulary = Arc::clone(tokenizer.vocabulary());
        Preference::new(Arc::clone(&self.document), vocabulary, weight)
    }

    /// How probable a value is, as it is written, at a JSON Pointer; `None` if nothing is known of it.
    pub(crate) fn probability(&self, pointer: &str, written: &str) -> Option<f64> {
        self.document.probability(pointer, written)
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

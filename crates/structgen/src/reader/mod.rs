//! Reading: a second, small model that says where in a text each field of a schema has its value.
//!
//! The decoder writes a document from left to right, and has read the text in the same way. A reader looks at schema
//! and text in both directions at once, which makes it the better judge of which of the text's values is meant; what it
//! cannot do is write. So it weighs what the decoder chooses among: [`Preference`] is a sampler that adds to each
//! token's logit how much the probability of the document, as the reader has it, changes with the token. What may be
//! written is the constraint's matter as before.
//!
//! A text passes through the files in this order: [`fields`] of the schema, a [`question`] of [`tokens`], the graph's
//! logits, what the text's [`words`] add to them ([`labels`], [`yes_no`], places [`taken`]), the [`spans`] of values,
//! [`texts`] with probabilities, the [`document`] that they make, the [`preference`].

mod document;
mod fields;
mod labels;
mod lists;
mod preference;
mod question;
mod spans;
mod taken;
mod texts;
mod tokens;
mod words;
mod yes_no;

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::Value;
use structgen_automata::Input;
use structgen_decode::ModelError;
use structgen_ort::{OrtReader, SpanLogits};
use structgen_vocab::{TokenId, Tokenizer};

use crate::Result;
use document::{Document, LazyDocument};
use fields::{FieldKind, ReadField, fields};
pub(crate) use preference::Preference;
use question::{AskedField, Reading};
use taken::avoid_taken;
use tokens::TextTokens;

/// The most tokens of a run; the reader learnt from 900 at most. A longer text is read in windows.
const MAX_RUN: usize = 960;

/// The most tokens of a schema's fields; one that has more is left to the decoder alone.
const MAX_QUESTIONS: usize = 640;

/// The tokens that neighbouring windows share.
const SHARED: usize = 128;

/// The most windows; a longer text is left to the decoder alone.
const MAX_WINDOWS: usize = 64;

/// How much the reader's logarithms count. Of held-out families and domains, 64.8 and 63.9 percent of the fields are
/// right with 2, 66.2 and 64.5 with 4, 66.2 and 65.2 with 6, and 65.7 and 65.2 with 10.
const WEIGHT: f32 = 5.0;

/// The reader of a model.
pub(crate) struct Reader {
    tokenizer: Arc<Tokenizer>,
    marks: Marks,
    /// The sessions that nobody uses.
    idle: Mutex<Vec<OrtReader>>,
    is_idle: Condvar,
}

/// The tokens that stand before the parts of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) field: TokenId,
    pub(crate) option: TokenId,
    pub(crate) none: TokenId,
    pub(crate) text: TokenId,
}

/// A schema's fields, as tokens.
pub(crate) struct Questions {
    fields: Vec<ReadField>,
    asked: Vec<AskedField>,
    ids: Vec<i64>,
}

/// What a reader finds in a text, once somebody wants to know.
#[derive(Clone)]
pub(crate) struct Found {
    document: Arc<LazyDocument>,
    /// Why there is nothing, where the graph failed.
    failure: Arc<Mutex<Option<ModelError>>>,
}

impl Reader {
    /// A reader that reads as many texts side by side as it has sessions; none where it has none.
    pub(crate) fn new(
        tokenizer: Arc<Tokenizer>,
        marks: Marks,
        sessions: Vec<OrtReader>,
    ) -> Option<Self> {
        (!sessions.is_empty()).then(|| Self {
            tokenizer,
            marks,
            idle: Mutex::new(sessions),
            is_idle: Condvar::new(),
        })
    }

    /// The questions of a schema; none where it has no fields that are asked about.
    pub(crate) fn questions(&self, schema: &Value) -> Result<Option<Questions>> {
        let mut found = Questions {
            fields: fields(schema),
            asked: Vec::new(),
            ids: Vec::new(),
        };
        let Questions { fields, asked, ids } = &mut found;
        for field in fields.iter() {
            let at = self.put(self.marks.field, &field.name, ids)?;
            let mut options = Vec::new();
            if let FieldKind::Options(values) = &field.kind {
                for value in values {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        value => value.to_string(),
                    };
                    options.push(self.put(self.marks.option, &text, ids)?);
                }
            }
            let none = { field.is_optional }
                .then(|| self.put(self.marks.none, "", ids))
                .transpose()?;
            asked.push(AskedField { at, options, none });
            if ids.len() > MAX_QUESTIONS {
                return Ok(None);
            }
        }
        Ok((!found.fields.is_empty()).then_some(found))
    }

    /// A mark and a text; where the mark is.
    fn put(&self, mark: TokenId, text: &str, ids: &mut Vec<i64>) -> Result<usize> {
        let at = ids.len();
        ids.push(i64::from(mark.0));
        let tokens = self.tokenizer.encode(text)?;
        ids.extend(tokens.iter().map(|token| i64::from(token.0)));
        Ok(at)
    }

    /// Reads a text; none where it is too long.
    pub(crate) fn read(
        self: &Arc<Self>,
        questions: &Arc<Questions>,
        input: Arc<Input>,
    ) -> Result<Option<Found>> {
        let text = input.text();
        let mut ids = questions.ids.clone();
        // Hardly any text has tokens of more bytes: no more time is spent on one that is too long.
        if text.len() / 16 > MAX_WINDOWS * MAX_RUN {
            return Ok(None);
        }
        let first = self.put(self.marks.text, text, &mut ids)? + 1;
        let Some(spans) = self.spans(&ids[first..], text) else {
            return Ok(None);
        };
        if windows(first, spans.len()).len() > MAX_WINDOWS {
            return Ok(None);
        }
        let tokens = TextTokens::new(first, spans, text);
        let failure = Arc::new(Mutex::new(None));
        let (reader, questions) = (Arc::clone(self), Arc::clone(questions));
        let failed = Arc::clone(&failure);
        let read = move || match reader.document(&questions, &ids, &tokens, &input) {
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
        ids: &[i64],
        tokens: &TextTokens,
        input: &Input,
    ) -> std::result::Result<Document, ModelError> {
        let logits = self.logits(questions, ids, tokens.first)?;
        let fields = questions.fields.iter().zip(&questions.asked).enumerate();
        let readings = fields.map(|(number, (field, asked))| {
            Reading::new(field, asked, number, &logits, tokens, input)
        });
        let mut readings: Vec<Reading<'_>> = readings.collect();
        avoid_taken(&mut readings, tokens);
        let values = { readings.iter() }
            .map(|reading| (reading.field.path.clone(), reading.texts(tokens, input)));
        Ok(Document::new(values.collect()))
    }

    /// The logits of a text, which is read in windows where it is long: of each token, those of the window in which it
    /// is least at the edge.
    fn logits(
        &self,
        questions: &Questions,
        ids: &[i64],
        first: usize,
    ) -> std::result::Result<SpanLogits, ModelError> {
        let positions: Vec<i64> = questions.asked.iter().map(|it| it.at as i64).collect();
        let windows = windows(first, ids.len() - first);
        if windows.len() == 1 {
            return self.session(|session| session.read(ids, &positions));
        }
        let (fields, sequence) = (positions.len(), ids.len());
        let mut whole = SpanLogits {
            starts: vec![0.0; fields * sequence],
            ends: vec![0.0; fields * sequence],
        };
        for (at, window) in windows.iter().enumerate() {
            let tokens = first + window.start..first + window.end;
            let part = [&ids[..first], &ids[tokens]].concat();
            let read = self.session(|session| session.read(&part, &positions))?;
            let from = if at == 0 { 0 } else { SHARED / 2 };
            for (field, asked) in questions.asked.iter().enumerate() {
                let row = field * sequence;
                let starts = &read.starts[field * part.len()..][..part.len()];
                let ends = &read.ends[field * part.len()..][..part.len()];
                let to = row + first + window.start + from;
                whole.starts[to..][..window.len() - from].copy_from_slice(&starts[first + from..]);
                whole.ends[to..][..window.len() - from].copy_from_slice(&ends[first + from..]);
                for &option in &asked.options {
                    whole.starts[row + option] += starts[option] / windows.len() as f32;
                }
                if let Some(none) = asked.none {
                    // There is a value where any window has one.
                    let logit = &mut whole.starts[row + none];
                    *logit = match at {
                        0 => starts[none],
                        _ => logit.min(starts[none]),
                    };
                }
            }
        }
        Ok(whole)
    }

    /// The bytes of each token of a text; none where they are not those of the text.
    fn spans(&self, ids: &[i64], text: &str) -> Option<Vec<Range<usize>>> {
        let mut end = 0;
        let vocabulary = self.tokenizer.vocabulary();
        let spans = ids.iter().map(|&id| {
            let start = end;
            let bytes = vocabulary
                .token_bytes(TokenId(id as u32))
                .unwrap_or_default();
            end += bytes.len();
            start..end
        });
        let spans: Vec<_> = spans.collect();
        (end == text.len()).then_some(spans)
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

/// The windows of a text with `tokens` tokens, which follow `first` others in each run. Neighbours share [`SHARED`]
/// tokens.
fn windows(first: usize, tokens: usize) -> Vec<Range<usize>> {
    let width = MAX_RUN - first.min(MAX_QUESTIONS + 1);
    let from = |start: usize| start..tokens.min(start + width);
    std::iter::successors(Some(from(0)), |last| {
        (last.end < tokens).then(|| from(last.end - SHARED))
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
    fn windows_cover_a_text_and_share_tokens() {
        for end in [0, 860] {
            let whole = 0..end;
            assert_eq!(windows(100, end), [whole]);
        }
        assert_eq!(windows(100, 861), [0..860, 732..861]);
        for (first, tokens) in [(1, 5000), (MAX_QUESTIONS + 1, 5000)] {
            let found = windows(first, tokens);
            assert!(found.iter().all(|it| first + it.len() <= MAX_RUN + 1));
            assert_eq!((found[0].start, found.last().unwrap().end), (0, tokens));
            let shared = |pair: &[Range<usize>]| pair[0].end - pair[1].start == SHARED;
            assert!(found.windows(2).all(shared));
        }
    }
}

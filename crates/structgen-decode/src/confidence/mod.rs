//! The model's confidence in each value of a JSON output.

mod merge;
mod score;

pub use score::{Score, SpanScore};

use std::ops::Range;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use crate::{
    Generation,
    events::{JsonEvents, JsonKind, NotJson, OutputEvent, OutputPart},
};
use score::Sums;

/// The model's confidence in each value of a JSON output, containers and their members included.
///
/// It measures how sure the model was of what it wrote, not whether that is true. [`SpanScore`] defines how tokens at
/// the borders of values and forced tokens count. Keys, commas and whitespace count for their container. The decision
/// to end a number is made by the token after it, and counts there.
///
/// It serialises to a JSON array of `{"pointer", "kind", "span": {"start", "end"}, "tokens", "forced", "model":
/// {"log_prob", "mean", "lowest"}, "allowed": {…}}`. Numbers that are minus infinity become null, and values that a cut
/// output did not complete have `"complete": false`.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_vocab::{TokenId, TokenMask, Vocabulary};
///
/// // A constraint would ensure that the output is JSON; here no other token can be chosen.
/// let vocabulary = Vocabulary::from_tokens([b"[1,".to_vec(), b"2]".to_vec()], &[])?;
/// let model = MockModel::new(2, 64, []).preferring(TokenId(0), 40.0);
/// let options = GenerateOptions { log_probs: true, max_new_tokens: Some(1), ..GenerateOptions::default() };
/// let free = Unconstrained::new(TokenMask::full(2), &[]);
/// let request = Request::new([TokenId(0)], free).with_options(options);
/// let output = Scheduler::new(model, vocabulary).run(request)?.single()?;
/// let confidence = output.confidence()?;
/// let one = confidence.get("/0").expect("it was written");
/// assert_eq!((one.span.clone(), one.is_complete), (1..2, true));
/// assert!(one.score.model.probability() > 0.99);
/// assert!(!confidence.fields()[0].is_complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Confidence {
    fields: Vec<FieldConfidence>,
}

/// The model's confidence in a value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldConfidence {
    /// The type of the value.
    pub kind: JsonKind,
    /// Its bytes in the text, including quotes and brackets.
    pub span: Range<usize>,
    /// Whether it was written to its end.
    pub is_complete: bool,
    /// How probable its tokens were.
    pub score: SpanScore,
    parent: Option<usize>,
    /// The last segment of its pointer, escaped as in the pointer.
    name: Box<str>,
    /// The number of fields in it, including itself.
    len: usize,
}

/// Why no confidence is available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfidenceError {
    /// The request did not ask for log probabilities.
    #[error(
        "the output was generated without log probabilities: ask for them by GenerateOptions::log_probs"
    )]
    NoLogProbs,
    /// The output is not JSON.
    #[error("the output is no JSON")]
    NotJson(#[from] NotJson),
}

impl Generation {
    /// Returns the model's confidence in each value of a JSON output, or of a prefix of one.
    ///
    /// # Errors
    /// If the output is not a prefix of JSON, or was generated without [log
    /// probabilities](crate::GenerateOptions::log_probs).
    pub fn confidence(&self) -> Result<Confidence, ConfidenceError> {
        let sums = Sums::new(&self.tokens).ok_or(ConfidenceError::NoLogProbs)?;
        let mut fields: Vec<FieldConfidence> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut on_event = |event: OutputEvent<'_>| match event {
            OutputEvent::Started {
                part: OutputPart::Field { pointer, kind },
                start,
            } => {
                let name = pointer.rsplit_once('/').map_or("", |(_, name)| name);
                fields.push(FieldConfidence {
                    kind,
                    span: start..self.text.len(),
                    is_complete: false,
                    score: SpanScore::default(),
                    parent: open.last().copied(),
                    name: name.into(),
                    len: 1,
                });
                open.push(fields.len() - 1);
            }
            OutputEvent::Done { span, .. } => {
                if let Some(index) = open.pop() {
                    fields[index].span = span;
                    fields[index].is_complete = true;
                    fields[index].len = fields.len() - index;
                }
            }
            _ => {}
        };
        let mut events = JsonEvents::new();
        events.push(&self.text, &mut on_event)?;
        // An incomplete value is marked in its field, so the error is not needed.
        let _ = events.finish(&mut on_event);
        for index in open {
            fields[index].len = fields.len() - index;
        }
        for field in &mut fields {
            field.score = sums.span(&field.span);
        }
        Ok(Confidence { fields })
    }
}

impl Confidence {
    /// Returns the values in the order of their starts: each container comes before its members.
    #[must_use]
    pub fn fields(&self) -> &[FieldConfidence] {
        &self.fields
    }

    /// Returns the JSON Pointer to the field with this index; it is empty for the whole document, and for an index out
    /// of range.
    #[must_use]
    pub fn pointer(&self, index: usize) -> String {
        let parent = |field: &&FieldConfidence| field.parent.map(|at| &self.fields[at]);
        let path = std::iter::successors(self.fields.get(index), parent);
        let mut names: Vec<&str> = { path }
            .filter(|field| field.parent.is_some())
            .map(|field| &*field.name)
            .collect();
        names.reverse();
        names.into_iter().flat_map(|name| ["/", name]).collect()
    }

    /// Returns the value at a JSON Pointer.
    #[must_use]
    pub fn get(&self, pointer: &str) -> Option<&FieldConfidence> {
        let mut at = 0;
        let mut names = pointer.split('/');
        if names.next() != Some("") {
            return None;
        }
        for name in names {
            at = self
                .children(at)
                .find(|&child| *self.fields[child].name == *name)?;
        }
        self.fields.get(at)
    }

    fn children(&self, parent: usize) -> impl Iterator<Item = usize> {
        let end = parent + self.fields.get(parent).map_or(0, |field| field.len);
        let next = move |at: usize| (at < end).then_some(at);
        std::iter::successors(next(parent + 1), move |&at| next(at + self.fields[at].len))
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Line<'f> {
            pointer: String,
            kind: JsonKind,
            span: &'f Range<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            complete: Option<bool>,
            #[serde(flatten)]
            score: SpanScore,
        }
        let mut lines = serializer.serialize_seq(Some(self.fields.len()))?;
        for (index, field) in self.fields.iter().enumerate() {
            lines.serialize_element(&Line {
                pointer: self.pointer(index),
                kind: field.kind,
                span: &field.span,
                complete: (!field.is_complete).then_some(false),
                score: field.score,
            })?;
        }
        lines.end()
    }
}

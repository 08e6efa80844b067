//! How sure the model was of each value of a JSON output.

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

/// How sure the model was of each value of a JSON output, containers and what is in them.
///
/// It is about what was written and not about whether that is true; [`SpanScore`] defines how tokens at the borders of
/// values and forced ones count. Keys, commas and whitespace count in the container that they are in. The choice to end
/// a number is that of the token after it, and counts there.
///
/// As JSON it is a list of `{"pointer", "kind", "span": {"start", "end"}, "tokens", "forced", "model": {"log_prob",
/// "mean", "lowest"}, "allowed": {…}}`, of which numbers that are minus infinity are null; what an output that was cut
/// had begun has `"complete": false`.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_vocab::{TokenId, TokenMask, Vocabulary};
///
/// // A constraint would see to it that the output is JSON; here no other token can be chosen.
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

/// How sure the model was of a value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldConfidence {
    /// What the value is.
    pub kind: JsonKind,
    /// Its bytes of the text, quotes and brackets included.
    pub span: Range<usize>,
    /// Whether it was written to its end.
    pub is_complete: bool,
    /// How probable its tokens were.
    pub score: SpanScore,
    parent: Option<usize>,
    /// The last part of its pointer, as it stands there.
    name: Box<str>,
    /// How many fields it has in it, itself included.
    len: usize,
}

/// Why there is no confidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfidenceError {
    /// Nobody asked for log probabilities.
    #[error(
        "the output was generated without log probabilities: ask for them by GenerateOptions::log_probs"
    )]
    NoLogProbs,
    /// The output is no JSON.
    #[error("the output is no JSON")]
    NotJson(#[from] NotJson),
}

impl Generation {
    /// How sure the model was of each value of a JSON output, or of the beginning of one.
    ///
    /// # Errors
    /// When the output is no beginning of JSON, or was generated without [log
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
        // What is not complete is told by its field.
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
    /// The values, in the order in which they begin: each container before what is in it.
    #[must_use]
    pub fn fields(&self) -> &[FieldConfidence] {
        &self.fields
    }

    /// The JSON Pointer to the field of this index; empty for the whole and for an index out of range.
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

    /// The value that a JSON Pointer leads to.
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

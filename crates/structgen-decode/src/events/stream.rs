//! The events of an output, for any constraint.

use std::borrow::Cow;

use structgen_constraint::{CompiledConstraint, MatcherError};
use structgen_vocab::TokenId;

use super::captures::CaptureEvents;
use super::{JsonEvents, NotJson, OutputEvent};

/// Reports the parts of an output while it is generated.
///
/// The parts depend on the constraint's grammar. If it describes JSON, they are the values, found by [`JsonEvents`]:
/// the matcher knows the state of an output but not how it got there, and in JSON the text alone determines what
/// belongs to which value. If the grammar names parts (`@name(…)`, named groups), they are these captures, found by a
/// matcher of the stream's own, in addition to the text. Otherwise there is only the text.
///
/// A stream works with the deltas of any strategy. These contain only final text: rejected drafts and dropped beams
/// leave no trace.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
/// use structgen_decode::{MockModel, Request, Scheduler, events::EventStream};
/// use structgen_frontend::json_schema::{SchemaOptions, compile};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Arc::new(Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?);
/// let schema = serde_json::json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
/// let grammar = compile(&schema, &SchemaOptions::default())?.grammar;
/// let tables = Arc::new(VocabularyTables::new(vocabulary.clone()));
/// let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
///
/// let mut events = EventStream::new(&constraint);
/// let mut told = Vec::new();
/// let mut on_event = |event: structgen_decode::events::OutputEvent<'_>| told.push(event.into_owned());
/// let request = Request::new([TokenId(0)], constraint.matcher());
/// Scheduler::new(MockModel::new(256, 100, []), vocabulary).run_with(request, |_, delta| {
///     match events.push(delta.text, delta.output, &mut on_event) {
///         Ok(()) => ControlFlow::Continue(()),
///         Err(_) => ControlFlow::Break(()),
///     }
/// })?;
/// events.finish(&mut on_event)?;
/// let line = serde_json::to_string(&told[1])?;
/// assert_eq!(line, r#"{"event":"started","pointer":"/ok","kind":"boolean","start":6}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EventStream {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Json(JsonEvents),
    Captures(Box<CaptureEvents>),
    Text,
}

/// Why an output has no more events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The output is not JSON: it was not generated under the stream's constraint.
    #[error("the output is no JSON")]
    NotJson(#[from] NotJson),
    /// The stream's matcher refuses a token, which was not generated under its constraint, or exceeds a limit.
    #[error(transparent)]
    Matcher(#[from] MatcherError),
    /// The output was ended before it is complete.
    #[error("the output is not complete after {offset} bytes")]
    Incomplete {
        /// The number of bytes read.
        offset: usize,
    },
}

impl EventStream {
    /// Creates a stream for outputs under this constraint.
    #[must_use]
    pub fn new(constraint: &CompiledConstraint) -> Self {
        let kind = if constraint.captures().is_some() {
            Kind::Captures(Box::new(CaptureEvents::new(constraint.matcher())))
        } else if constraint.program().grammar().is_json() {
            Kind::Json(JsonEvents::new())
        } else {
            Kind::Text
        };
        Self { kind }
    }

    /// Creates a stream of JSON values, whatever the constraint.
    #[must_use]
    pub fn json() -> Self {
        Self {
            kind: Kind::Json(JsonEvents::new()),
        }
    }

    /// Creates a stream of text only.
    #[must_use]
    pub fn text() -> Self {
        Self { kind: Kind::Text }
    }

    /// Returns whether JSON values are reported.
    #[must_use]
    pub fn is_json(&self) -> bool {
        matches!(self.kind, Kind::Json(_))
    }

    /// Reads the next piece of the output's text; `output` is all tokens so far, including the prefill. No piece may be
    /// left out.
    ///
    /// With captures, this takes time proportional to the whole text so far.
    ///
    /// # Errors
    /// If the output is not of the stream's kind, or the search for captures exceeds a limit.
    pub fn push(
        &mut self,
        text: &str,
        output: &[TokenId],
        on_event: &mut dyn FnMut(OutputEvent<'_>),
    ) -> Result<(), EventError> {
        match &mut self.kind {
            Kind::Json(events) => events.push(text, on_event)?,
            Kind::Captures(events) => events.push(text, output, on_event)?,
            Kind::Text => tell_text(text, on_event),
        }
        Ok(())
    }

    /// Ends the output, which must be complete. Nothing may be pushed afterwards.
    ///
    /// # Errors
    /// If it is not complete, and as for [`push`](EventStream::push).
    pub fn finish(&mut self, on_event: &mut dyn FnMut(OutputEvent<'_>)) -> Result<(), EventError> {
        match &mut self.kind {
            Kind::Json(events) => events.finish(on_event)?,
            Kind::Captures(events) => events.finish(on_event)?,
            Kind::Text => {}
        }
        Ok(())
    }
}

pub(super) fn tell_text(text: &str, on_event: &mut dyn FnMut(OutputEvent<'_>)) {
    if !text.is_empty() {
        on_event(OutputEvent::Text {
            text: Cow::Borrowed(text),
        });
    }
}

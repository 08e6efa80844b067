//! The events of an output while it is generated.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

/// A fact about an output that has become final.
///
/// Events borrow from their source, so that a deeply nested value does not copy its pointer;
/// [`into_owned`](OutputEvent::into_owned) makes an owned one. As JSON they are flat: `{"event": "started", "pointer":
/// "/name", "kind": "string", "start": 8}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputEvent<'a> {
    /// More text of an output that is not a JSON value.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// A part has started.
    Started {
        /// The part.
        #[serde(flatten)]
        part: OutputPart<'a>,
        /// The offset of its first byte.
        start: usize,
    },
    /// More text of a part: for strings, the text without quotes and escapes; for other values and captures, the bytes
    /// as written. Objects and arrays have no deltas.
    Delta {
        /// The part.
        #[serde(flatten)]
        part: OutputPart<'a>,
        /// The text; never empty.
        text: Cow<'a, str>,
    },
    /// A part is complete.
    Done {
        /// The part.
        #[serde(flatten)]
        part: OutputPart<'a>,
        /// Its bytes, including quotes and brackets.
        span: Range<usize>,
    },
    /// A capture is no longer valid, because later text changes how the output is parsed. Everything reported about it
    /// is void. Parts of JSON are never withdrawn.
    Withdrawn {
        /// The part.
        #[serde(flatten)]
        part: OutputPart<'a>,
    },
}

/// A part of an output.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum OutputPart<'a> {
    /// A value of a JSON document.
    Field {
        /// Its location, as a JSON Pointer (RFC 6901); empty for the whole document.
        pointer: Cow<'a, str>,
        /// Its type.
        kind: JsonKind,
    },
    /// The text matched by a named part of the grammar.
    Capture {
        /// The name.
        name: Cow<'a, str>,
        /// Its number within the output, from 0, in the order of the first reports.
        number: usize,
    },
}

/// The type of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonKind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

impl JsonKind {
    /// Returns whether values of this kind contain others.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

impl OutputEvent<'_> {
    /// Returns the part that the event is about.
    #[must_use]
    pub fn part(&self) -> Option<&OutputPart<'_>> {
        match self {
            Self::Text { .. } => None,
            Self::Started { part, .. }
            | Self::Delta { part, .. }
            | Self::Done { part, .. }
            | Self::Withdrawn { part } => Some(part),
        }
    }

    /// Converts the event into one that owns its texts.
    #[must_use]
    pub fn into_owned(self) -> OutputEvent<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Text { text } => OutputEvent::Text { text: own(text) },
            Self::Started { part, start } => OutputEvent::Started {
                part: part.into_owned(),
                start,
            },
            Self::Delta { part, text } => OutputEvent::Delta {
                part: part.into_owned(),
                text: own(text),
            },
            Self::Done { part, span } => OutputEvent::Done {
                part: part.into_owned(),
                span,
            },
            Self::Withdrawn { part } => OutputEvent::Withdrawn {
                part: part.into_owned(),
            },
        }
    }
}

impl OutputPart<'_> {
    /// Converts the part into one that owns its texts.
    #[must_use]
    pub fn into_owned(self) -> OutputPart<'static> {
        match self {
            Self::Field { pointer, kind } => OutputPart::Field {
                pointer: pointer.into_owned().into(),
                kind,
            },
            Self::Capture { name, number } => OutputPart::Capture {
                name: name.into_owned().into(),
                number,
            },
        }
    }
}

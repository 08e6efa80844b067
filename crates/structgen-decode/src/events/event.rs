//! What is told of an output while it comes.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

/// What became certain about an output.
///
/// Events borrow from their source, so that a value deep inside others costs no copy of its pointer;
/// [`into_owned`](OutputEvent::into_owned) keeps one. As JSON they are flat: `{"event": "started", "pointer": "/name",
/// "kind": "string", "start": 8}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputEvent<'a> {
    /// More text of an output that is no JSON value.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// A part has begun.
    Started {
        /// Which one.
        #[serde(flatten)]
        part: OutputPart<'a>,
        /// The offset of its first byte.
        start: usize,
    },
    /// More of a part: of a string its text without quotes and escapes, of other values and of captures what is
    /// written. Objects and arrays have none.
    Delta {
        /// Which one.
        #[serde(flatten)]
        part: OutputPart<'a>,
        /// The text; never empty.
        text: Cow<'a, str>,
    },
    /// A part is complete.
    Done {
        /// Which one.
        #[serde(flatten)]
        part: OutputPart<'a>,
        /// Its bytes, quotes and brackets included.
        span: Range<usize>,
    },
    /// A capture is none: what has come since is read in another way. All that was told of it is void. Parts of JSON
    /// never are.
    Withdrawn {
        /// Which one.
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
        /// Where it is, as a JSON Pointer (RFC 6901); empty for the whole.
        pointer: Cow<'a, str>,
        /// What it is.
        kind: JsonKind,
    },
    /// What a named part of the grammar has matched.
    Capture {
        /// The name.
        name: Cow<'a, str>,
        /// Which one of the output, from 0, in the order in which they were first told.
        number: usize,
    },
}

/// What a JSON value is.
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
    /// True or false.
    Boolean,
    /// Null.
    Null,
}

impl JsonKind {
    /// Whether values of this kind have others in them.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

impl OutputEvent<'_> {
    /// The part that the event is about.
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

    /// The event with texts of its own.
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
    /// The part with texts of its own.
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

//! Partial values, while a value is generated.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use structgen_decode::events::{EventError, EventStream, JsonKind, OutputEvent, OutputPart};
use structgen_grammar::json_pointer::unescaped;

use crate::extracting::Extracting;
use crate::{Extraction, Result};

/// An extraction that yields partial values while it runs:
/// [`Extractor::extract_stream`](crate::Extractor::extract_stream).
///
/// The iterator yields the value so far whenever it has changed: objects and arrays with the members that have started,
/// strings up to where they are written, numbers and literals once they are complete. The last item is the whole value.
/// Dropping the stream cancels the extraction.
///
/// ```no_run
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// # #[derive(Debug, JsonSchema, Deserialize)]
/// # struct Flight { number: String }
/// let flights = structgen::Extractor::<Flight>::embedded()?;
/// let mut stream = flights.extract_stream("Flight QR 148 now leaves from gate C04.")?;
/// for partial in &mut stream {
///     println!("{}", partial?);
/// }
/// println!("{:?}", stream.finish()?.value);
/// # Ok::<(), structgen::Error>(())
/// ```
pub struct ExtractionStream<T> {
    pending: Extracting<T>,
    value: PartialValue,
}

impl<T> ExtractionStream<T> {
    pub(crate) fn new(pending: Extracting<T>) -> Self {
        Self {
            pending,
            value: PartialValue::default(),
        }
    }
}

impl<T: DeserializeOwned> ExtractionStream<T> {
    /// Waits for the whole value.
    ///
    /// # Errors
    /// As for [`Extractor::extract`](crate::Extractor::extract).
    pub fn finish(self) -> Result<Extraction<T>> {
        self.pending.wait()
    }
}

impl<T> Iterator for ExtractionStream<T> {
    type Item = Result<Value>;

    fn next(&mut self) -> Option<Self::Item> {
        // If there are several outputs, the first one is extracted.
        let run = self.pending.run().into_iter().flatten();
        for event in run.filter(|event| event.output == 0) {
            match self.value.push(&event.text) {
                Ok(true) => return Some(Ok(self.value.root.clone())),
                Ok(false) => {}
                Err(error) => return Some(Err(error.into())),
            }
        }
        // A number at the root is known to be complete only at the end.
        self.value.finish().then(|| Ok(self.value.root.clone()))
    }
}

impl<T> fmt::Debug for ExtractionStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractionStream")
            .field("value", &self.value.root)
            .finish_non_exhaustive()
    }
}

/// A value that grows with its text.
#[derive(Debug)]
struct PartialValue {
    events: EventStream,
    root: Value,
    /// The text of the current number or literal.
    scalar: String,
    has_changed: bool,
    has_ended: bool,
}

impl Default for PartialValue {
    fn default() -> Self {
        Self {
            events: EventStream::json(),
            root: Value::Null,
            scalar: String::new(),
            has_changed: false,
            has_ended: false,
        }
    }
}

impl PartialValue {
    /// Reads the next piece of the text; returns whether the value has changed.
    fn push(&mut self, text: &str) -> Result<bool, EventError> {
        self.with_events(|events, on_event| events.push(text, &[], on_event))
    }

    /// Ends the text; returns whether the value has changed. If the text was cut, the extraction itself reports why.
    fn finish(&mut self) -> bool {
        if std::mem::replace(&mut self.has_ended, true) {
            return false;
        }
        let finished = self.with_events(|events, on_event| events.finish(on_event));
        finished.unwrap_or(false)
    }

    fn with_events(
        &mut self,
        read: impl FnOnce(&mut EventStream, &mut dyn FnMut(OutputEvent<'_>)) -> Result<(), EventError>,
    ) -> Result<bool, EventError> {
        self.has_changed = false;
        let mut events = std::mem::replace(&mut self.events, EventStream::text());
        let outcome = read(&mut events, &mut |event| self.apply(&event));
        self.events = events;
        outcome.map(|()| self.has_changed)
    }

    fn apply(&mut self, event: &OutputEvent<'_>) {
        match event {
            OutputEvent::Started {
                part: OutputPart::Field { pointer, kind },
                ..
            } => {
                self.scalar.clear();
                let empty = match kind {
                    JsonKind::Object => Value::Object(Map::new()),
                    JsonKind::Array => Value::Array(Vec::new()),
                    JsonKind::String => Value::String(String::new()),
                    _ => return,
                };
                self.insert(pointer, empty);
            }
            OutputEvent::Delta {
                part: OutputPart::Field { pointer, kind },
                text,
            } => match (kind, self.root.pointer_mut(pointer)) {
                (JsonKind::String, Some(Value::String(written))) => {
                    written.push_str(text);
                    self.has_changed = true;
                }
                (JsonKind::String | JsonKind::Object | JsonKind::Array, _) => {}
                _ => self.scalar.push_str(text),
            },
            OutputEvent::Done {
                part: OutputPart::Field { pointer, kind },
                ..
            } => {
                let is_scalar =
                    !matches!(kind, JsonKind::String | JsonKind::Object | JsonKind::Array);
                if is_scalar && let Ok(value) = serde_json::from_str(&self.scalar) {
                    self.insert(pointer, value);
                }
            }
            _ => {}
        }
    }

    /// Inserts a value where there was none.
    fn insert(&mut self, pointer: &str, value: Value) {
        self.has_changed = true;
        let Some((parent, key)) = pointer.rsplit_once('/') else {
            self.root = value;
            return;
        };
        match self.root.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                members.insert(unescaped(key).into_owned(), value);
            }
            Some(Value::Array(items)) => items.push(value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with every element of JSON, which may be cut anywhere.
    const DOCUMENT: &str = r#"{"a/b~c": "q\"\\\u00e9\ud83d\ude00\n", "": [[], [-1.5e3, [null, true]], {"deep": {"x": "ü"}}], "n": 0}"#;

    /// Returns whether a value is only extended by becoming another one.
    fn grows(before: &Value, after: &Value) -> bool {
        match (before, after) {
            (Value::String(before), Value::String(after)) => after.starts_with(before),
            (Value::Array(before), Value::Array(after)) => {
                before.len() <= after.len() && before.iter().zip(after).all(|(b, a)| grows(b, a))
            }
            (Value::Object(before), Value::Object(after)) => { before.iter() }
                .all(|(key, value)| after.get(key).is_some_and(|after| grows(value, after))),
            _ => before == after,
        }
    }

    #[test]
    fn values_grow_and_end_in_the_whole_wherever_the_text_is_cut() {
        let whole: Value = serde_json::from_str(DOCUMENT).unwrap();
        for size in 1..DOCUMENT.len() {
            let mut value = PartialValue::default();
            let mut before = None::<Value>;
            let mut rest = DOCUMENT;
            while !rest.is_empty() {
                let end = (size..=rest.len()).find(|&at| rest.is_char_boundary(at));
                let (piece, others) = rest.split_at(end.unwrap_or(rest.len()));
                rest = others;
                let has_changed = value.push(piece).unwrap();
                let after = &value.root;
                match before {
                    Some(before) => {
                        assert!(grows(&before, after), "{before} {after}");
                        assert_eq!(before != *after, has_changed);
                    }
                    None => assert!(has_changed),
                }
                assert!(grows(after, &whole), "{after}");
                before = Some(after.clone());
            }
            assert!(!value.finish());
            assert_eq!(value.root, whole);
        }
    }

    #[test]
    fn a_scalar_is_there_once_it_is_complete() {
        for (text, at_end) in [
            ("-12.5e1", true),
            ("true", false),
            ("null", false),
            ("\"a\"", false),
        ] {
            let mut value = PartialValue::default();
            value.push(text).unwrap();
            assert_eq!(
                value.root == Value::Null,
                at_end || text == "null",
                "{text}"
            );
            assert_eq!(value.finish(), at_end);
            assert_eq!(value.root, serde_json::from_str::<Value>(text).unwrap());
            assert!(!value.finish());
        }
    }

    #[test]
    fn what_is_cut_stays_as_far_as_it_came() {
        let mut value = PartialValue::default();
        value.push(r#"{"a": [1, 23, {"b": "x"#).unwrap();
        assert!(!value.finish());
        assert_eq!(value.root, serde_json::json!({"a": [1, 23, {"b": "x"}]}));
    }
}

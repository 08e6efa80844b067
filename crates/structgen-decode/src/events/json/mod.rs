//! Reports the values of a JSON text while it is written.

mod number;
mod string;
#[cfg(test)]
mod tests;
mod whole;

use std::borrow::Cow;

use super::{JsonKind, OutputEvent, OutputPart};
use number::Number;
use string::{Quoted, Said};
pub use whole::JsonEventsOf;

/// Reports the values of a JSON text as it arrives, in pieces of any size.
///
/// Each byte is read once, by a pushdown automaton; its state is the open containers and the pointer to the current
/// value. How the text is split into pieces affects only the borders of deltas. A text is accepted if and only if it is
/// JSON as in RFC 8259 without lone surrogates; duplicate keys are reported twice.
///
/// ```
/// use structgen_decode::events::JsonEvents;
///
/// let mut events = JsonEvents::new();
/// let mut told = Vec::new();
/// for piece in ["{\"na", "me\": \"Zo\\u00", "eb\", \"age\"", ":3", "6}"] {
///     events.push(piece, &mut |event| told.push(serde_json::to_string(&event).unwrap()))?;
/// }
/// events.finish(&mut |_| {})?;
/// assert_eq!(told[1], r#"{"event":"started","pointer":"/name","kind":"string","start":9}"#);
/// assert_eq!(told[2], r#"{"event":"delta","pointer":"/name","kind":"string","text":"Zo"}"#);
/// assert_eq!(told[3], r#"{"event":"delta","pointer":"/name","kind":"string","text":"ë"}"#);
/// assert_eq!(told[4], r#"{"event":"done","pointer":"/name","kind":"string","span":{"start":9,"end":19}}"#);
/// # Ok::<(), structgen_decode::events::NotJson>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonEvents {
    state: State,
    open: Vec<Container>,
    /// The pointer to the current value, or to the innermost open container.
    pointer: String,
    /// The start of the current string, number or word.
    start: usize,
    /// Text of the current value that is not reported yet.
    pending: String,
    /// The number of bytes read.
    offset: usize,
    /// The first bytes of an incomplete character.
    held: Vec<u8>,
    failed: Option<NotJson>,
}

/// An object or array that is not closed.
#[derive(Debug, Clone)]
struct Container {
    kind: JsonKind,
    start: usize,
    /// The length of its pointer.
    pointer: usize,
    /// The number of items that have started.
    items: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    /// After the bracket that opens an array.
    FirstItem,
    /// After the brace that opens an object.
    FirstKey,
    Key,
    InKey(Quoted),
    Colon,
    InString(Quoted),
    InNumber(Number),
    /// In `true`, `false` or `null`, with the rest of the word.
    InWord(JsonKind, &'static [u8]),
    AfterValue,
}

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset} of the output {expected} is expected")]
#[non_exhaustive]
pub struct NotJson {
    /// The number of valid bytes before the error.
    pub offset: usize,
    /// What was expected there.
    pub expected: &'static str,
}

/// Where events are sent.
type OnEvent<'e> = &'e mut dyn FnMut(OutputEvent<'_>);

impl Default for JsonEvents {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonEvents {
    /// Creates it at the start of a text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Value,
            open: Vec::new(),
            pointer: String::new(),
            start: 0,
            pending: String::new(),
            offset: 0,
            held: Vec::new(),
            failed: None,
        }
    }

    /// Reads a piece of the text.
    ///
    /// # Errors
    /// If the text is not a prefix of JSON; every later call returns the same error. Events before the error are still
    /// reported.
    pub fn push(&mut self, text: &str, on_event: OnEvent<'_>) -> Result<(), NotJson> {
        self.push_bytes(text.as_bytes(), on_event)
    }

    /// Reads a piece of the text in bytes, which may end within a character.
    ///
    /// # Errors
    /// As for [`push`](JsonEvents::push), and if the bytes are not UTF-8.
    pub fn push_bytes(&mut self, bytes: &[u8], on_event: OnEvent<'_>) -> Result<(), NotJson> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let joined;
        let mut rest = bytes;
        if !self.held.is_empty() {
            self.held.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.held);
            rest = &joined;
        }
        let (text, bad) = match std::str::from_utf8(rest) {
            Ok(text) => (text, None),
            Err(error) => {
                let (valid, tail) = rest.split_at(error.valid_up_to());
                // Valid up to here, by the error.
                let valid = std::str::from_utf8(valid).unwrap_or_default();
                (valid, Some((tail, error.error_len())))
            }
        };
        let mut result = self.take(text, on_event);
        match bad {
            Some((tail, None)) => self.held.extend_from_slice(tail),
            Some((_, Some(_))) => result = result.and_then(|()| self.expect("UTF-8")),
            None => {}
        }
        if let Some(kind) = self.state.kind() {
            self.tell_pending(kind, on_event);
        }
        self.failed = result.clone().err();
        result
    }

    /// Ends the text; only now is a top-level number complete.
    ///
    /// # Errors
    /// If the text ends too early, and as for [`push`](JsonEvents::push).
    pub fn finish(&mut self, on_event: OnEvent<'_>) -> Result<(), NotJson> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.end(on_event);
        self.failed = result.clone().err();
        result
    }

    fn end(&mut self, on_event: OnEvent<'_>) -> Result<(), NotJson> {
        if !self.held.is_empty() {
            return self.expect("the rest of a character");
        }
        if let State::InNumber(number) = self.state
            && number.may_end()
        {
            self.finish_value(JsonKind::Number, self.offset, on_event);
        }
        match (self.state, self.open.is_empty()) {
            (State::AfterValue, true) => Ok(()),
            _ => self.expect(self.expected()),
        }
    }

    /// Returns the number of bytes read, without those of an incomplete character.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    fn take(&mut self, text: &str, on_event: OnEvent<'_>) -> Result<(), NotJson> {
        let mut rest = text;
        while !rest.is_empty() {
            let bytes = rest.as_bytes();
            let plain = match self.state {
                State::InKey(quoted) | State::InString(quoted) => quoted.plain(bytes),
                _ => 0,
            };
            if plain > 0 {
                // The byte that ends a run is ASCII, so characters stay whole.
                let (run, after) = rest.split_at(plain);
                match self.state {
                    State::InKey(_) => run.chars().for_each(|c| push_escaped(&mut self.pointer, c)),
                    _ => self.pending.push_str(run),
                }
                self.offset += plain;
                rest = after;
                continue;
            }
            self.step(bytes[0], on_event)?;
            self.offset += 1;
            // Non-ASCII bytes occur in strings only, which read them in runs.
            rest = rest.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    fn step(&mut self, byte: u8, on_event: OnEvent<'_>) -> Result<(), NotJson> {
        match self.state {
            State::InString(mut quoted) => {
                let said = self.quoted(&mut quoted, byte)?;
                self.state = State::InString(quoted);
                match said {
                    Said::Nothing => {}
                    Said::Character(c) => self.pending.push(c),
                    Said::End => self.finish_value(JsonKind::String, self.offset + 1, on_event),
                }
            }
            State::InKey(mut quoted) => {
                let said = self.quoted(&mut quoted, byte)?;
                self.state = State::InKey(quoted);
                match said {
                    Said::Nothing => {}
                    Said::Character(c) => push_escaped(&mut self.pointer, c),
                    Said::End => self.state = State::Colon,
                }
            }
            State::InNumber(number) => match number.step(byte) {
                Some(number) => {
                    self.state = State::InNumber(number);
                    self.pending.push(char::from(byte));
                }
                None if number.may_end() => {
                    self.finish_value(JsonKind::Number, self.offset, on_event);
                    // The byte belongs to what follows.
                    return self.step(byte, on_event);
                }
                None => return self.expect(self.expected()),
            },
            State::InWord(kind, rest) => match rest.split_first() {
                Some((&next, rest)) if next == byte => {
                    self.pending.push(char::from(byte));
                    self.state = State::InWord(kind, rest);
                    if rest.is_empty() {
                        self.finish_value(kind, self.offset + 1, on_event);
                    }
                }
                _ => return self.expect(self.expected()),
            },
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {}
            State::Value => self.begin(byte, on_event)?,
            State::FirstItem if byte == b']' => self.close(on_event),
            State::FirstItem => self.begin(byte, on_event)?,
            State::FirstKey if byte == b'}' => self.close(on_event),
            State::FirstKey | State::Key if byte == b'"' => {
                self.pointer.truncate(self.pointer_of_open());
                self.pointer.push('/');
                self.state = State::InKey(Quoted::default());
            }
            State::Colon if byte == b':' => self.state = State::Value,
            State::AfterValue => match (byte, self.open.last().map(|open| open.kind)) {
                (b',', Some(JsonKind::Object)) => self.state = State::Key,
                (b',', Some(_)) => self.state = State::Value,
                (b'}', Some(JsonKind::Object)) | (b']', Some(JsonKind::Array)) => {
                    self.close(on_event);
                }
                _ => return self.expect(self.expected()),
            },
            State::FirstKey | State::Key | State::Colon => return self.expect(self.expected()),
        }
        Ok(())
    }

    fn quoted(&self, quoted: &mut Quoted, byte: u8) -> Result<Said, NotJson> {
        quoted.step(byte).map_err(|expected| NotJson {
            offset: self.offset,
            expected,
        })
    }

    /// Starts a value with its first byte.
    fn begin(&mut self, byte: u8, on_event: OnEvent<'_>) -> Result<(), NotJson> {
        let (kind, state) = match byte {
            b'{' => (JsonKind::Object, State::FirstKey),
            b'[' => (JsonKind::Array, State::FirstItem),
            b'"' => (JsonKind::String, State::InString(Quoted::default())),
            b't' => (JsonKind::Boolean, State::InWord(JsonKind::Boolean, b"rue")),
            b'f' => (JsonKind::Boolean, State::InWord(JsonKind::Boolean, b"alse")),
            b'n' => (JsonKind::Null, State::InWord(JsonKind::Null, b"ull")),
            _ => match Number::begin(byte) {
                Some(number) => (JsonKind::Number, State::InNumber(number)),
                None => return self.expect(self.expected()),
            },
        };
        let base = self.pointer_of_open();
        if let Some(array) = self.open.last_mut()
            && array.kind == JsonKind::Array
        {
            self.pointer.truncate(base);
            self.pointer.push('/');
            self.pointer.push_str(&array.items.to_string());
            array.items += 1;
        }
        self.state = state;
        self.start = self.offset;
        on_event(OutputEvent::Started {
            part: field(&self.pointer, kind),
            start: self.offset,
        });
        match kind {
            JsonKind::Object | JsonKind::Array => self.open.push(Container {
                kind,
                start: self.offset,
                pointer: self.pointer.len(),
                items: 0,
            }),
            JsonKind::String => {}
            _ => self.pending.push(char::from(byte)),
        }
        Ok(())
    }

    /// Closes the innermost container with the byte to come.
    fn close(&mut self, on_event: OnEvent<'_>) {
        if let Some(closed) = self.open.pop() {
            self.pointer.truncate(closed.pointer);
            on_event(OutputEvent::Done {
                part: field(&self.pointer, closed.kind),
                span: closed.start..self.offset + 1,
            });
        }
        self.state = State::AfterValue;
    }

    /// Ends a string, number or word.
    fn finish_value(&mut self, kind: JsonKind, end: usize, on_event: OnEvent<'_>) {
        self.tell_pending(kind, on_event);
        on_event(OutputEvent::Done {
            part: field(&self.pointer, kind),
            span: self.start..end,
        });
        self.state = State::AfterValue;
    }

    fn tell_pending(&mut self, kind: JsonKind, on_event: OnEvent<'_>) {
        if !self.pending.is_empty() {
            on_event(OutputEvent::Delta {
                part: field(&self.pointer, kind),
                text: Cow::Borrowed(&self.pending),
            });
            self.pending.clear();
        }
    }

    /// Returns the length of the pointer to the innermost open container.
    fn pointer_of_open(&self) -> usize {
        self.open.last().map_or(0, |open| open.pointer)
    }

    fn expect(&self, expected: &'static str) -> Result<(), NotJson> {
        Err(NotJson {
            offset: self.offset,
            expected,
        })
    }

    fn expected(&self) -> &'static str {
        match self.state {
            State::Value => "a value",
            State::FirstItem => "a value or `]`",
            State::FirstKey => "a key or `}`",
            State::Key => "a key",
            State::Colon => "`:`",
            State::InKey(_) | State::InString(_) => "the rest of a string",
            State::InNumber(_) => "a digit",
            State::InWord(..) => "the rest of `true`, `false` or `null`",
            State::AfterValue => match self.open.last().map(|open| open.kind) {
                None => "nothing but whitespace",
                Some(JsonKind::Object) => "`,` or `}`",
                Some(_) => "`,` or `]`",
            },
        }
    }
}

impl State {
    /// Returns the kind of the current value, if it has text of its own.
    fn kind(self) -> Option<JsonKind> {
        match self {
            Self::InString(_) => Some(JsonKind::String),
            Self::InNumber(_) => Some(JsonKind::Number),
            Self::InWord(kind, _) => Some(kind),
            _ => None,
        }
    }
}

fn field(pointer: &str, kind: JsonKind) -> OutputPart<'_> {
    OutputPart::Field {
        pointer: Cow::Borrowed(pointer),
        kind,
    }
}

/// Appends a character of a key to a JSON Pointer.
fn push_escaped(pointer: &mut String, c: char) {
    match c {
        '~' => pointer.push_str("~0"),
        '/' => pointer.push_str("~1"),
        _ => pointer.push(c),
    }
}

//! Locates the values of a JSON text, which may be incomplete.

use std::collections::HashSet;
use std::ops::Range;

use structgen_grammar::json_pointer::escaped;

/// The values of a text that is JSON, or a prefix of JSON.
#[derive(Debug)]
pub(super) struct Outline {
    places: Vec<Place>,
    /// The number of bytes that are a prefix of JSON.
    pub(super) read: usize,
    /// Whether the bytes read are a whole value.
    pub(super) is_complete: bool,
    /// The text up to `read` with everything open closed; `None` if there is nothing to close.
    pub(super) closed: Option<String>,
    /// If the text ends within a key or before its value, the same with the key so far as a member.
    pub(super) closed_with_key: Option<String>,
    /// The member of that key.
    pub(super) without_value: Option<usize>,
    /// The second of two equal keys of one object, including its quotes.
    pub(super) repeated: Option<Range<usize>>,
    /// What comes next.
    pub(super) next: Next,
}

/// What may come after a prefix of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A key of this object, with its opening quote; after a comma if there are members.
    Key { object: usize, needs_comma: bool },
    /// The rest of a key of this object, whose quote is at this byte.
    InKey { object: usize, quote: usize },
    /// The colon or the value of a member of this object.
    AfterKey { object: usize },
    /// Anything else.
    Other,
}

/// A value of the text.
#[derive(Debug)]
struct Place {
    /// The object or array that contains it; `None` for the outermost value.
    parent: Option<usize>,
    /// Its token of the JSON Pointer, escaped.
    token: String,
    /// Its start, including the key.
    start: usize,
    /// Whether it is a member of an object, not an item.
    is_member: bool,
    /// Its end, if it has ended.
    end: Option<usize>,
}

/// An open object or array.
struct Open {
    place: usize,
    is_object: bool,
    items: usize,
    keys: HashSet<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Value,
    /// A value, or the end of an empty array.
    FirstItem,
    /// A key, or the end of an empty object.
    FirstKey,
    Key,
    Colon,
    CommaOrEnd,
    End,
}

impl Outline {
    pub(super) fn of(text: &[u8]) -> Self {
        Reader::new(text).read()
    }

    /// Returns the JSON Pointer of the value.
    pub(super) fn pointer(&self, place: usize) -> String {
        let mut tokens = Vec::new();
        let mut at = Some(place);
        while let Some(place) = at.map(|at| &self.places[at]) {
            if place.parent.is_some() {
                tokens.push(&*place.token);
            }
            at = place.parent;
        }
        let with_slash = |token: &&str| format!("/{token}");
        tokens.iter().rev().map(with_slash).collect()
    }

    /// Returns the innermost value that contains a byte, where a member includes its key; at the end of the text, the
    /// innermost open one.
    pub(super) fn innermost(&self, offset: usize) -> Option<usize> {
        let is_in =
            |place: &Place| place.start <= offset && place.end.is_none_or(|end| offset < end);
        self.places.iter().rposition(is_in)
    }

    /// Returns the value at a JSON Pointer.
    pub(super) fn find(&self, pointer: &str) -> Option<usize> {
        (0..self.places.len()).find(|&place| self.pointer(place) == pointer)
    }

    /// Returns the string value that contains a byte, if it has ended and the byte is not in its key.
    pub(super) fn string_at(&self, text: &[u8], offset: usize) -> Option<String> {
        let place = &self.places[self.innermost(offset)?];
        let written = std::str::from_utf8(&text[place.start..place.end?]).ok()?;
        if place.is_member {
            let mut key = serde_json::Deserializer::from_str(written).into_iter::<String>();
            key.next()?.ok()?;
            if offset < place.start + key.byte_offset() {
                return None;
            }
        }
        let value: serde_json::Value = match place.is_member {
            true => serde_json::from_str(&format!("{{{written}}}")).ok()?,
            false => serde_json::from_str(written).ok()?,
        };
        let value = match &value {
            serde_json::Value::Object(member) if place.is_member => member.values().next()?,
            value => value,
        };
        Some(value.as_str()?.to_owned())
    }

    /// Returns where the value starts, including its key, and where it ends, if it has ended.
    pub(super) fn span(&self, place: usize) -> (usize, Option<usize>) {
        (self.places[place].start, self.places[place].end)
    }

    /// Returns the number of values that contain this one.
    pub(super) fn depth(&self, place: usize) -> usize {
        std::iter::successors(self.places[place].parent, |&at| self.places[at].parent).count()
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    places: Vec<Place>,
    open: Vec<Open>,
    /// The start of the current member's key, and the key.
    key: Option<(usize, String)>,
    repeated: Option<Range<usize>>,
    /// Where the text can be closed: brackets and braces that are open there are open at the end as well.
    cut: Option<usize>,
    /// What completes a value that is cut.
    tail: String,
    /// Where a key without a value can be closed.
    key_cut: Option<usize>,
    /// The member of that key.
    without_value: Option<usize>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            places: Vec::new(),
            open: Vec::new(),
            key: None,
            repeated: None,
            cut: None,
            tail: String::new(),
            key_cut: None,
            without_value: None,
        }
    }

    fn read(mut self) -> Outline {
        let mut expect = Expect::Value;
        loop {
            let spaces = self.text[self.at..].iter();
            self.at += spaces
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
                .count();
            let Some(&byte) = self.text.get(self.at) else {
                break;
            };
            match self.token(expect, byte) {
                Ok(next) => expect = next,
                Err(next) => {
                    return self.finish(expect, next);
                }
            }
        }
        self.finish(expect, None)
    }

    /// Reads the next token; fails if it is not a JSON token or incomplete.
    fn token(&mut self, expect: Expect, byte: u8) -> Result<Expect, Option<Next>> {
        match (expect, byte) {
            (Expect::FirstItem, b']') | (Expect::FirstKey, b'}') => Ok(self.close()),
            (Expect::Value | Expect::FirstItem, _) => self.value(byte),
            (Expect::FirstKey | Expect::Key, b'"') => self.member_key(),
            (Expect::Colon, b':') => {
                self.at += 1;
                Ok(Expect::Value)
            }
            (Expect::CommaOrEnd, b',') => {
                self.at += 1;
                match self.open.last() {
                    Some(open) if open.is_object => Ok(Expect::Key),
                    _ => Ok(Expect::Value),
                }
            }
            (Expect::CommaOrEnd, b'}' | b']') => {
                let is_object = self.open.last().is_some_and(|open| open.is_object);
                match is_object == (byte == b'}') {
                    true => Ok(self.close()),
                    false => Err(None),
                }
            }
            _ => Err(None),
        }
    }

    fn value(&mut self, byte: u8) -> Result<Expect, Option<Next>> {
        if !matches!(
            byte,
            b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
        ) {
            return Err(None);
        }
        let place = self.places.len();
        let value = self.at;
        let is_member = self.key.is_some();
        self.key_cut = None;
        let (start, token) = match (self.key.take(), self.open.last_mut()) {
            (Some((start, key)), _) => (start, escaped(&key).into_owned()),
            (None, Some(open)) => (value, open.items.to_string()),
            (None, None) => (value, String::new()),
        };
        if let Some(open) = self.open.last_mut() {
            open.items += 1;
        }
        let parent = self.open.last().map(|open| open.place);
        self.places.push(Place {
            parent,
            token,
            start,
            is_member,
            end: None,
        });
        match byte {
            b'{' | b'[' => {
                self.at += 1;
                self.cut = Some(self.at);
                self.open.push(Open {
                    place,
                    is_object: byte == b'{',
                    items: 0,
                    keys: HashSet::new(),
                });
                return Ok(match byte {
                    b'{' => Expect::FirstKey,
                    _ => Expect::FirstItem,
                });
            }
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.word(byte)?,
        }
        Ok(self.ended(place))
    }

    /// Returns what comes next after a value.
    fn ended(&mut self, place: usize) -> Expect {
        self.places[place].end = Some(self.at);
        self.cut = Some(self.at);
        match self.open.is_empty() {
            true => Expect::End,
            false => Expect::CommaOrEnd,
        }
    }

    fn close(&mut self) -> Expect {
        self.at += 1;
        match self.open.pop() {
            Some(open) => self.ended(open.place),
            None => Expect::End,
        }
    }

    fn member_key(&mut self) -> Result<Expect, Option<Next>> {
        let start = self.at;
        let object = self.open.last().map_or(0, |open| open.place);
        let cut = self.cut;
        if self.string().is_err() {
            // A partial key is not a member yet, but has a place.
            self.key_cut = self.cut;
            let end = self.cut.unwrap_or(start);
            let written = [&self.text[start..end], b"\""].concat();
            let key: String = serde_json::from_slice(&written).unwrap_or_default();
            self.add_member_without_value(object, start, &key);
            self.cut = cut;
            self.tail.clear();
            let quote = start;
            return Err(Some(Next::InKey { object, quote }));
        }
        let quoted = &self.text[start..self.at];
        let key = serde_json::from_slice(quoted)
            .unwrap_or_else(|_| String::from_utf8_lossy(quoted).into_owned());
        if let Some(open) = self.open.last_mut()
            && !open.keys.insert(key.clone())
            && self.repeated.is_none()
        {
            self.repeated = Some(start..self.at);
        }
        self.key = Some((start, key));
        self.key_cut = Some(self.at - 1);
        Ok(Expect::Colon)
    }

    /// Adds the place of a member whose key is known as far as it is written.
    fn add_member_without_value(&mut self, object: usize, start: usize, key: &str) {
        self.without_value = Some(self.places.len());
        self.places.push(Place {
            parent: Some(object),
            token: escaped(key).into_owned(),
            start,
            is_member: true,
            end: None,
        });
    }

    fn string(&mut self) -> Result<(), Option<Next>> {
        let mut at = self.at + 1;
        loop {
            // Where the string can be closed if the text ends here.
            let whole = at;
            match self.text.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let length = match self.text.get(at + 1) {
                        Some(b'u') => 6,
                        Some(_) => 2,
                        None => usize::MAX,
                    };
                    let escape = self.text.get(at..at.saturating_add(length));
                    let is_escape = |escape: &[u8]| match escape {
                        [_, b'u', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
                        [_, byte] => b"\"\\/bfnrt".contains(byte),
                        _ => false,
                    };
                    if !escape.is_some_and(is_escape) {
                        let is_cut = escape.is_none();
                        self.at = if is_cut { self.text.len() } else { at + 1 };
                        return self.cut_within(whole, "\"");
                    }
                    at += length;
                }
                Some(0..=0x1F) | None => {
                    self.at = at;
                    return self.cut_within(whole, "\"");
                }
                Some(&byte) => {
                    let length = match byte {
                        0x00..=0x7F => 1,
                        0xC2..=0xDF => 2,
                        0xE0..=0xEF => 3,
                        _ => 4,
                    };
                    let end = at + length;
                    let is_whole = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
                    if !self.text.get(at..end).is_some_and(is_whole) {
                        self.at = self.text.len().min(end);
                        return self.cut_within(whole, "\"");
                    }
                    at = end;
                }
            }
        }
    }

    fn number(&mut self) -> Result<(), Option<Next>> {
        let start = self.at;
        let digits = |at: usize| {
            let rest = self.text.get(at..).unwrap_or_default();
            at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let is = |at: usize, bytes: &[u8]| self.text.get(at).is_some_and(|b| bytes.contains(b));
        let integer = start + usize::from(is(start, b"-"));
        let mut at = match is(integer, b"0") {
            true => integer + 1,
            false => digits(integer),
        };
        // The longest prefix that is a number.
        let mut whole = (at > integer).then_some(at);
        if whole.is_some() && is(at, b".") {
            let end = digits(at + 1);
            if end > at + 1 {
                whole = Some(end);
            }
            at = end;
        }
        if whole == Some(at) && is(at, b"eE") {
            let exponent = at + 1 + usize::from(is(at + 1, b"+-"));
            at = digits(exponent);
            if at > exponent {
                whole = Some(at);
            }
        }
        self.at = at;
        match whole {
            Some(end) if end == at => Ok(()),
            Some(end) => self.cut_within(end, ""),
            None => self.cut_within(start, "0"),
        }
    }

    fn word(&mut self, byte: u8) -> Result<(), Option<Next>> {
        let word: &'static str = match byte {
            b't' => "true",
            b'f' => "false",
            _ => "null",
        };
        let rest = self.text[self.at..].iter();
        let same = { rest.zip(word.as_bytes()) }
            .take_while(|(a, b)| a == b)
            .count();
        self.at += same;
        match same == word.len() {
            true => Ok(()),
            false => self.cut_within(self.at, &word[same..]),
        }
    }

    /// The text ends within a value, which `tail` completes.
    fn cut_within(&mut self, at: usize, tail: &str) -> Result<(), Option<Next>> {
        self.cut = Some(at);
        self.tail = tail.to_owned();
        Err(None)
    }

    fn finish(mut self, expect: Expect, next: Option<Next>) -> Outline {
        let is_complete = expect == Expect::End && self.at == self.text.len();
        let object = self.open.last().map(|open| open.place);
        let has_members = self.open.last().is_some_and(|open| open.items > 0);
        let is_in_object = self.open.last().is_some_and(|open| open.is_object);
        let after_key = self.key.take().map(|(start, key)| {
            let object = object.unwrap_or_default();
            self.add_member_without_value(object, start, &key);
            Next::AfterKey { object }
        });
        let next = next.or(after_key).unwrap_or(match (expect, object) {
            (Expect::FirstKey | Expect::Key, Some(object)) => Next::Key {
                object,
                needs_comma: false,
            },
            (Expect::CommaOrEnd, Some(object)) if is_in_object => Next::Key {
                object,
                needs_comma: has_members,
            },
            _ => Next::Other,
        });
        let close = |cut: usize, tail: &str| {
            let mut closed = String::from_utf8(self.text[..cut].to_vec()).ok()?;
            closed.push_str(tail);
            let closers = self.open.iter().rev();
            closed.extend(closers.map(|open| if open.is_object { '}' } else { ']' }));
            Some(closed)
        };
        let closed = self.cut.and_then(|cut| close(cut, &self.tail));
        let closed_with_key = self.key_cut.and_then(|cut| close(cut, "\":null"));
        Outline {
            places: self.places,
            read: self.at,
            is_complete,
            closed,
            closed_with_key,
            without_value: self.without_value,
            repeated: self.repeated,
            next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed() {
        for (text, closed) in [
            (
                r#"{"a": 1, "b": [true, {"c": "x"#,
                r#"{"a": 1, "b": [true, {"c": "x"}]}"#,
            ),
            (r#"{"a": 1, "b"#, r#"{"a": 1}"#),
            (r#"{"a": 1, "b":"#, r#"{"a": 1}"#),
            (r#"{"a": "x\"#, r#"{"a": "x"}"#),
            (r#"{"a": "x\u00"#, r#"{"a": "x"}"#),
            ("[1, -", "[1, 0]"),
            ("[1.", "[1]"),
            ("[1e", "[1]"),
            ("[tr", "[true]"),
            ("[1, ", "[1]"),
            ("[", "[]"),
            ("[1] x", "[1]"),
        ] {
            let outline = Outline::of(text.as_bytes());
            assert_eq!(outline.closed.as_deref(), Some(closed), "{text}");
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(closed);
            assert!(parsed.is_ok(), "{closed}");
        }
        assert_eq!(Outline::of(b" ").closed, None);
    }

    #[test]
    fn a_key_without_a_value_is_a_member() {
        for (text, with_key, pointer) in [
            (r#"{"a": 1, "b"#, Some(r#"{"a": 1, "b":null}"#), "/b"),
            (r#"{"a": 1, "b""#, Some(r#"{"a": 1, "b":null}"#), "/b"),
            (r#"{"a": {"b" : "#, Some(r#"{"a": {"b":null}}"#), "/a/b"),
            (r#"{"a": x"#, Some(r#"{"a":null}"#), "/a"),
            (r#"{"a": 1"#, None, "/a"),
        ] {
            let outline = Outline::of(text.as_bytes());
            assert_eq!(outline.closed_with_key.as_deref(), with_key, "{text}");
            let innermost = outline.innermost(text.len() - 1).unwrap();
            assert_eq!(outline.pointer(innermost), pointer, "{text}");
            assert_eq!(outline.without_value.is_some(), with_key.is_some());
        }
    }

    #[test]
    fn the_string_at_a_byte_is_read() {
        let text = r#"{"a": ["x", "y\n"], "b": "z", "c": "#.as_bytes();
        let outline = Outline::of(text);
        let string = |offset| outline.string_at(text, offset);
        assert_eq!(string(14).as_deref(), Some("y\n"));
        assert_eq!(string(26).as_deref(), Some("z"));
        assert_eq!((string(6), string(22), string(31)), (None, None, None));
    }

    #[test]
    fn values_are_found_with_their_pointers() {
        let text = r#"{"a/b": [1, "x"], "c": {}}"#;
        let outline = Outline::of(text.as_bytes());
        assert!(outline.is_complete);
        let pointer = |offset| {
            outline
                .innermost(offset)
                .map(|place| outline.pointer(place))
        };
        assert_eq!(pointer(0).as_deref(), Some(""));
        assert_eq!(pointer(2).as_deref(), Some("/a~1b"));
        assert_eq!(pointer(12).as_deref(), Some("/a~1b/1"));
        assert_eq!(pointer(24).as_deref(), Some("/c"));
        assert_eq!(pointer(26), None);
        assert_eq!(outline.find("/a~1b/0"), Some(2));
    }

    #[test]
    fn what_is_no_json_ends_the_reading() {
        for (text, read) in [("{\"a\" 1}", 5), ("[1}", 2), ("nul!", 3), ("[01]", 2)] {
            let outline = Outline::of(text.as_bytes());
            assert_eq!((outline.read, outline.is_complete), (read, false), "{text}");
        }
        assert!(Outline::of(br#"{"a": 1, "a": 2}"#).repeated == Some(9..12));
    }
}

//! All texts of one value, read byte by byte.
//!
//! A text that is compared is also read by its own grammar, which enforces the form. So here any JSON text of the value
//! is accepted, with any whitespace, escapes and order of keys, and nothing is counted.

use structgen_grammar::{JsonForm, NumberSet};

use super::Value;
use super::written::Read;
use crate::interned::Interned;
use crate::number::{NumberMachine, with_room};
use crate::terminal::{self, Terminal, TerminalState};
use crate::{ByteSet, LimitExceeded, StepError};

/// Reads the texts of a value. States are numbers: [`DEAD`](Self::DEAD), [`START`](Self::START), and others in the
/// order in which they are met.
#[derive(Debug)]
pub(crate) struct ValueText {
    /// The parts of the value; the whole comes last.
    nodes: Vec<ValuePart>,
    positions: Interned<Position>,
    /// Sets of positions, if several keys begin like the text. The numbers of [`step`](Self::step) stand for these.
    sets: Interned<Box<[u32]>>,
    /// The members of an object that were read: a bit for each.
    seen: Interned<Box<[u64]>>,
}

#[derive(Debug)]
enum ValuePart {
    Word(&'static [u8]),
    Number(Box<Terminal>),
    String(Box<str>),
    Array(Box<[u32]>),
    Object(Box<[(Box<str>, u32)]>),
}

/// A position in the texts of a part; `up` is the position after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Position {
    /// After the whole value.
    End,
    Before {
        node: u32,
        up: u32,
    },
    Word {
        node: u32,
        up: u32,
        read: u32,
    },
    Number {
        node: u32,
        up: u32,
        state: TerminalState,
    },
    String {
        node: u32,
        up: u32,
        read: Read,
    },
    /// After this many items, or after the opening bracket.
    Items {
        node: u32,
        up: u32,
        count: u32,
    },
    /// After some members, or after the opening brace.
    Members {
        node: u32,
        up: u32,
        seen: u32,
    },
    /// Before the quote of a key, after a comma.
    BeforeKey {
        node: u32,
        up: u32,
        seen: u32,
    },
    /// After the quote of a key.
    Key {
        node: u32,
        up: u32,
        seen: u32,
    },
    InKey {
        member: Member,
        read: Read,
    },
    BehindKey(Member),
}

/// A member of an object, and the members read before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member {
    node: u32,
    up: u32,
    seen: u32,
    index: u32,
}

impl Member {
    /// Reads one more byte of its key, or the quote after it.
    fn read_key(self, key: &str, read: Read, byte: u8) -> Option<Position> {
        if read.is_end(key, byte) {
            return Some(Position::BehindKey(self));
        }
        let read = read.step(key, byte)?;
        Some(Position::InKey { member: self, read })
    }
}

impl ValueText {
    /// No text continues.
    pub(crate) const DEAD: u32 = 0;

    /// Before the first byte.
    pub(crate) const START: u32 = 1;

    /// Creates the texts of a value whose numbers are written as the form prescribes.
    ///
    /// # Errors
    /// If a number exceeds the limits on numbers.
    pub(crate) fn new(value: &Value, form: &JsonForm) -> Result<Self, LimitExceeded> {
        let mut text = Self {
            nodes: Vec::new(),
            positions: Interned::default(),
            sets: Interned::default(),
            seen: Interned::default(),
        };
        let root = text.add(value, form)?;
        let up = text.positions.id(Position::End);
        let start = text.positions.id(Position::Before { node: root, up });
        text.sets.id([].into());
        text.sets.id([start].into());
        Ok(text)
    }

    /// Adds a value, which nests no deeper than [`Value::read`] allows.
    fn add(&mut self, value: &Value, form: &JsonForm) -> Result<u32, LimitExceeded> {
        let node = match value {
            Value::Null => ValuePart::Word(b"null"),
            Value::Bool(true) => ValuePart::Word(b"true"),
            Value::Bool(false) => ValuePart::Word(b"false"),
            Value::Number(number) => {
                let set = NumberSet::point(number.clone());
                let machine = NumberMachine::new(&set, &with_room(&set, &form.numbers))?;
                ValuePart::Number(Box::new(Terminal::new(machine)?))
            }
            Value::String(text) => ValuePart::String(text.clone()),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.add(item, form));
                ValuePart::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members.iter();
                let members = members.map(|(key, value)| Ok((key.clone(), self.add(value, form)?)));
                ValuePart::Object(members.collect::<Result<_, LimitExceeded>>()?)
            }
        };
        self.nodes.push(node);
        Ok(self.nodes.len() as u32 - 1)
    }

    /// Returns the state after one more byte.
    ///
    /// # Errors
    /// If a number exceeds the limits on numbers.
    pub(crate) fn step(&mut self, at: u32, byte: u8) -> Result<u32, StepError> {
        let mut found = Vec::new();
        for i in 0..self.sets.get(at).len() {
            let position = self.sets.get(at)[i];
            self.step_place(position, byte, &mut found)?;
        }
        if found.is_empty() {
            return Ok(Self::DEAD);
        }
        found.sort_unstable();
        Ok(self.sets.id(found.into()))
    }

    /// Returns whether the text may end.
    pub(crate) fn accepts(&self, at: u32) -> bool {
        let mut positions = self.sets.get(at).iter();
        positions.any(|&position| match *self.positions.get(position) {
            Position::End => true,
            Position::Number { node, up, state } => {
                *self.positions.get(up) == Position::End && self.number_may_end(node, state)
            }
            _ => false,
        })
    }

    /// Returns the keys of an object whose colon was not read; `None` if the value is not an object, or before its
    /// opening brace.
    pub(crate) fn keys_left(&self, at: u32) -> Option<impl Iterator<Item = &str>> {
        // Positions at one place of a text differ only in the key that is being read.
        let mut position = *self.positions.get(*self.sets.get(at).first()?);
        let (node, seen, read) = loop {
            let (up, found) = match position {
                Position::End => return None,
                Position::Before { up, .. }
                | Position::Word { up, .. }
                | Position::Number { up, .. }
                | Position::String { up, .. }
                | Position::Items { up, .. } => (up, None),
                Position::Members { node, up, seen }
                | Position::BeforeKey { node, up, seen }
                | Position::Key { node, up, seen } => (up, Some((node, seen, None))),
                Position::InKey { member, .. } => {
                    (member.up, Some((member.node, member.seen, None)))
                }
                // The colon alone ends this key.
                Position::BehindKey(it) => (it.up, Some((it.node, it.seen, Some(it.index)))),
            };
            match *self.positions.get(up) {
                Position::End => break found?,
                above => position = above,
            }
        };
        let ValuePart::Object(members) = &self.nodes[node as usize] else {
            return None;
        };
        let seen = self.seen.get(seen);
        let is_left =
            move |&(i, _): &(usize, _)| seen[i / 64] >> (i % 64) & 1 == 0 && read != Some(i as u32);
        let left = members.iter().enumerate().filter(is_left);
        Some(left.map(|(_, (key, _))| &**key))
    }

    /// Returns the bytes that continue.
    ///
    /// # Errors
    /// If a number exceeds the limits on numbers.
    pub(crate) fn first(&mut self, at: u32) -> Result<ByteSet, StepError> {
        let mut first = ByteSet::default();
        for byte in 0..=u8::MAX {
            if self.step(at, byte)? != Self::DEAD {
                first.insert(byte);
            }
        }
        Ok(first)
    }

    fn number_may_end(&self, node: u32, state: TerminalState) -> bool {
        match &self.nodes[node as usize] {
            ValuePart::Number(terminal) => terminal.accept(state).is_some(),
            _ => false,
        }
    }

    fn step_place(&mut self, at: u32, byte: u8, found: &mut Vec<u32>) -> Result<(), StepError> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let position = *self.positions.get(at);
        let next = match position {
            Position::Before { .. }
            | Position::Items { .. }
            | Position::Members { .. }
            | Position::BeforeKey { .. }
            | Position::BehindKey(_)
                if is_space =>
            {
                Some(position)
            }
            Position::End => None,
            Position::Before { node, up } => self.begin(node, up, byte)?,
            Position::Word { node, up, read } => self.read_word(node, up, read, byte),
            Position::Number { node, up, state } => {
                let next = self.read_number(node, up, state, byte)?;
                if next.is_none() && self.number_may_end(node, state) {
                    return self.step_place(up, byte, found);
                }
                next
            }
            Position::String { node, up, read } => match &self.nodes[node as usize] {
                ValuePart::String(text) if read.is_end(text, byte) => Some(*self.positions.get(up)),
                ValuePart::String(text) => {
                    let read = read.step(text, byte);
                    read.map(|read| Position::String { node, up, read })
                }
                _ => None,
            },
            Position::Items { node, up, count } => {
                let ValuePart::Array(items) = &self.nodes[node as usize] else {
                    return Ok(());
                };
                let next = items.get(count as usize).copied();
                match (byte, next) {
                    (b']', None) => Some(*self.positions.get(up)),
                    (b',', Some(item)) if count > 0 => {
                        let up = self.behind_item(node, up, count);
                        Some(Position::Before { node: item, up })
                    }
                    (_, Some(item)) if count == 0 => {
                        let up = self.behind_item(node, up, count);
                        self.begin(item, up, byte)?
                    }
                    _ => None,
                }
            }
            Position::Members { node, up, seen } => {
                let ValuePart::Object(members) = &self.nodes[node as usize] else {
                    return Ok(());
                };
                let read: u32 = self
                    .seen
                    .get(seen)
                    .iter()
                    .map(|word| word.count_ones())
                    .sum();
                let is_whole = read as usize == members.len();
                match byte {
                    b'}' if is_whole => Some(*self.positions.get(up)),
                    b',' if read > 0 && !is_whole => Some(Position::BeforeKey { node, up, seen }),
                    b'"' if read == 0 && !is_whole => Some(Position::Key { node, up, seen }),
                    _ => None,
                }
            }
            Position::BeforeKey { node, up, seen } => {
                (byte == b'"').then_some(Position::Key { node, up, seen })
            }
            Position::Key { node, up, seen } => {
                self.begin_key(node, up, seen, byte, found);
                None
            }
            Position::InKey { member, read } => {
                let ValuePart::Object(members) = &self.nodes[member.node as usize] else {
                    return Ok(());
                };
                member.read_key(&members[member.index as usize].0, read, byte)
            }
            Position::BehindKey(member) => {
                let Member {
                    node,
                    up,
                    seen,
                    index,
                } = member;
                let ValuePart::Object(members) = &self.nodes[node as usize] else {
                    return Ok(());
                };
                let value = members[index as usize].1;
                let mut now = self.seen.get(seen).clone();
                now[index as usize / 64] |= 1 << (index % 64);
                let seen = self.seen.id(now);
                let up = self.positions.id(Position::Members { node, up, seen });
                (byte == b':').then_some(Position::Before { node: value, up })
            }
        };
        if let Some(next) = next {
            found.push(self.positions.id(next));
        }
        Ok(())
    }

    fn behind_item(&mut self, node: u32, up: u32, count: u32) -> u32 {
        let count = count + 1;
        self.positions.id(Position::Items { node, up, count })
    }

    /// Reads the first byte of a part.
    fn begin(&mut self, node: u32, up: u32, byte: u8) -> Result<Option<Position>, StepError> {
        Ok(match &self.nodes[node as usize] {
            ValuePart::Word(_) => self.read_word(node, up, 0, byte),
            ValuePart::Number(_) => self.read_number(node, up, terminal::START, byte)?,
            ValuePart::String(_) => {
                let read = Read::default();
                (byte == b'"').then_some(Position::String { node, up, read })
            }
            ValuePart::Array(_) => {
                let count = 0;
                (byte == b'[').then_some(Position::Items { node, up, count })
            }
            ValuePart::Object(members) => {
                let none = vec![0; members.len().div_ceil(64)];
                let seen = self.seen.id(none.into());
                (byte == b'{').then_some(Position::Members { node, up, seen })
            }
        })
    }

    fn read_word(&self, node: u32, up: u32, read: u32, byte: u8) -> Option<Position> {
        let ValuePart::Word(word) = self.nodes[node as usize] else {
            return None;
        };
        let read = read as usize;
        if word.get(read) != Some(&byte) {
            return None;
        }
        if read + 1 == word.len() {
            return Some(*self.positions.get(up));
        }
        let read = read as u32 + 1;
        Some(Position::Word { node, up, read })
    }

    fn read_number(
        &mut self,
        node: u32,
        up: u32,
        state: TerminalState,
        byte: u8,
    ) -> Result<Option<Position>, StepError> {
        let ValuePart::Number(terminal) = &mut self.nodes[node as usize] else {
            return Ok(None);
        };
        let state = terminal.step(state, byte)?;
        Ok((state != terminal::DEAD).then_some(Position::Number { node, up, state }))
    }

    /// Reads the first byte of a key, or its closing quote; members already read may not come again.
    fn begin_key(&mut self, node: u32, up: u32, seen: u32, byte: u8, found: &mut Vec<u32>) {
        let ValuePart::Object(members) = &self.nodes[node as usize] else {
            return;
        };
        let before = self.seen.get(seen);
        for (i, (key, _)) in members.iter().enumerate() {
            if before[i / 64] >> (i % 64) & 1 == 1 {
                continue;
            }
            let member = Member {
                node,
                up,
                seen,
                index: i as u32,
            };
            let next = member.read_key(key, Read::default(), byte);
            found.extend(next.map(|next| self.positions.id(next)));
        }
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn memory(&self) -> usize {
        let nodes = self.nodes.iter().map(|node| match node {
            ValuePart::Word(_) => 0,
            ValuePart::Number(terminal) => size_of::<Terminal>() + terminal.memory(),
            ValuePart::String(text) => text.len(),
            ValuePart::Array(items) => size_of_val(&**items),
            ValuePart::Object(members) => {
                let keys = members.iter().map(|(key, _)| key.len());
                size_of_val(&**members) + keys.sum::<usize>()
            }
        });
        nodes.sum::<usize>()
            + self.nodes.capacity() * size_of::<ValuePart>()
            + self.positions.memory()
            + self.sets.memory()
            + self.sets.len() * 16
            + self.seen.memory()
            + self.seen.len() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_text(value: &str, text: &str) -> bool {
        let value = Value::read(value.as_bytes()).expect("not deep");
        let form = JsonForm::generate();
        let mut texts = ValueText::new(&value, &form).expect("no limit");
        let mut at = ValueText::START;
        for byte in text.bytes() {
            assert_eq!(
                texts.first(at).expect("no limit").contains(byte),
                texts.step(at, byte).expect("no limit") != ValueText::DEAD
            );
            at = texts.step(at, byte).expect("no limit");
        }
        texts.accepts(at)
    }

    #[test]
    fn keys_are_left_until_their_colon_is_read() {
        let value = Value::read(br#"{"a":[1,{"b":2}],"ab":true,"c":{"d":"x"}}"#).expect("not deep");
        let mut texts = ValueText::new(&value, &JsonForm::exact()).expect("no limit");
        let mut left = |text: &str| {
            let step = |at, byte| texts.step(at, byte).expect("no limit");
            let at = text.bytes().fold(ValueText::START, step);
            let keys = texts.keys_left(at)?;
            Some(keys.map(str::to_owned).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(left(" "), None);
        for (text, keys) in [
            ("{", "a ab c"),
            (r#"{"a"#, "a ab c"),
            (r#"{"a""#, "ab c"),
            (r#"{"a":"#, "ab c"),
            (r#"{"a":[1,{"b":2}],"#, "ab c"),
            (r#"{"a":[1,{"b""#, "ab c"),
            (r#"{"c":{"d":"x"#, "a ab"),
            (r#"{"c":{"d":"x"},"ab":true,"\u0061":[1"#, ""),
        ] {
            assert_eq!(left(text).as_deref(), Some(keys), "{text}");
        }
        assert_eq!(left(r#"{"a":[1,{"b":2}],"ab":true,"c":{"d":"x"}}"#), None);
    }

    #[test]
    fn every_way_to_write_a_value_is_its_text() {
        let value = r#"{"a":[1,"x\ny",null,{}],"ab":true,"":"😀é/"}"#;
        for text in [
            value,
            r#"{ "ab" :true , "":"\ud83D\uDe00\u00e9\/","a":[ 1 ,"x\u000ay", null ,{ } ] }"#,
            r#"{"\u0061b":true,"\u0061":[1,"\u0078\ny",null,{}],"":"😀é/"}"#,
        ] {
            assert!(is_text(value, text), "{text}");
        }
        for text in [
            r#"{"a":[1,"x\ny",null,{}],"ab":true}"#,
            r#"{"a":[1,"x\ny",null,{}],"ab":true,"":"😀é/","":"😀é/"}"#,
            r#"{"a":[1,"x\ny",null,{}],"ab":true,"":"😀é/",}"#,
            r#"{,"a":[1,"x\ny",null,{}],"ab":true,"":"😀é/"}"#,
            r#"{"a":[1,"x\ny",null{}],"ab":true,"":"😀é/"}"#,
            r#"{"a":[1,"x\ny",null,{},],"ab":true,"":"😀é/"}"#,
            r#"{"a":[1,"x\ny",null],"ab":true,"":"😀é/"}"#,
            r#"{"a":[1,"xny",null,{}],"ab":true,"":"😀é/"}"#,
            r#"{"a":[1,"x\ny",null,{}],"ab":true,"":"\ud83d\ude01é/"}"#,
            r#"{"a":[10,"x\ny",null,{}],"ab":true,"":"😀é/"}"#,
            r#"{"a":[1,"x\ny",null,{}],"ab":true,"":"😀é/"} "#,
        ] {
            assert!(!is_text(value, text), "{text}");
        }
        assert!(is_text("[[],[2,3]]", "[[ ],[2,3 ]]"));
        assert!(!is_text("[[],[2,3]]", "[[2],[3]]"));
        assert!(is_text("12", "12") && !is_text("12", "1") && !is_text("12", "120"));
        assert!(is_text(r#""\\\"""#, r#""\u005c\"""#));
    }
}

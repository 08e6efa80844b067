//! Where in a JSON document one is, and how probable the document is so far, as a reader has it.

use std::ops::Range;

use super::document::{Document, Node, Presence};
use super::texts::{Place, Window, Written};

/// The most values of arrays whose last place is remembered.
const MAX_LISTS: usize = 8;

/// A list goes on, or ends, with at least this probability.
pub(super) const LEAST_MORE: f64 = 0.02;

/// Below deeper containers, nothing is preferred.
const MAX_DEPTH: usize = 24;

/// The probability that a value is none of those that were found.
const OTHER: f64 = 0.02;

/// A smaller probability is none.
const LEAST_LEFT: f64 = 1e-6;

/// Where in a JSON text one is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    state: State,
    open: [Open; MAX_DEPTH],
    depth: usize,
    /// What of the lists has been written; the first of them.
    written: [Option<(Node, Written)>; MAX_LISTS],
    /// The logarithm of how probable the values so far are, the one that is being written among them.
    pub(super) ln_probability: f64,
}

/// An open container.
#[derive(Debug, Clone, Copy)]
struct Open {
    node: Option<Node>,
    is_array: bool,
    /// Of an object, in the order of the schema: how many keys are written or left out.
    keys: u16,
    /// Whether it has been counted that another key follows.
    goes_on: bool,
    /// Of an array, whether it has items.
    has_items: bool,
    /// Of an item, where the next one begins.
    until: u32,
}

impl Open {
    fn new(node: Option<Node>, is_array: bool) -> Self {
        Self {
            node,
            is_array,
            keys: 0,
            goes_on: false,
            has_items: false,
            until: u32::MAX,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Before a value.
    Value(Option<Node>),
    /// Before a key, or the end of an object.
    BeforeKey,
    InKey {
        place: Option<Place>,
        is_escaped: bool,
    },
    /// Before the colon.
    AfterKey(Option<Node>),
    /// In a string, a number or a word.
    InValue {
        /// Where its texts are, and how far they have come.
        found: Option<(Node, Place)>,
        is_string: bool,
        is_escaped: bool,
    },
    AfterValue,
    /// Where nothing is preferred any more.
    Lost,
}

impl Position {
    pub(super) fn start() -> Self {
        Self {
            state: State::Value(Some(0)),
            open: [Open::new(None, false); MAX_DEPTH],
            depth: 0,
            written: [None; MAX_LISTS],
            ln_probability: 0.0,
        }
    }

    pub(super) fn step(&mut self, byte: u8, document: &Document) {
        match self.state {
            State::Lost => {}
            State::InValue {
                found,
                is_string: true,
                is_escaped,
            } => {
                let found = found.map(|found| self.advance(found, byte, document));
                let is_end = byte == b'"' && !is_escaped;
                self.state = match is_end {
                    true => self.ended(found, document),
                    false => State::InValue {
                        found,
                        is_string: true,
                        is_escaped: byte == b'\\' && !is_escaped,
                    },
                };
            }
            State::InValue {
                found,
                is_string: false,
                ..
            } => match byte {
                b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.state = self.ended(found, document);
                    self.step(byte, document);
                }
                _ => {
                    let found = found.map(|found| self.advance(found, byte, document));
                    self.state = State::InValue {
                        found,
                        is_string: false,
                        is_escaped: false,
                    };
                }
            },
            State::InKey { place, is_escaped } => {
                let node = self.inner().and_then(|open| open.node);
                let members = node.map(|node| &document.nodes[node as usize]);
                let Some((members, place)) = members.zip(place) else {
                    self.state = match byte == b'"' && !is_escaped {
                        true => State::AfterKey(None),
                        false => State::InKey {
                            place,
                            is_escaped: byte == b'\\' && !is_escaped,
                        },
                    };
                    return;
                };
                let before = self.next_key(members.keys.range(place), document);
                self.state = if byte == b'"' && !is_escaped {
                    let at = members.keys.at_end(place);
                    let key = at.map_or(0..0, |at| at..at + 1);
                    self.gain(before, self.next_key(key, document));
                    let below = at.map(|at| members.below[at]);
                    if let Some(below) = below {
                        let open = &mut self.open[self.depth - 1];
                        open.keys = open.keys.max(document.nodes[below as usize].number + 1);
                    }
                    State::AfterKey(below)
                } else {
                    let next = members.keys.step(place, byte);
                    self.gain(before, self.next_key(members.keys.range(next), document));
                    State::InKey {
                        place: Some(next),
                        is_escaped: byte == b'\\' && !is_escaped,
                    }
                };
            }
            // The decoder writes compact JSON. Where whitespace is allowed as well, it would be a way around values.
            _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => self.gain(1.0, 0.0),
            State::AfterKey(node) => match byte {
                b':' => self.state = State::Value(node),
                _ => self.lose(),
            },
            State::BeforeKey => match byte {
                b'"' => {
                    self.go_on(true, document);
                    let node = self.inner().and_then(|open| open.node);
                    let keys = node.map(|node| &document.nodes[node as usize].keys);
                    self.state = State::InKey {
                        place: keys.map(|keys| keys.start(Window::ALL)),
                        is_escaped: false,
                    };
                    if let Some(open) = self.depth.checked_sub(1) {
                        self.open[open].goes_on = false;
                    }
                }
                b'}' => {
                    self.go_on(false, document);
                    self.close();
                }
                _ => self.lose(),
            },
            State::AfterValue => match (byte, self.inner()) {
                (b',' | b']', Some(open)) if open.is_array => {
                    self.count(open.node, byte == b',', document);
                    match byte {
                        b',' => self.state = State::Value(open.node),
                        _ => self.close(),
                    }
                }
                (b',', Some(_)) => {
                    self.go_on(true, document);
                    self.state = State::BeforeKey;
                }
                (b'}', Some(_)) => {
                    self.go_on(false, document);
                    self.close();
                }
                _ => self.lose(),
            },
            State::Value(node) => {
                if self.inner().is_some_and(|open| open.is_array) {
                    self.begin(byte != b']', document);
                }
                match byte {
                    b'{' => self.enter(node, false),
                    b'[' => {
                        // An array in an item goes on where that of the item before ended.
                        if self.open[..self.depth].iter().all(|open| !open.is_array) {
                            self.forget(node, document);
                        }
                        self.enter(node, true);
                    }
                    // Of an empty array.
                    b']' => self.close(),
                    _ => {
                        self.state = State::InValue {
                            found: node.and_then(|node| self.first(node, byte, document)),
                            is_string: byte == b'"',
                            is_escaped: false,
                        };
                    }
                }
            }
        }
    }

    /// Whether nothing is preferred any more.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost)
    }

    fn inner(&self) -> Option<Open> {
        self.depth.checked_sub(1).map(|at| self.open[at])
    }

    fn enter(&mut self, node: Option<Node>, is_array: bool) {
        let Some(open) = self.open.get_mut(self.depth) else {
            self.state = State::Lost;
            return;
        };
        *open = Open::new(node, is_array);
        self.depth += 1;
        self.state = match is_array {
            true => State::Value(node),
            false => State::BeforeKey,
        };
    }

    fn close(&mut self) {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                self.state = State::AfterValue;
            }
            None => self.lose(),
        }
    }

    /// What follows is no JSON, which only a decoder without a constraint writes.
    fn lose(&mut self) {
        self.gain(1.0, 0.0);
        self.state = State::Lost;
    }

    /// Begins a value.
    fn first(&mut self, node: Node, byte: u8, document: &Document) -> Option<(Node, Place)> {
        let texts = document.texts(node)?;
        let window = match texts.is_list() {
            true => self.window(node, document),
            false => Window::ALL,
        };
        let is_null = texts.is_list() && byte == b'n';
        let is_part = self.inner().is_some_and(|open| !open.is_array);
        if is_part && self.counted(document) != Some(node) {
            let some = texts.has_some(window);
            self.gain(1.0, if is_null { 1.0 - some } else { some });
        }
        (!is_null).then(|| self.advance((node, texts.start(window)), byte, document))
    }

    /// Goes on in a value.
    fn advance(
        &mut self,
        (node, place): (Node, Place),
        byte: u8,
        document: &Document,
    ) -> (Node, Place) {
        let Some(texts) = document.texts(node) else {
            return (node, place);
        };
        let next = texts.step(place, byte);
        self.gain(texts.probability(place), texts.probability(next));
        (node, next)
    }

    /// What had this probability has that one now.
    fn gain(&mut self, before: f64, after: f64) {
        self.ln_probability += with_others(after) - with_others(before);
    }

    /// Ends a value.
    fn ended(&mut self, found: Option<(Node, Place)>, document: &Document) -> State {
        if let Some((node, place)) = found
            && let Some(texts) = document.texts(node)
        {
            self.gain(texts.probability(place), texts.probability_at_end(place));
            if let Some(written) = texts.written(place) {
                self.remember(node, written);
            }
            if self.counted(document) == Some(node)
                && let Some(item) = self.item()
                && let Some(written) = self.written(node)
            {
                let next = texts.next(Window::after(written));
                self.open[item].until = next.unwrap_or(u32::MAX);
            }
        }
        State::AfterValue
    }

    /// Counts whether an array goes on after an item.
    fn count(&mut self, array: Option<Node>, goes_on: bool, document: &Document) {
        let counted = array.and_then(|node| document.counted(node));
        if let Some(counted) = counted
            && let Some(written) = self.written(counted)
            && let Some(texts) = document.texts(counted)
        {
            let more = texts.has_some(Window::after(written));
            let more = more.clamp(LEAST_MORE, 1.0 - LEAST_MORE);
            self.ln_probability += if goes_on { more } else { 1.0 - more }.ln();
        }
    }

    /// Counts whether the innermost array has a first item.
    fn begin(&mut self, has_some: bool, document: &Document) {
        let array = self.open[self.depth - 1];
        if !array.has_items
            && let Some(counted) = self.counted(document)
            && let Some(texts) = document.texts(counted)
        {
            let some = texts.has_some(self.window(counted, document));
            self.gain(1.0, if has_some { some } else { 1.0 - some });
        }
        self.open[self.depth - 1].has_items = true;
    }

    /// The innermost item of an array that is an object.
    fn item(&self) -> Option<usize> {
        let array = { self.open[..self.depth].iter() }.rposition(|open| open.is_array)?;
        (array + 1 < self.depth).then_some(array + 1)
    }

    /// The value that the items of the innermost array are counted by.
    fn counted(&self, document: &Document) -> Option<Node> {
        let mut open = self.open[..self.depth].iter().rev();
        let array = open.find(|open| open.is_array)?.node?;
        document.counted(array)
    }

    /// Where the next value of a list may begin: after the last one, and, if it is a part of an item, before the next
    /// item.
    fn window(&self, list: Node, document: &Document) -> Window {
        let from = self.written(list).map_or(0, |written| written.after);
        let is_part = self.counted(document) != Some(list);
        let item = self.item().filter(|_| is_part);
        let to = item.map_or(u32::MAX, |item| self.open[item].until);
        Window {
            from,
            to: to.max(from),
        }
    }

    /// How probable it is that one of these keys of the innermost object, by rank, comes next, if one comes.
    fn next_key(&self, keys: Range<usize>, document: &Document) -> f64 {
        match self.next_keys(keys, document) {
            Some((found, none)) if 1.0 - none > LEAST_LEFT => found / (1.0 - none),
            _ => 1.0,
        }
    }

    /// Counts whether an object goes on with another key.
    fn go_on(&mut self, goes_on: bool, document: &Document) {
        if self.inner().is_some_and(|open| open.goes_on) {
            return;
        }
        if let Some((_, none)) = self.next_keys(0..0, document) {
            self.gain(1.0, if goes_on { 1.0 - none } else { none });
            self.open[self.depth - 1].goes_on = goes_on;
        }
    }

    /// How probable it is that one of these keys of the innermost object comes next, and that none does; if that is
    /// asked.
    fn next_keys(&self, keys: Range<usize>, document: &Document) -> Option<(f64, f64)> {
        let open = self.inner().filter(|open| !open.is_array)?;
        let members = &document.nodes[open.node? as usize];
        let (mut found, mut none) = (0.0, 1.0);
        for &node in members.in_order.iter().skip(open.keys.into()) {
            let present = self.presence(node, document)?;
            if keys.contains(&document.nodes[node as usize].rank) {
                found += none * present;
            }
            none *= 1.0 - present;
            if none < LEAST_LEFT {
                break;
            }
        }
        (!members.in_order.is_empty()).then_some((found, none))
    }

    /// How probable it is that a key is there, if that is asked.
    fn presence(&self, node: Node, document: &Document) -> Option<f64> {
        match document.nodes[node as usize].presence {
            Presence::Unasked => None,
            Presence::Required => Some(1.0),
            Presence::Optional(present) => Some(present),
            Presence::Part => {
                let texts = document.texts(node)?;
                Some(texts.has_some(self.window(node, document)))
            }
        }
    }

    fn written(&self, list: Node) -> Option<Written> {
        let mut known = self.written.iter().flatten();
        known
            .find(|(node, _)| *node == list)
            .map(|(_, written)| *written)
    }

    fn remember(&mut self, list: Node, written: Written) {
        let is_it =
            |known: &&mut Option<(Node, Written)>| known.is_none_or(|(node, _)| node == list);
        if let Some(known) = self.written.iter_mut().find(is_it) {
            *known = Some((list, written));
        }
    }

    /// Begins the lists of an array anew.
    fn forget(&mut self, array: Option<Node>, document: &Document) {
        let Some(array) = array else { return };
        let below = array..document.nodes[array as usize].end;
        let mut kept = [None; MAX_LISTS];
        let rest = { self.written.iter() }
            .flatten()
            .filter(|(node, _)| !below.contains(node));
        for (place, known) in kept.iter_mut().zip(rest) {
            *place = Some(*known);
        }
        self.written = kept;
    }
}

/// The logarithm of a probability, with that of all that was not found.
pub(super) fn with_others(probability: f64) -> f64 {
    (OTHER + (1.0 - OTHER) * probability).ln()
}

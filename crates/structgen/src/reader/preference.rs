//! A sampler that prefers the values that a reader has found.

use std::ops::Range;
use std::sync::Arc;

use structgen_decode::samplers::{Accepted, Candidates, Sampler, SequenceStart};
use structgen_vocab::{TokenId, Vocabulary};

use super::document::{Document, LazyDocument, Members, Node, Presence};
use super::texts::{Place, Window, Written};

/// The most values of arrays whose last place is remembered.
const MAX_LISTS: usize = 8;

/// A list goes on, or ends, with at least this probability.
const LEAST_MORE: f64 = 0.02;

/// Below deeper containers, nothing is preferred.
const MAX_DEPTH: usize = 24;

/// The probability that a value is none of those that were found.
const OTHER: f64 = 0.02;

/// A smaller probability is none.
const LEAST_LEFT: f64 = 1e-6;

/// Where in a JSON text one is.
#[derive(Debug, Clone, Copy)]
struct Position {
    state: State,
    open: [Open; MAX_DEPTH],
    depth: usize,
    /// What of the lists has been written; the first of them.
    written: [Option<(Node, Written)>; MAX_LISTS],
    /// The logarithm of how probable the values so far are, the one that is being written among them.
    ln_probability: f64,
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
    fn start() -> Self {
        Self {
            state: State::Value(Some(0)),
            open: [Open::new(None, false); MAX_DEPTH],
            depth: 0,
            written: [None; MAX_LISTS],
            ln_probability: 0.0,
        }
    }

    fn step(&mut self, byte: u8, document: &Document) {
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
        let counted = array.and_then(|node| document.nodes[node as usize].counted);
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
        document.nodes[array as usize].counted
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

    /// How probable it is that one of these keys of the innermost object comes next, if one comes. They are ranks.
    fn next_key(&self, keys: Range<usize>, document: &Document) -> f64 {
        let Some((open, members)) = self.object(document) else {
            return 1.0;
        };
        let (mut left, mut some, mut found) = (1.0, 0.0, 0.0);
        for &node in members.in_order.iter().skip(open.keys.into()) {
            let Some(present) = self.presence(node, document) else {
                return 1.0;
            };
            some += left * present;
            if keys.contains(&document.nodes[node as usize].rank) {
                found += left * present;
            }
            left *= 1.0 - present;
            if left < LEAST_LEFT {
                break;
            }
        }
        if some > LEAST_LEFT { found / some } else { 1.0 }
    }

    /// Counts whether an object goes on with another key.
    fn go_on(&mut self, goes_on: bool, document: &Document) {
        let Some((open, members)) = self.object(document) else {
            return;
        };
        if open.goes_on {
            return;
        }
        let mut left = 1.0;
        for &node in members.in_order.iter().skip(open.keys.into()) {
            let Some(present) = self.presence(node, document) else {
                return;
            };
            left *= 1.0 - present;
            if left < LEAST_LEFT {
                break;
            }
        }
        self.gain(1.0, if goes_on { 1.0 - left } else { left });
        self.open[self.depth - 1].goes_on = goes_on;
    }

    /// The innermost object.
    fn object<'d>(&self, document: &'d Document) -> Option<(Open, &'d Members)> {
        let open = self.inner().filter(|open| !open.is_array)?;
        let members = &document.nodes[open.node? as usize];
        (!members.in_order.is_empty()).then_some((open, members))
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
fn with_others(probability: f64) -> f64 {
    (OTHER + (1.0 - OTHER) * probability).ln()
}

/// Adds to the logit of each token the logarithm of how much more probable, or less, the document is with it, as the
/// reader has it: of the texts of a value, the share that goes on with the token.
#[derive(Clone)]
pub(crate) struct Preference {
    document: Arc<LazyDocument>,
    vocabulary: Arc<Vocabulary>,
    /// Where the output begins.
    start: Position,
    now: Position,
    weight: f32,
}

impl Preference {
    pub(super) fn new(
        document: Arc<LazyDocument>,
        vocabulary: Arc<Vocabulary>,
        weight: f32,
    ) -> Self {
        let start = Position::start();
        Self {
            document,
            vocabulary,
            start,
            now: start,
            weight,
        }
    }

    /// The same for an output that goes on from these tokens.
    pub(crate) fn after(mut self, written: &[TokenId]) -> Self {
        for &token in written {
            self.start = self.with(self.start, token);
        }
        self.now = self.start;
        self
    }

    fn with(&self, mut position: Position, token: TokenId) -> Position {
        for &byte in self.vocabulary.token_bytes(token).unwrap_or_default() {
            position.step(byte, &self.document);
        }
        position
    }
}

impl Sampler for Preference {
    fn apply(&mut self, candidates: &mut Candidates) {
        if candidates.len() < 2 || matches!(self.now.state, State::Lost) {
            return;
        }
        let (ids, logits) = candidates.ids_and_logits_mut();
        for (&id, logit) in ids.iter().zip(logits) {
            let gained = self.with(self.now, id).ln_probability - self.now.ln_probability;
            *logit += self.weight * gained as f32;
        }
    }

    fn accept(&mut self, accepted: Accepted) {
        self.now = self.with(self.now, accepted.token);
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.now = self.start;
        let prefill = start.prompt.len() - start.prefilled;
        for &token in &start.prompt[prefill..] {
            self.now = self.with(self.now, token);
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::super::document::ReadValue;
    use super::super::fields::ReadKey;
    use super::super::texts::{Listed, Texts};
    use super::*;

    fn value(path: &[&str], texts: Texts) -> ReadValue {
        ReadValue {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            counts: texts.is_list(),
            is_part: texts.is_list() && path.len() > 1,
            absent: None,
            texts,
        }
    }

    fn key(path: &[&str], is_required: bool) -> ReadKey {
        ReadKey {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            is_required,
        }
    }

    fn preference() -> Preference {
        let texts =
            |pairs: &[(&str, f64)]| Texts::new(pairs.iter().map(|&(text, p)| (text.to_owned(), p)));
        let values = vec![
            value(
                &["name"],
                texts(&[(r#""Ada""#, 0.75), (r#""A \"B\"""#, 0.25)]),
            ),
            value(
                &["rows", "n"],
                texts(&[("1", 0.5), ("12", 0.25), ("null", 0.25)]),
            ),
            value(&["\u{e4}\"", "ok"], texts(&[("true", 0.9), ("false", 0.1)])),
        ];
        let document = Document::new(values, &[]);
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        tokens.extend([r#"":""#, r#""},{""#, "12}"].map(|token| token.as_bytes().to_vec()));
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0)
    }

    fn ids(text: &str) -> Vec<TokenId> {
        text.bytes().map(|byte| TokenId(u32::from(byte))).collect()
    }

    /// The logarithm of the probability of a text's values.
    fn ln_of(text: &str) -> f64 {
        preference().after(&ids(text)).start.ln_probability
    }

    #[track_caller]
    fn check(text: &str, values: &[f64]) {
        let expected: f64 = values.iter().map(|&p| with_others(p)).sum();
        let got = ln_of(text);
        assert!(
            (got - expected).abs() < 1e-9,
            "{text}: {got}, not {expected}"
        );
    }

    #[test]
    fn a_document_is_as_probable_as_its_values() {
        check(r#"{"name":"Ada""#, &[0.75]);
        check(
            "{\"name\" :\n \"Ada\",\"x\":[1,{\"name\":\"Ada\"}]}",
            &[0.75, 0.0, 0.0, 0.0],
        );
        check(r#"{"name":"A \"B\"","#, &[0.25]);
        check(r#"{"name":"Eve","#, &[0.0]);
        check(
            r#"{"rows":[{"n":1},{"n":12},{"m":1},{"n":null}]}"#,
            &[0.5, 0.25, 0.25],
        );
        check(r#"{"rows":[],"\u00e4\"":{"ok":true}}"#, &[]);
        check("{\"\u{e4}\\\"\":{\"ok\":true}}", &[0.9]);
    }

    #[test]
    fn items_come_in_the_order_of_the_text() {
        let listed = |text: &str, at: u32| Listed {
            text: text.to_owned(),
            start: at,
            end: at,
            probability: 0.5,
        };
        let values =
            |texts: [(&str, u32); 3]| Texts::list(texts.map(|(it, at)| listed(it, at)).into());
        let document = vec![
            value(&["z", "n"], values([("1", 1), ("2", 5), ("1", 9)])),
            value(
                &["z", "a"],
                values([("\"x\"", 2), ("\"y\"", 6), ("\"z\"", 10)]),
            ),
            value(&["tags"], values([("1", 1), ("2", 5), ("1", 9)])),
        ];
        let document = Document::new(document, &[]);
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        let tokens = (0..=255).map(|byte| vec![byte]);
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let preference = Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0);
        let ln_of = |text: &str| preference.clone().after(&ids(text)).start.ln_probability;
        let gained = |before: &str, after: &str| ln_of(&format!("{before}{after}")) - ln_of(before);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");

        // There is one of 1/2, 1/4 and 1/8; then one of 1/2 and 1/4, and the others are gone.
        close(
            gained(r#"{"tags":["#, "2,"),
            with_others(7.0 / 8.0) + with_others(2.0 / 7.0) + 0.5f64.ln(),
        );
        close(gained(r#"{"tags":["#, "]"), with_others(1.0 / 8.0));
        close(gained(r#"{"tags":[2,"#, "2"), with_others(0.0));
        close(gained(r#"{"tags":[2,"#, "1"), with_others(1.0));
        close(
            gained(r#"{"tags":[2,1"#, "]"),
            with_others(1.0) - with_others(1.0) + (1.0 - LEAST_MORE).ln(),
        );
        // Items are counted by the first of their values, in the order of the schema.
        let item = r#"{"z":[{"a":"z","n":1}"#;
        close(gained(item, ","), 0.75f64.ln());
        close(gained(item, "]"), 0.25f64.ln());
        // Each array begins anew; null is no item of those.
        close(gained(r#"{"tags":[2,1],"tags":[2,"#, "1"), with_others(1.0));
        close(gained(r#"{"tags":[2,"#, "null"), 0.0);
        // The other values of an item are before the next one, where 1 has been written: x, and neither y nor z.
        let item = r#"{"z":[{"n":1,"a":"#;
        close(gained(item, "\"x\""), with_others(0.5) + with_others(1.0));
        close(gained(item, "\"y\""), with_others(0.5) + with_others(0.0));
        close(gained(item, "null"), with_others(0.5));
    }

    #[test]
    fn keys_are_as_probable_as_their_values() {
        let sure = || Texts::new([("1".to_owned(), 1.0)]);
        let absent = |path: &[&str], absent| ReadValue {
            absent: Some(absent),
            ..value(path, sure())
        };
        let document = Document::new(
            vec![
                absent(&["o", "ab"], 0.75),
                absent(&["o", "ac"], 0.5),
                value(&["o", "b"], sure()),
                absent(&["o", "c"], 0.125),
            ],
            &[
                key(&["o"], true),
                key(&["o", "ab"], false),
                key(&["o", "ac"], false),
                key(&["o", "b"], true),
                key(&["o", "c"], false),
            ],
        );
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        let tokens = (0..=255).map(|byte| vec![byte]);
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let preference = Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0);
        let ln_of = |text: &str| preference.clone().after(&ids(text)).start.ln_probability;
        let check = |text: &str, expected: &[f64]| {
            let expected: f64 = expected.iter().map(|&p| with_others(p)).sum();
            let got = ln_of(text);
            assert!(
                (got - expected).abs() < 1e-9,
                "{text}: {got}, not {expected}"
            );
        };
        // Of the first three, one comes for certain.
        check(r#"{"o":{"a"#, &[0.25 + 0.75 * 0.5]);
        check(r#"{"o":{"ab""#, &[0.25]);
        check(r#"{"o":{"ac":"#, &[0.75 * 0.5]);
        check(r#"{"o":{"b":1"#, &[0.75 * 0.5]);
        check(r#"{"o":{"ab":1,"b":1"#, &[0.25, 0.5]);
        check(r#"{"o":{"b":1}"#, &[0.75 * 0.5, 0.125]);
        check(r#"{"o":{"b":1,"c":1}"#, &[0.75 * 0.5, 0.875]);
        check(r#"{"o":{"b": 1,"c":1}}"#, &[0.75 * 0.5, 0.875, 0.0]);
        // A key that the schema does not have.
        check(r#"{"o":{"z":1"#, &[0.0]);
    }

    #[test]
    fn a_value_that_is_not_complete_is_as_probable_as_what_goes_on_from_it() {
        check(r#"{"name":"A"#, &[1.0]);
        check(r#"{"name":"Ad"#, &[0.75]);
        check(r#"{"rows":[{"n":1"#, &[0.75]);
        check(r#"{"rows":[{"n":1}"#, &[0.5]);
    }

    #[test]
    fn deep_documents_and_what_is_no_json_are_not_followed() {
        check(&format!("{}1", "[".repeat(1000)), &[]);
        check(r#"{"name""Ada"}"#, &[0.0]);
        check("]]", &[0.0]);
    }

    #[test]
    fn tokens_gain_what_the_document_gains() {
        let mut preference = preference().after(&ids(r#"{"rows":[{"n":"#));
        let quote = TokenId(u32::from(b'"'));
        let one = TokenId(u32::from(b'1'));
        let twelve = TokenId(258);
        let logits = |preference: &mut Preference| {
            let mut candidates = Candidates::from_pairs([(quote, 0.0), (one, 0.0), (twelve, 0.0)]);
            preference.apply(&mut candidates);
            candidates.logits().to_vec()
        };
        let expected = [0.0, 0.75, 0.25].map(|p| with_others(p) as f32);
        assert_eq!(logits(&mut preference), expected);
        let mut copy = preference.clone_box();
        preference.accept(Accepted::certain(one));
        assert_ne!(logits(&mut preference), expected);
        // A copy, and the sampler after a reset, are where they were.
        let mut candidates = Candidates::from_pairs([(quote, 0.0), (one, 0.0), (twelve, 0.0)]);
        copy.apply(&mut candidates);
        assert_eq!(candidates.logits(), expected);
        let start = SequenceStart {
            prompt: &ids("{"),
            prefilled: 0,
            eos: &[],
        };
        preference.reset(start);
        assert_eq!(logits(&mut preference), expected);
    }

    #[test]
    fn what_is_prefilled_is_followed() {
        let mut preference = preference();
        let prompt = ids(r#"?{"name":"Ad"#);
        let start = SequenceStart {
            prompt: &prompt,
            prefilled: prompt.len() - 1,
            eos: &[],
        };
        preference.reset(start);
        assert!((preference.now.ln_probability - with_others(0.75)).abs() < 1e-9);
    }
}

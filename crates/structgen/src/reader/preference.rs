//! A sampler that prefers the values that a reader has found.

use std::sync::Arc;

use structgen_decode::samplers::{Accepted, Candidates, Sampler, SequenceStart};
use structgen_vocab::{TokenId, Vocabulary};

use super::document::{Document, LazyDocument, Node};
use super::texts::{Place, Written};

/// The most values of arrays whose last place is remembered.
const MAX_LISTS: usize = 8;

/// A list goes on, or ends, with at least this probability.
const LEAST_MORE: f64 = 0.02;

/// Below deeper containers, nothing is preferred.
const MAX_DEPTH: usize = 24;

/// The probability that a value is none of those that were found.
const OTHER: f64 = 0.02;

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
            open: [Open {
                node: None,
                is_array: false,
            }; MAX_DEPTH],
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
                self.state = if byte == b'"' && !is_escaped {
                    let below = members.zip(place).and_then(|(members, place)| {
                        members.keys.at_end(place).map(|at| members.below[at])
                    });
                    State::AfterKey(below)
                } else {
                    State::InKey {
                        place: { members.zip(place) }
                            .map(|(members, place)| members.keys.step(place, byte)),
                        is_escaped: byte == b'\\' && !is_escaped,
                    }
                };
            }
            _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => {}
            State::AfterKey(node) => {
                self.state = match byte {
                    b':' => State::Value(node),
                    _ => State::Lost,
                };
            }
            State::BeforeKey => match byte {
                b'"' => {
                    let node = self.inner().and_then(|open| open.node);
                    let place = node.map(|node| document.nodes[node as usize].keys.start(None));
                    self.state = State::InKey {
                        place,
                        is_escaped: false,
                    };
                }
                b'}' => self.close(),
                _ => self.state = State::Lost,
            },
            State::AfterValue => match (byte, self.inner()) {
                (b',' | b']', Some(open)) if open.is_array => {
                    self.count(open.node, byte == b',', document);
                    match byte {
                        b',' => self.state = State::Value(open.node),
                        _ => self.close(),
                    }
                }
                (b',', Some(_)) => self.state = State::BeforeKey,
                (b'}', Some(_)) => self.close(),
                _ => self.state = State::Lost,
            },
            State::Value(node) => match byte {
                b'{' => self.enter(node, false),
                b'[' => {
                    self.forget(node, document);
                    self.enter(node, true);
                }
                // Of an empty array.
                b']' => self.close(),
                _ => {
                    let found = node.and_then(|node| {
                        let texts = document.texts(node)?;
                        if texts.is_list() && byte == b'n' {
                            // Whether an item lacks it is not asked.
                            return None;
                        }
                        let written = texts.is_list().then(|| self.written(node)).flatten();
                        Some(self.advance((node, texts.start(written)), byte, document))
                    });
                    self.state = State::InValue {
                        found,
                        is_string: byte == b'"',
                        is_escaped: false,
                    };
                }
            },
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
        *open = Open { node, is_array };
        self.depth += 1;
        self.state = match is_array {
            true => State::Value(node),
            false => State::BeforeKey,
        };
    }

    fn close(&mut self) {
        self.state = match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                State::AfterValue
            }
            None => State::Lost,
        };
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
        let (before, after) = (texts.probability(place), texts.probability(next));
        self.ln_probability += with_others(after) - with_others(before);
        (node, next)
    }

    /// Ends a value.
    fn ended(&mut self, found: Option<(Node, Place)>, document: &Document) -> State {
        if let Some((node, place)) = found
            && let Some(texts) = document.texts(node)
        {
            let (before, after) = (texts.probability(place), texts.probability_at_end(place));
            self.ln_probability += with_others(after) - with_others(before);
            if let Some(written) = texts.written(place) {
                self.remember(node, written);
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
            let more = { texts.goes_on(written) }.clamp(LEAST_MORE, 1.0 - LEAST_MORE);
            self.ln_probability += if goes_on { more } else { 1.0 - more }.ln();
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

    use super::super::texts::{Listed, Texts};
    use super::*;

    fn preference() -> Preference {
        let texts =
            |pairs: &[(&str, f64)]| Texts::new(pairs.iter().map(|&(text, p)| (text.to_owned(), p)));
        let path = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Vec<_>>();
        let document = Document::new(vec![
            (
                path(&["name"]),
                texts(&[(r#""Ada""#, 0.75), (r#""A \"B\"""#, 0.25)]),
            ),
            (
                path(&["rows", "n"]),
                texts(&[("1", 0.5), ("12", 0.25), ("null", 0.25)]),
            ),
            (
                path(&["\u{e4}\"", "ok"]),
                texts(&[("true", 0.9), ("false", 0.1)]),
            ),
        ]);
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
            "{ \"name\" :\n \"Ada\" , \"x\": [1, {\"name\": \"Ada\"}]}",
            &[0.75],
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
        let path = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Vec<_>>();
        let document = Document::new(vec![
            (path(&["z", "n"]), values([("1", 1), ("2", 5), ("1", 9)])),
            (
                path(&["z", "a"]),
                values([("\"x\"", 2), ("\"y\"", 6), ("\"z\"", 10)]),
            ),
            (path(&["tags"]), values([("1", 1), ("2", 5), ("1", 9)])),
        ]);
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        let tokens = (0..=255).map(|byte| vec![byte]);
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let preference = Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0);
        let ln_of = |text: &str| preference.clone().after(&ids(text)).start.ln_probability;
        let gained = |before: &str, after: &str| ln_of(&format!("{before}{after}")) - ln_of(before);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");

        // First one of 1/2, 1/4 and 1/8; then one of 1/2 and 1/4, and the others are gone.
        close(
            gained(r#"{"tags":["#, "2,"),
            with_others(2.0 / 7.0) + 0.5f64.ln(),
        );
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
        // Each array begins anew; null says nothing.
        close(gained(r#"{"tags":[2,1],"tags":[2,"#, "1"), with_others(1.0));
        close(gained(r#"{"tags":["#, "null"), 0.0);
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
        check(r#"{"name" "Ada"}"#, &[]);
        check("]]", &[]);
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

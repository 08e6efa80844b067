//! The values of a document, by their places.

use std::sync::LazyLock;

use serde_json::Value;
use structgen_grammar::json_pointer::unescaped;

use super::fields::ReadKey;
use super::texts::{Texts, Window};

/// The place of a value in a document, whatever the indices of the arrays above it.
pub(super) type Node = u32;

/// What is known of a value.
#[derive(Debug)]
pub(super) struct ReadValue {
    /// The keys that lead to it.
    pub(super) path: Vec<String>,
    pub(super) texts: Texts,
    /// Whether it is a part of an array's items, and no item itself.
    pub(super) is_part: bool,
    /// The number of the keys that lead to the innermost array; 0 outside arrays.
    pub(super) array: usize,
    /// Whether an array has as many items as it has.
    pub(super) counts: bool,
    /// How probable it is that there is none, where its key is left out then.
    pub(super) absent: Option<f64>,
}

/// What can be written at each place, and how probable that is.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) nodes: Vec<Members>,
}

/// A document that is read where it is first looked at: on the thread that runs the decoder, which has a reader's
/// session of its own, and not on the one that asks.
pub(super) type LazyDocument = LazyLock<Document, Box<dyn FnOnce() -> Document + Send>>;

/// What is at a place: an object's keys, and the texts of a value.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// As they are written, without quotation marks.
    pub(super) keys: Texts,
    /// Of each key.
    pub(super) below: Vec<Node>,
    /// The same, in the order of the schema.
    pub(super) in_order: Vec<Node>,
    pub(super) texts: Option<Texts>,
    /// The node after those below.
    pub(super) end: Node,
    /// In an array: the value that tells how many items there are, and the number of the keys that lead to the array.
    counted: Option<(Node, usize)>,
    /// How probable it is that there is no value, where its key is left out then.
    absent: Option<f64>,
    /// Whether its key is there, where the object above has no other keys than those of the schema.
    pub(super) presence: Presence,
    /// Its number among the keys of the object above, in the order of the schema.
    pub(super) number: u16,
    /// The same in the order in which they are sorted.
    pub(super) rank: usize,
}

/// Whether a key is there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Presence {
    /// There may be other keys, so that nothing is said of any.
    #[default]
    Unasked,
    Required,
    /// With this probability.
    Optional(f64),
    /// If the item of the array has such a value.
    Part,
}

/// An optional key of which nothing is known is there with this probability.
const UNKNOWN: f64 = 0.5;

/// What is known of a place, with the keys that lead to it from another.
type Below = Vec<(Vec<String>, Known)>;

enum Known {
    Key { is_required: bool },
    Value(ReadValue),
}

/// A key as it is written, without quotation marks.
fn written_key(key: &str) -> String {
    let written = Value::from(key).to_string();
    written[1..written.len() - 1].to_owned()
}

impl Document {
    /// The texts of values, and the keys that their objects have.
    pub(super) fn new(values: Vec<ReadValue>, keys: &[ReadKey]) -> Self {
        let mut document = Self::default();
        let keys = keys.iter().map(|key| {
            let is_required = key.is_required;
            (key.path.clone(), Known::Key { is_required })
        });
        let values = values.into_iter().map(|mut value| {
            let path = std::mem::take(&mut value.path);
            (path, Known::Value(value))
        });
        document.add(keys.chain(values).collect(), 0);
        document
    }

    /// Adds the place to which `depth` keys lead, with all below it.
    fn add(&mut self, known: Below, depth: usize) -> Node {
        let node = self.nodes.len();
        let mut members = Members::default();
        let mut keys: Vec<(String, Below)> = Vec::new();
        let mut own = None;
        for (path, known) in known {
            let Some((key, rest)) = path.split_first() else {
                match known {
                    Known::Key { is_required: true } => members.presence = Presence::Required,
                    Known::Key { is_required: false } => {
                        members.presence = Presence::Optional(UNKNOWN);
                    }
                    Known::Value(value) => own = Some(value),
                }
                continue;
            };
            let written = written_key(key);
            let below = (rest.to_vec(), known);
            match keys.iter_mut().find(|(key, _)| *key == written) {
                Some((_, known)) => known.push(below),
                None => keys.push((written, vec![below])),
            }
        }
        if let Some(value) = own {
            members.absent = value.absent;
            if let Presence::Optional(present) = &mut members.presence {
                match value.absent {
                    Some(absent) => *present = 1.0 - absent,
                    None if value.is_part => members.presence = Presence::Part,
                    None => {}
                }
            }
            members.counted = value.counts.then_some((node as Node, value.array));
            members.texts = Some(value.texts);
        }
        self.nodes.push(members);
        let mut below: Vec<(String, Node)> = Vec::new();
        for (number, (key, known)) in (0..).zip(keys) {
            let child = self.add(known, depth + 1);
            self.nodes[child as usize].number = number;
            below.push((key, child));
        }
        let in_order: Vec<Node> = below.iter().map(|&(_, child)| child).collect();
        // What is in an array further down counts only the items of that one.
        let mut counted = in_order.iter().map(|&it| self.nodes[it as usize].counted);
        let counted = counted.find_map(|it| it.filter(|&(_, array)| array <= depth));
        below.sort_unstable();
        for (rank, &(_, child)) in below.iter().enumerate() {
            self.nodes[child as usize].rank = rank;
        }
        let end = self.nodes.len() as Node;
        let members = &mut self.nodes[node];
        members.keys = Texts::new(below.iter().map(|(key, _)| (key.clone(), 0.0)));
        members.below = below.into_iter().map(|(_, child)| child).collect();
        members.counted = members.counted.or(counted);
        (members.in_order, members.end) = (in_order, end);
        node as Node
    }

    /// The value that tells how many items an array has.
    pub(super) fn counted(&self, array: Node) -> Option<Node> {
        self.nodes[array as usize].counted.map(|(node, _)| node)
    }

    pub(super) fn texts(&self, node: Node) -> Option<&Texts> {
        self.nodes[node as usize].texts.as_ref()
    }

    /// How probable a value is, as it is written, at a JSON Pointer; `None` if nothing is known of it. Of what is in an
    /// array, only that there is nothing: which of its items a value is depends on the others.
    pub(super) fn probability(&self, pointer: &str, written: &str) -> Option<f64> {
        let mut members = self.nodes.first()?;
        let mut present = 1.0;
        for part in pointer.split('/').skip(1) {
            let key = written_key(&unescaped(part));
            let at = members.keys.find(key.as_bytes())?;
            members = &self.nodes[members.below[at] as usize];
            present *= 1.0 - members.absent.unwrap_or_default();
        }
        let list = members.counted.and_then(|(it, _)| self.texts(it));
        let probability = match (list, &members.texts) {
            (Some(list), _) if written == "[]" => 1.0 - list.has_some(Window::ALL),
            (None, Some(texts)) if !texts.is_list() => texts.probability_of(written.as_bytes()),
            _ => return None,
        };
        let probability = probability * present;
        probability.is_finite().then(|| probability.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::Listed;
    use super::*;

    fn value(path: &[&str], texts: Texts, absent: Option<f64>) -> ReadValue {
        ReadValue {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            is_part: texts.is_list() && path.len() > 1,
            array: usize::from(texts.is_list()),
            counts: texts.is_list(),
            texts,
            absent,
        }
    }

    #[test]
    fn values_are_as_probable_as_their_texts() {
        let texts =
            |pairs: &[(&str, f64)]| Texts::new(pairs.iter().map(|&(text, p)| (text.to_owned(), p)));
        let list = |probability| {
            Texts::list(vec![Listed {
                text: "\"a\"".to_owned(),
                start: 3,
                end: 3,
                probability,
            }])
        };
        let document = Document::new(
            vec![
                value(&["a\"/b", "0"], texts(&[("12", 0.75), ("1", 0.25)]), None),
                value(&["c"], texts(&[("\"x\"", 0.5), ("null", 0.5)]), Some(0.8)),
                value(&["tags"], list(0.25), None),
                value(&["rows", "name"], list(0.5), None),
            ],
            &[],
        );
        for (pointer, written, wanted) in [
            ("/a\"~1b/0", "12", Some(0.75)),
            ("/a\"~1b/0", "1", Some(0.25)),
            ("/a\"~1b/0", "123", Some(0.0)),
            // That the key is there is probable in a fifth of the cases.
            ("/c", "\"x\"", Some(0.1)),
            ("/c", "null", Some(0.1)),
            ("/tags", "[]", Some(0.75)),
            ("/rows", "[]", Some(0.5)),
            // Not an empty array.
            ("/tags", "[\"a\"]", None),
            ("/tags/0", "\"a\"", None),
            ("/rows/0/name", "null", None),
            ("/7/c", "\"x\"", None),
            ("//c", "\"x\"", None),
            ("/c/0", "\"x\"", None),
            ("", "{}", None),
        ] {
            let found = document.probability(pointer, written);
            let is_close = match (found, wanted) {
                (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-9,
                (found, wanted) => found == wanted,
            };
            assert!(is_close, "{pointer} {written} {found:?}");
        }
        assert_eq!(Document::default().probability("", "1"), None);
    }

    #[test]
    fn items_are_counted_by_values_of_their_own_array() {
        let list = |path: &[&str], array| ReadValue {
            array,
            ..value(path, Texts::list(Vec::new()), None)
        };
        let values = vec![
            list(&["rows", "tags"], 2),
            list(&["rows", "who", "name"], 1),
            list(&["rows", "n"], 1),
        ];
        let document = Document::new(values, &[]);
        // The root, rows, tags, who, name, n.
        let counted: Vec<Option<Node>> = (0..6).map(|node| document.counted(node)).collect();
        assert_eq!(counted, [None, Some(4), Some(2), Some(4), Some(4), Some(5)]);
    }
}

//! The values of a document, by their places.

use std::sync::LazyLock;

use super::texts::Texts;

/// The place of a value in a document, whatever the indices of the arrays above it.
pub(super) type Node = u32;

/// The texts of values, by the keys that lead to them.
pub(super) type ReadValues = Vec<(Vec<String>, Texts)>;

/// What can be written at each place, and how probable that is.
#[derive(Debug)]
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
    pub(super) texts: Option<Texts>,
    /// The node after those below.
    pub(super) end: Node,
    /// In an array: the value that tells how many items there are.
    pub(super) counted: Option<Node>,
}

impl Document {
    /// The texts of the values with these paths of keys.
    pub(super) fn new(values: ReadValues) -> Self {
        let mut document = Self { nodes: Vec::new() };
        document.add(values);
        document
    }

    fn add(&mut self, values: ReadValues) -> Node {
        let node = self.nodes.len();
        self.nodes.push(Members::default());
        let mut keys: Vec<(String, ReadValues)> = Vec::new();
        for (path, texts) in values {
            let Some((key, rest)) = path.split_first() else {
                self.nodes[node].texts = Some(texts);
                continue;
            };
            let written = serde_json::Value::from(key.as_str()).to_string();
            let written = written[1..written.len() - 1].to_owned();
            let below = (rest.to_vec(), texts);
            match keys.iter_mut().find(|(key, _)| *key == written) {
                Some((_, values)) => values.push(below),
                None => keys.push((written, vec![below])),
            }
        }
        let is_list = |texts: &Texts| texts.is_list();
        let is_counted = self.nodes[node].texts.as_ref().is_some_and(is_list);
        let mut counted = is_counted.then_some(node as Node);
        let mut below: Vec<(String, Node)> = Vec::new();
        for (key, values) in keys {
            let child = self.add(values);
            counted = counted.or(self.nodes[child as usize].counted);
            below.push((key, child));
        }
        below.sort_unstable();
        let end = self.nodes.len() as Node;
        let members = &mut self.nodes[node];
        members.keys = Texts::new(below.iter().map(|(key, _)| (key.clone(), 0.0)));
        members.below = below.into_iter().map(|(_, child)| child).collect();
        (members.end, members.counted) = (end, counted);
        node as Node
    }

    pub(super) fn texts(&self, node: Node) -> Option<&Texts> {
        self.nodes[node as usize].texts.as_ref()
    }
}

//! Reads which tensors an ONNX file stores, and what its operators do with them.

use std::collections::HashMap;
use std::io::{self, Read, Seek};

use super::{Place, Tensor, TensorType, Uses};
use crate::protobuf::Fields;

/// Graphs within graphs that are followed; what is deeper is passed over.
const DEEPEST: usize = 96;
/// The longest name or path that is read.
const LONGEST_NAME: u64 = 4_096;
/// The most dimensions of a tensor.
const MOST_DIMENSIONS: usize = 64;
/// The most tensors of a file, and the most values whose uses are noted.
const MOST_TENSORS: usize = 1_000_000;
/// The most inputs of a node that are read.
const MOST_INPUTS: usize = 4_096;

/// The attribute with the bits of a weight that operators unpack themselves.
const BITS: &str = "bits";
/// The attribute that says with which precision `MatMulNBits` may compute, and its value for products of int8.
const ACCURACY: (&str, u64) = ("accuracy_level", 4);

/// The messages on the way to a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Entry,
}

impl Message {
    fn within(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6) => Some(Self::Graph),
            (Self::Graph, 1) => Some(Self::Node),
            (Self::Graph, 5) | (Self::Attribute, 5) => Some(Self::Tensor),
            (Self::Node, 5) => Some(Self::Attribute),
            (Self::Tensor, 13) => Some(Self::Entry),
            _ => None,
        }
    }
}

pub(super) struct Reader<R> {
    fields: Fields<R>,
    pub(super) tensors: Vec<Tensor>,
    /// The name of the attribute that is read, where its number matters.
    attribute: String,
    /// The node that is read. Of one with graphs within it, what stands before them is lost: no tensor's form depends
    /// on it.
    node: Node,
    pub(super) block_bits: Option<u64>,
    pub(super) uses: HashMap<String, Uses>,
}

/// An operator and its inputs.
#[derive(Default)]
struct Node {
    operator: String,
    inputs: Vec<String>,
    accuracy: Option<u64>,
}

impl<R: Read + Seek> Reader<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            fields: Fields::new(source),
            tensors: Vec::new(),
            attribute: String::new(),
            node: Node::default(),
            block_bits: None,
            uses: HashMap::new(),
        }
    }

    /// Reads a model that ends at `end`.
    pub(super) fn model(&mut self, end: u64) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let mut open = vec![(Message::Model, end)];
        // The key of the place in another file that is read.
        let mut key = String::new();
        while let Some(&(message, end)) = open.last() {
            if self.fields.at() >= end {
                if message == Message::Node {
                    self.note_uses();
                }
                open.pop();
                continue;
            }
            let (field, wire_type) = self.fields.key()?;
            let len = match wire_type {
                0 => {
                    let number = self.fields.varint()?;
                    match (message, field) {
                        (Message::Tensor, 1) => self.dim(number),
                        (Message::Tensor, 2) => self.tensor(|tensor| tensor.dtype.0 = number),
                        (Message::Attribute, 3) if self.attribute == BITS => {
                            self.block_bits = Some(number);
                        }
                        (Message::Attribute, 3) if self.attribute == ACCURACY.0 => {
                            self.node.accuracy = Some(number);
                        }
                        _ => {}
                    }
                    continue;
                }
                1 => 8,
                5 => 4,
                2 => self.fields.varint()?,
                _ => return Err(invalid()),
            };
            let at = self.fields.at();
            let field_end = at
                .checked_add(len)
                .filter(|&at| at <= end)
                .ok_or_else(invalid)?;
            match (message, field) {
                (Message::Attribute, 1) if wire_type == 2 && len <= LONGEST_NAME => {
                    self.attribute = self.fields.text(len)?;
                }
                (Message::Node, 1) if wire_type == 2 && len <= LONGEST_NAME => {
                    let name = self.fields.text(len)?;
                    if self.node.inputs.len() < MOST_INPUTS {
                        self.node.inputs.push(name);
                    }
                }
                (Message::Node, 4) if wire_type == 2 && len <= LONGEST_NAME => {
                    self.node.operator = self.fields.text(len)?;
                }
                (Message::Tensor, 1) if wire_type == 2 => {
                    while self.fields.at() < field_end {
                        let dim = self.fields.varint()?;
                        self.dim(dim);
                    }
                }
                (Message::Tensor, 8) if wire_type == 2 && len <= LONGEST_NAME => {
                    let name = self.fields.text(len)?;
                    self.tensor(|tensor| tensor.name = name);
                }
                // Floats are either packed or raw; both are little-endian in their order.
                (Message::Tensor, 4 | 9) if wire_type == 2 => {
                    self.tensor(|tensor| tensor.place = Place::Here { at, len });
                    self.fields.skip_to(field_end)?;
                }
                (Message::Entry, 1) if wire_type == 2 && len <= LONGEST_NAME => {
                    key = self.fields.text(len)?;
                }
                (Message::Entry, 2) if wire_type == 2 && len <= LONGEST_NAME => {
                    let value = self.fields.text(len)?;
                    self.tensor(|tensor| tensor.place.note(&key, &value));
                }
                _ => match message.within(field).filter(|_| wire_type == 2) {
                    Some(Message::Tensor) if self.tensors.len() >= MOST_TENSORS => {
                        return Err(invalid());
                    }
                    Some(inner) if open.len() < DEEPEST => {
                        match inner {
                            Message::Tensor => self.tensors.push(Tensor::nameless()),
                            Message::Node => self.node = Node::default(),
                            Message::Attribute => self.attribute.clear(),
                            _ => {}
                        }
                        open.push((inner, field_end));
                    }
                    _ => self.fields.skip_to(field_end)?,
                },
            }
        }
        Ok(())
    }

    /// Notes what the node that ends here does with its inputs.
    fn note_uses(&mut self) {
        let node = std::mem::take(&mut self.node);
        let is_int8 = node.accuracy == Some(ACCURACY.1);
        for (place, name) in node.inputs.into_iter().enumerate() {
            if name.is_empty() || self.uses.len() >= MOST_TENSORS {
                continue;
            }
            let uses = self.uses.entry(name).or_default();
            match (&*node.operator, place) {
                ("Gather", 0) => uses.looked_up = true,
                ("MatMulNBits", 2) => uses.scales |= is_int8,
                _ => uses.computed_with = true,
            }
        }
    }

    /// Changes the tensor that is read.
    fn tensor(&mut self, change: impl FnOnce(&mut Tensor)) {
        if let Some(tensor) = self.tensors.last_mut() {
            change(tensor);
        }
    }

    fn dim(&mut self, dim: u64) {
        self.tensor(|tensor| {
            if tensor.dims.len() < MOST_DIMENSIONS {
                tensor.dims.push(dim);
            }
        });
    }
}

impl Tensor {
    pub(super) fn nameless() -> Self {
        Self {
            name: String::new(),
            dims: Vec::new(),
            dtype: TensorType(0),
            file: 0,
            place: Place::Elsewhere,
            uses: Uses::default(),
        }
    }
}

impl Place {
    /// Notes an entry of the place in another file.
    pub(super) fn note(&mut self, key: &str, value: &str) {
        if !matches!(self, Self::Beside { .. }) {
            *self = Self::Beside {
                file: String::new(),
                at: 0,
                len: None,
            };
        }
        let Self::Beside { file, at, len } = self else {
            return;
        };
        match key {
            "location" => *file = value.to_owned(),
            "offset" => *at = value.parse().unwrap_or(u64::MAX),
            "length" => *len = value.parse().ok(),
            _ => {}
        }
    }
}

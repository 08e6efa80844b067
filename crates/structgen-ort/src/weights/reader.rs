//! Reads which tensors an ONNX file stores, and what its operators do with them.

use std::collections::HashMap;
use std::io::{self, Read, Seek};

use super::{Place, Tensor, TensorType, Uses};
use crate::protobuf::{self, Fields, Visitor};

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
pub(super) enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Entry,
}

#[derive(Default)]
pub(super) struct Reader {
    pub(super) tensors: Vec<Tensor>,
    /// The name of the attribute that is read, where its number matters.
    attribute: String,
    /// The node that is read. Of one with graphs within it, what stands before them is lost: no tensor's form depends
    /// on it.
    node: Node,
    /// The key of the place in another file that is read.
    key: String,
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

impl Visitor for Reader {
    type Message = Message;

    fn within(message: Message, field: u64) -> Option<Message> {
        match (message, field) {
            (Message::Model, 7) | (Message::Attribute, 6) => Some(Message::Graph),
            (Message::Graph, 1) => Some(Message::Node),
            (Message::Graph, 5) | (Message::Attribute, 5) => Some(Message::Tensor),
            (Message::Node, 5) => Some(Message::Attribute),
            (Message::Tensor, 13) => Some(Message::Entry),
            _ => None,
        }
    }

    fn begin(&mut self, message: Message) -> io::Result<()> {
        match message {
            Message::Tensor if self.tensors.len() >= MOST_TENSORS => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            Message::Tensor => self.tensors.push(Tensor::nameless()),
            Message::Node => self.node = Node::default(),
            Message::Attribute => self.attribute.clear(),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, message: Message) {
        if message == Message::Node {
            self.note_uses();
        }
    }

    fn number(&mut self, message: Message, field: u64, number: u64) {
        match (message, field) {
            (Message::Tensor, 1) => self.dim(number),
            (Message::Tensor, 2) => self.tensor(|tensor| tensor.dtype.0 = number),
            (Message::Attribute, 3) if self.attribute == BITS => self.block_bits = Some(number),
            (Message::Attribute, 3) if self.attribute == ACCURACY.0 => {
                self.node.accuracy = Some(number);
            }
            _ => {}
        }
    }

    fn value<R: Read + Seek>(
        &mut self,
        message: Message,
        field: u64,
        len: u64,
        fields: &mut Fields<R>,
    ) -> io::Result<bool> {
        let at = fields.at();
        match (message, field) {
            (Message::Tensor, 1) => {
                while fields.at() < at + len {
                    let dim = fields.varint()?;
                    self.dim(dim);
                }
            }
            // Floats are either packed or raw; both are little-endian in their order.
            (Message::Tensor, 4 | 9) => {
                self.tensor(|tensor| tensor.place = Place::Here { at, len });
                fields.skip_to(at + len)?;
            }
            _ if len > LONGEST_NAME => return Ok(false),
            (Message::Attribute, 1) => self.attribute = fields.text(len)?,
            (Message::Node, 1) => {
                let name = fields.text(len)?;
                if self.node.inputs.len() < MOST_INPUTS {
                    self.node.inputs.push(name);
                }
            }
            (Message::Node, 4) => self.node.operator = fields.text(len)?,
            (Message::Tensor, 8) => {
                let name = fields.text(len)?;
                self.tensor(|tensor| tensor.name = name);
            }
            (Message::Entry, 1) => self.key = fields.text(len)?,
            (Message::Entry, 2) => {
                let value = fields.text(len)?;
                if let Some(tensor) = self.tensors.last_mut() {
                    tensor.place.note(&self.key, &value);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Reader {
    /// Reads a model of `len` bytes.
    pub(super) fn read(source: impl Read + Seek, len: u64) -> io::Result<Self> {
        let mut reader = Self::default();
        protobuf::walk(source, len, Message::Model, &mut reader)?;
        Ok(reader)
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

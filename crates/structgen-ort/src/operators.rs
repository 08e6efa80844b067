//! The operators of an ONNX file, read from its nodes without its weights.
//!
//! A model file is a message of protocol buffers: `ModelProto.graph` is field 7, `GraphProto.node` field 1, and of a
//! node the operator's name is field 4 and its attributes field 5, each with its name (1), a number (3) or a graph (6)
//! (`onnx.proto` of ONNX 1.23). All else is passed over, the weights above all.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use crate::protobuf::{self, Fields, Visitor};

/// What the operators of a graph, those of its branches and loops included, tell of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Operators {
    /// Their names.
    pub(crate) names: BTreeSet<String>,
    /// The windows of attention that operators have as an attribute.
    pub(crate) windows: BTreeSet<u64>,
}

impl Operators {
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let file = std::fs::File::open(path)?;
        let len = file.metadata()?.len();
        Self::read(BufReader::new(file), len)
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> io::Result<Self> {
        Self::read(io::Cursor::new(bytes), bytes.len() as u64)
    }

    fn read(source: impl Read + Seek, len: u64) -> io::Result<Self> {
        let mut reader = Reader::default();
        protobuf::walk(source, len, Message::Model, &mut reader)?;
        Ok(reader.found)
    }

    /// Adds those of another graph.
    pub(crate) fn extend(&mut self, other: Self) {
        self.names.extend(other.names);
        self.windows.extend(other.windows);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// The messages on the way to an operator's name.
#[derive(Debug, Clone, Copy)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
}

/// The longest name that is read.
const LONGEST_NAME: u64 = 256;

/// The attribute of `GroupQueryAttention` that limits it to the last positions; -1 where it does not.
const WINDOW: &str = "local_window_size";

#[derive(Default)]
struct Reader {
    /// Whether the attribute that is read is a window.
    is_window: bool,
    found: Operators,
}

impl Visitor for Reader {
    type Message = Message;

    fn within(message: Message, field: u64) -> Option<Message> {
        match (message, field) {
            (Message::Model, 7) | (Message::Attribute, 6) => Some(Message::Graph),
            (Message::Graph, 1) => Some(Message::Node),
            (Message::Node, 5) => Some(Message::Attribute),
            _ => None,
        }
    }

    fn number(&mut self, message: Message, field: u64, number: u64) {
        let is_number = matches!((message, field), (Message::Attribute, 3));
        if is_number && self.is_window && number <= i64::MAX as u64 {
            self.found.windows.insert(number);
        }
    }

    fn value<R: Read + Seek>(
        &mut self,
        message: Message,
        field: u64,
        len: u64,
        fields: &mut Fields<R>,
    ) -> io::Result<bool> {
        match (message, field) {
            _ if len > LONGEST_NAME => return Ok(false),
            (Message::Node, 4) => {
                self.found.names.insert(fields.text(len)?);
            }
            (Message::Attribute, 1) => self.is_window = fields.text(len)? == WINDOW,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn fixture(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(name)
    }

    #[test]
    fn operators_of_graphs_and_of_their_branches_are_found() {
        let has =
            |file: &str, operator: &str| Operators::of_file(&fixture(file)).unwrap().has(operator);
        assert!(has("optimum/model.onnx", "Softmax"));
        assert!(!has("optimum/model.onnx", "GroupQueryAttention"));
        assert!(has("shared_buffer/model.onnx", "GroupQueryAttention"));
        // A merged decoder is an `If` of two graphs.
        assert!(has("merged/decoder_model_merged.onnx", "If"));
        assert!(has("merged/decoder_model_merged.onnx", "Softmax"));
    }

    #[test]
    fn damaged_files_are_errors_or_harmless() {
        let whole = std::fs::read(fixture("optimum/model.onnx")).unwrap();
        for cut in 0..whole.len().min(2_000) {
            drop(Operators::of_bytes(&whole[..cut]));
        }
        for at in 0..whole.len().min(2_000) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0xff;
            drop(Operators::of_bytes(&flipped));
        }
        assert!(Operators::of_bytes(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
        assert!(Operators::of_bytes(&[0xff; 64]).is_err());
        assert!(Operators::of_bytes(&[]).unwrap().names.is_empty());
    }
}

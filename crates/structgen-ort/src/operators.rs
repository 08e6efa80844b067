//! The operators of an ONNX file, read from its nodes without its weights.
//!
//! A model file is a message of protocol buffers: `ModelProto.graph` is field 7, `GraphProto.node` field 1, and of a
//! node the operator's name is field 4 and its attributes field 5, each with its name (1), a number (3) or a graph (6)
//! (`onnx.proto` of ONNX 1.23). All else is passed over, the weights above all.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use crate::protobuf::Fields;

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
        let mut reader = Reader {
            fields: Fields::new(source),
            is_window: false,
            found: Self::default(),
        };
        reader.model(len)?;
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

impl Message {
    /// The message in a field, where it leads to operators.
    fn within(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6) => Some(Self::Graph),
            (Self::Graph, 1) => Some(Self::Node),
            (Self::Node, 5) => Some(Self::Attribute),
            _ => None,
        }
    }
}

/// Graphs within graphs that are followed; what is deeper is passed over.
const DEEPEST: usize = 32;
/// The longest name that is read.
const LONGEST_NAME: u64 = 256;

/// The attribute of `GroupQueryAttention` that limits it to the last positions; -1 where it does not.
const WINDOW: &str = "local_window_size";

struct Reader<R> {
    fields: Fields<R>,
    /// Whether the attribute that is read is a window.
    is_window: bool,
    found: Operators,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the model that ends at `end`, and the messages within it.
    fn model(&mut self, end: u64) -> io::Result<()> {
        let mut open = vec![(Message::Model, end)];
        while let Some(&(message, end)) = open.last() {
            if self.fields.at() >= end {
                open.pop();
                continue;
            }
            let (field, wire_type) = self.fields.key()?;
            let len = match wire_type {
                0 => {
                    let number = self.fields.varint()?;
                    let is_window =
                        matches!((message, field), (Message::Attribute, 3)) && self.is_window;
                    if is_window && number <= i64::MAX as u64 {
                        self.found.windows.insert(number);
                    }
                    continue;
                }
                1 => 8,
                5 => 4,
                2 => self.fields.varint()?,
                _ => return Err(io::ErrorKind::InvalidData.into()),
            };
            let field_end = self.fields.at().checked_add(len).filter(|&at| at <= end);
            let field_end = field_end.ok_or(io::ErrorKind::InvalidData)?;
            match (message, field) {
                (Message::Node, 4) if wire_type == 2 && len <= LONGEST_NAME => {
                    let name = self.fields.text(len)?;
                    self.found.names.insert(name);
                }
                (Message::Attribute, 1) if wire_type == 2 && len <= LONGEST_NAME => {
                    self.is_window = self.fields.text(len)? == WINDOW;
                }
                _ => match message.within(field).filter(|_| wire_type == 2) {
                    Some(inner) if open.len() < DEEPEST * 3 => open.push((inner, field_end)),
                    _ => self.fields.skip_to(field_end)?,
                },
            }
        }
        Ok(())
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

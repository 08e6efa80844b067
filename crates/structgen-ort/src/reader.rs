//! A reader in an ONNX Runtime session.

use std::path::Path;

use ort::session::Session;
use ort::value::{TensorElementType, TensorRef};
use structgen_decode::ModelError;

use crate::error::backend;
use crate::side_graph::{regular_file, side_session, takes_only};
use crate::signature::{find, tensor, unsupported};
use crate::{Device, LoadError, Runtime};

const ROWS: &str = "rows";
const SENSES: &str = "senses";
const ROLES: &str = "roles";
const FIELDS: &str = "fields";
const STARTS: &str = "starts";
const ENDS: &str = "ends";
const FIRST_VECTORS: &str = "first_vectors";
const LAST_VECTORS: &str = "last_vectors";
const DISTANCES: &str = "distances";

/// The most positions of a value, whatever a graph says.
const MAX_DISTANCES: usize = 64;

/// An encoder that finds values in a text, as in extractive question answering (Chen et al. 2017): of each field, at
/// which position its value begins and at which it ends.
///
/// `rows`, `senses` and `roles`, i64 `[1, sequence, 24]`, `[1, sequence, 8]` and `[1, sequence, 18]`, are the
/// [`ReadUnit`]s; `fields`, i64 `[1, fields]`, is the position of each field. The outputs are f32: [`SpanLogits`].
///
/// ```no_run
/// use structgen_ort::{Device, OrtReader, ReadUnit, Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// let mut reader = OrtReader::open(runtime, "path/to/model/reader.onnx".as_ref(), Device::cpu(1))?;
/// let units = [1, 4, 70].map(|row| {
///     let mut unit = ReadUnit::default();
///     unit.rows[0] = row;
///     unit
/// });
/// let logits = reader.read(&units, &[0]).unwrap();
/// assert_eq!(logits.starts.len(), 3);
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug)]
pub struct OrtReader {
    session: Session,
}

/// A unit of a question or a text, as a reader takes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadUnit {
    /// Rows of the reader's table of units, where 0 is no row.
    pub rows: [i64; Self::ROWS],
    /// Rows of its table of meanings, where 0 is no row.
    pub senses: [i64; Self::SENSES],
    /// Rows of its table of roles: what the unit is for, where it stands, and which fields it points at.
    pub roles: [i64; Self::ROLES],
}

impl ReadUnit {
    /// The rows of the table of units that a unit has at most.
    pub const ROWS: usize = 24;

    /// The rows of the table of meanings that it has at most.
    pub const SENSES: usize = 8;

    /// The rows of the table of roles that it has.
    pub const ROLES: usize = 18;
}

/// What a reader says of some fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpanLogits {
    /// Of each field, one after another, a logit for each position: that the value begins there.
    pub starts: Vec<f32>,
    /// The same for where it ends.
    pub ends: Vec<f32>,
    /// A vector for each position, one after another. Where a value begins at one position, the logit of its end at
    /// another gains the product of the first's vector here with the other's in `last_vectors`.
    pub first_vectors: Vec<f32>,
    /// As long as `first_vectors`.
    pub last_vectors: Vec<f32>,
    /// What that logit gains by the number of positions between; there are no longer values.
    pub distances: Vec<f32>,
}

impl OrtReader {
    /// Loads a graph from a file.
    ///
    /// # Errors
    /// [`LoadError`]: what is missing or not understood, by name.
    pub fn open(runtime: &'static Runtime, file: &Path, device: Device) -> Result<Self, LoadError> {
        let bytes = regular_file(file)?;
        Self::load(runtime, &bytes, &file.display().to_string(), device)
    }

    /// Loads a graph from memory.
    ///
    /// # Errors
    /// As [`open`](OrtReader::open).
    pub fn from_bytes(
        runtime: &'static Runtime,
        bytes: &[u8],
        device: Device,
    ) -> Result<Self, LoadError> {
        Self::load(runtime, bytes, "the reader's graph in memory", device)
    }

    fn load(
        runtime: &'static Runtime,
        bytes: &[u8],
        name: &str,
        device: Device,
    ) -> Result<Self, LoadError> {
        let session = side_session(runtime, bytes, name, device)?;
        for (wanted, dimensions) in [(ROWS, 3), (SENSES, 3), (ROLES, 3), (FIELDS, 2)] {
            let input = find(session.inputs(), wanted, "input")?;
            match tensor(input)? {
                (TensorElementType::Int64, shape) if shape.len() == dimensions => {}
                _ => {
                    return Err(unsupported(
                        input,
                        &format!("i64 with {dimensions} dimensions"),
                    ));
                }
            }
        }
        for (wanted, dimensions) in [
            (STARTS, 3),
            (ENDS, 3),
            (FIRST_VECTORS, 3),
            (LAST_VECTORS, 3),
            (DISTANCES, 1),
        ] {
            let output = find(session.outputs(), wanted, "output")?;
            match tensor(output)? {
                (TensorElementType::Float32, shape) if shape.len() == dimensions => {}
                _ => {
                    return Err(unsupported(
                        output,
                        &format!("f32 with {dimensions} dimensions"),
                    ));
                }
            }
        }
        takes_only(&session, &[ROWS, SENSES, ROLES, FIELDS])?;
        Ok(Self { session })
    }

    /// Reads a text: `fields` are positions of `units`.
    ///
    /// # Errors
    /// What ONNX Runtime reports; [`ModelError::Shape`] when the graph gives another number of logits.
    pub fn read(&mut self, units: &[ReadUnit], fields: &[i64]) -> Result<SpanLogits, ModelError> {
        let rows: Vec<i64> = units.iter().flat_map(|unit| unit.rows).collect();
        let senses: Vec<i64> = units.iter().flat_map(|unit| unit.senses).collect();
        let roles: Vec<i64> = units.iter().flat_map(|unit| unit.roles).collect();
        let shape = |width| [1, units.len(), width];
        let tensor = |width, rows| TensorRef::from_array_view((shape(width), rows));
        let inputs = ort::inputs![
            ROWS => tensor(ReadUnit::ROWS, &rows[..]).map_err(backend)?,
            SENSES => tensor(ReadUnit::SENSES, &senses[..]).map_err(backend)?,
            ROLES => tensor(ReadUnit::ROLES, &roles[..]).map_err(backend)?,
            FIELDS => TensorRef::from_array_view(([1, fields.len()], fields)).map_err(backend)?,
        ];
        let outputs = self.session.run(inputs).map_err(backend)?;
        let floats = |name: &str| -> Result<Vec<f32>, ModelError> {
            let output = outputs.get(name).ok_or_else(|| mismatch(0, units.len()))?;
            let (_, floats) = output.try_extract_tensor::<f32>().map_err(backend)?;
            Ok(floats.to_vec())
        };
        let found = SpanLogits {
            starts: floats(STARTS)?,
            ends: floats(ENDS)?,
            first_vectors: floats(FIRST_VECTORS)?,
            last_vectors: floats(LAST_VECTORS)?,
            distances: floats(DISTANCES)?,
        };
        for logits in [&found.starts, &found.ends] {
            if logits.len() != units.len() * fields.len() {
                return Err(mismatch(logits.len(), units.len() * fields.len()));
            }
        }
        if found.distances.len() > MAX_DISTANCES {
            return Err(mismatch(found.distances.len(), MAX_DISTANCES));
        }
        let vectors = found.first_vectors.len();
        if !vectors.is_multiple_of(units.len().max(1)) || found.last_vectors.len() != vectors {
            return Err(mismatch(found.last_vectors.len(), vectors));
        }
        Ok(found)
    }
}

fn mismatch(got: usize, expected: usize) -> ModelError {
    ModelError::Shape {
        what: "logits of the reader",
        got,
        expected,
    }
}

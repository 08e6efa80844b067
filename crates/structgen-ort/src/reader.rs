//! A reader in an ONNX Runtime session.

use std::path::Path;

use ort::session::Session;
use ort::value::{TensorElementType, TensorRef};
use structgen_decode::ModelError;

use crate::cache::backend;
use crate::files::{regular_file, side_session, takes_only};
use crate::signature::{find, tensor, unsupported};
use crate::{Device, LoadError, Runtime};

const IDS: &str = "input_ids";
const FIELDS: &str = "fields";
const STARTS: &str = "starts";
const ENDS: &str = "ends";

/// An encoder that finds values in a text, as in extractive question answering (Chen et al. 2017): of each field, at
/// which position its value begins and at which it ends.
///
/// `input_ids`, i64 `[1, sequence]`, and `fields`, i64 `[1, fields]`, the position of each field, to `starts` and
/// `ends`, f32 `[1, fields, sequence]`, which are logits.
///
/// ```no_run
/// use structgen_ort::{Device, OrtReader, Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// let mut reader = OrtReader::open(runtime, "path/to/model/reader.onnx".as_ref(), Device::cpu(1))?;
/// let logits = reader.read(&[2, 70, 3, 80, 81], &[0]).unwrap();
/// assert_eq!(logits.starts.len(), 5);
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug)]
pub struct OrtReader {
    session: Session,
}

/// What a reader says of some fields, one after another: a logit for each position.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanLogits {
    /// Of the position at which the value begins.
    pub starts: Vec<f32>,
    /// Of the position at which it ends.
    pub ends: Vec<f32>,
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
        for wanted in [IDS, FIELDS] {
            let input = find(session.inputs(), wanted, "input")?;
            match tensor(input)? {
                (TensorElementType::Int64, shape) if shape.len() == 2 => {}
                _ => return Err(unsupported(input, "i64 with two dimensions")),
            }
        }
        for wanted in [STARTS, ENDS] {
            let output = find(session.outputs(), wanted, "output")?;
            match tensor(output)? {
                (TensorElementType::Float32, shape) if shape.len() == 3 => {}
                _ => return Err(unsupported(output, "f32 [batch, fields, sequence]")),
            }
        }
        takes_only(&session, &[IDS, FIELDS])?;
        Ok(Self { session })
    }

    /// Reads a text: `fields` are positions of `ids`.
    ///
    /// # Errors
    /// What ONNX Runtime reports; [`ModelError::Shape`] when the graph gives another number of logits.
    pub fn read(&mut self, ids: &[i64], fields: &[i64]) -> Result<SpanLogits, ModelError> {
        let expected = ids.len() * fields.len();
        let inputs = ort::inputs![
            IDS => TensorRef::from_array_view(([1, ids.len()], ids)).map_err(backend)?,
            FIELDS => TensorRef::from_array_view(([1, fields.len()], fields)).map_err(backend)?,
        ];
        let outputs = self.session.run(inputs).map_err(backend)?;
        let logits = |name: &str| -> Result<Vec<f32>, ModelError> {
            let shape = |got| ModelError::Shape {
                what: "logits of the reader",
                got,
                expected,
            };
            let output = outputs.get(name).ok_or_else(|| shape(0))?;
            let (_, logits) = output.try_extract_tensor::<f32>().map_err(backend)?;
            match logits.len() == expected {
                true => Ok(logits.to_vec()),
                false => Err(shape(logits.len())),
            }
        };
        Ok(SpanLogits {
            starts: logits(STARTS)?,
            ends: logits(ENDS)?,
        })
    }
}

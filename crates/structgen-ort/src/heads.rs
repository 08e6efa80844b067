//! Extra heads in an ONNX Runtime session.

use std::path::Path;

use ort::session::Session;
use ort::value::{DynValue, TensorElementType, TensorRef};
use structgen_decode::{ModelError, model::DraftHeads};

use crate::error::backend;
use crate::side_graph::{regular_file, side_session, takes_only};
use crate::signature::{NOT_WIDER, WIDEST, find, tensor, unsupported};
use crate::{Device, LoadError, Runtime};

/// The input's name, which is that of the model's output.
const STATES: &str = "hidden_states";
const LOGITS: &str = "logits";

/// Heads that guess the tokens after the next one (Medusa, Cai et al. 2024), as a graph of their own: `hidden_states`,
/// f32 `[n, width]`, to `logits`, f32 `[heads, n, vocabulary]`.
///
/// ```no_run
/// use structgen_decode::model::DraftHeads;
/// use structgen_ort::{Device, OrtHeads, Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// let heads = OrtHeads::open(runtime, "path/to/model/heads.onnx".as_ref(), Device::cpu(1))?;
/// println!("{} heads", heads.heads());
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug)]
pub struct OrtHeads {
    session: Session,
    heads: usize,
    hidden_width: usize,
    vocabulary: usize,
    /// The last run's output, which views borrow.
    given: Option<DynValue>,
}

impl OrtHeads {
    /// Loads a graph from a file.
    ///
    /// # Errors
    /// [`LoadError`]: what is missing or not understood, by name.
    pub fn open(runtime: &'static Runtime, file: &Path, device: Device) -> Result<Self, LoadError> {
        let bytes = regular_file(file)?;
        Self::read(runtime, &bytes, &file.display().to_string(), device)
    }

    /// Loads a graph from memory.
    ///
    /// # Errors
    /// As [`open`](OrtHeads::open).
    pub fn from_bytes(
        runtime: &'static Runtime,
        bytes: &[u8],
        device: Device,
    ) -> Result<Self, LoadError> {
        Self::read(runtime, bytes, "the graph of heads in memory", device)
    }

    fn read(
        runtime: &'static Runtime,
        bytes: &[u8],
        name: &str,
        device: Device,
    ) -> Result<Self, LoadError> {
        let session = side_session(runtime, bytes, name, device)?;
        let states = find(session.inputs(), STATES, "input")?;
        let logits = find(session.outputs(), LOGITS, "output")?;
        takes_only(&session, &[STATES])?;
        let hidden_width = match tensor(states)? {
            (TensorElementType::Float32, &[_, width @ 1..=WIDEST]) => width as usize,
            _ => return Err(unsupported(states, "f32 [n, width] with a fixed width")),
        };
        let wanted = "f32 [heads, n, vocabulary], with fixed heads and vocabulary";
        let (heads, vocabulary) = match tensor(logits)? {
            (TensorElementType::Float32, &[heads @ 1..=WIDEST, _, width @ 1..=WIDEST]) => {
                (heads as usize, width as usize)
            }
            _ => return Err(unsupported(logits, wanted)),
        };
        if { heads.checked_mul(vocabulary) }.is_none_or(|all| all > WIDEST as usize) {
            return Err(unsupported(logits, NOT_WIDER));
        }
        Ok(Self {
            session,
            heads,
            hidden_width,
            vocabulary,
            given: None,
        })
    }
}

impl DraftHeads for OrtHeads {
    fn heads(&self) -> usize {
        self.heads
    }

    fn hidden_width(&self) -> usize {
        self.hidden_width
    }

    fn guess(&mut self, hidden: &[f32]) -> Result<&[f32], ModelError> {
        let states = TensorRef::from_array_view(([1, hidden.len()], hidden)).map_err(backend)?;
        let mut outputs = self
            .session
            .run(ort::inputs![STATES => states])
            .map_err(backend)?;
        let expected = self.heads * self.vocabulary;
        let shape = |got| ModelError::Shape {
            what: "logits of heads",
            got,
            expected,
        };
        let given = outputs.remove(LOGITS).ok_or_else(|| shape(0))?;
        drop(outputs);
        let (_, logits) = self
            .given
            .insert(given)
            .try_extract_tensor::<f32>()
            .map_err(backend)?;
        match logits.len() == expected {
            true => Ok(logits),
            false => Err(shape(logits.len())),
        }
    }
}

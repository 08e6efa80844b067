//! Language models on ONNX Runtime: the runtime library, sessions, key-value caches and execution providers.
//!
//! The only crate that names `ort`. The library is loaded at run time ([`Runtime::load`]) and can be fetched
//! ([`install`]); an [`OrtModel`] is opened from a folder or from memory, by [`ModelSource`] as often as wanted.

mod device;
mod graph_file;
mod names;
mod notes;
mod number;
mod protobuf;
mod runtime;

mod error;
mod operators;
mod weights;

mod config;
mod memory;

mod folder;
mod signature;

mod cache;

mod model;

mod side_graph;

mod heads;
mod reader;

pub use config::{LongRope, ModelConfig};
pub use device::{Device, UnknownDevice};
pub use error::LoadError;
pub use folder::ModelFolder;
#[doc(hidden)]
pub use folder::read_config;
pub use graph_file::{GraphFile, When};
pub use heads::OrtHeads;
pub use model::{BareRun, LoadOptions, ModelSource, OrtModel};
pub use notes::LoadNote;
pub use reader::{OrtReader, ReadUnit, SpanLogits};
pub use runtime::{
    CudaError, CudaLibrary, Damage, InstallOptions, Installed, InstalledRuntime, Looked,
    RUNTIME_VERSION, Runtime, RuntimeError, Search, Source, cuda_libraries, ensure_runtime,
    install, installed, uninstall,
};
pub use weights::{Tensor, TensorType, Weights};

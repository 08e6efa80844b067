//! Language models on ONNX Runtime: the runtime library, sessions, key-value caches and execution providers.
//!
//! The only crate that names `ort`. The library is loaded at run time ([`Runtime::load`]) and can be fetched
//! ([`install`]).

mod runtime;

pub use runtime::{
    CudaError, InstallOptions, Installed, Looked, RUNTIME_VERSION, Runtime, RuntimeError, Search,
    Source, cuda_libraries, ensure_runtime, install,
};

//! The ONNX Runtime library: found on this machine, or installed.

use crate::Result;

pub use structgen_ort::{
    CudaError, CudaLibrary, Damage, InstallOptions, Installed, InstalledRuntime, Looked,
    RUNTIME_VERSION, Runtime, RuntimeError, Search, Source, cuda_libraries, install, installed,
    uninstall,
};

/// Finds the runtime library, or installs it into the cache folder through pip, with a pinned version and a checked
/// hash; before it downloads anything, it reports so in a line. From then on, [`Model`](crate::Model)s find it there.
///
/// ```no_run
/// structgen::runtime::ensure(|line| eprint!("{line}"))?;
/// let model = structgen::Model::open("path/to/model", &structgen::ModelOptions::new())?;
/// # Ok::<(), structgen::Error>(())
/// ```
///
/// # Errors
/// [`Error::Load`](crate::Error::Load), which names what is missing and what to do.
pub fn ensure(report: impl FnOnce(&str)) -> Result<()> {
    structgen_ort::ensure_runtime(report)?;
    Ok(())
}

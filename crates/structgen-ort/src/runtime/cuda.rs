use std::fs;
use std::path::{Path, PathBuf};

use super::Runtime;
use super::search::python_package_dirs;

/// Why the CUDA provider cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The runtime library was built without CUDA.
    #[error(
        "the ONNX Runtime library {} has no CUDA provider ({provider} is not beside it); install one that has it with \
         `structgen runtime install --cuda`",
        library.display()
    )]
    CpuBuild {
        /// The library in use.
        library: PathBuf,
        /// The file that should be beside it.
        provider: &'static str,
    },
    /// Libraries of CUDA or cuDNN cannot be loaded.
    #[error(
        "the CUDA provider of ONNX Runtime needs libraries that cannot be loaded: {}. Install CUDA 13 and cuDNN 9, for \
         instance with `python3 -m pip install nvidia-cuda-runtime~=13.0 nvidia-cuda-nvrtc~=13.0 nvidia-cublas~=13.0 \
         nvidia-cufft~=12.0 nvidia-curand~=10.0 nvidia-cudnn-cu13~=9.0`, and a driver for the GPU",
        missing.join(", ")
    )]
    Missing {
        /// The names of the libraries.
        missing: Vec<String>,
    },
    /// The provider itself refused.
    #[error("the CUDA provider of ONNX Runtime could not be started on GPU {device}: {reason}")]
    Refused {
        /// The GPU's number.
        device: i32,
        /// What the provider says.
        reason: String,
    },
}

/// The libraries that the CUDA provider needs, in the order of their dependence, each with whether it can be loaded.
///
/// They are looked for by the system's loader, beside `runtime`, and in the `nvidia` packages of an installed Python.
/// Those found stay loaded, so that the provider finds them, too.
pub fn cuda_libraries(runtime: &Runtime) -> Vec<(String, bool)> {
    let driver = if cfg!(windows) {
        "nvcuda.dll"
    } else {
        "libcuda.so.1"
    };
    let names = [driver].into_iter();
    let names = names.chain(ort::ep::cuda::CUDA_DYLIBS.iter().copied());
    let names = names.chain(ort::ep::cuda::CUDNN_DYLIBS.iter().copied());
    let dirs = library_dirs(runtime);
    names
        .map(|name| {
            let loads = ort::util::preload_dylib(name).is_ok()
                || dirs.iter().any(|dir| {
                    let path = dir.join(name);
                    path.is_file() && ort::util::preload_dylib(path).is_ok()
                });
            (name.to_owned(), loads)
        })
        .collect()
}

/// Checks that the runtime has the CUDA provider and what it needs, and loads the latter.
pub(crate) fn prepare(runtime: &Runtime) -> Result<(), CudaError> {
    let provider = if cfg!(windows) {
        "onnxruntime_providers_cuda.dll"
    } else {
        "libonnxruntime_providers_cuda.so"
    };
    let dir = runtime.library().parent().unwrap_or(Path::new("."));
    if !dir.join(provider).is_file() {
        return Err(CudaError::CpuBuild {
            library: runtime.library().to_owned(),
            provider,
        });
    }
    let missing: Vec<String> = cuda_libraries(runtime)
        .into_iter()
        .filter(|(_, loads)| !loads)
        .map(|(name, _)| name)
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(CudaError::Missing { missing })
    }
}

/// Folders outside the system loader's reach that may hold the libraries.
fn library_dirs(runtime: &Runtime) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = runtime
        .library()
        .parent()
        .map(Path::to_owned)
        .into_iter()
        .collect();
    for packages in python_package_dirs() {
        let Ok(entries) = fs::read_dir(packages.join("nvidia")) else {
            continue;
        };
        let mut found: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .flat_map(|entry| ["lib", "bin"].map(|sub| entry.path().join(sub)))
            .filter(|dir| dir.is_dir())
            .collect();
        found.sort();
        dirs.extend(found);
    }
    dirs
}

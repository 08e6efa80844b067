use std::fs;
use std::path::{Path, PathBuf};

use super::Runtime;
use super::search::python_package_dirs;

/// Why the CUDA provider cannot be used.
#[derive(thiserror::Error)]
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
    /// Libraries of CUDA cannot be loaded.
    #[error(
        "the CUDA provider of ONNX Runtime needs libraries that cannot be loaded: {}; install the driver of the GPU \
         and CUDA, for instance with `python3 -m pip install nvidia-cuda-runtime~=13.0 nvidia-cublas~=13.0 \
         nvidia-curand~=10.0 nvidia-cudnn-cu13~=9.0`",
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

structgen_sentence::debug_as_sentence!(CudaError);

/// A library that the CUDA provider uses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CudaLibrary {
    /// Its file name.
    pub name: &'static str,
    /// Whether the provider cannot start without it; the others are for some operators.
    pub required: bool,
    /// Whether it can be loaded.
    pub loads: bool,
}

/// What the provider of the pinned version is linked with.
const REQUIRED: &[&str] = if cfg!(windows) {
    &[
        "nvcuda.dll",
        "cudart64_13.dll",
        "cublasLt64_13.dll",
        "cublas64_13.dll",
    ]
} else {
    &[
        "libcuda.so.1",
        "libcudart.so.13",
        "libcublasLt.so.13",
        "libcublas.so.13",
        "libcurand.so.10",
    ]
};

/// The libraries that the CUDA provider of the pinned version uses, and whether they can be loaded.
///
/// They are looked for by the system's loader, beside `runtime`, and in the `nvidia` packages of an installed Python.
/// Those found stay loaded, so that the provider finds them, too.
pub fn cuda_libraries(runtime: &Runtime) -> Vec<CudaLibrary> {
    preload(&library_dirs(runtime));
    let optional = ort::ep::cuda::CUDA_DYLIBS
        .iter()
        .chain(ort::ep::cuda::CUDNN_DYLIBS);
    let optional = optional.filter(|name| !REQUIRED.contains(name));
    let all = REQUIRED
        .iter()
        .map(|name| (name, true))
        .chain(optional.map(|name| (name, false)));
    all.map(|(&name, required)| CudaLibrary {
        name,
        required,
        // A library that was loaded from elsewhere answers to its name.
        loads: ort::util::preload_dylib(name).is_ok(),
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
    let provider_path = dir.join(provider);
    if !provider_path.is_file() {
        return Err(CudaError::CpuBuild {
            library: runtime.library().to_owned(),
            provider,
        });
    }
    preload(&library_dirs(runtime));
    // The loader names what it misses, whatever version of CUDA the provider is built for. Its other complaints are
    // left to the registration that follows, which fails loudly.
    let Err(error) = ort::util::preload_dylib(provider_path) else {
        return Ok(());
    };
    let Some(first) = missing_library(&format!("{error} {error:?}")) else {
        return Ok(());
    };
    let mut missing = vec![first];
    if REQUIRED.contains(&missing[0].as_str()) {
        missing = cuda_libraries(runtime)
            .into_iter()
            .filter(|library| library.required && !library.loads)
            .map(|library| library.name.to_owned())
            .collect();
    }
    Err(CudaError::Missing { missing })
}

/// The name in the loader's complaint about a library that is not there.
fn missing_library(complaint: &str) -> Option<String> {
    let (before, _) = complaint.split_once(": cannot open shared object file")?;
    let name = before.rsplit([' ', '"', '\'']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Loads the libraries of CUDA and cuDNN in these folders, those that others depend on first.
fn preload(dirs: &[PathBuf]) {
    const ORDER: [&str; 8] = [
        "cudart",
        "nvrtc",
        "nvJitLink",
        "cublasLt",
        "cublas",
        "curand",
        "cufft",
        "cudnn",
    ];
    for prefix in ORDER {
        for dir in dirs {
            let Ok(entries) = fs::read_dir(dir) else {
                continue;
            };
            let mut files: Vec<PathBuf> = entries
                .filter_map(Result::ok)
                .map(|entry| entry.path())
                .filter(|path| {
                    let name = path
                        .file_name()
                        .and_then(|name| name.to_str())
                        .unwrap_or("");
                    let name = name.strip_prefix("lib").unwrap_or(name);
                    name.starts_with(prefix) && (name.contains(".so.") || name.ends_with(".dll"))
                })
                .collect();
            files.sort();
            for file in files {
                // What does not load here is reported by name later, if it is needed.
                let _ = ort::util::preload_dylib(file);
            }
        }
    }
}

/// Folders outside the system loader's reach that may hold the libraries.
fn library_dirs(runtime: &Runtime) -> Vec<PathBuf> {
    let beside = runtime.library().parent().map(Path::to_owned);
    let mut dirs: Vec<PathBuf> = beside.into_iter().collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_complaint_tells_the_library() {
        let name = |text: &str| missing_library(text);
        assert_eq!(
            name("libcublasLt.so.13: cannot open shared object file: No such file or directory")
                .as_deref(),
            Some("libcublasLt.so.13")
        );
        assert_eq!(
            name("DlOpen { desc: \"libx.so.1: cannot open shared object file\" }").as_deref(),
            Some("libx.so.1")
        );
        assert_eq!(name("undefined symbol: Provider_GetHost"), None);
    }
}

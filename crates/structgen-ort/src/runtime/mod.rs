//! The ONNX Runtime library: found, loaded once for the process, or installed.
//!
//! This is the one module of the libraries that reads the environment, in [`Search::from_env`].

mod cuda;
mod error;
mod hashes;
mod install;
mod package;
mod search;

pub(crate) use cuda::prepare as prepare_cuda;
pub use cuda::{CudaError, CudaLibrary, cuda_libraries};
pub use error::{Looked, RuntimeError};
pub use hashes::Damage;
pub use install::{
    InstallOptions, Installed, InstalledRuntime, RUNTIME_VERSION, install, installed, uninstall,
};
pub use search::{Search, Source};

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use ort::environment::Environment;
use ort::ep::ExecutionProvider;
use ort::logging::LogLevel;

/// The ONNX Runtime library of this process.
///
/// A process loads one library and keeps it: [`load`](Runtime::load) returns the same one ever after.
///
/// ```no_run
/// use structgen_ort::{Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// println!("{} {}", runtime.library().display(), runtime.version());
/// # Ok::<(), structgen_ort::RuntimeError>(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    library: PathBuf,
    source: Source,
    build: String,
    environment: Environment,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

impl Runtime {
    /// Finds the library and loads it, unless that has been done.
    ///
    /// A library named by the caller or by `ORT_DYLIB_PATH` must load; of those found by themselves, the first that
    /// loads is taken.
    ///
    /// # Errors
    /// [`RuntimeError::NotFound`] says where it looked and what was wrong with each find. [`RuntimeError::OtherLoaded`]
    /// when an explicit path differs from the library that is loaded already. [`RuntimeError::Damaged`] when the one
    /// that was installed is no longer what it was: another would be taken in silence, and a damaged one crashes.
    pub fn load(search: &Search) -> Result<&'static Self, RuntimeError> {
        let _guard = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = RUNTIME.get() {
            return match search.explicit() {
                Some(asked) if !is_library(asked, &runtime.library) => {
                    Err(RuntimeError::OtherLoaded {
                        loaded: runtime.library.clone(),
                        asked: asked.to_owned(),
                    })
                }
                _ => Ok(runtime),
            };
        }
        let mut looked = Vec::new();
        for (source, place) in search.places() {
            let libraries = place.libraries()?;
            if libraries.is_empty() {
                looked.push(Looked::nothing(source, &place));
            }
            for library in libraries {
                match Self::load_file(&library, source) {
                    Ok(runtime) => return Ok(RUNTIME.get_or_init(|| runtime)),
                    Err(reason) => looked.push(Looked::unusable(source, library, reason)),
                }
            }
            if source.is_explicit() {
                // What was asked for by name is not replaced by something else in silence.
                return Err(RuntimeError::Unusable {
                    source_name: source,
                    looked,
                });
            }
        }
        Err(RuntimeError::NotFound { looked })
    }

    fn load_file(library: &Path, source: Source) -> Result<Self, String> {
        // A relative path would be looked up elsewhere first, and a plain name in the system's folders alone.
        let library = std::path::absolute(library).map_err(|error| error.to_string())?;
        let environment = ort::init_from(&library)
            .map_err(|error| error.to_string())?
            .with_name("structgen")
            .with_telemetry(false)
            .build()
            .map_err(|error| error.to_string())?;
        // Failures come back as errors; the same text on standard error would only be in the way.
        environment.set_log_level(LogLevel::Fatal);
        Ok(Self {
            library,
            source,
            build: ort::info().to_owned(),
            environment,
        })
    }

    /// The file that was loaded.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// How the file was found.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The library's version, such as `1.31.1`, as far as its build information or its file name tells.
    pub fn version(&self) -> &str {
        version_of_build(&self.build)
            .or_else(|| version_of_file(&self.library))
            .unwrap_or("unknown")
    }

    /// The library's own line about how it was built.
    pub fn build_info(&self) -> &str {
        &self.build
    }

    /// The execution providers that the library was built with, among those that structgen can use.
    pub fn providers(&self) -> Vec<&'static str> {
        let mut providers = Vec::new();
        let mut add = |name, available: ort::Result<bool>| {
            if available.unwrap_or(false) {
                providers.push(name);
            }
        };
        add(ort::ep::CUDA::NAME, ort::ep::CUDA::is_available());
        add(ort::ep::CPU::NAME, ort::ep::CPU::is_available());
        providers
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }
}

/// Loads the library, and installs it first where none is found or the installed one is damaged.
///
/// Meant for demonstrations and tests, which may fetch what they miss if they say so: `say` receives one line before
/// anything is fetched.
///
/// # Errors
/// As [`Runtime::load`] and [`install`].
pub fn ensure_runtime(say: impl FnOnce(&str)) -> Result<&'static Runtime, RuntimeError> {
    // Threads that come at once say it once.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let search = Search::from_env(None);
    match Runtime::load(&search) {
        Err(error @ (RuntimeError::NotFound { .. } | RuntimeError::Damaged { .. })) => {
            let state = match error {
                RuntimeError::Damaged { .. } => "damaged",
                _ => "missing",
            };
            say(&format!(
                "ONNX Runtime is {state}: installing version {RUNTIME_VERSION} into {}",
                search
                    .cache_dir()
                    .map_or_else(String::new, |d| d.display().to_string())
            ));
            install(&search, &InstallOptions::default())?;
            Runtime::load(&search)
        }
        other => other,
    }
}

/// Whether a path is that of a library, or of its folder.
fn is_library(asked: &Path, library: &Path) -> bool {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match library.parent() {
        Some(folder) if asked.is_dir() => resolve(asked) == resolve(folder),
        _ => resolve(asked) == resolve(library),
    }
}

fn version_of_build(build: &str) -> Option<&str> {
    let (_, rest) = build.split_once("rel-")?;
    let version = rest.split([',', ' ']).next()?;
    version.contains('.').then_some(version)
}

fn version_of_file(library: &Path) -> Option<&str> {
    let name = library.file_name()?.to_str()?;
    let start = name.find(|c: char| c.is_ascii_digit())?;
    let end = name.rfind(|c: char| c.is_ascii_digit())?;
    let version = &name[start..=end];
    version.contains('.').then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_build_line_or_the_file_name() {
        let build =
            "ORT Build Info: git-branch=rel-1.31.1, git-commit-id=0123456, build type=Release";
        assert_eq!(version_of_build(build), Some("1.31.1"));
        assert_eq!(version_of_build("git-branch=main"), None);
        let file = |name: &str| version_of_file(Path::new(name)).map(str::to_owned);
        assert_eq!(
            file("/x/libonnxruntime.so.1.24.4").as_deref(),
            Some("1.24.4")
        );
        assert_eq!(
            file("/x/libonnxruntime.1.31.1.dylib").as_deref(),
            Some("1.31.1")
        );
        assert_eq!(file("onnxruntime.dll"), None);
    }
}

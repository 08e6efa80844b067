use std::cmp::Reverse;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::RuntimeError;
use super::hashes::verified_library;
use super::install::await_replacement;

/// Where to look for the ONNX Runtime library, in order.
///
/// An explicit path, `ORT_DYLIB_PATH`, the folder of the executable, structgen's cache folder, the system's library
/// folders, and the `onnxruntime` package of an installed Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    explicit: Option<PathBuf>,
    environment: Option<PathBuf>,
    executable_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    system_dirs: Vec<PathBuf>,
    python: bool,
    prefer_cuda: bool,
}

/// How a library was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A path that the caller gave.
    Explicit,
    /// The variable `ORT_DYLIB_PATH`.
    Environment,
    /// The folder of the executable.
    Executable,
    /// structgen's cache folder.
    Cache,
    /// A library folder of the system.
    System,
    /// The `onnxruntime` package of an installed Python.
    Python,
}

impl Source {
    /// Whether the library was named, and not come across.
    pub fn is_explicit(self) -> bool {
        matches!(self, Self::Explicit | Self::Environment)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Explicit => "the given path",
            Self::Environment => "ORT_DYLIB_PATH",
            Self::Executable => "beside the executable",
            Self::Cache => "the cache folder",
            Self::System => "the system",
            Self::Python => "Python's onnxruntime",
        })
    }
}

/// One place of a [`Search`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    Folder(PathBuf),
    /// A folder that [`install`](super::install) fills.
    Installed {
        dir: PathBuf,
        cuda: bool,
    },
    Python,
}

impl Search {
    /// The search that the environment asks for, with the caller's own path before everything else.
    pub fn from_env(explicit: Option<PathBuf>) -> Self {
        let path = |name| {
            env::var_os(name)
                .filter(|v: &OsString| !v.is_empty())
                .map(PathBuf::from)
        };
        let cache_dir = path("STRUCTGEN_CACHE").or_else(|| {
            let base = path("XDG_CACHE_HOME").filter(|p| p.is_absolute());
            let home = if cfg!(windows) {
                path("LOCALAPPDATA")
            } else if cfg!(target_os = "macos") {
                path("HOME").map(|home| home.join("Library/Caches"))
            } else {
                path("HOME").map(|home| home.join(".cache"))
            };
            base.or(home).map(|base| base.join("structgen"))
        });
        let variable = match env::consts::OS {
            "macos" => "DYLD_LIBRARY_PATH",
            "windows" => "PATH",
            _ => "LD_LIBRARY_PATH",
        };
        let mut system_dirs: Vec<PathBuf> = env::var_os(variable)
            .map(|dirs| {
                env::split_paths(&dirs)
                    .filter(|dir| dir.is_absolute())
                    .collect()
            })
            .unwrap_or_default();
        let multiarch = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
        let usual: &[&str] = match env::consts::OS {
            "macos" => &["/opt/homebrew/lib", "/usr/local/lib"],
            "windows" => &[],
            _ => &["/usr/local/lib", &multiarch, "/usr/lib64", "/usr/lib"],
        };
        system_dirs.extend(usual.iter().map(PathBuf::from));
        let executable = env::current_exe().ok();
        Self {
            explicit,
            environment: path("ORT_DYLIB_PATH"),
            executable_dir: executable.and_then(|exe| exe.parent().map(Path::to_owned)),
            cache_dir,
            system_dirs,
            python: true,
            prefer_cuda: false,
        }
    }

    /// The same search, which takes a library with CUDA from the cache folder where there is one.
    pub fn prefer_cuda(mut self, prefer: bool) -> Self {
        self.prefer_cuda = prefer;
        self
    }

    /// The same search with another cache folder.
    pub fn with_cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(dir.into());
        self
    }

    /// A search in one cache folder and nowhere else.
    pub fn only_cache(dir: impl Into<PathBuf>) -> Self {
        Self {
            explicit: None,
            environment: None,
            executable_dir: None,
            cache_dir: Some(dir.into()),
            system_dirs: Vec::new(),
            python: false,
            prefer_cuda: false,
        }
    }

    /// structgen's cache folder, which need not exist; none where the environment names no home.
    pub fn cache_dir(&self) -> Option<&Path> {
        self.cache_dir.as_deref()
    }

    pub(super) fn explicit(&self) -> Option<&Path> {
        self.explicit.as_deref()
    }

    /// The folder of the cache with libraries of one kind.
    pub(super) fn installed_dir(cache: &Path, cuda: bool) -> PathBuf {
        let kind = if cuda { "cuda" } else { "cpu" };
        cache
            .join("runtime")
            .join(format!("{}-{kind}", super::RUNTIME_VERSION))
    }

    pub(super) fn places(&self) -> Vec<(Source, Place)> {
        let mut places = Vec::new();
        let file_or_folder = |path: &PathBuf| {
            if path.is_dir() {
                Place::Folder(path.clone())
            } else {
                Place::File(path.clone())
            }
        };
        if let Some(path) = &self.explicit {
            places.push((Source::Explicit, file_or_folder(path)));
        }
        if let Some(path) = &self.environment {
            places.push((Source::Environment, file_or_folder(path)));
        }
        if let Some(dir) = &self.executable_dir {
            places.push((Source::Executable, Place::Folder(dir.clone())));
        }
        if let Some(cache) = &self.cache_dir {
            for cuda in [self.prefer_cuda, !self.prefer_cuda] {
                let dir = Self::installed_dir(cache, cuda);
                places.push((Source::Cache, Place::Installed { dir, cuda }));
            }
        }
        for dir in &self.system_dirs {
            places.push((Source::System, Place::Folder(dir.clone())));
        }
        if self.python {
            places.push((Source::Python, Place::Python));
        }
        places
    }
}

impl Place {
    /// The library files at this place, the newest first. An installed one is verified.
    pub(super) fn libraries(&self) -> Result<Vec<PathBuf>, RuntimeError> {
        Ok(match self {
            Self::Installed { dir, cuda } if is_installed(dir) => {
                // A library may be replaced while it is verified.
                let verified = verified_library(dir).or_else(|_| {
                    await_replacement(dir);
                    verified_library(dir)
                });
                let unverified = |damage| RuntimeError::unverified(dir, *cuda, damage);
                vec![verified.map_err(unverified)?]
            }
            Self::Installed { .. } => Vec::new(),
            Self::File(path) if path.is_file() => vec![path.clone()],
            Self::File(_) => Vec::new(),
            Self::Folder(dir) => libraries_in(dir),
            Self::Python => python_package_dirs()
                .iter()
                .flat_map(|dir| libraries_in(&dir.join("onnxruntime").join("capi")))
                .collect(),
        })
    }

    /// Why the system shows nothing there, where the reason is not that there is nothing.
    pub(super) fn obstacle(&self) -> Option<io::Error> {
        let error = match self {
            Self::Python => None,
            Self::Folder(dir) => fs::read_dir(dir).err(),
            Self::File(path) | Self::Installed { dir: path, .. } => path.metadata().err(),
        };
        error.filter(|error| error.kind() != io::ErrorKind::NotFound)
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::File(path) | Self::Folder(path) | Self::Installed { dir: path, .. } => {
                path.display().to_string()
            }
            Self::Python => format!("package folders of {}", python().join(" or ")),
        }
    }
}

fn is_installed(folder: &Path) -> bool {
    folder.exists() || {
        await_replacement(folder);
        folder.exists()
    }
}

/// The commands that may be Python 3, the usual one first.
pub(super) fn python() -> &'static [&'static str] {
    if cfg!(windows) {
        &["python", "python3"]
    } else {
        &["python3", "python"]
    }
}

/// Where the first Python that answers keeps its packages.
pub(super) fn python_package_dirs() -> Vec<PathBuf> {
    // `-I` keeps the current folder and the user's start-up files out of it.
    const SCRIPT: &str = "import sysconfig, site\n\
        print(sysconfig.get_path('platlib'))\n\
        print(site.getusersitepackages())";
    for command in python() {
        let output = Command::new(command)
            .args(["-I", "-c", SCRIPT])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        if let Ok(output) = output
            && output.status.success()
        {
            let text = String::from_utf8_lossy(&output.stdout);
            return text
                .lines()
                .map(PathBuf::from)
                .filter(|dir| dir.is_dir())
                .collect();
        }
    }
    Vec::new()
}

/// The runtime's library files in a folder, the newest version first.
fn libraries_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut found: Vec<(Vec<u64>, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let version = library_version(entry.file_name().to_str()?)?;
            entry.path().is_file().then(|| (version, entry.path()))
        })
        .collect();
    found.sort_by_key(|(version, path)| (Reverse(version.clone()), path.clone()));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The numbers in a file name that is the runtime's own; `libonnxruntime_providers_cuda.so` and the like are not.
pub(super) fn library_version(name: &str) -> Option<Vec<u64>> {
    let (prefix, suffix) = match env::consts::OS {
        "windows" => ("onnxruntime", ".dll"),
        "macos" => ("libonnxruntime", ".dylib"),
        _ => ("libonnxruntime", ".so"),
    };
    let rest = name.strip_prefix(prefix)?;
    let version = rest
        .strip_suffix(suffix)
        .or_else(|| rest.strip_prefix(suffix))?;
    let numbers = version.split('.').filter(|part| !part.is_empty());
    numbers.map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_newest_library_of_a_folder_comes_first_and_providers_are_none() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "libonnxruntime.so.1.9.0",
            "libonnxruntime.so.1.31.1",
            "libonnxruntime_providers_shared.so",
            "libonnxruntime.so.bak",
            "notes.txt",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::create_dir(dir.path().join("libonnxruntime.so.2.0")).unwrap();
        let names: Vec<_> = libraries_in(dir.path())
            .into_iter()
            .map(|path| path.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(
            names,
            ["libonnxruntime.so.1.31.1", "libonnxruntime.so.1.9.0"]
        );
        assert!(libraries_in(&dir.path().join("missing")).is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_looked_at_has_a_reason() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let beneath = file.path().join("folder");
        for place in [
            Place::Folder(beneath.clone()),
            Place::File(beneath.clone()),
            Place::Installed {
                dir: beneath,
                cuda: false,
            },
        ] {
            assert!(place.libraries().unwrap().is_empty());
            assert_eq!(
                place.obstacle().is_some(),
                cfg!(unix),
                "Windows calls such a path missing"
            );
        }
        assert!(Place::Folder("/no/such/folder".into()).obstacle().is_none());
    }

    #[test]
    fn places_are_in_the_promised_order() {
        let search = Search {
            explicit: Some("a".into()),
            environment: Some("b".into()),
            executable_dir: Some("c".into()),
            cache_dir: Some("d".into()),
            system_dirs: vec!["e".into()],
            python: true,
            prefer_cuda: false,
        };
        let sources: Vec<Source> = search.places().into_iter().map(|(s, _)| s).collect();
        use Source::*;
        assert_eq!(
            sources,
            [
                Explicit,
                Environment,
                Executable,
                Cache,
                Cache,
                System,
                Python
            ]
        );
        let first_cache = |search: &Search| {
            let mut places = search.places().into_iter();
            places.find(|(s, _)| *s == Cache).unwrap().1.describe()
        };
        assert!(first_cache(&search).ends_with("-cpu"));
        assert!(first_cache(&search.clone().prefer_cuda(true)).ends_with("-cuda"));
    }
}

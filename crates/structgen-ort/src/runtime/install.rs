//! Installing, listing and removing the library in the cache folder.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use structgen_artifact::{open_regular, regular_exists};

use super::hashes::{Damage, Hashes, size, verified_library};
use super::package::Package;
use super::{RuntimeError, Search};

/// The version that [`install`] fetches.
pub const RUNTIME_VERSION: &str = "1.31.1";

/// What to install.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstallOptions {
    /// The library with the CUDA provider, about 260 MB, and not the plain one, about 25 MB.
    pub cuda: bool,
    /// Fetch it even where it is installed and undamaged.
    pub force: bool,
}

/// What [`install`] did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Installed {
    /// The library.
    pub library: PathBuf,
    /// Whether it had been there before, undamaged, so that nothing was fetched.
    pub already: bool,
    /// What was wrong with the one that was replaced.
    pub repaired: Option<Damage>,
}

/// A library in the cache folder, of this version of structgen or of another one.
#[derive(Debug)]
#[non_exhaustive]
pub struct InstalledRuntime {
    /// The folder that it is in.
    pub folder: PathBuf,
    /// The version of ONNX Runtime.
    pub version: String,
    /// Whether it has the CUDA provider.
    pub cuda: bool,
    /// The bytes of its files.
    pub bytes: u64,
    /// What is wrong with it, if anything: it is not loaded then.
    pub damage: Option<Damage>,
}

/// The folder that is being filled or emptied begins with this, so that the next process can tell what a killed one
/// left behind.
const STAGING: &str = "install-";
/// The file that whoever fills or empties a folder holds a lock of.
const LOCK: &str = "install.lock";

/// Fetches the pinned ONNX Runtime through pip into the cache folder of `search`, unless it is there and undamaged.
///
/// The package's SHA-256 must be one of those recorded here for the platform, and is checked by pip and again before
/// unpacking. Only the shared libraries are kept, with a record of their hashes that every load checks. They appear in
/// the cache folder by one rename, so that nobody ever sees half of them; several processes may install at once. What
/// an earlier process left when it was killed is removed.
///
/// # Errors
/// [`RuntimeError`]: no Python, no network, a wrong hash, a full disk. Nothing is left behind.
pub fn install(search: &Search, options: &InstallOptions) -> Result<Installed, RuntimeError> {
    let cache = search.cache_dir().ok_or(RuntimeError::NoCacheFolder)?;
    let package = Package::of(options.cuda, std::env::consts::OS, std::env::consts::ARCH)?;
    let target = Search::installed_dir(cache, options.cuda);
    let guard = |action, path: &Path| {
        let failed = failed(action, path);
        let full = package.disk_full(path);
        move |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull => full,
            _ => failed(source),
        }
    };
    let parent = runtime_dir(cache);
    fs::create_dir_all(&parent).map_err(guard("creating the folder", &parent))?;
    let _lock = lock(&parent)?;
    let mut repaired = None;
    if target.exists() && !options.force {
        match verified_library(&target) {
            Ok(library) => {
                return Ok(Installed {
                    library,
                    already: true,
                    repaired: None,
                });
            }
            Err(damage) => repaired = Some(damage),
        }
    }
    let staging = staging(&parent)?;
    let libraries = package.fetch(staging.path())?;
    let hashes =
        Hashes::record(&libraries).map_err(guard("recording the hashes of", &libraries))?;
    let Some(library) = hashes.library() else {
        return Err(RuntimeError::Fetch {
            step: "unpacking the package",
            output: "it contains no ONNX Runtime library".to_owned(),
        });
    };
    let remains = remains_in(staging.path(), &target);
    if target.exists() {
        // What is there goes away with the staging folder. Programs that have loaded it keep it.
        fs::rename(&target, &remains).map_err(guard("moving", &target))?;
    }
    put_in_place(&libraries, &target, &remains).map_err(guard("creating the folder", &target))?;
    Ok(Installed {
        library: target.join(library),
        already: false,
        repaired,
    })
}

/// Moves the libraries into place; on failure, moves the previous ones back.
fn put_in_place(libraries: &Path, target: &Path, remains: &Path) -> io::Result<()> {
    fs::rename(libraries, target).inspect_err(|_| {
        // There may have been none.
        let _ = fs::rename(remains, target);
    })
}

/// Waits for a process that is just replacing an installed library, whose folder is missing for a moment.
pub(super) fn await_replacement(folder: &Path) {
    let Some(parent) = folder.parent() else {
        return;
    };
    let is_replaced = staging_folders(parent).any(|staging| remains_in(&staging, folder).exists());
    if is_replaced && let Ok(lock) = open_regular(&parent.join(LOCK)) {
        // If it cannot be locked, the folder counts as missing.
        let _ = lock.lock_shared();
    }
}

/// The libraries in the cache folder of `search`, in the order of their folders' names, each verified.
///
/// # Errors
/// [`RuntimeError::NoCacheFolder`], and [`RuntimeError::Io`] where the folder cannot be read. One that is missing has
/// none.
pub fn installed(search: &Search) -> Result<Vec<InstalledRuntime>, RuntimeError> {
    let cache = search.cache_dir().ok_or(RuntimeError::NoCacheFolder)?;
    let parent = runtime_dir(cache);
    let entries = match fs::read_dir(&parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed("reading", &parent))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry.map_err(failed("reading", &parent))?.path();
        let name = folder.file_name().and_then(|name| name.to_str());
        let Some((version, kind)) = name.and_then(|name| name.rsplit_once('-')) else {
            continue;
        };
        if !matches!(kind, "cpu" | "cuda") || !folder.is_dir() {
            continue;
        }
        found.push(InstalledRuntime {
            version: version.to_owned(),
            cuda: kind == "cuda",
            bytes: size(&folder),
            damage: Hashes::verify(&folder).err(),
            folder,
        });
    }
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(found)
}

/// Removes a library from the cache folder, and what processes left there that were killed while they installed one.
/// Programs that have loaded the library keep it.
///
/// # Errors
/// [`RuntimeError::Io`] where the system refuses.
pub fn uninstall(runtime: &InstalledRuntime) -> Result<(), RuntimeError> {
    let folder = &runtime.folder;
    let parent = folder.parent().ok_or(RuntimeError::NoCacheFolder)?;
    let _lock = lock(parent)?;
    // By one rename, so that a process that is killed here leaves no half of a library.
    let staging = staging(parent)?;
    match fs::rename(folder, remains_in(staging.path(), folder)) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved.map_err(failed("removing", folder)),
    }
}

/// Returns where a staging folder keeps a folder that has been taken out of its place.
fn remains_in(staging: &Path, folder: &Path) -> PathBuf {
    let mut name = OsString::from("remains-");
    name.push(folder.file_name().unwrap_or_default());
    staging.join(name)
}

fn runtime_dir(cache: &Path) -> PathBuf {
    cache.join("runtime")
}

/// Waits for other processes that install, and removes what killed ones left.
///
/// The system frees the lock of a dead process, so that whoever holds it knows that nobody else fills a folder.
fn lock(parent: &Path) -> Result<File, RuntimeError> {
    let path = parent.join(LOCK);
    // Opening a pipe would wait for its other end.
    regular_exists(&path).map_err(failed("locking the file", &path))?;
    let lock = File::create(&path).map_err(failed("creating the file", &path))?;
    lock.lock().map_err(failed("locking the file", &path))?;
    for staging in staging_folders(parent) {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(staging);
    }
    Ok(lock)
}

/// The folders that processes fill or empty, or that killed ones left.
fn staging_folders(parent: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(STAGING));
    { own.map(|entry| entry.path()) }.filter(|path| path.is_dir())
}

fn staging(parent: &Path) -> Result<tempfile::TempDir, RuntimeError> {
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(parent);
    staging.map_err(failed("creating a folder in", parent))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RuntimeError + use<> {
    let path = path.to_owned();
    move |source| RuntimeError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_cache_folder_that_cannot_be_made_is_an_error_with_its_path() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let search = Search::only_cache(file.path().join("cache"));
        let error = install(&search, &InstallOptions::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&file.path().display().to_string()),
            "{error}"
        );
    }

    #[test]
    #[ignore = "fetches 260 MB"]
    fn the_cuda_package_has_the_provider() {
        let cache = tempfile::tempdir().unwrap();
        let search = Search::only_cache(cache.path());
        let options = InstallOptions {
            cuda: true,
            ..InstallOptions::default()
        };
        let installed = install(&search, &options).unwrap();
        let entries = fs::read_dir(installed.library.parent().unwrap()).unwrap();
        let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        let provider =
            |name: &std::ffi::OsString| name.to_string_lossy().contains("providers_cuda");
        assert!(names.iter().any(provider), "{names:?}");
    }

    /// A cache folder in which a library seems to be installed.
    fn filled() -> (tempfile::TempDir, PathBuf) {
        let cache = tempfile::tempdir().unwrap();
        let target = Search::installed_dir(cache.path(), false);
        fs::create_dir_all(&target).unwrap();
        let name = match std::env::consts::OS {
            "windows" => "onnxruntime.dll",
            "macos" => "libonnxruntime.1.31.1.dylib",
            _ => "libonnxruntime.so.1.31.1",
        };
        let library = target.join(name);
        fs::write(&library, "").unwrap();
        Hashes::record(&target).unwrap();
        (cache, library)
    }

    #[test]
    fn an_installed_library_is_not_fetched_again() {
        let (cache, library) = filled();
        let search = Search::only_cache(cache.path());
        let installed = install(&search, &InstallOptions::default()).unwrap();
        assert!(installed.already);
        assert_eq!(installed.library, library);
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_in_place_of_the_lock_is_an_error() {
        let (cache, library) = filled();
        let parent = runtime_dir(cache.path());
        let pipe = parent.join(LOCK);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let search = Search::only_cache(cache.path());
        let error = install(&search, &InstallOptions::default()).unwrap_err();
        assert!(error.to_string().contains(LOCK), "{error}");
        // A load that finds the gap of a replacement does not wait for the pipe either.
        let target = library.parent().unwrap();
        let staging = staging(&parent).unwrap();
        fs::rename(target, remains_in(staging.path(), target)).unwrap();
        await_replacement(target);
    }

    #[test]
    fn a_library_that_cannot_be_replaced_stays() {
        let (cache, library) = filled();
        let target = library.parent().unwrap();
        let [missing, remains] = ["missing", "remains"].map(|name| cache.path().join(name));
        fs::rename(target, &remains).unwrap();
        assert!(put_in_place(&missing, target, &remains).is_err());
        assert!(verified_library(target).is_ok() && !remains.exists());
        // Where there was none, there is none.
        let other = cache.path().join("other");
        assert!(put_in_place(&missing, &other, &remains).is_err());
        assert!(!other.exists());
    }

    #[test]
    fn a_load_waits_for_the_library_that_is_being_replaced() {
        let (cache, library) = filled();
        let target = library.parent().unwrap();
        let parent = runtime_dir(cache.path());
        let held = lock(&parent).unwrap();
        let staging = staging(&parent).unwrap();
        let remains = remains_in(staging.path(), target);
        fs::rename(target, &remains).unwrap();
        let search = Search::only_cache(cache.path());
        let found = thread::scope(|scope| {
            let (begins, begun) = mpsc::channel();
            let load = scope.spawn(move || {
                begins.send(()).unwrap();
                let places = search.places();
                let mut found = places.iter().map(|(_, place)| place.libraries().unwrap());
                found.find(|libraries| !libraries.is_empty())
            });
            begun.recv().unwrap();
            // Give it the time to come upon the gap.
            thread::sleep(Duration::from_millis(50));
            fs::rename(&remains, target).unwrap();
            drop(held);
            load.join().unwrap()
        });
        assert_eq!(found, Some(vec![library]));
    }

    #[test]
    fn installed_libraries_are_listed_and_removed() {
        let (cache, library) = filled();
        let parent = runtime_dir(cache.path());
        fs::create_dir(parent.join("1.20.0-cuda")).unwrap();
        fs::create_dir(parent.join("install-abc")).unwrap();
        let search = Search::only_cache(cache.path());
        let [old, current] = &installed(&search).unwrap()[..] else {
            panic!("two libraries are installed");
        };
        assert_eq!((old.version.as_str(), old.cuda), ("1.20.0", true));
        assert!(matches!(old.damage, Some(Damage::NoRecord)));
        assert_eq!(
            (current.version.as_str(), current.cuda),
            (RUNTIME_VERSION, false)
        );
        assert!(current.damage.is_none() && library.exists());
        for runtime in [current, old, current] {
            uninstall(runtime).unwrap();
        }
        assert!(installed(&search).unwrap().is_empty());
        let left = fs::read_dir(&parent)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["install.lock"]);
        // A folder that was never made has no libraries.
        assert!(
            installed(&Search::only_cache(cache.path().join("no")))
                .unwrap()
                .is_empty()
        );
    }
}

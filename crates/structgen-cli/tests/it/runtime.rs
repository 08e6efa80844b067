//! The runtime library in the cache folder: damaged, listed, removed, repaired.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use structgen::ort::{InstallOptions, Search, install, installed};

use crate::support::{PERSON, Run, run, runtime, structgen, write};

/// A cache folder with the library, as `runtime install` leaves it.
struct Cache {
    dir: tempfile::TempDir,
    library: PathBuf,
}

impl Cache {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Copy the library of the other tests, rather than download it, if it comes from a cache folder.
        let source = runtime().library().parent().unwrap();
        if source.join("hashes.json").is_file() {
            let target = dir.path().join("runtime").join(source.file_name().unwrap());
            fs::create_dir_all(&target).unwrap();
            for entry in fs::read_dir(source).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), target.join(entry.file_name())).unwrap();
            }
        }
        let search = Search::only_cache(dir.path());
        let library = install(&search, &InstallOptions::default())
            .unwrap()
            .library;
        Self { dir, library }
    }

    fn run(&self, args: &[&str]) -> Run {
        // Use the cache folder's library, whatever the machine has.
        let mut command = structgen(args);
        command.env("STRUCTGEN_CACHE", self.dir.path());
        run(command.env_remove("ORT_DYLIB_PATH"))
    }

    fn extract(&self) -> Run {
        let schema = write(self.dir.path(), "person.json", PERSON);
        self.run(&[
            "extract",
            "--schema",
            schema.to_str().unwrap(),
            "Ada is 36 years old",
        ])
    }

    fn verified(&self) -> bool {
        let [only] = &installed(&Search::only_cache(self.dir.path())).unwrap()[..] else {
            panic!("one library is installed");
        };
        only.damage.is_none()
    }
}

/// Overwrites some bytes in the middle of a file, in place.
fn flip(path: &Path) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    file.seek(SeekFrom::Start(middle)).unwrap();
    file.write_all(&[0xA5; 3]).unwrap();
}

fn cut(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(3_000_000).unwrap();
}

#[test]
fn a_damaged_library_is_refused_before_it_is_loaded() {
    let cache = Cache::new();
    assert_eq!(cache.extract().code, 0);
    flip(&cache.library);
    let says = ["is damaged", "contents of", "structgen runtime install"];
    cache.extract().is_bad_input(&says);
    cut(&cache.library);
    cache
        .extract()
        .is_bad_input(&["is damaged", "has 3000000 bytes"]);
    fs::remove_file(cache.library.with_file_name("hashes.json")).unwrap();
    cache.extract().is_bad_input(&["is damaged", "no record"]);
    let doctor = cache.run(&["doctor"]);
    assert_eq!(doctor.code, 2, "{doctor:?}");
    assert!(doctor.out.contains("is damaged"), "{doctor:?}");
}

#[test]
fn a_damaged_library_is_repaired_by_installing_it() {
    let cache = Cache::new();
    let remains = cache.dir.path().join("runtime/install-killed/wheels");
    fs::create_dir_all(&remains).unwrap();
    flip(&cache.library);
    let repaired = cache.run(&["runtime", "install"]);
    if repaired.err.contains("out of reach") {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: the package index is out of reach"
        );
        return;
    }
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(
        repaired.err.contains("was damaged, and is replaced"),
        "{repaired:?}"
    );
    assert!(cache.verified());
    assert!(!remains.exists(), "what a killed process left is removed");
    assert_eq!(cache.extract().code, 0);
    let before = fs::metadata(&cache.library).unwrap().modified().unwrap();
    let again = cache.run(&["runtime", "install"]);
    assert!(again.out.contains("installed already"), "{again:?}");
    let forced = cache.run(&["runtime", "install", "--force"]);
    assert_eq!(forced.code, 0, "{forced:?}");
    assert!(!forced.out.contains("already"), "{forced:?}");
    assert_ne!(
        fs::metadata(&cache.library).unwrap().modified().unwrap(),
        before
    );
    assert!(cache.verified());
}

#[test]
fn libraries_are_listed_and_removed() {
    let cache = Cache::new();
    let list = cache.run(&["runtime", "list"]);
    assert_eq!(list.code, 0, "{list:?}");
    assert_eq!(list.out.lines().count(), 1, "{list:?}");
    assert!(
        list.out.contains("cpu") && list.out.contains("verified"),
        "{list:?}"
    );
    flip(&cache.library);
    let list = cache.run(&["runtime", "list"]);
    assert!(list.out.contains("damaged: the contents of"), "{list:?}");
    let other = cache.run(&["runtime", "uninstall", "--cuda"]);
    assert_eq!((other.code, other.out.as_str()), (0, ""), "{other:?}");
    assert!(cache.library.exists());
    let removed = cache.run(&["runtime", "uninstall"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(removed.out.starts_with("removed "), "{removed:?}");
    assert!(!cache.library.exists());
    let list = cache.run(&["runtime", "list"]);
    assert_eq!((list.code, list.out.as_str()), (0, ""), "{list:?}");
}

/// One after another: the second waits, and finds it done. A third is killed in the middle of it.
#[test]
fn processes_that_install_at_once_leave_one_whole_library() {
    let dir = tempfile::tempdir().unwrap();
    let spawn = |args: &[&str]| {
        let mut command = structgen(args);
        command.env("STRUCTGEN_CACHE", dir.path());
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().unwrap()
    };
    let both = [(); 2].map(|()| spawn(&["runtime", "install"]));
    let both = both.map(|child| child.wait_with_output().unwrap());
    let err = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    if both
        .iter()
        .any(|output| err(output).contains("out of reach"))
    {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: the package index is out of reach"
        );
        return;
    }
    assert!(
        both.iter().all(|output| output.status.success()),
        "{both:?}"
    );
    let already = |output: &&Output| String::from_utf8_lossy(&output.stdout).contains("already");
    assert_eq!(both.iter().filter(already).count(), 1, "{both:?}");
    for milliseconds in [100, 400, 800, 1_200, 1_600, 2_000] {
        let mut child = spawn(&["runtime", "install", "--force"]);
        thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = installed(&Search::only_cache(dir.path())).unwrap();
        assert!(
            found.iter().all(|runtime| runtime.damage.is_none()),
            "{found:?}"
        );
    }
    let names = || {
        let entries = fs::read_dir(dir.path().join("runtime")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
    };
    // What the killed processes left behind is removed once the pip that they started has ended.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let last = spawn(&["runtime", "install"]).wait_with_output().unwrap();
        assert!(last.status.success(), "{last:?}");
        if !names().any(|name| name.starts_with("install-")) {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "{:?}",
            names().collect::<Vec<_>>()
        );
        thread::sleep(Duration::from_millis(200));
    }
    let [only] = &installed(&Search::only_cache(dir.path())).unwrap()[..] else {
        panic!("one library is installed");
    };
    assert!(only.damage.is_none());
}

#[test]
fn installing_runs_no_code_of_the_current_folder() {
    let [current, cache] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    write(
        current.path(),
        "pip.py",
        "open('marker', 'w').close()\nraise SystemExit('planted')\n",
    );
    let mut command = structgen(["runtime", "install"]);
    command.current_dir(current.path());
    // Without a package index, pip gives up at once.
    command
        .env("STRUCTGEN_CACHE", cache.path())
        .env("PIP_NO_INDEX", "1");
    let run = run(&mut command);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(!run.err.contains("planted"), "{run:?}");
    assert!(!current.path().join("marker").exists(), "{run:?}");
}

#[test]
fn the_library_may_be_given_by_its_folder_or_relative_to_the_current_one() {
    let cache = Cache::new();
    let library = cache.library.canonicalize().unwrap();
    let folder = library.parent().unwrap();
    let name = library.file_name().unwrap().to_str().unwrap();
    for given in [folder.to_str().unwrap(), ".", name] {
        let mut command = structgen(["doctor", "--runtime", given]);
        command.current_dir(folder);
        let doctor = run(&mut command);
        assert_eq!(doctor.code, 0, "{given}: {doctor:?}");
        let found = format!("{} (the given path)", library.display());
        assert!(doctor.out.contains(&found), "{given}: {doctor:?}");
    }
}

#[test]
fn of_a_folder_without_a_library_that_loads_every_one_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let source = runtime().library().file_name().unwrap().to_str().unwrap();
    let names = ["1", "2"].map(|version| source.replace("1.31", version));
    for name in &names {
        write(dir.path(), name, "no library");
    }
    let doctor = run(&mut structgen([
        "doctor",
        "--runtime",
        dir.path().to_str().unwrap(),
    ]));
    assert_eq!(doctor.code, 2, "{doctor:?}");
    for name in &names {
        assert!(doctor.out.contains(name), "{doctor:?}");
    }
}

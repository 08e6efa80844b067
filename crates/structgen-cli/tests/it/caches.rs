//! The cache folder: read-only, full, half-written by killed processes, filled by several at once.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

#[cfg(target_os = "linux")]
use crate::support::on_full_disk;
use crate::support::{PERSON, model_folder, run, runtime, structgen, write};

/// Writes a constraint and the tables of a vocabulary.
fn compile(dir: &Path, cache: &Path) -> Command {
    let schema = dir.join("s.json");
    if !schema.exists() {
        write(dir, "s.json", PERSON);
    }
    let mut command = structgen(["compile", "--schema"]);
    command
        .arg(schema)
        .arg("--tokenizer")
        .arg(tokenizer(dir))
        .arg("--out")
        .arg(dir.join("constraint"))
        .env("STRUCTGEN_CACHE", cache);
    command
}

/// A tokenizer of 40,000 tokens, whose tables take a while to write.
fn tokenizer(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("tokenizer.json");
    if path.exists() {
        return path;
    }
    let small = fs::read(model_folder().join("tokenizer.json")).unwrap();
    let mut file: serde_json::Value = serde_json::from_slice(&small).unwrap();
    let vocab = file["model"]["vocab"].as_object_mut().unwrap();
    let first = 100_000;
    for id in first..first + 40_000 {
        vocab.insert(format!("w{id}"), id.into());
    }
    write(dir, "tokenizer.json", file.to_string())
}

/// Checks that the only file of tables is complete: the next process loads it, and does not rewrite it.
fn is_whole(dir: &Path, cache: &Path) {
    let tables = cache.join("tables");
    let [name] = &names(&tables)[..] else {
        panic!("{:?}", names(&tables));
    };
    let written = || fs::metadata(tables.join(name)).unwrap().modified().unwrap();
    let before = written();
    let again = run(&mut compile(dir, cache));
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(written(), before);
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn processes_that_are_killed_while_they_write_leave_nothing_that_is_taken_for_whole() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let tables = cache.join("tables");
    let mut killed = 0;
    let started = Instant::now();
    assert_eq!(run(&mut compile(dir.path(), &cache)).code, 0);
    let whole = started.elapsed();
    fs::remove_dir_all(&cache).unwrap();
    for step in 0..40 {
        // From before the tables are computed until the constraint is written.
        let mut child = compile(dir.path(), &cache)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole * step / 40);
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        if step % 4 == 3 {
            let _ = fs::remove_dir_all(&tables);
        }
    }
    assert!(killed > 5, "{killed}");
    let done = run(&mut compile(dir.path(), &cache));
    assert_eq!(done.code, 0, "{done:?}");
    is_whole(dir.path(), &cache);
    let left = names(dir.path());
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
}

#[test]
fn processes_that_fill_one_cache_leave_one_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    compile(dir.path(), &cache);
    let spawn = |_| {
        let mut command = compile(dir.path(), &cache);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(spawn).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    is_whole(dir.path(), &cache);
}

/// Files are recognised by contents and locks, so that changing the clock changes nothing.
#[test]
fn the_times_of_files_decide_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    assert_eq!(run(&mut compile(dir.path(), &cache)).code, 0);
    let tables = cache.join("tables");
    let file = tables.join(&names(&tables)[0]);
    let century = Duration::from_secs(100 * 365 * 86_400);
    for time in [SystemTime::UNIX_EPOCH, SystemTime::now() + century] {
        let file = fs::OpenOptions::new().write(true).open(&file).unwrap();
        file.set_modified(time).unwrap();
        is_whole(dir.path(), &cache);
    }
}

/// Permissions do not restrict the superuser, so the test uses a folder that cannot exist.
#[test]
fn a_cache_that_cannot_be_written_costs_time_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "file", "no folder");
    let done = run(&mut compile(dir.path(), &file.join("cache")));
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "no folder");
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full_while_tables_or_a_constraint_are_written_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    // A constraint with few states: how many masks of a larger one are stored depends on how long they take.
    write(dir.path(), "s.json", r#"{"type": "boolean"}"#);
    let whole = run(&mut compile(dir.path(), &cache));
    assert_eq!(whole.code, 0, "{whole:?}");
    let constraint = fs::read(dir.path().join("constraint")).unwrap();
    let [tables] = &names(&cache.join("tables"))[..] else {
        panic!("there are no tables");
    };
    let tables = fs::metadata(cache.join("tables").join(tables))
        .unwrap()
        .len();
    // Shells count in blocks of 512 or of 1,024 bytes.
    let between = constraint.len() as u64 / 512 + 1;
    assert!(between * 1024 < tables, "{between} {tables}");
    fs::remove_dir_all(&cache).unwrap();
    let limited = |blocks: u64| {
        let command = compile(dir.path(), &cache);
        run(on_full_disk(&command, blocks).env("STRUCTGEN_CACHE", &cache))
    };
    // The tables do not fit, the constraint does.
    let tables = limited(between);
    assert_eq!(tables.code, 0, "{tables:?}");
    assert!(names(&cache.join("tables")).is_empty());
    // Neither fits; the earlier constraint is kept.
    let neither = limited(0);
    neither.is_bad_input(&["constraint", "File too large"]);
    assert!(names(&cache.join("tables")).is_empty());
    assert_eq!(fs::read(dir.path().join("constraint")).unwrap(), constraint);
    let left = names(dir.path());
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
}

#[test]
fn a_cache_of_keys_and_values_beyond_its_limit_is_refused_with_both_numbers() {
    runtime();
    let mut command = structgen(["generate", "--set", "model.cache=1"]);
    run(command.args(["--set", "max_new_tokens=4000", "A story"]))
        .is_bad_input(&["bytes of cache", "the limit is 1"]);
}

//! Written arrays are read back; files from elsewhere are refused.

use std::fs;

use proptest::prelude::*;
use structgen_artifact::{
    ArtifactError, Format, Reader, Replacement, Writer, is_special, open_regular, regular_exists,
};

const FORMAT: Format = Format {
    magic: *b"testtest",
    version: 3,
};
const KEY: [u8; 32] = [5; 32];

fn filled() -> Writer {
    let mut writer = Writer::new(FORMAT, KEY);
    writer.put(&[1_u8, 2, 3]);
    writer.put::<u64>(&[]);
    writer.put(&[u32::MAX]);
    writer
}

fn written() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/file");
    filled().save(&path).unwrap();
    (folder, path)
}

fn read(path: &std::path::Path) -> Result<(), ArtifactError> {
    let mut reader = Reader::open(path, FORMAT, KEY)?;
    assert_eq!(reader.take::<u8>()?[..], [1, 2, 3]);
    assert!(reader.take::<u64>()?.is_empty());
    assert_eq!(reader.take_one::<u32>()?, u32::MAX);
    reader.finish()
}

#[test]
fn what_was_put_is_taken() {
    let (_folder, path) = written();
    read(&path).unwrap();
    // A second file replaces the first, which its readers keep.
    let mut reader = Reader::open(&path, FORMAT, KEY).unwrap();
    Writer::new(FORMAT, KEY).save(&path).unwrap();
    assert_eq!(reader.take::<u8>().unwrap()[..], [1, 2, 3]);
    assert!(matches!(read(&path), Err(ArtifactError::Contents(_))));
}

/// A map would end the process with SIGBUS.
#[test]
fn a_file_that_is_cut_or_overwritten_in_place_changes_no_arrays() {
    let (_folder, path) = written();
    let mut reader = Reader::open(&path, FORMAT, KEY).unwrap();
    let bytes = reader.take::<u8>().unwrap();
    fs::write(&path, [0xFF; 200]).unwrap();
    assert_eq!(bytes[..], [1, 2, 3]);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(bytes[..], [1, 2, 3]);
    assert!(reader.take::<u64>().unwrap().is_empty());
    assert_eq!(reader.take_one::<u32>().unwrap(), u32::MAX);
}

#[test]
fn what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not() {
    let (_folder, path) = written();
    let beside = |name: &str| path.with_file_name(name);
    let [dead, living, empty, other] = [
        ".file-dead.tmp",
        ".file-living.tmp",
        ".file-new.tmp",
        ".other-dead.tmp",
    ]
    .map(beside);
    for file in [&dead, &living, &other] {
        fs::write(file, "half").unwrap();
    }
    // Its writer was killed before it wrote anything.
    fs::write(&empty, "").unwrap();
    let lock = fs::File::open(&living).unwrap();
    lock.lock().unwrap();
    Writer::new(FORMAT, KEY).save(&path).unwrap();
    assert!(!dead.exists() && !empty.exists());
    assert!(living.exists() && other.exists());
    drop(lock);
    Writer::new(FORMAT, KEY).save(&path).unwrap();
    assert!(!living.exists());
    Reader::open(&path, FORMAT, KEY).unwrap();
}

/// Each removes what looks abandoned while others create files of the same prefix.
#[test]
fn writers_do_not_remove_the_files_of_others() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = folder.path().join(thread.to_string());
            scope.spawn(move || {
                for _ in 0..200 {
                    Replacement::of(&path, ".new-").unwrap().persist().unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
#[cfg(unix)]
fn only_regular_files_are_opened() {
    let (folder, path) = written();
    assert!(open_regular(&path).is_ok() && regular_exists(&path).unwrap());
    let missing = path.with_file_name("missing");
    assert!(!regular_exists(&missing).unwrap());
    let error = open_regular(&missing).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let pipe = path.with_file_name("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for other in [&*pipe, folder.path()] {
        let errors = [
            open_regular(other).unwrap_err(),
            regular_exists(other).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), "it is no regular file");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_is_written_to_and_stays() {
    use std::io::Read;
    use std::os::unix::fs::FileTypeExt;

    let (_folder, path) = written();
    let pipe = path.with_file_name("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert!(is_special(&pipe) && !is_special(&path) && !is_special(path.parent().unwrap()));
    // Open at both ends, so that nobody waits.
    let mut options = fs::OpenOptions::new();
    let mut opened = options.read(true).write(true).open(&pipe).unwrap();
    filled().write_to(&pipe).unwrap();
    let expected = fs::read(&path).unwrap();
    let mut read = vec![0; expected.len()];
    opened.read_exact(&mut read).unwrap();
    assert_eq!(read, expected);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
#[cfg(unix)]
fn a_new_file_has_the_usual_mode_and_a_replaced_one_keeps_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (folder, path) = written();
    let usual = folder.path().join("usual");
    fs::write(&usual, "").unwrap();
    assert_eq!(mode(&path), mode(&usual));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    Writer::new(FORMAT, KEY).save(&path).unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[test]
#[cfg(unix)]
fn a_symbolic_link_stays_and_what_it_points_to_is_replaced() {
    let (folder, path) = written();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let abandoned = path.with_file_name(".file-dead.tmp");
    fs::write(&abandoned, "half").unwrap();
    Writer::new(FORMAT, KEY).save(&link).unwrap();
    assert!(link.is_symlink() && !abandoned.exists());
    assert!(matches!(read(&path), Err(ArtifactError::Contents(_))));
}

#[test]
fn files_of_other_kinds_versions_and_keys_are_refused() {
    let (folder, path) = written();
    let open = |magic, version, key| Reader::open(&path, Format { magic, version }, key).err();
    let other = open(*b"other   ", 3, KEY);
    assert!(matches!(other, Some(ArtifactError::Kind)));
    let other = open(FORMAT.magic, 4, KEY);
    assert!(matches!(other, Some(ArtifactError::Version)));
    let other = open(FORMAT.magic, 3, [6; 32]);
    assert!(matches!(other, Some(ArtifactError::Key)));
    let dir = Reader::open(folder.path(), FORMAT, KEY).err();
    assert!(matches!(dir, Some(ArtifactError::Kind)));
    let none = Reader::open(&folder.path().join("none"), FORMAT, KEY).unwrap_err();
    assert!(none.is_missing());
}

#[test]
fn arrays_of_other_items_are_refused() {
    let (_folder, path) = written();
    let mut reader = Reader::open(&path, FORMAT, KEY).unwrap();
    assert!(reader.take::<u32>().is_err(), "three bytes are no u32");
    let mut reader = Reader::open(&path, FORMAT, KEY).unwrap();
    assert!(reader.take_one::<u8>().is_err());
    assert!(
        reader.take_one::<u64>().is_err(),
        "the second array is empty"
    );
    assert!(reader.take_one::<u32>().is_ok());
    assert!(reader.take::<u32>().is_err(), "there is no fourth array");
    assert!(reader.finish().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn every_change_is_noticed(at in any::<proptest::sample::Index>(), bits in 1_u8.., cut in any::<bool>()) {
        let (_folder, path) = written();
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= bits;
        }
        fs::write(&path, bytes).unwrap();
        prop_assert!(read(&path).is_err());
    }

    #[test]
    fn lengths_that_lie_are_refused(length in any::<u64>()) {
        let (_folder, path) = written();
        // A file with a correct checksum whose first array claims another length.
        let mut writer = Writer::new(FORMAT, KEY);
        writer.put(&[1_u8]);
        writer.save(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[64..72].copy_from_slice(&length.to_ne_bytes());
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(&bytes[..56]);
        hash.update(&bytes[64..]);
        bytes[56..64].copy_from_slice(&hash.digest().to_ne_bytes());
        fs::write(&path, bytes).unwrap();
        let mut reader = Reader::open(&path, FORMAT, KEY).unwrap();
        prop_assert_eq!(reader.take::<u8>().is_ok(), length <= 16);
    }
}

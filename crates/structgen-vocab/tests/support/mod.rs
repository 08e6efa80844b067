//! The real tokenizers of the data set, which is not part of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The content of a real `tokenizer.json`; prints a message and returns `None` if the data set is missing.
///
/// The data is in `STRUCTGEN_DATA`, by default `../shared/data` next to the workspace: either a folder `tokenizers` or
/// its archive `tokenizers.tar.xz`.
#[expect(
    clippy::print_stdout,
    reason = "a test that is skipped without a word looks like one that passed"
)]
pub(crate) fn real_tokenizer(name: &str) -> Option<Vec<u8>> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(folder).as_ref();
    let bytes = folder.and_then(|folder| std::fs::read(folder.join(format!("{name}.json"))).ok());
    if bytes.is_none() {
        println!("skipped: no tokenizer {name} in STRUCTGEN_DATA");
    }
    bytes
}

fn folder() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = match std::env::var_os("STRUCTGEN_DATA") {
        Some(data) => root.join(data),
        None => root.join("../shared/data"),
    };
    let unpacked = data.join("tokenizers");
    if unpacked.is_dir() {
        return Some(unpacked);
    }
    let archive = data.join("tokenizers.tar.xz");
    if !archive.is_file() {
        return None;
    }
    // Test binaries run concurrently: each unpacks for itself, and the first result is kept.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vocab-data");
    if !cache.join("tokenizers").is_dir() {
        let own = cache.with_extension(std::process::id().to_string());
        std::fs::create_dir_all(&own).ok()?;
        let status = Command::new("tar")
            .arg("-xJf")
            .arg(&archive)
            .arg("-C")
            .arg(&own)
            .status()
            .ok()?;
        if !status.success() {
            return None;
        }
        if std::fs::rename(&own, &cache).is_err() {
            std::fs::remove_dir_all(&own).ok();
        }
    }
    Some(cache.join("tokenizers"))
}

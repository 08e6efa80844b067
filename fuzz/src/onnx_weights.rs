//! The weights of an ONNX file: the bytes are the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use structgen_ort::Weights;
use tempfile::TempDir;

/// Reads which tensors a file stores, and their numbers.
/// True when it was taken.
///
/// # Panics
/// When a tensor has more or fewer numbers than its dimensions say.
pub fn onnx_weights(data: &[u8]) -> bool {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("model.onnx");
    write(&file, data);
    let Ok(weights) = Weights::of_file(&file) else {
        return false;
    };
    let _ = (weights.quantization(), weights.bytes());
    let _ = (weights.block_bits(), weights.bytes_on_processor());
    for tensor in weights.tensors() {
        if let Ok(Some(floats)) = weights.floats(tensor) {
            assert_eq!(floats.len() as u64, tensor.len(), "{}", tensor.name);
        }
    }
    true
}

/// Writes a file anew. That is much quicker than overwriting one, which some file systems write to the disk at once.
pub(crate) fn write(file: &Path, data: &[u8]) {
    let _ = fs::remove_file(file);
    fs::write(file, data).expect("a file");
}

/// The smaller models of the tests of `structgen-ort`.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    /// Larger ones take most of the time of a run.
    const LARGEST: usize = 20_000;
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/structgen-ort/tests/fixtures");
    let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = inside(folder)
        .flat_map(|entry| inside(entry.path()))
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "onnx")
        })
        .collect();
    paths.sort();
    let files = paths.iter().filter_map(|path| fs::read(path).ok());
    files.filter(|file| file.len() <= LARGEST).collect()
}

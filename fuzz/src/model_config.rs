//! Configurations of models: the first byte chooses whose, the rest is the file.

use std::fs;
use std::sync::OnceLock;

use structgen_ort::{ModelConfig, ModelFolder};
use tempfile::TempDir;

/// Reads `config.json` and, after a zero byte, `generation_config.json`; or a folder with that `genai_config.json`.
/// True when it was taken.
///
/// # Panics
/// When a folder's configuration names a file elsewhere.
pub fn model_config(data: &[u8]) -> bool {
    let Some((&how, text)) = data.split_first() else {
        return false;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    if how & 1 == 0 {
        let (config, generation) = match text.split_once('\0') {
            Some((config, generation)) => (config, Some(generation)),
            None => (text, None),
        };
        return ModelConfig::from_json(config, generation).is_ok();
    }
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("model.onnx"), b"").expect("a file");
        folder
    });
    fs::write(folder.path().join("genai_config.json"), text).expect("a file");
    let Ok(found) = ModelFolder::open(folder.path(), None) else {
        return false;
    };
    let is_inside = |file: &std::path::Path| file.starts_with(folder.path());
    assert!(found.files().all(is_inside), "{found:?}");
    true
}

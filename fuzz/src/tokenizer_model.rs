//! Tokenizers in other files than `tokenizer.json`: the first byte chooses which, zero bytes end all files but the
//! last.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use structgen_vocab::Tokenizer;
use tempfile::TempDir;

use crate::onnx_weights::write;
use crate::tokenizer_json::look_at;

/// Reads `tokenizer_config.json` and `tokenizer.model`, or `tokenizer_config.json`, `vocab.json` and `merges.txt`, and
/// takes texts to tokens and back.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When the trie and the vocabulary disagree, or a token lies outside of the vocabulary.
pub fn tokenizer_model(data: &[u8]) -> bool {
    static FOLDERS: OnceLock<[TempDir; 2]> = OnceLock::new();
    let folders = FOLDERS.get_or_init(|| [(); 2].map(|()| tempfile::tempdir().expect("a folder")));
    let Some((how, rest)) = data.split_first() else {
        return false;
    };
    let names = match how & 1 {
        0 => &["tokenizer_config.json", "tokenizer.model"][..],
        _ => &["tokenizer_config.json", "merges.txt", "vocab.json"],
    };
    let folder = folders[usize::from(how & 1)].path();
    let parts = rest.splitn(names.len(), |&byte| byte == 0);
    let mut last = None;
    for (name, part) in names.iter().zip(parts) {
        write(&folder.join(name), part);
        last = Some(*name);
    }
    if last != names.last().copied() {
        return false;
    }
    let file = folder.join(names[names.len() - 1]);
    Tokenizer::from_file(file).is_ok_and(|tokenizer| {
        look_at(&tokenizer);
        true
    })
}

/// The files of the tests of `structgen-vocab`.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let fixtures =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/structgen-vocab/tests/fixtures");
    let read = |folder: &str, name: &str| fs::read(fixtures.join(folder).join(name));
    let config = |folder| read(folder, "tokenizer_config.json").unwrap_or_else(|_| b"{}".to_vec());
    let models = ["gemma", "llama", "symbols", "unigram"]
        .into_iter()
        .filter_map(|folder| {
            let model = read(folder, "tokenizer.model").ok()?;
            Some([b"\0", &*config(folder), b"\0", &model].concat())
        });
    let lists = ["gpt2", "qwen2"].into_iter().filter_map(|folder| {
        let [merges, vocab] = ["merges.txt", "vocab.json"].map(|name| read(folder, name).ok());
        let [config, merges, vocab] = [config(folder), merges?, vocab?];
        Some([b"\x01", &*config, b"\0", &merges, b"\0", &vocab].concat())
    });
    models.chain(lists).collect()
}

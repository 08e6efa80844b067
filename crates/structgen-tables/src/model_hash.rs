//! Identifies a model on any machine, by a hash of its files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use xxhash_rust::xxh3::xxh3_64;

use crate::hashing::Hashing;
use crate::model::ModelArgs;

/// Returns a hash of the model's files, their names, and the variant. It detects mistakes; it is not a signature.
pub(crate) fn model_hash(model: &ModelArgs) -> anyhow::Result<String> {
    let mut files = match &model.model {
        Some(folder) => hash_folder(folder)
            .with_context(|| format!("the model {} cannot be read", folder.display()))?,
        None => hash_embedded()?,
    };
    files.sort();
    let variant = model.variant.as_deref().unwrap_or_default();
    let listing = format!("{variant}\n{}", files.concat());
    Ok(format!("{:016x}", xxh3_64(listing.as_bytes())))
}

fn hash_embedded() -> io::Result<Vec<String>> {
    let main = &structgen_model::MAIN;
    let files = [
        (
            "genai_config.json",
            main.genai_config.unwrap_or_default().as_bytes(),
        ),
        ("model.onnx", main.model),
        ("reader.onnx", structgen_model::READER),
        ("tokenizer.json", main.tokenizer),
        ("tokenizer_config.json", main.tokenizer_config.as_bytes()),
        ("config.json", main.config.as_bytes()),
        ("generation_config.json", main.generation_config.as_bytes()),
        ("calibration.json", structgen_model::CALIBRATION.as_bytes()),
    ];
    let files = files.map(|(name, bytes)| hash_file(Path::new(name), bytes));
    files.into_iter().collect()
}

/// Hashes all files in a folder and its subfolders, except hidden ones.
fn hash_folder(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = below.join(name);
            // Files may be symbolic links into a cache.
            match fs::metadata(entry.path())?.is_dir() {
                true => folders.push(path),
                false => files.push(hash_file(&path, File::open(entry.path())?)?),
            }
        }
    }
    Ok(files)
}

/// Returns a line with a file's name, size and hash.
fn hash_file(name: &Path, content: impl Read) -> io::Result<String> {
    let mut content = Hashing::new(content);
    io::copy(&mut content, &mut io::sink())?;
    let (bytes, hash) = content.finish();
    Ok(format!("{} {bytes} {hash:016x}\n", name.display()))
}

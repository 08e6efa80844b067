//! The registry of models on this machine, and folders by their registered names.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use structgen_registry::{RegisteredModel, Registry};

use crate::output::detail;

/// Opens the registry, in `STRUCTGEN_HOME` or the user's data folder.
pub(crate) fn registry() -> anyhow::Result<Registry> {
    let folder = data_folder().ok_or_else(|| {
        anyhow!("there is no folder for the list of models: set STRUCTGEN_HOME or HOME")
    })?;
    Ok(Registry::in_folder(folder))
}

/// Returns the folder of the list of models.
fn data_folder() -> Option<PathBuf> {
    let path = |name: &str| {
        let value = env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    path("STRUCTGEN_HOME").or_else(|| {
        let base = path("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let base = base.or_else(|| match env::consts::OS {
            "windows" => path("LOCALAPPDATA"),
            "macos" => path("HOME").map(|home| home.join("Library/Application Support")),
            _ => path("HOME").map(|home| home.join(".local/share")),
        });
        Some(base?.join("structgen"))
    })
}

/// Returns the folder that models are downloaded to.
pub(crate) fn downloads() -> Option<PathBuf> {
    Some(data_folder()?.join("models"))
}

/// Returns the folder itself if it exists, else that of the registered model of this name.
pub(crate) fn find(named: &Path) -> anyhow::Result<PathBuf> {
    let registered = registered(named)?;
    Ok(registered.map_or_else(|| named.to_owned(), |(_, model)| model.folder))
}

/// Like [`find`], but counts a registered model as requested.
pub(crate) fn resolve(named: &Path) -> anyhow::Result<PathBuf> {
    let Some((registry, model)) = registered(named)? else {
        return Ok(named.to_owned());
    };
    // The count is no reason to fail if the list cannot be written.
    if let Err(error) = registry.count_use(&model.name) {
        detail(&error.to_string());
    }
    Ok(model.folder)
}

/// Returns the registered model of this name, unless it is an existing file or folder.
fn registered(named: &Path) -> anyhow::Result<Option<(Registry, RegisteredModel)>> {
    let name = named.to_str().filter(|name| !name.contains(['/', '\\']));
    let Some(name) = name.filter(|_| !named.exists()) else {
        return Ok(None);
    };
    let Ok(registry) = registry() else {
        return Ok(None);
    };
    let found = registry.find(name)?;
    Ok(found.map(|model| (registry, model)))
}

/// Returns the total size of a folder's files, including subfolders.
pub(crate) fn folder_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0_u64;
    let mut folders = vec![folder.to_owned()];
    while let Some(dir) = folders.pop() {
        let entries = std::fs::read_dir(&dir)
            .with_context(|| format!("the folder {} cannot be read", dir.display()))?;
        for entry in entries {
            let path = entry?.path();
            // Links may point to files in a download cache, but must not lead around in circles.
            let metadata = path.metadata()?;
            if metadata.is_file() {
                bytes = bytes.saturating_add(metadata.len());
            } else if metadata.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    Ok(bytes)
}

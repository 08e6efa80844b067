//! The registry: `add`, `list`, `remove`, `best`, `usage`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::json;
use structgen::ort::{ModelFolder, Weights};
use structgen_registry::RegisteredModel;

use crate::error::DONE;
use crate::models::{downloads, folder_bytes, registry};
use crate::output::write_line;

/// Formats a size in gigabytes with one decimal, or in smaller units.
pub(super) fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e8 => format!("{:.1} GB", bytes / 1e9),
        bytes if bytes >= 1e5 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.1} kB", bytes / 1e3),
    }
}

pub(super) fn add(
    folder: &Path,
    name: Option<&str>,
    capabilities: &[String],
    json: bool,
) -> anyhow::Result<ExitCode> {
    let model = register(folder, name, capabilities)?;
    write_line(&match json {
        true => serde_json::to_string(&model)?,
        false => format!("added {}", line(&model)),
    })?;
    Ok(DONE)
}

/// Registers a folder.
pub(super) fn register(
    folder: &Path,
    name: Option<&str>,
    capabilities: &[String],
) -> anyhow::Result<RegisteredModel> {
    let cannot = || format!("the model folder {} cannot be used", folder.display());
    let folder = folder.canonicalize().with_context(cannot)?;
    let found = ModelFolder::open(&folder, None).with_context(cannot)?;
    let weights = Weights::of_files(found.files())
        .with_context(|| format!("{} cannot be read", found.file_names()))?;
    let own_name = folder.file_name().and_then(|name| name.to_str());
    let Some(name) = name.or(own_name) else {
        bail!("the folder has no name of its own; give one with --name");
    };
    let model = RegisteredModel::new(name, &folder, folder_bytes(&folder)?)
        .with_quantization(weights.quantization())
        .with_capabilities(capabilities.iter().cloned());
    registry()?.add(model.clone())?;
    Ok(model)
}

pub(super) fn line(model: &RegisteredModel) -> String {
    let capabilities: Vec<&str> = model.capabilities.iter().map(String::as_str).collect();
    let cells = [
        format!("{:<20}", model.name),
        format!("{:>9}", size(model.bytes)),
        format!("{:<8}", model.quantization),
        format!("{:<30}", capabilities.join(", ")),
        model.folder.display().to_string(),
    ];
    cells.join("  ")
}

pub(super) fn list(json: bool) -> anyhow::Result<ExitCode> {
    let models = registry()?.list()?;
    let sizes = models.iter().map(|model| model.bytes);
    let total = sizes.fold(0, u64::saturating_add);
    if json {
        write_line(&json!({"models": models, "bytes": total}).to_string())?;
        return Ok(DONE);
    }
    for model in &models {
        write_line(&line(model))?;
    }
    let models = match models.len() {
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    };
    write_line(&format!("{:<20}  {:>9}", models, size(total)))?;
    Ok(DONE)
}

pub(super) fn remove(name: &str, with_files: bool, json: bool) -> anyhow::Result<ExitCode> {
    let registry = registry()?;
    let model = registry.get(name)?;
    if with_files {
        check_deletable(&model, &registry.list()?)
            .with_context(|| format!("{} is not deleted", model.folder.display()))?;
        std::fs::remove_dir_all(&model.folder)
            .with_context(|| format!("{} cannot be deleted", model.folder.display()))?;
    }
    let model = registry.remove(name)?;
    let freed = if with_files { model.bytes } else { 0 };
    write_line(&match (json, with_files) {
        (true, _) => json!({"removed": model, "freed_bytes": freed}).to_string(),
        (false, true) => format!("removed {name}: {} freed", size(model.bytes)),
        (false, false) => format!(
            "removed {name}: its {} stay in {}, and deleting that folder frees them",
            size(model.bytes),
            model.folder.display()
        ),
    })?;
    Ok(DONE)
}

/// Checks that a model's folder contains nothing but the model: only the folders of downloads do.
fn check_deletable(model: &RegisteredModel, all: &[RegisteredModel]) -> anyhow::Result<()> {
    let name = &model.name;
    let folder = model.folder.canonicalize()?;
    let shares = |other: &&RegisteredModel| {
        let is_within = other.folder.starts_with(&folder) || folder.starts_with(&other.folder);
        other.name != *name && is_within
    };
    if let Some(other) = all.iter().find(shares) {
        bail!(
            "the model {} uses it too; without --files, {name} is removed and the folder kept",
            other.name
        );
    }
    let downloads = downloads().and_then(|downloads| downloads.canonicalize().ok());
    if !downloads.is_some_and(|downloads| folder != downloads && folder.starts_with(downloads)) {
        bail!(
            "it was not downloaded into STRUCTGEN_HOME, and may contain other files; remove {name} without --files, \
             and delete the folder yourself"
        );
    }
    // Never delete a folder that is no longer a model's.
    ModelFolder::open(&folder, None)?;
    Ok(())
}

pub(super) fn best(capability: &str, times: u64, json: bool) -> anyhow::Result<ExitCode> {
    let model = registry()?.best(capability, times)?;
    write_line(&match json {
        true => serde_json::to_string(&model)?,
        false => model.name,
    })?;
    Ok(DONE)
}

pub(super) fn usage(json: bool) -> anyhow::Result<ExitCode> {
    let usage = registry()?.usage()?;
    if json {
        write_line(&serde_json::to_string(&usage)?)?;
        return Ok(DONE);
    }
    for model in &usage {
        let share = format!("{:.0}%", model.share * 100.0);
        write_line(&format!(
            "{:<20}  {:>8}  {share:>4}",
            model.name, model.uses
        ))?;
    }
    if usage.is_empty() {
        write_line("no model was asked for yet")?;
    }
    Ok(DONE)
}

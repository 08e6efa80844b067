//! `structgen model add hf:ORG/NAME`: downloads a model folder from the Hugging Face hub.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use structgen_hub::{
    Downloaded, Hub, HubError, RemoteFile, Repository, RepositoryName, Variant, variants,
};
use structgen_registry::RegisteredModel;

use super::list::{line, register, size};
use super::{AddArgs, SourceArgs};
use crate::error::DONE;
use crate::interrupt;
use crate::models::{downloads, registry};
use crate::output::{detail, note, shows_progress, write_line};

/// The maximum number of variants to list. Real repositories have a dozen.
const SHOWN_VARIANTS: usize = 50;

/// The hub, unless `HF_ENDPOINT` names another.
const HUB: &str = "https://huggingface.co";

pub(super) fn add(repository: &str, args: &AddArgs, json: bool) -> anyhow::Result<ExitCode> {
    let name: RepositoryName = repository.parse()?;
    if let Some(name) = &args.name {
        RegisteredModel::check_name(name)?;
    }
    let hub = hub()?;
    let revision = args.source.revision.as_deref().unwrap_or("main");
    let repository = hub.repository(&name, revision).map_err(|error| {
        let is_offline = matches!(error, HubError::Unreachable { .. });
        let error = anyhow::Error::from(error);
        match is_offline {
            true => error.context(
                "nothing was downloaded; a model folder that is on this machine is added by its path",
            ),
            false => error,
        }
    })?;
    let variant = chosen(&repository, args.source.variant.as_deref())?;
    let model_name = match &args.name {
        Some(name) => name.clone(),
        None => default_name(&name, &variant),
    };
    RegisteredModel::check_name(&model_name).context("choose a name with --name")?;
    let Target { folder, known } = target(&args.source, &name, &variant, &model_name)?;

    let license = repository.license.as_deref();
    let (files, bytes) = (variant.files(), variant.bytes());
    note(&format!(
        "{name}, {}: {} in {} files, licence {}",
        variant.name,
        size(bytes),
        files.len(),
        described_license(&repository, &hub),
    ));
    interrupt::end_at_once();
    download(&hub, &repository, &files, bytes, &folder)?;
    let model = match known {
        Some(model) => add_capabilities(model, &args.capability)?,
        None => register(&folder, Some(&model_name), &args.capability)?,
    };
    write_line(&match json {
        true => {
            let mut object = serde_json::to_value(&model)?;
            object["source"] = json!({
                "repository": name.to_string(),
                "commit": repository.commit,
                "variant": variant.name,
                "license": license,
            });
            object.to_string()
        }
        false => format!("added {}", line(&model)),
    })?;
    Ok(DONE)
}

/// The hub as configured by `HF_ENDPOINT`, `HF_TOKEN`, and `HF_HUB_OFFLINE`, which forbids downloads.
fn hub() -> anyhow::Result<Hub> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let is_offline =
        |value: String| !matches!(&*value.to_ascii_lowercase(), "0" | "false" | "no" | "off");
    if set("HF_HUB_OFFLINE").is_some_and(is_offline) {
        bail!(
            "HF_HUB_OFFLINE is set, so nothing is downloaded; a model folder that is on this machine is added by its path"
        );
    }
    let endpoint = set("HF_ENDPOINT");
    Ok(Hub::new(
        endpoint.as_deref().unwrap_or(HUB),
        set("HF_TOKEN").as_deref(),
    )?)
}

/// Returns the requested variant, or the only one.
fn chosen<'r>(repository: &'r Repository, wanted: Option<&str>) -> anyhow::Result<Variant<'r>> {
    let name = &repository.name;
    let mut found = variants(&repository.files);
    if found.is_empty() {
        bail!(
            "{name} has no ONNX model: none of its {} files is a model.onnx, a decoder_model_merged.onnx or a \
             genai_config.json; look for a repository with one (many are in onnx-community), or export it: \
             structgen model convert-help {name}",
            repository.files.len(),
        );
    }
    match wanted {
        Some(wanted) => match found.iter().position(|variant| variant.name == wanted) {
            Some(at) => Ok(found.swap_remove(at)),
            None => bail!(
                "{name} has no variant {wanted:?}; it has {}",
                listed(&found)
            ),
        },
        None if found.len() == 1 => Ok(found.swap_remove(0)),
        None => bail!(
            "{name} has several models, choose one with --variant: {}",
            listed(&found)
        ),
    }
}

/// Formats the names and sizes of variants, up to a number of them.
fn listed(found: &[Variant<'_>]) -> String {
    let (shown, others) = found.split_at(found.len().min(SHOWN_VARIANTS));
    let mut listed: Vec<String> = { shown.iter() }
        .map(|variant| format!("{} ({})", variant.name, size(variant.bytes())))
        .collect();
    if !others.is_empty() {
        listed.push(format!("and {} more", others.len()));
    }
    listed.join(", ")
}

/// Returns the repository's own name, with the variant's if it has one.
fn default_name(name: &RepositoryName, variant: &Variant<'_>) -> String {
    match variant.is_plain() {
        true => name.name().to_owned(),
        false => format!("{}:{}", name.name(), variant.name.replace('/', "-")),
    }
}

/// Where to download to, and the model that is registered for it.
struct Target {
    folder: PathBuf,
    known: Option<RegisteredModel>,
}

/// Returns the folder of `--to` or the default one, and the registered model of this name, if it has this folder.
///
/// # Errors
/// If another model has the name or the folder; this is known before anything is downloaded.
fn target(
    args: &SourceArgs,
    repository: &RepositoryName,
    variant: &Variant<'_>,
    name: &str,
) -> anyhow::Result<Target> {
    let known = registry()?.find(name)?;
    let is_known =
        |folder: &Path| { known.as_ref() }.is_some_and(|known| is_folder_of(known, folder));
    let folder = match &args.to {
        Some(folder) => folder.clone(),
        None => {
            let [own, earlier] = default_folders(repository, variant)?;
            match is_known(&earlier) {
                true => earlier,
                false => own,
            }
        }
    };
    match &known {
        Some(model) if !is_known(&folder) => bail!(
            "there is a model {name} already, in {}; give another name with --name",
            model.folder.display()
        ),
        Some(_) => {}
        None => check_is_no_variants(&folder)?,
    }
    Ok(Target { folder, known })
}

/// Returns the default folder, and that of earlier versions.
fn default_folders(name: &RepositoryName, variant: &Variant<'_>) -> anyhow::Result<[PathBuf; 2]> {
    let downloads = downloads().ok_or_else(|| {
        anyhow!("there is no folder for models: set STRUCTGEN_HOME or HOME, or give one with --to")
    })?;
    let models = downloads.join(name.owner());
    let variant = { !variant.is_plain() }.then_some(&*variant.name);
    Ok(folder_names(name.name(), variant).map(|folder| models.join(folder)))
}

fn folder_names(repository: &str, variant: Option<&str>) -> [String; 2] {
    let Some(variant) = variant else {
        return [repository, repository].map(str::to_owned);
    };
    // No repository has @ in its name, so every variant has a folder of its own.
    let own = variant.replace('%', "%25").replace('/', "%2F");
    let earlier = variant.replace('/', "-");
    [
        format!("{repository}@{own}"),
        format!("{repository}-{earlier}"),
    ]
}

/// Returns an error for a folder in which an earlier version put a variant of another repository: `ORG/NAME-VARIANT`,
/// registered as `NAME:VARIANT`.
fn check_is_no_variants(folder: &Path) -> anyhow::Result<()> {
    let own = folder.file_name().and_then(|name| name.to_str());
    for model in registry()?.list()? {
        let is_variant = { model.name.split_once(':') }
            .is_some_and(|(name, variant)| own == Some(&format!("{name}-{variant}")));
        if is_variant && is_folder_of(&model, folder) {
            bail!(
                "{} is the folder of the model {}; give another one with --to",
                folder.display(),
                model.name
            );
        }
    }
    Ok(())
}

fn is_folder_of(model: &RegisteredModel, folder: &Path) -> bool {
    { folder.canonicalize() }.is_ok_and(|folder| folder == model.folder)
}

/// Adds capabilities to a registered model.
fn add_capabilities(
    model: RegisteredModel,
    capabilities: &[String],
) -> anyhow::Result<RegisteredModel> {
    if { capabilities.iter() }.all(|capability| model.capabilities.contains(capability)) {
        return Ok(model);
    }
    Ok(registry()?.add_capabilities(&model.name, capabilities)?)
}

fn described_license(repository: &Repository, hub: &Hub) -> String {
    match (&repository.license, &repository.license_link) {
        (Some(license), Some(link)) => format!("{} ({})", shown(license), shown(link)),
        (Some(license), None) => shown(license),
        (None, _) => format!("not named, see {}/{}", hub.endpoint(), repository.name),
    }
}

/// Returns the start of a text from a repository without control characters, which a terminal would obey.
fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    text.chars()
        .take(LONGEST)
        .map(|c| match c.is_control() {
            true => char::REPLACEMENT_CHARACTER,
            false => c,
        })
        .collect()
}

fn download(
    hub: &Hub,
    repository: &Repository,
    files: &[(&RemoteFile, &str)],
    bytes: u64,
    folder: &Path,
) -> anyhow::Result<()> {
    let bar = match shows_progress() {
        true => ProgressBar::new(bytes),
        false => ProgressBar::hidden(),
    };
    let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let mut done = 0;
    for &(file, path) in files {
        bar.set_message(path.to_owned());
        let target = folder.join(path);
        let downloaded = hub
            .download(repository, file, &target, |bytes| {
                bar.set_position(done + bytes)
            })
            .with_context(|| "the model was not added; the same command continues the download")?;
        done += file.size;
        let what = match downloaded {
            Downloaded::Already => "is there".to_owned(),
            Downloaded::Whole => "downloaded".to_owned(),
            Downloaded::Rest { from } => format!("downloaded from byte {from} on"),
        };
        bar.suspend(|| detail(&format!("{path}: {what}, {} verified", file.checksum)));
    }
    bar.finish_and_clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_variants_share_a_folder() {
        let folder = |repository, variant| folder_names(repository, variant)[0].clone();
        assert_eq!(folder("phi-q4", None), "phi-q4");
        assert_eq!(folder("phi", Some("q4")), "phi@q4");
        assert_eq!(folder("phi", Some("a-b")), "phi@a-b");
        assert_eq!(folder("phi", Some("a/b")), "phi@a%2Fb");
        assert_eq!(folder("phi", Some("a%2Fb")), "phi@a%252Fb");
    }
}

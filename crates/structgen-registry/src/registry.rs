//! The registry.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::{RegisteredModel, RegistryError, Usage, file};

/// The models on a machine, stored in a file.
///
/// ```
/// use structgen_registry::{RegisteredModel, Registry};
///
/// let dir = tempfile::tempdir()?;
/// let registry = Registry::in_folder(dir.path());
/// let phi = RegisteredModel::new("phi3:3.8b", "/models/phi3", 2_200_000_000);
/// let llama = RegisteredModel::new("llama3.1:8b", "/models/llama3.1", 4_500_000_000);
/// registry.add(phi.with_capabilities(["chat"]))?;
/// registry.add(llama.with_capabilities(["chat", "reasoning"]))?;
/// assert_eq!(registry.best("chat", 1)?.name, "phi3:3.8b");
/// assert_eq!(registry.best("reasoning", 1)?.name, "llama3.1:8b");
/// assert_eq!(registry.remove("phi3:3.8b")?.bytes, 2_200_000_000);
/// assert_eq!(registry.list()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    folder: PathBuf,
}

impl Registry {
    /// Opens the registry in a folder, which need not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the path of the file with the models.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join("models.json")
    }

    /// Returns all models, sorted by name.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn list(&self) -> Result<Vec<RegisteredModel>, RegistryError> {
        file::read(&self.path())
    }

    /// Returns the model with a name, if there is one.
    ///
    /// # Errors
    /// As for [`Registry::list`].
    pub fn find(&self, name: &str) -> Result<Option<RegisteredModel>, RegistryError> {
        Ok(self.list()?.into_iter().find(|model| model.name == name))
    }

    /// Returns the model with a name.
    ///
    /// # Errors
    /// As for [`Registry::list`], and if no model has the name.
    pub fn get(&self, name: &str) -> Result<RegisteredModel, RegistryError> {
        let models = self.list()?;
        match models.iter().find(|model| model.name == name) {
            Some(model) => Ok(model.clone()),
            None => Err(unknown(name, &models)),
        }
    }

    /// Adds a model.
    ///
    /// # Errors
    /// If its name is in use or invalid, or the file is damaged or cannot be written.
    pub fn add(&self, model: RegisteredModel) -> Result<(), RegistryError> {
        RegisteredModel::check_name(&model.name)?;
        self.change(|models| {
            if let Some(known) = models.iter().find(|known| known.name == model.name) {
                return Err(RegistryError::Taken {
                    name: known.name.clone(),
                    folder: known.folder.clone(),
                });
            }
            models.push(model);
            Ok(())
        })
    }

    /// Removes a model and returns it. Its folder is kept.
    ///
    /// # Errors
    /// If there is no such model, or the file is damaged or cannot be written.
    pub fn remove(&self, name: &str) -> Result<RegisteredModel, RegistryError> {
        self.change(
            |models| match models.iter().position(|model| model.name == name) {
                Some(index) => Ok(models.remove(index)),
                None => Err(unknown(name, models)),
            },
        )
    }

    /// Returns the smallest model with a capability; among equals, the first by name. Adds `times` to its number of
    /// requests.
    ///
    /// # Errors
    /// If no model has the capability, or the file is damaged or cannot be written.
    pub fn best(&self, capability: &str, times: u64) -> Result<RegisteredModel, RegistryError> {
        let choose = |models: &mut Vec<RegisteredModel>| {
            let able = models.iter_mut();
            let able = able.filter(|model| model.capabilities.contains(capability));
            match able.min_by(|a, b| (a.bytes, &a.name).cmp(&(b.bytes, &b.name))) {
                Some(model) => {
                    model.uses = model.uses.saturating_add(times);
                    Ok(model.clone())
                }
                None => Err(no_capability(capability, models)),
            }
        };
        match times {
            0 => choose(&mut self.list()?),
            _ => self.change(choose),
        }
    }

    /// Counts that a model was requested by its name.
    ///
    /// # Errors
    /// As for [`Registry::remove`].
    pub fn count_use(&self, name: &str) -> Result<(), RegistryError> {
        self.update(name, |model| model.uses = model.uses.saturating_add(1))?;
        Ok(())
    }

    /// Adds capabilities to a model, and returns it.
    ///
    /// # Errors
    /// As for [`Registry::remove`].
    pub fn add_capabilities(
        &self,
        name: &str,
        capabilities: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<RegisteredModel, RegistryError> {
        let capabilities = capabilities.into_iter().map(Into::into);
        self.update(name, |model| model.capabilities.extend(capabilities))
    }

    /// Returns how often each model was requested, most often first; models that never were are omitted.
    ///
    /// # Errors
    /// As for [`Registry::list`].
    pub fn usage(&self) -> Result<Vec<Usage>, RegistryError> {
        let models = self.list()?;
        let uses = models.iter().map(|model| model.uses);
        let all = uses.fold(0, u64::saturating_add);
        let mut usage: Vec<Usage> = { models.into_iter() }
            .filter(|model| model.uses > 0)
            .map(|model| Usage {
                share: model.uses as f64 / all as f64,
                name: model.name,
                uses: model.uses,
            })
            .collect();
        usage.sort_by(|a, b| b.uses.cmp(&a.uses).then_with(|| a.name.cmp(&b.name)));
        Ok(usage)
    }

    /// Changes one model, and returns it.
    fn update(
        &self,
        name: &str,
        update: impl FnOnce(&mut RegisteredModel),
    ) -> Result<RegisteredModel, RegistryError> {
        self.change(
            |models| match models.iter().position(|model| model.name == name) {
                Some(index) => {
                    update(&mut models[index]);
                    Ok(models[index].clone())
                }
                None => Err(unknown(name, models)),
            },
        )
    }

    /// Reads, changes and writes the models under the lock.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<RegisteredModel>) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        fs::create_dir_all(&self.folder).map_err(|source| RegistryError::Io {
            path: self.folder.clone(),
            source,
        })?;
        // A separate lock file: the file of models is replaced, so a lock on the old one would protect nothing.
        let _lock = file::lock(&self.folder.join("models.lock"))?;
        let path = self.path();
        let mut models = file::read(&path)?;
        let done = change(&mut models)?;
        file::write(&path, &models)?;
        Ok(done)
    }
}

fn unknown(name: &str, models: &[RegisteredModel]) -> RegistryError {
    RegistryError::Unknown {
        name: name.to_owned(),
        known: models.iter().map(|model| model.name.clone()).collect(),
    }
}

fn no_capability(capability: &str, models: &[RegisteredModel]) -> RegistryError {
    let known: BTreeSet<&String> = models
        .iter()
        .flat_map(|model| &model.capabilities)
        .collect();
    RegistryError::NoCapability {
        capability: capability.to_owned(),
        known: known.into_iter().cloned().collect(),
    }
}

//! The model shared by all functions of a process, with a limit on the rows in progress.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use structgen::Model;

use crate::{Error, Result};

type Load = dyn Fn() -> structgen::Result<Model> + Send + Sync;

/// A model that is loaded when the first row needs it: planning a query, or only checking texts, does not.
pub(crate) struct SharedModel {
    id: String,
    /// `None` if rows are not computed in this process.
    load: Option<Box<Load>>,
    loaded: OnceLock<Result<LoadedModel, Arc<structgen::Error>>>,
}

/// A model, and how many rows may be in progress on it.
pub(crate) struct LoadedModel {
    pub(crate) model: Model,
    rows: Permits,
}

/// Counts of the rows so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    rows: AtomicU64,
    errors: AtomicU64,
}

impl SharedModel {
    pub(crate) fn new(
        id: String,
        load: impl Fn() -> structgen::Result<Model> + Send + Sync + 'static,
    ) -> Self {
        Self {
            id,
            load: Some(Box::new(load)),
            loaded: OnceLock::new(),
        }
    }

    pub(crate) fn absent() -> Self {
        Self {
            id: "none".to_owned(),
            load: None,
            loaded: OnceLock::new(),
        }
    }

    /// Returns the model, loaded if necessary, if it is the wanted one.
    pub(crate) fn get(&self, wanted: &str) -> Result<&LoadedModel> {
        let load = self.load.as_ref().filter(|_| self.id == wanted);
        let load = load.ok_or_else(|| Error::OtherModel {
            wanted: wanted.to_owned(),
            present: self.id.clone(),
        })?;
        let loaded = self.loaded.get_or_init(|| {
            let model = load().map_err(Arc::new)?;
            let rows = Permits::new(model.engine().capacity());
            Ok(LoadedModel { model, rows })
        });
        loaded
            .as_ref()
            .map_err(|error| Error::Model(Arc::clone(error)))
    }
}

impl fmt::Debug for SharedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedModel")
            .field("is_loaded", &self.loaded.get().is_some())
            .finish()
    }
}

impl LoadedModel {
    /// Submits work for each row, several in parallel, and returns the results in the order of the rows.
    ///
    /// However many callers there are, only as many rows are in progress as keep the model busy. The oldest row of each
    /// caller always has a permit, so callers never wait for each other.
    pub(crate) fn for_each_row<I, W, T>(
        &self,
        rows: I,
        mut submit: impl FnMut(I::Item) -> W,
        mut wait: impl FnMut(W) -> T,
    ) -> Vec<T>
    where
        I: ExactSizeIterator,
    {
        let mut done = Vec::with_capacity(rows.len());
        let mut pending = VecDeque::new();
        for row in rows {
            let permit = loop {
                if let Some(permit) = self.rows.take_free() {
                    break permit;
                }
                match pending.pop_front() {
                    Some((permit, oldest)) => {
                        done.push(wait(oldest));
                        drop::<Permit<'_>>(permit);
                    }
                    None => break self.rows.take(),
                }
            };
            pending.push_back((permit, submit(row)));
        }
        done.extend(pending.into_iter().map(|(_permit, row)| wait(row)));
        done
    }
}

impl Counters {
    pub(crate) fn add(&self, rows: usize, errors: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.errors.fetch_add(errors as u64, Ordering::Relaxed);
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }
}

/// A bounded number of permits.
struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit, until it is dropped.
struct Permit<'p>(&'p Permits);

impl Permits {
    fn new(free: usize) -> Self {
        Self {
            free: Mutex::new(free.max(1)),
            returned: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_free(&self) -> Option<Permit<'_>> {
        let mut free = self.lock();
        *free = free.checked_sub(1)?;
        Some(Permit(self))
    }

    fn take(&self) -> Permit<'_> {
        let mut free = { self.returned.wait_while(self.lock(), |free| *free == 0) }
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.returned.notify_one();
    }
}

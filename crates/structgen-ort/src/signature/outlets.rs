//! Inputs or outputs of graphs, looked up by name.

use std::collections::HashMap;

use ort::value::Outlet;

use crate::LoadError;

/// The inputs or the outputs of several graphs. The first of a name counts.
///
/// A file may have any number of them under any names, so they are looked up by hashes with a random key.
#[derive(Debug)]
pub(super) struct Outlets<'o> {
    kind: &'static str,
    pub(super) all: Vec<&'o Outlet>,
    by_name: HashMap<&'o str, &'o Outlet>,
}

impl<'o> Outlets<'o> {
    pub(super) fn inputs(all: impl Iterator<Item = &'o Outlet>) -> Self {
        Self::new("input", all.collect())
    }

    pub(super) fn outputs(all: impl Iterator<Item = &'o Outlet>) -> Self {
        Self::new("output", all.collect())
    }

    fn new(kind: &'static str, all: Vec<&'o Outlet>) -> Self {
        let by_name = all.iter().rev().map(|&outlet| (outlet.name(), outlet));
        Self {
            kind,
            by_name: by_name.collect(),
            all,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'o Outlet> {
        self.by_name.get(name).copied()
    }

    pub(super) fn named(&self, name: &str) -> Result<&'o Outlet, LoadError> {
        { self.get(name) }.ok_or_else(|| missing(self.kind, name, self.all.iter().copied()))
    }
}

pub(super) fn missing<'o>(
    kind: &'static str,
    name: &str,
    present: impl Iterator<Item = &'o Outlet>,
) -> LoadError {
    LoadError::Missing {
        kind,
        name: name.into(),
        present: all_names(present),
    }
}

pub(super) fn all_names<'o>(outlets: impl Iterator<Item = &'o Outlet>) -> Vec<String> {
    outlets.map(|outlet| outlet.name().to_owned()).collect()
}

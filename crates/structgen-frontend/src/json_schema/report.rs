//! What became of each keyword.

use std::fmt;

/// What became of each keyword of a schema that the compilation reached, in the order in which it was reached.
///
/// What lies in definitions that nothing refers to has no effect and does not appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileReport {
    /// The entries; a keyword that is enforced and narrowed has two.
    pub entries: Vec<ReportEntry>,
}

/// What became of one keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportEntry {
    /// The JSON Pointer of the keyword, as `#/properties/a/minLength`.
    pub pointer: String,
    /// What became of it.
    pub effect: Effect,
}

/// What became of a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It holds in everything that is generated.
    Enforced,
    /// It asserts nothing; the note says why, where that is not plain.
    Annotation {
        /// Why it asserts nothing, or empty.
        note: &'static str,
    },
    /// The profile allows less than the schema does.
    Narrowed {
        /// What is left out.
        how: &'static str,
    },
    /// It is not enforced although it asserts something: leniency was asked for.
    Dropped {
        /// Why it could not be enforced.
        reason: String,
    },
}

impl CompileReport {
    /// The keywords that were dropped because leniency was asked for.
    pub fn dropped(&self) -> impl Iterator<Item = &ReportEntry> {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.effect, Effect::Dropped { .. }))
    }

    /// What the profile left out.
    pub fn narrowed(&self) -> impl Iterator<Item = &ReportEntry> {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.effect, Effect::Narrowed { .. }))
    }

    pub(crate) fn add(&mut self, pointer: String, effect: Effect) {
        self.entries.push(ReportEntry { pointer, effect });
    }
}

impl fmt::Display for CompileReport {
    /// One line per entry: the pointer and what became of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(f, "{}: {}", entry.pointer, entry.effect)?;
        }
        Ok(())
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enforced => f.write_str("enforced"),
            Self::Annotation { note: "" } => f.write_str("annotation"),
            Self::Annotation { note } => write!(f, "annotation ({note})"),
            Self::Narrowed { how } => write!(f, "narrowed: {how}"),
            Self::Dropped { reason } => write!(f, "dropped: {reason}"),
        }
    }
}

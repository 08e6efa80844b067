//! What became of each keyword.

use std::fmt;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::Profile;

/// What became of each keyword of a schema that the compilation reached, in the order in which it was reached.
///
/// What lies in definitions that nothing refers to has no effect and does not appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileReport {
    /// The entries; a keyword that is enforced and narrowed has two.
    pub entries: Vec<ReportEntry>,
    /// The profile that the schema was compiled for.
    pub profile: Profile,
    /// How large it came out, and how much of each limit that took.
    pub usage: Vec<Usage>,
}

/// How much there is of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// What was counted, a plural.
    pub what: &'static str,
    /// How many there are.
    pub used: u64,
    /// How many there may be.
    pub limit: Option<u64>,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

    /// The report as JSON: `{"profile", "keywords": [{"pointer", "effect", "note"?}, …], "usage": [{"what", "used", "limit"?}, …]}`, where the
    /// effect is `enforced`, `annotation`, `narrowed` or `dropped`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let keyword = |entry: &ReportEntry| {
            let mut object = json!({"pointer": entry.pointer, "effect": entry.effect.name()});
            if !entry.effect.note().is_empty() {
                object["note"] = entry.effect.note().into();
            }
            object
        };
        let usage = |usage: &Usage| {
            let mut object = json!({"what": usage.what, "used": usage.used});
            if let Some(limit) = usage.limit {
                object["limit"] = limit.into();
            }
            object
        };
        json!({
            "profile": self.profile.name(),
            "keywords": self.entries.iter().map(keyword).collect::<Vec<_>>(),
            "usage": self.usage.iter().map(usage).collect::<Vec<_>>(),
        })
    }

    /// Makes one entry of several about one place, which may be several schemas; what is dropped in one of them is not enforced.
    pub(crate) fn unite(&mut self) {
        let mut seen = FxHashSet::default();
        self.entries
            .retain(|entry| seen.insert((entry.pointer.clone(), entry.effect.clone())));
        let dropped: FxHashSet<String> =
            self.dropped().map(|entry| entry.pointer.clone()).collect();
        self.entries
            .retain(|entry| entry.effect != Effect::Enforced || !dropped.contains(&entry.pointer));
    }

    pub(crate) fn add(&mut self, pointer: String, effect: Effect) {
        self.entries.push(ReportEntry { pointer, effect });
    }
}

impl Effect {
    /// The effect in one word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Annotation { .. } => "annotation",
            Self::Narrowed { .. } => "narrowed",
            Self::Dropped { .. } => "dropped",
        }
    }

    /// The reason, or what is left out; empty where there is nothing to say.
    #[must_use]
    pub fn note(&self) -> &str {
        match self {
            Self::Enforced => "",
            Self::Annotation { note } => note,
            Self::Narrowed { how } => how,
            Self::Dropped { reason } => reason,
        }
    }
}

impl fmt::Display for CompileReport {
    /// One line per entry, the pointer and what became of it, then one for each size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(f, "{}: {}", entry.pointer, entry.effect)?;
        }
        for usage in &self.usage {
            writeln!(f, "{usage}")?;
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

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, used, limit } = self;
        match limit {
            Some(limit) => write!(f, "{what}: {used} of at most {limit}"),
            None => write!(f, "{what}: {used}"),
        }
    }
}

//! What became of each keyword.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use structgen_grammar::keyed::KeyedSet;

use super::pointer::pointer_below;
use super::{KeyOrder, Profile, SchemaWarning};

/// What became of each keyword of a schema that the compilation reached, in the order in which it was reached.
///
/// Definitions that nothing refers to have no effect and do not appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileReport {
    /// The entries; a keyword that is both enforced and narrowed has two.
    pub entries: Vec<ReportEntry>,
    /// Probable mistakes, in the order in which they were reached: at most a hundred.
    pub warnings: Vec<SchemaWarning>,
    /// The profile that the schema was compiled for.
    pub profile: Profile,
    /// The order in which the keys of objects are written.
    pub key_order: KeyOrder,
    /// The size of the result, and the use of each limit.
    pub usage: Vec<Usage>,
}

/// An amount, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// What was counted, as a plural.
    pub what: &'static str,
    /// The number.
    pub used: u64,
    /// The limit, if there is one.
    pub limit: Option<u64>,
}

/// What became of one keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportEntry {
    /// The JSON Pointer of the schema, as `#/properties/a`.
    pub schema: Arc<str>,
    /// The keyword, as `minLength`; empty for the schema itself.
    pub keyword: Cow<'static, str>,
    /// What became of it.
    pub effect: Effect,
}

impl ReportEntry {
    /// The JSON Pointer of the keyword, as `#/properties/a/minLength`.
    #[must_use]
    pub fn pointer(&self) -> String {
        pointer_below(&self.schema, &self.keyword)
    }
}

/// What became of a keyword.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It holds for all generated output.
    Enforced,
    /// It asserts nothing.
    Annotation {
        /// Why it asserts nothing; empty if that is obvious.
        note: &'static str,
    },
    /// The profile allows less than the schema.
    Narrowed {
        /// What is left out.
        how: &'static str,
    },
    /// It asserts something but is not enforced, because [`SchemaOptions::lenient`](super::SchemaOptions::lenient) is
    /// set.
    Dropped {
        /// Why it cannot be enforced.
        reason: String,
    },
}

impl CompileReport {
    /// The keywords that were dropped.
    pub fn dropped(&self) -> impl Iterator<Item = &ReportEntry> {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.effect, Effect::Dropped { .. }))
    }

    /// The keywords that the profile narrowed.
    pub fn narrowed(&self) -> impl Iterator<Item = &ReportEntry> {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.effect, Effect::Narrowed { .. }))
    }

    /// The report as JSON: `{"profile", "keywords": [{"pointer", "effect", "note"?}, …], "warnings": [text, …],
    /// "usage": [{"what", "used", "limit"?}, …]}`, where the effect is `enforced`, `annotation`, `narrowed` or
    /// `dropped`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let keyword = |entry: &ReportEntry| {
            let mut object = json!({"pointer": entry.pointer(), "effect": entry.effect.name()});
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
            "warnings": self.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "usage": self.usage.iter().map(usage).collect::<Vec<_>>(),
        })
    }

    /// Merges the entries of one pointer, which may be several schemas; what is dropped in one of them is not enforced.
    pub(crate) fn unite(&mut self) {
        let mut seen = KeyedSet::default();
        self.entries
            .retain(|entry| seen.insert((entry.pointer(), entry.effect.clone())));
        let dropped: KeyedSet<String> = self.dropped().map(ReportEntry::pointer).collect();
        self.entries.retain(|entry| {
            entry.effect != Effect::Enforced || !dropped.contains(&entry.pointer())
        });
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

    /// The reason, or what is left out; may be empty.
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
    /// One line per entry, with the pointer and the effect, then one line for each amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(f, "{}: {}", entry.pointer(), entry.effect)?;
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

//! Dialects: which keywords of a draft a schema uses. The `$vocabulary` of the metaschema that `$schema` names decides;
//! the caller may register that metaschema.

use super::Program;
use crate::json_schema::keywords::{self, Vocabulary};
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Draft, SchemaError};

/// A draft, without some of its vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaDialect {
    pub(crate) draft: Draft,
    /// A bit for each vocabulary that is not used, by its index in [`VOCABULARIES`].
    without: u8,
    /// Whether `format` asserts, if the dialect decides that.
    pub(crate) asserts_formats: Option<bool>,
}

impl SchemaDialect {
    /// A whole draft.
    pub(crate) fn of(draft: Draft) -> Self {
        Self {
            draft,
            without: 0,
            asserts_formats: None,
        }
    }

    /// Whether a keyword of the draft belongs to the dialect.
    pub(crate) fn uses(self, keyword: &str) -> bool {
        self.without == 0
            || vocabulary_of(keyword, self.draft).is_none_or(|bit| self.without & bit == 0)
    }

    fn with_vocabularies(draft: Draft, used: &[(&str, bool)]) -> Result<Self, String> {
        let mut dialect = Self::of(draft);
        for (index, name) in VOCABULARIES.iter().enumerate() {
            if !used.iter().any(|(uri, _)| known(uri, draft) == Some(*name)) {
                dialect.without |= 1 << index;
            }
        }
        let mut asserts_formats = false;
        for &(uri, is_required) in used {
            match known(uri, draft) {
                // 2019-09 has one vocabulary for formats; they assert if it is required.
                Some("format") => asserts_formats |= is_required,
                Some("format-assertion") => asserts_formats = true,
                None if is_required => return Err(uri.to_owned()),
                _ => {}
            }
        }
        dialect.asserts_formats = Some(asserts_formats);
        Ok(dialect)
    }
}

/// The vocabularies that a dialect can leave out, by their names in 2019-09 and 2020-12.
const VOCABULARIES: [&str; 3] = ["applicator", "unevaluated", "validation"];

/// The vocabularies whose keywords are always present or assert nothing, and those of `format`.
const OTHERS: [&str; 6] = [
    "core",
    "meta-data",
    "content",
    "format",
    "format-annotation",
    "format-assertion",
];

/// The name of a vocabulary of the draft.
fn known(uri: &str, draft: Draft) -> Option<&'static str> {
    let version = match draft {
        Draft::Draft2019 => "2019-09",
        Draft::Draft2020 => "2020-12",
        _ => return None,
    };
    let name = uri
        .strip_prefix("https://json-schema.org/draft/")?
        .strip_prefix(version)?
        .strip_prefix("/vocab/")?;
    let exists = match name {
        "format" => draft == Draft::Draft2019,
        "unevaluated" | "format-annotation" | "format-assertion" => draft == Draft::Draft2020,
        _ => true,
    };
    let mut names = VOCABULARIES.iter().chain(&OTHERS);
    names.find(|other| **other == name && exists).copied()
}

/// The bit of the vocabulary that a keyword belongs to.
fn vocabulary_of(keyword: &str, draft: Draft) -> Option<u8> {
    let name = match keywords::find(keyword)?.vocabulary {
        Vocabulary::Other => return None,
        Vocabulary::Unevaluated if draft == Draft::Draft2020 => "unevaluated",
        Vocabulary::Applicator | Vocabulary::Unevaluated => "applicator",
        Vocabulary::Validation => "validation",
    };
    let index = VOCABULARIES.iter().position(|other| *other == name)?;
    Some(1 << index)
}

/// The maximum length of a chain of metaschemas.
const MAX_METASCHEMAS: u32 = 8;

impl<'j> Program<'j> {
    /// The dialect named by the `$schema` at `pointer`; `None` if it is neither a draft's nor registered.
    pub(crate) fn dialect(
        &mut self,
        uri: &'j str,
        pointer: &dyn Fn(&Self) -> String,
    ) -> Result<Option<SchemaDialect>, SchemaError> {
        if let Some(known) = self.resources.dialects.get(uri) {
            return Ok(*known);
        }
        let dialect = self.read_dialect(uri, pointer, 0)?;
        self.resources.dialects.insert(uri, dialect);
        Ok(dialect)
    }

    fn read_dialect(
        &mut self,
        uri: &str,
        pointer: &dyn Fn(&Self) -> String,
        depth: u32,
    ) -> Result<Option<SchemaDialect>, SchemaError> {
        if let Some(draft) = Draft::of_metaschema(uri) {
            return Ok(Some(SchemaDialect::of(draft)));
        }
        let Some(metaschema) = self.resources.registered(uri)? else {
            return Ok(None);
        };
        // A metaschema that names itself or nothing is described by its vocabularies alone.
        let outer = match metaschema.get("$schema") {
            Some(Json::String(outer)) if depth < MAX_METASCHEMAS && outer != uri => {
                self.read_dialect(outer, pointer, depth + 1)?
            }
            _ => None,
        };
        let outer = outer.unwrap_or_else(|| SchemaDialect::of(self.resources.default_draft));
        match metaschema.get("$vocabulary") {
            Some(Json::Object(entries)) if outer.draft >= Draft::Draft2019 => {
                let is_required = |value: &Json<'_>| matches!(value, Json::Bool(true));
                let used: Vec<(&str, bool)> = entries
                    .iter()
                    .map(|(uri, value)| (uri.as_ref(), is_required(value)))
                    .collect();
                let dialect = SchemaDialect::with_vocabularies(outer.draft, &used);
                dialect
                    .map(Some)
                    .map_err(|vocabulary| SchemaError::UnknownVocabulary {
                        vocabulary,
                        metaschema: uri.to_owned(),
                        pointer: pointer(self),
                    })
            }
            _ => Ok(Some(outer)),
        }
    }
}

//! Structural tags: XGrammar's notation for texts that are free in some places and structured in others.

mod contents;
mod error;
mod free_text;
mod lower;
mod node;
mod value;

use std::sync::Arc;

pub use error::StructuralTagError;

use serde_json::Value;
use structgen_frontend::json_schema::{CompileReport, SchemaOptions};
use structgen_grammar::Grammar;
use structgen_vocab::Vocabulary;

use self::value::TagValue;
use crate::lower::{MarkerRules, for_vocabulary};

/// A text that is free in some places and has a given structure in others, as described by [XGrammar's structural
/// tags](https://xgrammar.mlc.ai/docs/tutorials/structural_tag.html). Cheap to clone.
///
/// A *format* is an object with a `type`:
///
/// | type | a text |
/// |---|---|
/// | `const_string` | `value` itself |
/// | `json_schema` | JSON that fits `json_schema`; with `any_order`, its keys in any order |
/// | `regex`, `grammar` | that `pattern` (ECMA-262, the whole text) or `grammar` (GBNF) matches |
/// | `any_text` | any, without the `excludes`, of at most `max_chars` characters and `max_tokens` tokens |
/// | `sequence`, `or` | the `elements` one after another, or one of them |
/// | `optional`, `star`, `plus`, `repeat` | the `content`, `min` to `max` times |
/// | `tag` | `begin`, `content`, `end` (one text, several of which one comes, or a token) |
/// | `triggered_tags` | free text in which, after one of the `triggers`, one of the `tags` must follow |
/// | `tags_with_separator` | only `tags`, with `separator` between them |
/// | `dispatch` | free text in which the format of a rule follows its pattern |
/// | `token`, `exclude_token` | one token, or any but one |
/// | `token_triggered_tags`, `token_dispatch` | as above, with tokens for triggers |
///
/// Free text ends at the first `end` of the tag around it. With `at_least_one`, triggered tags begin with a tag; with
/// `stop_after_first`, they end after one. Parts of the notation that are not enforced (XML styles of schemas, excluded
/// parts of JSON strings, `any_tokens`) are refused with their JSON Pointer.
///
/// If a `const_string`, `begin`, `end` or trigger is or contains the name of a special token of the vocabulary, that
/// part of it is the token ([`grammar_for`](StructuralTag::grammar_for)).
///
/// ```
/// use serde_json::json;
/// use structgen_frontend::json_schema::SchemaOptions;
/// use structgen_tools::StructuralTag;
///
/// let tag = StructuralTag::new(
///     &json!({
///         "type": "structural_tag",
///         "format": {
///             "type": "tag",
///             "begin": "<age>",
///             "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
///             "end": "</age>"
///         }
///     }),
///     &SchemaOptions::new(),
/// )?;
/// assert!(tag.grammar().to_string().starts_with("root ::= "));
/// # Ok::<(), structgen_tools::StructuralTagError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StructuralTag {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    grammar: Grammar,
    markers: MarkerRules,
    reports: Vec<(String, CompileReport)>,
}

impl StructuralTag {
    /// Compiles a structural tag: `{"type": "structural_tag", "format": …}`, or the older form with `structures` and
    /// `triggers`. Numbers in a [`Value`] that are not 64-bit integers are floats;
    /// [`from_json`](StructuralTag::from_json) reads those of schemas exactly as written.
    ///
    /// # Errors
    /// [`StructuralTagError`], with the JSON Pointer of the refused part; [`StructuralTagError::NotJson`] if it nests
    /// deeper than 127 levels, without those of its schemas, which have the same limit.
    pub fn new(tag: &Value, options: &SchemaOptions) -> Result<Self, StructuralTagError> {
        Self::from_json(&tag.to_string(), options)
    }

    /// Compiles a structural tag from its text, reading every number of a schema exactly as written. A key that comes
    /// twice in an object is an error.
    ///
    /// # Errors
    /// As [`new`](StructuralTag::new), and [`StructuralTagError::NotJson`].
    pub fn from_json(text: &str, options: &SchemaOptions) -> Result<Self, StructuralTagError> {
        let tag: TagValue<'_> =
            serde_json::from_str(text).map_err(|error| StructuralTagError::NotJson {
                line: error.line(),
                column: error.column(),
                reason: error.to_string(),
            })?;
        let lowered = lower::lower(&tag, options)?;
        Ok(Self {
            inner: Arc::new(Inner {
                grammar: lowered.grammar,
                markers: lowered.markers,
                reports: lowered.reports,
            }),
        })
    }

    /// The grammar over bytes, with every marker as text.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.inner.grammar
    }

    /// The grammar for a vocabulary: markers, or parts of them, that are special tokens must be those tokens;
    /// everything else is text.
    #[must_use]
    pub fn grammar_for(&self, vocabulary: &Vocabulary) -> Grammar {
        for_vocabulary(self.inner.grammar.clone(), &self.inner.markers, vocabulary)
    }

    /// What became of the keywords of each schema, by the JSON Pointer of the schema.
    pub fn reports(&self) -> impl Iterator<Item = (&str, &CompileReport)> {
        let reports = self.inner.reports.iter();
        reports.map(|(pointer, report)| (pointer.as_str(), report))
    }
}

//! JSON Schemas as terminals.

use pest::iterators::Pair;
use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{ExprId, GrammarBuilder, JsonForm};

use super::atoms::literal;
use super::files::{FileReader, resolve};
use super::syntax::Rule;
use super::{GbnfError, GbnfErrorKind, GbnfWarningKind};
use crate::json_schema::{PartOptions, SchemaError, SchemaOptions, compile_part_str};

/// The schemas of one grammar.
pub(super) struct Schemas {
    options: SchemaOptions,
    /// How all of them write JSON.
    form: Option<JsonForm>,
    /// Compiled schemas, so that each is compiled once.
    known: KeyedMap<SchemaOrigin, ExprId>,
    /// What was dropped from the current text, and what is most likely a mistake, by position.
    pub(super) warnings: Vec<(usize, GbnfWarningKind)>,
}

/// Where a schema comes from.
#[derive(Clone, PartialEq, Eq, Hash)]
enum SchemaOrigin {
    Text(String),
    File {
        path: String,
        /// A JSON Pointer into it.
        pointer: String,
    },
}

impl Schemas {
    pub(super) fn new(options: SchemaOptions) -> Self {
        Self {
            options,
            form: None,
            known: KeyedMap::default(),
            warnings: Vec::new(),
        }
    }

    /// The form with which to finish the grammar.
    pub(super) fn into_form(self) -> JsonForm {
        self.form.unwrap_or_else(JsonForm::generate)
    }

    /// The values of a schema: `%json {…}`, or `%json "file.json"` in the file `from`.
    pub(super) fn values(
        &mut self,
        text: &str,
        from: Option<&str>,
        token: Pair<'_, Rule>,
        files: &mut FileReader<'_>,
        builder: &mut GrammarBuilder,
    ) -> Result<ExprId, GbnfError> {
        let at = token.as_span().start();
        let (origin, start) = origin(text, from, token)?;
        if let Some(&known) = self.known.get(&origin) {
            return Ok(known);
        }
        let read;
        let (schema, pointer) = match &origin {
            SchemaOrigin::Text(schema) => (schema, ""),
            SchemaOrigin::File { path, pointer } => {
                read = files
                    .read(path)
                    .map_err(|error| GbnfError::of_file(text, start, error))?;
                (&read, pointer.as_str())
            }
        };
        let prefix = format!("json-{} ", self.known.len() + 1);
        let part = PartOptions {
            prefix: &prefix,
            ..PartOptions::default()
        };
        let made = compile_part_str(schema, pointer, &self.options, part, builder);
        let made = made.map_err(|error| refused(text, at, start, &origin, error))?;
        if *self.form.get_or_insert_with(|| made.form.clone()) != made.form {
            let kind = GbnfErrorKind::Range(
                "the schemas of one grammar write JSON in one way, and this one in another",
            );
            return Err(GbnfError::at(text, at, kind).with_hint(
                "`x-structgen` says the same about whitespace and escapes in all of them"
                    .to_owned(),
            ));
        }
        // The limits are those of all schemas together.
        let steps = made.report.usage.iter().find(|usage| usage.limit.is_some());
        let steps = steps.map_or(0, |usage| usage.used);
        self.options.limits.max_steps = self.options.limits.max_steps.saturating_sub(steps);
        let dropped = made.report.dropped();
        let dropped = dropped.map(|entry| GbnfWarningKind::Dropped(entry.pointer()));
        let mistakes = made.report.warnings.iter();
        let mistakes = mistakes.map(|warning| GbnfWarningKind::Schema(warning.clone()));
        let warnings = dropped.chain(mistakes);
        self.warnings.extend(warnings.map(|kind| (at, kind)));
        self.known.insert(origin, made.root);
        Ok(made.root)
    }
}

/// The source of a schema, and its position.
fn origin(
    text: &str,
    from: Option<&str>,
    token: Pair<'_, Rule>,
) -> Result<(SchemaOrigin, usize), GbnfError> {
    let mut found = (SchemaOrigin::Text(String::new()), token.as_span().start());
    for part in token.into_inner() {
        let start = part.as_span().start();
        found = if part.as_rule() == Rule::schema {
            (SchemaOrigin::Text(part.as_str().to_owned()), start)
        } else {
            let written = literal(text, part)?;
            let (path, pointer) = written.split_once('#').unwrap_or((&written, ""));
            let path =
                resolve(from, path).map_err(|error| GbnfError::of_file(text, start, error))?;
            let pointer = pointer.to_owned();
            (SchemaOrigin::File { path, pointer }, start)
        };
    }
    Ok(found)
}

/// The error of a schema at `at`. A JSON error in the grammar's own text, which starts at `start`, gets its exact
/// position.
fn refused(
    text: &str,
    at: usize,
    start: usize,
    origin: &SchemaOrigin,
    error: SchemaError,
) -> GbnfError {
    match (error, origin) {
        (
            SchemaError::NotJson {
                line,
                column,
                reason,
            },
            SchemaOrigin::Text(schema),
        ) => {
            let place = start + place(schema, line, column);
            GbnfError::at(text, place, GbnfErrorKind::NotJson(reason))
        }
        (error, SchemaOrigin::Text(_)) => {
            let error = Box::new(error);
            GbnfError::at(text, at, GbnfErrorKind::Schema { path: None, error })
        }
        (error, SchemaOrigin::File { path, .. }) => {
            let (path, error) = (Some(path.clone()), Box::new(error));
            GbnfError::at(text, at, GbnfErrorKind::Schema { path, error })
        }
    }
}

/// The byte at a line and a column in bytes, both from one.
fn place(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let place = (before + column - 1).min(text.len());
    (0..=place)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

//! What an output or a text has to match: a schema, a regular expression or a grammar, for all commands; for those
//! about existing texts also tools and structural tags.

use std::path::PathBuf;

use anyhow::bail;
use structgen::explain::Explainer;
use structgen::{CancelToken, Checker, Constraint, Profile, SchemaOptions};

use crate::args::{
    GrammarSource, RegexArgs, SchemaFile, TimeoutArgs, read_grammar_source, read_schema,
};
use crate::schema_args::SchemaArgs;
use crate::tool_args::{ToolArgs, ToolsFile, read_structural_tag};

/// A schema, a regular expression or a grammar that outputs or texts have to match.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct ConstraintArgs {
    /// JSON Schema: a JSON or YAML file, - for standard input, or the schema itself
    #[arg(long, value_name = "FILE", group = "constraint")]
    pub(crate) schema: Option<PathBuf>,
    /// Regular expression for the whole text
    #[arg(
        long,
        value_name = "PATTERN",
        group = "constraint",
        allow_hyphen_values = true
    )]
    pub(crate) regex: Option<String>,
    /// GBNF grammar: a file, - for standard input, or the grammar itself
    #[arg(long, value_name = "FILE", group = "constraint")]
    pub(crate) grammar: Option<PathBuf>,
}

/// What a text is checked against.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) constraint: ConstraintArgs,
    /// Tools that may be called: a JSON array of {"name", "description", "parameters"}, or tools in the form of
    /// OpenAI's API
    #[arg(long, value_name = "FILE", group = "constraint")]
    tools: Option<PathBuf>,
    /// Text that is free in some places and constrained in others: an XGrammar structural tag
    #[arg(long, value_name = "FILE", group = "constraint")]
    structural_tag: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) regex_options: RegexArgs,
    #[command(flatten)]
    options: SchemaArgs,
    #[command(flatten)]
    calls: ToolArgs,
    #[command(flatten)]
    pub(crate) timeout: TimeoutArgs,
}

/// A constraint, and its source.
pub(crate) struct Given {
    pub(crate) constraint: Constraint,
    /// `None` for tools and structural tags.
    source: Option<Source>,
    token: Option<CancelToken>,
}

/// Where a constraint comes from.
pub(crate) enum Source {
    Schema(Box<(SchemaFile, SchemaOptions)>),
    Grammar(Box<GrammarSource>),
    Regex(String),
}

impl ConstraintArgs {
    /// Returns whether a constraint was given.
    pub(crate) fn is_given(&self) -> bool {
        self.schema.is_some() || self.regex.is_some() || self.grammar.is_some()
    }

    /// Compiles the constraint, if one was given; `at` is the schema's JSON Pointer in its file.
    pub(crate) fn read(
        &self,
        at: Option<&str>,
        options: &SchemaOptions,
        regex: &RegexArgs,
    ) -> anyhow::Result<Option<(Constraint, Source)>> {
        Ok(if let Some(path) = &self.schema {
            let (file, constraint) = read_schema(path, at, options)?;
            let source = Source::Schema(Box::new((file, options.clone())));
            Some((constraint, source))
        } else if let Some(path) = &self.grammar {
            let (source, constraint) = read_grammar_source(path, options.cancel.as_ref())?;
            Some((constraint, Source::Grammar(Box::new(source))))
        } else if let Some(pattern) = &self.regex {
            let source = Source::Regex(pattern.clone());
            Some((regex.read(pattern)?, source))
        } else {
            None
        })
    }
}

impl CheckArgs {
    /// Returns whether a constraint was given.
    pub(crate) fn is_given(&self) -> bool {
        self.constraint.is_given() || self.tools.is_some() || self.structural_tag.is_some()
    }

    /// Returns whether a schema was given.
    pub(crate) fn has_schema(&self) -> bool {
        self.constraint.schema.is_some()
    }

    /// Returns how to compile schemas: exactly, unless another profile was given.
    pub(crate) fn schema_options(&self) -> anyhow::Result<SchemaOptions> {
        if self.options.at.is_some() && !self.has_schema() {
            bail!("--at is for --schema, and there is none");
        }
        self.options.options(Some(Profile::Exact))
    }

    /// Compiles the constraint, with a deadline that starts now.
    pub(crate) fn read(&self) -> anyhow::Result<Given> {
        let mut options = self.schema_options()?;
        let token = self.timeout.token();
        options.cancel.clone_from(&token);
        let at = self.options.at.as_deref();
        let given = self.constraint.read(at, &options, &self.regex_options)?;
        let (constraint, source) = if let Some((constraint, source)) = given {
            (constraint, Some(source))
        } else if let Some(path) = &self.tools {
            let tools = self.calls.grammar(&ToolsFile::read(path)?, options)?;
            (Constraint::tools(&tools), None)
        } else if let Some(path) = &self.structural_tag {
            (read_structural_tag(path, &options)?.1, None)
        } else {
            bail!(
                "no constraint was given: name one with --schema, --regex, --grammar, --tools or --structural-tag"
            );
        };
        Ok(Given {
            constraint,
            source,
            token,
        })
    }
}

impl Given {
    /// Returns a checker of texts.
    pub(crate) fn checker(&self) -> anyhow::Result<Checker> {
        Ok(Checker::cancellable(&self.constraint, self.token.clone())?)
    }

    /// Returns an explainer of texts.
    pub(crate) fn explainer(&self) -> anyhow::Result<Explainer> {
        self.explainer_of(self.checker()?)
    }

    /// Returns an explainer of the texts that `checker` rejects.
    pub(crate) fn explainer_of(&self, checker: Checker) -> anyhow::Result<Explainer> {
        let explainer = Explainer::new(&self.constraint, checker);
        Ok(match &self.source {
            Some(Source::Schema(schema)) => {
                let (file, options) = &**schema;
                let pointer = file.at.as_deref().unwrap_or_default();
                let pointer = pointer.strip_prefix('#').unwrap_or(pointer);
                explainer.with_schema(&file.text, pointer, options)
            }
            Some(Source::Grammar(source)) => {
                explainer.with_grammar(&self.constraint, &source.text, &source.options)?
            }
            Some(Source::Regex(_)) | None => explainer,
        })
    }
}

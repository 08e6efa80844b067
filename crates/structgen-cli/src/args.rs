//! Options that several commands share.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use structgen::constraint::{TablesSource, VocabularyTables};
use structgen::frontend::gbnf::GbnfOptions;
use structgen::frontend::regex::{Dialect, RegexOptions};
use structgen::vocab::Vocabulary;
use structgen::{
    CancelToken, Constraint, GenerateOptions, Model, ModelOptions, SchemaExtractor, SchemaOptions,
};

use crate::input::{Document, files_beside, is_json_or_yaml};
use crate::model_settings::ModelSettings;
use crate::output::{detail, warn};
use crate::schema_hints::{self, warn_of};

/// Which model to use: a local one, or one of a server's.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Model folder, as written by optimum or onnxruntime-genai, or the name of a registered model [default: the
    /// embedded model]. --set model.device=cuda and others say how to run it
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Use a server, such as `structgen serve`, instead of a local model. --model then names one of the server's
    /// models, and the environment variable STRUCTGEN_API_KEY, or --set api_key, is the key
    #[arg(long, value_name = "URL", conflicts_with_all = ["events", "details"])]
    pub(crate) server: Option<String>,
}

/// Parses a flag's value as a whole number, 0 or more.
pub(crate) fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse()
        .map_err(|_| "it must be a whole number, 0 or more")
}

/// Parses a flag's value as a whole number, 1 or more.
pub(crate) fn at_least_one<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse()
        .map_err(|_| "it must be a whole number, 1 or more")
}

/// Maximum number of threads or sessions per core. More of them only take time and memory.
const MOST_PER_CORE: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// Checks a number of threads or sessions to run in parallel.
pub(crate) fn parallel(count: NonZeroUsize) -> Result<NonZeroUsize, String> {
    match thread::available_parallelism().map(|cores| cores.saturating_mul(MOST_PER_CORE)) {
        Ok(most) if count > most => Err(format!(
            "it must be at most {most}, {MOST_PER_CORE} times the number of cores"
        )),
        _ => Ok(count),
    }
}

/// A model, and how to load it.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct LoadArgs {
    /// Model folder, as written by optimum or onnxruntime-genai, or the name of a registered model [default: the
    /// embedded model]
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: ModelSettings,
}

impl LoadArgs {
    pub(crate) fn load(&self) -> anyhow::Result<Model> {
        self.load_with(self.settings.options(None)?)
    }

    /// Loads the model with options created by [`ModelSettings::options`].
    pub(crate) fn load_with(&self, options: ModelOptions) -> anyhow::Result<Model> {
        self.settings.load(self.model.as_deref(), options)
    }

    /// Returns the name of an option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        match self.model {
            Some(_) => Some("--model"),
            None => self.settings.given(),
        }
    }
}

/// How long a command may run.
#[derive(clap::Args, Debug)]
pub(crate) struct TimeoutArgs {
    /// Maximum seconds for compiling, checking or searching
    #[arg(long, value_name = "SECONDS", global = true, value_parser = parse_seconds)]
    timeout: Option<Duration>,
}

impl TimeoutArgs {
    /// Returns a token whose deadline starts now.
    pub(crate) fn token(&self) -> Option<CancelToken> {
        self.timeout.map(CancelToken::with_timeout)
    }
}

fn parse_seconds(text: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = text.parse()?;
    Ok(Duration::try_from_secs_f64(seconds)?)
}

/// Whether vocabulary tables are cached.
#[derive(clap::Args, Debug)]
pub(crate) struct CacheArgs {
    /// Recompute the tables of the tokenizer's vocabulary instead of caching them in the folder `tables` of structgen's
    /// cache folder
    #[arg(long)]
    no_cache: bool,
}

impl CacheArgs {
    /// Returns the folder of the tables, if they are cached and the system has a cache folder.
    pub(crate) fn tables_folder(&self) -> Option<PathBuf> {
        tables_folder().filter(|_| !self.no_cache)
    }

    /// Returns the tables of a vocabulary, and where they came from.
    pub(crate) fn tables(&self, vocabulary: &Arc<Vocabulary>) -> (VocabularyTables, &'static str) {
        let Some(folder) = self.tables_folder() else {
            return (VocabularyTables::new(vocabulary.clone()), "computed");
        };
        match VocabularyTables::load_or_build(vocabulary.clone(), &folder) {
            (tables, TablesSource::Loaded) => (tables, "loaded from the cache"),
            (tables, _) => (tables, "computed for the cache"),
        }
    }
}

/// Returns the folder of cached vocabulary tables, if the system has a cache folder.
pub(crate) fn tables_folder() -> Option<PathBuf> {
    let search = ModelOptions::new().search();
    Some(search.cache_dir()?.join("tables"))
}

/// A schema file.
pub(crate) struct SchemaFile {
    name: String,
    pub(crate) text: String,
    pub(crate) at: Option<String>,
    /// The schema, as shown in prompts.
    pub(crate) value: Value,
}

impl SchemaFile {
    /// Returns the schema as JSON, with numbers as they were written.
    pub(crate) fn to_json(&self) -> anyhow::Result<String> {
        let Some(pointer) = &self.at else {
            return Ok(self.text.clone());
        };
        let mut document: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&self.text)
            .with_context(|| format!("the schema {} is no object", self.name))?;
        let pointer = pointer.strip_prefix('#').unwrap_or(pointer);
        document.retain(|key, _| stays_beside(pointer, key));
        let reference = to_raw_value(&format!("#{pointer}"))?;
        document.insert("$ref".to_owned(), reference);
        Ok(serde_json::to_string(&document)?)
    }

    /// Compiles the schema from its text, with numbers as they were written.
    pub(crate) fn compile(&self, options: &SchemaOptions) -> anyhow::Result<Constraint> {
        compile_schema(&self.name, &self.text, self.at.as_deref(), options)
    }

    /// Returns an extractor with the options that suit the model; `compiled` is the schema's constraint under
    /// `options`.
    pub(crate) fn extractor(
        &self,
        model: Model,
        options: &SchemaOptions,
        compiled: &Constraint,
        generate: &GenerateOptions,
    ) -> anyhow::Result<SchemaExtractor> {
        let suited = model.extraction_options(&self.value, options);
        let recompiled = match suited == *options {
            true => None,
            false => Some(self.compile(&suited)?),
        };
        let constraint = recompiled.as_ref().unwrap_or(compiled);
        let (schema, generate) = (self.value.clone(), generate.clone());
        let extractor = SchemaExtractor::with_constraint(model, schema, constraint, generate)?;
        Ok(extractor.with_whitespace(options.whitespace))
    }
}

fn compile_schema(
    name: &str,
    text: &str,
    at: Option<&str>,
    options: &SchemaOptions,
) -> anyhow::Result<Constraint> {
    let constraint = match at {
        Some(pointer) => {
            // JSON Pointers are common both with and without the `#` of a URI fragment.
            let pointer = pointer.strip_prefix('#').unwrap_or(pointer);
            Constraint::json_schema_at(text, pointer, options)
        }
        None => Constraint::json_schema_str(text, options),
    };
    constraint
        .map_err(|error| match &*schema_hints::after_error(&error, text) {
            "" => error.into(),
            hint => anyhow!("{error}{hint}"),
        })
        .with_context(|| format!("the schema {name} cannot be used"))
}

/// Returns the time since `started`, for messages.
pub(crate) fn milliseconds(started: Instant) -> String {
    format!("{:.1} ms", started.elapsed().as_secs_f64() * 1e3)
}

/// Reads a schema file and compiles the schema.
pub(crate) fn read_schema(
    path: &Path,
    at: Option<&str>,
    options: &SchemaOptions,
) -> anyhow::Result<(SchemaFile, Constraint)> {
    let Document { name, text } = Document::read_json(path)
        .with_context(|| format!("the schema {} cannot be used", shown(path)))?;
    let started = Instant::now();
    let constraint = compile_schema(&name, &text, at, options)?;
    let report = constraint.report();
    detail(&format!(
        "the schema {name} was compiled in {}: {} keywords, {} rules",
        milliseconds(started),
        report.entries.len(),
        constraint.grammar().rules().len()
    ));
    warn_of(&name, &report.warnings);
    let mut value: Value =
        serde_json::from_str(&text).with_context(|| format!("the schema {name} is not JSON"))?;
    if let Some(pointer) = at {
        refer_to(&mut value, pointer.strip_prefix('#').unwrap_or(pointer));
    }
    let at = at.map(str::to_owned);
    let file = SchemaFile {
        name,
        text,
        at,
        value,
    };
    Ok((file, constraint))
}

/// Turns a document into a schema that refers to the one at a pointer, and drops the document's own assertions.
fn refer_to(document: &mut Value, pointer: &str) {
    if let Some(root) = document.as_object_mut() {
        root.retain(|key, _| stays_beside(pointer, key));
        root.insert("$ref".to_owned(), format!("#{pointer}").into());
    }
}

/// Returns whether a member of a document is kept beside a reference to the pointer: it contains the target, or asserts
/// nothing.
fn stays_beside(pointer: &str, key: &str) -> bool {
    const ASSERTIONS: [&str; 6] = ["type", "properties", "required", "items", "enum", "const"];
    pointer.split('/').nth(1) == Some(key) || !ASSERTIONS.contains(&key)
}

/// Returns a file's name, or an excerpt of inline text given in its place.
fn shown(path: &Path) -> String {
    const LONGEST: usize = 60;
    let name = path.display().to_string();
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// How to read a regular expression.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Regular expression")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RegexArgs {
    /// Syntax of the regular expression
    #[arg(long, value_enum, default_value_t = DialectArg::Rust)]
    #[serde(rename = "dialect")]
    regex_dialect: DialectArg,
    /// Let the regular expression match anywhere in the text, not just the whole text
    #[arg(long)]
    #[serde(rename = "search")]
    regex_search: bool,
    /// Treat & as intersection and ~ as complement in the regular expression
    #[arg(long)]
    #[serde(rename = "operators")]
    regex_operators: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DialectArg {
    /// The Rust crate regex, with look-around
    #[default]
    Rust,
    /// ECMA-262, as in JSON Schema
    Ecma,
    /// Python's re module
    Python,
}

impl RegexArgs {
    /// Compiles the pattern.
    pub(crate) fn read(&self, pattern: &str) -> anyhow::Result<Constraint> {
        let dialect = match self.regex_dialect {
            DialectArg::Rust => Dialect::Rust,
            DialectArg::Ecma => Dialect::Ecma262,
            DialectArg::Python => Dialect::Python,
        };
        let options = RegexOptions::rust()
            .with_dialect(dialect)
            .with_search(self.regex_search)
            .with_operators(self.regex_operators);
        Constraint::regex_with(pattern, options)
            .map_err(|error| anyhow!("the regular expression {pattern:?} cannot be used: {error}"))
    }
}

/// Reads a grammar file, which may import others from its folder.
pub(crate) fn read_grammar(
    path: &Path,
    cancel: Option<&CancelToken>,
) -> anyhow::Result<Constraint> {
    Ok(read_grammar_source(path, cancel)?.1)
}

/// The text of a grammar, and how to read it.
pub(crate) struct GrammarSource {
    pub(crate) text: String,
    pub(crate) options: GbnfOptions,
}

/// Returns how to read the grammar in a file. One that is not in a file imports from the current folder.
pub(crate) fn grammar_options(path: &Path) -> GbnfOptions {
    let beside = if path.is_file() { path } else { Path::new(".") };
    GbnfOptions {
        files: Some(files_beside(beside)),
        ..GbnfOptions::default()
    }
}

/// Reads a grammar file; also returns its text. The token cancels the compilation of schemas in it.
pub(crate) fn read_grammar_source(
    path: &Path,
    cancel: Option<&CancelToken>,
) -> anyhow::Result<(GrammarSource, Constraint)> {
    let Document { name, text } = Document::read_grammar(path)
        .with_context(|| format!("the grammar {} cannot be used", shown(path)))?;
    let mut options = grammar_options(path);
    options.schema.cancel = cancel.cloned();
    let constraint = Constraint::gbnf_with(&text, &options)
        .map_err(|error| match text.trim_start().starts_with('{') {
            true => anyhow!(
                "{error}\nhint: it looks like a JSON Schema, which --schema or --json-schema reads"
            ),
            false => error.into(),
        })
        .with_context(|| format!("the grammar {name} cannot be used"))?;
    for warning in constraint.warnings() {
        warn(&format!("{name}: {warning}"));
    }
    Ok((GrammarSource { text, options }, constraint))
}

/// Reads the documents that references may point to: all JSON and YAML files of a folder, as `http://localhost:1234/`
/// and their path.
pub(crate) fn read_documents(folder: &Path) -> anyhow::Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(dir) = folders.pop() {
        let entries = std::fs::read_dir(&dir)
            .with_context(|| format!("the folder {} cannot be read", dir.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if is_json_or_yaml(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    let mut documents = Vec::new();
    for path in found {
        let document = serde_json::from_str(&Document::read_json(&path)?.text)
            .with_context(|| format!("the document {} is not JSON", path.display()))?;
        let relative = path.strip_prefix(folder).unwrap_or(&path);
        let parts: Vec<_> = relative
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        documents.push((
            format!("http://localhost:1234/{}", parts.join("/")),
            document,
        ));
    }
    Ok(documents)
}

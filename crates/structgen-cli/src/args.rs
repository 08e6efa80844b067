//! Options that several commands share.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use structgen::constraint::{TablesSource, VocabularyTables};
use structgen::frontend::gbnf::GbnfOptions;
use structgen::frontend::regex::{Dialect, RegexOptions};
use structgen::vocab::Vocabulary;
use structgen::{
    CancelToken, Constraint, Device, GenerateOptions, Model, ModelOptions, SchemaExtractor,
    SchemaOptions,
};

use crate::input::{Document, files_beside, is_json_or_yaml};
use crate::models;
use crate::output::{detail, note, warn};
use crate::schema_hints::{self, warn_of};

/// Which model, and where it runs.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// A model folder, as optimum or onnxruntime-genai writes it, or the name of a registered model; without it, the embedded
    /// model
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// The variant of the folder's model file, such as quantized, int8, fp16 or q4
    #[arg(long, value_name = "NAME", requires = "model")]
    pub(crate) variant: Option<String>,
    /// Where the model runs: cpu, cuda, or cuda:N; never replaced by another
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// Threads of one run on the processor
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Run every token by itself: for models quantised while they run, whose texts otherwise depend on what runs beside them
    #[arg(long, requires = "model")]
    single_tokens: bool,
    /// Leave out the model's reader, which weighs what the text has: the decoder alone finds the values
    #[arg(long)]
    no_reader: bool,
}

/// The parser of a flag whose value is a whole number from 0.
pub(crate) fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse()
        .map_err(|_| "it must be a whole number, 0 or more")
}

/// The parser of a flag whose value is a whole number from 1.
pub(crate) fn at_least_one<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse()
        .map_err(|_| "it must be a whole number, 1 or more")
}

/// A model, and the library and the tables that it is loaded with.
#[derive(clap::Args, Debug)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The ONNX Runtime library's file, instead of looking for one
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    #[command(flatten)]
    cache: CacheArgs,
}

impl LoadArgs {
    pub(crate) fn options(&self) -> anyhow::Result<ModelOptions> {
        let options = self.model.options(None)?;
        Ok(match &self.runtime {
            Some(runtime) => options.with_runtime(runtime),
            None => options,
        })
    }

    pub(crate) fn load(&self) -> anyhow::Result<Model> {
        self.load_with(self.options()?)
    }

    /// Loads the model with options that were made from [`options`](LoadArgs::options).
    pub(crate) fn load_with(&self, options: ModelOptions) -> anyhow::Result<Model> {
        self.model.load(options, self.cache.tables_folder())
    }
}

/// How long a command may work.
#[derive(clap::Args, Debug)]
pub(crate) struct TimeoutArgs {
    /// The most seconds that compiling, checking or searching may take
    #[arg(long, value_name = "SECONDS", global = true, value_parser = parse_seconds)]
    timeout: Option<Duration>,
}

impl TimeoutArgs {
    /// A token whose deadline begins now.
    pub(crate) fn token(&self) -> Option<CancelToken> {
        self.timeout.map(CancelToken::with_timeout)
    }
}

fn parse_seconds(text: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = text.parse()?;
    Ok(Duration::try_from_secs_f64(seconds)?)
}

/// Whether tables of vocabularies are kept.
#[derive(clap::Args, Debug)]
pub(crate) struct CacheArgs {
    /// Compute the tables of the tokenizer's vocabulary, which are otherwise kept in the folder `tables` of structgen's cache folder
    #[arg(long)]
    no_cache: bool,
}

impl CacheArgs {
    /// The folder of the tables, if they are kept and the system has a place for that.
    pub(crate) fn tables_folder(&self) -> Option<PathBuf> {
        tables_folder().filter(|_| !self.no_cache)
    }

    /// The tables of a vocabulary, and where they came from.
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

/// The folder in which the tables of vocabularies are kept, if the system has a place for that.
pub(crate) fn tables_folder() -> Option<PathBuf> {
    let search = ModelOptions::new().search();
    Some(search.cache_dir()?.join("tables"))
}

impl ModelArgs {
    /// The embedded model, on as many threads.
    pub(crate) fn embedded(&self) -> Self {
        Self {
            model: None,
            variant: None,
            device: None,
            threads: self.threads,
            single_tokens: false,
            no_reader: self.no_reader,
        }
    }

    /// Where the model runs: with the given number of threads where neither a device nor threads are asked for.
    pub(crate) fn options(&self, default: Option<NonZeroUsize>) -> anyhow::Result<ModelOptions> {
        let mut options = ModelOptions::new();
        let threads = self.threads;
        let device = match self.device {
            Some(Device::Cuda { .. }) if threads.is_some() => {
                bail!("--threads is for the processor, and --device cuda was asked for")
            }
            Some(device @ Device::Cuda { .. }) => Some(device),
            Some(_) => Some(Device::Cpu {
                threads: threads.or(default),
            }),
            None => { threads.or(default) }.map(|threads| Device::Cpu {
                threads: Some(threads),
            }),
        };
        if let Some(device) = device {
            options = options.with_device(device);
        }
        if let Some(variant) = &self.variant {
            options = options.with_variant(variant);
        }
        if self.single_tokens {
            options = options.with_single_tokens();
        }
        if self.no_reader {
            options = options.without_reader();
        }
        Ok(options)
    }

    /// Loads the model, with the folder in which the tables of its vocabulary are kept.
    pub(crate) fn load(
        &self,
        mut options: ModelOptions,
        tables: Option<PathBuf>,
    ) -> anyhow::Result<Model> {
        let started = Instant::now();
        // The embedded model's vocabulary is small: its tables are computed in no time.
        if let (Some(_), Some(tables)) = (&self.model, tables) {
            options = options.with_tables_folder(tables);
        }
        let folder = self.model.as_deref().map(models::resolve).transpose()?;
        let (model, name) = match &folder {
            Some(file) if file.is_file() => {
                bail!(
                    "{} is a file, and a model is a folder with the file and its tokenizer",
                    file.display()
                )
            }
            Some(folder) => {
                let name = format!("the model folder {}", folder.display());
                let model = Model::open(folder, &options);
                (
                    model.with_context(|| format!("{name} cannot be used"))?,
                    name,
                )
            }
            None => (Model::embedded(&options)?, "the embedded model".to_owned()),
        };
        detail(&format!("{name} was loaded in {}", milliseconds(started)));
        for about_output in model.notes().iter().filter(|note| note.is_about_output()) {
            note(&format!("note: {about_output}"));
        }
        Ok(model)
    }
}

/// A schema file.
pub(crate) struct SchemaFile {
    name: String,
    pub(crate) text: String,
    pub(crate) at: Option<String>,
    /// The schema, as prompts show it.
    pub(crate) value: Value,
}

impl SchemaFile {
    /// The schema as JSON, with numbers as they are written.
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

    /// The schema, compiled from its text: with numbers as they are written.
    pub(crate) fn compile(&self, options: &SchemaOptions) -> anyhow::Result<Constraint> {
        compile_schema(&self.name, &self.text, self.at.as_deref(), options)
    }

    /// An extractor with the options that suit the model; `compiled` is the schema's constraint with the given ones.
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
            // Both forms of a pointer are common: with the sign of a fragment, and without.
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

/// The time since then, for messages.
pub(crate) fn milliseconds(started: Instant) -> String {
    format!("{:.1} ms", started.elapsed().as_secs_f64() * 1e3)
}

/// A schema file, and its schema compiled.
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

/// Makes a document a schema that refers to the one at a pointer: what the document asserts itself is left out.
fn refer_to(document: &mut Value, pointer: &str) {
    if let Some(root) = document.as_object_mut() {
        root.retain(|key, _| stays_beside(pointer, key));
        root.insert("$ref".to_owned(), format!("#{pointer}").into());
    }
}

/// Whether a member of a document stays beside a reference to the pointer: it leads there, or asserts nothing.
fn stays_beside(pointer: &str, key: &str) -> bool {
    const ASSERTIONS: [&str; 6] = ["type", "properties", "required", "items", "enum", "const"];
    pointer.split('/').nth(1) == Some(key) || !ASSERTIONS.contains(&key)
}

/// A file's name, or a part of what is on the command line in its place.
fn shown(path: &Path) -> String {
    const LONGEST: usize = 60;
    let name = path.display().to_string();
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// How a regular expression is read.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Regular expression")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RegexArgs {
    /// The syntax of the regular expression
    #[arg(long, value_enum, default_value_t = DialectArg::Rust)]
    #[serde(rename = "dialect")]
    regex_dialect: DialectArg,
    /// Let the regular expression match anywhere in the text, instead of the whole text
    #[arg(long)]
    #[serde(rename = "search")]
    regex_search: bool,
    /// Take & for intersection and ~ for complement in the regular expression
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
    /// ECMA-262, as JSON Schema has it
    Ecma,
    /// Python's module re
    Python,
}

impl RegexArgs {
    /// The text that the pattern stands for.
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

/// A grammar file, which may name others beside it.
pub(crate) fn read_grammar(path: &Path) -> anyhow::Result<Constraint> {
    Ok(read_grammar_source(path)?.1)
}

/// The text of a grammar and how it is read.
pub(crate) struct GrammarSource {
    pub(crate) text: String,
    pub(crate) options: GbnfOptions,
}

/// A grammar file with its text.
pub(crate) fn read_grammar_source(path: &Path) -> anyhow::Result<(GrammarSource, Constraint)> {
    let Document { name, text } = Document::read_grammar(path)
        .with_context(|| format!("the grammar {} cannot be used", shown(path)))?;
    // A grammar that is in no file names those of the current folder.
    let beside = if path.is_file() { path } else { Path::new(".") };
    let options = GbnfOptions {
        files: Some(files_beside(beside)),
        ..GbnfOptions::default()
    };
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

/// Documents that references may name: all JSON and YAML files of a folder, as `http://localhost:1234/` and their path.
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

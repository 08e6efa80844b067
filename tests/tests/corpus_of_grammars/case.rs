//! Cases as they stand in `tests/corpus`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use structgen::frontend::gbnf::{GbnfFiles, GbnfOptions};
use structgen::frontend::regex::{Dialect, RegexOptions};
use structgen::grammar::{Expr, GrammarBuilder, JsonForm};
use structgen::{Constraint, KeyOrder, Profile, SchemaOptions};

/// The cases of one file, or the sources that have to be refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
    #[serde(default, rename = "refused")]
    refused: Vec<Refused>,
}

/// A grammar with texts that it takes and texts that it does not.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) source: Source,
    #[serde(default)]
    pub(crate) accept: Vec<String>,
    #[serde(default)]
    pub(crate) reject: Vec<String>,
    /// Texts in pieces, each a special token, a token's number as `<[97]>`, or text.
    #[serde(default)]
    pub(crate) accept_tokens: Vec<Vec<String>>,
    #[serde(default)]
    pub(crate) reject_tokens: Vec<Vec<String>>,
    /// What is no UTF-8, in hexadecimal digits.
    #[serde(default)]
    pub(crate) reject_bytes: Vec<String>,
}

/// A source that is refused, and what is said about it.
#[derive(Debug, Deserialize)]
pub(crate) struct Refused {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) source: Source,
    pub(crate) message: String,
}

/// A source in one of the languages. Exactly one is there.
#[derive(Debug, Deserialize)]
pub(crate) struct Source {
    pub(crate) gbnf: Option<String>,
    pub(crate) regex: Option<String>,
    pub(crate) ecma: Option<String>,
    pub(crate) schema: Option<String>,
    /// The files that GBNF may name.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Whether a pattern may be found anywhere.
    #[serde(default)]
    pub(crate) search: bool,
    /// Whether a schema is taken exactly, with its keys in any order.
    #[serde(default)]
    exact: bool,
}

impl Source {
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.gbnf, &self.regex, &self.ecma, &self.schema) {
            (Some(_), None, None, None) => "gbnf",
            (None, Some(_), None, None) => "regex",
            (None, None, Some(_), None) => "ecma",
            (None, None, None, Some(_)) => "schema",
            _ => panic!("a case has exactly one source: {self:?}"),
        }
    }

    pub(crate) fn read(&self) -> Result<Constraint, structgen::Error> {
        if let Some(grammar) = &self.gbnf {
            let files = self.files.clone();
            let read = move |path: &str| match files.get(path) {
                Some(text) => Ok(text.clone()),
                None => Err("there is no such file".into()),
            };
            let options = GbnfOptions {
                files: Some(GbnfFiles::new(read)),
                ..GbnfOptions::default()
            };
            return Constraint::gbnf_with(grammar, &options);
        }
        if let Some(pattern) = self.regex.as_ref().filter(|_| !self.search) {
            return Constraint::regex(pattern);
        }
        if let Some(schema) = &self.schema {
            let options = SchemaOptions::new();
            let options = if self.exact {
                options
                    .with_profile(Profile::Exact)
                    .with_order(KeyOrder::Any)
            } else {
                options
            };
            return Constraint::json_schema_str(schema, &options);
        }
        let dialect = match self.ecma {
            Some(_) => Dialect::Ecma262,
            None => Dialect::Rust,
        };
        let options = RegexOptions {
            dialect,
            ..RegexOptions::rust().with_search(self.search)
        };
        let pattern = self.regex.as_ref().or(self.ecma.as_ref());
        let set = structgen::frontend::regex::parse(pattern.expect("a source"), options)?;
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = builder.expr(Expr::Regular(set));
        builder.define(root, body);
        let grammar = builder.finish(root, JsonForm::generate());
        Ok(Constraint::from_grammar(grammar))
    }
}

/// The workspace's folder of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The files of a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    files.sort();
    files
}

/// The cases of each file, by its name.
pub(crate) fn cases() -> Vec<(String, Vec<Case>)> {
    all(|file| file.cases)
}

/// The sources to be refused of each file, by its name.
pub(crate) fn refused() -> Vec<(String, Vec<Refused>)> {
    all(|file| file.refused)
}

fn all<T>(of: impl Fn(File) -> Vec<T>) -> Vec<(String, Vec<T>)> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().expect("a file has a name");
        (name.to_string_lossy().into_owned(), of(file))
    };
    files(&folder("tests/corpus"))
        .into_iter()
        .map(read)
        .collect()
}

//! Compares GBNF grammars on structgen with the same languages on llguidance, in its own syntax.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher as TheirMatcher, TokenParser};
use structgen::constraint::{CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables};
use structgen::frontend::gbnf::{GbnfOptions, parse};
use structgen::vocab::TokenId;
use structgen_maskbench::{Case, Engine, Instance};

use crate::llguidance_engine::LlGuidance;

/// The grammars that exist in both notations.
pub const NAMES: [&str; 3] = ["json", "sql-select", "c-like"];

/// Returns the grammar in GBNF, for structgen, and in llguidance's syntax.
///
/// # Errors
/// If the files cannot be read.
pub fn sources(name: &str) -> anyhow::Result<(String, String)> {
    let ours = root().join(format!("../../grammars/{name}.gbnf"));
    let theirs = root().join(format!("grammars/{name}.lark"));
    Ok((read(&ours)?, read(&theirs)?))
}

/// Returns the texts that define what a grammar accepts: those of `grammars/samples`, and the long ones, which match.
///
/// # Errors
/// If the files cannot be read.
pub fn samples(name: &str) -> anyhow::Result<Vec<Instance>> {
    let folder = root().join(format!("../../grammars/samples/{name}"));
    let mut all = instances(&folder.join("accept"), true)?;
    all.extend(instances(&folder.join("reject"), false)?);
    all.extend(texts(name)?);
    Ok(all)
}

/// Returns the texts of realistic size with which a grammar is timed.
///
/// # Errors
/// If the files cannot be read.
pub fn texts(name: &str) -> anyhow::Result<Vec<Instance>> {
    instances(&root().join("texts").join(name), true)
}

/// Returns a grammar with texts as a case; both engines find their notation by the name.
#[must_use]
pub fn case(name: &str, source: String, instances: Vec<Instance>) -> Case {
    Case {
        file: name.to_owned(),
        schema: serde_json::Value::Null,
        schema_text: source,
        instances,
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn instances(folder: &Path, is_valid: bool) -> anyhow::Result<Vec<Instance>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    paths.sort();
    let instance = |path: &PathBuf| {
        let text = read(path)?;
        let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
        Ok(Instance { text, is_valid })
    };
    paths.iter().map(instance).collect()
}

/// Structgen with GBNF grammars.
pub struct Gbnf {
    tables: Arc<VocabularyTables>,
    options: ConstraintOptions,
}

impl Gbnf {
    /// Creates the engine with the tables of a vocabulary.
    #[must_use]
    pub fn new(tables: Arc<VocabularyTables>, eos: TokenId) -> Self {
        let options = ConstraintOptions {
            eos: vec![eos],
            ..ConstraintOptions::default()
        };
        Self { tables, options }
    }
}

impl Engine for Gbnf {
    type Compiled = CompiledConstraint;
    type State = Matcher;

    fn compile(&mut self, case: &Case) -> Result<CompiledConstraint, String> {
        let grammar =
            parse(&case.schema_text, &GbnfOptions::default()).map_err(|error| error.to_string())?;
        CompiledConstraint::new(grammar, &self.tables, &self.options)
            .map_err(|error| error.to_string())
    }

    fn start(&mut self, compiled: &CompiledConstraint) -> Result<Matcher, String> {
        Ok(compiled.matcher())
    }

    fn mask_has(&mut self, state: &mut Matcher, token: u32) -> Result<bool, String> {
        let mask = state.mask().map_err(|error| error.to_string())?;
        Ok(mask.bits().contains(TokenId(token)))
    }

    fn accept(&mut self, state: &mut Matcher, token: u32) -> Result<(), String> {
        state
            .accept_token(TokenId(token))
            .map_err(|error| error.to_string())
    }

    fn may_end(&mut self, state: &mut Matcher) -> Result<bool, String> {
        Ok(state.is_accepting())
    }
}

/// llguidance with grammars in its own syntax.
pub struct Lark(
    /// The engine that also runs schemas.
    pub LlGuidance,
);

impl Engine for Lark {
    type Compiled = TokenParser;
    type State = TheirMatcher;

    fn compile(&mut self, case: &Case) -> Result<TokenParser, String> {
        self.0
            .compile_grammar(TopLevelGrammar::from_lark(case.schema_text.clone()))
    }

    fn start(&mut self, compiled: &TokenParser) -> Result<TheirMatcher, String> {
        self.0.start(compiled)
    }

    fn mask_has(&mut self, state: &mut TheirMatcher, token: u32) -> Result<bool, String> {
        self.0.mask_has(state, token)
    }

    fn accept(&mut self, state: &mut TheirMatcher, token: u32) -> Result<(), String> {
        self.0.accept(state, token)
    }

    fn may_end(&mut self, state: &mut TheirMatcher) -> Result<bool, String> {
        self.0.may_end(state)
    }
}

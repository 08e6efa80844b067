//! What the benchmark asks of an engine.

use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables};
use structgen_frontend::json_schema::{KeyOrder, Profile, SchemaError, SchemaOptions, compile_str};
use structgen_vocab::TokenId;

use crate::Case;

/// An engine that turns schemas into masks. What it builds once per tokenizer is there already.
pub trait Engine {
    /// A compiled schema.
    type Compiled;
    /// An output in progress.
    type State;

    /// Compiles the schema of a case.
    ///
    /// # Errors
    /// When the engine refuses it, in its own words.
    fn compile(&mut self, case: &Case) -> Result<Self::Compiled, String>;

    /// Whether the engine refuses the schema of a case because no value fits it. Asked after a refusal, outside of all
    /// times.
    fn is_unsatisfiable(&mut self, _case: &Case) -> bool {
        false
    }

    /// The start of an output.
    ///
    /// # Errors
    /// When the engine fails.
    fn start(&mut self, compiled: &Self::Compiled) -> Result<Self::State, String>;

    /// Computes the mask and tells whether the token is in it.
    ///
    /// # Errors
    /// When the engine fails.
    fn mask_has(&mut self, state: &mut Self::State, token: u32) -> Result<bool, String>;

    /// Takes a token that is in the mask.
    ///
    /// # Errors
    /// When the engine fails.
    fn accept(&mut self, state: &mut Self::State, token: u32) -> Result<(), String>;

    /// Whether the output may end here.
    ///
    /// # Errors
    /// When the engine fails.
    fn may_end(&mut self, state: &mut Self::State) -> Result<bool, String>;
}

/// This project's engine, in profile `exact` unless it is told otherwise.
#[derive(Debug)]
pub struct Structgen {
    tables: Arc<VocabularyTables>,
    schema: SchemaOptions,
    constraint: ConstraintOptions,
}

impl Structgen {
    /// The engine over the tables of a vocabulary, with keys in the given order.
    #[must_use]
    pub fn new(tables: Arc<VocabularyTables>, order: KeyOrder, eos: Vec<TokenId>) -> Self {
        let schema = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_order(order);
        let constraint = ConstraintOptions {
            eos,
            ..ConstraintOptions::default()
        };
        Self {
            tables,
            schema,
            constraint,
        }
    }

    /// The engine with other options for schemas, the order of keys included.
    #[must_use]
    pub fn with_schema_options(mut self, options: SchemaOptions) -> Self {
        self.schema = options;
        self
    }
}

impl Engine for Structgen {
    type Compiled = CompiledConstraint;
    type State = Matcher;

    fn compile(&mut self, case: &Case) -> Result<CompiledConstraint, String> {
        let compiled =
            compile_str(&case.schema_text, &self.schema).map_err(|error| error.to_string())?;
        CompiledConstraint::new(compiled.grammar, &self.tables, &self.constraint)
            .map_err(|error| error.to_string())
    }

    fn is_unsatisfiable(&mut self, case: &Case) -> bool {
        matches!(
            compile_str(&case.schema_text, &self.schema),
            Err(SchemaError::Unsatisfiable { .. })
        )
    }

    fn start(&mut self, compiled: &CompiledConstraint) -> Result<Matcher, String> {
        Ok(compiled.matcher())
    }

    fn mask_has(&mut self, state: &mut Matcher, token: u32) -> Result<bool, String> {
        Ok(state
            .mask()
            .map_err(|error| error.to_string())?
            .contains(TokenId(token)))
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

//! Constraints on an output, independent of any vocabulary.

use std::sync::Arc;

use serde_json::Value;
use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_frontend::gbnf::{self, GbnfOptions, GbnfWarning};
use structgen_frontend::json_schema::{self, CompileReport, SchemaOptions};
use structgen_frontend::regex::{self, RegexErrorKind, RegexOptions};
use structgen_grammar::{Expr, Grammar, GrammarBuilder, JsonForm};
#[cfg(feature = "tools")]
use structgen_tools::{StructuralTag, ToolGrammar};
use structgen_vocab::{TokenId, Vocabulary};

use crate::{Error, Result};

/// A constraint on an output: a grammar, with a report on its source.
///
/// A constraint can be compiled for any number of vocabularies.
///
/// ```
/// use structgen::{Checker, Constraint};
///
/// let constraint = Constraint::regex("[a-z]{2,4}-[0-9]+")?;
/// let checker = Checker::new(&constraint)?;
/// assert!(checker.check(b"abc-12")?.is_none());
/// assert_eq!(checker.check(b"abc_12")?.unwrap().offset, 3);
/// # Ok::<(), structgen::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constraint {
    grammar: Grammar,
    report: CompileReport,
    warnings: Vec<GbnfWarning>,
    /// Markers that become tokens once the vocabulary is known.
    #[cfg(feature = "tools")]
    marked: Option<MarkedGrammar>,
}

/// A grammar in which some texts are special tokens of a vocabulary.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
enum MarkedGrammar {
    Tools(ToolGrammar),
    StructuralTag(StructuralTag),
}

impl Constraint {
    /// Creates a constraint to JSON values that are valid against a schema.
    ///
    /// # Errors
    /// [`Error::Schema`], with the keyword and its JSON Pointer.
    pub fn json_schema(schema: &Value, options: &SchemaOptions) -> Result<Self> {
        let compiled = json_schema::compile(schema, options)?;
        Ok(Self {
            report: compiled.report,
            ..Self::from_grammar(compiled.grammar)
        })
    }

    /// Creates a constraint from a schema given as text, with every number of the schema exactly as it is written.
    ///
    /// # Errors
    /// [`Error::Schema`], with line and column, or with the keyword and its JSON Pointer.
    pub fn json_schema_str(schema: &str, options: &SchemaOptions) -> Result<Self> {
        let compiled = json_schema::compile_str(schema, options)?;
        Ok(Self {
            report: compiled.report,
            ..Self::from_grammar(compiled.grammar)
        })
    }

    /// Creates a constraint from the schema at a JSON Pointer of a larger document, such as `/components/schemas/Order`
    /// of an OpenAPI 3.1 description, given as text.
    ///
    /// # Errors
    /// As for [`Constraint::json_schema_str`].
    pub fn json_schema_at(document: &str, pointer: &str, options: &SchemaOptions) -> Result<Self> {
        let compiled = json_schema::compile_str_at(document, pointer, options)?;
        Ok(Self {
            report: compiled.report,
            ..Self::from_grammar(compiled.grammar)
        })
    }

    /// Creates a constraint to any JSON value.
    ///
    /// # Errors
    /// [`Error::Schema`] if the options' limits are too small even for this.
    pub fn any_json(options: &SchemaOptions) -> Result<Self> {
        Self::json_schema(&Value::Bool(true), options)
    }

    /// Creates a constraint to texts that match a regular expression from beginning to end, in the syntax of the crate
    /// `regex`. Its named groups are captures: parts of the output whose spans
    /// [`Matcher::captures`](structgen_constraint::Matcher::captures) returns.
    ///
    /// # Errors
    /// [`Error::Regex`], with the offset.
    pub fn regex(pattern: &str) -> Result<Self> {
        Self::regex_with(pattern, RegexOptions::rust())
    }

    /// Creates a constraint to texts that match a regular expression in any dialect, as a whole or anywhere in the
    /// text.
    ///
    /// Named groups in the syntax of the crate `regex` are captures if the whole text has to match and the pattern has
    /// no inner anchors, boundaries, look-around or operators of sets; otherwise they are ordinary groups.
    ///
    /// ```
    /// use structgen::frontend::regex::RegexOptions;
    /// use structgen::{Checker, Constraint};
    ///
    /// let options = RegexOptions::python().with_search(true);
    /// let constraint = Constraint::regex_with(r"(?P<year>\d{4})$", options)?;
    /// assert!(Checker::new(&constraint)?.check(b"in 2024")?.is_none());
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Regex`], with the offset.
    pub fn regex_with(pattern: &str, options: RegexOptions) -> Result<Self> {
        match regex::parse_named(pattern, options) {
            Ok(Some(grammar)) => return Ok(Self::from_grammar(grammar)),
            // With look-around or operators, for instance, named groups are not captures.
            Err(error) if matches!(error.kind, RegexErrorKind::Unsupported(_)) => {}
            Ok(None) => {}
            Err(error) => return Err(error.into()),
        }
        let set = regex::parse(pattern, options)?;
        Ok(Self::of_root(|builder| builder.expr(Expr::Regular(set))))
    }

    /// Creates a constraint to texts of a GBNF grammar, from its rule `root`.
    ///
    /// # Errors
    /// [`Error::Gbnf`], with line and column and the position marked.
    pub fn gbnf(grammar: &str) -> Result<Self> {
        Self::gbnf_with(grammar, &GbnfOptions::default())
    }

    /// Creates a constraint to texts of a GBNF grammar, with another root or other limits.
    ///
    /// # Errors
    /// As for [`Constraint::gbnf`].
    pub fn gbnf_with(grammar: &str, options: &GbnfOptions) -> Result<Self> {
        let (grammar, warnings) = gbnf::parse_with_warnings(grammar, options)?;
        Ok(Self {
            warnings,
            ..Self::from_grammar(grammar)
        })
    }

    /// Creates a constraint to any of the given texts, of which there may be millions.
    ///
    /// # Errors
    /// [`Error::NoChoices`] if there are none, [`Error::Choices`] if they are too large.
    pub fn choices(choices: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let mut choices = choices.into_iter().peekable();
        if choices.peek().is_none() {
            return Err(Error::NoChoices);
        }
        let bytes = choices.map(ChoiceBytes);
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = builder.literals(bytes)?;
        builder.define(root, body);
        Ok(Self::from_grammar(
            builder.finish(root, JsonForm::generate()),
        ))
    }

    /// Creates a constraint to text and tool calls in the format of a chat model. The report is that of the
    /// [`ToolGrammar`].
    ///
    /// ```
    /// use structgen::tools::{Tool, ToolFormat, ToolGrammar, ToolOptions};
    /// use structgen::{Checker, Constraint};
    ///
    /// let tools = Tool::list(r#"[{"name": "ping"}]"#)?;
    /// let format = ToolFormat::preset("mistral").expect("it is a preset");
    /// let tools = ToolGrammar::new(format, tools, &ToolOptions::new())?;
    /// let checker = Checker::new(&Constraint::tools(&tools))?;
    /// assert!(checker.check(b"Hello! [TOOL_CALLS]ping[ARGS]{}")?.is_none());
    /// assert_eq!(checker.check(b"[TOOL_CALLS]pong[ARGS]{}")?.unwrap().offset, 13);
    /// # Ok::<(), structgen::Error>(())
    /// ```
    #[must_use]
    #[cfg(feature = "tools")]
    pub fn tools(tools: &ToolGrammar) -> Self {
        Self {
            marked: Some(MarkedGrammar::Tools(tools.clone())),
            ..Self::from_grammar(tools.grammar().clone())
        }
    }

    /// Creates a constraint to text that is free in some places and constrained in others. The report is that of the
    /// [`StructuralTag`].
    ///
    /// ```
    /// use serde_json::json;
    /// use structgen::tools::StructuralTag;
    /// use structgen::{Checker, Constraint, SchemaOptions};
    ///
    /// let thought = json!({"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"});
    /// let answer = json!({"type": "json_schema", "json_schema": {"type": "boolean"}});
    /// let format = json!({"type": "sequence", "elements": [thought, answer]});
    /// let tag = StructuralTag::new(&json!({"type": "structural_tag", "format": format}), &SchemaOptions::new())?;
    /// let checker = Checker::new(&Constraint::structural_tag(&tag))?;
    /// assert!(checker.check(b"<think>It is.</think>true")?.is_none());
    /// assert_eq!(checker.check(b"<think></think>yes")?.unwrap().offset, 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[cfg(feature = "tools")]
    pub fn structural_tag(tag: &StructuralTag) -> Self {
        Self {
            marked: Some(MarkedGrammar::StructuralTag(tag.clone())),
            ..Self::from_grammar(tag.grammar().clone())
        }
    }

    /// Creates a constraint to texts of a grammar.
    #[must_use]
    pub fn from_grammar(grammar: Grammar) -> Self {
        Self {
            grammar,
            report: CompileReport::default(),
            warnings: Vec::new(),
            #[cfg(feature = "tools")]
            marked: None,
        }
    }

    fn of_root(body: impl FnOnce(&mut GrammarBuilder) -> structgen_grammar::ExprId) -> Self {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = body(&mut builder);
        builder.define(root, body);
        Self::from_grammar(builder.finish(root, JsonForm::generate()))
    }

    /// Returns the grammar; for tool calls and structural tags, every marker is in it as text.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Returns how each keyword of a schema was compiled, including what the profile narrowed; empty if there was no
    /// schema.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        &self.report
    }

    /// Returns probable mistakes in a GBNF grammar that are not errors: unreachable rules, and rules that derive no
    /// text.
    ///
    /// ```
    /// let constraint = structgen::Constraint::gbnf("root ::= \"a\"\nspare ::= \"b\"")?;
    /// assert_eq!(constraint.warnings().len(), 1);
    /// assert_eq!(constraint.warnings()[0].line, 2);
    /// # Ok::<(), structgen::Error>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[GbnfWarning] {
        &self.warnings
    }

    /// Compiles the constraint for a vocabulary, whose tables are computed once and shared by all constraints.
    ///
    /// # Errors
    /// [`Error::Compile`] if no text matches, a token is unknown, or a limit is exceeded.
    pub fn compile(
        &self,
        tables: &Arc<VocabularyTables>,
        eos: &[TokenId],
    ) -> Result<CompiledConstraint> {
        let options = ConstraintOptions {
            eos: eos.to_vec(),
            ..ConstraintOptions::default()
        };
        self.compile_with(tables, &options)
    }

    /// Compiles the constraint for a vocabulary, with other limits or a token that cancels the compilation.
    ///
    /// # Errors
    /// As for [`Constraint::compile`].
    pub fn compile_with(
        &self,
        tables: &Arc<VocabularyTables>,
        options: &ConstraintOptions,
    ) -> Result<CompiledConstraint> {
        let grammar = self.grammar_for(tables.vocabulary());
        Ok(CompiledConstraint::new(grammar, tables, options)?)
    }

    #[cfg(feature = "tools")]
    fn grammar_for(&self, vocabulary: &Vocabulary) -> Grammar {
        match &self.marked {
            Some(MarkedGrammar::Tools(tools)) => tools.grammar_for(vocabulary),
            Some(MarkedGrammar::StructuralTag(tag)) => tag.grammar_for(vocabulary),
            None => self.grammar.clone(),
        }
    }

    #[cfg(not(feature = "tools"))]
    fn grammar_for(&self, _: &Vocabulary) -> Grammar {
        self.grammar.clone()
    }
}

/// A text as its bytes.
struct ChoiceBytes<T>(T);

impl<T: AsRef<str>> AsRef<[u8]> for ChoiceBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().as_bytes()
    }
}

//! What an output has to be like, before any vocabulary.

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

/// What an output has to be like: a grammar, and how it came to be.
///
/// Made once, it can be compiled for any vocabulary.
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
    /// Markers become tokens when the vocabulary is known.
    #[cfg(feature = "tools")]
    marked: Option<MarkedGrammar>,
}

/// A grammar some texts of which are special tokens of a vocabulary.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
enum MarkedGrammar {
    Tools(ToolGrammar),
    StructuralTag(StructuralTag),
}

impl Constraint {
    /// A JSON value that fits a schema.
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

    /// A JSON value that fits a schema given as text, with every number of the schema exactly as it is written.
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

    /// A JSON value that fits the schema at a JSON Pointer of a larger document, such as `/components/schemas/Order` of an OpenAPI 3.1
    /// description, whose text is given.
    ///
    /// # Errors
    /// As [`Constraint::json_schema_str`].
    pub fn json_schema_at(document: &str, pointer: &str, options: &SchemaOptions) -> Result<Self> {
        let compiled = json_schema::compile_str_at(document, pointer, options)?;
        Ok(Self {
            report: compiled.report,
            ..Self::from_grammar(compiled.grammar)
        })
    }

    /// Any JSON value.
    ///
    /// # Errors
    /// [`Error::Schema`] when the options' limits are too small for even this.
    pub fn any_json(options: &SchemaOptions) -> Result<Self> {
        Self::json_schema(&Value::Bool(true), options)
    }

    /// A text that matches a regular expression, in the syntax of the crate `regex`, from its beginning to its end. Its named groups are captures:
    /// parts of the output whose spans [`Matcher::captures`](structgen_constraint::Matcher::captures) tells.
    ///
    /// # Errors
    /// [`Error::Regex`], with the offset.
    pub fn regex(pattern: &str) -> Result<Self> {
        Self::regex_with(pattern, RegexOptions::rust())
    }

    /// A text that matches a regular expression of any dialect, or in which it is found.
    ///
    /// Named groups of the crate `regex`'s syntax are captures, where the whole text has to match and nothing looks around: beside anchors within
    /// the pattern, boundaries and look-around they are groups like others.
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
            // Groups beside what looks around are groups, but no captures.
            Err(error) if matches!(error.kind, RegexErrorKind::Unsupported(_)) => {}
            Ok(None) => {}
            Err(error) => return Err(error.into()),
        }
        let set = regex::parse(pattern, options)?;
        Ok(Self::of_root(|builder| builder.expr(Expr::Regular(set))))
    }

    /// A text of a grammar in GBNF, from its rule `root`.
    ///
    /// # Errors
    /// [`Error::Gbnf`], with line and column and the place marked.
    pub fn gbnf(grammar: &str) -> Result<Self> {
        Self::gbnf_with(grammar, &GbnfOptions::default())
    }

    /// A text of a grammar in GBNF, with another root or other limits.
    ///
    /// # Errors
    /// As [`Constraint::gbnf`].
    pub fn gbnf_with(grammar: &str, options: &GbnfOptions) -> Result<Self> {
        let (grammar, warnings) = gbnf::parse_with_warnings(grammar, options)?;
        Ok(Self {
            warnings,
            ..Self::from_grammar(grammar)
        })
    }

    /// One of some texts, be they millions.
    ///
    /// # Errors
    /// [`Error::NoChoices`] when there is none, [`Error::Choices`] when they are too large.
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

    /// Text and tool calls in the format of a chat model. The report is the [`ToolGrammar`]'s own.
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

    /// Text that is free in some places and fixed in others. The report is the [`StructuralTag`]'s own.
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

    /// What a grammar says.
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

    /// The grammar; of tool calls and structural tags, with every marker as its text.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// What became of each keyword of a schema, narrowings of the profile included; empty where there was no schema.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        &self.report
    }

    /// Rules of a GBNF grammar that nothing leads to, and those that derive no text: what is sound and most likely a mistake.
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

    /// Joins the constraint to a vocabulary, whose tables are made once and shared by all constraints.
    ///
    /// # Errors
    /// [`Error::Compile`] when no text fits, a token is unknown, or a limit is exceeded.
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

    /// The constraint for a vocabulary, with other limits or a token that ends the compilation.
    ///
    /// # Errors
    /// As [`Constraint::compile`].
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

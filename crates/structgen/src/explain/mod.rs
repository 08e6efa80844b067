//! Explains why a text is not valid, finds a valid text close to it, and lists what may come after its beginning.
//!
//! The automaton behind the masks finds where a text stops matching, and the nearest text. But it does not know which
//! keyword of a schema, or which rule of a grammar, a state came from. That is determined separately: the value, with
//! everything open closed, is validated against the schema keyword by keyword, and the text is parsed by the grammar's
//! rules.

mod cause;
mod form;
mod json;
mod next;
mod outline;
mod rules;
mod tokens;

use structgen_constraint::NearText;
use structgen_frontend::gbnf::GbnfOptions;
use structgen_frontend::json_schema::{Profile, Violation};
use structgen_grammar::Expr;

use crate::{Checker, Constraint, Mismatch, Result, SchemaOptions};

pub use form::{FormLimit, PartialFormat};
pub use next::{Next, NextKey, NextRule};
pub use rules::RuleAt;
pub use tokens::{NextToken, NextTokens};

use form::Form;
use outline::Outline;
use rules::{MOST_STEPS, Rules};

/// The maximum number of steps in the search for the nearest text, see [`Explainer::nearest`].
pub const NEAREST_STEPS: u64 = 100_000;

/// Explains why texts do not match a constraint.
///
/// ```
/// use structgen::explain::Explainer;
/// use structgen::{Checker, Constraint, Profile, SchemaOptions};
///
/// let options = SchemaOptions::new().with_profile(Profile::Exact);
/// let schema = r#"{
///     "type": "object",
///     "properties": {"name": {"type": "string"}, "age": {"type": "integer", "maximum": 120}},
///     "required": ["name", "age"]
/// }"#;
/// let constraint = Constraint::json_schema_str(schema, &options)?;
/// let checker = Checker::new(&constraint)?;
/// let explainer = Explainer::new(&constraint, checker).with_schema(schema, "", &options);
///
/// let explanation = explainer.explain(br#"{"name": "Ada"}"#)?.unwrap();
/// assert_eq!(explanation.mismatch.offset, 14);
/// assert_eq!(explanation.value.as_deref(), Some(""));
/// assert_eq!(explanation.keyword().unwrap().keyword, "#/required");
/// let nearest = explainer.nearest(br#"{"name": "Ada"}"#)?.unwrap();
/// assert_eq!(nearest.text, br#"{"name": "Ada","age":0}"#);
///
/// let explanation = explainer.explain(br#"{"name": "Ada", "age": 130}"#)?.unwrap();
/// let keyword = explanation.keyword().unwrap();
/// assert_eq!((&*keyword.instance, &*keyword.keyword), ("/age", "#/properties/age/maximum"));
/// # Ok::<(), structgen::Error>(())
/// ```
#[derive(Debug)]
pub struct Explainer {
    checker: Checker,
    form: Form,
    schema: Option<Schema>,
    rules: Option<Rules>,
    /// The keys that the grammar's objects declare, without duplicates, in the grammar's order.
    keys: Vec<String>,
}

/// A schema, and how it was compiled.
#[derive(Debug)]
struct Schema {
    document: String,
    pointer: String,
    options: SchemaOptions,
}

/// Why a text does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Where it stops matching, and what would be allowed there.
    pub mismatch: Mismatch,
    /// The reason.
    pub cause: Cause,
    /// The JSON Pointer of the invalid value, if the text should be JSON of a schema; empty for the whole document.
    pub value: Option<String>,
    /// The rules of a grammar in which the text stops matching, outermost first.
    pub rules: Vec<RuleAt>,
    /// What each rule could continue with there.
    pub expected_of_rules: Vec<NextRule>,
}

/// Why a text stops matching.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A value violates a keyword of the schema.
    Keyword(Violation),
    /// The text is not JSON there.
    NotJson,
    /// The text is JSON so far, but ends too early.
    EndsEarly,
    /// An object contains this key twice.
    RepeatedKey(String),
    /// The value violates no keyword, but a limit of the profile on how values are written.
    Limit(FormLimit),
    /// The value violates no keyword, but the profile leaves it out of a format.
    Format(PartialFormat),
    /// The value violates no keyword of JSON Schema. Either it is not written in the required form (the order of keys,
    /// whitespace, escapes, the form of a number), or it violates a relation to other values that `x-structgen`
    /// demands.
    Form,
    /// The constraint is not a schema, or its keywords could not be checked.
    Text,
}

impl Cause {
    /// Returns the kind of cause as one word, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Keyword(_) => "keyword",
            Self::NotJson => "not-json",
            Self::EndsEarly => "ends-early",
            Self::RepeatedKey(_) => "repeated-key",
            Self::Limit(_) => "limit",
            Self::Format(_) => "format",
            Self::Form => "form",
            Self::Text => "text",
        }
    }
}

impl Explanation {
    /// Returns the keyword that the value violates, if that is the cause.
    #[must_use]
    pub fn keyword(&self) -> Option<&Violation> {
        match &self.cause {
            Cause::Keyword(violation) => Some(violation),
            _ => None,
        }
    }

    /// Returns whether the text may be valid under the schema after all: the profile `exact`, which stands for the
    /// schema itself, stopped at one of its limits or leaves the value out of a format.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        match &self.cause {
            Cause::Limit(limit) => limit.profile == Profile::Exact,
            Cause::Format(format) => format.profile == Profile::Exact,
            _ => false,
        }
    }
}

impl Explainer {
    /// Creates an explainer for a constraint and its checker, whose cancel token also applies to explanations.
    #[must_use]
    pub fn new(constraint: &Constraint, checker: Checker) -> Self {
        Self {
            checker,
            form: Form::of(constraint),
            schema: None,
            rules: None,
            keys: declared_keys(constraint),
        }
    }

    /// Adds the keywords of the schema that the constraint was compiled from, at a JSON Pointer of its document.
    #[must_use]
    pub fn with_schema(mut self, document: &str, pointer: &str, options: &SchemaOptions) -> Self {
        self.schema = Some(Schema {
            document: document.to_owned(),
            pointer: pointer.to_owned(),
            options: options.clone(),
        });
        self
    }

    /// Adds the rules of the grammar that the constraint was compiled from, with their lines.
    ///
    /// Rules that cannot be told apart in a text, such as those in the values of an embedded schema, are ignored.
    ///
    /// # Errors
    /// [`Error::Gbnf`](crate::Error::Gbnf) if the text is not the grammar.
    pub fn with_grammar(
        mut self,
        constraint: &Constraint,
        text: &str,
        options: &GbnfOptions,
    ) -> Result<Self> {
        self.rules = Rules::of(constraint.grammar(), text, options)?;
        Ok(self)
    }

    /// Returns the checker.
    #[must_use]
    pub fn checker(&self) -> &Checker {
        &self.checker
    }

    /// Explains why a whole text does not match; returns `None` if it does.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) if a limit is exceeded.
    pub fn explain(&self, text: &[u8]) -> Result<Option<Explanation>> {
        let mismatch = self.checker.check(text)?;
        Ok(mismatch.map(|mismatch| self.explain_mismatch(text, mismatch)))
    }

    /// Explains why a text is not a prefix of one that matches; returns `None` if it is.
    ///
    /// # Errors
    /// As for [`Explainer::explain`].
    pub fn explain_beginning(&self, text: &[u8]) -> Result<Option<Explanation>> {
        let mismatch = self.checker.check(text)?;
        let mismatch = mismatch.filter(|mismatch| mismatch.offset < text.len());
        Ok(mismatch.map(|mismatch| self.explain_mismatch(text, mismatch)))
    }

    /// Explains why a text does not match, given the checker's mismatch.
    ///
    /// # Panics
    /// If the mismatch is of a longer text.
    #[must_use]
    pub fn explain_mismatch(&self, text: &[u8], mismatch: Mismatch) -> Explanation {
        let (cause, value) = match &self.schema {
            Some(schema) => cause::find(schema, &self.form, text, mismatch.offset),
            None => (Cause::Text, None),
        };
        let (mut rules, mut expected_of_rules) = (Vec::new(), Vec::new());
        if let Some(known) = &self.rules {
            let before = &text[..mismatch.offset];
            let mut steps = MOST_STEPS;
            rules = known.in_progress(before, &mut steps);
            expected_of_rules = known.expected(before, &mismatch.expected, &mut steps);
        }
        Explanation {
            cause,
            value,
            rules,
            expected_of_rules,
            mismatch,
        }
    }

    /// Explains why a text does not match, given the checker's mismatch, if that is because of a limit of the profile
    /// `exact` or because it leaves the value out of a format. Whether the text is valid is then unknown.
    #[must_use]
    pub fn explain_undecided(&self, text: &[u8], mismatch: &Mismatch) -> Option<Explanation> {
        // Usually no keyword has to be checked to see that it is known.
        self.schema.as_ref()?;
        let outline = Outline::of(text);
        if !self.form.may_be_undecided(text, mismatch.offset, &outline) {
            return None;
        }
        let explanation = self.explain_mismatch(text, mismatch.clone());
        explanation.is_undecided().then_some(explanation)
    }

    /// Returns a whole text that matches and is close to this one, if a search of [`NEAREST_STEPS`] steps finds one. It
    /// takes about a second at most, and about 64 MB of memory for new states.
    ///
    /// # Errors
    /// As for [`Explainer::explain`].
    pub fn nearest(&self, text: &[u8]) -> Result<Option<NearText>> {
        let found = self.checker.matcher().nearest_text(text, NEAREST_STEPS)?;
        // The search only walks the automaton, so the text should match; check it all the same.
        match found {
            Some(found) if self.checker.check(&found.text)?.is_none() => Ok(Some(found)),
            _ => Ok(None),
        }
    }
}

/// Returns the keys that objects of the grammar declare.
fn declared_keys(constraint: &Constraint) -> Vec<String> {
    const MOST_KEYS: usize = 2_000;
    let mut keys: Vec<String> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for expr in constraint.grammar().exprs() {
        let Expr::Object(shape) = expr else {
            continue;
        };
        for property in &shape.properties {
            if keys.len() < MOST_KEYS && known.insert(&property.key) {
                keys.push(property.key.to_string());
            }
        }
    }
    keys
}

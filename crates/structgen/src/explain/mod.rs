//! Why a text is not valid, what would be near to it, and what may come after its beginning.
//!
//! Where a text stops matching is found by the automaton that masks come from, and so is the nearest text. An automaton
//! does not know which keyword of a schema, or which rule of a grammar, a state came from; that is found apart: the
//! value is judged by the schema keyword by keyword, with what is open closed, and the text is read as rules.

mod cause;
mod json;
mod next;
mod outline;
mod rules;
mod tokens;

use structgen_constraint::NearText;
use structgen_frontend::gbnf::GbnfOptions;
use structgen_frontend::json_schema::Violation;
use structgen_grammar::Expr;

use crate::{Checker, Constraint, Misfit, Result, SchemaOptions};

pub use next::{Next, NextKey, NextRule};
pub use rules::RuleAt;
pub use tokens::{NextToken, NextTokens};

use rules::Rules;

/// How many steps of the automaton the search for the nearest text takes, at most.
const NEAREST_STEPS: u64 = 100_000;

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
/// assert_eq!(explanation.misfit.offset, 14);
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
    schema: Option<Schema>,
    rules: Option<Rules>,
    /// The keys that the grammar's objects declare, each once, in the grammar's order.
    keys: Vec<String>,
}

/// A schema, and what it was compiled with.
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
    /// Where it stops matching, and what could stand there.
    pub misfit: Misfit,
    /// Why.
    pub cause: Cause,
    /// The JSON Pointer of the value that is wrong, where the text is to be JSON of a schema; empty for the whole.
    pub value: Option<String>,
    /// The rules of a grammar in which the text stops matching, the outermost first.
    pub rules: Vec<RuleAt>,
    /// What each rule could go on with there.
    pub expected_of_rules: Vec<NextRule>,
}

/// Why a text stops matching.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A value breaks a keyword of the schema.
    Keyword(Violation),
    /// The text is not JSON there.
    NotJson,
    /// The text is JSON so far, and ends too early.
    EndsEarly,
    /// An object has this key twice.
    RepeatedKey(String),
    /// The value breaks no keyword of JSON Schema. It is not written as it has to be (the order of keys, whitespace,
    /// escapes, the form of a number), or a relation to other values does not hold, which `x-structgen` asks for.
    Form,
    /// The constraint is no schema, or its keywords could not be consulted.
    Text,
}

impl Cause {
    /// The kind of cause as one word, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Keyword(_) => "keyword",
            Self::NotJson => "not-json",
            Self::EndsEarly => "ends-early",
            Self::RepeatedKey(_) => "repeated-key",
            Self::Form => "form",
            Self::Text => "text",
        }
    }
}

impl Explanation {
    /// The keyword that the value breaks, where that is the cause.
    #[must_use]
    pub fn keyword(&self) -> Option<&Violation> {
        match &self.cause {
            Cause::Keyword(violation) => Some(violation),
            _ => None,
        }
    }
}

impl Explainer {
    /// Explains the texts of a constraint by its checker, whose cancel token counts for explanations, too.
    #[must_use]
    pub fn new(constraint: &Constraint, checker: Checker) -> Self {
        Self {
            checker,
            schema: None,
            rules: None,
            keys: declared_keys(constraint),
        }
    }

    /// The same, with the keywords of the schema that the constraint was compiled from, at a JSON Pointer of its
    /// document.
    #[must_use]
    pub fn with_schema(mut self, document: &str, pointer: &str, options: &SchemaOptions) -> Self {
        self.schema = Some(Schema {
            document: document.to_owned(),
            pointer: pointer.to_owned(),
            options: options.clone(),
        });
        self
    }

    /// The same, with the rules of the grammar that the constraint was compiled from, and their lines.
    ///
    /// Rules that cannot be told apart in a text, as in the values of a schema within the grammar, are left out.
    ///
    /// # Errors
    /// [`Error::Gbnf`](crate::Error::Gbnf) when the text is not the grammar.
    pub fn with_grammar(
        mut self,
        constraint: &Constraint,
        text: &str,
        options: &GbnfOptions,
    ) -> Result<Self> {
        self.rules = Rules::of(constraint.grammar(), text, options)?;
        Ok(self)
    }

    /// What finds out whether a text matches.
    #[must_use]
    pub fn checker(&self) -> &Checker {
        &self.checker
    }

    /// Why a whole text does not match; none where it does.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) when a limit is exceeded.
    pub fn explain(&self, text: &[u8]) -> Result<Option<Explanation>> {
        let misfit = self.checker.check(text)?;
        Ok(misfit.map(|misfit| self.explain_misfit(text, misfit)))
    }

    /// Why a text is not the beginning of one that matches; none where it is.
    ///
    /// # Errors
    /// As [`Explainer::explain`].
    pub fn explain_beginning(&self, text: &[u8]) -> Result<Option<Explanation>> {
        let misfit = self.checker.check(text)?;
        let misfit = misfit.filter(|misfit| misfit.offset < text.len());
        Ok(misfit.map(|misfit| self.explain_misfit(text, misfit)))
    }

    /// Why a text does not match that the checker refused.
    ///
    /// # Panics
    /// When the misfit is of a longer text.
    #[must_use]
    pub fn explain_misfit(&self, text: &[u8], misfit: Misfit) -> Explanation {
        let (cause, value) = match &self.schema {
            Some(schema) => cause::find(schema, text, misfit.offset),
            None => (Cause::Text, None),
        };
        let (mut rules, mut expected_of_rules) = (Vec::new(), Vec::new());
        if let Some(known) = &self.rules {
            let before = &text[..misfit.offset];
            rules = known.in_progress(before);
            expected_of_rules = known.expected(before, &misfit.expected);
        }
        Explanation {
            cause,
            value,
            rules,
            expected_of_rules,
            misfit,
        }
    }

    /// A whole text that matches, near to this one, where a bounded search finds one.
    ///
    /// # Errors
    /// As [`Explainer::explain`].
    pub fn nearest(&self, text: &[u8]) -> Result<Option<NearText>> {
        let found = self.checker.matcher().nearest_text(text, NEAREST_STEPS)?;
        // The search only walks the automaton, so this holds; what is shown as matching has been checked all the same.
        match found {
            Some(found) if self.checker.check(&found.text)?.is_none() => Ok(Some(found)),
            _ => Ok(None),
        }
    }
}

/// The keys that objects of the grammar declare.
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

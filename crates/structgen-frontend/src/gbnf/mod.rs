//! GBNF, the grammar notation of llama.cpp, to the grammar IR.
//!
//! The whole notation is supported: rules, alternatives, groups, `.`, the quantifiers `*`, `+`, `?`, `{m}`, `{m,}` and
//! `{m,n}`, classes and negated classes, every escape, comments, and token terminals such as `<[1000]>`, `<think>` and
//! `!<think>`. Line ends mean the same as in llama.cpp. Beyond that, rules may be left-recursive, counters may be
//! large, and groups may nest to any depth.
//!
//! These extensions are accepted unless [`GbnfOptions::strict`] is set. None of them is valid in llama.cpp's notation,
//! so its grammars mean the same either way:
//!
//! - `_` in the names of rules;
//! - `/[a-z]+/i`: a pattern in the syntax of the crate `regex`, with look-around, that matches as a whole; flags are
//!   `i`, `m`, `s` and `x`, and a slash in it is written `\/`;
//! - `a & b`: the intersection, and `~a`: the complement. `&` binds tighter than `|` and looser than a sequence, `~`
//!   tighter than quantifiers. Operands are regular: literals, classes, patterns, and rules that are not recursive. So
//!   `word & ~("no" | "yes")` excludes, and `line & .{0,80}` limits the characters;
//! - `%until "</a>"`: any text up to the first `</a>`, which is part of it;
//! - `@name(a)`: a text of `a`, whose span in the output has a name
//!   ([`Expr::Capture`](structgen_grammar::Expr::Capture)). It does not change the language, and it cannot be an
//!   operand. Named groups in a pattern are plain groups; `@name(/…/)` captures its match;
//! - `%json {"type": "integer"}`: a JSON value that is valid under the schema, without whitespace around it. `%json
//!   "types.json"` takes the schema from a file, and `%json "types.json#/$defs/name"` one at a JSON Pointer in it.
//!   [`GbnfOptions::schema`] and `x-structgen` in a schema decide how JSON is written, which must be the same in the
//!   whole grammar. A schema cannot be an operand, unless its values are a few literals. With
//!   `"x-structgen": {"source": "input"}` its strings and numbers come from an input, once the grammar is bound to one;
//! - `%import date "types/date.gbnf"`, on a line of its own: `date` is the rule `root` of that file, and `date::year`
//!   its rule `year`. The names that the file itself imports are not visible; cyclic imports are an error;
//! - `%chars{2,80}(a)`: a text of `a` of 2 to 80 characters (code points), with all forms of a counter; `a` is regular,
//!   like an operand;
//! - `%tokens{0,50}(a)`: a text of `a` in which at most 50 tokens begin ([`Guide`](structgen_grammar::Guide)). There is
//!   no lower limit, because a text can always be split into more tokens. What is begun is always completed: a token is
//!   refused if more bytes are missing after it than tokens are left. So a limit below the length in bytes of the
//!   shortest text is an error when the grammar is compiled;
//! - `%temperature{0.7}(a)`: a text of `a` whose tokens are drawn at this temperature, whatever the sampler's own is.
//!   If the next token may begin in several such parts, the innermost counts, and among alternatives the highest.
//!
//! Neither `%tokens` nor `%temperature` changes the language. They cannot be in an operand, and left recursion through
//! them is an error.
//!
//! Files come from [`GbnfOptions::files`] only.

mod atoms;
mod complaint;
mod error;
mod extension;
mod files;
mod groups;
mod lines;
mod parser;
mod schemas;
mod sources;
mod syntax;
mod warning;

use structgen_grammar::Grammar;

use self::lines::Lines;
use crate::json_schema::SchemaOptions;

pub use error::{GbnfError, GbnfErrorKind};
pub use files::{GbnfFileError, GbnfFiles};
pub use warning::{GbnfWarning, GbnfWarningKind};

/// How a grammar is parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct GbnfOptions {
    /// The rule that a whole text must match.
    pub root: String,
    /// Whether only llama.cpp's notation is accepted. Every grammar of that notation means the same without this.
    pub strict: bool,
    /// The maximum nesting of parentheses, which costs memory but no call stack.
    pub max_nesting: u32,
    /// How JSON Schemas in it are compiled. The limits are for all of them together.
    pub schema: SchemaOptions,
    /// The files that it may use; without them, using one is an error.
    pub files: Option<GbnfFiles>,
}

impl Default for GbnfOptions {
    /// The root `root`, extensions, a million nested parentheses, default options for schemas, and no files.
    fn default() -> Self {
        Self {
            root: "root".to_owned(),
            strict: false,
            max_nesting: 1_000_000,
            schema: SchemaOptions::new(),
            files: None,
        }
    }
}

/// Parses a grammar.
///
/// Rules stay rules and counters stay counters; classes become regular terminals. Rules may be left-recursive.
///
/// ```
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let grammar = parse("root ::= \"yes\" | answer{2,3}\nanswer ::= [a-z]+ # any word", &GbnfOptions::default())?;
/// assert_eq!(grammar.rules().len(), 2);
///
/// let error = parse("root ::= answer", &GbnfOptions::default()).unwrap_err();
/// assert_eq!((error.line, error.column), (1, 10));
/// # Ok::<(), structgen_frontend::gbnf::GbnfError>(())
/// ```
///
/// # Errors
/// If the text is not GBNF, refers to an undefined rule, defines one twice, has no root, or exceeds a limit.
pub fn parse(text: &str, options: &GbnfOptions) -> Result<Grammar, GbnfError> {
    Ok(parser::parse(text, options)?.grammar)
}

/// Parses a grammar, and returns warnings about probable mistakes, in the order of the text.
///
/// ```
/// use structgen_frontend::gbnf::{GbnfOptions, parse_with_warnings};
///
/// let text = "root ::= \"a\" | loop\nloop ::= \"x\" loop\nspare ::= \"b\"";
/// let (_, warnings) = parse_with_warnings(text, &GbnfOptions::default())?;
/// let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
/// assert_eq!(
///     warnings,
///     [
///         "line 2, column 1: the rule `loop` derives no text: it has no alternative that ends",
///         "line 3, column 1: nothing that starts from the root leads to the rule `spare`"
///     ]
/// );
/// # Ok::<(), structgen_frontend::gbnf::GbnfError>(())
/// ```
///
/// # Errors
/// As [`parse`].
pub fn parse_with_warnings(
    text: &str,
    options: &GbnfOptions,
) -> Result<(Grammar, Vec<GbnfWarning>), GbnfError> {
    let parsed = parser::parse(text, options)?;
    let warnings = warning::find(text, &parsed);
    Ok((parsed.grammar, warnings))
}

/// Where a grammar defines a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The rule's name.
    pub name: String,
    /// The line of its definition, from 1.
    pub line: usize,
    /// The column, in code points, from 1.
    pub column: usize,
}

/// Where the rules of a grammar are defined, in the order of the text; those of imported files are not among them.
///
/// ```
/// use structgen_frontend::gbnf::{GbnfOptions, rule_places};
///
/// let places = rule_places("root ::= word\nword ::= [a-z]+", &GbnfOptions::default())?;
/// assert_eq!((&*places[1].name, places[1].line), ("word", 2));
/// # Ok::<(), structgen_frontend::gbnf::GbnfError>(())
/// ```
///
/// # Errors
/// As [`parse`].
pub fn rule_places(text: &str, options: &GbnfOptions) -> Result<Vec<RulePlace>, GbnfError> {
    let mut places: Vec<(usize, String)> = { parser::parse(text, options)?.places.into_iter() }
        .map(|(name, position)| (position, name))
        .collect();
    places.sort_unstable();
    let mut lines = Lines::new(text);
    let place = |(position, name)| {
        let (line, column) = lines.find(position);
        RulePlace { name, line, column }
    };
    Ok(places.into_iter().map(place).collect())
}

#[cfg(test)]
mod tests;

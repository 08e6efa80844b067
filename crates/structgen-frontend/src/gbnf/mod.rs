//! GBNF, the grammar notation of llama.cpp, to the grammar IR.
//!
//! Everything of the notation is read: rules, alternatives, groups, `.`, the quantifiers `*`, `+`, `?`, `{m}`, `{m,}` and `{m,n}`, classes and negated
//! classes, every escape, comments, and token terminals such as `<[1000]>`, `<think>` and `!<think>`. Line ends mean what they mean in
//! llama.cpp. What is more than there: rules may be left-recursive, counters may be large, and groups may nest in any depth.
//!
//! These extensions are read unless [`GbnfOptions::strict`] refuses them; none of them is a text of llama.cpp's notation, so that its grammars mean the same
//! either way:
//!
//! - `/[a-z]+/i`: a pattern in the syntax of the crate `regex`, with look-around, that matches as a whole; flags are `i`, `m`, `s` and `x`, and a slash
//!   in it is written `\/`;
//! - `a & b`: what both are texts of, and `~a`: any text that is none of `a`. `&` binds tighter than `|` and looser than a sequence, `~` tighter than
//!   quantifiers. Operands are regular: literals, classes, patterns, and rules that do not come back to themselves. So `word & ~("no" | "yes")`
//!   excludes, and `line & .{0,80}` limits the characters;
//! - `%until "</a>"`: any text up to the first `</a>`, which is part of it;
//! - `@name(a)`: a text of `a`, whose span in the output has a name ([`Expr::Capture`](structgen_grammar::Expr::Capture)). It says nothing about which texts there are, and
//!   is no operand. Named groups in a pattern are groups; `@name(/…/)` names what it matches;
//! - `%json {"type": "integer"}`: a JSON value that fits the schema, from its first byte to its last. `%json "types.json"` takes the schema from a file, and
//!   `%json "types.json#/$defs/name"` one at a JSON Pointer in it. [`GbnfOptions::schema`] and `x-structgen` in a schema say how JSON is written, which has to be one way in the
//!   whole grammar. A schema is no operand, but where its values are a few literals;
//! - `%import date "types/date.gbnf"`, on a line of its own: `date` is the rule `root` of that file, and `date::year` its rule `year`. What the file itself imports is its own
//!   business; files may not import one another in a circle;
//! - `%chars{2,80}(a)`: a text of `a` of 2 to 80 characters (code points), with all forms of a counter; `a` is regular, as an operand is;
//! - `%tokens{0,50}(a)`: a text of `a` in which at most 50 tokens begin ([`Guide`](structgen_grammar::Guide)). A text can be cut into more tokens than it must, so there is no
//!   fewest. What is begun is always completed: a token is refused behind which more bytes are missing than tokens are left. So a limit below the bytes of the shortest text is
//!   an error where the grammar is compiled;
//! - `%temperature{0.7}(a)`: a text of `a` whose tokens are drawn at this temperature, whatever the sampler's own is. Where the next token may begin in several
//!   such parts, the innermost counts, and of those side by side the highest.
//!
//! Neither `%tokens` nor `%temperature` says anything about which texts there are, and what they stand at is no operand; nor may a rule begin with itself through them.
//!
//! Files come from [`GbnfOptions::files`] and from nowhere else.

mod atoms;
mod complaint;
mod error;
mod extension;
mod files;
mod groups;
mod parser;
mod schemas;
mod sources;
mod syntax;
mod warning;

use structgen_grammar::Grammar;

use crate::json_schema::SchemaOptions;

pub use error::{GbnfError, GbnfErrorKind};
pub use files::{GbnfFileError, GbnfFiles};
pub use warning::{GbnfWarning, GbnfWarningKind};

/// How a grammar is read.
#[derive(Clone, Debug, PartialEq)]
pub struct GbnfOptions {
    /// The rule that a whole text has to match.
    pub root: String,
    /// Whether nothing but llama.cpp's notation is read. Every grammar of that notation means the same without this.
    pub strict: bool,
    /// How deep parentheses may nest. Nesting costs memory and no call depth.
    pub max_nesting: u32,
    /// How JSON Schemas in it are compiled. Their limits are those of all of them together.
    pub schema: SchemaOptions,
    /// The files that it may name; without them, to name one is an error.
    pub files: Option<GbnfFiles>,
}

impl Default for GbnfOptions {
    /// The root `root`, extensions, a million nested parentheses, schemas as for generating, and no files.
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

/// Reads a grammar.
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
/// When the text is no GBNF, names a rule that is not defined, defines one twice, has no root, or exceeds a limit.
pub fn parse(text: &str, options: &GbnfOptions) -> Result<Grammar, GbnfError> {
    Ok(parser::parse(text, options)?.grammar)
}

/// Reads a grammar, and finds what is sound in it and yet most likely a mistake, in the order of the text.
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

#[cfg(test)]
mod tests;

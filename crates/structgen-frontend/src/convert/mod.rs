//! Other notations of grammars, converted to GBNF text: ABNF (RFC 5234, with RFC 7405's case-sensitive strings), the
//! EBNF of the W3C's specifications, and llguidance's dialect of Lark.
//!
//! The result is meant to be read and edited, and to be parsed by [`gbnf::parse`](crate::gbnf::parse). It describes the
//! same language; exceptions (`A - B` of the EBNF) become the extension `A & ~B` of GBNF.

mod abnf;
mod ebnf;
mod lark;
mod scanner;
mod tree;

/// Why a grammar cannot be converted, and where.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ConvertError {
    /// The line, counted from one.
    pub line: usize,
    /// The column in code points, counted from one.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

structgen_sentence::debug_as_sentence!(ConvertError);

/// A source notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notation {
    /// ABNF. Its values are code points; its strings ignore the case of ASCII letters. The core rules (`ALPHA`,
    /// `DIGIT`, …) are added if they are used.
    Abnf,
    /// The EBNF of XML 1.0 and other specifications of the W3C.
    Ebnf,
    /// The dialect of Lark that llguidance reads, as far as it describes a language: rules and terminals, `|`, `&`,
    /// `~`, repetitions, strings, ranges, patterns, special tokens, `%json`, `%import common`, `%ignore` and the
    /// attributes `capture`, `lazy`, `suffix` and `stop`. Attributes about generation (`max_tokens`, `temperature`),
    /// templates, parameters and nested grammars are errors.
    ///
    /// A grammar means what it states, without llguidance's lexer, which ends a lexeme only where it cannot continue.
    /// Ignored text may occur between two lexemes. A rule with a `stop` matches the texts without the stop.
    Lark,
}

/// Converts a grammar to GBNF. The root is the rule named `root`, or the first rule (in Lark, `start`) if that is
/// `None`. Only ABNF ignores the case of names.
///
/// ```
/// use structgen_frontend::convert::{Notation, to_gbnf};
///
/// let gbnf = to_gbnf("number = 1*3DIGIT [\".\" 1*DIGIT]", Notation::Abnf, None)?;
/// assert_eq!(
///     gbnf,
///     "root ::= number\nnumber ::= digit{1,3} (\".\" digit+)?\ndigit ::= [0-9]\n"
/// );
/// let gbnf = to_gbnf("name ::= [a-z] [a-z0-9]* - 'xml'", Notation::Ebnf, None)?;
/// assert_eq!(gbnf, "root ::= name\nname ::= [a-z] ([a-z0-9]* & ~\"xml\")\n");
/// let gbnf = to_gbnf("start: \"n\" INT\n%import common.INT\n%ignore \" \"", Notation::Lark, None)?;
/// assert_eq!(gbnf, "root ::= start\nstart ::= \"n\" (ignored INT)\nINT ::= /[0-9]+/\nignored ::= \" \"*\n");
/// # Ok::<(), structgen_frontend::convert::ConvertError>(())
/// ```
///
/// # Errors
/// With the position, if the text is invalid, refers to an undefined rule, or has a prose description instead of a
/// rule.
pub fn to_gbnf(text: &str, notation: Notation, root: Option<&str>) -> Result<String, ConvertError> {
    let rules = match notation {
        Notation::Abnf => abnf::parse(text)?,
        Notation::Ebnf => ebnf::parse(text)?,
        Notation::Lark => lark::rules(text, root)?,
    };
    let lower_case = root.map(str::to_ascii_lowercase);
    let root = match notation {
        Notation::Abnf => lower_case.as_deref(),
        Notation::Ebnf => root,
        // The first rule of Lark is the start rule, which is renamed if something is ignored.
        Notation::Lark => None,
    };
    rules.write(text, root)
}

#[cfg(test)]
mod tests;

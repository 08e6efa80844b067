//! Other notations of grammars, converted to GBNF text: ABNF (RFC 5234, with RFC 7405's case-sensitive strings) and the EBNF of the W3C's specifications.
//!
//! What comes out is for people to read and to go on with, and for [`gbnf::parse`](crate::gbnf::parse). The texts are the same; where a notation
//! has exceptions (`A - B` of the EBNF), the extension `A & ~B` of GBNF stands for them.

mod abnf;
mod ebnf;
mod scanner;
mod tree;

/// Why a grammar cannot be converted, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ConvertError {
    /// The line, counted from one.
    pub line: usize,
    /// The column in code points, counted from one.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// A notation that is converted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notation {
    /// ABNF. Its values are code points; strings in it ignore the case of ASCII letters, as the RFC says. The core rules (`ALPHA`, `DIGIT`, …) are
    /// added where they are needed.
    Abnf,
    /// The EBNF of XML 1.0 and other specifications of the W3C.
    Ebnf,
}

/// Converts a grammar to GBNF. The root is the rule of that name, or else the first rule.
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
/// # Ok::<(), structgen_frontend::convert::ConvertError>(())
/// ```
///
/// # Errors
/// With the place, when the text is none of the notation, names a rule that is not defined, or has a prose description instead of a rule.
pub fn to_gbnf(text: &str, notation: Notation, root: Option<&str>) -> Result<String, ConvertError> {
    let rules = match notation {
        Notation::Abnf => abnf::parse(text)?,
        Notation::Ebnf => ebnf::parse(text)?,
    };
    rules.write(text, root)
}

#[cfg(test)]
mod tests;

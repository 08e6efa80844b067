//! Other notations of grammars: the first byte chooses which, the rest is the text.

use structgen_frontend::convert::{Notation, to_gbnf};
use structgen_frontend::gbnf::{GbnfOptions, parse};

use crate::SplitMix;
use crate::walk;

/// Converts a grammar, reads the result and generates from it.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When a text that was generated does not fit, on a dead end, and when an error has no place.
pub fn convert(data: &[u8]) -> bool {
    let Some((&how, text)) = data.split_first() else {
        return false;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    let notation = [Notation::Abnf, Notation::Ebnf, Notation::Lark][usize::from(how) % 3];
    let gbnf = match to_gbnf(text, notation, None) {
        Ok(gbnf) => gbnf,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1 && !error.message.is_empty());
            return false;
        }
    };
    // Patterns and schemas in it are read only now, and may be refused.
    let Ok(grammar) = parse(&gbnf, &GbnfOptions::default()) else {
        return false;
    };
    let Ok(constraint) = walk::compile(grammar) else {
        return false;
    };
    let Some(text) = walk::text(&constraint, &mut SplitMix::new(u64::from(how)), 16) else {
        return false;
    };
    walk::is_taken(&constraint, &text);
    true
}

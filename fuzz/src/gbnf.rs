//! GBNF: the bytes are the grammar.

use structgen_frontend::gbnf::{GbnfOptions, parse};

use crate::SplitMix;
use crate::walk::{self, show, within_limits};

/// Reads a grammar, generates from it, and checks what came out.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When a text that was generated does not fit, or on a dead end.
pub fn gbnf(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let grammar = match parse(text, &GbnfOptions::default()) {
        Ok(grammar) => grammar,
        Err(error) => {
            // The error shows the place that it is about.
            assert!(error.line >= 1 && error.column >= 1 && !error.to_string().is_empty());
            return false;
        }
    };
    let Ok(constraint) = walk::compile(grammar) else {
        return false;
    };
    let mut random = SplitMix::new(data.len() as u64);
    for _ in 0..3 {
        let Some(text) = walk::text(&constraint, &mut random, 16) else {
            return false;
        };
        // A token that the grammar names has no text to check.
        if !constraint.program().token_terminals().is_empty() {
            continue;
        }
        let refusal = within_limits(constraint.matcher().check_text(&text));
        assert!(
            matches!(refusal, None | Some(None)),
            "{:?} does not fit: {refusal:?}",
            show(&text)
        );
    }
    true
}

//! How deep parentheses nest, found out before the parser recurses into them.

use super::{GbnfError, GbnfErrorKind};

/// Refuses text whose parentheses nest deeper than the limit. What is no GBNF may pass: the parser has its own say.
pub(super) fn check(text: &str, limit: u32) -> Result<(), GbnfError> {
    #[derive(PartialEq)]
    enum Inside {
        Rule,
        Literal,
        Class,
        Comment,
        Token,
    }
    let mut inside = Inside::Rule;
    let mut depth = 0_u32;
    let mut chars = text.char_indices();
    while let Some((position, c)) = chars.next() {
        inside = match (inside, c) {
            (Inside::Rule, '"') => Inside::Literal,
            (Inside::Rule, '[') => Inside::Class,
            (Inside::Rule, '#') => Inside::Comment,
            (Inside::Rule, '<') => Inside::Token,
            (Inside::Literal, '"')
            | (Inside::Class, ']')
            | (Inside::Comment | Inside::Token, '\n' | '\r')
            | (Inside::Token, '>') => Inside::Rule,
            (same @ (Inside::Literal | Inside::Class), '\\') => {
                chars.next();
                same
            }
            (same, _) => same,
        };
        if inside != Inside::Rule {
            continue;
        }
        match c {
            '(' if depth == limit => {
                return Err(GbnfError::at(
                    text,
                    position,
                    GbnfErrorKind::Limit {
                        what: "nested parentheses",
                        limit,
                    },
                )
                .with_hint("give the inner part a rule of its own".to_owned()));
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

//! Markers: texts until the vocabulary is known, then tokens.

use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{Expr, ExprId, Grammar, GrammarBuilder, RuleId, TokenTerminal};
use structgen_vocab::Vocabulary;

/// The rules of the markers, by text.
#[derive(Clone, Debug, Default)]
pub(crate) struct MarkerRules {
    rules: Vec<(String, RuleId)>,
    ids: KeyedMap<String, RuleId>,
}

impl MarkerRules {
    /// The rule of a marker; the empty marker needs none.
    pub(crate) fn marker(&mut self, builder: &mut GrammarBuilder, text: &str) -> ExprId {
        if text.is_empty() {
            return builder.bytes("");
        }
        let rule = match self.ids.get(text) {
            Some(&rule) => rule,
            None => {
                let rule = builder.declare(format!("marker {text:?}"));
                let body = builder.bytes(text);
                builder.define(rule, body);
                self.ids.insert(text.to_owned(), rule);
                self.rules.push((text.to_owned(), rule));
                rule
            }
        };
        builder.rule(rule)
    }
}

/// The grammar with its markers as this vocabulary encodes them: special tokens are those tokens, and everything else
/// is text, of any number of ordinary tokens.
pub(crate) fn for_vocabulary(
    grammar: Grammar,
    markers: &MarkerRules,
    vocabulary: &Vocabulary,
) -> Grammar {
    let (root, form) = (grammar.root(), grammar.form().clone());
    let mut specials: Vec<&str> = vocabulary.special_tokens().map(|(_, name)| name).collect();
    // Of two names with a common prefix the longer one is found, as in tokenizers.
    specials.sort_unstable_by_key(|name| (std::cmp::Reverse(name.len()), *name));
    let mut builder = GrammarBuilder::from(grammar);
    for (text, rule) in &markers.rules {
        let parts = split(text, &specials);
        let parts: Vec<ExprId> = parts
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => builder.bytes(text),
                Part::Token(name) => {
                    let token = TokenTerminal::Name(name.to_owned());
                    builder.expr(Expr::Token(token))
                }
            })
            .collect();
        let body = builder.sequence(parts);
        builder.define(*rule, body);
    }
    builder.finish(root, form)
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    Text(&'t str),
    Token(&'t str),
}

/// Splits a text into special tokens and the parts between them, from the left.
fn split<'t>(text: &'t str, specials: &[&'t str]) -> Vec<Part<'t>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if let Some(name) = specials.iter().find(|name| rest.starts_with(**name)) {
            if from < at {
                parts.push(Part::Text(&text[from..at]));
            }
            parts.push(Part::Token(name));
            at += name.len();
            from = at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    if from < text.len() {
        parts.push(Part::Text(&text[from..]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_split_at_special_tokens_from_the_left() {
        let specials = ["<|call|>", "<|c", "é"];
        assert_eq!(
            split("a<|call|>bé<|c!", &specials),
            [
                Part::Text("a"),
                Part::Token("<|call|>"),
                Part::Text("b"),
                Part::Token("é"),
                Part::Token("<|c"),
                Part::Text("!"),
            ]
        );
        assert_eq!(split("ab", &[]), [Part::Text("ab")]);
        assert_eq!(split("", &specials), []);
    }
}

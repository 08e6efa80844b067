//! Error messages for invalid grammars and undefined names.

use super::parser::{Expected, GbnfParser};
use super::sources::Declared;
use super::syntax;
use super::{GbnfError, GbnfErrorKind};

impl GbnfParser<'_, '_, '_> {
    pub(super) fn undefined(&self, name: &str, position: usize) -> GbnfError {
        let hint = match name.split_once("::") {
            None => match self.imported(name) {
                Some(_) => Some(format!(
                    "the file has no rule `root`; others of it are named as `{name}::rule`"
                )),
                None => alike(&self.declared[self.source], name),
            },
            Some((import, rule)) => match self.imported(import) {
                None => Some(format!("nothing is imported as `{import}`")),
                Some(source) => alike(&self.declared[source], rule),
            },
        };
        self.error(position, GbnfErrorKind::UndefinedRule(name.to_owned()))
            .with_hint(hint)
    }

    /// For an unexpected token.
    pub(super) fn unexpected(&self, position: usize) -> GbnfError {
        let names = match self.expected {
            Expected::Rule => vec!["a name", "the end of the text"],
            Expected::LineEnd => vec!["the end of the line"],
            Expected::Define => vec!["`::=`"],
            Expected::Item { .. } => {
                let mut names = vec!["something to match"];
                if self
                    .frames
                    .last()
                    .is_some_and(|frame| !frame.parts.is_empty())
                {
                    names.push("a quantifier");
                }
                names.push("`|`");
                let is_nested = self.frames.len() > 1;
                names.push(if is_nested {
                    "`)`"
                } else {
                    "the end of the rule"
                });
                names
            }
        };
        let kind = GbnfErrorKind::Syntax(syntax::one_of(names));
        let hint = syntax::token_over_lines(self.text, position).or_else(|| self.hint(position));
        self.error(position, kind).with_hint(hint)
    }

    /// Common mistakes, recognised by the text at the error.
    fn hint(&self, position: usize) -> Option<String> {
        let (before, rest) = self.text.split_at(position);
        let before = before.trim_end_matches([' ', '\t']);
        let starts_line = before.is_empty() || before.ends_with(['\n', '\r']);
        let is_nested = self.frames.len() > 1;
        if let Some(group) = self.frames.last().filter(|_| is_nested)
            && (rest.is_empty() || rest.starts_with("::="))
        {
            return Some(format!(
                "the parenthesis in line {}, column {} is not closed",
                GbnfError::line_of(self.text, group.opened),
                GbnfError::column_of(self.text, group.opened)
            ));
        }
        let hint = match (self.expected, rest.chars().next()?) {
            (Expected::Rule, '|') if starts_line => {
                "a rule ends with its line: end the line before in `|`, or put the alternatives in parentheses"
            }
            (Expected::Define, ':' | '=') => "rules are written `name ::= …`",
            (Expected::Define, _) => {
                "rules are written `name ::= …`; a rule ends with its line unless a parenthesis is open or the line ends in `|`"
            }
            (_, '\'') => "literals stand in double quotes",
            (_, '<' | '!') => {
                "a token is written `<text>` or `<[id]>`, and every other one `!<text>`"
            }
            (_, ':') => "a rule starts on a line of its own",
            (Expected::Rule, _) if starts_line => {
                "a rule ends with its line unless a parenthesis is open or the line ends in `|`"
            }
            (_, '*' | '+' | '?' | '{') => "a quantifier stands behind what it repeats",
            (_, ')') => "no parenthesis is open here",
            (_, '%') if rest.starts_with("%import") => {
                "an import stands on a line of its own, as `%import name \"file.gbnf\"`"
            }
            (_, '%') if rest.starts_with("%temperature") => syntax::TEMPERATURE,
            (_, '%') if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) => {
                "what begins with `%` is `%until \"…\"`, `%json {…}`, `%json \"file.json\"`, `%chars{0,80}(…)`, `%tokens{0,50}(…)`, `%temperature{0.7}(…)` or, on a line of its own, `%import name \"file.gbnf\"`"
            }
            (_, '@') => "a part of the output is named as `@name(…)`",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// A suggestion.
fn alike(declared: &Declared<'_>, name: &str) -> Option<String> {
    let close = declared
        .rules
        .keys()
        .filter(|known| known.eq_ignore_ascii_case(name) || is_close(known, name));
    let known = close.min()?;
    Some(format!("did you mean `{known}`?"))
}

/// Whether one of the names is the other with one character added, dropped or replaced, or two neighbours swapped.
fn is_close(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same_start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same_start..], &other[same_start..]);
    let same_end = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let one = &one[..one.len() - same_end];
    let other = &other[..other.len() - same_end];
    let swapped = one.len() == 2 && one.iter().eq(other.iter().rev());
    swapped || (one.len() <= 1 && other.len() <= 1)
}

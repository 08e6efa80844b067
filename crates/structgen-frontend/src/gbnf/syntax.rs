//! The parser that `pest` makes of `gbnf.pest`, and its complaints in words.

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pairs;

use super::{GbnfError, GbnfErrorKind};
pub(super) use parser::Rule;

mod parser {
    #![allow(missing_docs, reason = "made by a macro that writes no documentation")]
    #![allow(unreachable_pub, reason = "made by a macro that writes `pub`")]

    #[derive(pest_derive::Parser)]
    #[grammar = "gbnf/gbnf.pest"]
    pub struct Parser;
}

/// The text as one pair: the grammar, with its rules inside.
pub(super) fn parse(text: &str) -> Result<Pairs<'_, Rule>, GbnfError> {
    match parser::Parser::parse(Rule::grammar, text) {
        Ok(grammar) => Ok(grammar),
        Err(error) => {
            let position = match error.location {
                InputLocation::Pos(position) => position,
                InputLocation::Span((start, _)) => start,
            };
            let message = match &error.variant {
                ErrorVariant::ParsingError { positives, .. } => expected(positives),
                ErrorVariant::CustomError { message } => message.clone(),
            };
            Err(
                GbnfError::at(text, position, GbnfErrorKind::Syntax(message)).with_hint(hint(
                    text,
                    position,
                    &error.variant,
                )),
            )
        }
    }
}

/// What could have stood there, each thing once, in the order of this list.
fn expected(positives: &[Rule]) -> String {
    const NAMES: &[(&[Rule], &str)] = &[
        (&[Rule::rule], "a rule"),
        (&[Rule::define], "`::=`"),
        (&[Rule::item, Rule::nested_item], "something to match"),
        (&[Rule::literal], "a literal"),
        (&[Rule::class], "a class"),
        (&[Rule::name, Rule::reference], "a name"),
        (&[Rule::group], "`(`"),
        (&[Rule::any], "`.`"),
        (
            &[
                Rule::token,
                Rule::token_id,
                Rule::token_text,
                Rule::not_token,
            ],
            "a token",
        ),
        (&[Rule::number], "a number"),
        (&[Rule::comma], "`,` or `}`"),
        (
            &[Rule::literal_char, Rule::class_char, Rule::range],
            "a character",
        ),
        (
            &[
                Rule::escape,
                Rule::simple,
                Rule::hex2,
                Rule::hex4,
                Rule::hex8,
            ],
            "an escape",
        ),
        (&[Rule::negation], "`^`"),
        (&[Rule::quantifier, Rule::nested_quantifier], "a quantifier"),
        (&[Rule::bar], "`|`"),
    ];
    let mut names: Vec<&str> = NAMES
        .iter()
        .filter(|(rules, _)| rules.iter().any(|one| positives.contains(one)))
        .map(|&(_, name)| name)
        .collect();
    if positives.contains(&Rule::EOI) {
        // Behind an alternative, the line may end as well.
        names.push(if positives.contains(&Rule::bar) {
            "the end of the rule"
        } else {
            "the end of the text"
        });
    }
    if positives.contains(&Rule::bar) && !positives.contains(&Rule::EOI) {
        names.push("`)`");
    }
    match names.pop() {
        None => "this is not understood".to_owned(),
        Some(last) if names.is_empty() => format!("expected {last}"),
        Some(last) => format!("expected {} or {last}", names.join(", ")),
    }
}

/// What people write by mistake, told by what stands there.
fn hint(text: &str, position: usize, variant: &ErrorVariant<Rule>) -> Option<String> {
    let rest = &text[position..];
    let wants = |wanted: Rule| match variant {
        ErrorVariant::ParsingError { positives, .. } => positives.contains(&wanted),
        ErrorVariant::CustomError { .. } => false,
    };
    let before = text[..position].trim_end_matches([' ', '\t']);
    let starts_line = before.is_empty() || before.ends_with(['\n', '\r']);
    let nested = wants(Rule::bar) && !wants(Rule::EOI);
    let escaped =
        text[..position].ends_with('\\') || (wants(Rule::escape) && rest.starts_with('\\'));
    Some(
        match rest.chars().next() {
            _ if escaped => {
                "the escapes are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\xXX \\uXXXX and \\UXXXXXXXX"
            }
            Some('|') if starts_line => {
                "a rule ends with its line: end the line before in `|`, or put the alternatives in parentheses"
            }
            Some(':' | '=') if wants(Rule::define) => "rules are written `name ::= …`",
            Some(_) if wants(Rule::define) => {
                "rules are written `name ::= …`; a rule ends with its line unless a parenthesis is open or the line ends in `|`"
            }
            Some(_) if starts_line => {
                "a rule ends with its line unless a parenthesis is open or the line ends in `|`"
            }
            Some('\'') => "literals stand in double quotes",
            Some('*' | '+' | '?' | '{') => "a quantifier stands behind what it repeats",
            Some(',') if wants(Rule::number) => "a counter starts with the fewest times: `{0,3}`",
            Some(')') => "no parenthesis is open here",
            Some(']') if text[..position].ends_with(['[', '^']) => {
                "a class holds at least one character; a bracket in it is written `\\]`"
            }
            None if wants(Rule::literal_char) => "the literal is not closed",
            None if wants(Rule::range) || wants(Rule::class_char) => "the class is not closed",
            None if nested => "a parenthesis is not closed",
            None => "the text ends within a rule",
            _ => return None,
        }
        .to_owned(),
    )
}

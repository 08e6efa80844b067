//! The tokens that `pest` finds by `gbnf.pest`, and its errors in words.

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
    pub struct Tokens;
}

/// The valid tokens at the start of the text, and the position after them.
pub(super) fn tokens(text: &str) -> Result<(Pairs<'_, Rule>, usize), GbnfError> {
    let parsed = parser::Tokens::parse(Rule::prefix, text);
    let Some(prefix) = parsed.ok().and_then(|mut parsed| parsed.next()) else {
        // The empty prefix is valid, so this does not happen.
        let kind = GbnfErrorKind::Syntax("this is not understood".to_owned());
        return Err(GbnfError::at(text, 0, kind));
    };
    let end = prefix.as_span().end();
    Ok((prefix.into_inner(), end))
}

/// What is wrong within the token that begins at `start`; `None` if no token begins like that.
pub(super) fn broken_token(text: &str, start: usize) -> Option<GbnfError> {
    if let Some(pattern) = text[start..].strip_prefix('/') {
        // Two slashes start a comment in other notations but not in GBNF.
        let kind = GbnfErrorKind::Syntax("the pattern is not closed".to_owned());
        return (!pattern.starts_with('/')).then(|| {
            GbnfError::at(text, start, kind)
                .with_hint("a pattern ends in a slash, in its line".to_owned())
        });
    }
    let error = parser::Tokens::parse(Rule::whole, text).err()?;
    let position = match error.location {
        InputLocation::Pos(position) => position,
        InputLocation::Span((start, _)) => start,
    };
    let ErrorVariant::ParsingError { positives, .. } = &error.variant else {
        return None;
    };
    if position <= start {
        return None;
    }
    let over_lines = token_over_lines(text, position);
    if position == text.len()
        && let Some(what) = unclosed(text, positives)
    {
        // The missing part may belong anywhere up to the end of the text; only the start of the token is known.
        let kind = GbnfErrorKind::Syntax(what.to_owned());
        return Some(GbnfError::at(text, start, kind).with_hint(over_lines));
    }
    let kind = GbnfErrorKind::Syntax(expected(positives));
    let hint = over_lines.or_else(|| hint(text, position, positives));
    Some(GbnfError::at(text, position, kind).with_hint(hint))
}

/// The literal or class that is still open at the end of the text, if any.
fn unclosed(text: &str, positives: &[Rule]) -> Option<&'static str> {
    let wants = |wanted: Rule| positives.contains(&wanted);
    if text.ends_with('\\') {
        None
    } else if wants(Rule::text) {
        Some("the literal is not closed")
    } else if wants(Rule::range) || wants(Rule::class_char) {
        Some("the class is not closed")
    } else {
        None
    }
}

/// A hint about a literal or class in the same rule that spans several lines. Multi-line tokens are valid, but an
/// unclosed one ends where the next one begins, and what follows makes no sense.
pub(super) fn token_over_lines(text: &str, position: usize) -> Option<String> {
    let (tokens, _) = tokens(text).ok()?;
    let mut first = None;
    for token in tokens.flatten() {
        let span = token.as_span();
        if span.end() > position {
            break;
        }
        let what = match token.as_rule() {
            Rule::literal => "literal",
            Rule::class => "class",
            Rule::define => {
                first = None;
                continue;
            }
            _ => continue,
        };
        if span.as_str().contains(['\n', '\r']) {
            first.get_or_insert((what, span));
        }
    }
    let (what, span) = first?;
    Some(format!(
        "the {what} that begins in line {}, column {} ends in line {}: is it closed where it should be?",
        GbnfError::line_of(text, span.start()),
        GbnfError::column_of(text, span.start()),
        GbnfError::line_of(text, span.end()),
    ))
}

/// What was expected, each item once, in the order of this list.
fn expected(positives: &[Rule]) -> String {
    const NAMES: &[(&[Rule], &str)] = &[
        (&[Rule::number], "a number"),
        (&[Rule::decimal], "a number such as `0.7`"),
        (&[Rule::counter], "a counter such as `{0,80}`"),
        (&[Rule::open], "`(`"),
        (&[Rule::schema], "a schema in braces"),
        (&[Rule::literal], "a literal"),
        (&[Rule::comma], "`,` or `}`"),
        (&[Rule::text, Rule::class_char, Rule::range], "a character"),
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
        (&[Rule::token_id, Rule::token_text], "a token"),
        (&[Rule::capture_name, Rule::name], "a name"),
    ];
    let names = NAMES
        .iter()
        .filter(|(rules, _)| rules.iter().any(|one| positives.contains(one)))
        .map(|&(_, name)| name);
    one_of(names.collect())
}

/// `expected a, b or c`.
pub(super) fn one_of(mut names: Vec<&str>) -> String {
    match names.pop() {
        None => "this is not understood".to_owned(),
        Some(last) if names.is_empty() => format!("expected {last}"),
        Some(last) => format!("expected {} or {last}", names.join(", ")),
    }
}

/// How limits and temperatures are written.
const CHARS: &str = "a limit is written `%chars{0,80}(…)`, with the numbers of a counter";
const TOKENS: &str = "a limit is written `%tokens{0,50}(…)`, with the numbers of a counter";
pub(super) const TEMPERATURE: &str = "a temperature is written `%temperature{0.7}(…)`";

/// Common mistakes within a token, recognised by the text at the error.
fn hint(text: &str, position: usize, positives: &[Rule]) -> Option<String> {
    let rest = &text[position..];
    let wants = |wanted: Rule| positives.contains(&wanted);
    let escaped =
        text[..position].ends_with('\\') || (wants(Rule::escape) && rest.starts_with('\\'));
    Some(
        match rest.chars().next() {
            _ if escaped => {
                "the escapes are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\xXX \\uXXXX and \\UXXXXXXXX"
            }
            Some(',') if wants(Rule::number) => "a counter starts with the fewest times: `{0,3}`",
            Some(']') if text[..position].ends_with(['[', '^']) => {
                "a class holds at least one character; a bracket in it is written `\\]`"
            }
            _ if wants(Rule::decimal) || wants(Rule::counter) || wants(Rule::open) => {
                match text[..position].rsplit('%').next() {
                    Some(begun) if begun.starts_with("tokens") => TOKENS,
                    Some(begun) if begun.starts_with("temperature") => TEMPERATURE,
                    _ => CHARS,
                }
            }
            Some('{') if wants(Rule::schema) => "the braces of the schema are not closed",
            _ if wants(Rule::schema) => {
                "a schema is written `%json {…}`, or `%json \"file.json\"` if a file has it"
            }
            None => "the text ends within a rule",
            _ if wants(Rule::token_text) || wants(Rule::token_id) => {
                "a token is written `<text>` or `<[id]>`, and every other one `!<text>`"
            }
            _ => return None,
        }
        .to_owned(),
    )
}

//! Atoms: literals, classes, tokens and counters.

use pest::iterators::Pair;
use structgen_grammar::{
    CharSet, Expr, ExprId, GrammarBuilder, Guide, Regular, Temperature, TokenTerminal,
};

use super::extension;
use super::syntax::Rule;
use super::{GbnfError, GbnfErrorKind};

/// Converts tokens to expressions.
pub(super) struct Atoms<'a, 't> {
    pub(super) text: &'t str,
    pub(super) builder: &'a mut GrammarBuilder,
}

impl<'t> Atoms<'_, 't> {
    pub(super) fn atom(&mut self, atom: Pair<'t, Rule>) -> Result<ExprId, GbnfError> {
        match atom.as_rule() {
            Rule::literal => {
                let literal = literal(self.text, atom)?;
                Ok(self.builder.bytes(literal))
            }
            Rule::regex => {
                let at = atom.as_span().start();
                let set = extension::pattern(self.text, at, atom)?;
                Ok(self.set(set))
            }
            Rule::until => {
                let at = atom.as_span().start();
                let mut stop = String::new();
                for part in atom.into_inner() {
                    stop = literal(self.text, part)?;
                }
                if stop.is_empty() {
                    let kind = GbnfErrorKind::Range("a text ends somewhere: the stop is empty");
                    return Err(GbnfError::at(self.text, at, kind));
                }
                Ok(self.set(extension::until(&stop)))
            }
            Rule::class => {
                let set = class(self.text, atom)?;
                Ok(self.chars(set))
            }
            Rule::terminal => {
                let terminal = terminal(self.text, atom)?;
                Ok(self.builder.expr(Expr::Token(terminal)))
            }
            _ => Ok(self.chars(CharSet::all())),
        }
    }

    /// Literals are not sets, so that the placeholders of operators are unique.
    fn set(&mut self, set: Regular) -> ExprId {
        match set {
            Regular::Never => self.builder.never(),
            Regular::Empty => self.builder.bytes([]),
            Regular::Bytes(bytes) => self.builder.bytes(bytes),
            set => self.builder.expr(Expr::Regular(set)),
        }
    }

    fn chars(&mut self, set: CharSet) -> ExprId {
        if set.is_empty() {
            self.builder.never()
        } else {
            self.builder.expr(Expr::Regular(Regular::Chars(set)))
        }
    }
}

pub(super) fn literal(text: &str, pair: Pair<'_, Rule>) -> Result<String, GbnfError> {
    let mut literal = String::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::escape => literal.push(character(text, part)?),
            _ => literal.push_str(part.as_str()),
        }
    }
    Ok(literal)
}

fn class(text: &str, class: Pair<'_, Rule>) -> Result<CharSet, GbnfError> {
    let mut ranges = Vec::new();
    let mut negated = false;
    for member in class.into_inner() {
        if member.as_rule() == Rule::negation {
            negated = true;
            continue;
        }
        let position = member.as_span().start();
        let mut ends = member.into_inner();
        let Some(low) = ends.next() else {
            continue;
        };
        let low = character(text, low)?;
        let high = match ends.next() {
            Some(high) => character(text, high)?,
            None => low,
        };
        if high < low {
            let kind = GbnfErrorKind::Range("the range's ends are out of order");
            return Err(GbnfError::at(text, position, kind));
        }
        ranges.push((low, high));
    }
    let set = CharSet::new(ranges);
    Ok(if negated { set.complement() } else { set })
}

/// A character of a literal or class, possibly escaped.
fn character(text: &str, pair: Pair<'_, Rule>) -> Result<char, GbnfError> {
    let written = pair.as_str();
    if pair.as_rule() != Rule::escape {
        return Ok(written.chars().next().unwrap_or_default());
    }
    let mut behind = written.chars();
    behind.next();
    match behind.next() {
        Some('t') => Ok('\t'),
        Some('r') => Ok('\r'),
        Some('n') => Ok('\n'),
        Some('x' | 'u' | 'U') => u32::from_str_radix(behind.as_str(), 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| {
                let kind = GbnfErrorKind::NotACharacter(written.to_owned());
                GbnfError::at(text, pair.as_span().start(), kind)
            }),
        other => Ok(other.unwrap_or('\\')),
    }
}

fn terminal(text: &str, terminal: Pair<'_, Rule>) -> Result<TokenTerminal, GbnfError> {
    let position = terminal.as_span().start();
    let written = terminal.as_str();
    let (negated, name) = match written.strip_prefix('!') {
        Some(name) => (true, name),
        None => (false, written),
    };
    let Some(digits) = name
        .strip_prefix("<[")
        .and_then(|rest| rest.strip_suffix("]>"))
    else {
        let name = name.to_owned();
        return Ok(if negated {
            TokenTerminal::NotName(name)
        } else {
            TokenTerminal::Name(name)
        });
    };
    let id = digits.parse().map_err(|_| {
        let kind = GbnfErrorKind::Range("the token's id is too large");
        GbnfError::at(text, position, kind)
    })?;
    Ok(if negated {
        TokenTerminal::NotId(id)
    } else {
        TokenTerminal::Id(id)
    })
}

/// The bounds of a quantifier or counter.
pub(super) fn counter(text: &str, pair: Pair<'_, Rule>) -> Result<(u32, Option<u32>), GbnfError> {
    match pair.as_str() {
        "*" => return Ok((0, None)),
        "+" => return Ok((1, None)),
        "?" => return Ok((0, Some(1))),
        _ => {}
    }
    let position = pair.as_span().start();
    let mut numbers = Vec::new();
    let mut open = false;
    for part in pair.into_inner() {
        if part.as_rule() == Rule::comma {
            open = true;
        } else {
            numbers.push(part.as_str().parse::<u32>().map_err(|_| {
                let kind = GbnfErrorKind::Range("the counter is too large");
                GbnfError::at(text, part.as_span().start(), kind)
            })?);
        }
    }
    match (numbers.as_slice(), open) {
        (&[min], false) => Ok((min, Some(min))),
        (&[min, max], _) if max < min => Err(GbnfError::at(
            text,
            position,
            GbnfErrorKind::Range("the counter's numbers are out of order"),
        )),
        (&[min, max], _) => Ok((min, Some(max))),
        (&[min], true) => Ok((min, None)),
        _ => Ok((1, Some(1))),
    }
}

/// The limit of tokens in a part.
pub(super) fn most_tokens(text: &str, pair: Pair<'_, Rule>) -> Result<Guide, GbnfError> {
    let position = pair.as_span().start();
    match counter(text, pair)? {
        (0, Some(most)) if most > 0 => Ok(Guide::MaxTokens(most)),
        _ => {
            let kind = GbnfErrorKind::Range("only the most tokens can be limited");
            let hint =
                "a limit is written `%tokens{0,50}(…)`: any text can be cut into more tokens";
            Err(GbnfError::at(text, position, kind).with_hint(Some(hint.to_owned())))
        }
    }
}

/// The temperature of a part.
pub(super) fn temperature(text: &str, pair: Pair<'_, Rule>) -> Result<Guide, GbnfError> {
    let number = pair.as_str().parse().ok().and_then(Temperature::new);
    number.map(Guide::Temperature).ok_or_else(|| {
        let kind = GbnfErrorKind::Range("the temperature is too large");
        GbnfError::at(text, pair.as_span().start(), kind)
    })
}

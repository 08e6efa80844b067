//! From the parser's pairs to the IR.

use pest::iterators::{Pair, Pairs};
use rustc_hash::FxHashMap;
use structgen_grammar::{
    CharSet, Expr, ExprId, Grammar, GrammarBuilder, JsonForm, Regular, RuleId, TokenTerminal,
};

use super::syntax::Rule;
use super::{GbnfError, GbnfErrorKind, GbnfOptions};

pub(super) fn lower(
    text: &str,
    grammar: Pairs<'_, Rule>,
    options: &GbnfOptions,
) -> Result<Grammar, GbnfError> {
    let mut lowering = Lowering {
        text,
        builder: GrammarBuilder::new(),
        rules: FxHashMap::default(),
    };
    let mut bodies: Vec<(RuleId, Pair<'_, Rule>)> = Vec::new();
    for pair in grammar.flat_map(Pair::into_inner) {
        if pair.as_rule() == Rule::rule {
            bodies.extend(lowering.declare(pair)?);
        }
    }
    let Some(&(root, _)) = lowering.rules.get(options.root.as_str()) else {
        return Err(GbnfError::at(
            text,
            0,
            GbnfErrorKind::NoRoot(options.root.clone()),
        ));
    };
    for (rule, body) in bodies {
        let body = lowering.alternatives(body)?;
        lowering.builder.define(rule, body);
    }
    Ok(lowering.builder.finish(root, JsonForm::generate()))
}

struct Lowering<'t> {
    text: &'t str,
    builder: GrammarBuilder,
    /// The rules by name, with the place of their definition.
    rules: FxHashMap<&'t str, (RuleId, usize)>,
}

impl<'t> Lowering<'t> {
    fn error(&self, position: usize, kind: GbnfErrorKind) -> GbnfError {
        GbnfError::at(self.text, position, kind)
    }

    /// Takes a rule's name; its body is for later, when all names are known.
    fn declare(
        &mut self,
        rule: Pair<'t, Rule>,
    ) -> Result<Option<(RuleId, Pair<'t, Rule>)>, GbnfError> {
        let mut inner = rule.into_inner();
        let (Some(name), Some(body)) = (
            inner.next(),
            inner.find(|pair| pair.as_rule() == Rule::alternatives),
        ) else {
            return Ok(None);
        };
        let position = name.as_span().start();
        let name = name.as_str();
        if let Some(&(_, first)) = self.rules.get(name) {
            let kind = GbnfErrorKind::DuplicateRule {
                name: name.to_owned(),
                first_line: GbnfError::line_of(self.text, first),
            };
            return Err(self.error(position, kind));
        }
        let id = self.builder.declare(name);
        self.rules.insert(name, (id, position));
        Ok(Some((id, body)))
    }

    /// Recursive: the nesting has been checked.
    fn alternatives(&mut self, pair: Pair<'t, Rule>) -> Result<ExprId, GbnfError> {
        let mut arms = Vec::new();
        for sequence in pair.into_inner() {
            if matches!(sequence.as_rule(), Rule::sequence | Rule::nested_sequence) {
                let mut parts = Vec::new();
                for item in sequence.into_inner() {
                    parts.push(self.item(item)?);
                }
                arms.push(self.builder.sequence(parts));
            }
        }
        Ok(self.builder.choice(arms))
    }

    fn item(&mut self, pair: Pair<'t, Rule>) -> Result<ExprId, GbnfError> {
        let mut inner = pair.into_inner();
        let mut expr = match inner.next() {
            Some(atom) => self.atom(atom)?,
            None => self.builder.sequence([]),
        };
        for quantifier in inner {
            let (min, max) = self.quantifier(quantifier)?;
            expr = self.builder.repeat(expr, min, max);
        }
        Ok(expr)
    }

    fn atom(&mut self, atom: Pair<'t, Rule>) -> Result<ExprId, GbnfError> {
        match atom.as_rule() {
            Rule::literal => {
                let mut literal = String::new();
                for member in atom.into_inner() {
                    literal.push(self.character(member)?);
                }
                Ok(self.builder.bytes(literal))
            }
            Rule::class => self.class(atom),
            Rule::any => Ok(self.chars(CharSet::all())),
            Rule::reference => {
                let name = atom.as_str();
                match self.rules.get(name) {
                    Some(&(rule, _)) => Ok(self.builder.rule(rule)),
                    None => Err(self.undefined(name, atom.as_span().start())),
                }
            }
            Rule::token => self.token(atom),
            _ => match atom.into_inner().next() {
                Some(alternatives) => self.alternatives(alternatives),
                None => Ok(self.builder.sequence([])),
            },
        }
    }

    fn undefined(&self, name: &str, position: usize) -> GbnfError {
        let alike = self
            .rules
            .keys()
            .filter(|known| known.eq_ignore_ascii_case(name) || is_close(known, name))
            .min()
            .map(|known| format!("did you mean `{known}`?"));
        self.error(position, GbnfErrorKind::UndefinedRule(name.to_owned()))
            .with_hint(alike)
    }

    fn class(&mut self, class: Pair<'t, Rule>) -> Result<ExprId, GbnfError> {
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
            let low = self.character(low)?;
            let high = match ends.next() {
                Some(high) => self.character(high)?,
                None => low,
            };
            if high < low {
                let kind = GbnfErrorKind::Range("the range's ends are out of order");
                return Err(self.error(position, kind));
            }
            ranges.push((low, high));
        }
        let set = CharSet::new(ranges);
        Ok(self.chars(if negated { set.complement() } else { set }))
    }

    fn chars(&mut self, set: CharSet) -> ExprId {
        if set.is_empty() {
            self.builder.never()
        } else {
            self.builder.expr(Expr::Regular(Regular::Chars(set)))
        }
    }

    /// A character of a literal or class, as it is or escaped.
    fn character(&self, pair: Pair<'t, Rule>) -> Result<char, GbnfError> {
        let text = pair.as_str();
        if pair.as_rule() != Rule::escape {
            return Ok(text.chars().next().unwrap_or_default());
        }
        let mut behind = text.chars();
        behind.next();
        match behind.next() {
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some('n') => Ok('\n'),
            Some('x' | 'u' | 'U') => u32::from_str_radix(behind.as_str(), 16)
                .ok()
                .and_then(char::from_u32)
                .ok_or_else(|| {
                    let kind = GbnfErrorKind::NotACharacter(text.to_owned());
                    self.error(pair.as_span().start(), kind)
                }),
            other => Ok(other.unwrap_or('\\')),
        }
    }

    fn token(&mut self, token: Pair<'t, Rule>) -> Result<ExprId, GbnfError> {
        let position = token.as_span().start();
        let Some(inner) = token.into_inner().next() else {
            return Ok(self.builder.never());
        };
        let terminal = match inner.as_rule() {
            Rule::not_token => {
                let kind = GbnfErrorKind::Unsupported("every token but one");
                return Err(self.error(position, kind));
            }
            Rule::token_id => {
                let digits = inner.as_str().trim_matches(['<', '[', ']', '>']);
                TokenTerminal::Id(digits.parse().map_err(|_| {
                    self.error(
                        position,
                        GbnfErrorKind::Range("the token's id is too large"),
                    )
                })?)
            }
            _ => TokenTerminal::Name(inner.as_str().to_owned()),
        };
        Ok(self.builder.expr(Expr::Token(terminal)))
    }

    fn quantifier(&self, pair: Pair<'t, Rule>) -> Result<(u32, Option<u32>), GbnfError> {
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
                    self.error(part.as_span().start(), kind)
                })?);
            }
        }
        match (numbers.as_slice(), open) {
            (&[min], false) => Ok((min, Some(min))),
            (&[min, max], _) if max < min => Err(self.error(
                position,
                GbnfErrorKind::Range("the counter's numbers are out of order"),
            )),
            (&[min, max], _) => Ok((min, Some(max))),
            (&[min], true) => Ok((min, None)),
            _ => Ok((1, Some(1))),
        }
    }
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

//! ABNF: RFC 5234 and RFC 7405.

use structgen_grammar::keyed::KeyedMap;

use super::ConvertError;
use super::scanner::{Scanner, error_at};
use super::tree::{Rule, Rules, Tree};

/// The core rules (RFC 5234, appendix B.1), by their names in lower case.
const CORE: [(&str, &str); 16] = [
    ("alpha", "%x41-5A / %x61-7A"),
    ("bit", "\"0\" / \"1\""),
    ("char", "%x01-7F"),
    ("cr", "%x0D"),
    ("crlf", "CR LF"),
    ("ctl", "%x00-1F / %x7F"),
    ("digit", "%x30-39"),
    ("dquote", "%x22"),
    (
        "hexdig",
        "DIGIT / \"A\" / \"B\" / \"C\" / \"D\" / \"E\" / \"F\"",
    ),
    ("htab", "%x09"),
    ("lf", "%x0A"),
    ("lwsp", "*(WSP / CRLF WSP)"),
    ("octet", "%x00-FF"),
    ("sp", "%x20"),
    ("vchar", "%x21-7E"),
    ("wsp", "SP / HTAB"),
];

/// Names are in lower case: ABNF ignores their case.
pub(super) fn parse(text: &str) -> Result<Rules, ConvertError> {
    let mut rules = rules(text)?;
    // Core rules refer to one another; definitions in the text take precedence.
    let mut missing: Vec<_> = CORE.iter().collect();
    missing.retain(|(core, _)| !rules.iter().any(|rule| rule.name == *core));
    let mut next = 0;
    while let Some(rule) = rules.get(next) {
        next += 1;
        let names: Vec<String> = rule.body.names().map(|it| it.0.to_owned()).collect();
        for name in names {
            if let Some(at) = missing.iter().position(|(core, _)| *core == name) {
                rules.push(core_rule(missing.remove(at))?);
            }
        }
    }
    Ok(Rules(rules))
}

fn rules(text: &str) -> Result<Vec<Rule>, ConvertError> {
    let mut parser = AbnfParser(Scanner { text, at: 0 });
    let mut rules: Vec<Rule> = Vec::new();
    let mut by_name: KeyedMap<String, usize> = KeyedMap::default();
    loop {
        parser.space();
        let at = parser.0.at;
        if parser.0.peek().is_none() {
            return Ok(rules);
        }
        let name = parser
            .name()
            .ok_or_else(|| parser.0.error("expected the name of a rule"))?;
        parser.space();
        if !parser.0.eat("=") {
            return Err(parser.0.error("expected `=` or `=/`"));
        }
        let is_more = parser.0.eat("/");
        let body = parser.alternation(0)?;
        let index = *by_name.entry(name.clone()).or_insert(rules.len());
        match rules.get_mut(index) {
            Some(rule) if is_more => rule.body = with_arm(rule, body),
            _ if is_more => {
                let core = CORE.iter().find(|(core, _)| *core == name);
                let Some(mut rule) = core.map(core_rule).transpose()? else {
                    let message = format!("`=/` adds to `{name}`, which is not defined before it");
                    return Err(error_at(text, at, message));
                };
                rule.body = with_arm(&mut rule, body);
                rules.push(Rule { at, ..rule });
            }
            _ => rules.push(Rule { name, at, body }),
        }
    }
}

/// The body of a rule with one more alternative.
fn with_arm(rule: &mut Rule, arm: Tree) -> Tree {
    match std::mem::replace(&mut rule.body, Tree::Choice(Vec::new())) {
        Tree::Choice(mut arms) => {
            arms.push(arm);
            Tree::Choice(arms)
        }
        before => Tree::Choice(vec![before, arm]),
    }
}

/// A core rule.
fn core_rule((name, definition): &(&str, &str)) -> Result<Rule, ConvertError> {
    Ok(Rule {
        name: (*name).to_owned(),
        at: 0,
        body: AbnfParser(Scanner {
            text: definition,
            at: 0,
        })
        .alternation(0)?,
    })
}

struct AbnfParser<'t>(Scanner<'t>);

impl AbnfParser<'_> {
    /// White space, line ends and comments. They have no meaning, because a rule extends to the next `name =`.
    fn space(&mut self) {
        loop {
            self.0.take(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
            if !self.0.eat(";") {
                return;
            }
            self.0.take(|c| c != '\n');
        }
    }

    fn name(&mut self) -> Option<String> {
        if !self.0.peek()?.is_ascii_alphabetic() {
            return None;
        }
        let name = self.0.take(|c| c.is_ascii_alphanumeric() || c == '-');
        Some(name.to_ascii_lowercase())
    }

    /// Whether the next rule begins here.
    fn at_rule(&self) -> bool {
        let mut ahead = AbnfParser(self.0.clone());
        ahead.name().is_some() && {
            ahead.space();
            ahead.0.eat("=")
        }
    }

    fn alternation(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        self.0.check_depth(depth)?;
        let mut arms = vec![self.concatenation(depth)?];
        while self.0.eat("/") {
            arms.push(self.concatenation(depth)?);
        }
        Ok(Tree::choice(arms))
    }

    fn concatenation(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let mut parts = Vec::new();
        loop {
            self.space();
            match self.0.peek() {
                None | Some('/' | ')' | ']') => break,
                _ if self.at_rule() => break,
                _ => parts.push(self.repetition(depth)?),
            }
        }
        match parts.is_empty() {
            true => Err(self.0.error("expected something to match")),
            false => Ok(Tree::sequence(parts)),
        }
    }

    fn repetition(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let at = self.0.at;
        let least = self.0.take(|c| c.is_ascii_digit());
        let is_range = self.0.eat("*");
        let most = if is_range {
            self.0.take(|c| c.is_ascii_digit())
        } else {
            least
        };
        let number = |digits: &str| -> Result<Option<u32>, ConvertError> {
            match digits {
                "" => Ok(None),
                digits => match digits.parse() {
                    Ok(number) => Ok(Some(number)),
                    Err(_) => Err(error_at(self.0.text, at, "the number is too large")),
                },
            }
        };
        let (min, max) = (number(least)?, number(most)?);
        if max.is_some_and(|max| max < min.unwrap_or(0)) {
            return Err(error_at(self.0.text, at, "the numbers are out of order"));
        }
        let element = self.element(depth)?;
        Ok(if is_range || min.is_some() {
            Tree::Repeat(Box::new(element), min.unwrap_or(0), max)
        } else {
            element
        })
    }

    fn element(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let at = self.0.at;
        if let Some(name) = self.name() {
            return Ok(Tree::Name(name, at));
        }
        match self.0.next() {
            Some('(') => self.group(depth, at, ")"),
            Some('[') => Ok(Tree::Repeat(
                Box::new(self.group(depth, at, "]")?),
                0,
                Some(1),
            )),
            Some('"') => self.text(at, true),
            Some('%') => match self.0.next() {
                Some('s' | 'S') if self.0.eat("\"") => self.text(at, false),
                Some('i' | 'I') if self.0.eat("\"") => self.text(at, true),
                Some('x' | 'X') => self.numbers(at, 16),
                Some('d' | 'D') => self.numbers(at, 10),
                Some('b' | 'B') => self.numbers(at, 2),
                _ => Err(error_at(
                    self.0.text,
                    at,
                    "expected `%x`, `%d`, `%b`, `%s\"` or `%i\"`",
                )),
            },
            Some('<') => Err(error_at(
                self.0.text,
                at,
                "a description in prose is no rule",
            )),
            _ => Err(error_at(self.0.text, at, "expected something to match")),
        }
    }

    fn group(&mut self, depth: u32, at: usize, end: &str) -> Result<Tree, ConvertError> {
        let group = self.alternation(depth + 1)?;
        if self.0.eat(end) {
            Ok(group)
        } else {
            Err(error_at(self.0.text, at, "the group is not closed"))
        }
    }

    fn text(&mut self, at: usize, any_case: bool) -> Result<Tree, ConvertError> {
        match self.0.up_to("\"") {
            Some(text) => Ok(Tree::Text(text.to_owned(), any_case)),
            None => Err(error_at(self.0.text, at, "the string is not closed")),
        }
    }

    /// `41`, `41-5A` or `41.42.43`.
    fn numbers(&mut self, at: usize, radix: u32) -> Result<Tree, ConvertError> {
        let next = |this: &mut Self| {
            let digits = this.0.take(|c| c.is_digit(radix));
            this.0.character(at, digits, radix)
        };
        let first = next(self)?;
        if self.0.eat("-") {
            let last = next(self)?;
            if last < first {
                return Err(error_at(
                    self.0.text,
                    at,
                    "the range's ends are out of order",
                ));
            }
            return Ok(Tree::Chars(vec![(first, last)], false));
        }
        let mut text = String::from(first);
        while self.0.eat(".") {
            text.push(next(self)?);
        }
        Ok(Tree::Text(text, false))
    }
}

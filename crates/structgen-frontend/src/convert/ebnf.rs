//! The EBNF of the W3C: section 6 of XML 1.0 (fifth edition).

use super::ConvertError;
use super::scanner::{Scanner, error_at};
use super::tree::{Rule, Rules, Tree};

pub(super) fn parse(text: &str) -> Result<Rules, ConvertError> {
    let mut parser = EbnfParser(Scanner { text, at: 0 });
    let mut rules = Rules::default();
    loop {
        parser.space()?;
        parser.label();
        parser.space()?;
        let at = parser.0.at;
        if parser.0.peek().is_none() {
            return Ok(rules);
        }
        let name = parser
            .name()
            .ok_or_else(|| parser.0.error("expected the name of a rule"))?;
        parser.space()?;
        if !parser.0.eat("::=") {
            return Err(parser.0.error("expected `::=`"));
        }
        let body = parser.choice(0)?;
        rules.0.push(Rule { name, at, body });
    }
}

struct EbnfParser<'t>(Scanner<'t>);

impl EbnfParser<'_> {
    /// White space, comments, and the constraints that a specification notes next to its rules.
    fn space(&mut self) -> Result<(), ConvertError> {
        loop {
            self.0.take(char::is_whitespace);
            let at = self.0.at;
            let end = if self.0.eat("/*") {
                "*/"
            } else if self.note() {
                "]"
            } else {
                return Ok(());
            };
            if self.0.up_to(end).is_none() {
                return Err(error_at(self.0.text, at, "the comment is not closed"));
            }
        }
    }

    /// The start of a note, such as `[VC:`: a constraint on validity, on well-formedness or of namespaces.
    fn note(&mut self) -> bool {
        let mut ahead = self.0.clone();
        if !ahead.eat("[") {
            return false;
        }
        ahead.take(char::is_whitespace);
        let kind = ahead.take(|c| c.is_ascii_alphabetic());
        let is_known = { ["vc", "wfc", "nsc"].iter() }.any(|it| it.eq_ignore_ascii_case(kind));
        let is_note = is_known && ahead.eat(":");
        if is_note {
            self.0 = ahead;
        }
        is_note
    }

    /// The number of a rule, as in `[12] Name ::= …`, at the start of a line.
    fn label(&mut self) {
        let mut ahead = self.0.clone();
        // Not the whole line before, which may be long: every element asks this.
        let is_indent = |c: char| c.is_whitespace() && c != '\n';
        let before = self.0.text[..self.0.at].trim_end_matches(is_indent);
        let starts_line = before.is_empty() || before.ends_with('\n');
        if starts_line && ahead.eat("[") {
            let number = ahead.take(|c| c.is_ascii_alphanumeric());
            if number.starts_with(|c: char| c.is_ascii_digit()) && ahead.eat("]") {
                self.0 = ahead;
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        if !self.0.peek().is_some_and(|c| c.is_alphabetic() || c == '_') {
            return None;
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
        let mut name = self.0.take(is_part).to_owned();
        // A dash directly followed by a letter is part of a name; any other dash is the operator.
        loop {
            let mut ahead = self.0.clone();
            if name.ends_with(':') || !ahead.eat("-") || !ahead.peek().is_some_and(is_part) {
                break;
            }
            name.push('-');
            name.push_str(ahead.take(is_part));
            self.0 = ahead;
        }
        // `name::=` without a space.
        if self.0.rest().starts_with('=') && name.ends_with("::") {
            name.truncate(name.len() - 2);
            self.0.at -= 2;
        }
        Some(name)
    }

    /// Whether the next rule begins here.
    fn at_rule(&self) -> Result<bool, ConvertError> {
        let mut ahead = EbnfParser(self.0.clone());
        ahead.label();
        ahead.space()?;
        if ahead.name().is_none() {
            return Ok(false);
        }
        ahead.space()?;
        Ok(ahead.0.eat("::="))
    }

    fn choice(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        self.0.check_depth(depth)?;
        let mut arms = vec![self.sequence(depth)?];
        while self.0.eat("|") {
            arms.push(self.sequence(depth)?);
        }
        Ok(Tree::choice(arms))
    }

    fn sequence(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let mut parts: Vec<Tree> = Vec::new();
        loop {
            self.space()?;
            match self.0.peek() {
                None | Some('|' | ')') => break,
                Some('-') if !parts.is_empty() => {
                    self.0.next();
                    self.space()?;
                    let other = self.item(depth)?;
                    if let Some(one) = parts.pop() {
                        parts.push(Tree::Both(vec![one, Tree::Not(Box::new(other))]));
                    }
                }
                _ if self.at_rule()? => break,
                _ => parts.push(self.item(depth)?),
            }
        }
        match parts.is_empty() {
            true => Err(self.0.error("expected something to match")),
            false => Ok(Tree::sequence(parts)),
        }
    }

    fn item(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let atom = self.atom(depth)?;
        let (min, max) = match self.0.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            _ => return Ok(atom),
        };
        self.0.next();
        Ok(Tree::Repeat(Box::new(atom), min, max))
    }

    fn atom(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let at = self.0.at;
        if let Some(name) = self.name() {
            return Ok(Tree::Name(name, at));
        }
        match self.0.next() {
            Some('(') => {
                let group = self.choice(depth + 1)?;
                if self.0.eat(")") {
                    Ok(group)
                } else {
                    Err(error_at(self.0.text, at, "the group is not closed"))
                }
            }
            Some(quote @ ('"' | '\'')) => match self.0.up_to(&quote.to_string()) {
                Some(text) => Ok(Tree::Text(text.to_owned(), false)),
                None => Err(error_at(self.0.text, at, "the string is not closed")),
            },
            Some('#') if self.0.eat("x") => {
                let digits = self.0.take(|c| c.is_ascii_hexdigit());
                let c = self.0.character(at, digits, 16)?;
                Ok(Tree::Chars(vec![(c, c)], false))
            }
            Some('[') => self.class(at),
            _ => Err(error_at(self.0.text, at, "expected something to match")),
        }
    }

    fn class(&mut self, at: usize) -> Result<Tree, ConvertError> {
        let unclosed = |this: &Self| error_at(this.0.text, at, "the class is not closed");
        let negated = self.0.eat("^");
        let mut ranges = Vec::new();
        while !self.0.eat("]") {
            let low = self.member().ok_or_else(|| unclosed(self))??;
            let mut ahead = Self(self.0.clone());
            let high = if ahead.0.eat("-") && ahead.0.peek() != Some(']') {
                self.0 = ahead.0;
                self.member().ok_or_else(|| unclosed(self))??
            } else {
                low
            };
            if high < low {
                return Err(error_at(
                    self.0.text,
                    at,
                    "the range's ends are out of order",
                ));
            }
            ranges.push((low, high));
        }
        if ranges.is_empty() {
            return Err(error_at(self.0.text, at, "the class is empty"));
        }
        Ok(Tree::Chars(ranges, negated))
    }

    /// A character of a class, literal or by its number; `None` at the end of the text.
    fn member(&mut self) -> Option<Result<char, ConvertError>> {
        let at = self.0.at;
        if self.0.eat("#x") {
            let digits = self.0.take(|c| c.is_ascii_hexdigit());
            return Some(self.0.character(at, digits, 16));
        }
        self.0.next().map(Ok)
    }
}

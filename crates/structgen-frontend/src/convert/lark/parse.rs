//! Statements, rules and terminals, as trees.

use super::super::ConvertError;
use super::super::scanner::{Scanner, error_at};
use super::super::tree::Tree;
use super::lazy::End;
use super::{Definition, Lark, common, is_terminal};

pub(super) fn parse(text: &str) -> Result<Lark, ConvertError> {
    let mut parser = LarkParser {
        scanner: Scanner { text, at: 0 },
        in_terminal: false,
    };
    let mut lark = Lark::default();
    loop {
        parser.lines();
        if parser.scanner.peek().is_none() {
            return Ok(lark);
        }
        if parser.scanner.peek() == Some('%') {
            parser.statement(&mut lark)?;
        } else {
            let definition = parser.definition()?;
            lark.definitions.push(definition);
        }
        if !matches!(parser.scanner.peek(), None | Some('\r' | '\n')) {
            return Err(parser.scanner.error("expected the end of the line"));
        }
    }
}

pub(super) struct LarkParser<'t> {
    pub(super) scanner: Scanner<'t>,
    /// Whether the parser is inside a lexeme.
    pub(super) in_terminal: bool,
}

impl<'t> LarkParser<'t> {
    pub(super) fn error_at<T>(
        &self,
        at: usize,
        message: impl Into<String>,
    ) -> Result<T, ConvertError> {
        Err(error_at(self.scanner.text, at, message))
    }

    /// Blanks and comments, but no line ends.
    pub(super) fn space(&mut self) {
        loop {
            self.scanner.take(|c| matches!(c, ' ' | '\t'));
            if !self.scanner.rest().starts_with(['#', '/'])
                || (self.scanner.peek() == Some('/') && !self.scanner.rest().starts_with("//"))
            {
                return;
            }
            self.scanner.take(|c| c != '\n');
        }
    }

    /// Blanks, comments and line ends.
    fn lines(&mut self) {
        loop {
            self.space();
            if self.scanner.take(|c| matches!(c, '\r' | '\n')).is_empty() {
                return;
            }
        }
    }

    /// Consumes a sign and the blanks before it.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        self.space();
        self.scanner.eat(sign)
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), ConvertError> {
        match self.eat(sign) {
            true => Ok(()),
            false => Err(self.scanner.error(format!("expected `{sign}`"))),
        }
    }

    /// The name of a rule or a terminal.
    pub(super) fn name(&mut self) -> Result<Option<(String, usize)>, ConvertError> {
        self.space();
        let at = self.scanner.at;
        if !self
            .scanner
            .peek()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        {
            return Ok(None);
        }
        let mut name = self
            .scanner
            .take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        // The arrow of an alias.
        if self.scanner.peek() == Some('>') && name.ends_with('-') {
            name = &name[..name.len() - 1];
            self.scanner.at -= 1;
        }
        let letters = || name.chars().filter(char::is_ascii_alphabetic);
        let is_one_case = match is_terminal(name) {
            true => letters().all(|c| c.is_ascii_uppercase()),
            false => letters().all(|c| c.is_ascii_lowercase()),
        };
        if !is_one_case || letters().next().is_none() {
            return self.error_at(
                at,
                format!("`{name}` is no name: those of rules are in lower case, those of terminals in upper case"),
            );
        }
        Ok(Some((name.to_owned(), at)))
    }

    fn statement(&mut self, lark: &mut Lark) -> Result<(), ConvertError> {
        let at = self.scanner.at;
        self.scanner.next();
        match self.scanner.take(|c| c.is_ascii_alphabetic()) {
            "ignore" => {
                self.in_terminal = true;
                lark.ignored.push(self.choice(0)?);
                Ok(())
            }
            "import" => self.import(at, lark),
            "llguidance" => self.options(&mut lark.options),
            "override" | "declare" | "extend" => self.error_at(
                at,
                "definitions of other files are not changed here: define the rule itself",
            ),
            _ => self.error_at(at, "expected `%ignore`, `%import` or `%llguidance`"),
        }
    }

    /// `common.NAME`, `common.NAME -> OTHER` or `common (NAME, NAME)`.
    fn import(&mut self, at: usize, lark: &mut Lark) -> Result<(), ConvertError> {
        self.space();
        if !self.scanner.eat("common") {
            return self.error_at(
                at,
                "only `common` is imported from: copy what is needed, or import the converted file with GBNF's `%import`",
            );
        }
        let mut wanted = Vec::new();
        if self.scanner.eat(".") {
            let (name, at) = self.terminal_name()?;
            let other = match self.eat("->") {
                true => self.terminal_name()?.0,
                false => name.clone(),
            };
            wanted.push((name, other, at));
        } else {
            self.expect("(")?;
            loop {
                let (name, at) = self.terminal_name()?;
                wanted.push((name.clone(), name, at));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        for (name, other, at) in wanted {
            let Some(pattern) = common::pattern(&name) else {
                return self.error_at(at, format!("there is no terminal `common.{name}`"));
            };
            lark.definitions.push(Definition {
                name: other,
                at,
                body: Tree::Pattern(format!("/{pattern}/")),
                is_lexeme: true,
            });
        }
        self.space();
        Ok(())
    }

    fn terminal_name(&mut self) -> Result<(String, usize), ConvertError> {
        match self.name()? {
            Some((name, at)) if is_terminal(&name) => Ok((name, at)),
            _ => Err(self.scanner.error("expected the name of a terminal")),
        }
    }

    /// A rule or a terminal.
    fn definition(&mut self) -> Result<Definition, ConvertError> {
        // `!` and `?` only affect syntax trees, which do not exist here.
        self.scanner.eat("!");
        self.scanner.eat("?");
        let Some((name, at)) = self.name()? else {
            return Err(self
                .scanner
                .error("expected the name of a rule, or a statement"));
        };
        let here = self.scanner.at;
        let refused = match self.scanner.peek() {
            Some('{') => Some("templates are not known here: write a rule for each use"),
            Some('.') => Some("priorities say nothing here: all readings count"),
            Some(':') if self.scanner.rest().starts_with("::") => {
                Some("rules with parameters have no counterpart: write a rule for each value")
            }
            _ => None,
        };
        if let Some(refused) = refused {
            return self.error_at(here, refused);
        }
        let is_rule = !is_terminal(&name);
        let (mut end, mut capture) = (End::default(), None);
        if is_rule && self.eat("[") {
            capture = self.attributes(&name, &mut end)?;
        }
        self.expect(":")?;
        self.in_terminal = !is_rule || end.is_set();
        let body = self.choice(0)?;
        let is_lexeme = self.in_terminal;
        let body = match end.apply(body, capture) {
            Ok(body) => body,
            Err(message) => return self.error_at(at, message),
        };
        Ok(Definition {
            name,
            at,
            body,
            is_lexeme,
        })
    }

    /// The attributes in brackets after the name of a rule; returns the name of its capture.
    fn attributes(&mut self, rule: &str, end: &mut End) -> Result<Option<String>, ConvertError> {
        let mut capture = None;
        self.in_terminal = true;
        while !self.eat("]") {
            self.space();
            let at = self.scanner.at;
            let key = self.scanner.take(|c| c.is_ascii_alphabetic() || c == '_');
            let has_value = key != "lazy" && self.eat("=");
            match key {
                "lazy" => end.lazy = true,
                "capture" if has_value => capture = Some(self.capture_name()?),
                "capture" => capture = capture.or_else(|| Some(rule.to_owned())),
                "stop_capture" if has_value => end.name = Some(self.capture_name()?),
                "suffix" | "stop" if end.suffix.is_some() || end.stop.is_some() => {
                    return self.error_at(at, "a rule has one `suffix` or one `stop`");
                }
                "suffix" if has_value => end.suffix = Some(self.value()?),
                "stop" if has_value => end.stop = Some(self.value()?),
                "max_tokens" => {
                    return self.error_at(
                        at,
                        "how many tokens a text has depends on how it is cut: limit the characters, as in /(?s:.{0,80})/",
                    );
                }
                "temperature" => {
                    return self.error_at(
                        at,
                        "a temperature is no matter of a grammar: set it where text is generated",
                    );
                }
                _ => {
                    return self.error_at(
                        at,
                        "expected `capture`, `lazy`, `suffix=…`, `stop=…` or `stop_capture=…`",
                    );
                }
            }
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        if end.name.is_some() && end.suffix.is_none() && end.stop.is_none() {
            return Err(self.scanner.error("`stop_capture` is beside a `suffix`"));
        }
        Ok(capture)
    }

    fn capture_name(&mut self) -> Result<String, ConvertError> {
        self.space();
        let at = self.scanner.at;
        let is_part = |c: char| c.is_alphanumeric() || "_-.$[]".contains(c);
        match self.value()? {
            Tree::Text(name, false) if !name.is_empty() && name.chars().all(is_part) => Ok(name),
            _ => self.error_at(
                at,
                "expected a name in quotes, of letters, digits, `_`, `-`, `.`, `$`, `[` and `]`",
            ),
        }
    }

    pub(super) fn choice(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        self.scanner.check_depth(depth)?;
        let mut arms = vec![self.alternative(depth)?];
        while self.bar(depth) {
            arms.push(self.alternative(depth)?);
        }
        Ok(Tree::choice(arms))
    }

    /// The bar before another alternative, which may be at the start of a line.
    fn bar(&mut self, depth: u32) -> bool {
        let before = self.scanner.at;
        match depth {
            0 => {
                self.space();
                if self.scanner.eat("|") {
                    return true;
                }
                let line_end = self.scanner.at;
                self.lines();
                let found = self.scanner.eat("|");
                if !found {
                    self.scanner.at = line_end;
                }
                found
            }
            _ => {
                self.lines();
                let found = self.scanner.eat("|");
                if !found {
                    self.scanner.at = before;
                }
                found
            }
        }
    }

    /// An intersection, and the name of the alternative, which has no meaning here.
    fn alternative(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let mut sets = vec![self.sequence(depth)?];
        loop {
            self.space();
            let at = self.scanner.at;
            if !self.scanner.eat("&") {
                break;
            }
            if !self.in_terminal {
                return self.error_at(
                    at,
                    "`&` is for terminals: make this a terminal, in upper case",
                );
            }
            sets.push(self.sequence(depth)?);
        }
        if self.eat("->") && self.name()?.is_none() {
            return Err(self.scanner.error("expected a name behind `->`"));
        }
        self.space();
        if self.scanner.rest().starts_with("%if") {
            return Err(self
                .scanner
                .error("conditions have no counterpart: write a rule for each case"));
        }
        Ok(match sets.len() {
            1 => sets.swap_remove(0),
            _ => Tree::Both(sets),
        })
    }

    fn sequence(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let mut parts = Vec::new();
        loop {
            match depth {
                0 => self.space(),
                _ => self.lines(),
            }
            let rest = self.scanner.rest();
            if rest.is_empty()
                || rest.starts_with(['\r', '\n', '|', '&', ')', ']', '}'])
                || rest.starts_with("->")
                || rest.starts_with("%if")
            {
                return Ok(Tree::sequence(parts));
            }
            parts.push(self.item(depth)?);
        }
    }

    /// An atom with its repetition.
    fn item(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let atom = self.atom(depth)?;
        self.space();
        let at = self.scanner.at;
        let (min, max) = match self.scanner.peek() {
            Some(sign @ ('?' | '*' | '+')) => {
                self.scanner.next();
                (u32::from(sign == '+'), (sign == '?').then_some(1))
            }
            Some('~') if self.is_count() => {
                self.scanner.next();
                let min = self.number()?;
                let max = match self.eat("..") {
                    true => self.number()?,
                    false => min,
                };
                (min, Some(max))
            }
            Some('{') => {
                self.scanner.next();
                self.braces()?
            }
            _ => return Ok(atom),
        };
        if max.is_some_and(|max| max < min) {
            return self.error_at(at, "the numbers are out of order");
        }
        Ok(Tree::Repeat(Box::new(atom), min, max))
    }

    /// `M}`, `M,}`, `,N}` or `M,N}`.
    fn braces(&mut self) -> Result<(u32, Option<u32>), ConvertError> {
        let is_open = self.eat(",");
        let min = if is_open { 0 } else { self.number()? };
        if !is_open && self.eat("}") {
            return Ok((min, Some(min)));
        }
        if !is_open {
            self.expect(",")?;
        }
        if self.eat("}") {
            return Ok((min, None));
        }
        let max = self.number()?;
        self.expect("}")?;
        Ok((min, Some(max)))
    }

    /// Whether a number follows the `~` here.
    fn is_count(&self) -> bool {
        let behind = self.scanner.rest()[1..].trim_start_matches([' ', '\t']);
        behind.starts_with(|c: char| c.is_ascii_digit())
    }

    fn number(&mut self) -> Result<u32, ConvertError> {
        self.space();
        let at = self.scanner.at;
        let digits = self.scanner.take(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) if digits.is_empty() => self.error_at(at, "expected a number"),
            Err(_) => self.error_at(at, "the number is too large"),
        }
    }

    fn atom(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        if self.scanner.peek() == Some('~') {
            self.scanner.next();
            self.scanner.check_depth(depth + 1)?;
            let outer = std::mem::replace(&mut self.in_terminal, true);
            self.space();
            let body = self.group_or_value(depth + 1)?;
            self.in_terminal = outer;
            return Ok(Tree::Not(Box::new(body)));
        }
        self.group_or_value(depth)
    }

    fn group_or_value(&mut self, depth: u32) -> Result<Tree, ConvertError> {
        let at = self.scanner.at;
        let end = match self.scanner.peek() {
            Some('(') => ")",
            Some('[') => "]",
            _ => return self.value(),
        };
        self.scanner.next();
        let group = self.choice(depth + 1)?;
        self.lines();
        if !self.scanner.eat(end) {
            return self.error_at(at, "the group is not closed");
        }
        Ok(match end {
            ")" => group,
            _ => Tree::Repeat(Box::new(group), 0, Some(1)),
        })
    }
}

//! Parses tokens into a syntax tree: tags and the text between them. Expressions are in `parser_expressions`.

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::{
    Expr, ExprKind, FilterCall, For, Macro, MacroId, Name, Statement, StatementKind, Target,
    Template,
};
use super::lexer::{SyntaxError, Token, TokenKind, tokens};
use crate::ChatError;

/// The maximum length of a template. The longest ones in use have a tenth of that.
const MAX_SOURCE: usize = 256 << 10;
/// The maximum nesting of blocks and expressions.
pub(super) const MAX_NESTING: u32 = 200;

pub(crate) fn parse(source: &str) -> Result<Template, ChatError> {
    if source.len() > MAX_SOURCE {
        return Err(ChatError::Limit {
            line: 1,
            limit: "bytes of source",
            value: MAX_SOURCE as u64,
        });
    }
    let parsed = tokens(source).map_err(ParseError::from).and_then(|tokens| {
        let mut parser = Parser {
            tokens,
            at: 0,
            names: Vec::new(),
            macros: Vec::new(),
            known_names: HashMap::new(),
            nesting: 0,
            loops: 0,
        };
        let special = [parser.intern("loop".into()), parser.intern("caller".into())];
        debug_assert_eq!(special, [Name::LOOP, Name::CALLER]);
        let body = parser.body(&[])?.0;
        Ok(Template {
            names: parser.names,
            macros: parser.macros,
            body,
        })
    });
    parsed.map_err(|error| match error {
        ParseError::Syntax(SyntaxError { line, reason }) => ChatError::Syntax {
            line: line as usize,
            reason,
        },
        ParseError::TooDeep(line) => ChatError::Limit {
            line: line as usize,
            limit: "levels of nesting",
            value: u64::from(MAX_NESTING),
        },
    })
}

pub(super) enum ParseError {
    Syntax(SyntaxError),
    TooDeep(u32),
}

impl From<SyntaxError> for ParseError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

pub(super) type Parsed<T> = Result<T, ParseError>;

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    names: Vec<Arc<str>>,
    macros: Vec<Macro>,
    known_names: HashMap<Arc<str>, Name>,
    nesting: u32,
    /// The number of loops around the statement, within the same macro.
    loops: usize,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn peek_second(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at + 1).map(|token| &token.kind)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn line(&self) -> u32 {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(1, |token| token.line)
    }

    pub(super) fn error<T>(&self, reason: impl Into<String>) -> Parsed<T> {
        Err(ParseError::Syntax(SyntaxError {
            line: self.line(),
            reason: reason.into(),
        }))
    }

    pub(super) fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        let found = match self.peek() {
            None => "the end of the template".to_owned(),
            Some(TokenKind::Data(_)) => "text".into(),
            Some(TokenKind::PrintBegin) => "{{".into(),
            Some(TokenKind::PrintEnd) => "}}".into(),
            Some(TokenKind::BlockBegin) => "{%".into(),
            Some(TokenKind::BlockEnd) => "%}".into(),
            Some(TokenKind::Name(name)) => name.clone(),
            Some(TokenKind::Text(text)) => {
                format!("{:?}", text.chars().take(40).collect::<String>())
            }
            Some(TokenKind::Int(number)) => number.to_string(),
            Some(TokenKind::Float(number)) => number.to_string(),
            Some(TokenKind::Operator(operator)) => (*operator).to_owned(),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    pub(super) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Operator(found)) if *found == operator)
    }

    pub(super) fn eat_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_operator(&mut self, operator: &str) -> Parsed<()> {
        match self.eat_operator(operator) {
            true => Ok(()),
            false => self.unexpected(operator),
        }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Name(found)) if found == word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// The next name, as written.
    pub(super) fn word(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(TokenKind::Name(name)) => {
                let name = name.clone();
                self.advance();
                Ok(name)
            }
            _ => self.unexpected("a name"),
        }
    }

    pub(super) fn name(&mut self) -> Parsed<Name> {
        let word = self.word()?;
        Ok(self.intern(word))
    }

    pub(super) fn intern(&mut self, word: String) -> Name {
        let word: Arc<str> = word.into();
        *self.known_names.entry(word.clone()).or_insert_with(|| {
            self.names.push(word);
            Name(self.names.len() as u32 - 1)
        })
    }

    /// Runs `parse` one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(ParseError::TooDeep(self.line()));
        }
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    pub(super) fn expr_of(&self, kind: ExprKind, line: u32) -> Parsed<Expr> {
        let height = kind.height() + 1;
        match height <= MAX_NESTING {
            true => Ok(Expr { kind, line, height }),
            false => Err(ParseError::TooDeep(line)),
        }
    }

    /// Parses statements up to one of the words in `ends`, which is returned; if `ends` is empty, up to the end of the
    /// template.
    fn body(&mut self, ends: &[&'static str]) -> Parsed<(Vec<Statement>, &'static str)> {
        self.nested(|parser| parser.statements(ends))
    }

    fn statements(&mut self, ends: &[&'static str]) -> Parsed<(Vec<Statement>, &'static str)> {
        let mut statements = Vec::new();
        loop {
            let line = self.line();
            let kind = match self.peek() {
                None if ends.is_empty() => return Ok((statements, "")),
                None => return self.unexpected(ends[ends.len() - 1]),
                Some(TokenKind::Data(text)) => {
                    let text = text.clone();
                    self.advance();
                    StatementKind::Data(text)
                }
                Some(TokenKind::PrintBegin) => {
                    self.advance();
                    let value = self.expression_or_tuple()?;
                    match self.peek() {
                        Some(TokenKind::PrintEnd) => self.advance(),
                        _ => return self.unexpected("}}"),
                    }
                    StatementKind::Print(value)
                }
                Some(TokenKind::BlockBegin) => {
                    self.advance();
                    let word = self.word()?;
                    if let Some(end) = ends.iter().find(|end| **end == word) {
                        return Ok((statements, end));
                    }
                    match self.tag(&word)? {
                        Some(kind) => kind,
                        None => continue,
                    }
                }
                Some(_) => return self.unexpected("a tag"),
            };
            statements.push(Statement { kind, line });
        }
    }

    fn block_end(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(TokenKind::BlockEnd) => {
                self.advance();
                Ok(())
            }
            _ => self.unexpected("%}"),
        }
    }

    /// A block from the end of its opening tag to its closing tag.
    fn block(&mut self, end: &'static str) -> Parsed<Vec<Statement>> {
        self.block_end()?;
        let (body, _) = self.body(&[end])?;
        self.block_end()?;
        Ok(body)
    }

    fn tag(&mut self, word: &str) -> Parsed<Option<StatementKind>> {
        let kind = match word {
            "for" => self.for_tag()?,
            "if" => self.if_tag()?,
            "set" => self.set_tag()?,
            "with" => {
                let mut assignments = Vec::new();
                while self.peek() != Some(&TokenKind::BlockEnd) {
                    if !assignments.is_empty() {
                        self.expect_operator(",")?;
                    }
                    let target = self.target(false)?;
                    self.expect_operator("=")?;
                    assignments.push((target, self.expression()?));
                }
                StatementKind::With(assignments, self.block("endwith")?)
            }
            "macro" => {
                let name = self.name()?;
                self.expect_operator("(")?;
                let parameters = self.parameters()?;
                StatementKind::Macro(self.macro_body(name, parameters, "endmacro")?)
            }
            "call" => {
                let parameters = match self.eat_operator("(") {
                    true => self.parameters()?,
                    false => Vec::new(),
                };
                let call = self.expression()?;
                if !matches!(call.kind, ExprKind::Call(..)) {
                    return self.unexpected("a call");
                }
                StatementKind::CallBlock(
                    self.macro_body(Name::CALLER, parameters, "endcall")?,
                    call,
                )
            }
            "filter" => {
                let mut filters = vec![self.filter_call()?];
                while self.eat_operator("|") {
                    filters.push(self.filter_call()?);
                }
                StatementKind::FilterBlock(filters, self.block("endfilter")?)
            }
            // Marks the model's words for training; otherwise it is equal to its content.
            "generation" => {
                let line = self.line();
                let body = self.block("endgeneration")?;
                let always = self.expr_of(ExprKind::Bool(true), line)?;
                StatementKind::If(vec![(always, body)], Vec::new())
            }
            "break" | "continue" => {
                if self.loops == 0 {
                    return self.error(format!("{word} is not in a loop"));
                }
                self.block_end()?;
                match word {
                    "break" => StatementKind::Break,
                    _ => StatementKind::Continue,
                }
            }
            _ => return self.error(format!("unknown tag {word}")),
        };
        Ok(Some(kind))
    }

    fn for_tag(&mut self) -> Parsed<StatementKind> {
        let target = self.target(false)?;
        if !self.eat_word("in") {
            return self.unexpected("in");
        }
        let iterable = self.tuple_without_condition()?;
        let condition = match self.eat_word("if") {
            true => Some(self.expression()?),
            false => None,
        };
        if self.is_word("recursive") {
            return self.error("recursive loops are not supported");
        }
        self.block_end()?;
        self.loops += 1;
        let (body, end) = self.body(&["else", "endfor"])?;
        self.loops -= 1;
        self.block_end()?;
        let otherwise = match end {
            "else" => {
                let (otherwise, _) = self.body(&["endfor"])?;
                self.block_end()?;
                otherwise
            }
            _ => Vec::new(),
        };
        Ok(StatementKind::For(Box::new(For {
            target,
            iterable,
            condition,
            body,
            otherwise,
        })))
    }

    fn if_tag(&mut self) -> Parsed<StatementKind> {
        let mut branches = Vec::new();
        loop {
            let condition = self.expression_or_tuple()?;
            self.block_end()?;
            let (body, end) = self.body(&["elif", "else", "endif"])?;
            branches.push((condition, body));
            match end {
                "elif" => {}
                "else" => return Ok(StatementKind::If(branches, self.block("endif")?)),
                _ => {
                    self.block_end()?;
                    return Ok(StatementKind::If(branches, Vec::new()));
                }
            }
        }
    }

    fn set_tag(&mut self) -> Parsed<StatementKind> {
        let target = self.target(true)?;
        if self.eat_operator("=") {
            let value = self.expression_or_tuple()?;
            self.block_end()?;
            return Ok(StatementKind::Set(target, value));
        }
        let mut filters = Vec::new();
        while self.eat_operator("|") {
            filters.push(self.filter_call()?);
        }
        let body = self.block("endset")?;
        Ok(StatementKind::SetBlock(target, filters, body))
    }

    /// One target, or several separated by commas.
    fn target(&mut self, allows_attributes: bool) -> Parsed<Target> {
        let first = self.single_target(allows_attributes)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut targets = vec![first];
        while self.eat_operator(",") {
            if !matches!(
                self.peek(),
                Some(TokenKind::Name(_) | TokenKind::Operator("("))
            ) {
                break;
            }
            targets.push(self.single_target(allows_attributes)?);
        }
        Ok(Target::Tuple(targets))
    }

    fn single_target(&mut self, allows_attributes: bool) -> Parsed<Target> {
        if self.eat_operator("(") {
            let inner = self.nested(|parser| parser.target(allows_attributes))?;
            self.expect_operator(")")?;
            return Ok(inner);
        }
        let word = self.word()?;
        if matches!(
            word.as_str(),
            "true" | "false" | "none" | "True" | "False" | "None"
        ) {
            return self.error(format!("{word} cannot be assigned to"));
        }
        let name = self.intern(word);
        if allows_attributes && self.eat_operator(".") {
            return Ok(Target::Attribute(name, self.name()?));
        }
        Ok(Target::Name(name))
    }

    /// Parameters after an opening parenthesis, up to the closing one.
    fn parameters(&mut self) -> Parsed<Vec<(Name, Option<Expr>)>> {
        let mut parameters: Vec<(Name, Option<Expr>)> = Vec::new();
        while !self.eat_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
                if self.eat_operator(")") {
                    break;
                }
            }
            let name = self.name()?;
            let default = match self.eat_operator("=") {
                true => Some(self.expression()?),
                false => None,
            };
            parameters.push((name, default));
        }
        Ok(parameters)
    }

    fn macro_body(
        &mut self,
        name: Name,
        parameters: Vec<(Name, Option<Expr>)>,
        end: &'static str,
    ) -> Parsed<MacroId> {
        let loops = std::mem::take(&mut self.loops);
        let body = self.block(end)?;
        self.loops = loops;
        self.macros.push(Macro {
            name,
            parameters,
            body,
        });
        Ok(MacroId(self.macros.len() - 1))
    }

    fn filter_call(&mut self) -> Parsed<FilterCall> {
        let line = self.line();
        let (filter, arguments) = self.filter()?;
        Ok(FilterCall {
            filter,
            arguments,
            line,
        })
    }
}

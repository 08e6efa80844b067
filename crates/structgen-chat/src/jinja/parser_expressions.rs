//! Expressions, by the precedence of Jinja's grammar.

use super::ast::{Arguments, Binary, Comparison, Expr, ExprKind};
use super::filters::{self, FilterFn};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use super::tests_of_values;

impl Parser {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(Self::conditional)
    }

    /// An expression, or several separated by commas, which form a tuple.
    pub(super) fn expression_or_tuple(&mut self) -> Parsed<Expr> {
        self.tuple_of(Self::expression)
    }

    /// Like [`expression_or_tuple`](Self::expression_or_tuple), but an `if` that follows is not part of it.
    pub(super) fn tuple_without_condition(&mut self) -> Parsed<Expr> {
        self.tuple_of(|parser| parser.nested(Self::or))
    }

    fn tuple_of(&mut self, item: impl Fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let line = self.line();
        let first = item(self)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_operator(",") {
            let is_end = match self.peek() {
                None | Some(TokenKind::PrintEnd | TokenKind::BlockEnd) => true,
                Some(TokenKind::Operator(operator)) => matches!(*operator, ")" | "]" | "}" | "="),
                _ => false,
            };
            if is_end {
                break;
            }
            items.push(item(self)?);
        }
        self.expr_of(ExprKind::Tuple(items), line)
    }

    fn conditional(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let mut value = self.or()?;
        while self.eat_word("if") {
            let condition = self.or()?;
            let otherwise = match self.eat_word("else") {
                true => Some(Box::new(self.nested(Self::conditional)?)),
                false => None,
            };
            let kind = ExprKind::Conditional(Box::new(condition), Box::new(value), otherwise);
            value = self.expr_of(kind, line)?;
        }
        Ok(value)
    }

    fn or(&mut self) -> Parsed<Expr> {
        self.joined("or", Self::and, ExprKind::Or)
    }

    fn and(&mut self) -> Parsed<Expr> {
        self.joined("and", Self::not, ExprKind::And)
    }

    fn joined(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> Parsed<Expr>,
        join: fn(Vec<Expr>) -> ExprKind,
    ) -> Parsed<Expr> {
        let line = self.line();
        let first = operand(self)?;
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.eat_word(word) {
            operands.push(operand(self)?);
        }
        self.expr_of(join(operands), line)
    }

    fn not(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if self.eat_word("not") {
            let value = self.nested(Self::not)?;
            return self.expr_of(ExprKind::Not(Box::new(value)), line);
        }
        self.compare()
    }

    fn compare(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let comparison = match self.peek() {
                Some(TokenKind::Operator("==")) => Comparison::Equal,
                Some(TokenKind::Operator("!=")) => Comparison::NotEqual,
                Some(TokenKind::Operator("<")) => Comparison::Less,
                Some(TokenKind::Operator("<=")) => Comparison::LessOrEqual,
                Some(TokenKind::Operator(">")) => Comparison::Greater,
                Some(TokenKind::Operator(">=")) => Comparison::GreaterOrEqual,
                Some(TokenKind::Name(name)) if name == "in" => Comparison::In,
                Some(TokenKind::Name(name))
                    if name == "not"
                        && matches!(self.peek_second(), Some(TokenKind::Name(next)) if next == "in") =>
                {
                    self.advance();
                    Comparison::NotIn
                }
                _ => break,
            };
            self.advance();
            rest.push((comparison, self.sum()?));
        }
        match rest.is_empty() {
            true => Ok(first),
            false => self.expr_of(ExprKind::Compare(Box::new(first), rest), line),
        }
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let operators = [("+", Binary::Add), ("-", Binary::Subtract)];
        self.left_binary(&operators, Self::concat)
    }

    fn concat(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let first = self.product()?;
        if !self.is_operator("~") {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.eat_operator("~") {
            operands.push(self.product()?);
        }
        self.expr_of(ExprKind::Concat(operands), line)
    }

    fn product(&mut self) -> Parsed<Expr> {
        let operators = [
            ("*", Binary::Multiply),
            ("/", Binary::Divide),
            ("//", Binary::FloorDivide),
            ("%", Binary::Remainder),
        ];
        self.left_binary(&operators, |parser| parser.unary(true))
    }

    fn left_binary(
        &mut self,
        operators: &[(&str, Binary)],
        operand: fn(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let line = self.line();
        let mut left = operand(self)?;
        loop {
            let found = operators
                .iter()
                .find(|(operator, _)| self.is_operator(operator));
            let Some(&(_, binary)) = found else {
                return Ok(left);
            };
            self.advance();
            let right = operand(self)?;
            let kind = ExprKind::Binary(binary, Box::new(left), Box::new(right));
            left = self.expr_of(kind, line)?;
        }
    }

    fn unary(&mut self, with_filters: bool) -> Parsed<Expr> {
        let line = self.line();
        let sign = if self.eat_operator("-") {
            Some(ExprKind::Negative as fn(Box<Expr>) -> ExprKind)
        } else if self.eat_operator("+") {
            Some(ExprKind::Positive as fn(Box<Expr>) -> ExprKind)
        } else {
            None
        };
        let mut value = match sign {
            Some(signed) => {
                let value = self.nested(|parser| parser.unary(false))?;
                self.expr_of(signed(Box::new(value)), line)?
            }
            None => self.primary()?,
        };
        value = self.postfix(value)?;
        if with_filters {
            value = self.filters_and_tests(value)?;
        }
        // Only the right operand may have a sign of its own.
        if self.eat_operator("**") {
            let exponent = self.nested(|parser| parser.unary(true))?;
            let kind = ExprKind::Binary(Binary::Power, Box::new(value), Box::new(exponent));
            value = self.expr_of(kind, line)?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let kind = match self.peek() {
            Some(TokenKind::Name(name)) => match name.as_str() {
                "true" | "True" => ExprKind::Bool(true),
                "false" | "False" => ExprKind::Bool(false),
                "none" | "None" => ExprKind::None,
                _ => ExprKind::Name(self.name()?),
            },
            Some(TokenKind::Text(text)) => {
                let mut text = text.clone();
                while let Some(TokenKind::Text(more)) = self.peek_second() {
                    text.push_str(more);
                    self.advance();
                }
                ExprKind::Text(text)
            }
            Some(TokenKind::Int(number)) => ExprKind::Int(*number),
            Some(TokenKind::Float(number)) => ExprKind::Float(*number),
            Some(TokenKind::Operator("(")) => {
                self.advance();
                if self.eat_operator(")") {
                    return self.expr_of(ExprKind::Tuple(Vec::new()), line);
                }
                let value = self.expression_or_tuple()?;
                self.expect_operator(")")?;
                return Ok(value);
            }
            Some(TokenKind::Operator("[")) => {
                self.advance();
                let items = self.listed("]", Self::expression)?;
                return self.expr_of(ExprKind::List(items), line);
            }
            Some(TokenKind::Operator("{")) => {
                self.advance();
                let entries = self.listed("}", |parser| {
                    let key = parser.expression()?;
                    parser.expect_operator(":")?;
                    Ok((key, parser.expression()?))
                })?;
                return self.expr_of(ExprKind::Map(entries), line);
            }
            _ => return self.unexpected("an expression"),
        };
        if !matches!(kind, ExprKind::Name(_)) {
            self.advance();
        }
        self.expr_of(kind, line)
    }

    /// Items separated by commas, up to a closing bracket.
    fn listed<T>(&mut self, end: &str, item: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat_operator(end) {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.eat_operator(end) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn postfix(&mut self, mut value: Expr) -> Parsed<Expr> {
        loop {
            let line = self.line();
            let kind = if self.eat_operator(".") {
                match self.peek() {
                    Some(&TokenKind::Int(index)) => {
                        self.advance();
                        let index = self.expr_of(ExprKind::Int(index), line)?;
                        ExprKind::Item(Box::new(value), Box::new(index))
                    }
                    _ => ExprKind::Attribute(Box::new(value), self.name()?),
                }
            } else if self.eat_operator("[") {
                self.subscript(value)?
            } else if self.eat_operator("(") {
                ExprKind::Call(Box::new(value), self.arguments()?)
            } else {
                return Ok(value);
            };
            value = self.expr_of(kind, line)?;
        }
    }

    /// An index or a slice, after the opening bracket.
    fn subscript(&mut self, value: Expr) -> Parsed<ExprKind> {
        let mut bounds = [None, None, None];
        let mut colons = 0;
        loop {
            if self.eat_operator("]") {
                break;
            }
            if self.eat_operator(":") {
                colons += 1;
                if colons > 2 {
                    return self.unexpected("]");
                }
                continue;
            }
            if bounds[colons].is_some() {
                return self.unexpected("]");
            }
            bounds[colons] = Some(self.expression_or_tuple()?);
        }
        if colons > 0 {
            return Ok(ExprKind::Slice(Box::new(value), Box::new(bounds)));
        }
        match bounds {
            [Some(index), _, _] => Ok(ExprKind::Item(Box::new(value), Box::new(index))),
            _ => self.unexpected("an index"),
        }
    }

    /// Arguments after the opening parenthesis.
    fn arguments(&mut self) -> Parsed<Arguments> {
        let mut arguments = Arguments::default();
        let mut is_first = true;
        while !self.eat_operator(")") {
            if !std::mem::take(&mut is_first) {
                self.expect_operator(",")?;
                if self.eat_operator(")") {
                    break;
                }
            }
            if self.is_operator("*") || self.is_operator("**") {
                return self.error("arguments with * and ** are not supported");
            }
            let is_named = matches!(self.peek(), Some(TokenKind::Name(_)))
                && matches!(self.peek_second(), Some(TokenKind::Operator("=")));
            if is_named {
                let name = self.name()?;
                self.advance();
                arguments.named.push((name, self.expression()?));
            } else if arguments.named.is_empty() {
                arguments.positional.push(self.expression()?);
            } else {
                return self.error("a positional argument follows a named one");
            }
        }
        Ok(arguments)
    }

    fn filters_and_tests(&mut self, mut value: Expr) -> Parsed<Expr> {
        loop {
            let line = self.line();
            if self.eat_operator("|") {
                let (filter, arguments) = self.filter()?;
                let kind = ExprKind::Filter(Box::new(value), filter, arguments);
                value = self.expr_of(kind, line)?;
            } else if self.eat_word("is") {
                value = self.test(value, line)?;
            } else if self.eat_operator("(") {
                let kind = ExprKind::Call(Box::new(value), self.arguments()?);
                value = self.expr_of(kind, line)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// A filter's name and arguments.
    pub(super) fn filter(&mut self) -> Parsed<(FilterFn, Arguments)> {
        let word = self.word()?;
        let Some(filter) = filters::named(&word) else {
            return self.error(format!("unknown filter {word}"));
        };
        let arguments = match self.eat_operator("(") {
            true => self.arguments()?,
            false => Arguments::default(),
        };
        Ok((filter, arguments))
    }

    fn test(&mut self, value: Expr, line: u32) -> Parsed<Expr> {
        let is_negated = self.eat_word("not");
        let word = self.word()?;
        let Some(test) = tests_of_values::named(&word) else {
            return self.error(format!("unknown test {word}"));
        };
        let arguments = match self.peek() {
            Some(TokenKind::Operator("(")) => {
                self.advance();
                self.arguments()?
            }
            Some(TokenKind::Name(name))
                if matches!(
                    name.as_str(),
                    "else" | "or" | "and" | "is" | "if" | "in" | "not" | "recursive"
                ) =>
            {
                Arguments::default()
            }
            Some(
                TokenKind::Name(_)
                | TokenKind::Text(_)
                | TokenKind::Int(_)
                | TokenKind::Float(_)
                | TokenKind::Operator("[" | "{"),
            ) => {
                let argument = self.nested(|parser| {
                    let argument = parser.primary()?;
                    parser.postfix(argument)
                })?;
                Arguments {
                    positional: vec![argument],
                    named: Vec::new(),
                }
            }
            _ => Arguments::default(),
        };
        let value = self.expr_of(ExprKind::Test(Box::new(value), test, arguments), line)?;
        match is_negated {
            true => self.expr_of(ExprKind::Not(Box::new(value)), line),
            false => Ok(value),
        }
    }
}

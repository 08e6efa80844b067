//! Groups, on an explicit stack. An expression that nests too deep becomes a rule of its own, so that depth costs only
//! memory.

use pest::iterators::Pair;
use structgen_grammar::{ExprId, Guide, RuleId};

use super::atoms::{counter, most_tokens, temperature};
use super::extension::{self, Operation, Operator};
use super::parser::{Expected, GbnfParser};
use super::syntax::Rule;
use super::{GbnfError, GbnfErrorKind};

/// The maximum depth of an expression before it becomes a rule of its own.
const MAX_HEIGHT: u32 = 64;

/// A group that is open, or the whole rule.
pub(super) struct OpenExpression<'t> {
    pub(super) opened: usize,
    head: Head<'t>,
    pub(super) arms: Vec<Item>,
    /// The operands of `&` before this one, and the position of the first `&`.
    operands: Vec<Item>,
    and: usize,
    pub(super) parts: Vec<Item>,
    /// The positions of the `~` before the next atom.
    nots: Vec<usize>,
}

/// What precedes a group's parenthesis.
#[derive(Clone, Copy)]
enum Head<'t> {
    None,
    /// The name of a capture.
    Capture(&'t str),
    /// The bounds on its characters.
    Chars(u32, Option<u32>),
    /// How it is generated.
    Guide(Guide),
}

/// An expression and its depth.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) expr: ExprId,
    pub(super) height: u32,
}

impl OpenExpression<'_> {
    pub(super) fn new(opened: usize) -> Self {
        Self {
            opened,
            head: Head::None,
            arms: Vec::new(),
            operands: Vec::new(),
            and: 0,
            parts: Vec::new(),
            nots: Vec::new(),
        }
    }
}

impl<'t> GbnfParser<'_, 't, '_> {
    fn frame(&mut self) -> &mut OpenExpression<'t> {
        if self.frames.is_empty() {
            self.frames.push(OpenExpression::new(0));
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(super) fn end_alternative(&mut self) -> Result<(), GbnfError> {
        let mut arm = self.end_operand()?;
        let and = self.frame().and;
        let mut operands = std::mem::take(&mut self.frame().operands);
        if !operands.is_empty() {
            operands.push(arm);
            arm = self.operate(and, &operands, Operation::Intersection);
        }
        self.frame().arms.push(arm);
        Ok(())
    }

    /// A sequence between operators.
    fn end_operand(&mut self) -> Result<Item, GbnfError> {
        if let Some(&not) = self.frame().nots.last() {
            let kind = GbnfErrorKind::Range("there is nothing to take the complement of");
            return Err(self.error(not, kind));
        }
        let parts = std::mem::take(&mut self.frame().parts);
        let sequence = match parts[..] {
            [part] => part,
            _ => Item {
                expr: self
                    .shared
                    .builder
                    .sequence(parts.iter().map(|part| part.expr)),
                height: height_above(&parts),
            },
        };
        Ok(self.low(sequence))
    }

    /// A rule for an intersection or complement, whose sets are not known yet.
    fn operate(&mut self, position: usize, operands: &[Item], operation: Operation) -> Item {
        let rule = self.own_rule();
        let mark = self
            .shared
            .builder
            .expr(extension::mark(self.shared.operators.len()));
        self.shared.builder.define(rule, mark);
        let reference = self.shared.builder.rule(rule);
        self.shared.operators.push(Operator {
            source: self.source,
            position,
            rule,
            reference,
            operands: operands.iter().map(|operand| operand.expr).collect(),
            operation,
        });
        Item {
            expr: reference,
            height: 0,
        }
    }

    /// Adds an atom or a group, applying all the `~` before it.
    pub(super) fn push(&mut self, mut item: Item) {
        while let Some(not) = self.frame().nots.pop() {
            item = self.operate(not, &[item], Operation::Complement);
        }
        self.frame().parts.push(item);
    }

    pub(super) fn choice(&mut self, arms: Vec<Item>) -> Item {
        let choice = match arms[..] {
            [arm] => arm,
            _ => Item {
                expr: self.shared.builder.choice(arms.iter().map(|arm| arm.expr)),
                height: height_above(&arms),
            },
        };
        self.low(choice)
    }

    /// The expression, as a rule of its own if it nests too deep.
    fn low(&mut self, item: Item) -> Item {
        if item.height < MAX_HEIGHT {
            return item;
        }
        let rule = self.own_rule();
        self.shared.builder.define(rule, item.expr);
        Item {
            expr: self.shared.builder.rule(rule),
            height: 0,
        }
    }

    /// An expression that contains the group.
    fn around(&mut self, expr: ExprId, group: Item) -> Item {
        let height = group.height + 1;
        self.low(Item { expr, height })
    }

    /// A rule that is not in the text.
    fn own_rule(&mut self) -> RuleId {
        let base = self.rule.map_or("", |(name, _)| name);
        loop {
            self.shared.hoisted += 1;
            let name = format!("{base}_{}", self.shared.hoisted);
            if !self.shared.names.contains(&name) {
                return self.shared.builder.declare(name);
            }
        }
    }

    /// A parenthesis and what precedes it.
    pub(super) fn open(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        let position = token.as_span().start();
        if self.frames.len() > self.max_nesting as usize {
            let kind = GbnfErrorKind::Limit {
                what: "nested parentheses",
                limit: self.max_nesting,
            };
            return Err(self
                .error(position, kind)
                .with_hint("give the inner part a rule of its own".to_owned()));
        }
        let rule = token.as_rule();
        let head = match token.into_inner().next() {
            None => Head::None,
            Some(argument) => match rule {
                Rule::limit => {
                    let (min, max) = counter(self.text, argument)?;
                    Head::Chars(min, max)
                }
                Rule::tokens_limit => Head::Guide(most_tokens(self.text, argument)?),
                Rule::temperature => Head::Guide(temperature(self.text, argument)?),
                _ => Head::Capture(argument.as_str()),
            },
        };
        self.frames.push(OpenExpression {
            head,
            ..OpenExpression::new(position)
        });
        self.expected = Expected::Item { over_lines: true };
        Ok(())
    }

    pub(super) fn close(&mut self, position: usize) -> Result<(), GbnfError> {
        if self.frames.len() < 2 {
            return Err(self.unexpected(position));
        }
        self.end_alternative()?;
        if let Some(frame) = self.frames.pop() {
            let group = self.choice(frame.arms);
            let group = match frame.head {
                Head::None => group,
                Head::Capture(name) => {
                    let named = self.shared.builder.capture(name, group.expr);
                    self.around(named, group)
                }
                Head::Guide(guide) => {
                    let guided = self.shared.builder.guided(guide, group.expr);
                    self.around(guided, group)
                }
                Head::Chars(min, max) => {
                    self.operate(frame.opened, &[group], Operation::Length { min, max })
                }
            };
            self.push(group);
        }
        Ok(())
    }

    /// `&`: the alternative so far is an operand.
    pub(super) fn and(&mut self, position: usize) -> Result<(), GbnfError> {
        let operand = self.end_operand()?;
        let frame = self.frame();
        if frame.operands.is_empty() {
            frame.and = position;
        }
        frame.operands.push(operand);
        self.expected = Expected::Item { over_lines: true };
        Ok(())
    }

    /// `~`: the next atom is its operand.
    pub(super) fn not(&mut self, position: usize) {
        self.frame().nots.push(position);
        self.expected = Expected::Item { over_lines: false };
    }

    pub(super) fn repeat(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        let position = token.as_span().start();
        let is_nested = self.frames.len() > 1;
        let is_operand = self.frame().nots.is_empty();
        let Some(body) = self.frame().parts.pop().filter(|_| is_operand) else {
            return Err(self.unexpected(position));
        };
        if !is_nested && token.as_str().contains(['\n', '\r']) {
            let kind = GbnfErrorKind::Syntax("a line ends within a counter".to_owned());
            return Err(self.error(position, kind));
        }
        let (min, max) = counter(self.text, token)?;
        let repeat = Item {
            expr: self.shared.builder.repeat(body.expr, min, max),
            height: body.height + 1,
        };
        let repeat = self.low(repeat);
        self.frame().parts.push(repeat);
        Ok(())
    }
}

fn height_above(items: &[Item]) -> u32 {
    items.iter().map(|item| item.height + 1).max().unwrap_or(0)
}

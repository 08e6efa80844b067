//! From tokens to rules.
//!
//! Groups are on a stack of their own, and what nests deeper than expressions should becomes a rule of its own: any depth is only memory.

use pest::iterators::Pair;
use rustc_hash::FxHashMap;
use structgen_grammar::{ExprId, Grammar, GrammarBuilder, JsonForm, RuleId};

use super::atoms::{Atoms, counter};
use super::extension::{self, Operator};
use super::syntax::{self, Rule};
use super::{GbnfError, GbnfErrorKind, GbnfOptions};

/// A grammar, and where its rules are defined.
pub(super) struct Parsed<'t> {
    pub(super) grammar: Grammar,
    /// The grammar with the operands of operators in their places, if there are any: what leads to which rule.
    pub(super) outline: Option<Grammar>,
    /// By name. Rules that stand for deep groups are not among them.
    pub(super) places: FxHashMap<&'t str, usize>,
}

/// How deep an expression may nest before it becomes a rule of its own.
const MAX_HEIGHT: u32 = 64;

pub(super) fn parse<'t>(text: &'t str, options: &GbnfOptions) -> Result<Parsed<'t>, GbnfError> {
    let (tokens, end) = syntax::tokens(text)?;
    let mut parser = Parser {
        text,
        builder: GrammarBuilder::new(),
        rules: FxHashMap::default(),
        places: FxHashMap::default(),
        max_nesting: options.max_nesting,
        strict: options.strict,
        operators: Vec::new(),
        expected: Expected::Rule,
        frames: Vec::new(),
        rule: None,
        hoisted: 0,
        undefined: None,
    };
    // Rules may be named before they are defined.
    let mut previous: Option<Pair<'t, Rule>> = None;
    for token in tokens.clone() {
        if let Some(name) = previous
            .filter(|previous| previous.as_rule() == Rule::name && token.as_rule() == Rule::define)
        {
            let name = name.as_str();
            let builder = &mut parser.builder;
            parser
                .rules
                .entry(name)
                .or_insert_with(|| builder.declare(name));
        }
        previous = Some(token);
    }
    for token in tokens {
        parser.token(token)?;
    }
    if end < text.len() {
        let broken = syntax::broken_token(text, end);
        return Err(broken.unwrap_or_else(|| parser.unexpected(end)));
    }
    parser.end()?;
    if let Some(error) = parser.undefined {
        return Err(error);
    }
    let Some(&root) = parser.rules.get(options.root.as_str()) else {
        let kind = GbnfErrorKind::NoRoot(options.root.clone());
        return Err(GbnfError::at(text, 0, kind));
    };
    let grammar = parser.builder.finish(root, JsonForm::generate());
    Ok(Parsed {
        outline: extension::outline(&grammar, &parser.operators),
        grammar: extension::resolve(text, grammar, &parser.operators)?,
        places: parser.places,
    })
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// The name of a rule.
    Rule,
    /// The `::=` behind a name.
    Define,
    /// What a rule consists of; whether a line's end is only a gap here, as behind `|`.
    Item { over_lines: bool },
}

/// A group that is open, or the whole rule.
pub(super) struct Frame<'t> {
    pub(super) opened: usize,
    /// The name of what it matches.
    capture: Option<&'t str>,
    arms: Vec<Item>,
    /// The operands of `&` before this one, and where the first `&` stands.
    operands: Vec<Item>,
    and: usize,
    pub(super) parts: Vec<Item>,
    /// The places of the `~` in front of what comes next.
    nots: Vec<usize>,
}

/// An expression, and how deep it nests.
#[derive(Clone, Copy)]
pub(super) struct Item {
    expr: ExprId,
    height: u32,
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    builder: GrammarBuilder,
    pub(super) rules: FxHashMap<&'t str, RuleId>,
    /// Where rules are defined.
    places: FxHashMap<&'t str, usize>,
    max_nesting: u32,
    /// Whether extensions are refused.
    strict: bool,
    operators: Vec<Operator>,
    pub(super) expected: Expected,
    /// The open groups; the first is the rule. Empty between rules.
    pub(super) frames: Vec<Frame<'t>>,
    /// The rule that is being read.
    rule: Option<(&'t str, RuleId)>,
    /// How many rules were made for deep groups.
    hoisted: u32,
    /// The first name that no rule has. What is wrong with the syntax is said before it, since it may hide the rule.
    undefined: Option<GbnfError>,
}

impl<'t> Parser<'t> {
    pub(super) fn error(&self, position: usize, kind: GbnfErrorKind) -> GbnfError {
        GbnfError::at(self.text, position, kind)
    }

    fn token(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        let position = token.as_span().start();
        match (self.expected, token.as_rule()) {
            (Expected::Rule, Rule::line_ends) => Ok(()),
            (Expected::Rule, Rule::name) => self.define(token.as_str(), position),
            (Expected::Define, Rule::define) => {
                self.expected = Expected::Item { over_lines: true };
                Ok(())
            }
            (Expected::Item { over_lines }, Rule::line_ends) => {
                if !over_lines && self.frames.len() < 2 {
                    self.end_rule()?;
                }
                Ok(())
            }
            (Expected::Item { .. }, Rule::define) | (Expected::Rule | Expected::Define, _) => {
                Err(self.unexpected(position))
            }
            (Expected::Item { .. }, rule) if self.strict && is_extension(rule) => {
                let kind = GbnfErrorKind::Extension(match rule {
                    Rule::regex => "a pattern between slashes",
                    Rule::until => "`%until`",
                    Rule::capture => "a capture",
                    _ => "an operator of sets",
                });
                Err(self.error(position, kind))
            }
            (Expected::Item { .. }, Rule::bar) => {
                self.end_alternative()?;
                self.expected = Expected::Item { over_lines: true };
                Ok(())
            }
            (Expected::Item { .. }, Rule::and) => {
                let operand = self.end_operand()?;
                let frame = self.frame();
                if frame.operands.is_empty() {
                    frame.and = position;
                }
                frame.operands.push(operand);
                self.expected = Expected::Item { over_lines: true };
                Ok(())
            }
            (Expected::Item { .. }, Rule::not) => {
                self.frame().nots.push(position);
                self.expected = Expected::Item { over_lines: false };
                Ok(())
            }
            (Expected::Item { .. }, rule) => {
                self.expected = Expected::Item { over_lines: false };
                match rule {
                    Rule::open => self.open(position, None),
                    Rule::capture => {
                        let name = token.into_inner().next().map(|name| name.as_str());
                        self.open(position, name)
                    }
                    Rule::close => self.close(position),
                    Rule::quantifier | Rule::counter => self.repeat(token),
                    _ => self.atom(token),
                }
            }
        }
    }

    /// The name of a rule, in front of its `::=`.
    fn define(&mut self, name: &'t str, position: usize) -> Result<(), GbnfError> {
        self.expected = Expected::Define;
        let Some(&rule) = self.rules.get(name) else {
            // No `::=` follows it: that is what the next token is refused for.
            return Ok(());
        };
        if let Some(&first) = self.places.get(name) {
            let kind = GbnfErrorKind::DuplicateRule {
                name: name.to_owned(),
                first_line: GbnfError::line_of(self.text, first),
            };
            return Err(self.error(position, kind));
        }
        self.places.insert(name, position);
        self.rule = Some((name, rule));
        self.frames = vec![Frame::new(position)];
        Ok(())
    }

    /// The end of the text.
    fn end(&mut self) -> Result<(), GbnfError> {
        match self.expected {
            Expected::Rule => {}
            Expected::Item { .. } if self.frames.len() < 2 => self.end_rule()?,
            Expected::Item { .. } | Expected::Define => {
                return Err(self.unexpected(self.text.len()));
            }
        }
        Ok(())
    }

    fn end_rule(&mut self) -> Result<(), GbnfError> {
        self.end_alternative()?;
        if let (Some(frame), Some((_, rule))) = (self.frames.pop(), self.rule.take()) {
            let body = self.choice(frame.arms);
            self.builder.define(rule, body.expr);
        }
        self.expected = Expected::Rule;
        Ok(())
    }

    fn frame(&mut self) -> &mut Frame<'t> {
        if self.frames.is_empty() {
            self.frames.push(Frame::new(0));
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn end_alternative(&mut self) -> Result<(), GbnfError> {
        let mut arm = self.end_operand()?;
        let and = self.frame().and;
        let mut operands = std::mem::take(&mut self.frame().operands);
        if !operands.is_empty() {
            operands.push(arm);
            arm = self.operate(and, &operands, false);
        }
        self.frame().arms.push(arm);
        Ok(())
    }

    /// What stands between operators: a sequence.
    fn end_operand(&mut self) -> Result<Item, GbnfError> {
        if let Some(&not) = self.frame().nots.last() {
            let kind = GbnfErrorKind::Range("there is nothing to take the complement of");
            return Err(self.error(not, kind));
        }
        let parts = std::mem::take(&mut self.frame().parts);
        let sequence = match parts[..] {
            [part] => part,
            _ => Item {
                expr: self.builder.sequence(parts.iter().map(|part| part.expr)),
                height: height_above(&parts),
            },
        };
        Ok(self.low(sequence))
    }

    /// A rule for what the operands have in common, or for what is in none of them: which sets they are is not known yet.
    fn operate(&mut self, position: usize, operands: &[Item], is_complement: bool) -> Item {
        let rule = self.own_rule();
        let mark = self.builder.expr(extension::mark(self.operators.len()));
        self.builder.define(rule, mark);
        let reference = self.builder.rule(rule);
        self.operators.push(Operator {
            position,
            rule,
            reference,
            operands: operands.iter().map(|operand| operand.expr).collect(),
            is_complement,
        });
        Item {
            expr: reference,
            height: 0,
        }
    }

    /// Adds an atom or a group, under all the `~` before it.
    fn push(&mut self, mut item: Item) {
        while let Some(not) = self.frame().nots.pop() {
            item = self.operate(not, &[item], true);
        }
        self.frame().parts.push(item);
    }

    fn choice(&mut self, arms: Vec<Item>) -> Item {
        let choice = match arms[..] {
            [arm] => arm,
            _ => Item {
                expr: self.builder.choice(arms.iter().map(|arm| arm.expr)),
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
        self.builder.define(rule, item.expr);
        Item {
            expr: self.builder.rule(rule),
            height: 0,
        }
    }

    /// A rule that stands nowhere in the text.
    fn own_rule(&mut self) -> RuleId {
        let base = self.rule.map_or("", |(name, _)| name);
        loop {
            self.hoisted += 1;
            let name = format!("{base}_{}", self.hoisted);
            if !self.rules.contains_key(name.as_str()) {
                return self.builder.declare(name);
            }
        }
    }

    /// A group, which may have a name.
    fn open(&mut self, position: usize, capture: Option<&'t str>) -> Result<(), GbnfError> {
        if self.frames.len() > self.max_nesting as usize {
            let kind = GbnfErrorKind::Limit {
                what: "nested parentheses",
                limit: self.max_nesting,
            };
            return Err(self
                .error(position, kind)
                .with_hint("give the inner part a rule of its own".to_owned()));
        }
        self.frames.push(Frame {
            capture,
            ..Frame::new(position)
        });
        self.expected = Expected::Item { over_lines: true };
        Ok(())
    }

    fn close(&mut self, position: usize) -> Result<(), GbnfError> {
        if self.frames.len() < 2 {
            return Err(self.unexpected(position));
        }
        self.end_alternative()?;
        if let Some(frame) = self.frames.pop() {
            let capture = frame.capture;
            let mut group = self.choice(frame.arms);
            if let Some(name) = capture {
                let named = Item {
                    expr: self.builder.capture(name, group.expr),
                    height: group.height + 1,
                };
                group = self.low(named);
            }
            self.push(group);
        }
        Ok(())
    }

    fn repeat(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
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
            expr: self.builder.repeat(body.expr, min, max),
            height: body.height + 1,
        };
        let repeat = self.low(repeat);
        self.frame().parts.push(repeat);
        Ok(())
    }

    fn atom(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        let position = token.as_span().start();
        let expr = if token.as_rule() == Rule::name {
            let name = token.as_str();
            match self.rules.get(name) {
                Some(&rule) => self.builder.rule(rule),
                None => {
                    if self.undefined.is_none() {
                        self.undefined = Some(self.undefined(name, position));
                    }
                    self.builder.never()
                }
            }
        } else {
            Atoms {
                text: self.text,
                builder: &mut self.builder,
            }
            .atom(token)?
        };
        self.push(Item { expr, height: 0 });
        Ok(())
    }
}

impl Frame<'_> {
    fn new(opened: usize) -> Self {
        Self {
            opened,
            capture: None,
            arms: Vec::new(),
            operands: Vec::new(),
            and: 0,
            parts: Vec::new(),
            nots: Vec::new(),
        }
    }
}

fn is_extension(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::regex | Rule::until | Rule::and | Rule::not | Rule::capture
    )
}

fn height_above(items: &[Item]) -> u32 {
    items.iter().map(|item| item.height + 1).max().unwrap_or(0)
}

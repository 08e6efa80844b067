//! Expressions, rules and grammars.

use crate::{
    ArrayShape, Guide, JsonForm, LiteralSet, NumberSet, ObjectShape, Regular, Relation, StringShape,
};

/// An expression of one [`Grammar`], by its index in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A rule of one [`Grammar`], by its index in the list of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u32);

impl ExprId {
    /// The index in the arena.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl RuleId {
    /// The index in the list of rules.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node of the IR: a set of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// The empty set: no text at all.
    Never,
    /// The empty text.
    Empty,
    /// Exactly these bytes.
    Bytes(Box<[u8]>),
    /// One of many texts, at least one of which is not empty.
    Literals(LiteralSet),
    /// A text of a regular set.
    Regular(Regular),
    /// The parts, concatenated.
    Sequence(Box<[ExprId]>),
    /// Any one of the arms. Their order only affects printing.
    Choice(Box<[ExprId]>),
    /// The body, `min` to `max` times, or without an upper limit if there is no `max`. A counter, never unrolled.
    Repeat {
        /// What is repeated.
        body: ExprId,
        /// The minimum number of times.
        min: u32,
        /// The maximum number of times, at least `min`.
        max: Option<u32>,
    },
    /// The body as a capture, which names its span in the output. It does not change which texts match.
    Capture {
        /// The name; several expressions may share one.
        name: Box<str>,
        /// What is captured.
        body: ExprId,
    },
    /// The body, generated as the guide requires. It does not change which texts match.
    Guided {
        /// The requirement.
        guide: Guide,
        /// The guided part.
        body: ExprId,
    },
    /// A grounded value: a JSON string or number whose value must come from an input. In a grammar that is not bound to
    /// an input, it matches all texts of the body.
    Grounded {
        /// The JSON Pointers of the schemas that describe the value: equal values of different schemas are bound
        /// separately.
        pointer: Box<str>,
        /// The format that the schema names for the value.
        format: Option<Box<str>>,
        /// The possible values.
        body: ExprId,
    },
    /// A referent: a JSON string or number that later values are compared with.
    Referent {
        /// The name that related values refer to; several expressions may share one.
        name: Box<str>,
        /// The possible values.
        body: ExprId,
    },
    /// A related value: a JSON string or number with a relation to the referents written before it.
    Related {
        /// The JSON Pointer of the keyword that requires the relation.
        pointer: Box<str>,
        /// The relation.
        relation: Relation,
        /// The name of the referents.
        referent: Box<str>,
        /// The possible values if there is no referent.
        body: ExprId,
    },
    /// A reference to a rule.
    Rule(RuleId),
    /// One token of the vocabulary, independent of its text.
    Token(TokenTerminal),
    /// A JSON string, with its quotes, whose value is in the shape.
    String(StringShape),
    /// A JSON number whose value is in the set.
    Number(NumberSet),
    /// A JSON object, from brace to brace.
    Object(Box<ObjectShape>),
    /// A JSON array, from bracket to bracket.
    Array(Box<ArrayShape>),
}

/// A terminal that is one token of the vocabulary, whatever its text. No text matches it, not even the token's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenTerminal {
    /// The token with this name, such as `<|tool_call|>`: the special token, or else the one with this text.
    Name(String),
    /// The token with this id.
    Id(u32),
    /// Any token of the vocabulary, including special ones, except the one with this name and those that end the
    /// output.
    NotName(String),
    /// The same, except the one with this id.
    NotId(u32),
}

/// A named rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name, for printing and messages; unique in its grammar.
    pub name: String,
    /// What the rule matches.
    pub body: ExprId,
}

/// A grammar: rules over an arena of expressions, and the form of the JSON in it.
///
/// Made with [`GrammarBuilder`](crate::GrammarBuilder).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    pub(crate) exprs: Vec<Expr>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) root: RuleId,
    pub(crate) form: JsonForm,
}

impl Grammar {
    /// The expression with this id.
    ///
    /// # Panics
    /// If the id belongs to another grammar and is out of range here.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// All expressions, in the order of their ids.
    #[must_use]
    pub fn exprs(&self) -> &[Expr] {
        &self.exprs
    }

    /// The rule with this id.
    ///
    /// # Panics
    /// If the id belongs to another grammar and is out of range here.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.index()]
    }

    /// All rules, in the order of their ids.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Replaces every expression for which `other` returns one.
    #[must_use]
    pub fn replace(mut self, mut other: impl FnMut(ExprId, &Expr) -> Option<Expr>) -> Self {
        for (i, expr) in self.exprs.iter_mut().enumerate() {
            if let Some(new) = other(ExprId(i as u32), expr) {
                *expr = new;
            }
        }
        self
    }

    /// A grammar of one of this grammar's expressions, with the rules that it needs.
    ///
    /// # Panics
    /// If the id belongs to another grammar and is out of range here.
    #[must_use]
    pub fn rooted_at(&self, body: ExprId) -> Self {
        assert!(
            body.index() < self.exprs.len(),
            "an expression of this grammar"
        );
        crate::passes::rebuild::part(self, body)
    }

    /// What a text of the expression consists of, as far as these are expressions: the children except the values of
    /// objects and arrays, or the body of a rule.
    pub fn parts<'g>(&'g self, expr: &'g Expr) -> impl Iterator<Item = ExprId> + 'g {
        let (several, one) = match expr {
            Expr::Sequence(parts) | Expr::Choice(parts) => (&**parts, None),
            Expr::Repeat { body, .. }
            | Expr::Capture { body, .. }
            | Expr::Guided { body, .. }
            | Expr::Grounded { body, .. }
            | Expr::Referent { body, .. }
            | Expr::Related { body, .. } => (&[][..], Some(*body)),
            Expr::Rule(rule) => (&[][..], Some(self.rule(*rule).body)),
            _ => (&[][..], None),
        };
        several.iter().copied().chain(one)
    }

    /// The rule that a whole text must match.
    #[must_use]
    pub fn root(&self) -> RuleId {
        self.root
    }

    /// How JSON values may be written.
    #[must_use]
    pub fn form(&self) -> &JsonForm {
        &self.form
    }
}

impl Expr {
    /// The direct children of the expression, in order, including those in shapes.
    pub fn children(&self) -> impl Iterator<Item = ExprId> + '_ {
        let (slice, body, object, array): (&[ExprId], Option<ExprId>, _, _) = match self {
            Self::Sequence(parts) | Self::Choice(parts) => (parts, None, None, None),
            Self::Repeat { body, .. }
            | Self::Capture { body, .. }
            | Self::Guided { body, .. }
            | Self::Grounded { body, .. }
            | Self::Referent { body, .. }
            | Self::Related { body, .. } => (&[], Some(*body), None, None),
            Self::Object(shape) => (&[], None, Some(shape), None),
            Self::Array(shape) => (&[], None, None, Some(shape)),
            _ => (&[], None, None, None),
        };
        slice
            .iter()
            .copied()
            .chain(body)
            .chain(object.into_iter().flat_map(|shape| shape.children()))
            .chain(array.into_iter().flat_map(|shape| shape.children()))
    }
}

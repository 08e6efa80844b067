//! Expressions, rules and the grammar that holds them.

use crate::{
    ArrayShape, Guide, JsonForm, LiteralSet, NumberSet, ObjectShape, Regular, Relation, StringShape,
};

/// An expression of one [`Grammar`], by its place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A rule of one [`Grammar`], by its place in the list of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u32);

impl ExprId {
    /// The place in the arena.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl RuleId {
    /// The place in the list of rules.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node of the IR: a set of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// No text at all.
    Never,
    /// The empty text.
    Empty,
    /// These bytes.
    Bytes(Box<[u8]>),
    /// One of many texts, of which some has a byte.
    Literals(LiteralSet),
    /// A text of a regular set.
    Regular(Regular),
    /// The parts, one after another.
    Sequence(Box<[ExprId]>),
    /// Any one of the arms. The order says nothing but how the grammar prints.
    Choice(Box<[ExprId]>),
    /// The body, `min` to `max` times; without a `max`, as often as one likes. A counter, never unrolled.
    Repeat {
        /// What is repeated.
        body: ExprId,
        /// The fewest times.
        min: u32,
        /// The most times, at least `min`.
        max: Option<u32>,
    },
    /// A text of the body, whose span in the output has a name. It changes nothing about which texts there are.
    Capture {
        /// The name; several expressions may have one.
        name: Box<str>,
        /// What is captured.
        body: ExprId,
    },
    /// A text of the body, written as the guide says. It changes nothing about which texts there are.
    Guided {
        /// How it is written.
        guide: Guide,
        /// What is written.
        body: ExprId,
    },
    /// A text of the body, a JSON string or number whose value is to come from an input. A grammar that is not bound to
    /// an input has all texts of the body.
    Grounded {
        /// The JSON Pointers of the schemas that describe the value: equal values of different schemas are bound one by
        /// one.
        pointer: Box<str>,
        /// The format that the schema names for the value.
        format: Option<Box<str>>,
        /// What may be written.
        body: ExprId,
    },
    /// A text of the body, a JSON string or number that later values are compared with.
    Referent {
        /// The name under which they refer to it; several expressions may have one.
        name: Box<str>,
        /// What may be written.
        body: ExprId,
    },
    /// A text of the body, a JSON string or number, whose value has a relation to the referents written before it.
    Related {
        /// The JSON Pointer of the keyword that asks for it.
        pointer: Box<str>,
        /// The relation.
        relation: Relation,
        /// The name of the referents.
        referent: Box<str>,
        /// What may be written where there is no referent.
        body: ExprId,
    },
    /// A text of that rule.
    Rule(RuleId),
    /// One token of the vocabulary, not its text.
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

/// A terminal that is one token of the vocabulary, whatever its text. No text stands for it, not even the token's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenTerminal {
    /// The token of this name, such as `<|tool_call|>`: the special token, or else the one with this text.
    Name(String),
    /// The token of this id.
    Id(u32),
    /// Any token of the vocabulary, special ones included, but the one of this name and those that end the output.
    NotName(String),
    /// The same for the one of this id.
    NotId(u32),
}

/// A named rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name, for printing and for messages; unique in its grammar.
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
    /// The expression of this id.
    ///
    /// # Panics
    /// When the id is of another grammar and out of this one's range.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// All expressions, in the order of their ids.
    #[must_use]
    pub fn exprs(&self) -> &[Expr] {
        &self.exprs
    }

    /// The rule of this id.
    ///
    /// # Panics
    /// When the id is of another grammar and out of this one's range.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.index()]
    }

    /// All rules, in the order of their ids.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The grammar with other expressions in the places where `other` gives one.
    #[must_use]
    pub fn replace(mut self, mut other: impl FnMut(ExprId, &Expr) -> Option<Expr>) -> Self {
        for (i, expr) in self.exprs.iter_mut().enumerate() {
            if let Some(new) = other(ExprId(i as u32), expr) {
                *expr = new;
            }
        }
        self
    }

    /// The grammar of the texts of one of its expressions.
    ///
    /// # Panics
    /// When the id is of another grammar and out of this one's range.
    #[must_use]
    pub fn rooted_at(&self, body: ExprId) -> Self {
        assert!(
            body.index() < self.exprs.len(),
            "an expression of this grammar"
        );
        let mut grammar = self.clone();
        grammar.root = RuleId(u32::try_from(grammar.rules.len()).unwrap_or(u32::MAX));
        grammar.rules.push(Rule {
            name: "part".into(),
            body,
        });
        grammar
    }

    /// The rule that a whole text has to match.
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
    /// The expressions that this one is made of, in order; shapes included.
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

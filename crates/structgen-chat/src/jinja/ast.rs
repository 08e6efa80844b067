//! The syntax tree of a template.

use std::sync::Arc;

use super::filters::FilterFn;
use super::tests_of_values::TestFn;

/// A name in a template, as an index into [`Template::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Name(pub(crate) u32);

impl Name {
    /// Every template has the names `loop` and `caller`.
    pub(crate) const LOOP: Self = Self(0);
    pub(crate) const CALLER: Self = Self(1);
}

/// A macro or the body of a `call` block, as an index into [`Template::macros`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MacroId(pub(crate) usize);

/// A parsed template.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) macros: Vec<Macro>,
    pub(crate) body: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) line: u32,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Data(String),
    Print(Expr),
    For(Box<For>),
    /// Conditions with their bodies, and the body if none of them holds.
    If(Vec<(Expr, Vec<Statement>)>, Vec<Statement>),
    Set(Target, Expr),
    SetBlock(Target, Vec<FilterCall>, Vec<Statement>),
    With(Vec<(Target, Expr)>, Vec<Statement>),
    Macro(MacroId),
    CallBlock(MacroId, Expr),
    FilterBlock(Vec<FilterCall>, Vec<Statement>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) condition: Option<Expr>,
    pub(crate) body: Vec<Statement>,
    pub(crate) otherwise: Vec<Statement>,
}

/// The target of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Name),
    Tuple(Vec<Target>),
    /// An attribute of a namespace.
    Attribute(Name, Name),
}

#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<(Name, Option<Expr>)>,
    pub(crate) body: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) struct FilterCall {
    pub(crate) filter: FilterFn,
    pub(crate) arguments: Arguments,
    pub(crate) line: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Expr>,
    pub(crate) named: Vec<(Name, Expr)>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) line: u32,
    /// One more than that of its highest child; bounded, so that traversing and dropping the tree cannot exhaust the
    /// stack.
    pub(crate) height: u32,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Name(Name),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Attribute(Box<Expr>, Name),
    Item(Box<Expr>, Box<Expr>),
    /// The start, end and step of a slice.
    Slice(Box<Expr>, Box<[Option<Expr>; 3]>),
    Call(Box<Expr>, Arguments),
    Filter(Box<Expr>, FilterFn, Arguments),
    Test(Box<Expr>, TestFn, Arguments),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// Comparisons that must all hold: `a < b < c`.
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    Concat(Vec<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// Condition, value, and the value if the condition is false.
    Conditional(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

impl ExprKind {
    /// The height of the highest child.
    pub(crate) fn height(&self) -> u32 {
        fn highest<'e>(children: impl IntoIterator<Item = &'e Expr>) -> u32 {
            let heights = children.into_iter().map(|child| child.height);
            heights.max().unwrap_or(0)
        }
        fn of_arguments(arguments: &Arguments) -> u32 {
            let named = arguments.named.iter().map(|(_, value)| value);
            highest(arguments.positional.iter().chain(named))
        }
        match self {
            Self::None
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Text(_)
            | Self::Name(_) => 0,
            Self::List(items)
            | Self::Tuple(items)
            | Self::Concat(items)
            | Self::And(items)
            | Self::Or(items) => highest(items),
            Self::Map(entries) => highest(entries.iter().flat_map(|(key, value)| [key, value])),
            Self::Attribute(value, _)
            | Self::Not(value)
            | Self::Negative(value)
            | Self::Positive(value) => value.height,
            Self::Item(a, b) | Self::Binary(_, a, b) => a.height.max(b.height),
            Self::Slice(value, bounds) => highest(bounds.iter().flatten()).max(value.height),
            Self::Call(value, arguments)
            | Self::Filter(value, _, arguments)
            | Self::Test(value, _, arguments) => of_arguments(arguments).max(value.height),
            Self::Compare(first, rest) => {
                highest(rest.iter().map(|(_, value)| value)).max(first.height)
            }
            Self::Conditional(condition, then, otherwise) => {
                let otherwise = otherwise.as_ref().map_or(0, |value| value.height);
                condition.height.max(then.height).max(otherwise)
            }
        }
    }
}

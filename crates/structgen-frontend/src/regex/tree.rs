//! Syntax trees of patterns that may refer back to groups.
//!
//! All other patterns are [`Regular`] from the start. In these, groups and references stay in the tree until the whole
//! pattern is known; [`references`](super::references) then makes it a [`Regular`].

use std::ops::Range;

use structgen_grammar::{CharSet, Regular};

/// A part of a pattern.
#[derive(Clone)]
pub(super) enum Tree {
    /// A part without captured groups and references.
    Set(Regular),
    /// A part with some.
    Node(Box<Node>),
}

/// A part with captured groups or references.
#[derive(Clone)]
pub(super) struct Node {
    /// The numbers of the groups in it, which are consecutive.
    pub(super) groups: Range<u32>,
    /// The references in it, in the order of the pattern, in which they are consecutive as well.
    pub(super) references: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Clone)]
pub(super) enum NodeKind {
    Concat(Vec<Tree>),
    Union(Vec<Tree>),
    Repeat {
        body: Tree,
        min: u32,
        max: Option<u32>,
    },
    Look {
        /// The position of its parenthesis.
        opened: usize,
        behind: bool,
        negated: bool,
        body: Tree,
    },
    Group {
        number: u32,
        body: Tree,
    },
    Reference(Reference),
}

/// A back-reference.
#[derive(Clone, Copy)]
pub(super) struct Reference {
    /// Its position in the pattern.
    pub(super) at: usize,
    /// The group that it refers to.
    pub(super) group: u32,
    /// The characters that match a character of the group's text; the same one if there is no function.
    pub(super) fold: Option<fn(char) -> CharSet>,
}

impl Tree {
    pub(super) fn concat(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        Self::of(parts, NodeKind::Concat, Regular::concat)
    }

    pub(super) fn union(mut arms: Vec<Self>) -> Self {
        if arms.len() == 1 {
            return arms.swap_remove(0);
        }
        Self::of(arms, NodeKind::Union, Regular::union)
    }

    pub(super) fn repeat(self, min: u32, max: Option<u32>) -> Self {
        match self {
            Self::Set(body) => Self::Set(Regular::repeat(body, min, max)),
            Self::Node(ref node) => {
                let (groups, references) = (node.groups.clone(), node.references.clone());
                let body = self;
                Self::node(groups, references, NodeKind::Repeat { body, min, max })
            }
        }
    }

    /// A captured group; `groups` are the numbers of the groups from this one to the last one in it.
    pub(super) fn group(groups: Range<u32>, body: Self) -> Self {
        let (number, references) = (groups.start, body.references());
        Self::node(groups, references, NodeKind::Group { number, body })
    }

    /// The reference with this index.
    pub(super) fn reference(index: usize, reference: Reference) -> Self {
        let kind = NodeKind::Reference(reference);
        Self::node(0..0, index..index + 1, kind)
    }

    pub(super) fn node(groups: Range<u32>, references: Range<usize>, kind: NodeKind) -> Self {
        Self::Node(Box::new(Node {
            groups,
            references,
            kind,
        }))
    }

    /// The groups in it.
    pub(super) fn groups(&self) -> Range<u32> {
        match self {
            Self::Set(_) => 0..0,
            Self::Node(node) => node.groups.clone(),
        }
    }

    /// The references in it.
    pub(super) fn references(&self) -> Range<usize> {
        match self {
            Self::Set(_) => 0..0,
            Self::Node(node) => node.references.clone(),
        }
    }

    fn of(
        parts: Vec<Self>,
        kind: fn(Vec<Self>) -> NodeKind,
        set: fn(Vec<Regular>) -> Regular,
    ) -> Self {
        let groups = parts.iter().map(Self::groups).fold(0..0, joined);
        let references = parts.iter().map(Self::references).fold(0..0, joined);
        if groups.is_empty() && references.is_empty() {
            let sets = parts.into_iter().filter_map(|part| match part {
                Self::Set(set) => Some(set),
                Self::Node(_) => None,
            });
            return Self::Set(set(sets.collect()));
        }
        Self::node(groups, references, kind(parts))
    }
}

/// Returns the smallest range that contains both; an empty range adds nothing.
fn joined<T: Ord + Copy>(left: Range<T>, right: Range<T>) -> Range<T> {
    match (left.is_empty(), right.is_empty()) {
        (true, _) => right,
        (_, true) => left,
        _ => left.start.min(right.start)..left.end.max(right.end),
    }
}

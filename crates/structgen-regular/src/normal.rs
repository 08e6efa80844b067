//! Constructors of expressions that normalise.
//!
//! The laws are those that keep derivatives few (Brzozowski 1964; Owens, Reppy, Turon 2009): unions are sets, factored
//! by their first part; concatenations lean to the right; parts that are certainly empty are dropped. Adjacent counters
//! of one body are merged.

use super::arena::{Arena, Node, NodeId};

/// Unions of more arms are not searched for arms that others contain.
const MOST_ABSORBED: usize = 128;
/// The maximum number of terms of a disjunctive normal form that is made at once.
const MOST_PRODUCTS: usize = 1_024;

impl Arena {
    /// Returns the first part of a concatenation and the rest; anything else is followed by the empty string.
    pub(super) fn split(&self, id: NodeId) -> (NodeId, NodeId) {
        match *self.node(id) {
            Node::Concat(first, rest) => (first, rest),
            _ => (id, Self::EMPTY),
        }
    }

    /// Returns the concatenation.
    pub(super) fn concat(&mut self, first: NodeId, rest: NodeId) -> NodeId {
        if first == Self::NEVER || rest == Self::NEVER {
            return Self::NEVER;
        }
        if rest == Self::EMPTY {
            return first;
        }
        let mut heads = Vec::new();
        let mut last = first;
        while let Node::Concat(head, tail) = *self.node(last) {
            heads.push(head);
            last = tail;
        }
        let mut result = self.prepend(last, rest);
        while let Some(head) = heads.pop() {
            result = self.prepend(head, result);
        }
        result
    }

    /// `first` is no concatenation.
    fn prepend(&mut self, first: NodeId, mut rest: NodeId) -> NodeId {
        if first == Self::EMPTY || rest == Self::NEVER {
            return rest;
        }
        // Any text absorbs adjacent parts that may be empty.
        let swallowed = |part: NodeId| self.nullable(part) && self.utf8(part);
        if self.any_text() == Some(first) {
            while rest != Self::EMPTY && swallowed(self.split(rest).0) {
                rest = self.split(rest).1;
            }
        }
        let (head, tail) = self.split(rest);
        if self.any_text() == Some(head) && swallowed(first) {
            return rest;
        }
        if rest == Self::EMPTY {
            return first;
        }
        if let (
            &Node::Repeat { body, min, max },
            Node::Repeat {
                body: next,
                min: next_min,
                max: next_max,
            },
        ) = (self.node(first), self.node(head))
            && body == *next
            && let Some(min) = min.checked_add(*next_min)
        {
            let max = match (max, *next_max) {
                (Some(max), Some(next_max)) => max.checked_add(next_max).map(Some),
                _ => Some(None),
            };
            if let Some(max) = max {
                let merged = self.intern(Node::Repeat { body, min, max });
                return self.prepend_plain(merged, tail);
            }
        }
        self.prepend_plain(first, rest)
    }

    fn prepend_plain(&mut self, first: NodeId, rest: NodeId) -> NodeId {
        if rest == Self::EMPTY {
            first
        } else {
            self.intern(Node::Concat(first, rest))
        }
    }

    /// Returns the body repeated `min` to `max` times.
    pub(super) fn repeat(&mut self, body: NodeId, min: u32, max: Option<u32>) -> NodeId {
        if max.is_some_and(|max| max < min) {
            return Self::NEVER;
        }
        if max == Some(0) || body == Self::EMPTY || (body == Self::NEVER && min == 0) {
            return Self::EMPTY;
        }
        if body == Self::NEVER || (min, max) == (1, Some(1)) {
            return body;
        }
        let (mut body, mut min, mut max) = (body, min, max);
        if self.nullable(body) {
            min = 0;
            body = self.without_empty_arm(body);
        }
        match *self.node(body) {
            // (x*){2,5} = x*, (x+){2,5} = x{2,}
            Node::Repeat {
                body: inner,
                min: least @ 0..=1,
                max: None,
            } => {
                min *= least;
                max = None;
                body = inner;
            }
            // (x?){0,5} = x{0,5}
            Node::Repeat {
                body: inner,
                min: 0,
                max: Some(1),
            } => body = inner,
            _ => {}
        }
        if (min, max) == (1, Some(1)) {
            return body;
        }
        self.intern(Node::Repeat { body, min, max })
    }

    /// Returns a union without its arm for the empty string. Repeated zero or more times, it is the same set.
    fn without_empty_arm(&mut self, id: NodeId) -> NodeId {
        match self.node(id) {
            Node::Union(arms) if arms.contains(&Self::EMPTY) => {
                let arms = arms
                    .iter()
                    .copied()
                    .filter(|&arm| arm != Self::EMPTY)
                    .collect();
                self.union_of_set(arms)
            }
            _ => id,
        }
    }

    /// Returns the union of the arms.
    pub(super) fn union(&mut self, mut arms: Vec<NodeId>) -> NodeId {
        self.work += arms.len() as u64;
        if !self.simplify_union(&mut arms) {
            return Self::ALL_BYTES;
        }
        if arms.len() > 1 {
            let merged = self.merge_counters(&mut arms);
            let factored = self.factor(&mut arms);
            if (factored || merged) && !self.simplify_union(&mut arms) {
                return Self::ALL_BYTES;
            }
        }
        self.union_of_set(arms)
    }

    /// Returns a union that is not factored: its arms are factored when a derivative brings them to the front.
    /// Factoring all levels at once would recurse as deep as the expressions are long.
    fn union_unfactored(&mut self, mut arms: Vec<NodeId>) -> NodeId {
        if !self.simplify_union(&mut arms) {
            return Self::ALL_BYTES;
        }
        self.union_of_set(arms)
    }

    fn union_of_set(&mut self, arms: Vec<NodeId>) -> NodeId {
        match arms[..] {
            [] => Self::NEVER,
            [arm] => arm,
            _ => self.intern(Node::Union(arms.into())),
        }
    }

    /// Flattens and sorts the arms and drops those that others contain; `false` if the union is every byte string.
    fn simplify_union(&mut self, arms: &mut Vec<NodeId>) -> bool {
        let mut nested = Vec::new();
        arms.retain(|&arm| match self.node(arm) {
            Node::Never => false,
            Node::Union(inner) => {
                nested.extend_from_slice(inner);
                false
            }
            _ => true,
        });
        arms.append(&mut nested);
        arms.sort_unstable();
        arms.dedup();
        if arms.contains(&Self::ALL_BYTES) {
            return false;
        }
        if let Some(any) = self.any_text()
            && arms.len() > 1
            && arms.binary_search(&any).is_ok()
        {
            arms.retain(|&arm| arm == any || !self.utf8(arm));
        }
        if arms.len() > 1 {
            self.absorb(arms);
        }
        if arms.len() > 1 && arms[0] == Self::EMPTY {
            if arms[1..].iter().any(|&arm| self.nullable(arm)) {
                arms.remove(0);
            } else if let Some((at, body, max)) = self.find_plus(arms) {
                // ε | x{1,n} = x{0,n}
                arms[at] = self.repeat(body, 0, max);
                arms.remove(0);
                arms.sort_unstable();
                arms.dedup();
            }
        }
        true
    }

    /// `a | (a & b)` = `a`.
    fn absorb(&self, arms: &mut Vec<NodeId>) {
        let is_product = |&arm: &NodeId| matches!(self.node(arm), Node::Intersection(_));
        if !arms.iter().any(is_product) || arms.len() > MOST_ABSORBED {
            return;
        }
        let absorbed: Vec<NodeId> = arms
            .iter()
            .copied()
            .filter(|&arm| match self.node(arm) {
                Node::Intersection(factors) => arms.iter().any(|&other| match self.node(other) {
                    _ if other == arm => false,
                    Node::Intersection(fewer) => {
                        fewer.len() < factors.len()
                            && fewer.iter().all(|one| factors.binary_search(one).is_ok())
                    }
                    _ => factors.binary_search(&other).is_ok(),
                }),
                _ => false,
            })
            .collect();
        if !absorbed.is_empty() {
            arms.retain(|arm| absorbed.binary_search(arm).is_err());
        }
    }

    fn find_plus(&self, arms: &[NodeId]) -> Option<(usize, NodeId, Option<u32>)> {
        arms.iter()
            .enumerate()
            .find_map(|(at, &arm)| match *self.node(arm) {
                Node::Repeat { body, min: 1, max } => Some((at, body, max)),
                _ => None,
            })
    }

    /// `xa | xb` = `x(a|b)`, so that alternatives that differ only later are not stepped one by one. Arms with rounds
    /// to count later are left apart, so that those with different counts are [merged](Self::merge_counters).
    fn factor(&mut self, arms: &mut Vec<NodeId>) -> bool {
        let split =
            |&arm: &NodeId| Some(self.split(arm)).filter(|&(_, rest)| !self.counts_rounds(rest));
        let mut heads: Vec<(NodeId, NodeId)> = arms.iter().filter_map(split).collect();
        heads.sort_unstable();
        if heads.windows(2).all(|pair| pair[0].0 != pair[1].0) {
            return false;
        }
        arms.retain(|&arm| self.counts_rounds(self.split(arm).1));
        for group in heads.chunk_by(|left, right| left.0 == right.0) {
            let rest = match *group {
                [(_, rest)] => rest,
                _ => self.union_unfactored(group.iter().map(|&(_, rest)| rest).collect()),
            };
            let arm = self.prepend(group[0].0, rest);
            arms.push(arm);
        }
        true
    }

    /// Returns the intersection of the arms.
    pub(super) fn intersection(&mut self, mut arms: Vec<NodeId>) -> NodeId {
        self.work += arms.len() as u64;
        let mut nested = Vec::new();
        arms.retain(|&arm| match self.node(arm) {
            Node::AllBytes => false,
            Node::Intersection(inner) => {
                nested.extend_from_slice(inner);
                false
            }
            _ => true,
        });
        arms.append(&mut nested);
        arms.sort_unstable();
        arms.dedup();
        if arms.first() == Some(&Self::NEVER) {
            return Self::NEVER;
        }
        if arms.first() == Some(&Self::EMPTY) {
            arms.retain(|&arm| arm == Self::EMPTY || !self.nullable(arm));
            if arms[1..].iter().any(|&arm| self.asks(arm) == 0) {
                return Self::NEVER;
            }
        }
        if let Some(any) = self.any_text()
            && let Ok(at) = arms.binary_search(&any)
            && arms.iter().any(|&arm| arm != any && self.utf8(arm))
        {
            arms.remove(at);
        }
        let contradicts = |&arm: &NodeId| match *self.node(arm) {
            Node::Not(body) => {
                arms.binary_search(&body).is_ok()
                    || (self.any_text() == Some(body) && arms.iter().any(|&arm| self.utf8(arm)))
            }
            _ => false,
        };
        let least = arms.iter().map(|&arm| self.least(arm)).max();
        let most = arms.iter().map(|&arm| self.most(arm)).min();
        if arms.iter().any(contradicts) || least > most {
            return Self::NEVER;
        }
        match arms[..] {
            [] => Self::ALL_BYTES,
            [arm] => arm,
            _ if arms.iter().any(|&arm| self.loops(arm)) => self.distributed(arms),
            _ => self.intern(Node::Intersection(arms.into())),
        }
    }

    /// `(a | b) & c` = `(a & c) | (b & c)`: the disjunctive normal form, in which loops that look around have few
    /// states.
    fn distributed(&mut self, arms: Vec<NodeId>) -> NodeId {
        let mut product: Vec<Vec<NodeId>> = vec![Vec::new()];
        for &arm in &arms {
            let factor = match self.node(arm) {
                Node::Union(inner) => inner.clone(),
                _ => [arm].into(),
            };
            if product.len() * factor.len() > MOST_PRODUCTS {
                // This is still the same set; if it keeps growing, the limit on expressions stops it.
                return self.intern(Node::Intersection(arms.into()));
            }
            product = product
                .iter()
                .flat_map(|term| {
                    factor.iter().map(move |&more| {
                        let mut longer = term.clone();
                        longer.push(more);
                        longer
                    })
                })
                .collect();
        }
        if product.len() < 2 {
            return self.intern(Node::Intersection(arms.into()));
        }
        let terms = product
            .into_iter()
            .map(|term| self.intersection(term))
            .collect();
        self.union(terms)
    }

    /// Returns every byte string that is not in the body.
    pub(super) fn not(&mut self, body: NodeId) -> NodeId {
        match *self.node(body) {
            Node::Never => Self::ALL_BYTES,
            Node::AllBytes => Self::NEVER,
            Node::Not(inner) => inner,
            Node::Union(ref arms) if self.loops(body) => {
                let arms = arms.clone();
                let arms = arms.iter().map(|&arm| self.not(arm)).collect();
                self.intersection(arms)
            }
            Node::Intersection(ref arms) if self.loops(body) => {
                let arms = arms.clone();
                let arms = arms.iter().map(|&arm| self.not(arm)).collect();
                self.union(arms)
            }
            _ => self.intern(Node::Not(body)),
        }
    }

    /// Returns every UTF-8 text that is not in the body. [`Arena::set_any_text`] must have been called.
    pub(super) fn text_complement(&mut self, body: NodeId) -> NodeId {
        let any = self.any_text().unwrap_or(Self::ALL_BYTES);
        if let Node::Intersection(arms) = self.node(body)
            && let [one, other] = **arms
            && let Some(inner) =
                [(one, other), (other, one)]
                    .into_iter()
                    .find_map(|(one, other)| match *self.node(other) {
                        Node::Not(inner) if one == any && self.utf8(inner) => Some(inner),
                        _ => None,
                    })
        {
            return inner;
        }
        let not = self.not(body);
        self.intersection(vec![any, not])
    }
}

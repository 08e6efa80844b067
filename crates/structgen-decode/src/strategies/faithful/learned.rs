//! What samples teach about beginnings: how much of the model's probability after each may still lead to a complete
//! output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use structgen_vocab::TokenId;

use super::allowed::ln_sum;
use super::visit::Beginning;
use super::{FaithfulError, ForcedEnd};

/// Upper bounds of the expected future grammaticality of beginnings (Park et al. 2024, "Grammar-Aligned Decoding"),
/// which faithful samplers learn: a handle, whose clones share what is learned.
///
/// The expected future grammaticality of a beginning is the probability that the model, left alone, completes it.
/// Unknown beginnings count as certain to be completed, as masks would have it. Every sample shows how much the masks
/// after its beginnings removed, which lowers the bounds of all of them: they only fall, never below the truth, and
/// reach it as the samples go on. A beginning is a sequence of tokens after the prompt.
///
/// What is learned holds for one model, one constraint, one prompt (with its prefill), one number of new tokens and one
/// [`ForcedEnd`]. The first two are the caller's to keep; another of the others is refused. Requests that run at the
/// same time may share it: [rejection](crate::Strategy::Rejection) stays exact, and which output comes of which attempt
/// depends on the others.
///
/// Memory is bounded: a beginning takes about 80 bytes, and at [`with_limit`](ExpectedGrammaticality::with_limit)
/// beginnings no more are remembered. What is known stays and counts; after the unknown ones masks alone are followed,
/// so that [ASAp](crate::Strategy::Asap) comes less close to the model's distribution, and rejection stays exact and
/// takes more attempts.
#[derive(Debug, Clone)]
pub struct ExpectedGrammaticality(Arc<Mutex<BoundTree>>);

impl Default for ExpectedGrammaticality {
    /// Remembers 250,000 beginnings, in about 20 MB.
    fn default() -> Self {
        Self::with_limit(250_000)
    }
}

/// Handles are equal when they share what is learned.
impl PartialEq for ExpectedGrammaticality {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl ExpectedGrammaticality {
    /// Nothing known, and at most this many beginnings remembered. With none at all, masks and rejection are the plain
    /// ones.
    #[must_use]
    pub fn with_limit(beginnings: usize) -> Self {
        let tree = BoundTree {
            situation: None,
            nodes: Vec::new(),
            limit: beginnings.min(u32::MAX as usize),
        };
        Self(Arc::new(Mutex::new(tree)))
    }

    /// The number of beginnings that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().nodes.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The natural logarithm of an upper bound of the probability that the model completes this beginning: zero where
    /// nothing is known.
    ///
    /// That of the empty beginning bounds the model's probability of all complete outputs together.
    #[must_use]
    pub fn log_bound(&self, beginning: &[TokenId]) -> f64 {
        let tree = self.lock();
        let mut at = tree.root();
        for &token in beginning {
            at = tree.child(at, token);
        }
        tree.ln_bound(at)
    }

    /// The bounds, to be read or changed. Each change leaves them valid, so that a panic elsewhere costs nothing.
    pub(super) fn lock(&self) -> MutexGuard<'_, BoundTree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tree of beginnings with their bounds.
#[derive(Debug)]
pub(super) struct BoundTree {
    situation: Option<Situation>,
    nodes: Vec<Node>,
    limit: usize,
}

/// What the bounds are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Situation {
    pub(super) prompt: Vec<TokenId>,
    pub(super) budget: usize,
    pub(super) end: ForcedEnd,
}

/// A beginning by its index in the tree; none for one that is not remembered.
pub(super) type NodeId = Option<u32>;

#[derive(Debug, Clone)]
struct Node {
    /// The tokens that samples took from here, sorted.
    children: Vec<Child>,
    /// The logarithm of the probability of all other allowed tokens and of the end.
    ln_rest: f64,
    /// The logarithm of the bound.
    ln_bound: f64,
    /// Whether it was visited, so that `ln_rest` is known.
    is_known: bool,
}

#[derive(Debug, Clone, Copy)]
struct Child {
    token: TokenId,
    ln_p: f64,
    node: u32,
}

impl Node {
    const UNKNOWN: Self = Self {
        children: Vec::new(),
        ln_rest: 0.0,
        ln_bound: 0.0,
        is_known: false,
    };
}

impl BoundTree {
    /// Makes sure that what is known is about this situation.
    pub(super) fn enter(&mut self, situation: Situation) -> Result<(), FaithfulError> {
        match &self.situation {
            Some(known) if *known != situation => return Err(FaithfulError::OtherSituation),
            Some(_) => return Ok(()),
            None => self.situation = Some(situation),
        }
        if self.limit > 0 {
            self.nodes.push(Node::UNKNOWN);
        }
        Ok(())
    }

    /// The empty beginning.
    pub(super) fn empty(&self) -> Beginning {
        let node = self.root();
        let ln_bound = self.ln_bound(node);
        Beginning { node, ln_bound }
    }

    fn root(&self) -> NodeId {
        (!self.nodes.is_empty()).then_some(0)
    }

    /// The logarithm of a beginning's bound.
    fn ln_bound(&self, at: NodeId) -> f64 {
        at.map_or(0.0, |at| self.node(at).ln_bound)
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// The beginning with one more token.
    pub(super) fn child(&self, at: NodeId, token: TokenId) -> NodeId {
        let children = &self.node(at?).children;
        let place = children.binary_search_by_key(&token, |child| child.token);
        place.ok().map(|place| children[place].node)
    }

    /// Remembers the beginning with one more token, of this probability, if there is room.
    pub(super) fn add(&mut self, at: NodeId, token: TokenId, ln_p: f64) -> NodeId {
        let at = at?;
        if self.nodes.len() >= self.limit {
            return None;
        }
        let node = self.nodes.len() as u32;
        let children = &mut self.nodes[at as usize].children;
        let place = children.binary_search_by_key(&token, |child| child.token);
        let place = place.unwrap_or_else(|place| place);
        children.insert(place, Child { token, ln_p, node });
        self.nodes.push(Node::UNKNOWN);
        Some(node)
    }

    /// Whether a beginning was visited.
    pub(super) fn is_known(&self, at: NodeId) -> bool {
        at.is_some_and(|at| self.node(at).is_known)
    }

    /// The tokens after a beginning that are remembered, sorted.
    pub(super) fn tokens(&self, at: NodeId) -> impl Iterator<Item = TokenId> {
        let children = at.map_or(&[][..], |at| &self.node(at).children);
        children.iter().map(|child| child.token)
    }

    /// The remembered tokens after a beginning, with the logarithms of their probability and of their bound.
    pub(super) fn children(
        &self,
        at: NodeId,
    ) -> impl Iterator<Item = (TokenId, f64, f64)> + Clone + '_ {
        let children = at.map_or(&[][..], |at| &self.node(at).children);
        children
            .iter()
            .map(|child| (child.token, child.ln_p, self.node(child.node).ln_bound))
    }

    /// Notes the probability of all tokens after a beginning that are allowed and not remembered, the end included.
    pub(super) fn set_rest(&mut self, at: NodeId, ln_rest: f64) {
        if let Some(at) = at {
            let node = &mut self.nodes[at as usize];
            node.ln_rest = ln_rest;
            node.is_known = true;
        }
    }

    /// Computes the bounds of beginnings anew, each of which is the one before with one more token.
    pub(super) fn update(&mut self, beginnings: &[u32]) {
        for &at in beginnings.iter().rev() {
            let node = self.node(at);
            let rest = std::iter::once(node.ln_rest);
            let children = self.children(Some(at));
            let bound = ln_sum(rest.chain(children.map(|(_, ln_p, ln_bound)| ln_p + ln_bound)));
            // Rounding is not to lift it.
            self.nodes[at as usize].ln_bound = bound.min(node.ln_bound);
        }
    }
}

//! What samples teach about prefixes: how much of the model's probability after each may still lead to a complete
//! output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use structgen_vocab::TokenId;

use super::faithful::{FaithfulError, ForcedEnd};
use crate::numeric::ln_sum;

/// Upper bounds on the expected future grammaticality of prefixes (Park et al. 2024, "Grammar-Aligned Decoding"), which
/// faithful samplers learn. This is a handle, whose clones share what is learned.
///
/// The expected future grammaticality of a prefix is the probability that the unconstrained model completes it. Unknown
/// prefixes count as certain to be completed, as in masked sampling. Every sample shows how much mass the masks after
/// its prefixes removed, which lowers the bounds of all of them: bounds only fall, never below the truth, and converge
/// to it with more samples. A prefix is a sequence of tokens after the prompt.
///
/// The bounds hold for one model, one constraint, one prompt (with its prefill), one number of new tokens and one
/// [`ForcedEnd`]. The caller is responsible for the first two; a mismatch of the others is an error. Concurrent
/// requests may share bounds: [rejection](crate::Strategy::Rejection) stays exact, but which attempt gives which output
/// depends on the other requests.
///
/// Memory is bounded: a prefix takes about 80 bytes, and no more prefixes are added beyond those of
/// [`with_limit`](ExpectedGrammaticality::with_limit). Known prefixes are kept and used. After unknown ones only the
/// masks apply, so that [ASAp](crate::Strategy::Asap) stays further from the model's distribution, and rejection stays
/// exact but takes more attempts.
#[derive(Debug, Clone)]
pub struct ExpectedGrammaticality(Arc<Mutex<BoundTree>>);

impl Default for ExpectedGrammaticality {
    /// Remembers 250,000 prefixes, in about 20 MB.
    fn default() -> Self {
        Self::with_limit(250_000)
    }
}

/// Handles are equal if they share what is learned.
impl PartialEq for ExpectedGrammaticality {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl ExpectedGrammaticality {
    /// Creates empty bounds that remember at most this many prefixes. With none at all, masked sampling and rejection
    /// are the plain ones.
    #[must_use]
    pub fn with_limit(beginnings: usize) -> Self {
        let tree = BoundTree {
            situation: None,
            nodes: Vec::new(),
            limit: beginnings.min(u32::MAX as usize),
        };
        Self(Arc::new(Mutex::new(tree)))
    }

    /// Returns the number of prefixes remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().nodes.len()
    }

    /// Returns whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the natural logarithm of an upper bound on the probability that the model completes this prefix; zero if
    /// nothing is known.
    ///
    /// The bound of the empty prefix is one on the model's probability of all complete outputs together.
    #[must_use]
    pub fn log_bound(&self, beginning: &[TokenId]) -> f64 {
        let tree = self.lock();
        let mut at = tree.root();
        for &token in beginning {
            at = tree.child(at, token);
        }
        tree.ln_bound(at)
    }

    /// Locks the bounds for reading or changing. Every change leaves them valid, so a panic elsewhere does no harm.
    pub(crate) fn lock(&self) -> MutexGuard<'_, BoundTree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tree of prefixes with their bounds.
#[derive(Debug)]
pub(crate) struct BoundTree {
    situation: Option<Situation>,
    nodes: Vec<Node>,
    limit: usize,
}

/// What the bounds are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Situation {
    pub(crate) prompt: Vec<TokenId>,
    pub(crate) budget: usize,
    pub(crate) end: ForcedEnd,
}

/// A prefix of an output, with the bound by which it was drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    pub(crate) node: NodeId,
    pub(crate) ln_bound: f64,
}

impl Beginning {
    /// Returns a prefix about which nothing is known.
    pub(crate) fn unknown(node: NodeId) -> Self {
        let ln_bound = 0.0;
        Self { node, ln_bound }
    }
}

/// The index of a prefix in the tree; `None` if it is not remembered.
pub(crate) type NodeId = Option<u32>;

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
    /// Checks that the bounds are for this situation.
    pub(crate) fn enter(&mut self, situation: Situation) -> Result<(), FaithfulError> {
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

    /// Returns the empty prefix.
    pub(crate) fn empty(&self) -> Beginning {
        let node = self.root();
        let ln_bound = self.ln_bound(node);
        Beginning { node, ln_bound }
    }

    fn root(&self) -> NodeId {
        (!self.nodes.is_empty()).then_some(0)
    }

    /// Returns the logarithm of a prefix's bound.
    fn ln_bound(&self, at: NodeId) -> f64 {
        at.map_or(0.0, |at| self.node(at).ln_bound)
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// Returns the prefix with one more token.
    pub(crate) fn child(&self, at: NodeId, token: TokenId) -> NodeId {
        let children = &self.node(at?).children;
        let place = children.binary_search_by_key(&token, |child| child.token);
        place.ok().map(|place| children[place].node)
    }

    /// Adds the prefix with one more token, of this probability, if there is room.
    pub(crate) fn add(&mut self, at: NodeId, token: TokenId, ln_p: f64) -> NodeId {
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

    /// Returns whether a prefix was visited.
    pub(crate) fn is_known(&self, at: NodeId) -> bool {
        at.is_some_and(|at| self.node(at).is_known)
    }

    /// Returns the remembered tokens after a prefix, sorted.
    pub(crate) fn tokens(&self, at: NodeId) -> impl Iterator<Item = TokenId> {
        let children = at.map_or(&[][..], |at| &self.node(at).children);
        children.iter().map(|child| child.token)
    }

    /// Returns the remembered tokens after a prefix, with the logarithms of their probabilities and bounds.
    pub(crate) fn children(
        &self,
        at: NodeId,
    ) -> impl Iterator<Item = (TokenId, f64, f64)> + Clone + '_ {
        let children = at.map_or(&[][..], |at| &self.node(at).children);
        children
            .iter()
            .map(|child| (child.token, child.ln_p, self.node(child.node).ln_bound))
    }

    /// Sets the probability of all allowed tokens after a prefix that are not remembered, including the end.
    pub(crate) fn set_rest(&mut self, at: NodeId, ln_rest: f64) {
        if let Some(at) = at {
            let node = &mut self.nodes[at as usize];
            node.ln_rest = ln_rest;
            node.is_known = true;
        }
    }

    /// Recomputes the bounds of prefixes, each of which extends the one before by a token.
    pub(crate) fn update(&mut self, beginnings: &[u32]) {
        for &at in beginnings.iter().rev() {
            let node = self.node(at);
            let rest = std::iter::once(node.ln_rest);
            let children = self.children(Some(at));
            let bound = ln_sum(rest.chain(children.map(|(_, ln_p, ln_bound)| ln_p + ln_bound)));
            // Rounding must not raise it.
            self.nodes[at as usize].ln_bound = bound.min(node.ln_bound);
        }
    }
}

//! A long list of texts as a machine.

use structgen_grammar::LiteralSet;

use crate::bytes::run_between;
use crate::{ByteSet, LimitExceeded, LiteralsPlace, Machine};

/// Matches any text of a set.
pub(crate) struct LiteralsMachine {
    set: LiteralSet,
    /// By node, the length in bytes of the shortest text that continues from it.
    costs: Box<[u32]>,
}

/// A position in a graph of literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LiteralsState {
    /// A node if nothing was `read`, otherwise an edge.
    at: u32,
    /// The number of bytes read of the edge's label.
    read: u32,
}

impl LiteralsMachine {
    pub(crate) fn new(set: &LiteralSet) -> Self {
        let mut costs: Vec<u32> = Vec::with_capacity(set.nodes());
        for node in 0..=set.root() {
            let behind = |edge: u32| {
                let length = u32::try_from(set.label(edge).len()).unwrap_or(u32::MAX);
                costs[set.child(edge) as usize].saturating_add(length)
            };
            costs.push(match set.is_final(node) {
                true => 0,
                false => set.edges(node).map(behind).min().unwrap_or(0),
            });
        }
        Self {
            set: set.clone(),
            costs: costs.into(),
        }
    }

    /// Returns the rest of the label of an edge in progress.
    fn rest(&self, state: &LiteralsState) -> &[u8] {
        &self.set.label(state.at)[state.read as usize..]
    }
}

impl Machine for LiteralsMachine {
    type State = LiteralsState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<LiteralsState>, LimitExceeded> {
        Ok((!self.set.is_empty()).then(|| LiteralsState {
            at: self.set.root(),
            read: 0,
        }))
    }

    fn step(
        &mut self,
        state: &LiteralsState,
        byte: u8,
    ) -> Result<Option<LiteralsState>, LimitExceeded> {
        let (edge, read) = match state.read {
            0 => match self.set.edge(state.at, byte) {
                Some(edge) => (edge, 1),
                None => return Ok(None),
            },
            read if self.rest(state)[0] == byte => (state.at, read + 1),
            _ => return Ok(None),
        };
        let is_behind = self.set.label(edge).len() == read as usize;
        Ok(Some(match is_behind {
            true => LiteralsState {
                at: self.set.child(edge),
                read: 0,
            },
            false => LiteralsState { at: edge, read },
        }))
    }

    fn accept(&self, state: &LiteralsState) -> Option<u32> {
        (state.read == 0 && self.set.is_final(state.at)).then_some(0)
    }

    fn is_end(&self, state: &LiteralsState) -> bool {
        state.read == 0 && self.set.edges(state.at).is_empty()
    }

    fn equivalent_bytes(&mut self, state: &LiteralsState, byte: u8) -> (u8, u8) {
        match state.read {
            0 => run_between(self.set.first_bytes(state.at), byte),
            _ => run_between(&self.rest(state)[..1], byte),
        }
    }

    fn first(&mut self, state: &LiteralsState) -> Option<ByteSet> {
        Some(match state.read {
            0 => ByteSet::of(self.set.first_bytes(state.at)),
            _ => ByteSet::of(&self.rest(state)[..1]),
        })
    }

    fn literals(&self, state: &LiteralsState) -> Option<LiteralsPlace> {
        Some(LiteralsPlace {
            set: self.set.clone(),
            at: state.at,
            read: state.read,
        })
    }

    fn cost(&mut self, state: &LiteralsState) -> u32 {
        match state.read {
            0 => self.costs[state.at as usize],
            _ => {
                let rest = u32::try_from(self.rest(state).len()).unwrap_or(u32::MAX);
                let behind = self.set.child(state.at) as usize;
                self.costs[behind].saturating_add(rest)
            }
        }
    }
}

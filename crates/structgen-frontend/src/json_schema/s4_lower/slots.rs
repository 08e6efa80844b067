//! Slots: the values of a member or an item, split by the tallies they count towards.

use structgen_grammar::{Alternative, Slot};

use super::Lowering;
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::atoms::{Literal, Origin};
use crate::json_schema::s3_canonical::NodeId;

/// A tally that a value may count towards.
pub(super) struct CountedFor {
    pub(super) tally: u32,
    /// The condition on a value that counts.
    pub(super) counts: Vec<Literal>,
    /// The condition on a value that does not.
    pub(super) otherwise: Vec<Literal>,
    pub(super) origin: Origin,
}

impl Lowering<'_, '_, '_, '_> {
    /// The values of a node, split by the tallies they count towards.
    pub(super) fn slot(
        &mut self,
        node: NodeId,
        free: u32,
        ways: &[CountedFor],
    ) -> Result<Slot, SchemaError> {
        /// The maximum number of alternatives for the values of one slot.
        const MAX_KINDS: usize = 64;
        /// Up to this number of tallies, the alternatives of a value may overlap if separating them takes a negation.
        /// Each member whose alternatives overlap doubles the states of a text.
        const FEW: usize = 3;
        if node == NodeId::NEVER {
            return Ok(Slot::default());
        }
        if ways.is_empty() {
            let value = self.node(node)?;
            let alternatives = value.map(|value| Alternative {
                value,
                tallies: free,
            });
            return Ok(Slot {
                alternatives: alternatives.into_iter().collect(),
            });
        }
        let own = self.canonical.literals(node);
        let mut kinds: Vec<(NodeId, u32)> = vec![(node, free)];
        for way in ways {
            let mut split = Vec::with_capacity(kinds.len() * 2);
            // The extra conditions on a value that counts; the other values are those that fail them.
            let mut beyond = way.counts.iter().filter(|literal| !own.contains(literal));
            let otherwise = match (way.otherwise.as_slice(), beyond.next(), beyond.next()) {
                ([], Some(only), None) if only.negated || ways.len() > FEW => {
                    vec![only.complement()]
                }
                (otherwise, ..) => otherwise.to_vec(),
            };
            for (node, tallies) in kinds {
                let with = self.narrowed(node, &way.counts)?;
                split.extend(with.map(|with| (with, tallies | way.tally)));
                if with == Some(node) {
                    continue;
                }
                let without = self.narrowed(node, &otherwise)?;
                split.extend(without.map(|without| (without, tallies)));
            }
            kinds = split;
            if kinds.len() > MAX_KINDS {
                let reason = "too many conditions count the same values";
                self.canonical.refuse(way.origin, reason)?;
                kinds.truncate(MAX_KINDS);
            }
        }
        let mut alternatives: Vec<Alternative> = Vec::with_capacity(kinds.len());
        for (node, tallies) in kinds {
            if let Some(value) = self.node(node)? {
                alternatives.push(Alternative { value, tallies });
            }
        }
        Ok(Slot {
            alternatives: alternatives.into(),
        })
    }

    /// The node restricted by more literals, unless it is then proven empty.
    fn narrowed(
        &mut self,
        node: NodeId,
        literals: &[Literal],
    ) -> Result<Option<NodeId>, SchemaError> {
        let own = self.canonical.literals(node);
        let all = own.iter().chain(literals).copied();
        let node = self.canonical.node(all.collect::<Vec<_>>())?;
        let is_empty = node == NodeId::NEVER || self.canonical.is_empty(node)?;
        Ok((!is_empty).then_some(node))
    }
}

//! Arrays: their items, each split by the tallies that it counts towards.

use structgen_grammar::{ArrayShape, Expr, ExprId, MAX_TALLIES, Slot, Tally};

use super::Lowering;
use super::slots::CountedFor;
use crate::json_schema::SchemaError;
use crate::json_schema::s3_canonical::{Arrays, Counted, NodeId};

/// The maximum number of items with slots of their own before counting starts.
const MAX_PLACES: u32 = 1_000;

impl Lowering<'_, '_, '_, '_> {
    pub(super) fn arrays(&mut self, arrays: &Arrays) -> Result<Option<ExprId>, SchemaError> {
        if let Some(counted) = arrays.counted.get(MAX_TALLIES) {
            let reason = "too many kinds of items are counted";
            self.canonical.refuse(counted.origin, reason)?;
        }
        let counted = &arrays.counted[..arrays.counted.len().min(MAX_TALLIES)];
        let mut shape = ArrayShape {
            min_items: arrays.min,
            max_items: arrays.max,
            tallies: counted
                .iter()
                .map(|counted| Tally {
                    min: counted.min,
                    max: counted.max,
                })
                .collect(),
            unique: arrays.unique.is_some(),
            ..ArrayShape::default()
        };
        // If counting starts at a later index, each item before it gets a slot of its own.
        let mut prefix = arrays.prefix.clone();
        let from = counted
            .iter()
            .map(|counted| counted.from)
            .max()
            .unwrap_or(0);
        if from > MAX_PLACES {
            let origin = counted[0].origin;
            self.canonical
                .refuse(origin, "counting starts at too large an index")?;
        }
        while prefix.len() < from.min(MAX_PLACES) as usize {
            prefix.push(arrays.rest);
        }
        let mut is_cut = false;
        for (index, &node) in prefix.iter().enumerate() {
            let slot = self.item(node, counted, index as u32, shape.unique)?;
            if slot.alternatives.is_empty() {
                is_cut = true;
                break;
            }
            shape.prefix.push(slot);
        }
        if !is_cut {
            let slot = self.item(arrays.rest, counted, u32::MAX, shape.unique)?;
            shape.rest = Some(slot).filter(|slot| !slot.alternatives.is_empty());
        }
        if shape.rest.is_none() {
            let listed = u32::try_from(shape.prefix.len()).unwrap_or(u32::MAX);
            shape.max_items = Some(shape.max_items.map_or(listed, |max| max.min(listed)));
        }
        if shape.max_items.is_some_and(|max| max < shape.min_items) {
            return Ok(None);
        }
        Ok(Some(self.builder.expr(Expr::Array(Box::new(shape)))))
    }

    /// The values of an item, split by the tallies they count towards.
    fn item(
        &mut self,
        node: NodeId,
        counted: &[Counted],
        index: u32,
        unique: bool,
    ) -> Result<Slot, SchemaError> {
        let mut ways = Vec::new();
        for (tally, counted) in counted.iter().enumerate() {
            if counted.from > index {
                continue;
            }
            // With an upper bound, every valid item must count. Distinct items have only one alternative each.
            let is_exact = counted.max.is_some() || unique;
            ways.push(CountedFor {
                tally: 1 << tally,
                counts: vec![counted.item],
                otherwise: if is_exact {
                    vec![counted.item.complement()]
                } else {
                    Vec::new()
                },
                origin: counted.origin,
            });
        }
        self.slot(node, 0, &ways)
    }
}

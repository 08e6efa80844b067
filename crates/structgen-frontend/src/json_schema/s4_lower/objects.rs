//! Objects: their members, each kind split by the obligations that it meets.

use structgen_grammar::{
    Expr, ExprId, KeyPattern, MAX_TALLIES, ObjectShape, Property, Slot, Tally,
};

use super::Lowering;
use super::slots::CountedFor;
use crate::json_schema::s2_parse::atoms::Origin;
use crate::json_schema::s3_canonical::{Field, Member, NodeId, Objects, Obligation};
use crate::json_schema::{Effect, KeyOrder, Profile, SchemaError};

impl Lowering<'_, '_, '_, '_> {
    pub(super) fn objects(&mut self, objects: &Objects) -> Result<Option<ExprId>, SchemaError> {
        if let Some(origin) = self.closes(objects) {
            let mut closed = objects.clone();
            closed.additional = NodeId::NEVER;
            for obligation in &mut closed.obligations {
                obligation
                    .members
                    .retain(|(member, _)| *member != Member::Additional);
            }
            // Obligations may require further keys.
            if let Some(closed) = self.canonical.settled(closed)? {
                self.narrow(origin);
                return self.object_shape(&closed);
            }
        }
        self.object_shape(objects)
    }

    fn object_shape(&mut self, objects: &Objects) -> Result<Option<ExprId>, SchemaError> {
        let mut shape = ObjectShape {
            min_members: objects.min,
            max_members: objects.max,
            ..ObjectShape::default()
        };
        if let Some(obligation) = objects.obligations.get(MAX_TALLIES) {
            let reason = "too many keys of which one must be present";
            self.canonical.refuse(obligation.origin, reason)?;
        }
        let obligations = &objects.obligations[..objects.obligations.len().min(MAX_TALLIES)];
        let at_least_one = Tally { min: 1, max: None };
        shape.tallies = vec![at_least_one; obligations.len()];
        for (index, class) in objects.classes.iter().enumerate() {
            let value = self.member(objects, obligations, Member::Class(index))?;
            shape.patterns.push(KeyPattern {
                keys: class.keys.clone(),
                value,
            });
        }
        let additional = self.member(objects, obligations, Member::Additional)?;
        shape.additional = Some(additional).filter(|slot| !slot.alternatives.is_empty());
        let has_values = |pattern: &KeyPattern| !pattern.value.alternatives.is_empty();
        if shape.additional.is_none() {
            shape.patterns.retain(has_values);
        }
        let is_closed = shape.additional.is_none() && shape.patterns.is_empty();
        let order = self.canonical.key_order();
        let mut fields: Vec<(usize, &Field)> = objects.properties.iter().enumerate().collect();
        if order == KeyOrder::RequiredFirst {
            // The sort is stable, so each kind stays in declared order.
            fields.sort_by_key(|(_, field)| (!field.declared, !field.required));
        }
        for (index, field) in fields {
            let value = self.member(objects, obligations, Member::Property(index))?;
            let by_absence = obligations.iter().enumerate();
            let by_absence = by_absence.filter(|(_, it)| it.absent.contains(&index));
            let mut absent = by_absence.fold(0, |mask: u32, (tally, _)| mask | 1 << tally);
            if field.required {
                absent = 0;
            }
            if value.alternatives.is_empty() {
                if field.required {
                    return Ok(None);
                }
                // The key is never present.
                for (tally, bound) in shape.tallies.iter_mut().enumerate() {
                    bound.min = bound.min.saturating_sub(absent >> tally & 1);
                }
                absent = 0;
                // In a closed object, a key without possible values is like an undeclared key.
                if is_closed {
                    continue;
                }
            }
            shape.ordered += u32::from(field.declared && order != KeyOrder::Any);
            shape.properties.push(Property {
                key: field.key.clone(),
                value,
                required: field.required,
                absent,
            });
        }
        Ok(Some(self.builder.expr(Expr::Object(Box::new(shape)))))
    }

    /// The values of a kind of member, split by the obligations they meet.
    fn member(
        &mut self,
        objects: &Objects,
        obligations: &[Obligation],
        member: Member,
    ) -> Result<Slot, SchemaError> {
        let node = objects.node(member);
        let mut free = 0;
        let mut ways: Vec<CountedFor> = Vec::new();
        for (index, obligation) in obligations.iter().enumerate() {
            let asked = obligation
                .members
                .iter()
                .filter(|(asked, _)| *asked == member);
            for (_, unfit) in asked {
                if *unfit == node {
                    free |= 1 << index;
                    continue;
                }
                // Alternatives often make the same assertion about a value.
                let literals = self.canonical.literals(*unfit);
                if let Some(way) = ways.iter_mut().find(|way| *way.counts == *literals) {
                    way.tally |= 1 << index;
                    continue;
                }
                ways.push(CountedFor {
                    tally: 1 << index,
                    counts: self.canonical.literals(*unfit).to_vec(),
                    otherwise: Vec::new(),
                    origin: obligation.origin,
                });
            }
        }
        self.slot(node, free, &ways)
    }

    fn narrow(&mut self, origin: Origin) {
        let how = "keys that the schema says nothing about are left out";
        self.canonical.note(origin, Effect::Narrowed { how });
    }

    /// The origin of objects with declared keys, for which the profile leaves out undeclared keys.
    fn closes(&self, objects: &Objects) -> Option<Origin> {
        let is_narrow = self.canonical.options.profile != Profile::Exact;
        let declares = objects
            .properties
            .iter()
            .any(|field| field.node != NodeId::NEVER);
        let narrows = is_narrow
            && declares
            && !objects.stated
            && objects.classes.is_empty()
            && objects.additional == NodeId::ANY;
        objects.origin.filter(|_| narrows)
    }
}

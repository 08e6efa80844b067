//! Proving that a node is empty.
//!
//! Values are finite, so a node's set is a least fixed point. A node in progress counts as empty, and an answer that
//! depends on this is not cached after that node is finished. What is not proven within the depth limit counts as not
//! empty.

use super::{Arrays, Canonicalizer, Counted, NodeId, Objects, SchemaId, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::Form;
use crate::json_schema::s2_parse::atoms::{Atom, Literal, TypeSet};

/// The maximum nesting of parts that is examined.
const MAX_DEPTH: usize = 96;

/// The maximum nesting at which the items that `contains` counts are examined: they are conjunctions that occur nowhere
/// else, and in recursive schemas there are many.
const MAX_DEPTH_OF_COUNTED: usize = 8;

/// An answer, and the outermost node in progress on which it depends.
struct Answer {
    empty: bool,
    rests_on: usize,
}

const FREE: usize = usize::MAX;

impl Canonicalizer<'_, '_> {
    /// Whether the node is proven empty.
    pub(crate) fn is_empty(&mut self, id: NodeId) -> Result<bool, SchemaError> {
        Ok(self.look(id, &mut Vec::new())?.empty)
    }

    fn look(&mut self, id: NodeId, path: &mut Vec<NodeId>) -> Result<Answer, SchemaError> {
        self.depth += 1;
        let answer = self.look_now(id, path);
        self.depth -= 1;
        answer
    }

    fn look_now(&mut self, id: NodeId, path: &mut Vec<NodeId>) -> Result<Answer, SchemaError> {
        let known = |empty| Answer {
            empty,
            rests_on: FREE,
        };
        if id == NodeId::NEVER || id == NodeId::ANY {
            return Ok(known(id == NodeId::NEVER));
        }
        if let Some(&empty) = self.nodes.empty.get(&id) {
            return Ok(known(empty));
        }
        if let Some(depth) = path.iter().position(|&other| other == id) {
            return Ok(Answer {
                empty: true,
                rests_on: depth,
            });
        }
        self.step(1)?;
        if self.depth > MAX_DEPTH {
            return Ok(known(false));
        }
        let Some(values) = self.try_expand(id)? else {
            return Ok(known(false));
        };
        if has_plain(&values) {
            self.nodes.empty.insert(id, false);
            return Ok(known(false));
        }
        let depth = path.len();
        path.push(id);
        let mut answer = self.look_into(&values, path)?;
        path.pop();
        if answer.rests_on >= depth || !answer.empty {
            answer.rests_on = FREE;
            self.nodes.empty.insert(id, answer.empty);
        }
        Ok(answer)
    }

    /// Whether the set is proven empty.
    pub(super) fn are_values_empty(&mut self, values: &Values) -> Result<bool, SchemaError> {
        match self.look_into(values, &mut Vec::new()) {
            Ok(answer) => Ok(answer.empty),
            Err(error @ (SchemaError::Limit { .. } | SchemaError::CircularReference { .. })) => {
                Err(error)
            }
            Err(_) => Ok(false),
        }
    }

    fn look_into(
        &mut self,
        values: &Values,
        path: &mut Vec<NodeId>,
    ) -> Result<Answer, SchemaError> {
        let mut answer = Answer {
            empty: !has_plain(values),
            rests_on: FREE,
        };
        for objects in &values.objects {
            if !answer.empty {
                break;
            }
            let part = self.look_objects(objects, path)?;
            answer.rests_on = answer.rests_on.min(part.rests_on);
            answer.empty &= part.empty;
        }
        for arrays in &values.arrays {
            if !answer.empty {
                break;
            }
            let part = self.look_arrays(arrays, path)?;
            answer.rests_on = answer.rests_on.min(part.rests_on);
            answer.empty &= part.empty;
        }
        Ok(answer)
    }

    fn look_objects(
        &mut self,
        objects: &Objects,
        path: &mut Vec<NodeId>,
    ) -> Result<Answer, SchemaError> {
        for field in objects.properties.iter().filter(|field| field.required) {
            let part = self.look(field.node, path)?;
            if part.empty {
                return Ok(part);
            }
        }
        let mut answer = Answer {
            empty: false,
            rests_on: FREE,
        };
        for obligation in objects.obligations.iter().filter(|it| it.absent.is_empty()) {
            answer.empty = true;
            for &(_, node) in &obligation.members {
                let part = self.look(node, path)?;
                answer.rests_on = answer.rests_on.min(part.rests_on);
                if !part.empty {
                    answer.empty = false;
                    break;
                }
            }
            if answer.empty {
                return Ok(answer);
            }
        }
        if objects.min > 0 {
            return self.look_for_members(objects, path);
        }
        Ok(Answer {
            empty: false,
            rests_on: FREE,
        })
    }

    /// Whether an object cannot have as many members as it needs.
    fn look_for_members(
        &mut self,
        objects: &Objects,
        path: &mut Vec<NodeId>,
    ) -> Result<Answer, SchemaError> {
        let mut answer = Answer {
            empty: true,
            rests_on: FREE,
        };
        let mut missing = objects.min;
        let nodes = objects.properties.iter().map(|field| (field.node, 1));
        let classes = objects.classes.iter().map(|class| (class.node, u32::MAX));
        let others = nodes.chain(classes).chain([(objects.additional, u32::MAX)]);
        for (node, count) in others {
            let part = self.look(node, path)?;
            answer.rests_on = answer.rests_on.min(part.rests_on);
            if !part.empty {
                missing = missing.saturating_sub(count);
            }
            if missing == 0 {
                answer.empty = false;
                return Ok(answer);
            }
        }
        Ok(answer)
    }

    fn look_arrays(
        &mut self,
        arrays: &Arrays,
        path: &mut Vec<NodeId>,
    ) -> Result<Answer, SchemaError> {
        let needed = arrays.prefix.iter().take(arrays.min as usize).copied();
        let more = arrays.min as usize > arrays.prefix.len();
        for node in needed.chain(more.then_some(arrays.rest)) {
            let part = self.look(node, path)?;
            if part.empty {
                return Ok(part);
            }
        }
        if path.len() <= MAX_DEPTH_OF_COUNTED {
            for counted in &arrays.counted {
                let part = self.look_for_items(arrays, counted, path)?;
                if part.empty {
                    return Ok(part);
                }
            }
        }
        Ok(Answer {
            empty: false,
            rests_on: FREE,
        })
    }

    /// Whether an array cannot have as many items of a kind as it needs.
    fn look_for_items(
        &mut self,
        arrays: &Arrays,
        counted: &Counted,
        path: &mut Vec<NodeId>,
    ) -> Result<Answer, SchemaError> {
        let mut answer = Answer {
            empty: true,
            rests_on: FREE,
        };
        let mut missing = counted.min;
        let listed = arrays.prefix.iter().skip(counted.from as usize);
        let rest = (arrays.rest != NodeId::NEVER).then_some((arrays.rest, u32::MAX));
        let places = rest.into_iter().chain(listed.map(|&node| (node, 1)));
        for (node, count) in places {
            if missing == 0 {
                break;
            }
            let item = self.literals(node);
            let item = self.node(item.iter().copied().chain([counted.item]))?;
            let part = self.look(item, path)?;
            answer.rests_on = answer.rests_on.min(part.rests_on);
            if !part.empty {
                missing = missing.saturating_sub(count);
            }
        }
        answer.empty = missing > 0;
        Ok(answer)
    }

    /// Whether it is proven that no value is valid under both schemas.
    pub(super) fn are_disjoint(
        &mut self,
        one: SchemaId,
        other: SchemaId,
    ) -> Result<bool, SchemaError> {
        if !self.types(one, 0)?.meets(self.types(other, 0)?) {
            return Ok(true);
        }
        self.excludes_all(&[Literal::schema(one), Literal::schema(other)])
    }

    /// A superset of the types of the schema's values.
    fn types(&mut self, id: SchemaId, depth: u32) -> Result<TypeSet, SchemaError> {
        let schema = self.program.get(id);
        let mut types = TypeSet::ALL;
        for keyword in &schema.keywords {
            match keyword.assertion.form() {
                Form::Never => types = TypeSet::NONE,
                Form::Atom(Atom::Types(some)) => types = types.intersection(some),
                Form::Atom(Atom::Values(values)) => {
                    let all = values.iter().map(TypeSet::of);
                    types = types.intersection(all.fold(TypeSet::NONE, TypeSet::union));
                }
                Form::Reference(reference) if depth < 16 => {
                    let target = self.program.resolve(id, keyword.name, reference)?;
                    types = types.intersection(self.types(target, depth + 1)?);
                }
                _ => {}
            }
        }
        Ok(types)
    }
}

/// Whether the set has a value that is neither an object nor an array.
fn has_plain(values: &Values) -> bool {
    values.null
        || values.no
        || values.yes
        || !values.points.is_empty()
        || !values.numbers.is_empty()
        || !values.literals.is_empty()
        || !values.strings.is_empty()
}

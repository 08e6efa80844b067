//! Lowers syntax trees to expressions in the arena.

use rustc_hash::FxHashMap;
use structgen_grammar::{CharSet, Regular, Shared};

use super::arena::{Arena, NodeId};
use super::finite::{FiniteStates, Transition};
use super::look::{Part, PartId};
use super::{RegularLimits, characters};
use crate::LimitExceeded;
use crate::limit::too_many_expressions;

/// Identifies a shared subtree: its kind, the address of its children, and its counter.
type SharedKey = (u8, usize, u32, Option<u32>);

/// The result of lowering a syntax tree.
#[derive(Clone, Copy)]
enum Lowered {
    Set(NodeId),
    /// It looks around, so it is not a set by itself.
    Part(PartId),
}

enum Task<'r> {
    Visit(&'r Regular),
    Build(&'r Regular),
}

impl Arena {
    /// Adds a syntax tree. Uses an explicit stack, since trees may be deeper than the call stack.
    pub(super) fn lower(
        &mut self,
        root: &Regular,
        limits: &RegularLimits,
    ) -> Result<NodeId, LimitExceeded> {
        let mut tasks = vec![Task::Visit(root)];
        let mut values: Vec<Lowered> = Vec::new();
        // Trees share subtrees; without this, a small tree could stand for an exponential one.
        let mut shared: FxHashMap<SharedKey, Lowered> = FxHashMap::default();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(regular) => {
                    let known = shared_key(regular).and_then(|key| shared.get(&key));
                    if let Some(&known) = known {
                        values.push(known);
                        continue;
                    }
                    let children = regular.parts();
                    if children.is_empty() {
                        let leaf = self.leaf(regular);
                        values.push(Lowered::Set(leaf));
                    } else {
                        tasks.push(Task::Build(regular));
                        tasks.extend(children.iter().rev().map(Task::Visit));
                    }
                }
                Task::Build(regular) => {
                    let from = values.len() - regular.parts().len();
                    let parts = values.split_off(from);
                    let built = self.build_lowered(regular, parts)?;
                    if let Some(key) = shared_key(regular) {
                        shared.insert(key, built);
                    }
                    values.push(built);
                }
            }
            if self.size() > limits.expressions {
                return Err(too_many_expressions(limits.expressions));
            }
        }
        Ok(match values.pop() {
            Some(Lowered::Set(set)) => set,
            Some(Lowered::Part(part)) => self.whole_text(part),
            None => Self::NEVER,
        })
    }

    fn build_lowered(
        &mut self,
        regular: &Regular,
        parts: Vec<Lowered>,
    ) -> Result<Lowered, LimitExceeded> {
        let is_border = matches!(regular, Regular::Intersection(_) | Regular::Complement(_));
        let looks = matches!(regular, Regular::Look { .. });
        let all_sets = |part: &Lowered| matches!(part, Lowered::Set(_));
        if !looks && (is_border || parts.iter().all(all_sets)) {
            let mut sets = Vec::with_capacity(parts.len());
            for part in parts {
                sets.push(match part {
                    Lowered::Set(set) => set,
                    Lowered::Part(part) => self.whole_text(part),
                });
            }
            return Ok(Lowered::Set(self.build(regular, sets)));
        }
        let mut ids = Vec::with_capacity(parts.len());
        for part in parts {
            ids.push(match part {
                Lowered::Set(set) => self.part(Part::Set(set))?,
                Lowered::Part(part) => part,
            });
        }
        let body = ids[0];
        Ok(Lowered::Part(match *regular {
            Regular::Union(_) => self.part(Part::Union(ids.into()))?,
            Regular::Repeat { min, max, .. } => self.part(Part::Repeat { body, min, max })?,
            Regular::Look {
                behind: true,
                negated,
                ..
            } => self.behind(body, negated)?,
            Regular::Look { negated, .. } => self.part(Part::Ahead { body, negated })?,
            _ => self.part(Part::Concat(ids.into()))?,
        }))
    }

    fn leaf(&mut self, regular: &Regular) -> NodeId {
        match regular {
            Regular::Empty | Regular::Concat(_) => Self::EMPTY,
            Regular::Bytes(bytes) => self.literal(bytes),
            Regular::Chars(set) => self.characters(set),
            Regular::ByteRange(low, high) if low <= high => {
                let transition = Transition {
                    low: *low,
                    high: *high,
                    next: FiniteStates::EMPTY,
                };
                let state = self.finite.intern(false, &[transition]);
                self.finite(state)
            }
            // An empty intersection is every text.
            Regular::Intersection(_) => self.every_text(),
            _ => Self::NEVER,
        }
    }

    fn characters(&mut self, set: &CharSet) -> NodeId {
        if set.is_empty() {
            return Self::NEVER;
        }
        let state = match self.characters.get(set) {
            Some(&known) => known,
            None => {
                let state = characters::add(set, &mut self.finite);
                self.characters.insert(set.clone(), state);
                self.classes.insert(state, set.clone());
                state
            }
        };
        self.finite(state)
    }

    pub(super) fn every_char(&mut self) -> NodeId {
        if let Some(every) = self.known_every_char() {
            return every;
        }
        let every = self.characters(&CharSet::all());
        self.set_every_char(every);
        every
    }

    pub(super) fn every_text(&mut self) -> NodeId {
        if let Some(any) = self.any_text() {
            return any;
        }
        let one = self.every_char();
        let any = self.repeat(one, 0, None);
        self.set_any_text(any);
        any
    }

    fn build(&mut self, regular: &Regular, parts: Vec<NodeId>) -> NodeId {
        match regular {
            Regular::Concat(_) => parts
                .into_iter()
                .rev()
                .fold(Self::EMPTY, |rest, part| self.concat(part, rest)),
            Regular::Union(arms) => {
                let parts = self.join_literals(arms, parts);
                self.union(parts)
            }
            Regular::Intersection(_) => self.intersection(parts),
            Regular::Complement(_) => {
                self.every_text();
                self.text_complement(parts[0])
            }
            Regular::Repeat { body, min, max } => {
                if matches!(&**body, Regular::Chars(set) if *set.ranges() == [('\0', char::MAX)]) {
                    // Unions look for it by its number.
                    self.every_text();
                }
                self.repeat(parts[0], *min, *max)
            }
            _ => parts.first().copied().unwrap_or(Self::NEVER),
        }
    }

    /// Joins the literals among the arms of a union to one automaton, so that a step is one table walk, however many
    /// they are.
    fn join_literals(&mut self, arms: &[Regular], parts: Vec<NodeId>) -> Vec<NodeId> {
        let mut literals: Vec<&[u8]> = Vec::new();
        let mut others: Vec<NodeId> = Vec::new();
        for (arm, part) in arms.iter().zip(&parts) {
            match arm {
                Regular::Bytes(bytes) => literals.push(bytes),
                Regular::Empty => literals.push(&[]),
                _ => others.push(*part),
            }
        }
        if literals.len() < 2 {
            return parts;
        }
        literals.sort_unstable();
        literals.dedup();
        let state = self.finite.literals(&literals);
        let joined = self.finite(state);
        others.push(joined);
        others
    }
}

/// Returns the identity of a subtree that may occur elsewhere as well.
fn shared_key(regular: &Regular) -> Option<SharedKey> {
    let (kind, address, min, max) = match regular {
        Regular::Concat(parts) => (0, Shared::shared_address(parts)?, 0, None),
        Regular::Union(parts) => (1, Shared::shared_address(parts)?, 0, None),
        Regular::Intersection(parts) => (2, Shared::shared_address(parts)?, 0, None),
        Regular::Complement(body) => (3, Shared::shared_address(body)?, 0, None),
        Regular::Repeat { body, min, max } => (4, Shared::shared_address(body)?, *min, *max),
        Regular::Look {
            behind,
            negated,
            body,
        } => {
            let kind = 5 + u8::from(*behind) + 2 * u8::from(*negated);
            (kind, Shared::shared_address(body)?, 0, None)
        }
        _ => return None,
    };
    Some((kind, address, min, max))
}

//! The path to a referent: what is written before and after it, and whether it is always written.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{Expr, ExprId, GrammarBuilder, ObjectShape, Relation, Slot};

use super::{Reason, Use, parts, reachable, uses};

/// The maximum number of rules and containers that are followed on the path to a value.
const MAX_DEPTH: usize = 256;

/// The path to a referent, and the expressions that contain values compared with it.
pub(super) struct Way<'b> {
    builder: &'b GrammarBuilder,
    /// All expressions that are or contain a value compared with the referent.
    users: FxHashSet<ExprId>,
    name: &'b str,
    /// The expression of the whole document.
    root: ExprId,
    /// The checked expressions, each with the length of the remaining path.
    checked: RefCell<FxHashSet<(ExprId, usize, bool)>>,
    /// Whether an expression always leads to the end of the remaining path, by that path's length.
    leading: RefCell<FxHashMap<(ExprId, usize), bool>>,
}

/// The keyword, unless it is the first use, and what is wrong with it.
pub(super) type Problem = (Option<Box<str>>, Reason);

impl<'b> Way<'b> {
    pub(super) fn new(builder: &'b GrammarBuilder, root: ExprId, name: &'b str) -> Self {
        // Follow parents upwards from the values that are compared.
        let mut parents: FxHashMap<ExprId, Vec<ExprId>> = FxHashMap::default();
        let mut users = FxHashSet::default();
        let mut todo = Vec::new();
        for id in reachable(builder, root) {
            if let Expr::Related { referent, .. } = builder.get(id)
                && **referent == *name
            {
                todo.push(id);
            }
            for part in parts(builder, id) {
                parents.entry(part).or_default().push(id);
            }
        }
        while let Some(id) = todo.pop() {
            if users.insert(id) {
                todo.extend(parents.get(&id).into_iter().flatten());
            }
        }
        Self {
            builder,
            users,
            name,
            root,
            checked: RefCell::default(),
            leading: RefCell::default(),
        }
    }

    /// Checks the path through a document, and returns the values at its end.
    pub(super) fn check_document(&self, path: &[&str]) -> Result<Vec<ExprId>, Problem> {
        // An object forgets its referents where it ends, so consecutive documents do not mix.
        let mut todo = vec![self.root];
        let mut seen = FxHashSet::default();
        while let Some(id) = todo.pop() {
            match self.builder.get(id) {
                _ if !seen.insert(id) => {}
                Expr::Rule(rule) => todo.push(self.builder.rule_body(*rule)),
                Expr::Choice(arms) => todo.extend(arms),
                Expr::Array(_) if self.users.contains(&id) => {
                    return Err((self.pointer_in(id), Reason::NotADocument));
                }
                _ => {}
            }
        }
        self.check(self.root, path, false, 0)
    }

    /// Checks what occurs next to the path, and returns the values at its end.
    fn check(
        &self,
        id: ExprId,
        path: &[&str],
        is_in_items: bool,
        depth: usize,
    ) -> Result<Vec<ExprId>, Problem> {
        if depth > MAX_DEPTH {
            return Err((None, Reason::TooDeep));
        }
        let place = (id, path.len(), is_in_items);
        if !self.checked.borrow_mut().insert(place) {
            return Ok(Vec::new());
        }
        let each = |children: &mut dyn Iterator<Item = ExprId>, path: &[&str], is_in_items| {
            let mut found = Vec::new();
            for child in children {
                found.extend(self.check(child, path, is_in_items, depth + 1)?);
            }
            Ok(found)
        };
        match (self.builder.get(id), path) {
            (Expr::Rule(rule), _) => {
                let body = self.builder.rule_body(*rule);
                self.check(body, path, is_in_items, depth + 1)
            }
            (Expr::Choice(arms), _) => each(&mut arms.iter().copied(), path, is_in_items),
            (Expr::Object(shape), [key, rest @ ..]) => {
                let Some(index) = shape.properties.iter().position(|it| *it.key == **key) else {
                    return self.beside(id).map(|()| Vec::new());
                };
                if index >= shape.ordered as usize {
                    return Err((None, Reason::AnyOrder));
                }
                self.check_order(shape, index, rest, is_in_items)?;
                each(
                    &mut shape.properties[index].value.values(),
                    rest,
                    is_in_items,
                )
            }
            (Expr::Array(shape), [segment, rest @ ..]) => {
                if shape.unique {
                    return Err((None, Reason::Distinct));
                }
                if *segment == "*" {
                    return each(&mut shape.slots().flat_map(Slot::values), rest, true);
                }
                let Some(slot) = segment
                    .parse()
                    .ok()
                    .and_then(|at: usize| shape.prefix.get(at))
                else {
                    return Ok(Vec::new());
                };
                // Values of other slots may be written before or after this one; the two are not distinguished.
                let others = shape.slots().filter(|other| !std::ptr::eq(*other, slot));
                match others
                    .flat_map(Slot::values)
                    .find(|it| self.users.contains(it))
                {
                    Some(user) => Err((self.pointer_in(user), Reason::Later)),
                    None => each(&mut slot.values(), rest, is_in_items),
                }
            }
            (Expr::Object(_) | Expr::Array(_), []) => Err((None, Reason::Composite)),
            (Expr::Related { .. }, []) if self.users.contains(&id) => {
                Err((self.pointer_in(id), Reason::Itself))
            }
            (
                Expr::String(_)
                | Expr::Number(_)
                | Expr::Grounded { .. }
                | Expr::Related { .. }
                | Expr::Referent { .. },
                [],
            ) => Ok(vec![id]),
            _ => Ok(Vec::new()),
        }
    }

    /// Checks an object that lacks the key, so that values in it have no referent to be compared with.
    fn beside(&self, id: ExprId) -> Result<(), Problem> {
        match self.needed_in(id) {
            Some(user) => Err((self.pointer_in(user), Reason::MayBeAbsent)),
            None => Ok(()),
        }
    }

    /// Checks the members of an object; the one at `index` leads to the referent.
    fn check_order(
        &self,
        shape: &ObjectShape,
        index: usize,
        rest: &[&str],
        is_in_items: bool,
    ) -> Result<(), Problem> {
        let is_user = |slot: &Slot| slot.values().any(|it| self.users.contains(&it));
        let is_certain = self.is_certain(&shape.properties[index].value, rest, 0)
            && shape.properties[index].required;
        for (at, property) in shape.properties.iter().enumerate() {
            if at == index || !is_user(&property.value) {
                continue;
            }
            let user = { property.value.values() }.find(|it| self.users.contains(it));
            let pointer = user.and_then(|user| self.pointer_in(user));
            if at < index && !is_in_items {
                return Err((pointer, Reason::Later));
            }
            if at > index && is_certain {
                continue;
            }
            let needed = self.needed_slot(&property.value, property.required);
            if let Some(needed) = needed {
                return Err((self.pointer_in(needed), Reason::MayBeAbsent));
            }
        }
        if is_certain {
            return Ok(());
        }
        let others = shape.patterns.iter().map(|pattern| &pattern.value);
        for slot in others.chain(&shape.additional) {
            if let Some(needed) = self.needed_slot(slot, false) {
                return Err((self.pointer_in(needed), Reason::MayBeAbsent));
            }
        }
        Ok(())
    }

    /// Whether every value of a slot contains a value at the end of the path.
    fn is_certain(&self, slot: &Slot, path: &[&str], depth: usize) -> bool {
        !slot.alternatives.is_empty() && slot.values().all(|it| self.leads(it, path, depth + 1))
    }

    fn leads(&self, id: ExprId, path: &[&str], depth: usize) -> bool {
        let place = (id, path.len());
        if let Some(&known) = self.leading.borrow().get(&place) {
            return known;
        }
        let leads = depth <= MAX_DEPTH && self.leads_now(id, path, depth);
        self.leading.borrow_mut().insert(place, leads);
        leads
    }

    fn leads_now(&self, id: ExprId, path: &[&str], depth: usize) -> bool {
        match (self.builder.get(id), path) {
            (Expr::Rule(rule), _) => self.leads(self.builder.rule_body(*rule), path, depth + 1),
            (Expr::Choice(arms), _) => arms.iter().all(|&arm| self.leads(arm, path, depth + 1)),
            (Expr::Object(shape), [key, rest @ ..]) => {
                let mut required = shape.properties.iter().filter(|it| it.required);
                let property = required.find(|it| *it.key == **key);
                property.is_some_and(|it| self.is_certain(&it.value, rest, depth))
            }
            (Expr::Array(shape), [segment, rest @ ..]) => {
                let at = match *segment {
                    "*" => 0,
                    number => number.parse().unwrap_or(u32::MAX),
                };
                let slot = shape.prefix.get(at as usize).or(shape.rest.as_ref());
                shape.min_items > at && slot.is_some_and(|it| self.is_certain(it, rest, depth))
            }
            (
                Expr::String(_)
                | Expr::Number(_)
                | Expr::Grounded { .. }
                | Expr::Related { .. }
                | Expr::Referent { .. },
                [],
            ) => true,
            _ => false,
        }
    }

    /// A required value below an expression that must equal the referent (`Relation::In`).
    fn needed_in(&self, id: ExprId) -> Option<ExprId> {
        let all = reachable(self.builder, id);
        all.into_iter().find_map(|id| match self.builder.get(id) {
            Expr::Object(shape) => { shape.properties.iter() }
                .find_map(|property| self.needed_here(&property.value, property.required)),
            Expr::Array(shape) => {
                let mut slots = shape.prefix.iter().chain(&shape.rest).zip(0..);
                slots.find_map(|(slot, at)| self.needed_here(slot, at < shape.min_items))
            }
            _ => None,
        })
    }

    fn needed_slot(&self, slot: &Slot, is_required: bool) -> Option<ExprId> {
        let here = self.needed_here(slot, is_required);
        here.or_else(|| slot.values().find_map(|value| self.needed_in(value)))
    }

    /// A value of a slot, if the slot is required and all its values must equal the referent.
    fn needed_here(&self, slot: &Slot, is_required: bool) -> Option<ExprId> {
        let mut needed = None;
        if is_required {
            for value in slot.values() {
                needed = Some(self.only_in(value, 0)?);
            }
        }
        needed
    }

    /// A value that must equal the referent, if the expression has no other values.
    fn only_in(&self, id: ExprId, depth: usize) -> Option<ExprId> {
        match self.builder.get(id) {
            Expr::Rule(rule) if depth < MAX_DEPTH => {
                self.only_in(self.builder.rule_body(*rule), depth + 1)
            }
            Expr::Choice(arms) if depth < MAX_DEPTH => {
                let mut found = None;
                for &arm in arms {
                    found = Some(self.only_in(arm, depth + 1)?);
                }
                found
            }
            Expr::Referent { body, .. } if depth < MAX_DEPTH => self.only_in(*body, depth + 1),
            Expr::Related {
                relation: Relation::In,
                referent,
                ..
            } if **referent == *self.name => Some(id),
            _ => None,
        }
    }

    /// Whether a value of the slot itself, rather than a nested one, is compared with the referent.
    fn is_here(&self, slot: &Slot) -> bool {
        let mut todo: Vec<ExprId> = slot.values().filter(|it| self.users.contains(it)).collect();
        let mut seen = FxHashSet::default();
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.builder.get(id) {
                Expr::Rule(rule) => todo.push(self.builder.rule_body(*rule)),
                Expr::Choice(arms) => todo.extend(arms),
                Expr::Referent { body, .. } => todo.push(*body),
                Expr::Related { .. } => return true,
                _ => {}
            }
        }
        false
    }

    /// The keyword of a value below an expression that is compared with the referent.
    fn pointer_in(&self, id: ExprId) -> Option<Box<str>> {
        let mut uses = uses(self.builder, id).into_iter();
        let own = uses.find(|it| *it.referent == *self.name)?;
        Some(own.pointer)
    }
}

/// Checks that values compared with referents are not in containers that count them or require them to be distinct.
pub(super) fn check_places(
    builder: &GrammarBuilder,
    root: ExprId,
    uses: &[Use],
) -> Result<(), (Box<str>, Reason)> {
    let way = Way::new(builder, root, &uses[0].referent);
    let error = |slot: &Slot, reason| match { slot.values() }.find_map(|it| way.pointer_in(it)) {
        Some(pointer) => Err((pointer, reason)),
        None => Ok(()),
    };
    for id in reachable(builder, root) {
        if !way.users.contains(&id) {
            continue;
        }
        match builder.get(id) {
            Expr::Object(shape) => {
                let required = shape.properties.iter().filter(|it| it.required).count();
                let is_counted = !shape.tallies.is_empty()
                    || shape.min_members as usize > required
                    || shape.max_members.is_some();
                if is_counted {
                    shape.slots().try_for_each(|slot| match way.is_here(slot) {
                        true => error(slot, Reason::Counted),
                        false => Ok(()),
                    })?;
                }
            }
            Expr::Array(shape) if shape.unique => {
                shape
                    .slots()
                    .try_for_each(|slot| error(slot, Reason::Distinct))?;
            }
            Expr::Array(shape) if !shape.tallies.is_empty() => {
                shape.slots().try_for_each(|slot| match way.is_here(slot) {
                    true => error(slot, Reason::Counted),
                    false => Ok(()),
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

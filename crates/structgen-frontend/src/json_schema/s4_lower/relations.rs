//! Relations between values: finds what they refer to in the grammar, and refuses those that a mask could not keep.
//!
//! A relation names its referents by a JSON Pointer into the output. The value there becomes an [`Expr::Referent`]. The
//! rules that lead to it are copied where others use them as well, since what they stand for elsewhere is no referent.

use std::cell::RefCell;
use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{
    ArrayShape, Expr, ExprId, GrammarBuilder, NumberSet, ObjectShape, Relation, Slot,
    StringContent, StringShape, json_pointer,
};

use crate::json_schema::s3_canonical::is_date;

/// Why a relation is refused.
#[derive(Debug)]
pub(super) struct Refused {
    /// The JSON Pointer of the keyword.
    pub(super) pointer: Box<str>,
    pub(super) reason: Reason,
}

/// What is wrong with a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    NotAPointer,
    Nothing,
    AnyOrder,
    Later,
    Itself,
    NotADocument,
    Composite,
    Distinct,
    Counted,
    Several,
    MayBeAbsent,
    OtherValues,
    NoOrder,
    TooDeep,
    TooMany,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPointer => "a relation names a value by a JSON Pointer, in which `*` stands for all items of an array",
            Self::Nothing => "no declared value is there",
            Self::AnyOrder => "keys come in any order, so the value there may be written later",
            Self::Later => "the value there is written later",
            Self::Itself => "the value there is this one",
            Self::NotADocument => "only an output that is an object has values to refer to",
            Self::Composite => "an object or array is there, and only strings and numbers are compared",
            Self::Distinct => "values in distinct items are not compared with others",
            Self::Counted => "members and items that are counted are not compared with others",
            Self::Several => "only `in` compares with several values",
            Self::MayBeAbsent => "no value may have been written there, and this one is required: require that one, in arrays with `minItems`, or let this one be absent or null",
            Self::OtherValues => "values may be written there that are not valid here",
            Self::NoOrder => "only numbers and strings of the format `date` have an order, and those there must be of the same kind",
            Self::TooMany => "too many values are referred to",
            Self::TooDeep => "the schemas on the way there nest too deep",
        })
    }
}

/// The most values that may be referred to: for each, the whole grammar is looked at.
const MAX_REFERENTS: usize = 64;

/// How many rules and containers are followed on the way to a value.
const MAX_DEPTH: usize = 256;

/// Marks what the relations in a grammar refer to; returns the root.
pub(super) fn resolve(
    builder: &mut GrammarBuilder,
    root: ExprId,
    prefix: &str,
) -> Result<ExprId, Refused> {
    let mut uses = uses(builder, root);
    let mut names: Vec<Box<str>> = uses.iter().map(|it| it.referent.clone()).collect();
    names.sort_unstable();
    names.dedup();
    if let Some(one) = uses.iter().find(|_| names.len() > MAX_REFERENTS) {
        return Err(Refused {
            pointer: one.pointer.clone(),
            reason: Reason::TooMany,
        });
    }
    let mut root = root;
    for name in names {
        let own: Vec<Use> = uses.extract_if(.., |it| it.referent == name).collect();
        let refused = |pointer: Option<Box<str>>, reason| Refused {
            pointer: pointer.unwrap_or_else(|| own[0].pointer.clone()),
            reason,
        };
        let Some(path) = path(name.strip_prefix(prefix).unwrap_or(&name)) else {
            return Err(refused(None, Reason::NotAPointer));
        };
        let path: Vec<&str> = path.iter().map(|segment| &**segment).collect();
        let is_several = path.contains(&"*");
        if let Some(one) = own
            .iter()
            .find(|it| is_several && it.relation != Relation::In)
        {
            return Err(refused(Some(one.pointer.clone()), Reason::Several));
        }
        let found = Way::new(builder, root, &name)
            .check_document(&path)
            .map_err(|(pointer, reason)| refused(pointer, reason))?;
        if found.is_empty() {
            return Err(refused(None, Reason::Nothing));
        }
        check_places(builder, root, &own)
            .and_then(|()| check_values(builder, &own, &found))
            .map_err(|(at, reason)| refused(Some(at), reason))?;
        let references = references(builder, root);
        let mut marks = Marks {
            builder,
            references,
            name: &name,
            marked: FxHashMap::default(),
        };
        root = marks.mark(root, &path, true, true).unwrap_or(root);
    }
    Ok(root)
}

/// The segments of a JSON Pointer, unescaped; `None` for what is no pointer to a part of a document.
fn path(pointer: &str) -> Option<Vec<Box<str>>> {
    let segments = pointer.strip_prefix('/')?.split('/');
    Some(
        segments
            .map(|it| json_pointer::unescaped(it).into())
            .collect(),
    )
}

/// A value that is compared with others.
#[derive(Debug)]
struct Use {
    pointer: Box<str>,
    relation: Relation,
    referent: Box<str>,
    body: ExprId,
}

/// All values below an expression that are compared with others, in the order in which they are met.
fn uses(builder: &GrammarBuilder, root: ExprId) -> Vec<Use> {
    let mut uses = Vec::new();
    for id in reachable(builder, root) {
        if let Expr::Related {
            pointer,
            relation,
            referent,
            body,
        } = builder.get(id)
        {
            uses.push(Use {
                pointer: pointer.clone(),
                relation: *relation,
                referent: referent.clone(),
                body: *body,
            });
        }
    }
    uses
}

/// All expressions that one is made of, through rules.
fn reachable(builder: &GrammarBuilder, root: ExprId) -> Vec<ExprId> {
    let mut seen = FxHashSet::from_iter([root]);
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        found.extend(parts(builder, id).filter(|&part| seen.insert(part)));
    }
    found
}

/// What an expression is made of: of a reference, the body of the rule.
fn parts(builder: &GrammarBuilder, id: ExprId) -> impl Iterator<Item = ExprId> + '_ {
    let rule = match builder.get(id) {
        Expr::Rule(rule) => Some(builder.rule_body(*rule)),
        _ => None,
    };
    builder.get(id).children().chain(rule)
}

/// From how many places each expression is referred to.
fn references(builder: &GrammarBuilder, root: ExprId) -> FxHashMap<ExprId, u32> {
    let mut references = FxHashMap::default();
    for id in reachable(builder, root) {
        for part in parts(builder, id) {
            *references.entry(part).or_insert(0) += 1;
        }
    }
    references
}

/// The way to a referent, as far as it matters what stands beside it.
struct Way<'b> {
    builder: &'b GrammarBuilder,
    /// Everything that has a value in it that is compared with the referent.
    users: FxHashSet<ExprId>,
    name: &'b str,
    /// The expression of the whole document.
    root: ExprId,
    /// What was checked, by the expression and the length of the rest of the path.
    checked: RefCell<FxHashSet<(ExprId, usize, bool)>>,
    /// The same for what is known to lead to the end of the path, or not.
    leading: RefCell<FxHashMap<(ExprId, usize), bool>>,
}

/// A keyword, if it is not the first, and what is wrong with it.
type Problem = (Option<Box<str>>, Reason);

impl<'b> Way<'b> {
    fn new(builder: &'b GrammarBuilder, root: ExprId, name: &'b str) -> Self {
        // Backwards from these values.
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

    /// Checks the way through a document, and returns the values at its end.
    fn check_document(&self, path: &[&str]) -> Result<Vec<ExprId>, Problem> {
        // What an object refers to is forgotten where it ends, so that documents in a row do not mix.
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

    /// Checks what stands beside the way, and returns the values at its end.
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
                // Whatever stands at another place is written before or after, which is not told apart.
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

    /// What is beside the way where the value is not at all: values there have nothing to be compared with.
    fn beside(&self, id: ExprId) -> Result<(), Problem> {
        match self.needed_in(id) {
            Some(user) => Err((self.pointer_in(user), Reason::MayBeAbsent)),
            None => Ok(()),
        }
    }

    /// Checks the members of an object, of which the one at the index leads to the referent.
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

    /// Whether every value of a slot has a value at the end of a path.
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

    /// A value below an expression that has to be there, whatever has been written, and must be one written before.
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

    /// A value of a slot, if it has to be filled and has only values that must be one written before.
    fn needed_here(&self, slot: &Slot, is_required: bool) -> Option<ExprId> {
        let mut needed = None;
        if is_required {
            for value in slot.values() {
                needed = Some(self.only_in(value, 0)?);
            }
        }
        needed
    }

    /// A value that must be one written before, if an expression has nothing else.
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

    /// Whether a value of a slot itself is compared with the referent, and not only one within it.
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

/// Whether all places where values are compared with others know what has been written, and may leave them out.
fn check_places(
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

/// Whether the values of a referent can be compared with those that refer to it.
fn check_values(
    builder: &GrammarBuilder,
    uses: &[Use],
    found: &[ExprId],
) -> Result<(), (Box<str>, Reason)> {
    for own in uses {
        let bodies = { uses.iter() }.filter(|other| other.pointer == own.pointer);
        let bodies: Vec<&Expr> = bodies.map(|it| leaf(builder, it.body)).collect();
        for &id in found {
            let referent = leaf(builder, id);
            let (is_fine, reason) = match own.relation {
                Relation::In => (
                    bodies.iter().any(|body| holds_all(body, referent)),
                    Reason::OtherValues,
                ),
                Relation::AtLeast | Relation::AtMost => (
                    bodies.iter().any(|body| has_order(body, referent)),
                    Reason::NoOrder,
                ),
                Relation::NotEqual => (true, Reason::OtherValues),
            };
            if !is_fine {
                return Err((own.pointer.clone(), reason));
            }
        }
    }
    Ok(())
}

/// The string or number that an expression is, whatever is noted of it.
fn leaf(builder: &GrammarBuilder, mut id: ExprId) -> &Expr {
    while let Expr::Grounded { body, .. }
    | Expr::Related { body, .. }
    | Expr::Referent { body, .. } = builder.get(id)
    {
        id = *body;
    }
    builder.get(id)
}

/// Whether every value of `other` is one of `own`, as far as that shows.
fn holds_all(own: &Expr, other: &Expr) -> bool {
    if own == other {
        return true;
    }
    match (own, other) {
        (Expr::String(own), Expr::String(other)) => {
            *own == StringShape::default()
                || matches!((&own.content, &other.content),
                    (StringContent::Literals(own), StringContent::Literals(other))
                        if other.iter().all(|text| own.contains(text)))
        }
        (Expr::Number(own), Expr::Number(other)) => {
            let is_unbounded = NumberSet {
                multiples_of: Vec::new(),
                written_whole: false,
                ..own.clone()
            } == NumberSet::default();
            is_unbounded && (!own.written_whole || other.written_whole) && {
                own.multiples_of.iter()
            }
            .all(|it| other.multiples_of.contains(it))
        }
        _ => false,
    }
}

/// Whether the values of both are numbers, or dates.
fn has_order(own: &Expr, other: &Expr) -> bool {
    match (own, other) {
        (Expr::Number(_), Expr::Number(_)) => true,
        // What is compared is known to be dates: so is what is written alike, or listed as dates.
        (Expr::String(own), Expr::String(other)) => {
            own.content == other.content || is_listed_dates(other)
        }
        _ => false,
    }
}

fn is_listed_dates(shape: &StringShape) -> bool {
    match &shape.content {
        StringContent::Literals(texts) => texts.iter().all(|text| is_date(text)),
        _ => false,
    }
}

/// Marks the values at the end of a path as referents.
struct Marks<'b> {
    builder: &'b mut GrammarBuilder,
    references: FxHashMap<ExprId, u32>,
    name: &'b str,
    /// What was marked, by the expression and the length of the rest of the path.
    marked: FxHashMap<(ExprId, usize), Option<ExprId>>,
}

impl Marks<'_> {
    /// The expression with its referents marked; `None` where it has none. `is_own`: nothing else leads there.
    fn mark(
        &mut self,
        id: ExprId,
        path: &[&str],
        is_document: bool,
        is_own: bool,
    ) -> Option<ExprId> {
        let place = (id, path.len());
        if let Some(&known) = self.marked.get(&place) {
            return known;
        }
        // Should it lead to itself without going on, it has nothing more to mark.
        self.marked.insert(place, None);
        let is_own = is_own && self.references.get(&id).is_none_or(|&count| count <= 1);
        let marked = self.mark_now(id, path, is_document, is_own);
        self.marked.insert(place, marked);
        marked
    }

    fn mark_now(
        &mut self,
        id: ExprId,
        path: &[&str],
        is_document: bool,
        is_own: bool,
    ) -> Option<ExprId> {
        match (self.builder.get(id).clone(), path) {
            (Expr::Rule(rule), _) => {
                let body = self.builder.rule_body(rule);
                let body = self.mark(body, path, is_document, is_own)?;
                if is_own {
                    self.builder.define(rule, body);
                    return Some(id);
                }
                let name = format!("{} ({})", self.builder.rule_name(rule), self.name);
                let copy = self.builder.declare(name);
                self.builder.define(copy, body);
                Some(self.builder.rule(copy))
            }
            (Expr::Choice(arms), _) => {
                let marked: Vec<Option<ExprId>> = { arms.iter() }
                    .map(|&arm| self.mark(arm, path, is_document, is_own))
                    .collect();
                marked.iter().any(Option::is_some).then(|| {
                    let arms = arms.iter().zip(marked);
                    let arms: Vec<ExprId> = arms.map(|(&arm, it)| it.unwrap_or(arm)).collect();
                    self.builder.choice(arms)
                })
            }
            (Expr::Object(mut shape), [key, rest @ ..]) => {
                let property = { shape.properties.iter_mut() }.find(|it| *it.key == **key)?;
                property.value = self.mark_slot(&property.value, rest, is_own)?;
                if is_document {
                    shape.referents.push(self.name.into());
                }
                Some(self.builder.expr(Expr::Object(shape)))
            }
            (Expr::Array(mut shape), [segment, rest @ ..]) => {
                let ArrayShape {
                    prefix, rest: all, ..
                } = &mut *shape;
                let mut is_marked = false;
                let listed = prefix.len();
                for (at, slot) in prefix.iter_mut().chain(all).enumerate() {
                    let is_named = at < listed && *segment == at.to_string();
                    if (*segment == "*" || is_named)
                        && let Some(marked) = self.mark_slot(slot, rest, is_own)
                    {
                        (*slot, is_marked) = (marked, true);
                    }
                }
                is_marked.then(|| self.builder.expr(Expr::Array(shape)))
            }
            (
                Expr::String(_)
                | Expr::Number(_)
                | Expr::Grounded { .. }
                | Expr::Related { .. }
                | Expr::Referent { .. },
                [],
            ) => Some(self.builder.referent(self.name, id)),
            _ => None,
        }
    }

    fn mark_slot(&mut self, slot: &Slot, path: &[&str], is_own: bool) -> Option<Slot> {
        let mut is_marked = false;
        let slot = slot.map(|value| match self.mark(value, path, false, is_own) {
            Some(marked) => {
                is_marked = true;
                marked
            }
            None => value,
        });
        is_marked.then_some(slot)
    }
}

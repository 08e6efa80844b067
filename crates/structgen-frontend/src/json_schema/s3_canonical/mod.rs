//! Third stage: the canonical form, a union of typed sets of values per node.
//!
//! A [`NodeId`] is a conjunction of literals (schemas, values and their negations), identified by that list. The
//! conjunction of two nodes is a node again, and since there are finitely many literals, the expansion of recursive
//! schemas terminates. A node is expanded on demand (`expand.rs`): its literals are decomposed into atoms and
//! disjunctions (`branch.rs`, `negation.rs`), the disjunctions are multiplied out, and each branch becomes a set of
//! values per type (`numbers.rs`, `strings.rs`, `objects.rs`, `arrays.rs`) whose parts are nodes again. `emptiness.rs`
//! proves nodes empty, and `supersets.rs` proves that no valid value is in them, not even one that is not compiled.

mod arrays;
mod branch;
mod classes;
mod clauses;
mod emptiness;
pub(crate) mod evaluation;
mod expand;
mod lengths;
mod literals;
pub(crate) mod matching;
mod negation;
mod numbers;
mod objects;
mod prune;
mod relations;
mod rust;
mod strings;
mod supersets;
mod validate;
mod values;

#[cfg(test)]
pub(super) mod membership;

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::Regular;
use structgen_grammar::keyed::KeyedMap;
use structgen_regular::LimitExceeded;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{Literal, Origin, Subject, TypeSet, ValueId};
use crate::json_schema::s2_parse::{Arm, Context, Form, Of, Part, Program, SchemaId};
use crate::json_schema::{Effect, Profile, SchemaError, SchemaOptions};
use crate::regex::{self, RegexOptions};

use literals::Literals;

pub(crate) use numbers::few_numbers;
pub(crate) use relations::is_date;
pub(crate) use values::{
    Arrays, Counted, Field, Member, Numbers, Objects, Obligation, Related, Strings, Values,
};

/// A node of the canonical form: a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    /// Every value.
    pub(crate) const ANY: Self = Self(0);
    /// No value.
    pub(crate) const NEVER: Self = Self(1);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The progress of a node's expansion.
#[derive(Clone, Debug)]
enum State {
    Unexpanded,
    InProgress,
    Expanded(Rc<Values>),
}

/// All nodes, by [`NodeId`].
struct Nodes {
    literals: Vec<Rc<[Literal]>>,
    states: Vec<State>,
    ids: FxHashMap<Rc<[Literal]>, NodeId>,
    /// Nodes whose emptiness is known.
    empty: FxHashMap<NodeId, bool>,
}

impl Nodes {
    fn new() -> Self {
        let any: Rc<[Literal]> = Rc::new([]);
        Self {
            // The literals of `NEVER` are never read: it is a special case everywhere.
            literals: vec![Rc::clone(&any), Rc::clone(&any)],
            states: vec![State::Unexpanded, State::Expanded(Rc::default())],
            ids: FxHashMap::from_iter([(any, NodeId::ANY)]),
            empty: FxHashMap::default(),
        }
    }
}

/// Builds the canonical form of a [`Program`].
pub(crate) struct Canonicalizer<'p, 'j> {
    pub(crate) program: &'p mut Program<'j>,
    pub(crate) options: Cow<'p, SchemaOptions>,
    nodes: Nodes,
    /// The nodes and options of the other canonical form, and which one this is: see `supersets.rs`.
    other_nodes: Nodes,
    other_options: Cow<'p, SchemaOptions>,
    has_supersets: bool,
    /// Whether any node lacks valid values that are not compiled.
    is_narrowed: bool,
    /// The values of nodes that assert only these types.
    plain: Vec<(TypeSet, Rc<Values>)>,
    values: Vec<&'j Json<'j>>,
    /// All values of `enum` and `const`, each once, sorted, and the number of schemas that they come from.
    listed: (usize, Rc<[&'j Json<'j>]>),
    /// By address.
    value_ids: FxHashMap<*const Json<'j>, ValueId>,
    patterns: KeyedMap<&'j str, Result<Regular, String>>,
    machines: matching::Machines,
    /// What schemas evaluate, by case.
    evaluation: evaluation::Known<'j>,
    steps: u64,
    max_steps: u64,
    /// The number of steps of attempts that came to nothing; they do not count otherwise.
    vain_steps: u64,
    /// Whether this is an attempt, in which nothing is dropped.
    is_attempt: bool,
    /// The number of nested expansions in progress.
    nesting: usize,
    /// The nesting of schemas and nodes in progress, over all expansions, which bounds the stack.
    depth: usize,
    /// The schemas that were reached, in order.
    reached: Vec<SchemaId>,
    is_reached: FxHashSet<SchemaId>,
    /// The keywords that were narrowed (`false`) or dropped (`true`).
    noted: FxHashSet<(Origin, bool)>,
    pub(crate) notes: Vec<(Origin, Effect)>,
    /// Keywords to ignore, to determine whether the schema is satisfiable without them.
    ignored: FxHashSet<Origin>,
}

impl<'p, 'j> Canonicalizer<'p, 'j> {
    pub(crate) fn new(program: &'p mut Program<'j>, options: &'p SchemaOptions) -> Self {
        let other_options = match options.profile {
            Profile::Rust => Cow::Owned(options.without_rust_types()),
            Profile::Exact | Profile::Generate => Cow::Borrowed(options),
        };
        Self {
            program,
            options: Cow::Borrowed(options),
            nodes: Nodes::new(),
            other_nodes: Nodes::new(),
            other_options,
            has_supersets: false,
            is_narrowed: false,
            plain: Vec::new(),
            values: Vec::new(),
            listed: (0, Rc::new([])),
            value_ids: FxHashMap::default(),
            patterns: KeyedMap::default(),
            machines: matching::Machines::default(),
            evaluation: evaluation::Known::default(),
            steps: 0,
            vain_steps: 0,
            is_attempt: false,
            max_steps: options.limits.max_steps,
            nesting: 0,
            depth: 0,
            reached: Vec::new(),
            is_reached: FxHashSet::default(),
            noted: FxHashSet::default(),
            notes: Vec::new(),
            ignored: FxHashSet::default(),
        }
    }

    /// The node of one schema.
    pub(crate) fn schema_node(&mut self, id: SchemaId) -> Result<NodeId, SchemaError> {
        self.node([Literal::schema(id)])
    }

    /// The node of a conjunction. Trivial literals are left out and references followed, so that equal nodes are
    /// identified.
    pub(crate) fn node(
        &mut self,
        literals: impl IntoIterator<Item = Literal>,
    ) -> Result<NodeId, SchemaError> {
        let mut list = Literals::default();
        for literal in literals {
            let Some(literal) = self.simplified(literal)? else {
                return Ok(NodeId::NEVER);
            };
            if list.contains(literal.complement()) {
                return Ok(NodeId::NEVER);
            }
            if self.is_trivial(literal) {
                // A schema that asserts nothing still has annotations for the report.
                match literal.source {
                    Subject::Schema(id) if !literal.negated => self.reach(id),
                    _ => {}
                }
                continue;
            }
            list.insert(literal);
        }
        let list = list.as_slice();
        if let Some(&id) = self.nodes.ids.get(list) {
            return Ok(id);
        }
        self.step(1)?;
        let id = NodeId(u32::try_from(self.nodes.literals.len()).unwrap_or(u32::MAX));
        let list: Rc<[Literal]> = list.into();
        self.nodes.literals.push(Rc::clone(&list));
        self.nodes.states.push(State::Unexpanded);
        self.nodes.ids.insert(list, id);
        Ok(id)
    }

    /// Follows references and negations that are a schema's only keyword; `None` if no value is valid.
    fn simplified(&mut self, mut literal: Literal) -> Result<Option<Literal>, SchemaError> {
        let mut seen: Vec<SchemaId> = Vec::new();
        while let Subject::Schema(id) = literal.source {
            if seen.contains(&id) {
                // A schema that only refers to itself or to its negation has no meaning.
                let pointer = self.program.pointer(id).to_owned();
                return Err(SchemaError::CircularReference { pointer });
            }
            self.step(seen.len() + 1)?;
            if !self.ignored.is_empty() {
                break;
            }
            let schema = self.program.schema_ref(id);
            let [keyword] = schema.keywords.as_slice() else {
                if schema.keywords.is_empty() && literal.negated {
                    return Ok(None);
                }
                break;
            };
            let next = match keyword.assertion.form() {
                Form::Never if literal.negated => break,
                Form::Never => return Ok(None),
                Form::Reference(reference) => {
                    let target = self.program.resolve(id, keyword.name, reference)?;
                    Literal {
                        source: Subject::Schema(target),
                        ..literal
                    }
                }
                Form::Not(inner) => Literal {
                    source: Subject::Schema(inner),
                    negated: !literal.negated,
                },
                _ => break,
            };
            self.reach(id);
            seen.push(id);
            literal = next;
        }
        Ok(Some(literal))
    }

    /// Whether the literal holds for every value because it asserts nothing.
    fn is_trivial(&self, literal: Literal) -> bool {
        let Subject::Schema(id) = literal.source else {
            return false;
        };
        if !literal.negated {
            return self.program.is_anything(id);
        }
        let keywords = self.program.schema_ref(id).keywords.as_slice();
        matches!(keywords, [only] if matches!(only.assertion.form(), Form::Never))
    }

    /// The literals of a node other than [`NodeId::NEVER`].
    pub(crate) fn literals(&self, id: NodeId) -> Rc<[Literal]> {
        Rc::clone(&self.nodes.literals[id.index()])
    }

    /// The literal of one value, the same whenever this value is passed.
    fn value_literal(&mut self, value: &'j Json<'j>) -> Literal {
        let new = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        let id = *self.value_ids.entry(value).or_insert(new);
        if id == new {
            self.values.push(value);
        }
        Literal::value(id)
    }

    fn value(&self, id: ValueId) -> &'j Json<'j> {
        self.values[id.0 as usize]
    }

    /// Counts work.
    fn step(&mut self, steps: usize) -> Result<(), SchemaError> {
        let before = self.steps;
        self.steps += steps as u64;
        let max = self.max_steps;
        let counted = match self.steps <= max {
            true => Ok(()),
            false => Err(LimitExceeded {
                what: "steps of the schema's compilation",
                limit: max,
            }),
        };
        let cancel = self.options.cancel.as_ref();
        let checked =
            counted.and_then(|()| cancel.map_or(Ok(()), |it| it.check_between(before, self.steps)));
        checked.map_err(|LimitExceeded { what, limit }| {
            let last = self.reached.last();
            SchemaError::Limit {
                what,
                limit,
                pointer: last
                    .map_or_else(|| "#".to_owned(), |&id| self.program.pointer(id).to_owned()),
            }
        })
    }

    /// Records that a schema is in use.
    fn reach(&mut self, id: SchemaId) {
        if self.is_reached.insert(id) {
            self.reached.push(id);
        }
    }

    /// Allows fewer steps than the options do.
    pub(crate) fn limit_steps(&mut self, max: u64) {
        self.max_steps = self.max_steps.min(max);
    }

    /// Ignores keywords, as if they were absent. Negations keep them, or they would accept less.
    pub(crate) fn ignore(&mut self, origins: &[Origin]) {
        self.ignored.extend(origins.iter().copied());
    }

    pub(crate) fn reached(&self) -> &[SchemaId] {
        &self.reached
    }

    /// The error for an unsupported keyword; if the options are lenient, records instead that it is dropped.
    pub(crate) fn refuse(&mut self, origin: Origin, reason: &str) -> Result<(), SchemaError> {
        if self.options.lenient && !self.is_attempt {
            self.note(
                origin,
                Effect::Dropped {
                    reason: reason.to_owned(),
                },
            );
            return Ok(());
        }
        Err(SchemaError::Unsupported {
            keyword: origin.keyword.to_owned(),
            pointer: self.program.keyword_pointer(origin.schema, origin.keyword),
            reason: reason.to_owned(),
        })
    }

    /// Attempts a proof that only makes the result smaller: without one after some steps, and after an error, it is
    /// `false`.
    fn attempt(&mut self, proof: impl FnOnce(&mut Self) -> Result<bool, SchemaError>) -> bool {
        /// The maximum number of steps of one attempt.
        const MAX_STEPS: u64 = 20_000;
        if self.vain_steps >= self.max_steps / 4 {
            return false;
        }
        let (before, max_steps, was_attempt) = (self.steps, self.max_steps, self.is_attempt);
        self.max_steps = max_steps.min(before + MAX_STEPS);
        self.is_attempt = true;
        let proven = proof(self).unwrap_or(false);
        self.max_steps = max_steps;
        self.is_attempt = was_attempt;
        if !proven {
            // A match that exceeds its budget counts as far more steps than there are.
            self.vain_steps += (self.steps - before).min(MAX_STEPS);
            self.steps = before;
        }
        proven
    }

    /// Records, once per keyword, that it was dropped or narrowed.
    pub(crate) fn note(&mut self, origin: Origin, effect: Effect) {
        let dropped = matches!(effect, Effect::Dropped { .. });
        if self.noted.insert((origin, dropped)) {
            self.notes.push((origin, effect));
        }
    }

    /// The number of steps taken.
    pub(crate) fn steps_taken(&self) -> u64 {
        self.steps
    }

    /// The set of strings in which a pattern is found.
    fn pattern(&mut self, source: &'j str, origin: Origin) -> Result<Option<Regular>, SchemaError> {
        let read = self.patterns.entry(source).or_insert_with(|| {
            regex::parse(source, RegexOptions::json_schema()).map_err(|error| error.to_string())
        });
        match read.clone() {
            Ok(regular) => Ok(Some(regular)),
            Err(reason) => self.refuse(origin, &reason).map(|()| None),
        }
    }
}

/// The services that keywords need.
impl<'j> Context<'j> for Canonicalizer<'_, 'j> {
    fn options(&self) -> &SchemaOptions {
        &self.options
    }

    fn program(&mut self) -> &mut Program<'j> {
        self.program
    }

    fn step(&mut self, steps: usize) -> Result<(), SchemaError> {
        self.step(steps)
    }

    fn note(&mut self, origin: Origin, effect: Effect) {
        if matches!(effect, Effect::Narrowed { .. }) {
            // Supersets lack nothing.
            if self.has_supersets {
                return;
            }
            self.is_narrowed = true;
        }
        self.note(origin, effect);
    }

    fn pattern(&mut self, source: &'j str, origin: Origin) -> Result<Option<Regular>, SchemaError> {
        self.pattern(source, origin)
    }

    fn value_literal(&mut self, value: &'j Json<'j>) -> Literal {
        self.value_literal(value)
    }

    fn unevaluated(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        self.unevaluated(origin, of, rest)
    }

    fn not_unevaluated(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        self.not_unevaluated(origin, of, rest)
    }

    fn satisfies(
        &mut self,
        id: SchemaId,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        self.satisfies(id, value, depth)
    }

    fn all_hold(
        &mut self,
        parts: &[Part<'j>],
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        self.all_hold(parts, value, depth)
    }
}

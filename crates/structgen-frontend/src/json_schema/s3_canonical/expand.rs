//! Expands a node: multiplies out its disjunctions and turns each branch into sets of values.

use std::fmt::Write as _;
use std::rc::Rc;

use structgen_grammar::NumberSet;

use super::branch::Branch;
use super::{Arrays, Canonicalizer, Field, NodeId, Numbers, Objects, State, Subject, Values};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{Atom, Literal, TracedAtom, TypeSet};
use crate::json_schema::s2_parse::{Form, SchemaId};
use crate::json_schema::{Profile, SchemaError, Source};

/// The maximum number of nested expansions.
const MAX_NESTING: usize = 32;

/// The maximum depth at which a nested expansion starts.
const MAX_DEPTH: usize = 160;

impl<'j> Canonicalizer<'_, 'j> {
    /// The values of a node.
    pub(crate) fn expand(&mut self, id: NodeId) -> Result<Rc<Values>, SchemaError> {
        match self.try_expand(id)? {
            Some(values) => Ok(values),
            // Only proofs can reach a node in progress, and they call `try_expand`.
            None => Err(SchemaError::Limit {
                what: "expansions inside one another",
                limit: MAX_NESTING as u64,
                pointer: self.node_name(id),
            }),
        }
    }

    /// The values of a node; `None` if it is in progress, or if too many others are.
    pub(super) fn try_expand(&mut self, id: NodeId) -> Result<Option<Rc<Values>>, SchemaError> {
        match &self.nodes.states[id.index()] {
            State::Expanded(values) => return Ok(Some(Rc::clone(values))),
            State::InProgress => return Ok(None),
            State::Unexpanded if self.nesting >= MAX_NESTING => return Ok(None),
            State::Unexpanded if self.nesting > 0 && self.depth >= MAX_DEPTH => return Ok(None),
            State::Unexpanded => {}
        }
        let plain = self.plain_types(id);
        if let Some((schema, types)) = plain
            && let Some((_, values)) = self.plain.iter().find(|(known, _)| *known == types)
        {
            let values = Rc::clone(values);
            self.nodes.states[id.index()] = State::Expanded(Rc::clone(&values));
            self.reach(schema);
            self.step(1)?;
            return Ok(Some(values));
        }
        self.nodes.states[id.index()] = State::InProgress;
        self.nesting += 1;
        let values = self.expand_now(id);
        self.nesting -= 1;
        match values {
            Ok(values) => {
                let values = Rc::new(values);
                if let Some((_, types)) = plain {
                    self.plain.push((types, Rc::clone(&values)));
                }
                self.nodes.states[id.index()] = State::Expanded(Rc::clone(&values));
                Ok(Some(values))
            }
            Err(error) => {
                self.nodes.states[id.index()] = State::Unexpanded;
                Err(error)
            }
        }
    }

    /// The schema of a node and its types, if it asserts only these and they are neither objects nor arrays: such nodes
    /// have the same values. Much of most schemas is strings and numbers with nothing but a description.
    fn plain_types(&self, id: NodeId) -> Option<(SchemaId, TypeSet)> {
        let [literal] = *self.nodes.literals[id.index()] else {
            return None;
        };
        let Subject::Schema(schema) = literal.source else {
            return None;
        };
        let [keyword] = self.program.schema_ref(schema).keywords.as_slice() else {
            return None;
        };
        let Form::Atom(Atom::Types(types)) = keyword.assertion.form() else {
            return None;
        };
        let is_nested = types.meets(TypeSet::OBJECT) || types.meets(TypeSet::ARRAY);
        let is_plain = !is_nested && !literal.negated && self.ignored.is_empty();
        (is_plain && self.options.profile != Profile::Rust).then_some((schema, types))
    }

    fn expand_now(&mut self, id: NodeId) -> Result<Values, SchemaError> {
        let mut first = Branch::new();
        for &literal in self.literals(id).iter() {
            self.add_literal(&mut first, literal, &None)?;
        }
        let mut values = Values {
            keeps_listed: self.may_ground(),
            ..Values::default()
        };
        let mut branches = vec![first];
        while let Some(mut branch) = branches.pop() {
            if branch.is_dead() {
                continue;
            }
            self.step(branch.size())?;
            if !branch.choices.is_empty() {
                self.prune(&mut branch)?;
                if branch.is_dead() {
                    continue;
                }
            }
            let Some(choice) = branch.choices.pop_front() else {
                self.finish(&branch, &mut values)?;
                continue;
            };
            if choice.overlaps.is_empty() && self.is_entailed(&branch, &choice)? {
                branches.push(branch);
                continue;
            }
            for (index, arm) in choice.arms.iter().enumerate().rev() {
                self.step(branch.size())?;
                let mut taken = branch.clone();
                self.add_arm(&mut taken, &choice, arm)?;
                self.prune(&mut taken)?;
                for &other in choice.overlaps.get(index).into_iter().flatten() {
                    if taken.is_dead() {
                        break;
                    }
                    self.step(branch.size())?;
                    if !self.excludes(&taken, other)? {
                        self.add_literal(&mut taken, Literal::not(other), &choice.path)?;
                    }
                }
                if !taken.is_dead() {
                    branches.push(taken);
                }
            }
        }
        Ok(values)
    }

    /// Turns a branch without disjunctions into values.
    pub(super) fn finish(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        match branch.relations().next() {
            None => self.finish_unrelated(branch, out),
            Some(_) => self.finish_related(branch, out),
        }
    }

    /// Turns a branch without disjunctions into values, ignoring relations.
    pub(super) fn finish_unrelated(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        let listed = branch.atoms.iter().filter_map(|traced| match traced.atom {
            Atom::Values(values) => Some(values),
            _ => None,
        });
        if let Some(candidates) = listed.min_by_key(|values| values.len()) {
            return self.finish_listed(branch, candidates, out);
        }
        let types = branch.types;
        let excluded = |value: &Json<'_>| {
            branch.atoms.iter().any(|traced| match traced.atom {
                Atom::NotValues(values) => values.iter().any(|other| other.same(value)),
                _ => false,
            })
        };
        if types.meets(TypeSet::NULL) {
            out.null |= !excluded(&Json::Null);
        }
        if types.meets(TypeSet::BOOLEAN) {
            out.no |= !excluded(&Json::Bool(false));
            out.yes |= !excluded(&Json::Bool(true));
        }
        if types.meets(TypeSet::NUMBER) {
            self.finish_numbers(branch, out)?;
        }
        if types.meets(TypeSet::STRING) {
            self.finish_strings(branch, out)?;
        }
        if types.meets(TypeSet::OBJECT) {
            self.finish_objects(branch, out)?;
        }
        if types.meets(TypeSet::ARRAY) {
            self.finish_arrays(branch, out)?;
        }
        Ok(())
    }

    /// A branch with `enum` or `const`: the listed values for which everything else holds.
    fn finish_listed(
        &mut self,
        branch: &Branch<'j>,
        candidates: &'j [Json<'j>],
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        for value in candidates {
            self.step(1)?;
            let mut fits = branch.types.meets(TypeSet::of(value));
            for traced in &branch.atoms {
                let is_source =
                    matches!(traced.atom, Atom::Values(values) if std::ptr::eq(values, candidates));
                fits = fits && (is_source || self.holds_for_listed(traced, value)?);
            }
            let is_whole = |traced: &TracedAtom<'_>| matches!(traced.atom, Atom::WrittenWhole);
            match value {
                _ if !fits => {}
                // A number that must be written as an integer is not just a point: `1.0` has the same value.
                Json::Number(number) if branch.atoms.iter().any(is_whole) => {
                    let set = NumberSet {
                        written_whole: true,
                        ..NumberSet::point(number.clone())
                    };
                    out.add_numbers(Numbers {
                        source: Some(Source::Model),
                        set,
                        ..Numbers::default()
                    });
                }
                value => self.add_value(value, out)?,
            }
        }
        Ok(())
    }

    fn add_value(&mut self, value: &'j Json<'j>, out: &mut Values) -> Result<(), SchemaError> {
        match value {
            Json::Null => out.null = true,
            Json::Bool(false) => out.no = true,
            Json::Bool(true) => out.yes = true,
            Json::Number(number) => out.add_point(number),
            Json::String(text) => out.add_literal(text),
            Json::Array(items) => {
                self.check_listed(out)?;
                let prefix = items.iter().map(|item| self.value_node(item));
                let prefix = prefix.collect::<Result<Vec<NodeId>, _>>()?;
                let count = u32::try_from(prefix.len()).unwrap_or(u32::MAX);
                out.add_arrays(Arrays {
                    prefix,
                    rest: NodeId::NEVER,
                    min: count,
                    max: Some(count),
                    ..Arrays::any()
                });
            }
            Json::Object(entries) => {
                self.check_listed(out)?;
                let mut properties = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    properties.push(Field {
                        key: key.as_ref().into(),
                        node: self.value_node(value)?,
                        required: true,
                        declared: true,
                    });
                }
                out.add_objects(Objects {
                    properties,
                    additional: NodeId::NEVER,
                    stated: true,
                    ..Objects::any()
                });
            }
        }
        Ok(())
    }

    /// Refuses another listed array or object once there are too many: each is an alternative of its own.
    fn check_listed(&self, out: &Values) -> Result<(), SchemaError> {
        /// The number of alternatives that an automaton can run in parallel.
        const MAX_LISTED: usize = 10_000;
        if out.arrays.len() + out.objects.len() < MAX_LISTED {
            return Ok(());
        }
        let last = self.reached.last();
        Err(SchemaError::Limit {
            what: "arrays and objects that are listed",
            limit: MAX_LISTED as u64,
            pointer: last.map_or_else(|| "#".to_owned(), |&id| self.program.pointer(id).to_owned()),
        })
    }

    fn value_node(&mut self, value: &'j Json<'j>) -> Result<NodeId, SchemaError> {
        let literal = self.value_literal(value);
        self.node([literal])
    }

    /// Whether values may have to come from the input.
    fn may_ground(&self) -> bool {
        self.options.source == Source::Input || self.program.names_sources
    }

    /// A name for a node: the pointers of its literals.
    pub(crate) fn node_name(&self, id: NodeId) -> String {
        if id == NodeId::NEVER {
            return "false".to_owned();
        }
        let mut name = String::new();
        for literal in self.literals(id).iter() {
            if !name.is_empty() {
                name.push_str(" & ");
            }
            if literal.negated {
                name.push('!');
            }
            match literal.source {
                Subject::Schema(id) => name.push_str(self.program.pointer(id)),
                Subject::Value(id) => {
                    let _ = write!(name, "value-{}", id.0);
                }
            }
        }
        if name.is_empty() {
            name.push_str("true");
        }
        name
    }
}

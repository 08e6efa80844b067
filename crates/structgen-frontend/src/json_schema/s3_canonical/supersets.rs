//! Proofs about all valid values, including those that are not compiled.
//!
//! Of some formats only a subset is compiled, and the profile `rust` leaves out what Rust types do not accept. Nodes
//! are then subsets of the valid values: what is generated is valid, but an empty node does not prove that no value is
//! valid. So there is a second canonical form whose nodes are supersets, in which a negation is the complement of a
//! subset. Only what is empty there too contradicts. It is built on demand: most schemas are not narrowed.

use structgen_grammar::Regular;

use super::Canonicalizer;
use crate::json_schema::formats::Format;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{Literal, TracedAtom};
use crate::json_schema::s2_parse::{Keyword, SchemaId};
use crate::json_schema::{Effect, Profile, SchemaError};

impl<'j> Canonicalizer<'_, 'j> {
    /// Computes with supersets instead of subsets, or the other way round.
    pub(super) fn in_other_form<T>(&mut self, compute: impl FnOnce(&mut Self) -> T) -> T {
        self.swap_forms();
        let computed = compute(self);
        self.swap_forms();
        computed
    }

    fn swap_forms(&mut self) {
        std::mem::swap(&mut self.nodes, &mut self.other_nodes);
        std::mem::swap(&mut self.options, &mut self.other_options);
        self.has_supersets = !self.has_supersets;
    }

    /// Whether a proof that holds in this form holds for all valid values.
    pub(super) fn is_proven(
        &mut self,
        proof: impl Fn(&mut Self) -> Result<bool, SchemaError>,
    ) -> Result<bool, SchemaError> {
        if !proof(self)? {
            return Ok(false);
        }
        match self.is_narrowed && !self.has_supersets {
            true => self.in_other_form(proof),
            false => Ok(true),
        }
    }

    /// Whether it is proven that all literals together hold for no value.
    pub(crate) fn excludes_all(&mut self, literals: &[Literal]) -> Result<bool, SchemaError> {
        self.is_proven(|canonical| {
            let node = canonical.node(literals.iter().copied())?;
            canonical.is_proven_empty(node)
        })
    }

    /// An error if the schema, whose node is empty, may have valid values nevertheless.
    pub(crate) fn check_contradiction(&mut self, id: SchemaId) -> Result<(), SchemaError> {
        if self.excludes_all(&[Literal::schema(id)])? {
            return Ok(());
        }
        let narrowed = self.notes.iter().find_map(|(origin, effect)| match effect {
            Effect::Narrowed { how } => Some((*origin, *how)),
            _ => None,
        });
        let for_rust = "values that Rust types do not hold, or that could be of another variant";
        let (keyword, pointer, how) = match narrowed {
            Some((origin, how)) => (
                origin.keyword,
                self.program.keyword_pointer(origin.schema, origin.keyword),
                how,
            ),
            None => ("type", self.program.pointer(id).to_owned(), for_rust),
        };
        Err(SchemaError::Unsupported {
            keyword: keyword.to_owned(),
            pointer,
            reason: format!("only values that are left out may be valid: {how}"),
        })
    }

    /// The strings that have the format, or that do not have it.
    pub(super) fn set_of_format(&self, format: &Format, has: bool) -> Regular {
        match (has, self.has_supersets) {
            (true, false) => format.strings(self.options.profile),
            (true, true) => format.superset(),
            (false, false) => format.complement(),
            (false, true) => format.superset_of_complement(),
        }
    }

    /// Whether the string has the format, or does not have it. This is exact, except that the profile `rust` does not
    /// accept strings that it would not generate.
    pub(super) fn format_holds(
        &mut self,
        format: &Format,
        has: bool,
        text: &str,
    ) -> Result<bool, SchemaError> {
        self.step(1 + text.len())?;
        let decided = format.decide(text);
        let has_it = match decided {
            Some(has_it) => has_it,
            None => self.matches(&format.superset(), text)?,
        };
        if has_it && has && decided.is_none() && self.options.profile == Profile::Rust {
            return self.matches(&format.strings(Profile::Rust), text);
        }
        Ok(has_it == has)
    }

    /// Whether the value is valid under the schema, even if Rust types do not accept it.
    pub(crate) fn is_valid(
        &mut self,
        id: SchemaId,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        self.without_rust_types(|canonical| canonical.satisfies(id, value, depth))
    }

    /// Whether the atom holds for a listed value, which may be generated if so.
    pub(super) fn holds_for_listed(
        &mut self,
        traced: &TracedAtom<'j>,
        value: &Json<'_>,
    ) -> Result<bool, SchemaError> {
        self.holds_with_rust_types(|canonical| canonical.atom_holds(traced, value, 0))
    }

    /// Whether the keyword holds for the value, and Rust types accept it.
    pub(crate) fn keyword_accepts(
        &mut self,
        id: SchemaId,
        keyword: &Keyword<'j>,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        self.holds_with_rust_types(|canonical| canonical.keyword_holds(id, keyword, value, depth))
    }

    /// Whether something holds for a value as the schema says, and, in profile `rust`, also when formats of Rust types
    /// assert. The latter alone does not suffice: a value that is left out would become valid under a negation.
    fn holds_with_rust_types(
        &mut self,
        holds: impl Fn(&mut Self) -> Result<bool, SchemaError>,
    ) -> Result<bool, SchemaError> {
        if !self.without_rust_types(&holds)? {
            return Ok(false);
        }
        match self.options.profile {
            Profile::Rust => {
                let held = holds(self)?;
                self.is_narrowed |= !held;
                Ok(held)
            }
            Profile::Exact | Profile::Generate => Ok(true),
        }
    }

    /// Validates by the schema alone.
    fn without_rust_types<T>(&mut self, validate: impl FnOnce(&mut Self) -> T) -> T {
        if self.options.profile != Profile::Rust {
            return validate(self);
        }
        std::mem::swap(&mut self.options, &mut self.other_options);
        let validated = validate(self);
        std::mem::swap(&mut self.options, &mut self.other_options);
        validated
    }
}

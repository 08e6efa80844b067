//! What the profile `rust` leaves out of a schema derived by schemars, because the Rust type does not accept it.
//!
//! Only assertions are narrowed, never negations: a value that is left out does not become valid under a negation.

use std::rc::Rc;

use structgen_grammar::keyed::KeyedMap;

use super::Canonicalizer;
use super::classes::Splitters;
use super::objects::KeyRules;
use crate::json_schema::formats;
use crate::json_schema::s2_parse::atoms::{Atom, Origin, TracedAtom, TypeSet};
use crate::json_schema::s2_parse::{Arm, Form, Part, Schema, SchemaId};
use crate::json_schema::{Effect, Profile, SchemaError};

/// The tag of a variant of an externally tagged enum.
struct Tag<'j> {
    key: &'j str,
    /// Whether the schema allows other keys.
    is_open: bool,
}

impl<'j> Canonicalizer<'_, 'j> {
    /// The keyword for the items of schemars' `CString`: a list of non-zero bytes, or a string for which the schema
    /// does not state this.
    pub(super) fn bytes_without_zero(&self, schema: &Schema<'j>) -> Option<&'static str> {
        let mut types = TypeSet::ALL;
        let mut items = None;
        for keyword in &schema.keywords {
            match keyword.assertion.form() {
                Form::Atom(Atom::Types(named)) => types = named,
                Form::Atom(Atom::Elements(elements)) => {
                    items = elements.rest.map(|id| (keyword.name, id));
                }
                _ => {}
            }
        }
        let (name, item) = items.filter(|_| types == TypeSet::ARRAY.union(TypeSet::STRING))?;
        let (mut low, mut high) = (None, None);
        for keyword in &self.program.get(item).keywords {
            match keyword.assertion.form() {
                Form::Atom(Atom::Lower(bound)) => low = Some(bound.value.clone()),
                Form::Atom(Atom::Upper(bound)) => high = Some(bound.value.clone()),
                _ => {}
            }
        }
        let bounds = [low, high] == [1, 255].map(|bound: i64| Some(bound.into()));
        bounds.then_some(name)
    }

    /// Makes the tags of an externally tagged enum mutually exclusive. An object with two tags is valid under one arm
    /// if the value of the other tag is invalid, but it is not a variant.
    pub(super) fn add_rust_tags(
        &mut self,
        schemas: &[SchemaId],
        arms: &mut [Arm<'j>],
        origin: Origin,
    ) -> Result<(), SchemaError> {
        let tags: Vec<Option<Tag<'j>>> = schemas.iter().map(|&id| self.tag(id)).collect();
        for (arm, own) in arms.iter_mut().zip(&tags) {
            let Some(own) = own.as_ref().filter(|own| own.is_open) else {
                continue;
            };
            self.step(tags.len())?;
            for other in tags.iter().flatten().filter(|other| other.key != own.key) {
                let atom = Atom::Forbidden(other.key);
                self.is_narrowed = true;
                arm.push(Part::Atom(TracedAtom { atom, origin }));
            }
        }
        Ok(())
    }

    /// The only property of a schema that requires it.
    fn tag(&self, id: SchemaId) -> Option<Tag<'j>> {
        let schema = self.program.get(id);
        let mut tag = None;
        let mut required: Option<Rc<[&str]>> = None;
        for keyword in &schema.keywords {
            match keyword.assertion.form() {
                Form::Atom(Atom::Fields(fields)) => match fields.properties.as_slice() {
                    [(key, _)] => {
                        let is_open = fields.additional.is_none();
                        tag = Some(Tag { key, is_open });
                    }
                    _ => return None,
                },
                Form::Atom(Atom::Required(keys)) => required = Some(keys),
                _ => {}
            }
        }
        tag.filter(|tag| required.as_deref() == Some(&[tag.key]))
    }

    /// For each pattern of integers in the branch, the splitter of its keys and the splitter of the keys that fit into
    /// the map's key type.
    pub(super) fn rust_integers(
        &mut self,
        rules: &KeyRules<'_, 'j>,
        by_pattern: &KeyedMap<&'j str, usize>,
        splitters: &mut Splitters,
    ) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        if self.options.profile != Profile::Rust {
            return found;
        }
        for (fields, origin) in &rules.fields {
            for (pattern, _) in &fields.patterns {
                if let Some(&all) = by_pattern.get(pattern)
                    && let Some(held) =
                        formats::rust::integer_keys(pattern, self.options.integer_keys)
                {
                    let origin = Origin {
                        keyword: "patternProperties",
                        ..*origin
                    };
                    let how = "integers that a key of the Rust type may not hold are left out";
                    self.note(origin, Effect::Narrowed { how });
                    self.is_narrowed = true;
                    found.push((all, splitters.add(held)));
                }
            }
        }
        found
    }
}

//! The negation of a schema: one of its keywords does not hold.

use std::rc::Rc;

use structgen_grammar::{NumberBound, Regular};

use super::Canonicalizer;
use super::branch::{Arm, Part};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{
    Atom, Contains, Literal, Origin, OtherField, SomeMember, TracedAtom, TypeSet,
};
use crate::json_schema::s2_parse::{Assertion, Dependent, Schema, SchemaId};
use crate::json_schema::{FormatMode, SchemaError};

impl<'j> Canonicalizer<'_, 'j> {
    /// The disjunction that says that the schema does not fit.
    pub(super) fn negated(
        &mut self,
        id: SchemaId,
        schema: &Schema<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let mut arms = Vec::new();
        for keyword in &schema.keywords {
            let origin = Origin {
                schema: id,
                keyword: keyword.name,
            };
            // Without this keyword the schema would take more, so its negation takes less: one arm is gone.
            if self.ignored.contains(&origin) {
                continue;
            }
            self.step(1)?;
            let traced = |atom| Part::Atom(TracedAtom { atom, origin });
            let of = |types, atom| vec![traced(Atom::Types(types)), traced(atom)];
            let schema = |id: SchemaId| Part::Literal(Literal::schema(id));
            let not = |id: SchemaId| Part::Literal(Literal::not(id));
            match &keyword.assertion {
                Assertion::Never => arms.push(Vec::new()),
                Assertion::Atom(atom) => self.negate_atom(atom, origin, &mut arms),
                Assertion::Pattern(source) => {
                    // A pattern that leniency drops is dropped in the negation too: the arm takes every string then.
                    arms.push(match self.pattern(source, origin)? {
                        Some(regular) => of(
                            TypeSet::STRING,
                            Atom::Text(Regular::Complement(regular.into())),
                        ),
                        None => vec![traced(Atom::Types(TypeSet::STRING))],
                    });
                }
                Assertion::Format(format) if self.options.formats == FormatMode::Assert => {
                    self.note_left_out(origin, format);
                    arms.push(of(TypeSet::STRING, Atom::Text(format.complement())));
                }
                Assertion::Format(_) | Assertion::RustFormat(_) => {}
                Assertion::AllOf(schemas) => arms.extend(schemas.iter().map(|&id| vec![not(id)])),
                Assertion::AnyOf(schemas) => arms.push(schemas.iter().map(|&id| not(id)).collect()),
                Assertion::OneOf(schemas) => {
                    arms.push(schemas.iter().map(|&id| not(id)).collect());
                    for (i, &one) in schemas.iter().enumerate() {
                        for &other in &schemas[i + 1..] {
                            self.step(1)?;
                            arms.push(vec![schema(one), schema(other)]);
                        }
                    }
                }
                Assertion::Not(inner) => arms.push(vec![schema(*inner)]),
                Assertion::Conditional {
                    condition,
                    then,
                    otherwise,
                } => {
                    arms.extend(then.map(|then| vec![schema(*condition), not(then)]));
                    arms.extend(otherwise.map(|other| vec![not(*condition), not(other)]));
                }
                Assertion::Dependent(dependencies) => {
                    for (key, dependent) in dependencies {
                        let has = of(TypeSet::OBJECT, Atom::Present(key));
                        let with = |part| has.iter().cloned().chain([part]).collect::<Arm<'j>>();
                        match dependent {
                            Dependent::Keys(keys) => arms
                                .extend(keys.iter().map(|key| with(traced(Atom::Forbidden(key))))),
                            Dependent::Schema(id) => arms.push(with(not(*id))),
                        }
                    }
                }
                Assertion::Reference(reference) => {
                    let target = self.program.resolve(id, keyword.name, reference)?;
                    arms.push(vec![not(target)]);
                }
                Assertion::Unevaluated(of, rest) => {
                    arms.extend(self.not_unevaluated(origin, *of, *rest)?);
                }
                Assertion::IfAlone(_) | Assertion::ContainsAny(_) => {}
                Assertion::Refused(types, reason) => {
                    arms.push(of(*types, Atom::Refused(*types, reason)));
                }
                Assertion::Invalid(error) => return Err((**error).clone()),
            }
        }
        Ok(arms)
    }

    fn negate_atom(&mut self, atom: &Atom<'j>, origin: Origin, arms: &mut Vec<Arm<'j>>) {
        let arm = |types: TypeSet, atoms: Vec<Atom<'j>>| {
            let atoms = std::iter::once(Atom::Types(types)).chain(atoms);
            let part = |atom| Part::Atom(TracedAtom { atom, origin });
            atoms.map(part).collect::<Arm<'j>>()
        };
        let number = |atom| arm(TypeSet::NUMBER, vec![atom]);
        let string = |atom| arm(TypeSet::STRING, vec![atom]);
        let object = |atoms| arm(TypeSet::OBJECT, atoms);
        let array = |atoms| arm(TypeSet::ARRAY, atoms);
        let turned = |bound: &NumberBound| NumberBound {
            value: bound.value.clone(),
            exclusive: !bound.exclusive,
        };
        match atom {
            Atom::Types(types) => arms.push(arm(types.complement(), Vec::new())),
            // Its keyword is `type`, whose arm has the other types. That a number is an integer and written as none is
            // left out: the negation takes a little less than it might, never more.
            Atom::WrittenWhole => {}
            Atom::Values(values) => arms.push(self.none_of(values, origin)),
            Atom::Lower(bound) => arms.push(number(Atom::Upper(turned(bound)))),
            Atom::Upper(bound) => arms.push(number(Atom::Lower(turned(bound)))),
            Atom::MultipleOf(divisor) => arms.push(number(Atom::NotMultipleOf(divisor.clone()))),
            Atom::MinLength(count) => arms.push(string(Atom::MaxLength(count - 1))),
            Atom::MaxLength(count) => {
                arms.push(string(Atom::MinLength(count.saturating_add(1))));
            }
            Atom::Fields(fields) => {
                for &(key, id) in &fields.properties {
                    if !self.is_trivial(Literal::schema(id)) {
                        arms.push(object(vec![
                            Atom::Present(key),
                            Atom::Field(key, Literal::not(id)),
                        ]));
                    }
                }
                let patterns = (0..fields.patterns.len()).map(Some);
                for pattern in patterns.chain([None]) {
                    let fields = Rc::clone(fields);
                    let other = OtherField { fields, pattern };
                    let schema = other.schema().map(Literal::schema);
                    if schema.is_some_and(|schema| !self.is_trivial(schema)) {
                        arms.push(object(vec![Atom::Some(SomeMember::Field(other))]));
                    }
                }
            }
            Atom::Required(keys) => {
                arms.extend(keys.iter().map(|key| object(vec![Atom::Forbidden(key)])));
            }
            Atom::Names(id) => {
                arms.push(object(vec![Atom::Some(SomeMember::Name(*id))]));
            }
            Atom::MinProperties(count) => arms.push(object(vec![Atom::MaxProperties(count - 1)])),
            Atom::MaxProperties(count) => {
                arms.push(object(vec![Atom::MinProperties(count.saturating_add(1))]));
            }
            Atom::Elements(elements) => {
                for (index, &id) in elements.prefix.iter().enumerate() {
                    let index = u32::try_from(index).unwrap_or(u32::MAX);
                    arms.push(array(vec![
                        Atom::MinItems(index.saturating_add(1)),
                        Atom::Element(index, Literal::not(id)),
                    ]));
                }
                if let Some(rest) = elements.rest.map(Literal::schema)
                    && !self.is_trivial(rest)
                {
                    arms.push(array(vec![Atom::OtherElement(Rc::clone(elements))]));
                }
            }
            Atom::MinItems(count) => arms.push(array(vec![Atom::MaxItems(count - 1)])),
            Atom::MaxItems(count) => {
                arms.push(array(vec![Atom::MinItems(count.saturating_add(1))]));
            }
            Atom::Unique => arms.push(array(vec![Atom::Refused(
                TypeSet::ARRAY,
                "its negation asks for two equal items",
            )])),
            Atom::Contains(contains) => {
                let counted = |min, max| {
                    let item = contains.item;
                    array(vec![Atom::Contains(Rc::new(Contains { item, min, max }))])
                };
                if contains.min > 0 {
                    arms.push(counted(0, Some(contains.min - 1)));
                }
                if let Some(max) = contains.max {
                    arms.push(counted(max.saturating_add(1), None));
                }
            }
            // No keyword is one of these: they come from patterns, formats and negations only.
            Atom::Text(_)
            | Atom::NotValues(_)
            | Atom::NotMultipleOf(_)
            | Atom::Field(..)
            | Atom::Some(_)
            | Atom::Clause(_)
            | Atom::Present(_)
            | Atom::Forbidden(_)
            | Atom::Element(..)
            | Atom::OtherElement(_)
            | Atom::Refused(..) => {
                let reason = "the negation of a negation is not compiled here";
                arms.push(arm(TypeSet::ALL, vec![Atom::Refused(TypeSet::ALL, reason)]));
            }
        }
    }

    /// That the value is none of these: for an array or object, that it differs somewhere.
    pub(super) fn none_of(&mut self, values: &'j [Json<'j>], origin: Origin) -> Arm<'j> {
        let traced = |atom| Part::Atom(TracedAtom { atom, origin });
        let mut parts = vec![traced(Atom::NotValues(values))];
        for value in values {
            let types = TypeSet::of(value);
            let of = |atoms: Vec<Atom<'j>>| {
                let atoms = std::iter::once(Atom::Types(types)).chain(atoms);
                atoms.map(traced).collect::<Arm<'j>>()
            };
            let mut arms = vec![vec![traced(Atom::Types(types.complement()))]];
            match value {
                Json::Object(entries) => {
                    let keys: Rc<[&'j str]> = entries.iter().map(|(key, _)| &**key).collect();
                    for (key, value) in entries {
                        let other = self.value_literal(value).complement();
                        arms.push(of(vec![Atom::Forbidden(key)]));
                        arms.push(of(vec![Atom::Present(key), Atom::Field(key, other)]));
                    }
                    arms.push(of(vec![Atom::Some(SomeMember::Key(keys))]));
                }
                Json::Array(items) => {
                    let count = u32::try_from(items.len()).unwrap_or(u32::MAX - 1);
                    if let Some(fewer) = count.checked_sub(1) {
                        arms.push(of(vec![Atom::MaxItems(fewer)]));
                    }
                    arms.push(of(vec![Atom::MinItems(count + 1)]));
                    for (index, item) in (0..count).zip(items) {
                        let other = self.value_literal(item).complement();
                        let there = Atom::MinItems(index + 1);
                        arms.push(of(vec![there, Atom::Element(index, other)]));
                    }
                }
                _ => continue,
            }
            parts.push(Part::Choice(arms));
        }
        parts
    }
}

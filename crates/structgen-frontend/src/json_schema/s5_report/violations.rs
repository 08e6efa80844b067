//! Which keywords a value violates, and where.

use std::borrow::Cow;
use std::fmt::Write as _;

use structgen_grammar::json_pointer::escaped;

use super::branches::{Closest, Moment, Noticed, closest};
use super::demand::{among, demand};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Assertion, Atom, Context, Evaluates, Form, Keyword, Of, Origin, Part, SchemaId, TypeSet,
};
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{SchemaError, Violation};

/// The maximum number of violations that are reported.
const MOST_VIOLATIONS: usize = 100;

/// The maximum number of keywords that are examined: nested alternatives multiply.
const MOST_KEYWORDS: u32 = 20_000;

/// The keywords that the value violates.
pub(crate) fn find(
    canonical: &mut Canonicalizer<'_, '_>,
    root: SchemaId,
    value: &Json<'_>,
) -> Result<Vec<Violation>, SchemaError> {
    let mut finder = Finder {
        canonical,
        instance: String::new(),
        way: Vec::new(),
        found: Vec::new(),
        keywords_left: MOST_KEYWORDS,
    };
    finder.schema(root, value, 0)?;
    let found = finder.found.into_iter();
    Ok(found.map(|noticed| noticed.violation).collect())
}

struct Finder<'c, 'p, 'j> {
    canonical: &'c mut Canonicalizer<'p, 'j>,
    /// The pointer of the current value.
    instance: String,
    /// The numbers of the members and items on the way to it.
    way: Vec<usize>,
    found: Vec<Noticed>,
    keywords_left: u32,
}

impl<'j> Finder<'_, '_, 'j> {
    /// Finds the violated keywords of the schema and of those that it applies.
    fn schema(&mut self, id: SchemaId, value: &Json<'_>, depth: u32) -> Result<(), SchemaError> {
        let schema = self.canonical.program.get(id);
        for keyword in &schema.keywords {
            if self.found.len() >= MOST_VIOLATIONS || self.keywords_left == 0 {
                return Ok(());
            }
            self.keywords_left -= 1;
            if !self.canonical.keyword_accepts(id, keyword, value, depth)? {
                self.keyword(id, keyword, value, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Reports a violated keyword, or the violations in the schemas that it applies.
    fn keyword(
        &mut self,
        id: SchemaId,
        keyword: &Keyword<'j>,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<(), SchemaError> {
        let origin = Origin {
            schema: id,
            keyword: keyword.name,
        };
        let before = self.found.len();
        match keyword.assertion.form() {
            Form::Atom(atom) => self.atom(&atom, origin, value, depth)?,
            Form::AllOf(schemas) => {
                for &schema in schemas {
                    self.schema(schema, value, depth)?;
                }
            }
            Form::Reference(reference) => {
                let target = origin.resolve(reference, self.canonical)?;
                self.schema(target, value, depth)?;
            }
            Form::Never | Form::Not(_) | Form::Invalid(_) => {}
            Form::Other => self.applied(&*keyword.assertion, origin, value, depth)?,
        }
        // Report the keyword itself if no schema it applies is to blame.
        if self.found.len() == before {
            self.report(origin, None, value);
        }
        Ok(())
    }

    /// Reports violations of the schemas that a keyword applies, where it is known which of them must hold.
    fn applied(
        &mut self,
        assertion: &(dyn Assertion<'j> + 'j),
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<(), SchemaError> {
        let resource = self.canonical.program.schema_ref(origin.schema).resource;
        let draft = self.canonical.program.resources.get(resource).dialect.draft;
        match assertion.evaluates(Of::Properties, draft) {
            Evaluates::AnyOf(schemas) => self.alternatives(schemas, origin, value, depth),
            Evaluates::OneOf(schemas) => self.alternatives(schemas, origin, value, depth),
            Evaluates::Conditional {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.canonical.is_valid(condition, value, depth)?;
                match if holds { then } else { otherwise } {
                    Some(branch) => self.schema(branch, value, depth),
                    None => Ok(()),
                }
            }
            Evaluates::Dependent(schemas) => {
                for (key, schema) in schemas {
                    if value.get(key).is_some() {
                        self.schema(schema, value, depth)?;
                    }
                }
                self.missing_dependents(assertion, origin, value, depth)
            }
            Evaluates::Nothing
            | Evaluates::Own(_)
            | Evaluates::AllOf(_)
            | Evaluates::Reference(_) => self.unevaluated(assertion, origin, value, depth),
        }
    }

    /// Reports `anyOf` or `oneOf`, with the violations of the schema that the value comes closest to.
    fn alternatives(
        &mut self,
        schemas: &[SchemaId],
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<(), SchemaError> {
        let outer = std::mem::take(&mut self.found);
        let mut branches = Vec::with_capacity(schemas.len());
        for &schema in schemas {
            self.schema(schema, value, depth)?;
            branches.push(std::mem::take(&mut self.found));
        }
        self.found = outer;
        let before = self.found.len();
        self.report(origin, None, value);
        let Some(Closest {
            causes,
            moment,
            is_tied,
        }) = closest(branches)
        else {
            return Ok(());
        };
        if let Some(noticed) = self.found.get_mut(before) {
            if let Some(moment) = moment {
                noticed.moment = moment;
            }
            if is_tied {
                noticed.violation.demand = among(origin.keyword, schemas.len());
            }
            noticed.violation.causes = causes;
        }
        Ok(())
    }

    /// Reports missing keys that other keys require.
    fn missing_dependents(
        &mut self,
        assertion: &(dyn Assertion<'j> + 'j),
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<(), SchemaError> {
        use crate::json_schema::s2_parse::KeyLiteral;
        for part in assertion.affirmed(origin, TypeSet::ALL, self.canonical)? {
            let Part::Atom(traced) = &part else {
                continue;
            };
            let Atom::Clause(literals) = &traced.atom else {
                continue;
            };
            let missing = literals.iter().find_map(|literal| match literal {
                KeyLiteral::Has(key, None) => Some((*key).to_owned()),
                _ => None,
            });
            let context: &mut dyn Context<'j> = self.canonical;
            if !context.all_hold(std::slice::from_ref(&part), value, depth)? {
                self.report(origin, missing, value);
            }
        }
        Ok(())
    }

    /// Names the only member or item without which `unevaluatedProperties` or `unevaluatedItems` would hold.
    fn unevaluated(
        &mut self,
        assertion: &(dyn Assertion<'j> + 'j),
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<(), SchemaError> {
        const MOST_MEMBERS: usize = 64;
        let Json::Object(entries) = value else {
            return Ok(());
        };
        if origin.keyword != "unevaluatedProperties" || entries.len() > MOST_MEMBERS {
            return Ok(());
        }
        for leave_out in 0..entries.len() {
            let mut rest = entries.clone();
            let (key, _) = rest.remove(leave_out);
            if assertion.holds(origin, &Json::Object(rest), depth, self.canonical)? {
                self.report_key(origin, &key, leave_out, value);
                return Ok(());
            }
        }
        Ok(())
    }

    fn atom(
        &mut self,
        atom: &Atom<'j>,
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<(), SchemaError> {
        match (atom, value) {
            (Atom::Fields(fields), Json::Object(entries)) => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    for schema in self.canonical.schemas_of_key(fields, key, origin)? {
                        let look = |finder: &mut Self| finder.schema(schema, value, depth);
                        self.below(&escaped(key), index, look)?;
                    }
                }
            }
            (Atom::Elements(elements), Json::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let Some(schema) = elements.at(index) else {
                        break;
                    };
                    let look = |finder: &mut Self| finder.schema(schema, item, depth);
                    self.below(&index.to_string(), index, look)?;
                }
            }
            (Atom::Names(schema), Json::Object(entries)) => {
                for (index, (key, _)) in entries.iter().enumerate() {
                    let name = Json::String(Cow::Borrowed(key.as_ref()));
                    if !self.canonical.is_valid(*schema, &name, depth)? {
                        self.report_key(origin, key, index, value);
                    }
                }
            }
            (Atom::Required(keys), Json::Object(_)) => {
                for &key in keys.iter().filter(|key| value.get(key).is_none()) {
                    self.report(origin, Some(key.to_owned()), value);
                }
            }
            (Atom::Contains(contains), Json::Array(items)) => {
                let mut count = 0;
                for item in items {
                    count += u32::from(self.canonical.is_valid(contains.item, item, depth)?);
                }
                let schema = self.canonical.program.schema_ref(origin.schema);
                let keyword = match count < contains.min {
                    true if schema.json.get("minContains").is_none() => "contains",
                    true => "minContains",
                    false => "maxContains",
                };
                self.report(Origin { keyword, ..origin }, None, value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Examines a child of the value, by its token of the JSON Pointer and its number.
    fn below(
        &mut self,
        token: &str,
        index: usize,
        look: impl FnOnce(&mut Self) -> Result<(), SchemaError>,
    ) -> Result<(), SchemaError> {
        let length = self.instance.len();
        let _ = write!(self.instance, "/{token}");
        self.way.push(index);
        let looked = look(self);
        self.way.pop();
        self.instance.truncate(length);
        looked
    }

    /// Reports a keyword that a member's key violates.
    fn report_key(&mut self, origin: Origin, key: &str, index: usize, value: &Json<'_>) {
        let before = self.found.len();
        self.report(origin, Some(key.to_owned()), value);
        if let Some(noticed) = self.found.get_mut(before) {
            noticed.moment = Moment::of_key(&self.way, index);
        }
    }

    fn report(&mut self, origin: Origin, key: Option<String>, value: &Json<'_>) {
        if self.found.len() >= MOST_VIOLATIONS {
            return;
        }
        let program = &self.canonical.program;
        let schema = program.schema_ref(origin.schema);
        let violation = Violation {
            instance: self.instance.clone(),
            keyword: program.keyword_pointer(origin.schema, origin.keyword),
            demand: demand(origin.keyword, schema.json, key.as_deref()),
            key,
            is_forbidden: origin.keyword.is_empty(),
            causes: Vec::new(),
        };
        self.found.push(Noticed {
            violation,
            moment: Moment::of(&self.way, origin.keyword, schema.json, value),
        });
    }
}

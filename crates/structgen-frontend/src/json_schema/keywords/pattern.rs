//! `pattern`.

use structgen_grammar::Regular;

use super::rust_strings;
use crate::json_schema::SchemaError;
use crate::json_schema::formats;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Origin, Part, SchemaParser, TypeSet,
};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    match value {
        Json::String(pattern) => parser.assert(keyword, Pattern(pattern)),
        _ => parser.invalid(keyword, "a string"),
    }
}

/// A pattern, which is parsed on demand.
#[derive(Debug)]
struct Pattern<'j>(&'j str);

impl<'j> Assertion<'j> for Pattern<'j> {
    fn affirmed(
        &self,
        origin: Origin,
        types: TypeSet,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        if !types.meets(TypeSet::STRING) {
            return Ok(Vec::new());
        }
        let Some(regular) = context.pattern(self.0, origin)? else {
            return Ok(Vec::new());
        };
        let part = Part::atom(Atom::Text(regular), origin);
        let rust = rust_strings(origin, context, || formats::rust::texts_of_pattern(self.0));
        Ok(std::iter::once(part).chain(rust).collect())
    }

    /// A dropped pattern is dropped in the negation too, which then contains every string.
    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let regular = context.pattern(self.0, origin)?;
        let outside = regular.map(|regular| Atom::Text(Regular::Complement(regular.into())));
        Ok(vec![Part::about(TypeSet::STRING, outside, origin)])
    }

    /// Checks the pattern alone: a listed value adds no entry about strings that are left out.
    fn holds(
        &self,
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        let regular = context.pattern(self.0, origin)?;
        let part = regular.map(|regular| Part::atom(Atom::Text(regular), origin));
        context.all_hold(part.as_slice(), value, depth)
    }
}

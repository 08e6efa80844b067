//! `format`: the formats that drafts define, each a set of strings below `formats`, and those that schemars adds for
//! Rust types.

use super::rust_strings;
use crate::json_schema::formats::{self, Format};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Origin, Part, SchemaParser, TypeSet,
};
use crate::json_schema::{Effect, FormatMode, Profile, SchemaError, SchemaOptions};

/// The report's note on a format that is not enforced because no draft defines it.
pub(crate) const FORMAT_OF_NO_DRAFT: &str = "a format that no draft defines";

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    let Json::String(name) = value else {
        parser.invalid(keyword, "a string");
        return;
    };
    if !parser.asserts_formats() {
        parser.annotation(keyword, "formats are annotations in the dialect");
    } else if let Some(format) = formats::find(name, parser.draft()) {
        parser.assert(keyword, StringFormat(format));
    } else if formats::rust::is_known(name) {
        parser.assert(keyword, RustFormat(name));
    } else {
        parser.annotation(keyword, FORMAT_OF_NO_DRAFT);
    }
}

/// A format that a draft defines.
#[derive(Debug)]
struct StringFormat(&'static Format);

impl StringFormat {
    /// That strings have the format, or that they do not; `None` where formats are annotations.
    fn atom<'j>(&self, has: bool, context: &dyn Context<'j>) -> Option<Atom<'j>> {
        let is_asserted = context.options().formats == FormatMode::Assert;
        is_asserted.then_some(Atom::HasFormat(self.0, has))
    }
}

/// Reports which strings are not compiled.
fn note_left_out<'j>(how: Option<&'static str>, origin: Origin, context: &mut dyn Context<'j>) {
    if let Some(how) = how {
        context.note(origin, Effect::Narrowed { how });
    }
}

impl<'j> Assertion<'j> for StringFormat {
    fn affirmed(
        &self,
        origin: Origin,
        _: TypeSet,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let mut parts = vec![Part::atom(Atom::Format(self.0.name()), origin)];
        if let Some(atom) = self.atom(true, context) {
            note_left_out(self.0.left_out(context.options().profile), origin, context);
            parts.push(Part::atom(atom, origin));
            let strings = || formats::rust::texts_of_format(self.0.name());
            parts.extend(rust_strings(origin, context, strings));
        }
        Ok(parts)
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let Some(atom) = self.atom(false, context) else {
            return Ok(Vec::new());
        };
        note_left_out(self.0.left_out_of_negation(), origin, context);
        Ok(vec![Part::about(TypeSet::STRING, [atom], origin)])
    }

    /// Checking a listed value adds no entry about strings that are left out.
    fn holds(
        &self,
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        let part = self.atom(true, context);
        let part = part.map(|atom| Part::atom(atom, origin));
        context.all_hold(part.as_slice(), value, depth)
    }

    fn effect(&self, options: &SchemaOptions) -> Option<Effect> {
        Some(match options.formats {
            FormatMode::Assert => Effect::Enforced,
            FormatMode::Annotate => Effect::Annotation {
                note: "formats are annotations here",
            },
        })
    }
}

/// A format that schemars derives from a Rust type and no draft defines, which asserts for the profile `rust` only.
#[derive(Debug)]
struct RustFormat<'j>(&'j str);

impl RustFormat<'_> {
    fn bounds<'j>(&self, origin: Origin, context: &dyn Context<'j>) -> Vec<Part<'j>> {
        match formats::rust::number_range(self.0) {
            Some((lower, upper)) if context.options().profile == Profile::Rust => {
                let atoms = [Atom::Lower(lower), Atom::Upper(upper)];
                atoms.map(|atom| Part::atom(atom, origin)).into()
            }
            _ => Vec::new(),
        }
    }
}

impl<'j> Assertion<'j> for RustFormat<'j> {
    fn affirmed(
        &self,
        origin: Origin,
        _: TypeSet,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let mut parts = self.bounds(origin, context);
        if !parts.is_empty() {
            let how = "numbers that the Rust type cannot hold are left out";
            context.note(origin, Effect::Narrowed { how });
        }
        let strings = || formats::rust::texts_of_format(self.0);
        parts.extend(rust_strings(origin, context, strings));
        parts.push(Part::atom(Atom::Format(self.0), origin));
        Ok(parts)
    }

    /// Nothing: no draft defines the format, so its negation is not asserted either.
    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(Vec::new())
    }

    /// As for strings, without an entry in the report.
    fn holds(
        &self,
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        let bounds = self.bounds(origin, context);
        context.all_hold(&bounds, value, depth)
    }

    fn effect(&self, options: &SchemaOptions) -> Option<Effect> {
        Some(match options.profile {
            Profile::Rust => Effect::Enforced,
            Profile::Exact | Profile::Generate => Effect::Annotation {
                note: FORMAT_OF_NO_DRAFT,
            },
        })
    }
}

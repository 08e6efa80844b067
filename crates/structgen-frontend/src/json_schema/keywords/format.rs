//! `format`: the formats that drafts define, each a set of strings below `formats`, and those that schemars adds for
//! Rust types.

use structgen_grammar::Regular;

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
    /// Reports which strings of the format are not compiled, and returns the atom; `None` where formats are
    /// annotations.
    fn atom<'j>(
        &self,
        set: impl FnOnce(&Format) -> Regular,
        left_out: Option<&'static str>,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Option<Atom<'j>> {
        if context.options().formats != FormatMode::Assert {
            return None;
        }
        if let Some(how) = left_out {
            context.note(origin, Effect::Narrowed { how });
        }
        Some(Atom::Text(set(self.0)))
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
        let profile = context.options().profile;
        let strings = |format: &Format| format.strings(profile);
        if let Some(atom) = self.atom(strings, self.0.left_out(profile), origin, context) {
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
        let left_out = self.0.left_out(Profile::Exact);
        let atom = self.atom(Format::complement, left_out, origin, context);
        let arm = atom.map(|atom| Part::about(TypeSet::STRING, [atom], origin));
        Ok(arm.into_iter().collect())
    }

    /// Checking a listed value adds no entry about strings that are left out.
    fn holds(
        &self,
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        if !matches!(value, Json::String(_)) || context.options().formats != FormatMode::Assert {
            return Ok(true);
        }
        let strings = self.0.strings(context.options().profile);
        let part = Part::atom(Atom::Text(strings), origin);
        context.all_hold(&[part], value, depth)
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

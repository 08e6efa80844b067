//! Excludes the strings that the profile `rust` leaves out, for the keywords that schemars writes.

use structgen_grammar::Regular;

use crate::json_schema::s2_parse::{Atom, Context, Origin, Part};
use crate::json_schema::{Effect, Profile};

/// Under the profile `rust`, asserts that a string is in the set, and reports that.
pub(crate) fn rust_strings<'j>(
    origin: Origin,
    context: &mut dyn Context<'j>,
    strings: impl FnOnce() -> Option<Regular>,
) -> Option<Part<'j>> {
    if context.options().profile != Profile::Rust {
        return None;
    }
    let strings = strings()?;
    let how = "strings that not all Rust types of this kind accept are left out";
    context.note(origin, Effect::Narrowed { how });
    Some(Part::atom(Atom::Text(strings), origin))
}

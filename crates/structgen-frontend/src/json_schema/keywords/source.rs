//! `x-structgen` below the root of a schema: where the strings and numbers of a node come from. `relation.rs` reads how
//! they relate to others.

use super::relation;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s1_json::embedded::KEYWORD;
use crate::json_schema::s2_parse::{Arm, Assertion, Atom, Context, Form, Origin, SchemaParser};
use crate::json_schema::{Effect, SchemaError, SchemaOptions, Source};

/// Reads the entries about the values of a node. All other entries are options, which apply at the root only.
pub(crate) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, value: &'j Json<'j>) {
    let is_below = matches!(value, Json::Object(_)) && !parser.is_root();
    let has_relation = is_below && relation::read(parser, value);
    let Some(source) = value.get("source").filter(|_| is_below) else {
        if has_relation {
            return;
        }
        parser.annotation(
            KEYWORD,
            "options of structgen, which apply at the root only",
        );
        return;
    };
    let named = match source {
        Json::String(name) => Source::named(name),
        _ => None,
    };
    match named {
        Some(source) => {
            parser.names_source();
            parser.assert(KEYWORD, From(source));
        }
        None => parser.invalid(KEYWORD, "an object whose \"source\" is model or input"),
    }
}

/// Marks a node; every value is valid under it.
#[derive(Debug)]
struct From(Source);

impl<'j> Assertion<'j> for From {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Source(self.0))
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(Vec::new())
    }

    fn effect(&self, _: &SchemaOptions) -> Option<Effect> {
        Some(Effect::Annotation {
            note: "where values come from, once a constraint is bound to an input",
        })
    }
}

//! `x-structgen` below the root of a schema: where the strings and numbers of a node come from. `relation.rs` reads how
//! they relate to others.

use structgen_grammar::Relation;

use super::relation;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s1_json::embedded::KEYWORD;
use crate::json_schema::s2_parse::{Arm, Assertion, Atom, Context, Form, Origin, SchemaParser};
use crate::json_schema::{Effect, SchemaError, SchemaOptions, Source};

const AT_THE_ROOT: &str = "options of structgen, which apply at the root only";

/// Reads the entries about the values of a node. All other entries are options, which apply at the root only; another
/// document may have them at its own root.
pub(crate) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, value: &'j Json<'j>) {
    if parser.is_root() {
        parser.annotation(KEYWORD, AT_THE_ROOT);
        return;
    }
    let is_ours = |name: &str| name == "source" || Relation::ALL.iter().any(|it| it.name() == name);
    let names = match value {
        Json::Object(entries) => entries.iter().map(|(name, _)| &**name),
        _ => return parser.invalid(KEYWORD, "an object"),
    };
    let mut others = names.filter(|name| !is_ours(name));
    if let Some(other) = others.next() {
        if !parser.is_document_root() {
            let expected = format!(
                "an object of source, in, at-least, at-most and not-equal below the root; {other:?} is none of these"
            );
            return parser.invalid(KEYWORD, &expected);
        }
        parser.annotation(KEYWORD, AT_THE_ROOT);
    }
    relation::read(parser, value);
    let Some(source) = value.get("source") else {
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

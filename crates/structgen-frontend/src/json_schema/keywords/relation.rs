//! `x-structgen` below the root of a schema: how a value relates to others written before it.

use structgen_grammar::Relation;

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s1_json::embedded::KEYWORD;
use crate::json_schema::s2_parse::atoms::RelatedTo;
use crate::json_schema::s2_parse::{Arm, Assertion, Atom, Context, Form, Origin, SchemaParser};

/// Reads the entries that name a relation.
pub(super) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, value: &'j Json<'j>) {
    for relation in Relation::ALL {
        let Some(to) = value.get(relation.name()) else {
            continue;
        };
        match to {
            Json::String(to) => {
                parser.names_relation();
                parser.assert(KEYWORD, Relates(RelatedTo { relation, to }));
            }
            _ => {
                let expected = "an object whose \"in\", \"at-least\", \"at-most\" or \"not-equal\" is a JSON Pointer";
                parser.invalid(KEYWORD, expected);
            }
        }
    }
}

/// Relates the strings and numbers of a node to others.
#[derive(Debug)]
struct Relates<'j>(RelatedTo<'j>);

impl<'j> Assertion<'j> for Relates<'j> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Related(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        Err(SchemaError::Unsupported {
            keyword: origin.keyword.to_owned(),
            pointer: (context.program()).keyword_pointer(origin.schema, origin.keyword),
            reason: "the negation of a relation is not kept".to_owned(),
        })
    }
}

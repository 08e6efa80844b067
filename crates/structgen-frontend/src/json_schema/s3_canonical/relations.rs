//! Relations between values: which strings and numbers have one.

use structgen_grammar::{NumberSet, Relation, StringContent, StringShape};

use super::branch::Branch;
use super::values::Related;
use super::{Canonicalizer, Numbers, Strings, Values};
use crate::json_schema::s2_parse::atoms::Origin;
use crate::json_schema::{KeyOrder, SchemaError, Source};

/// Whether a text has the format of a date.
pub(crate) fn is_date(text: &str) -> bool {
    let form = text.bytes().map(|byte| match byte {
        b'0'..=b'9' => b'0',
        other => other,
    });
    form.eq(*b"0000-00-00")
}

impl<'j> Canonicalizer<'_, 'j> {
    /// Turns a branch whose values relate to others into values.
    pub(super) fn finish_related(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        let mut relations = branch.relations();
        let Some((own, origin)) = relations.next() else {
            return self.finish_unrelated(branch, out);
        };
        if relations.any(|(other, _)| other != own) {
            return self.unrelated(origin, "a value has one relation at most");
        }
        let related = Some(Related {
            relation: own.relation,
            to: own.to.into(),
            origin,
        });
        let mut values = Values {
            keeps_listed: true,
            ..Values::default()
        };
        self.finish_unrelated(branch, &mut values)?;
        let is_other =
            values.yes || values.no || !values.objects.is_empty() || !values.arrays.is_empty();
        if is_other {
            let reason = "only strings, numbers and null may stand here: `type` has to say so";
            return self.unrelated(origin, reason);
        }
        let are_dates = { values.strings.iter() }.all(|it| it.format.as_deref() == Some("date"))
            && values.literals.iter().all(|text| is_date(text));
        if own.relation.is_order() && !are_dates {
            let reason = "only numbers and strings of the format `date` have an order";
            return self.unrelated(origin, reason);
        }
        // A value equal to an earlier one needs no source of its own: the earlier one already comes from the input if
        // required.
        let source = |source: Option<Source>| match own.relation {
            Relation::In => Some(Source::Model),
            _ => source,
        };
        out.null |= values.null;
        if !values.literals.is_empty() {
            out.add_strings(Strings {
                shape: StringShape {
                    content: StringContent::Literals(values.literals.into_iter().collect()),
                    ..StringShape::default()
                },
                source: Some(Source::Model),
                format: None,
                related: related.clone(),
            });
        }
        for strings in values.strings {
            out.add_strings(Strings {
                source: source(strings.source),
                related: related.clone(),
                ..strings
            });
        }
        for point in values.points {
            out.add_numbers(Numbers {
                source: Some(Source::Model),
                set: NumberSet::point(point),
                related: related.clone(),
                ..Numbers::default()
            });
        }
        for numbers in values.numbers {
            out.add_numbers(Numbers {
                source: source(numbers.source),
                related: related.clone(),
                ..numbers
            });
        }
        Ok(())
    }

    /// The order of keys. Related values are written after the values they refer to, whatever the profile.
    pub(crate) fn key_order(&self) -> KeyOrder {
        match self.options.order {
            None if self.program.names_relations && self.options.key_order() == KeyOrder::Any => {
                KeyOrder::Declared
            }
            _ => self.options.key_order(),
        }
    }

    /// Refuses a relation. It is never dropped, not even by lenient options: the schema asks for it explicitly.
    fn unrelated(&self, origin: Origin, reason: &str) -> Result<(), SchemaError> {
        Err(SchemaError::Unsupported {
            keyword: origin.keyword.to_owned(),
            pointer: self.program.keyword_pointer(origin.schema, origin.keyword),
            reason: reason.to_owned(),
        })
    }
}

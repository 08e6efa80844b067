//! Bounds and multiples.

use structgen_grammar::{Decimal, NumberBound};

use super::Parser;
use crate::json_schema::Draft;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::Atom;

impl<'j> Parser<'_, 'j> {
    pub(super) fn read_numbers(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        let draft_4 = self.draft() == Draft::Draft4;
        match (keyword, value) {
            // In draft 4 the exclusive bounds are booleans that belong to the others.
            ("exclusiveMinimum" | "exclusiveMaximum", Json::Bool(exclusive)) if draft_4 => {
                let bound = if keyword == "exclusiveMinimum" {
                    "minimum"
                } else {
                    "maximum"
                };
                if *exclusive && self.json.get(bound).is_none() {
                    self.annotation(keyword, "says nothing without its bound");
                }
            }
            ("exclusiveMinimum" | "exclusiveMaximum", _) if draft_4 => {
                self.invalid(keyword, "a boolean in draft 4");
            }
            ("multipleOf", Json::Number(divisor))
                if !divisor.is_zero() && !divisor.is_negative() =>
            {
                self.atom(keyword, Atom::MultipleOf(divisor.clone()));
            }
            ("multipleOf", _) => self.invalid(keyword, "a positive number"),
            ("minimum", Json::Number(value)) => {
                let exclusive = draft_4 && self.is_true("exclusiveMinimum");
                self.atom(keyword, Atom::Lower(bound(value, exclusive)));
            }
            ("maximum", Json::Number(value)) => {
                let exclusive = draft_4 && self.is_true("exclusiveMaximum");
                self.atom(keyword, Atom::Upper(bound(value, exclusive)));
            }
            ("exclusiveMinimum", Json::Number(value)) => {
                self.atom(keyword, Atom::Lower(bound(value, true)));
            }
            ("exclusiveMaximum", Json::Number(value)) => {
                self.atom(keyword, Atom::Upper(bound(value, true)));
            }
            _ => self.invalid(keyword, "a number"),
        }
    }

    fn is_true(&self, keyword: &str) -> bool {
        matches!(self.json.get(keyword), Some(Json::Bool(true)))
    }
}

fn bound(value: &Decimal, exclusive: bool) -> NumberBound {
    NumberBound {
        value: value.clone(),
        exclusive,
    }
}

//! Keywords that apply other schemas to the same value.

use super::{Assertion, Parser, Step};
use crate::json_schema::Draft;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::TypeSet;

impl<'j> Parser<'_, 'j> {
    pub(super) fn read_combinators(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match (keyword, value) {
            ("allOf", _) => {
                if let Some(arms) = self.subschemas(keyword, value) {
                    self.push(keyword, Assertion::AllOf(arms));
                }
            }
            ("anyOf", _) => {
                if let Some(arms) = self.subschemas(keyword, value) {
                    self.push(keyword, Assertion::AnyOf(arms));
                }
            }
            ("oneOf", _) => {
                if let Some(arms) = self.subschemas(keyword, value) {
                    self.push(keyword, Assertion::OneOf(arms));
                }
            }
            ("not", _) => {
                let id = self.subschema(value, keyword, Step::None);
                self.push(keyword, Assertion::Not(id));
            }
            ("if" | "then" | "else", _) => self.read_conditional(),
            ("$ref" | "$dynamicRef" | "$recursiveRef", Json::String(reference)) => {
                self.push(keyword, Assertion::Reference(reference));
            }
            ("$ref" | "$dynamicRef" | "$recursiveRef", _) => {
                self.invalid(keyword, "a URI reference");
            }
            // A row of the table that no branch above takes up must not be ignored.
            _ => self.push(
                keyword,
                Assertion::Refused(TypeSet::ALL, "the keyword is not compiled"),
            ),
        }
    }

    fn read_conditional(&mut self) {
        if std::mem::replace(&mut self.done.conditional, true) {
            return;
        }
        let mut part = |keyword| {
            let value = self.json.get(keyword)?;
            Some(self.subschema(value, keyword, Step::None))
        };
        let (condition, then, otherwise) = (part("if"), part("then"), part("else"));
        match condition {
            Some(condition) if then.is_some() || otherwise.is_some() => self.push(
                "if",
                Assertion::Conditional {
                    condition,
                    then,
                    otherwise,
                },
            ),
            Some(condition) => {
                self.annotation("if", "says nothing without `then` and `else`");
                if self.draft() >= Draft::Draft2019 {
                    self.push("if", Assertion::IfAlone(condition));
                }
            }
            None => {
                for (keyword, part) in [("then", then), ("else", otherwise)] {
                    if part.is_some() {
                        self.annotation(keyword, "says nothing without `if`");
                    }
                }
            }
        }
    }
}

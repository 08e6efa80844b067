//! Lengths, `pattern`, `format`.

use super::{Assertion, Parser};
use crate::json_schema::formats;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::Atom;

impl<'j> Parser<'_, 'j> {
    pub(super) fn read_strings(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match (keyword, value) {
            ("minLength", _) => {
                if let Some(count) = self.count(keyword, value).filter(|&count| count > 0) {
                    self.atom(keyword, Atom::MinLength(count));
                }
            }
            ("maxLength", _) => {
                if let Some(count) = self.count(keyword, value).filter(|&count| count < u32::MAX) {
                    self.atom(keyword, Atom::MaxLength(count));
                }
            }
            ("pattern", Json::String(pattern)) => {
                self.push(keyword, Assertion::Pattern(pattern));
            }
            ("format", Json::String(name)) => {
                let asserts = self.dialect().asserts_formats != Some(false);
                if !asserts && !self.program.resources.formats_are_set {
                    self.annotation(keyword, "formats are annotations in the dialect");
                } else if let Some(format) = formats::find(name, self.draft()) {
                    self.push(keyword, Assertion::Format(format));
                } else if formats::rust::is_known(name) {
                    self.push(keyword, Assertion::RustFormat(name));
                } else {
                    self.annotation(keyword, "a format that no draft defines");
                }
            }
            _ => self.invalid(keyword, "a string"),
        }
    }
}

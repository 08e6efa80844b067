//! Sets of texts that stop where they have to: free text, reasoning, and strings that are written as they are.
//!
//! A text `t` in front of a marker is told from it when the marker's first occurrence in both together is behind `t`. That is a regular set:
//! all texts without the marker, less those whose end would become a marker together with the beginning of what follows.

use structgen_grammar::{CharSet, Regular};

use crate::WHITESPACE;
use crate::format::core;

/// Any text that can be told from any of the markers behind it.
pub(super) fn text_before<'m>(markers: impl IntoIterator<Item = &'m str>) -> Excluded {
    let markers: Vec<&str> = markers.into_iter().collect();
    let cores: Vec<&str> = markers.iter().map(|marker| core(marker)).collect();
    text_without(&cores, &markers)
}

/// Texts in which none of the markers occurs, not even where one of `following` comes after the text and completes it.
pub(crate) fn text_without(markers: &[&str], following: &[&str]) -> Excluded {
    let mut excluded = Excluded::default();
    for marker in markers {
        excluded.containing(marker);
        // A proper beginning of the marker that would be completed by what follows the text.
        for (at, _) in marker.char_indices().skip(1) {
            if following.iter().any(|next| next.starts_with(&marker[at..])) {
                excluded.ending(&marker[..at]);
            }
        }
    }
    excluded
}

/// Texts that are left out of all texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excluded(Vec<Regular>);

impl Excluded {
    pub(super) fn containing(&mut self, text: &str) {
        let any = Regular::any_text;
        self.0
            .push(Regular::concat([any(), Regular::literal(text), any()]));
    }

    pub(super) fn ending(&mut self, text: &str) {
        self.0.push(Regular::concat([
            Regular::any_text(),
            Regular::literal(text),
        ]));
    }

    /// Texts that begin with this, behind any whitespace.
    pub(super) fn beginning(&mut self, text: &str) {
        let parts = [spaces(), Regular::literal(text), Regular::any_text()];
        self.0.push(Regular::concat(parts));
    }

    /// Texts that are JSON: whoever reads a text takes them for a value and not for a string.
    pub(super) fn json(&mut self) {
        for opening in ["{", "[", "\""] {
            self.beginning(opening);
        }
        let words = ["true", "false", "null"].map(Regular::literal);
        let digits = |min| Regular::repeat(Regular::Chars(CharSet::new([('0', '9')])), min, None);
        let optional = |body| Regular::repeat(body, 0, Some(1));
        let sign = |signs: &str| optional(Regular::Chars(signs.chars().collect()));
        let number = Regular::concat([
            sign("-"),
            digits(1),
            optional(Regular::concat([Regular::literal("."), digits(1)])),
            optional(Regular::concat([
                Regular::Chars("eE".chars().collect()),
                sign("+-"),
                digits(1),
            ])),
        ]);
        let value = Regular::union(words.into_iter().chain([number]));
        self.0.push(Regular::concat([spaces(), value, spaces()]));
    }

    /// All other texts.
    pub(crate) fn others(self) -> Regular {
        if self.0.is_empty() {
            return Regular::any_text();
        }
        Regular::Complement(Regular::union(self.0).into())
    }
}

fn spaces() -> Regular {
    Regular::repeat(Regular::Chars(WHITESPACE.into_iter().collect()), 0, None)
}

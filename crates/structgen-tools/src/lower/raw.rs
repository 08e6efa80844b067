//! Sets of texts that end at a marker: free text, reasoning, and strings that are written verbatim.
//!
//! A text `t` before a marker is unambiguous if the first occurrence of the marker in both together is directly after
//! `t`. Such texts are a regular set: all texts that do not contain the marker, except those whose end would complete a
//! marker together with the beginning of what follows.

use std::collections::BTreeSet;

use structgen_grammar::{CharSet, Regular};

use crate::WHITESPACE;
use crate::format::core;

/// The complement of texts that are unambiguous before any of the markers.
pub(super) fn text_before<'m>(markers: impl IntoIterator<Item = &'m str>) -> Excluded {
    let markers: Vec<&str> = markers.into_iter().collect();
    let cores: Vec<&str> = markers.iter().map(|marker| core(marker)).collect();
    text_without(&cores, &markers)
}

/// Excludes texts that contain a marker, and texts that complete one together with the beginning of one of `following`.
pub(crate) fn text_without(markers: &[&str], following: &[&str]) -> Excluded {
    let following: BTreeSet<&str> = following.iter().copied().collect();
    // The texts that begin with `rest` come directly after it.
    let may_follow = |rest: &str| {
        let next = following.range(rest..).next();
        next.is_some_and(|next| next.starts_with(rest))
    };
    let mut excluded = Excluded::default();
    for marker in markers {
        excluded.containing(marker);
        // A proper prefix of the marker that the text after it would complete.
        for (at, _) in marker.char_indices().skip(1) {
            if may_follow(&marker[at..]) {
                excluded.ending(&marker[..at]);
            }
        }
    }
    excluded
}

/// A union of texts to exclude.
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

    /// Excludes texts that begin with this after any whitespace.
    pub(super) fn beginning(&mut self, text: &str) {
        let parts = [spaces(), Regular::literal(text), Regular::any_text()];
        self.0.push(Regular::concat(parts));
    }

    /// Excludes texts that look like JSON: they are parsed as a value, not as a string.
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

    /// The complement: all other texts.
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

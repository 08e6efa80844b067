//! The sets of code points that internationalised labels are made of: RFC 5892 and RFC 5893.
//!
//! `idna.pl` derives them from Unicode's data and writes `idna.txt`. The derivation needs normalisation, bidi classes
//! and joining types, which no dependency of this crate provides.

use structgen_grammar::CharSet;

use super::syntax::char_set;

/// Code points by their role.
pub(super) struct Tables {
    /// All code points that are valid in a label, possibly in some context only.
    pub(super) all: CharSet,
    /// Combining marks, which cannot start a label.
    pub(super) marks: CharSet,
    pub(super) right_to_left: CharSet,
    pub(super) arabic_number: CharSet,
    pub(super) european_number: CharSet,
    pub(super) neutral: CharSet,
    pub(super) nonspacing: CharSet,
    pub(super) joining_left: CharSet,
    pub(super) joining_right: CharSet,
    pub(super) transparent: CharSet,
    pub(super) virama: CharSet,
    pub(super) greek: CharSet,
    pub(super) hebrew: CharSet,
    /// Hiragana, Katakana and Han.
    pub(super) kana_and_han: CharSet,
}

/// The code points whose validity depends on their neighbours: CONTEXTJ and CONTEXTO.
const CONTEXT: &str =
    "\u{B7}\u{375}\u{5F3}\u{5F4}\u{30FB}\u{660}-\u{669}\u{6F0}-\u{6F9}\u{200C}\u{200D}";

impl Tables {
    pub(super) fn read() -> Self {
        let sets = IdnaTables(include_str!("idna.txt"));
        let all = union(&sets.named("PVALID"), &char_set(CONTEXT));
        Self {
            marks: intersection(&property("M"), &all),
            right_to_left: sets.named("RIGHT_TO_LEFT"),
            arabic_number: sets.named("ARABIC_NUMBER"),
            european_number: sets.named("EUROPEAN_NUMBER"),
            neutral: sets.named("NEUTRAL"),
            nonspacing: sets.named("NONSPACING"),
            joining_left: sets.named("JOINING_LEFT"),
            joining_right: sets.named("JOINING_RIGHT"),
            transparent: sets.named("TRANSPARENT"),
            virama: sets.named("VIRAMA"),
            greek: property("Greek"),
            hebrew: property("Hebrew"),
            kana_and_han: [property("Hiragana"), property("Katakana"), property("Han")]
                .iter()
                .fold(CharSet::default(), |all, script| union(&all, script)),
            all,
        }
    }
}

/// The text of `idna.txt`.
struct IdnaTables(&'static str);

impl IdnaTables {
    fn named(&self, name: &str) -> CharSet {
        let lines = self.0.lines().skip_while(|line| *line != name).skip(1);
        let mut ranges = Vec::new();
        for line in lines.take_while(|line| line.starts_with(' ')) {
            for range in line.split_whitespace() {
                let (low, high) = range.split_once('-').unwrap_or((range, range));
                ranges.extend(scalar(low).zip(scalar(high)));
            }
        }
        CharSet::new(ranges)
    }
}

fn scalar(hexadecimal: &str) -> Option<char> {
    char::from_u32(u32::from_str_radix(hexadecimal, 16).ok()?)
}

/// The code points with a general category or script, from the tables of `regex-syntax`.
pub(super) fn property(name: &str) -> CharSet {
    use regex_syntax::hir::{Class, HirKind};
    let hir = regex_syntax::parse(&format!("\\p{{{name}}}")).map(regex_syntax::hir::Hir::into_kind);
    match hir {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            CharSet::new(class.iter().map(|range| (range.start(), range.end())))
        }
        _ => CharSet::default(),
    }
}

pub(super) fn union(one: &CharSet, other: &CharSet) -> CharSet {
    CharSet::new(one.ranges().iter().chain(other.ranges()).copied())
}

pub(super) fn intersection(one: &CharSet, other: &CharSet) -> CharSet {
    union(&one.complement(), &other.complement()).complement()
}

/// The code points of the first set that are not in the second.
pub(super) fn difference(one: &CharSet, other: &CharSet) -> CharSet {
    intersection(one, &other.complement())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_there_and_within_what_a_label_may_hold() {
        let tables = Tables::read();
        for (name, set) in [
            ("marks", &tables.marks),
            ("right_to_left", &tables.right_to_left),
            ("arabic_number", &tables.arabic_number),
            ("european_number", &tables.european_number),
            ("neutral", &tables.neutral),
            ("nonspacing", &tables.nonspacing),
            ("joining_left", &tables.joining_left),
            ("joining_right", &tables.joining_right),
            ("transparent", &tables.transparent),
            ("virama", &tables.virama),
        ] {
            assert!(!set.is_empty(), "{name}");
            assert!(difference(set, &tables.all).is_empty(), "{name}");
        }
        for script in [&tables.greek, &tables.hebrew, &tables.kana_and_han] {
            assert!(!script.is_empty());
        }
    }

    #[test]
    fn exceptions_and_unstable_characters_are_where_they_belong() {
        let all = Tables::read().all;
        for c in [
            'a', '0', '-', 'ß', 'ς', '\u{F0B}', '〇', 'é', 'я', '한', '\u{200D}',
        ] {
            assert!(all.contains(c), "{c:?}");
        }
        for c in [
            'A', '_', '\u{640}', '\u{302E}', 'É', 'ﬁ', '\u{1100}', '☃', ' ',
        ] {
            assert!(!all.contains(c), "{c:?}");
        }
    }
}

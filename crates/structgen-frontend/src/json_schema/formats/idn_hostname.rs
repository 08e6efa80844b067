//! `idn-hostname`: names made of U-labels (RFC 5890 to 5893) and of the labels that `hostname` accepts.
//!
//! Labels are built from units: a character together with the characters that its context rule requires. So only
//! lengths take an intersection. A name is limited in its ASCII form, and a finite automaton cannot compute how long
//! Punycode makes a label. U-labels are therefore limited in code points, such that their A-labels always fit. See
//! [`length`].

use structgen_grammar::{CharSet, Regular};

use super::idna::{Tables, difference, intersection, union};
use super::labels::{LabelRules, SEPARATORS, is_name};
use super::syntax::{any, between, char_set, class, many, optional, seq, some, text};
use super::{Narrowed, hostname};

pub(super) const NARROWED: Narrowed = Narrowed {
    contains,
    outer,
    left_out: "A-labels (`xn--`), internationalised labels longer than 11 code points (of one script often 14 to 22) \
        or with hyphens in a row, rare joiners, and names of more than three labels with an internationalised one are \
        left out",
    left_out_of_negation: "texts of up to 253 characters that all occur in names are left out",
};

pub(super) fn build() -> Regular {
    let classes = Classes::new(&Tables::read());
    let limited = |label: Regular| Regular::Intersection([label, length()].into());
    let left_to_right = any([hostname::label(), limited(classes.left_to_right())]);
    let ascii_in_bidi = seq([class("A-Za-z"), many(class("A-Za-z0-9-"))]);
    let bidi = any([
        Regular::Intersection([hostname::label(), ascii_in_bidi].into()),
        limited(classes.bidi()),
    ]);
    any([
        hostname::build(),
        mapped_hostname(),
        name_of(left_to_right),
        name_of(bidi),
    ])
}

/// Up to three labels: 191 octets of the 253 that a name may have.
fn name_of(label: Regular) -> Regular {
    let more = seq([class(SEPARATORS), label.clone()]);
    seq([label, between(more, 0, 2)])
}

fn contains(text: &str) -> bool {
    let rules = LabelRules {
        takes_unicode: true,
        checks_reserved: true,
    };
    is_name(text, rules)
}

/// A superset of all names, including those that are left out.
pub(super) fn outer() -> Regular {
    let all = union(&Tables::read().all, &char_set("A-Za-z0-9"));
    let all = union(&all, &char_set(SEPARATORS));
    Regular::repeat(Regular::Chars(all), 1, Some(253))
}

/// ASCII labels, separated by any of the full stops.
fn mapped_hostname() -> Regular {
    name_of(hostname::label())
}

/// Labels of up to 63 octets in their ASCII form.
///
/// Each range of non-ASCII code points has a maximum number of code points. It is the largest for which the worst case
/// of RFC 3492 still fits, over all numbers of basic code points, sequences of biases and sums of deltas.
fn length() -> Regular {
    let ascii = char_set("a-z0-9-");
    let within = |low: char, high: char, most: u32| {
        let set = union(&ascii, &CharSet::new([(low, high)]));
        between(Regular::Chars(set), 1, most)
    };
    any([
        between(Regular::Chars(CharSet::all()), 1, 11),
        within('\u{80}', '\u{17F}', 22),
        within('\u{370}', '\u{46F}', 22),
        within('\u{590}', '\u{68F}', 22),
        within('\u{900}', '\u{9FF}', 22),
        within('\u{3000}', '\u{9FFF}', 14),
        within('\u{AC00}', '\u{D7A3}', 15),
    ])
}

/// Code points by their class in RFC 5893, without those that need a context.
struct Classes {
    left: CharSet,
    right: CharSet,
    arabic_number: CharSet,
    european_number: CharSet,
    neutral: CharSet,
    /// Marks without a direction.
    nonspacing: CharSet,
    marks: CharSet,
    greek: CharSet,
    hebrew: CharSet,
    hebrew_marks: CharSet,
    virama: CharSet,
    joining_left: CharSet,
    joining_right: CharSet,
    transparent: CharSet,
    kana_and_han: CharSet,
}

impl Classes {
    fn new(tables: &Tables) -> Self {
        let context = char_set("\u{B7}\u{375}\u{5F3}\u{5F4}\u{30FB}\u{200C}\u{200D}-");
        let plain = |set: &CharSet| difference(set, &context);
        let directed = [
            &tables.right_to_left,
            &tables.arabic_number,
            &tables.european_number,
            &tables.neutral,
            &tables.nonspacing,
        ];
        let directed = directed
            .iter()
            .fold(CharSet::default(), |all, set| union(&all, set));
        let right = plain(&difference(&tables.right_to_left, &tables.marks));
        Self {
            left: plain(&difference(&tables.all, &directed)),
            arabic_number: plain(&tables.arabic_number),
            european_number: plain(&tables.european_number),
            neutral: plain(&tables.neutral),
            nonspacing: plain(&tables.nonspacing),
            marks: tables.marks.clone(),
            greek: intersection(&tables.greek, &difference(&tables.all, &context)),
            hebrew: intersection(&tables.hebrew, &right),
            hebrew_marks: intersection(&tables.hebrew, &tables.nonspacing),
            virama: intersection(&tables.virama, &tables.all),
            joining_left: intersection(&tables.joining_left, &right),
            joining_right: intersection(&tables.joining_right, &right),
            transparent: intersection(&tables.transparent, &tables.nonspacing),
            kana_and_han: intersection(&tables.kana_and_han, &plain(&tables.all)),
            right,
        }
    }

    /// A label of a name that contains no right-to-left characters.
    fn left_to_right(&self) -> Regular {
        let directed = union(&self.left, &self.european_number);
        let directed = union(&directed, &self.neutral);
        let first = difference(&directed, &self.marks);
        let contexts = || {
            [
                seq([text("l"), some(text("\u{B7}l"))]),
                seq([text("\u{375}"), chars(&intersection(&self.greek, &first))]),
            ]
        };
        let joined = seq([chars(&self.virama), class("\u{200C}\u{200D}")]);
        let start = any([chars(&first)].into_iter().chain(contexts()));
        let unit = any([chars(&union(&directed, &self.nonspacing)), joined]
            .into_iter()
            .chain(contexts()));
        let ordinary = seq([start.clone(), hyphenated(unit.clone())]);

        // A label with a katakana middle dot must also contain kana or Han.
        let dot = || text("\u{30FB}");
        let before = seq([
            any([start, dot()]),
            hyphenated(any([unit.clone(), dot()])),
            optional(text("-")),
        ]);
        let around = seq([
            optional(before),
            chars(&difference(&self.kana_and_han, &self.marks)),
            hyphenated(any([unit, dot()])),
        ]);
        any([ordinary, around])
    }

    /// A label of a name that contains right-to-left characters: RFC 5893, section 2.
    fn bidi(&self) -> Regular {
        let left = any([
            chars(&union(&self.left, &self.european_number)),
            seq([text("l"), some(text("\u{B7}l"))]),
            seq([
                chars(&intersection(&self.virama, &self.left)),
                class("\u{200C}\u{200D}"),
            ]),
        ]);
        let first = chars(&difference(&self.left, &self.marks));
        let geresh = seq([
            chars(&self.hebrew),
            many(chars(&self.hebrew_marks)),
            some(class("\u{5F3}\u{5F4}")),
        ]);
        let marks = || many(chars(&self.transparent));
        let joining_both = intersection(&self.joining_left, &self.joining_right);
        let apart = seq([
            chars(&self.joining_left),
            many(seq([
                marks(),
                text("\u{200C}"),
                marks(),
                chars(&joining_both),
            ])),
            marks(),
            text("\u{200C}"),
            marks(),
            chars(&self.joining_right),
        ]);
        let right = any([chars(&self.right), geresh, apart]);
        let with = |numbers: &CharSet| any([right.clone(), chars(numbers)]);
        any([
            self.directed(first, left),
            // European or Arabic-Indic numbers, but not both.
            self.directed(right.clone(), with(&self.european_number)),
            self.directed(right.clone(), with(&self.arabic_number)),
        ])
    }

    /// A label that starts with `first` and ends with `core`, apart from trailing marks.
    fn directed(&self, first: Regular, core: Regular) -> Regular {
        let between = many(chars(&union(&self.neutral, &self.nonspacing)));
        seq([
            first,
            many(seq([between, optional(text("-")), core])),
            many(chars(&self.nonspacing)),
        ])
    }
}

fn chars(set: &CharSet) -> Regular {
    Regular::Chars(set.clone())
}

/// Any number of units, each with an optional hyphen before it.
fn hyphenated(unit: Regular) -> Regular {
    many(seq([optional(text("-")), unit]))
}

#[cfg(test)]
mod tests {
    use super::super::punycode::encode;
    use super::super::syntax;
    use super::*;

    fn ascii_length(label: &[char]) -> usize {
        "xn--".len() + encode(label).len()
    }

    #[test]
    fn labels_that_fit_by_code_points_fit_in_ascii_too() {
        let length = length();
        let windows = [
            ('\u{80}', '\u{10FFFF}'),
            ('\u{80}', '\u{17F}'),
            ('\u{370}', '\u{46F}'),
            ('\u{590}', '\u{68F}'),
            ('\u{900}', '\u{9FF}'),
            ('\u{3000}', '\u{9FFF}'),
            ('\u{AC00}', '\u{D7A3}'),
        ];
        let mut random = 1_u64;
        let mut below = |limit: u32| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((random >> 33) % u64::from(limit)) as u32
        };
        let mut longest = 0;
        for round in 0..20_000 {
            let (low, high) = windows[round % windows.len()];
            let (low, high) = (low as u32, high as u32);
            let ascii = below(4);
            let label: Vec<char> = (0..4 + below(20))
                .filter_map(|_| {
                    // The two ends of a range are the worst cases.
                    let code = match below(4) {
                        0 if ascii == 0 => u32::from(b'a'),
                        1 => low + below(3),
                        2 => high - below(3),
                        _ => low + below(high - low),
                    };
                    char::from_u32(code)
                })
                .collect();
            let text: String = label.iter().collect();
            if syntax::contains(&length, &text) {
                longest = longest.max(ascii_length(&label));
            }
        }
        assert!((45..=63).contains(&longest), "{longest}");
    }

    #[test]
    fn names_are_judged_as_the_specifications_say() {
        let (names, outer) = (build(), outer());
        for (name, fits) in [
            ("bücher.example", true),
            ("WWW.Example.com", true),
            ("例え。テスト", true),
            ("παράδειγμα.δοκιμή", true),
            ("пример.испытание", true),
            ("बक्‍ष.example", true),
            ("דוגמה׳.example", true),
            ("مثال٠١.example", true),
            ("l·l", true),
            ("・ア", true),
            ("1.דוגמה", false),
            ("Bücher", false),
            ("a·b", false),
            ("ü-", false),
            ("-ü", false),
            ("\u{301}a", false),
            ("☃", false),
            ("xn--bcher-kva", false),
            ("ü_", false),
            ("ü..a", false),
            ("", false),
        ] {
            assert_eq!(syntax::contains(&names, name), fits, "{name}");
            // The subset lacks A-labels.
            let is_valid = fits || name.starts_with("xn--");
            assert_eq!(contains(name), is_valid, "{name}");
            assert!(!is_valid || syntax::contains(&outer, name), "{name}");
        }
    }

    #[test]
    fn names_that_the_set_leaves_out_are_decided() {
        let long = |count| "\u{3b1}".repeat(count);
        for (name, is_valid) in [
            ("\u{fc}-a--b", true),
            ("\u{fc}a--b", false),
            ("\u{fc}1.\u{fc}2.\u{fc}3.\u{fc}4", true),
            ("\u{628}\u{64a}\u{200c}\u{628}\u{64a}", true),
            ("\u{628}\u{660}\u{6f0}", false),
            ("0a.\u{5d0}", false),
            ("a\u{5d0}", false),
            (&*long(40), true),
            (&*long(60), false),
            (&*vec!["a"; 128].join("."), false),
        ] {
            assert_eq!(contains(name), is_valid, "{name}");
        }
    }
}

//! Back-references compared with a backtracking matcher that remembers its groups.

use std::cell::Cell;

use proptest::prelude::*;
use structgen_frontend::regex::{Dialect, RegexErrorKind};

use super::*;

/// A pattern that may refer to its groups, to be printed and to be matched.
#[derive(Clone, Debug)]
enum Referring {
    Char(char),
    Either,
    End,
    Sequence(Vec<Referring>),
    Choice(Vec<Referring>),
    /// A group with its number, which is given when the whole pattern is known.
    Group(usize, Box<Referring>),
    /// A reference: any number at first, that of a group when the whole pattern is known.
    Reference(usize),
    Repeat(Box<Referring>, usize, Option<usize>),
    Ahead(bool, Box<Referring>),
}

/// What the groups have matched: where it begins and ends.
type Captures = Vec<Option<(usize, usize)>>;

impl Referring {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        visit(self);
        match self {
            Self::Sequence(parts) | Self::Choice(parts) => {
                parts.iter_mut().for_each(|part| part.each(visit));
            }
            Self::Group(_, body) | Self::Repeat(body, ..) | Self::Ahead(_, body) => {
                body.each(visit);
            }
            Self::Char(_) | Self::Either | Self::End | Self::Reference(_) => {}
        }
    }

    /// Gives groups and references their numbers; returns the number of groups.
    fn number(&mut self) -> usize {
        let mut groups = 0;
        self.each(&mut |part| {
            if let Self::Group(number, _) = part {
                groups += 1;
                *number = groups;
            }
        });
        self.each(&mut |part| {
            if let Self::Reference(number) = part {
                *part = match groups {
                    0 => Self::Either,
                    _ => Self::Reference(1 + *number % groups),
                };
            }
        });
        groups
    }

    /// The groups in it.
    fn groups(&self) -> Vec<usize> {
        let mut groups = Vec::new();
        self.clone().each(&mut |part| {
            if let Self::Group(number, _) = part {
                groups.push(*number);
            }
        });
        groups
    }

    fn write(&self) -> String {
        let all = |parts: &[Self], between| {
            let parts: Vec<String> = parts.iter().map(Self::write).collect();
            parts.join(between)
        };
        match self {
            Self::Char(c) => c.to_string(),
            Self::Either => "[ab]".to_owned(),
            Self::End => "$".to_owned(),
            Self::Sequence(parts) => all(parts, ""),
            Self::Choice(arms) => format!("(?:{})", all(arms, "|")),
            Self::Group(_, body) => format!("({})", body.write()),
            Self::Reference(number) => format!("(?:\\{number})"),
            Self::Repeat(body, min, None) => format!("(?:{}){{{min},}}", body.write()),
            Self::Repeat(body, min, Some(max)) => format!("(?:{}){{{min},{max}}}", body.write()),
            Self::Ahead(true, body) => format!("(?={})", body.write()),
            Self::Ahead(false, body) => format!("(?!{})", body.write()),
        }
    }

    /// Returns whether a match from `at` on can continue with `next`: continuation-passing style.
    fn matches(
        &self,
        matching: &Matching<'_>,
        at: usize,
        captures: &Captures,
        next: &mut dyn FnMut(usize, &Captures) -> bool,
    ) -> bool {
        let text = matching.text;
        match self {
            Self::Char(c) => text.get(at) == Some(c) && next(at + 1, captures),
            Self::Either => text.get(at).is_some() && next(at + 1, captures),
            Self::End => at == text.len() && next(at, captures),
            Self::Sequence(parts) => match parts.split_first() {
                None => next(at, captures),
                Some((first, rest)) => {
                    let rest = Self::Sequence(rest.to_vec());
                    first.matches(matching, at, captures, &mut |at, captures| {
                        rest.matches(matching, at, captures, next)
                    })
                }
            },
            Self::Choice(arms) => arms
                .iter()
                .any(|arm| arm.matches(matching, at, captures, next)),
            Self::Group(number, body) => {
                body.matches(matching, at, captures, &mut |end, captures| {
                    let mut captures = captures.clone();
                    captures[*number] = Some((at, end));
                    next(end, &captures)
                })
            }
            Self::Reference(number) => match captures[*number] {
                None => !matching.python && next(at, captures),
                Some((from, to)) => {
                    text[at..].starts_with(&text[from..to]) && next(at + to - from, captures)
                }
            },
            Self::Repeat(body, min, max) => body.rounds(matching, (*min, *max), at, captures, next),
            Self::Ahead(wanted, body) => {
                let mut found = None;
                body.matches(matching, at, captures, &mut |_, captures| {
                    found = Some(captures.clone());
                    true
                });
                // What a negated one has captured is forgotten.
                match found {
                    Some(captures) if *wanted => next(at, &captures),
                    None if !*wanted => next(at, captures),
                    _ => false,
                }
            }
        }
    }

    fn rounds(
        &self,
        matching: &Matching<'_>,
        (min, max): (usize, Option<usize>),
        at: usize,
        captures: &Captures,
        next: &mut dyn FnMut(usize, &Captures) -> bool,
    ) -> bool {
        if min == 0 && next(at, captures) {
            return true;
        }
        if max == Some(0) {
            return false;
        }
        let mut start = captures.clone();
        if !matching.python {
            self.groups()
                .into_iter()
                .for_each(|group| start[group] = None);
        }
        let rest = (min.saturating_sub(1), max.map(|max| max - 1));
        self.matches(matching, at, &start, &mut |end, captures| {
            if end > at || min > 0 {
                return self.rounds(matching, rest, end, captures, next);
            }
            // A round beyond the minimum that takes nothing: not allowed in ECMA-262, the last one in Python.
            matching.python && next(end, captures)
        })
    }
}

struct Matching<'t> {
    text: &'t [char],
    /// Whether the rules are those of Python; otherwise they are those of ECMA-262.
    python: bool,
}

fn pattern() -> impl Strategy<Value = Referring> {
    let leaf = prop_oneof![
        2 => Just(Referring::Char('a')),
        2 => Just(Referring::Char('b')),
        1 => Just(Referring::Either),
        1 => Just(Referring::End),
        4 => (0_usize..4).prop_map(Referring::Reference),
    ];
    leaf.prop_recursive(5, 16, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 0..4).prop_map(Referring::Sequence),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(Referring::Choice),
            4 => inner.clone().prop_map(|body| Referring::Group(0, body.into())),
            2 => (inner.clone(), 0_usize..3, prop::option::of(0_usize..3)).prop_map(
                |(body, min, more)| Referring::Repeat(body.into(), min, more.map(|more| min + more))
            ),
            1 => (any::<bool>(), inner.clone())
                .prop_map(|(wanted, body)| Referring::Ahead(wanted, body.into())),
            3 => (inner.clone(), inner, 0_usize..3, prop::option::of(0_usize..3), 0_usize..4).prop_map(
                |(body, other, min, more, group)| rounds_and_reference(body, other, (min, more), group)
            ),
        ]
    })
}

/// A repetition that may leave its group as it was, with a reference to some group after it.
fn rounds_and_reference(
    body: Referring,
    other: Referring,
    (min, more): (usize, Option<usize>),
    group: usize,
) -> Referring {
    let body = Referring::Choice(vec![Referring::Group(0, body.into()), other]);
    let rounds = Referring::Repeat(body.into(), min, more.map(|more| min + more));
    Referring::Sequence(vec![rounds, Referring::Reference(group)])
}

#[test]
fn groups_with_few_texts_are_referred_to_as_a_backtracking_matcher_does() {
    let texts: Vec<Vec<char>> = (0..8)
        .flat_map(|length| (0..1_u32 << length).map(move |bits| (length, bits)))
        .map(|(length, bits)| {
            (0..length)
                .map(|at| if bits >> at & 1 == 0 { 'a' } else { 'b' })
                .collect()
        })
        .collect();
    let compared = Cell::new(0);
    let config = ProptestConfig {
        cases: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(pattern in pattern(), python: bool)| {
        let mut pattern = pattern;
        let groups = pattern.number();
        let source = pattern.write();
        let options = RegexOptions {
            dialect: if python { Dialect::Python } else { Dialect::Ecma262 },
            search: false,
            ..RegexOptions::json_schema()
        };
        let set = match parse(&source, options) {
            Ok(set) => set,
            Err(error) => {
                let refused = matches!(error.kind, RegexErrorKind::Unsupported(_) | RegexErrorKind::Limit { .. });
                prop_assert!(refused || python, "{}: {}", source, error);
                return Ok(());
            }
        };
        let mut machine = machine(&set);
        let mut found_some = false;
        for text in &texts {
            let matching = Matching { text, python };
            let captures = vec![None; groups + 1];
            let expected = pattern.matches(&matching, 0, &captures, &mut |end, _| end == text.len());
            found_some |= expected;
            let text: String = text.iter().collect();
            let found = machine.contains(text.as_bytes()).expect("within the limits");
            prop_assert_eq!(found, expected, "{} ({:?}) on {:?}", source, options.dialect, text);
        }
        compared.set(compared.get() + u32::from(found_some && source.contains('\\')));
    });
    assert!(compared.get() > 1_500, "{compared:?}");
}

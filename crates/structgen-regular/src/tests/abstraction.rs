//! Abstractions compared with the states that they stand for.

use super::*;
use structgen_grammar::ecma_space;

use crate::{Lookahead, SHORT_TEXT};

/// Texts with at most this number of characters and any number of gaps.
fn characters(characters: u32) -> Lookahead {
    Lookahead {
        characters,
        gaps: u32::MAX,
    }
}

fn class(ranges: &[(char, char)]) -> Regular {
    Regular::Chars(CharSet::new(ranges.iter().copied()))
}

fn many(body: Regular) -> Regular {
    Regular::repeat(body, 0, None)
}

fn between(body: Regular, min: u32, max: u32) -> Regular {
    Regular::repeat(body, min, Some(max))
}

fn both(one: Regular, other: Regular) -> Regular {
    Regular::Intersection([one, other].into())
}

/// A label of letters and hyphens, as in host names.
fn label() -> Regular {
    let end = || class(&[('a', 'z'), ('0', '9')]);
    let inner = class(&[('a', 'z'), ('0', '9'), ('-', '-')]);
    let tail = Regular::concat([between(inner, 0, 61), end()]);
    Regular::concat([end(), between(tail, 0, 1)])
}

fn dotted() -> Regular {
    Regular::concat([
        label(),
        many(Regular::concat([Regular::literal("."), label()])),
    ])
}

fn host() -> Regular {
    both(
        dotted(),
        between(class(&[('a', 'z'), ('0', '9'), ('-', '.')]), 1, 253),
    )
}

fn words() -> Regular {
    let space = || Regular::repeat(class(&[(' ', ' ')]), 1, None);
    let word = || Regular::repeat(class(&[('a', 'z'), ('é', 'é')]), 1, None);
    Regular::concat([between(Regular::concat([word(), space()]), 0, 99), word()])
}

/// `(\S+\s+){min,max}\S+` in the patterns of JSON Schema.
fn few_words(min: u32, max: u32) -> Regular {
    let gaps = CharSet::new(ecma_space());
    let run = |gap: bool| {
        let class = if gap { gaps.clone() } else { gaps.complement() };
        Regular::repeat(Regular::Chars(class), 1, None)
    };
    let round = Regular::concat([run(false), run(true)]);
    Regular::concat([between(round, min, max), run(false)])
}

/// No text, which takes a search to find out.
fn nothing() -> Regular {
    let any = many(Regular::Chars(CharSet::all()));
    both(
        Regular::concat([Regular::literal("x"), any]),
        Regular::literal("y"),
    )
}

/// Sets with counters, and texts that lead into them.
fn sets() -> Vec<(Regular, &'static str)> {
    let letters = || class(&[('a', 'z')]);
    vec![
        (between(letters(), 3, 40), "abcdefghijklmnopqrstuvwxyz"),
        (
            between(letters(), 30, 40),
            "abcdefghijklmnopqrstuvwxyzabcdefghij",
        ),
        (host(), "a-1.bc-d.example.com"),
        (
            Regular::concat([host(), Regular::literal("/"), host()]),
            "a.b/c.d.e",
        ),
        (words(), "ab c  dé é"),
        (few_words(0, 9), "ab c  dé é"),
        (few_words(7, 9), "ab c  dé é"),
        // Words that are short enough.
        (
            both(
                few_words(0, 9),
                between(Regular::Chars(CharSet::all()), 0, 150),
            ),
            "ab c  dé é a b c d e f g h",
        ),
        // What is between these may be whitespace, and their rounds may begin with it.
        (
            between(
                Regular::concat([
                    class(&[('a', 'z'), (' ', ' ')]),
                    class(&[(' ', ' '), ('x', 'z')]),
                ]),
                0,
                9,
            ),
            "a b x  y",
        ),
        (
            between(Regular::concat([many(class(&[(' ', ' ')])), label()]), 0, 9),
            "ab c d",
        ),
        // At least five characters, whatever their bytes.
        (
            both(
                Regular::concat([
                    Regular::repeat(class(&[('a', 'z'), ('é', 'é')]), 1, None),
                    Regular::literal("/é."),
                    Regular::repeat(class(&[('a', 'z'), ('.', '.')]), 0, None),
                ]),
                between(Regular::Chars(CharSet::all()), 5, 200),
            ),
            "é/é.a.b.c",
        ),
        // At least three characters, one of them a letter.
        (
            both(
                Regular::concat([
                    many(Regular::Chars(CharSet::all())),
                    letters(),
                    many(Regular::Chars(CharSet::all())),
                ]),
                between(Regular::Chars(CharSet::all()), 3, 255),
            ),
            "é./a. -xé",
        ),
        // The same length, if nothing may follow the letter.
        (
            both(
                Regular::concat([
                    many(Regular::union([
                        class(&[('é', 'é')]),
                        Regular::literal("./"),
                    ])),
                    letters(),
                ]),
                between(Regular::Chars(CharSet::all()), 5, 255),
            ),
            "é./éééa",
        ),
        // As many rounds as leave room for two characters each.
        (
            between(Regular::concat([letters(), Regular::literal(" ")]), 0, 17),
            "a b x y a b ",
        ),
        (
            between(Regular::concat([letters(), Regular::literal(" ")]), 18, 19),
            "a b x y a b ",
        ),
        // The rest of one decides whether the rest of the other is live.
        (
            both(
                Regular::union([between(letters(), 20, 20), Regular::literal("b")]),
                between(letters(), 1, 25),
            ),
            "bbbbb",
        ),
        (
            both(
                Regular::union([between(letters(), 20, 20), many(class(&[('b', 'b')]))]),
                Regular::union([between(letters(), 30, 30), many(class(&[('b', 'b')]))]),
            ),
            "bbbbb",
        ),
        // Required counts before what no text matches, and of what none matches.
        (
            Regular::union([
                Regular::concat([between(letters(), 100, 100), nothing()]),
                Regular::literal("b"),
            ]),
            "b",
        ),
        (
            Regular::union([
                between(Regular::concat([letters(), nothing()]), 100, 100),
                Regular::literal("b"),
            ]),
            "b",
        ),
        // A required count after a short one.
        (
            Regular::concat([
                between(letters(), 0, 3),
                between(class(&[('0', '9')]), 18, 18),
                between(Regular::literal("xy"), 0, 20),
            ]),
            "ab012345678901234567xyxy",
        ),
    ]
}

/// For every text of a few characters, repeated and mixed, both accept it or neither does.
#[test]
fn abstractions_accept_the_same_short_texts() {
    let letters: Vec<&[u8]> = ["a", "b", "é", " ", ".", "-", "/", "0", "x", "y"]
        .iter()
        .map(|text| text.as_bytes())
        .collect();
    let mut random = 1_u64;
    let mut next = |n: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    let lookaheads = [
        characters(SHORT_TEXT),
        characters(100),
        Lookahead {
            characters: SHORT_TEXT,
            gaps: 2,
        },
        Lookahead {
            characters: 100,
            gaps: 4,
        },
    ];
    let cases = sets().into_iter();
    for ((set, text), lookahead) in
        cases.flat_map(|case| lookaheads.map(|lookahead| (case.clone(), lookahead)))
    {
        let mut machine = machine(&set);
        for at in 0..=text.len() {
            let Some(state) = walk(&mut machine, &text.as_bytes()[..at]) else {
                continue;
            };
            let abstracted = machine
                .abstract_counters(&state, lookahead)
                .unwrap_or(state);
            for _ in 0..200 {
                let few = 1 + next(3);
                let few: Vec<&[u8]> = (0..few).map(|_| letters[next(letters.len())]).collect();
                let (mut one, mut other) = (Some(state), Some(abstracted));
                let (mut gaps, mut is_within) = (0, false);
                for _ in 0..lookahead.characters {
                    let bytes = few[next(few.len())];
                    gaps += u32::from(bytes == b" " && !is_within);
                    is_within = bytes == b" ";
                    if gaps > lookahead.gaps {
                        break;
                    }
                    for &byte in bytes {
                        let mut step = |from: Option<RegularState>| {
                            from.and_then(|from| {
                                machine.step(&from, byte).expect("within the limits")
                            })
                        };
                        (one, other) = (step(one), step(other));
                        other = other.map(|state| {
                            machine
                                .abstract_counters(&state, lookahead)
                                .unwrap_or(state)
                        });
                    }
                    assert_eq!(
                        one.is_some(),
                        other.is_some(),
                        "behind {:?} of {set:?}",
                        &text[..at]
                    );
                    let accepted =
                        [one, other].map(|state| state.map(|state| machine.is_accepting(&state)));
                    assert_eq!(
                        accepted[0],
                        accepted[1],
                        "behind {:?} of {set:?}",
                        &text[..at]
                    );
                    if one.is_none() {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn counters_far_from_their_ends_are_forgotten() {
    let short = characters(SHORT_TEXT);
    let few_gaps = Lookahead { gaps: 2, ..short };
    let letters = || class(&[('a', 'z')]);
    for (set, texts, lookahead) in [
        (host(), ["ab", "abc"], short),
        (words(), ["ab c", "a b c"], short),
        (few_words(0, 9), ["ab c", "a b c"], few_gaps),
        (few_words(7, 9), ["ab c", "a b c"], few_gaps),
        (between(letters(), 0, 40), ["a", "abc"], short),
        (between(letters(), 40, 60), ["a", "abc"], short),
    ] {
        let mut machine = machine(&set);
        let [one, other] = texts.map(|text| {
            let state = walk(&mut machine, text.as_bytes()).expect("a prefix");
            machine
                .abstract_counters(&state, lookahead)
                .expect("far from the end")
        });
        assert_eq!(one, other, "{set:?}");
        assert!(!machine.steps.arena.has_long_counters(one.0), "{set:?}");
    }
}

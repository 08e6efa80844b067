//! Boolean operations compared with set semantics, by brute force.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Returns the ends of matches of `regular` that start at `from`, directly by definition.
fn ends(regular: &Regular, text: &[u8], from: usize) -> BTreeSet<usize> {
    match regular {
        Regular::Never => BTreeSet::new(),
        Regular::Empty => BTreeSet::from([from]),
        Regular::Bytes(bytes) => text[from..]
            .starts_with(bytes)
            .then_some(from + bytes.len())
            .into_iter()
            .collect(),
        Regular::ByteRange(low, high) => text
            .get(from)
            .is_some_and(|byte| (low..=high).contains(&byte))
            .then_some(from + 1)
            .into_iter()
            .collect(),
        Regular::Chars(set) => (from + 1..=text.len().min(from + 4))
            .filter(|&to| {
                std::str::from_utf8(&text[from..to]).is_ok_and(|text| {
                    let mut chars = text.chars();
                    chars.next().is_some_and(|c| set.contains(c)) && chars.next().is_none()
                })
            })
            .collect(),
        Regular::Concat(parts) => parts.iter().fold(BTreeSet::from([from]), |at, part| {
            at.iter().flat_map(|&at| ends(part, text, at)).collect()
        }),
        Regular::Union(arms) => arms.iter().flat_map(|arm| ends(arm, text, from)).collect(),
        Regular::Intersection(arms) => (from..=text.len())
            .filter(|&to| {
                // An intersection without arms is every text.
                let text_like = std::str::from_utf8(&text[from..to]).is_ok();
                arms.iter().all(|arm| ends(arm, text, from).contains(&to))
                    && (!arms.is_empty() || text_like)
            })
            .collect(),
        Regular::Complement(body) => {
            let inside = ends(body, text, from);
            (from..=text.len())
                .filter(|to| std::str::from_utf8(&text[from..*to]).is_ok() && !inside.contains(to))
                .collect()
        }
        Regular::Repeat { body, min, max } => {
            let rounds = max.unwrap_or(u32::MAX).min(min + text.len() as u32 + 1);
            let mut at = BTreeSet::from([from]);
            let mut found = BTreeSet::new();
            for round in 0..=rounds {
                if round >= *min {
                    found.extend(&at);
                }
                at = at.iter().flat_map(|&at| ends(body, text, at)).collect();
            }
            found
        }
        // The sets of these tests do not look around.
        Regular::Look { .. } => BTreeSet::new(),
    }
}

fn set() -> impl Strategy<Value = Regular> {
    let leaf = prop_oneof![
        Just(Regular::Empty),
        Just(Regular::Never),
        Just(Regular::literal("a")),
        Just(Regular::literal("b")),
        Just(Regular::literal("ab")),
        Just(Regular::literal("é")),
        Just(Regular::ByteRange(b'a', b'b')),
        Just(chars('a', 'é')),
        Just(Regular::any_text()),
        Just(Regular::repeat(Regular::literal("a"), 0, None)),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let parts = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            2 => parts.clone().prop_map(Regular::concat),
            2 => parts.clone().prop_map(Regular::union),
            2 => parts.prop_map(|arms| Regular::Intersection(arms.into())),
            2 => inner.clone().prop_map(|body| Regular::Complement(body.into())),
            2 => (inner, 0_u32..3, prop::option::of(0_u32..3))
                .prop_map(|(body, min, more)| Regular::repeat(body, min, more.map(|more| min + more))),
        ]
    })
}

/// Every text of up to four letters from a, b and é.
fn texts() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..4 {
        let to = all.len();
        for index in from..to {
            for letter in ["a", "b", "é"] {
                all.push(format!("{}{letter}", all[index]));
            }
        }
        from = to;
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sets_are_what_their_definitions_say(set in set()) {
        let mut machine = machine(&set);
        let texts = texts();
        let accepted: Vec<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|text| ends(&set, text.as_bytes(), 0).contains(&text.len()))
            .collect();
        for text in &texts {
            let state = walk(&mut machine, text.as_bytes());
            let ours = state.is_some_and(|state| machine.is_accepting(&state));
            prop_assert_eq!(ours, accepted.contains(&text.as_str()), "{:?} in {:?}", text, set);
            let continued = accepted.iter().any(|longer| longer.starts_with(text.as_str()));
            prop_assert!(state.is_some() || !continued, "{:?} is not dead in {:?}", text, set);
            if text.len() > 2 {
                continue;
            }
            if let Some(state) = state {
                let mut whole = text.clone().into_bytes();
                whole.extend(completion(&mut machine, state));
                prop_assert!(ends(&set, &whole, 0).contains(&whole.len()), "{:?} in {:?}", whole, set);
            }
        }
    }
}

#[test]
fn contradictions_are_empty() {
    let digits = Regular::repeat(chars('0', '9'), 0, None);
    let even = Regular::repeat(Regular::concat([chars('0', '9'), chars('0', '9')]), 0, None);
    let odd = Regular::concat([chars('0', '9'), even.clone()]);
    let both = Regular::Intersection([even.clone(), odd.clone()].into());
    let neither = Regular::Intersection(
        [
            digits.clone(),
            Regular::Complement(Regular::union([even.clone(), odd]).into()),
        ]
        .into(),
    );
    for empty in [
        both,
        neither,
        Regular::Never,
        Regular::Chars(CharSet::default()),
    ] {
        assert_eq!(
            is_empty(&empty, RegularLimits::default()),
            Ok(true),
            "{empty:?}"
        );
    }
    let rest = Regular::Intersection([digits, Regular::Complement(even.into())].into());
    assert_eq!(is_empty(&rest, RegularLimits::default()), Ok(false));
}

#[test]
fn a_complement_holds_utf8_texts_only() {
    let not_a = Regular::Complement(Regular::literal("a").into());
    let mut machine = machine(&not_a);
    for (text, expected) in [
        (&b"a"[..], false),
        (b"", true),
        (b"aa", true),
        (b"\xC3", false),
        (b"\xC3\xA9", true),
        (b"\xFF", false),
    ] {
        assert_eq!(accepts(&mut machine, text), expected, "{text:?}");
    }
}

#[test]
fn completions_that_are_guessed_are_the_shortest() {
    let letters = || Regular::repeat(Regular::Chars(CharSet::new([('a', 'z')])), 0, None);
    let bracketed = Regular::concat([Regular::literal("("), letters(), Regular::literal(")")]);
    let any = Regular::any_text;
    let ends_in_x = Regular::concat([any(), Regular::literal("x)"), any()]);
    let rest = Regular::repeat(bracketed, 2, Some(2));
    let set = Regular::Intersection([rest, Regular::Complement(ends_in_x.into())].into());
    let mut machine = machine(&set);
    for (text, cost) in [
        ("", 4),
        ("(", 3),
        ("(a", 3),
        ("(x", 4),
        ("(xa", 3),
        ("(xa)(", 1),
        ("(xa)(x", 2),
        ("(xa)(xx", 2),
    ] {
        let state = walk(&mut machine, text.as_bytes()).expect("alive");
        assert_eq!(machine.cost(&state), cost, "{text}");
    }
    assert!(walk(&mut machine, b"(x)").is_none());
}

//! The cost of large and hostile expressions.

use super::*;

#[test]
fn counters_are_never_unrolled() {
    let a = || Regular::literal("a");
    let nested = (0..3).fold(a(), |body, _| Regular::repeat(body, 65_536, Some(65_536)));
    let mut nested = machine(&nested);
    let state = walk(&mut nested, &[b'a'; 1_000]).expect("alive");
    assert_eq!(nested.cost(&state), u32::MAX);
    assert!(walk(&mut nested, b"aab").is_none());

    let mut range = machine(&Regular::repeat(a(), 3, Some(65_536)));
    for (count, accepted) in [(2, false), (3, true), (65_536, true), (65_537, false)] {
        assert_eq!(accepts(&mut range, &vec![b'a'; count]), accepted, "{count}");
    }
}

#[test]
fn counters_of_bodies_that_may_be_empty_count_right() {
    // ((a|b?){3,4}){2}: up to eight letters.
    let letter = Regular::union([
        Regular::literal("a"),
        Regular::repeat(Regular::literal("b"), 0, Some(1)),
    ]);
    let body = Regular::repeat(letter, 3, Some(4));
    let mut machine = machine(&Regular::repeat(body, 2, Some(2)));
    for (text, accepted) in [
        ("", true),
        ("ab", true),
        ("abababab", true),
        ("ababababa", false),
    ] {
        assert_eq!(accepts(&mut machine, text.as_bytes()), accepted, "{text}");
    }
}

#[test]
fn ten_thousand_literals_are_one_automaton() {
    let words: Vec<String> = (0..10_000).map(|n| format!("word-{}", n * 7_919)).collect();
    let set = Regular::union(words.iter().map(|word| Regular::literal(word)));
    let mut machine = machine(&set);
    for word in &words {
        assert!(accepts(&mut machine, word.as_bytes()), "{word}");
    }
    assert!(walk(&mut machine, b"word-7920x").is_none());
    assert!(!accepts(&mut machine, b"word-"));
}

fn nested(levels: u32) -> Regular {
    (0..levels).fold(Regular::literal("a"), |deep, level| match level % 3 {
        0 => Regular::Concat([deep, Regular::literal("b")].into()),
        1 => Regular::Union([deep, Regular::literal("c")].into()),
        _ => Regular::repeat(deep, 1, Some(2)),
    })
}

#[test]
fn deep_nesting_costs_no_stack() {
    let mut some = machine(&nested(600));
    assert!(walk(&mut some, b"abb").is_some());
    assert!(walk(&mut some, b"c").is_some());

    // Dropping such a deep tree is the responsibility of the code that builds it.
    let deep = std::mem::ManuallyDrop::new(nested(100_000));
    let mut deep = machine(&deep);
    let start = deep.start().expect("live").expect("not empty");
    // A step would open one more counter for every level and every level below: that is a limit, not a crash.
    assert!(deep.step(&start, b'a').is_err());
}

#[test]
fn shared_subtrees_are_lowered_once() {
    let mut doubled = Regular::repeat(Regular::literal("a"), 0, Some(1));
    for _ in 0..30 {
        let half = [doubled.clone(), doubled];
        doubled = Regular::concat(half);
    }
    // x?x? = x{0,2} and so on: one counter.
    assert!(accepts(&mut machine(&doubled), b"aaaa"));
}

#[test]
fn an_exponential_set_ends_at_the_limit() {
    // (a|b)*a(a|b){40} needs 2⁴⁰ states.
    let letter = || chars('a', 'b');
    let set = Regular::concat([
        Regular::repeat(letter(), 0, None),
        Regular::literal("a"),
        Regular::repeat(letter(), 40, Some(40)),
    ]);
    let limits = RegularLimits {
        expressions: 20_000,
        ..RegularLimits::default()
    };
    let mut machine = RegularMachine::new(&set, limits).expect("small to begin with");
    let mut state = machine.start().expect("live").expect("not empty");
    let mut seed = 1_u32;
    let error = loop {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match machine.step(&state, if seed >> 31 == 0 { b'a' } else { b'b' }) {
            Ok(next) => state = next.expect("alive"),
            Err(error) => break error,
        }
    };
    assert_eq!(
        error.to_string(),
        "expressions of a regular set exceed the limit of 20000"
    );
}

/// `(?:abcde){1,2}(?:fghij){1,2}...`, with these minima and maxima.
fn counters(rounds: impl IntoIterator<Item = (u32, u32)>) -> Regular {
    let bodies = [Regular::literal("abcde"), Regular::literal("fghij")];
    let bodies = bodies.into_iter().cycle().zip(rounds);
    Regular::concat(bodies.map(|(body, (min, max))| Regular::repeat(body, min, Some(max))))
}

#[test]
fn counters_that_alternatives_have_in_common_are_not_compared() {
    const COMMON: usize = 1_000;
    let common = || std::iter::repeat_n((1, 2), COMMON);
    let alternatives = [[(1, 2), (1, 2)], [(1, 3), (2, 3)]];
    let alternatives = alternatives.map(|last| counters(common().chain(last)));
    let mut machine = machine(&Regular::union(alternatives));
    let state = walk(&mut machine, b"abcdefghija").expect("alive");
    let before = machine.work();
    machine
        .step(&state, b'b')
        .expect("within the limits")
        .expect("alive");
    let work = machine.work() - before;
    assert!(work < 20 * COMMON as u64, "{work}");
}

#[test]
fn comparing_counters_is_work() {
    const COUNTERS: usize = 12_000;
    // The first two begin alike, and the third differs from them in every counter.
    let half = |rounds| std::iter::repeat_n(rounds, COUNTERS / 2);
    let set = Regular::union([
        counters(half((1, 2)).chain(half((1, 2)))),
        counters(half((1, 2)).chain(half((1, 3)))),
        counters(half((2, 4)).chain(half((2, 4)))),
    ]);
    let mut machine = machine(&set);
    let start = machine.start().expect("live").expect("not empty");
    assert_eq!(
        machine.step(&start, b'a').unwrap_err().to_string(),
        "expressions looked at in one step of a regular set exceed the limit of 20000000"
    );
}

#[test]
fn many_classes_of_characters_are_no_burden() {
    let from_to = |low: u32| chars(char::from_u32(low).unwrap(), char::MAX);
    let classes = Regular::union((0x1_0000..0x1_4000).map(from_to));
    let mut machine = machine(&classes);
    assert!(accepts(&mut machine, "\u{10000}".as_bytes()));
    assert!(!accepts(&mut machine, "\u{FFFF}".as_bytes()));
}

#[test]
fn a_search_ends_at_the_limit() {
    // No string is in both, but only 30,000 steps show it.
    let a = || Regular::literal("a");
    let set = Regular::Intersection(
        [
            Regular::repeat(Regular::repeat(a(), 173, Some(173)), 1, None),
            Regular::repeat(Regular::repeat(a(), 179, Some(179)), 1, Some(172)),
        ]
        .into(),
    );
    let tight = RegularLimits {
        search: 1_000,
        ..RegularLimits::default()
    };
    assert_eq!(
        is_empty(&set, tight).unwrap_err().to_string(),
        "states searched for a completion of a regular set exceed the limit of 1000"
    );
    assert_eq!(is_empty(&set, RegularLimits::default()), Ok(true));
}

#[test]
fn bytes_that_every_completion_has_do_not_count_as_searched() {
    let set = parse(r"^\ba{65536}\b$", RegexOptions::json_schema()).expect("a pattern");
    let mut machine = RegularMachine::new(&set, RegularLimits::default()).expect("within limits");
    let start = machine.start().expect("within limits").expect("not empty");
    assert_eq!(machine.cost(&start), 65_536);
    assert_eq!(machine.contains(&[b'a'; 65_536]), Ok(true));
    assert!(machine.contains(&[b'a'; 65_535]) == Ok(false));
}

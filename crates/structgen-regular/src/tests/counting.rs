//! Counting and listing compared with brute force and arithmetic.

use super::*;

fn pattern(pattern: &str) -> Regular {
    parse(pattern, RegexOptions::json_schema()).expect(pattern)
}

fn counted(set: &Regular, up_to: u32) -> u32 {
    count(set, RegularLimits::default(), up_to).expect("within the limits")
}

#[test]
fn finite_sets_are_counted_exactly() {
    for (text, expected) in [
        ("^$", 1),
        ("[]", 0),
        ("^a$", 1),
        ("^[ab]{3}$", 8),
        ("^[ab]{0,3}$", 15),
        ("^(a|ab|abb?)(b|)$", 4),
        ("^[é-ë€]{2}$", 16),
        ("^(?:a|b{2,4}|[0-9])$", 14),
        ("^\\d{3}$", 1_000),
        ("^a{3000}$", 1),
    ] {
        assert_eq!(counted(&pattern(text), 5_000), expected, "{text}");
        for up_to in [0, 1, 2, 7, 8] {
            assert_eq!(
                counted(&pattern(text), up_to),
                expected.min(up_to),
                "{text}"
            );
        }
    }
}

#[test]
fn large_and_infinite_sets_answer_at_once() {
    for text in [
        "a",
        "^a*$",
        "^(?:a{1000})*$",
        "^.{0,65536}$",
        "^[ab]{65536}$",
        "^(a{997}|b{991})*$",
    ] {
        assert_eq!(counted(&pattern(text), 1_000_000), 1_000_000, "{text}");
    }
    let even = Regular::Intersection([pattern("^(aa)*$"), pattern("^(aaa)*$")].into());
    assert_eq!(counted(&even, u32::MAX), u32::MAX);
}

#[test]
fn an_answer_is_remembered_as_far_as_it_goes() {
    let mut machine = machine(&pattern("^[a-d]{1,2}$"));
    let start = machine.start().expect("live").expect("not empty");
    for (up_to, expected) in [(3, 3), (2, 2), (30, 20), (20, 20), (19, 19), (40, 20)] {
        assert_eq!(machine.count(&start, up_to), Ok(expected), "{up_to}");
    }
    let behind = walk(&mut machine, b"a").expect("alive");
    assert_eq!(machine.count(&behind, 9), Ok(5));
}

#[test]
fn strings_are_all_there_and_sorted() {
    let listed = |set: &Regular, at_most| {
        strings(set, RegularLimits::default(), at_most).expect("within the limits")
    };
    let few = Regular::Intersection(
        [
            pattern("^(?:é|b|[a-c]{2})$"),
            Regular::Complement(pattern("^[ab]{2}$").into()),
        ]
        .into(),
    );
    let expected = ["ac", "b", "bc", "ca", "cb", "cc", "é"].map(str::to_owned);
    assert_eq!(listed(&few, 7), Some(expected.to_vec()));
    assert_eq!(listed(&few, 6), None);
    assert_eq!(listed(&pattern("a"), 1_000), None);
    assert_eq!(listed(&Regular::Never, 0), Some(Vec::new()));
    assert_eq!(
        listed(&Regular::ByteRange(0x7F, 0x80), 2),
        Some(vec!["\u{7F}".to_owned()])
    );
}

#[test]
fn counting_ends_at_the_limit() {
    let limits = RegularLimits {
        search: 100,
        ..RegularLimits::default()
    };
    let error = count(&pattern("^a{1000}$"), limits, 2).expect_err("a long way");
    assert_eq!(
        error.to_string(),
        "states visited to count the strings of a regular set exceed the limit of 100"
    );
}

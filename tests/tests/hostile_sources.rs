//! Patterns and grammars that were made to hurt: each has the answer that is written beside it, which for what is too
//! large is the error of a limit, and none overflows the stack. Limits count work and memory; the times are printed,
//! not asserted.

use std::fmt::Write as _;
use std::time::Instant;

use structgen::frontend::regex::{Dialect, RegexOptions};
use structgen::{Checker, Constraint, Error};
use structgen_tests::report;

/// What is expected of a source.
enum Expected<'t> {
    /// It is taken, and so is the first text, but not the second.
    Taken(&'t str, &'t str),
    /// It is taken, and judging the text meets a limit.
    Limited(&'t str),
    /// It is refused with words like these.
    Refused(&'t str),
}
use Expected::{Limited, Refused, Taken};

/// What the error of every limit says.
const LIMIT: &str = " exceed the limit of ";

#[track_caller]
fn check(
    name: &str,
    constraint: impl FnOnce() -> Result<Constraint, Error>,
    expected: &Expected<'_>,
) {
    let started = Instant::now();
    let checker = constraint().and_then(|it| Checker::new(&it));
    let refusal = checker.as_ref().err().map(ToString::to_string);
    let judge = |text: &str| -> Result<bool, String> {
        let checker = checker.as_ref().map_err(ToString::to_string)?;
        let mismatch = checker.check(text.as_bytes());
        mismatch
            .map(|mismatch| mismatch.is_none())
            .map_err(|error| error.to_string())
    };
    match *expected {
        Taken(fits, other) => {
            assert_eq!([judge(fits), judge(other)], [Ok(true), Ok(false)], "{name}");
        }
        Limited(text) => {
            assert_eq!(refusal, None, "{name}");
            let error = judge(text).expect_err(name);
            assert!(error.contains(LIMIT), "{name}: {error}");
        }
        Refused(words) => {
            let error = refusal.expect(name);
            assert!(error.contains(words), "{name}: {error}");
        }
    }
    report(&format!("{name}: {:?}", started.elapsed()));
}

const MANY: usize = 100_000;
/// A megabyte.
const LARGE: usize = 1 << 20;

#[test]
fn grammars() {
    let nested = |open: &str, close: &str, n: usize| {
        format!("root ::= {}\"a\"{}", open.repeat(n), close.repeat(n))
    };
    let rules = |count: usize, body: &dyn Fn(usize) -> String| {
        let mut text = "root ::= r0\n".to_owned();
        for n in 0..count {
            let _ = writeln!(text, "r{n} ::= {}", body(n));
        }
        text
    };
    let many = MANY;
    let cases = [
        ("100,000 groups", nested("(", ")", many), Taken("a", "b")),
        (
            "100,000 repeated groups",
            nested("(", ")*", many),
            Taken("aa", "b"),
        ),
        (
            "100,000 groups and texts",
            nested("(\"a\" | \"b\" ", " \"c\")", many),
            Taken("a", "b"),
        ),
        (
            "30,000 opened",
            nested("(", "", 30_000),
            Refused("is not closed"),
        ),
        (
            "30,000 closed",
            nested("", ")", 30_000),
            Refused("no parenthesis is open here"),
        ),
        (
            "100,000 quantifiers",
            nested("", "*+?", many),
            Taken("aa", "b"),
        ),
        (
            "a loop of nothing",
            "root ::= (\"a\"*)*".into(),
            Taken("aaa", "b"),
        ),
        (
            "loops of nothing",
            "root ::= ((\"a\"? | (\"b\"*)+)*)+ (\"\"*){3,} x*\nx ::= x | \"\"".into(),
            Taken("aba", "c"),
        ),
        (
            "100,000 counted three deep",
            "root ::= ((\"a\"{65536}){65536}){65536} | \"b\"".into(),
            Taken("b", "a"),
        ),
        (
            "counters of counters",
            "root ::= ((\"a\"{0,65536} \"b\"?){0,65536} c){0,65536}\nc ::= \"c\" | root \"d\""
                .into(),
            Taken("aabcc", "e"),
        ),
        (
            "a chain of left recursion",
            rules(2_000, &|n| format!("r{} \"x\" | \"a\"", (n + 1) % 2_000)),
            Taken("axx", "xa"),
        ),
        (
            "a chain of hidden left recursion",
            rules(500, &|n| format!("e r{} \"x\" | \"a\"", (n + 1) % 500)) + "e ::= \"e\"?",
            Limited("eaxx"),
        ),
        (
            "a long chain",
            rules(20_000, &|n| format!("r{}", n + 1)) + "r20000 ::= \"a\"",
            Taken("a", "b"),
        ),
        (
            "a chain without an end",
            rules(20_000, &|n| format!("r{}", (n + 1) % 20_000)),
            Refused("derive nothing"),
        ),
        (
            "ambiguity",
            "root ::= root root root | root root | \"a\" | \"\"".into(),
            Taken("aaaaaaaaaaaa", "b"),
        ),
        (
            "counted ambiguous recursion",
            "root ::= root{0,255}{255,510}{255,510} | \"a\" | \"\"".into(),
            Taken("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aab"),
        ),
        (
            "counted values that run into each other",
            "root ::= %json {}{255,510}{255,510} | n{5,9}{20,40}\nn ::= [1-3] | [1-3] n".into(),
            Taken(
                concat!(
                    "11111111111111111111111111111111111111111111111111",
                    "11111111111111111111111111111111111111111111111111"
                ),
                "11111",
            ),
        ),
        (
            "a megabyte of text",
            format!("root ::= \"{}\" | \"b\"", "a".repeat(LARGE)),
            Refused("expressions of a regular set exceed the limit of"),
        ),
        (
            "a megabyte of a class",
            format!("root ::= [{}]", "ab-y".repeat(LARGE / 4)),
            Taken("a", "A"),
        ),
        (
            "a megabyte of alternatives",
            format!("root ::= \"b\"{}", " | \"a\"".repeat(LARGE / 6)),
            Taken("b", "c"),
        ),
        (
            "a megabyte of bars",
            format!("root ::= \"b\" {}", "|".repeat(LARGE)),
            Taken("", "c"),
        ),
        (
            "a megabyte of optional parts",
            format!("root ::= {} \"b\"", "\"a\"? ".repeat(LARGE / 5)),
            Refused("alternatives side by side exceed the limit of"),
        ),
        (
            "a megabyte of rules",
            rules(60_000, &|n| format!("\"a\" | r{}", n / 2)),
            Taken("a", "b"),
        ),
        (
            "a megabyte of unknown rules",
            format!("root ::= {}", "abcdef ".repeat(LARGE / 7)),
            Refused("there is no rule `abcdef`"),
        ),
        (
            "a megabyte of comments",
            "# c\n".repeat(LARGE / 4) + "root ::= \"a\"",
            Taken("a", "b"),
        ),
        (
            "a megabyte of lines",
            "\r\n".repeat(LARGE / 2) + "rot ::= \"a\"",
            Refused("no rule `root`"),
        ),
        (
            "a megabyte of noise",
            "\"\\".repeat(LARGE / 2),
            Refused("line 1"),
        ),
        (
            "a megabyte of names",
            "a".repeat(LARGE),
            Refused("expected `::=`"),
        ),
        (
            "a long token",
            format!("root ::= <{}>", "a".repeat(LARGE)),
            Refused("names the token"),
        ),
    ];
    for (name, text, expected) in &cases {
        check(name, || Constraint::gbnf(text), expected);
    }
}

#[test]
fn patterns() {
    let nested = |open: &str, close: &str| open.repeat(MANY) + "a" + &close.repeat(MANY);
    let long = "a".repeat(65_536);
    let cases = [
        (
            "100,000 groups",
            nested("(", ")"),
            Refused("nested groups exceed the limit"),
        ),
        (
            "100,000 repeated groups",
            nested("(?:", ")*"),
            Refused("nested groups exceed the limit"),
        ),
        ("30,000 opened", "(".repeat(30_000), Refused("group")),
        ("a loop of nothing", "(a*)*".into(), Taken("aa", "b")),
        (
            "loops of nothing",
            "((a?|(b*)+)*)+(?:){3,}".into(),
            Taken("abab", "c"),
        ),
        (
            "counted three deep",
            "((a{65536}){65536}){65536}|b".into(),
            Taken("b", "a"),
        ),
        (
            "counters of counters",
            "((a{0,65536}b?){0,65536}c){0,65536}".into(),
            Taken("aabcc", "d"),
        ),
        (
            "a counter of choices",
            "(?:a|ab|b){65536}|c".into(),
            Taken("c", "a"),
        ),
        (
            "a long way between boundaries",
            r"\ba{65536}\b".into(),
            Taken(&long, "a"),
        ),
        (
            "boundaries counted in rounds",
            r"(\ba{300}\b ){300}".into(),
            Refused("states searched"),
        ),
        (
            "looks without end",
            "(?=a)".repeat(LARGE / 5),
            Refused("exceed the limit of"),
        ),
        (
            "boundaries without end",
            r"\b".repeat(LARGE / 2),
            Refused("anchors exceed the limit of 100"),
        ),
        (
            "a megabyte of text",
            "a".repeat(LARGE) + "|b",
            Refused("expressions of a regular set exceed the limit of"),
        ),
        (
            "a megabyte of alternatives",
            "b".to_owned() + &"|a".repeat(LARGE / 2),
            Taken("b", "c"),
        ),
        (
            "a megabyte of a class",
            format!("[{}]", "ab-y".repeat(LARGE / 4)),
            Taken("a", "A"),
        ),
        (
            "a megabyte of optional parts",
            "a?".repeat(LARGE / 2) + "b",
            Refused("expressions of a regular set exceed the limit of"),
        ),
        (
            "a megabyte of classes",
            "[a-z]".repeat(LARGE / 5) + "|b",
            Taken("b", "c"),
        ),
        (
            "a megabyte of backslashes",
            r"\\".repeat(LARGE / 2) + "|b",
            Refused("expressions of a regular set exceed the limit of"),
        ),
        (
            "a megabyte of open escapes",
            r"\u{".repeat(LARGE / 3),
            Refused("at byte"),
        ),
        (
            "rounds within rounds, and a reference to the innermost",
            "(?:".repeat(100) + "(a|b)" + &",?)*".repeat(100) + r"\1",
            Refused("refer"),
        ),
        (
            "a long text beside many texts",
            "(".to_owned() + &"(?:".repeat(17) + "a{2}" + &"){2}".repeat(17) + r")([a-z]{2})\1\2",
            Refused("refer"),
        ),
        (
            "a group of many arms with the same letters",
            "(".to_owned() + &"[!-\u{2710}]|yy|".repeat(9_000) + r"a)\1",
            Refused("refer"),
        ),
        (
            "many arms beside a reference",
            r"(\w{2})(?:".to_owned() + &"a|".repeat(20_000) + r"\1)",
            Refused("refer"),
        ),
        (
            "a megabyte of back-references",
            "(a)".to_owned() + &r"\1".repeat(LARGE / 2),
            Refused("back-reference"),
        ),
    ];
    for dialect in [Dialect::Rust, Dialect::Ecma262, Dialect::Python] {
        let options = RegexOptions::rust().with_dialect(dialect);
        for (name, pattern, expected) in &cases {
            let name = format!("{name}, {dialect:?}");
            check(&name, || Constraint::regex_with(pattern, options), expected);
        }
    }
    let looks = "a".repeat(LARGE) + &"(?=a)".repeat(50);
    let braces = "{1".repeat(LARGE / 2);
    let nothing = || Refused("no text matches");
    let literal = || Taken(&braces, "{1");
    for (dialect, of_looks, of_braces) in [
        (
            Dialect::Rust,
            Refused("bytes of a pattern that looks around exceed the limit of"),
            Refused("repetition operator missing expression"),
        ),
        (Dialect::Ecma262, nothing(), literal()),
        (Dialect::Python, nothing(), literal()),
    ] {
        let options = RegexOptions::rust().with_dialect(dialect);
        for (name, pattern, expected) in [
            ("looks behind a megabyte", &looks, of_looks),
            ("a megabyte of braces", &braces, of_braces),
        ] {
            let name = format!("{name}, {dialect:?}");
            check(
                &name,
                || Constraint::regex_with(pattern, options),
                &expected,
            );
        }
    }
    let operators = RegexOptions::rust().with_operators(true);
    for (name, pattern, expected) in [
        ("complements", "~".repeat(MANY) + "a", Taken("a", "b")),
        (
            "complements of groups",
            "~(".repeat(MANY) + "a" + &")".repeat(MANY),
            Refused("nested groups"),
        ),
        ("intersections", "a*&".repeat(MANY) + "a", Taken("a", "b")),
        (
            "a complement of counters",
            "~((a{65536}){65536})&a*".into(),
            Taken("aa", "b"),
        ),
    ] {
        check(
            name,
            || Constraint::regex_with(&pattern, operators),
            &expected,
        );
    }
}

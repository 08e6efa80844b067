use expect_test::expect;
use structgen_grammar::CharSet;

use super::*;

fn search(pattern: &str) -> Result<Regular, String> {
    parse(pattern, RegexOptions::json_schema()).map_err(|error| error.to_string())
}

#[test]
fn anchored_patterns_lose_their_anchors() {
    for (pattern, text) in [("^abc$", "abc"), ("^(?:a)(b)c$", "abc"), ("^(^a$)$", "a")] {
        assert_eq!(search(pattern), Ok(Regular::literal(text)), "{pattern}");
    }
}

#[test]
fn both_dialects_give_the_same_tree() {
    for pattern in ["^a(b|[c-e])*x{2,70000}$", "ab|c+", "^é|[^a]?$", "(^a|b){3}"] {
        let rust = parse(pattern, RegexOptions::rust().with_search(true));
        assert_eq!(
            rust,
            parse(pattern, RegexOptions::json_schema()),
            "{pattern}"
        );
    }
}

#[test]
fn a_search_without_anchors_may_start_and_end_anywhere() {
    let any = Regular::any_text;
    let expected = Regular::concat([any(), Regular::literal("a"), any()]);
    assert_eq!(search("a"), Ok(expected));
    let open_ended = Regular::concat([Regular::Chars(CharSet::new([('0', '9')])), any()]);
    assert_eq!(search("^\\d"), Ok(open_ended));
}

#[test]
fn a_counter_is_one_node() {
    let whole = RegexOptions::json_schema().with_search(false);
    for (pattern, min, max) in [
        ("a{3,}", 3, None),
        ("a{1000000}", 1_000_000, Some(1_000_000)),
    ] {
        let expected = Regular::repeat(Regular::literal("a"), min, max);
        assert_eq!(parse(pattern, whole), Ok(expected));
    }
}

#[test]
fn what_is_refused_is_refused_by_position() {
    let mut report = String::new();
    for pattern in [
        "é(?<=(?:b(?=c))+)",
        "(?<!a(?=bc)(?:b|c$))",
        r"(?<=(\ba)(\Bb)(\Bc)(\bd)(\be)(\bf)(\bg))",
        "(?<=a)*",
        "(?=a",
        r"(a*)\1",
        r"([^a])\1",
        r"(?=(a))\1",
        r"(?<=(a)\1)",
        r"(\b|a)*\1",
        r"(?=(a)\1)a\1",
        r"(?<n>a)\k<m>",
        r"(?<n>a)\k",
        r"(?<n>a)|(?<n>b)\k<n>",
        r"(?<n>a)[\k<n>]",
        "(?i-i:a)",
        "(?-:a)",
        "(?P<n>a)",
        "(?<1>a)",
        "(?<n",
        "(a",
        "a)",
        "((a)",
        "a**",
        "*a",
        "a|+",
        "^*",
        "a{3,2}",
        "[a",
        "[z-a]",
        r"a\",
        r"\p{Nonsense}",
        r"\p{sc=Cs}",
        r"\p{CWKCF}",
        r"\pL",
        r"\x4",
        r"\u12",
        r"\u{110000}",
        r"\uD800",
        r"[\uD800]",
        r"\c1",
        r"\a",
        r"\Z",
    ] {
        let error = search(pattern).expect_err(pattern);
        report += &format!("{pattern}: {error}\n");
    }
    expect![[r#"
        é(?<=(?:b(?=c))+): a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end, is not supported (at byte 2 of the pattern)
        (?<!a(?=bc)(?:b|c$)): a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end, is not supported (at byte 0 of the pattern)
        (?<=(\ba)(\Bb)(\Bc)(\bd)(\be)(\bf)(\bg)): ways to read a look-behind exceed the limit of 64 (at byte 0 of the pattern)
        (?<=a)*: there is nothing to repeat (at byte 6 of the pattern)
        (?=a: a group is not closed (at byte 0 of the pattern)
        (a*)\1: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)
        ([^a])\1: texts of groups that are referred to exceed the limit of 10000 (at byte 6 of the pattern)
        (?=(a))\1: a back-reference to a group in a look-around is not supported (at byte 7 of the pattern)
        (?<=(a)\1): a back-reference to a group in the same look-behind is not supported (at byte 7 of the pattern)
        (\b|a)*\1: a back-reference to a group in a repetition of what may be empty is not supported (at byte 7 of the pattern)
        (?=(a)\1)a\1: a back-reference to a group in a look-around is not supported (at byte 10 of the pattern)
        (?<n>a)\k<m>: no group has this name (at byte 7 of the pattern)
        (?<n>a)\k: no group has this name (at byte 7 of the pattern)
        (?<n>a)|(?<n>b)\k<n>: a back-reference to a name that several groups have is not supported (at byte 15 of the pattern)
        (?<n>a)[\k<n>]: ECMA-262 has no escape `\k` (at byte 8 of the pattern)
        (?i-i:a): ECMA-262 has no such group: a group starts with `(`, `(?:`, `(?<name>` or modifiers such as `(?i:` (at byte 0 of the pattern)
        (?-:a): ECMA-262 has no such group: a group starts with `(`, `(?:`, `(?<name>` or modifiers such as `(?i:` (at byte 0 of the pattern)
        (?P<n>a): ECMA-262 has no such group: a group starts with `(`, `(?:`, `(?<name>` or modifiers such as `(?i:` (at byte 0 of the pattern)
        (?<1>a): this is not the name of a group (at byte 3 of the pattern)
        (?<n: this is not the name of a group (at byte 3 of the pattern)
        (a: a group is not closed (at byte 0 of the pattern)
        a): no group is open here (at byte 1 of the pattern)
        ((a): a group is not closed (at byte 0 of the pattern)
        a**: there is nothing to repeat (at byte 2 of the pattern)
        *a: there is nothing to repeat (at byte 0 of the pattern)
        a|+: there is nothing to repeat (at byte 2 of the pattern)
        ^*: there is nothing to repeat (at byte 1 of the pattern)
        a{3,2}: the quantifier's numbers are out of order (at byte 1 of the pattern)
        [a: the class is not closed (at byte 0 of the pattern)
        [z-a]: the range's ends are out of order (at byte 1 of the pattern)
        a\: a backslash ends the pattern (at byte 1 of the pattern)
        \p{Nonsense}: `Nonsense` is not a known Unicode property (at byte 0 of the pattern)
        \p{sc=Cs}: `sc=Cs` is not a known Unicode property (at byte 0 of the pattern)
        \p{CWKCF}: the property `Changes_When_NFKC_Casefolded` is not supported (at byte 0 of the pattern)
        \pL: `\p` needs a Unicode property in braces (at byte 0 of the pattern)
        \x4: `\x` needs two hexadecimal digits (at byte 0 of the pattern)
        \u12: `\u` needs four hexadecimal digits or a code point in braces (at byte 0 of the pattern)
        \u{110000}: this is not a code point (at byte 0 of the pattern)
        \uD800: a lone surrogate is not supported (at byte 0 of the pattern)
        [\uD800]: a class of lone surrogates is not supported (at byte 0 of the pattern)
        \c1: `\c` needs a letter after it (at byte 0 of the pattern)
        \a: ECMA-262 has no escape `\a` (at byte 0 of the pattern)
        \Z: ECMA-262 has no escape `\Z` (at byte 0 of the pattern)
    "#]].assert_eq(&report);
}

#[test]
fn the_rust_dialect_refuses_in_the_same_way() {
    let mut report = String::new();
    for pattern in [
        "(?<=(?:b(?=c))+)",
        r"(?<=(?:a\b)*)",
        "(?x) ( # one\n ?<=(a$)*)",
        "(a",
        "(?=a",
        r"(a)\1",
        "[z-a]",
        "a{3,2}",
        r"(?-u)\xE9",
        "(?-u:[^a])",
        r"\p{Nonsense}",
        "[a&&",
    ] {
        let error = parse(pattern, RegexOptions::rust()).expect_err(pattern);
        report += &format!("{pattern}: {error}\n");
    }
    expect![[r#"
        (?<=(?:b(?=c))+): a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end, is not supported (at byte 0 of the pattern)
        (?<=(?:a\b)*): a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end, is not supported (at byte 0 of the pattern)
        (?x) ( # one
         ?<=(a$)*): a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end, is not supported (at byte 5 of the pattern)
        (a: unclosed group (at byte 0 of the pattern)
        (?=a: unclosed group (at byte 0 of the pattern)
        (a)\1: a back-reference is not supported (at byte 3 of the pattern)
        [z-a]: invalid character class range, the start must be <= the end (at byte 1 of the pattern)
        a{3,2}: invalid repetition count range, the start must be <= the end (at byte 1 of the pattern)
        (?-u)\xE9: pattern can match invalid UTF-8 (at byte 5 of the pattern)
        (?-u:[^a]): pattern can match invalid UTF-8 (at byte 5 of the pattern)
        \p{Nonsense}: Unicode property not found (at byte 0 of the pattern)
        [a&&: unclosed character class (at byte 0 of the pattern)
    "#]].assert_eq(&report);
}

#[test]
fn nesting_and_anchors_are_limited() {
    for options in [RegexOptions::json_schema(), RegexOptions::rust()] {
        for depth in [50, 100_000] {
            let nested = "(".repeat(depth) + "a" + &")".repeat(depth);
            let starred = "(?:".repeat(depth) + "a" + &"b|c)*".repeat(depth);
            for pattern in [nested, starred] {
                let result = parse(&pattern, options);
                assert_eq!(result.is_ok(), depth == 50, "{:?}", options.dialect);
                if let Err(error) = result {
                    let limit = RegexErrorKind::Limit {
                        what: "nested groups",
                        limit: 250,
                    };
                    assert_eq!(error.kind, limit);
                }
            }
        }
        // The maximum nesting fits into a thread's stack.
        let deepest = RegexOptions {
            max_nesting: u32::MAX,
            ..options
        };
        let starred = "(?:".repeat(120) + "a" + &"b|c)*".repeat(120);
        assert!(parse(&starred, deepest).is_ok(), "{:?}", options.dialect);
        let anchors = "(?:^|a)".repeat(101);
        let error = parse(&anchors, options).expect_err("too many anchors");
        assert_eq!(
            error.kind,
            RegexErrorKind::Limit {
                what: "anchors",
                limit: 100
            }
        );
    }
}

#[test]
fn no_text_panics() {
    use proptest::prelude::*;
    proptest!(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() },
        |(pattern in r"([()\[\]{}|*+?^$\\.,:=!<>\-0-9abcdkpuxDW]|é){0,24}")| {
        for options in [RegexOptions::json_schema(), RegexOptions::rust()] {
            if let Err(error) = parse(&pattern, options) {
                prop_assert!(pattern.is_char_boundary(error.position), "{pattern}: {error}");
            }
        }
    });
}

#[test]
fn python_refuses_in_the_same_way() {
    let mut report = String::new();
    for pattern in [
        r"(a*)\1",
        r"(a)\2",
        r"(a\1)",
        r"\1(a)",
        r"(?:(a)|b)*\1",
        r"(?:(a)\1|b)*c\1",
        r"(?:(a)(?:(b)|c))+\1\2",
        "(?P<n>a)(?P=m)",
        "(?P<n>a)(?P=n",
        "(?P<n>a)(?P<n>a)",
        "(a)?(?(1)b|c)",
        "(?>a)",
        "a*+",
        "a{2}+",
        "a**",
        "^*",
        "a(?i)",
        "(?L)a",
        "(?au)a",
        "(?-i)a",
        "(?n:a)",
        "(?<n>a)",
        "(?P<1>a)",
        "(?#a",
        r"(?#a\)",
        r"(?#a\",
        r"(?x)a#\",
        r"\b*",
        "(?<=a)**",
        "[]",
        "[\\d-a]",
        "[z-a]",
        r"[\8]",
        r"\777",
        r"\p{L}",
        r"\N{BULLET}",
        r"\ud800",
        r"\U00110000",
        r"\x4",
        "(?<=(a$)*)",
        "a{3,2}",
    ] {
        let error = parse(pattern, RegexOptions::python()).expect_err(pattern);
        report += &format!("{pattern}: {error}\n");
    }
    expect![[r#"
        (a*)\1: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)
        (a)\2: there is no group with this number before it (at byte 3 of the pattern)
        (a\1): a group cannot refer to itself (at byte 2 of the pattern)
        \1(a): there is no group with this number before it (at byte 0 of the pattern)
        (?:(a)|b)*\1: a back-reference to a group that a repetition may leave as it was is not supported (at byte 10 of the pattern)
        (?:(a)\1|b)*c\1: a back-reference to a group that a repetition may leave as it was is not supported (at byte 13 of the pattern)
        (?:(a)(?:(b)|c))+\1\2: a back-reference to a group that a repetition may leave as it was is not supported (at byte 19 of the pattern)
        (?P<n>a)(?P=m): no group has this name (at byte 8 of the pattern)
        (?P<n>a)(?P=n: this is not the name of a group (at byte 12 of the pattern)
        (?P<n>a)(?P<n>a): another group has this name (at byte 8 of the pattern)
        (a)?(?(1)b|c): a group that depends on another one is not supported (at byte 4 of the pattern)
        (?>a): an atomic group is not supported (at byte 0 of the pattern)
        a*+: a possessive quantifier is not supported (at byte 1 of the pattern)
        a{2}+: a possessive quantifier is not supported (at byte 1 of the pattern)
        a**: there is nothing to repeat (at byte 2 of the pattern)
        ^*: there is nothing to repeat (at byte 1 of the pattern)
        a(?i): flags for the whole pattern stand at its start (at byte 1 of the pattern)
        (?L)a: Python has no such group: a group starts with `(`, `(?:`, `(?P<name>` or flags such as `(?i:` (at byte 0 of the pattern)
        (?au)a: `a` and `u` exclude each other (at byte 0 of the pattern)
        (?-i)a: Python has no such group: a group starts with `(`, `(?:`, `(?P<name>` or flags such as `(?i:` (at byte 0 of the pattern)
        (?n:a): Python has no such group: a group starts with `(`, `(?:`, `(?P<name>` or flags such as `(?i:` (at byte 0 of the pattern)
        (?<n>a): Python has no such group: a group starts with `(`, `(?:`, `(?P<name>` or flags such as `(?i:` (at byte 0 of the pattern)
        (?P<1>a): this is not the name of a group (at byte 4 of the pattern)
        (?#a: the comment is not closed (at byte 0 of the pattern)
        (?#a\): the comment is not closed (at byte 0 of the pattern)
        (?#a\: a backslash ends the pattern (at byte 4 of the pattern)
        (?x)a#\: a backslash ends the pattern (at byte 6 of the pattern)
        \b*: there is nothing to repeat (at byte 2 of the pattern)
        (?<=a)**: there is nothing to repeat (at byte 7 of the pattern)
        []: the class is not closed (at byte 0 of the pattern)
        [\d-a]: a class cannot end a range (at byte 1 of the pattern)
        [z-a]: the range's ends are out of order (at byte 1 of the pattern)
        [\8]: this is not an octal escape (at byte 1 of the pattern)
        \777: the octal escape is larger than \377 (at byte 0 of the pattern)
        \p{L}: Python has no escape `\p` (at byte 0 of the pattern)
        \N{BULLET}: a character by its name is not supported (at byte 0 of the pattern)
        \ud800: a lone surrogate is not supported (at byte 0 of the pattern)
        \U00110000: this is not a code point (at byte 0 of the pattern)
        \x4: this escape needs 2 hexadecimal digits (at byte 0 of the pattern)
        (?<=(a$)*): a look-behind that repeats a look-ahead, or looks ahead at more than a character before its end, is not supported (at byte 0 of the pattern)
        a{3,2}: the quantifier's numbers are out of order (at byte 1 of the pattern)
    "#]].assert_eq(&report);
}

#[test]
fn operators_are_refused_where_they_have_nothing_to_work_on() {
    let mut report = String::new();
    for pattern in [
        "~", "a~", "~|a", "~&a", "~*", "&*", "~^", "~(?=a)", "a(b&^c)", "a~(b$)", "(~(b$))",
    ] {
        for options in [
            RegexOptions::rust(),
            RegexOptions::json_schema(),
            RegexOptions::python(),
        ] {
            let options = options.with_search(false);
            assert!(
                parse(pattern, options).is_ok() || pattern == "~*",
                "{pattern}: characters without the option"
            );
            let error = parse(pattern, options.with_operators(true)).expect_err(pattern);
            report += &format!("{pattern}: {error}\n");
        }
    }
    expect![[r#"
        ~: there is nothing to take the complement of (at byte 0 of the pattern)
        ~: there is nothing to take the complement of (at byte 0 of the pattern)
        ~: there is nothing to take the complement of (at byte 0 of the pattern)
        a~: there is nothing to take the complement of (at byte 1 of the pattern)
        a~: there is nothing to take the complement of (at byte 1 of the pattern)
        a~: there is nothing to take the complement of (at byte 1 of the pattern)
        ~|a: there is nothing to take the complement of (at byte 0 of the pattern)
        ~|a: there is nothing to take the complement of (at byte 0 of the pattern)
        ~|a: there is nothing to take the complement of (at byte 0 of the pattern)
        ~&a: there is nothing to take the complement of (at byte 0 of the pattern)
        ~&a: there is nothing to take the complement of (at byte 0 of the pattern)
        ~&a: there is nothing to take the complement of (at byte 0 of the pattern)
        ~*: there is nothing to repeat (at byte 1 of the pattern)
        ~*: there is nothing to repeat (at byte 1 of the pattern)
        ~*: there is nothing to repeat (at byte 1 of the pattern)
        &*: there is nothing to repeat (at byte 1 of the pattern)
        &*: there is nothing to repeat (at byte 1 of the pattern)
        &*: there is nothing to repeat (at byte 1 of the pattern)
        ~^: there is nothing to take the complement of (at byte 0 of the pattern)
        ~^: there is nothing to take the complement of (at byte 0 of the pattern)
        ~^: there is nothing to take the complement of (at byte 0 of the pattern)
        ~(?=a): there is nothing to take the complement of (at byte 0 of the pattern)
        ~(?=a): there is nothing to take the complement of (at byte 0 of the pattern)
        ~(?=a): there is nothing to take the complement of (at byte 0 of the pattern)
        a(b&^c): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 3 of the pattern)
        a(b&^c): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 3 of the pattern)
        a(b&^c): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 3 of the pattern)
        a~(b$): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 1 of the pattern)
        a~(b$): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 1 of the pattern)
        a~(b$): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 1 of the pattern)
        (~(b$)): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 1 of the pattern)
        (~(b$)): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 1 of the pattern)
        (~(b$)): an operand of `&` or `~` that looks around and is not the whole pattern is not supported (at byte 1 of the pattern)
    "#]].assert_eq(&report);
}

#[test]
fn operands_keep_groups_that_nothing_refers_to() {
    let python = RegexOptions::python().with_operators(true);
    for pattern in [r"(a)&\141", r"(a|\\)&\\1", "~(a)b"] {
        assert!(parse(pattern, python).is_ok(), "{pattern}");
    }
    for (pattern, position) in [(r"((a|b)&[ab])\2", 12), (r"(a)(b&\1)", 6), (r"(a)~\1", 4)] {
        let error = parse(pattern, python).expect_err(pattern);
        assert_eq!(error.position, position, "{pattern}: {error}");
    }
}

//! Patterns of JSON Schema, from text to acceptance.

use proptest::prelude::*;
use regex_automata::meta;
use structgen_frontend::regex::Dialect;

use super::*;

#[test]
fn anchors_hold_wherever_they_stand() {
    check("^ab$", &["ab"], &["", "abab", "xab", "ab\n"]);
    check("ab", &["ab", "xaby", "é ab\n"], &["", "a b", "a"]);
    check("^a|b$", &["a", "ax", "xb", "b"], &["xa", "bx", ""]);
    check(
        "(^|,)x(,|$)",
        &["x", "a,x", "x,a", "a,x,b"],
        &["ax", "xa", ""],
    );
    check("^$", &[""], &["a"]);
    check("$^", &[""], &["a"]);
    check("^^a$$", &["a"], &["aa", ""]);
    check("a^b|c$d", &[], &["ab", "cd", "a", "b", ""]);
    check("a*^b", &["b", "bx"], &["ab", "xb", ""]);
    check("b$a*", &["b", "xb"], &["ba", "bx"]);
    check(
        "(?:^a|b)+c",
        &["ac", "abbc", "xbc", "bc"],
        &["xac", "c", "xc"],
    );
    check("(?:^a){2}", &[], &["a", "aa"]);
    check(
        "(?:^|a){3}b",
        &["b", "ab", "aab", "aaab", "xaaab"],
        &["xb", "xaab", ""],
    );
    check("(?:a|$){3}", &["a", "aaa", "xaaax", ""], &[]);
    check("(?:^|x)(?:$|y)", &["", "xy", "yx", "y"], &["ab", "zz"]);
}

#[test]
fn escapes_mean_what_ecma_262_says() {
    check(r"^\d$", &["7"], &["٣", "a"]);
    check(r"^\w$", &["a", "_", "Z", "0"], &["é", "-"]);
    check(
        r"^\s$",
        &[" ", "\t", "\u{A0}", "\u{FEFF}", "\u{2029}"],
        &["a", "\u{180E}"],
    );
    check(r"^[\W\d]$", &["é", "-", "5"], &["a", "_"]);
    check(
        r"^.$",
        &["a", "€", "\u{85}"],
        &["\n", "\r", "\u{2028}", "\u{2029}", ""],
    );
    check(r"^[^]$", &["\n", "a", "💩"], &[""]);
    check(r"[]", &[], &["", "a"]);
    check(r"^\/\-\_\.\]\}\{$", &["/-_.]}{"], &["/"]);
    check(
        r"^\cJ\x41\u0042\u{43}\u{1F4A9}\uD83D\uDCA9\0$",
        &["\nABC💩💩\0"],
        &["J"],
    );
    check(
        r"^[\b\x41-\u0043\-]$",
        &["\u{8}", "A", "B", "C", "-"],
        &["b", "D"],
    );
    check(r"^\p{L}\P{L}\p{Script=Greek}$", &["é1α"], &["11α", "é1a"]);
    check(r"^[\p{Lu}\d]+$", &["ÉA9"], &["é", ""]);
    check(r"^[^\p{Lu}]+$", &["é9"], &["É", ""]);
    check(r"^[a\-z\]\\]+$", &["a-z]\\"], &["b"]);
    check(r"^[\w-.]+$", &["a-._"], &["+"]);
    check(r"^[a-]$", &["a", "-"], &["b"]);
    check(r"^[-a]$", &["a", "-"], &["b"]);
    check(r"^\101\8[\101]$", &["A8A"], &["101"]);
}

#[test]
fn lone_brackets_and_braces_are_themselves() {
    check("^a{$", &["a{"], &["a"]);
    check("^{}$", &["{}"], &[""]);
    check("^a{,2}$", &["a{,2}"], &["a", "aa"]);
    check("^]$", &["]"], &[]);
    check("^x{1}y{0,}z{2,3}?$", &["xzz", "xyyzzz"], &["xz", "zz"]);
    check("^(?<name>a)(?:b)(c|)$", &["ab", "abc"], &["a"]);
    check("^a??b*?c+?$", &["c", "abbcc"], &["ab"]);
    check("^(|a)$", &["", "a"], &["aa"]);
    check("^a{4294967296}$", &[], &["a", ""]);
}

#[test]
fn code_points_of_a_pair_are_one_character() {
    check(
        "^[\\uD83D\\uDCA9-\\u{1F4AB}]$",
        &["💩", "💫"],
        &["💨", "💬"],
    );
    check("^[^\\uD800-\\uDFFF]$", &["a", "💩"], &["ab"]);
    check("^💩{2}$", &["💩💩"], &["💩"]);
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => "[abé]",
        1 => Just("^".to_owned()),
        1 => Just("$".to_owned()),
        1 => Just("[ab]".to_owned()),
        1 => Just("(?:)".to_owned()),
    ];
    patterns(
        leaf,
        4,
        16,
        "\\*|\\+|\\?|\\{2\\}|\\{2,3\\}|\\{3,\\}|\\{0,2\\}|\\{0\\}",
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anchored_patterns_find_what_the_regex_crate_finds(
        pattern in pattern(),
        texts in prop::collection::vec("[abé\\n]{0,5}", 16),
    ) {
        let theirs = meta::Regex::new(&pattern).expect("a pattern of the dialect");
        for dialect in [Dialect::Rust, Dialect::Ecma262] {
            let options = RegexOptions { dialect, ..RegexOptions::json_schema() };
            let mut anywhere = machine(&parse(&pattern, options).expect("the common syntax"));
            let mut whole = machine(
                &parse(&pattern, options.with_search(false)).expect("the common syntax"),
            );
            let theirs_whole = meta::Regex::new(&format!("\\A(?:{pattern})\\z")).expect("as above");
            for text in texts.iter().map(String::as_str).chain(["", "a", "aa", "ab"]) {
                let found = accepts(&mut anywhere, text.as_bytes());
                prop_assert_eq!(found, theirs.is_match(text), "{} in {:?}", pattern, text);
                let matched = accepts(&mut whole, text.as_bytes());
                prop_assert_eq!(matched, theirs_whole.is_match(text), "{} on {:?}", pattern, text);
            }
        }
    }
}

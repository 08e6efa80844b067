//! What patterns of each dialect match according to its engine: the crate `regex`, V8 with the flag `u` or `v`, and
//! Python's `re`.

use structgen_frontend::regex::{RegexOptions, parse};

use super::machine;

/// A pattern, texts that it matches as a whole, and texts that it does not.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

#[track_caller]
fn check(options: RegexOptions, cases: &[Case]) {
    for &(pattern, matched, others) in cases {
        let set = parse(pattern, options).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let mut machine = machine(&set);
        for (texts, expected) in [(matched, true), (others, false)] {
            for text in texts {
                let found = machine.contains(text.as_bytes());
                assert_eq!(found, Ok(expected), "{pattern} on {text:?}");
            }
        }
    }
}

#[test]
fn the_dialect_of_the_crate_regex() {
    check(
        RegexOptions::rust(),
        &[
            ("[a-z&&[^aeiou]]+", &["xyz"], &["abc", ""]),
            ("[a-z--[c-e]~~[a-b]]", &["f", "z"], &["d", "a", "1"]),
            ("[[:alpha:]&&[^x]]", &["a", "Z"], &["x", "1"]),
            ("[]a]+", &["]a"], &["b"]),
            ("(?i)straße", &["STRAßE", "ſtraẞe"], &["STRASSE"]),
            ("(?i:a)b", &["Ab", "ab"], &["aB"]),
            ("(?i)a(?-i)b|c", &["Ab", "c"], &["aB", "C"]),
            (
                r"(?x) a b \  c [ d ] # no text",
                &["ab cd"],
                &["a b c d", "ab c "],
            ),
            (r"(?x) ( ?: a ) \# ", &["a#"], &["a"]),
            ("(?s).|(?-s).x", &["\n", "ax"], &["\nx"]),
            ("(?m)a$\n^b", &["a\nb"], &["ab"]),
            ("(?mR)a$\r\n^b", &["a\r\nb"], &["a\rb"]),
            ("(?P<a>x)(?<b>y)", &["xy"], &["x"]),
            ("a*?b+?c??", &["aabb", "bc"], &["a"]),
            (r"\p{Greek}\pL\P{L}[^\p{Lu}]", &["αβ1a"], &["aβ1a", "αβ1A"]),
            (r"\w+\s\d(?-u:\w)", &["é\u{2003}٣a"], &["é ٣é"]),
            (r"\x41\u00e9\U0001F4A9\x{e9}", &["Aé💩é"], &[]),
            (
                r"\bfoo\b.*\b{start}ba\b{end}",
                &["foo ba"],
                &["fooba", "foo bar"],
            ),
            (r"\Aa\z", &["a"], &["a\n"]),
            ("(^|,)a(,|$)", &["a", ",a,"], &["aa"]),
            ("a{3,}?b{2}{2}", &["aaabbbb"], &["aaabbb"]),
            // Extensions that the crate itself lacks.
            ("(?=.*[0-9])[a-z0-9]{3}", &["a1b"], &["abc", "a1"]),
            ("(?!foo)[a-z]+(?<!bar)", &["fo", "barfo"], &["foox", "xbar"]),
            ("(?x) ( # one\n ?<= ^ ) a", &["a"], &["aa"]),
            ("((?i)a)(?=(?i:b))(?s:.)", &["AB", "ab"], &["ac"]),
        ],
    );
}

#[test]
fn the_dialect_of_ecma_262() {
    check(
        RegexOptions::json_schema().with_search(false),
        &[
            ("(?i:k)k", &["kk", "Kk", "\u{212A}k"], &["kK"]),
            ("(?i:[^s])", &["a"], &["s", "S", "\u{17F}"]),
            (r"(?i:\w)\w", &["\u{17F}s"], &["s\u{17F}"]),
            ("(?s:.)(?-s:.)", &["\na"], &["a\n"]),
            ("(?m:a$)\\n(?m:^)b", &["a\nb"], &["ab"]),
            ("(?ims-:.)", &["\n"], &["ab"]),
            (r"a|\p{Cs}|[\p{gc=Cs}b]", &["a", "b"], &["", "c"]),
            (r"\P{Surrogate}", &["a", "\u{FFFD}"], &["", "ab"]),
            (r"[^\p{General_Category=Surrogate}]", &["a"], &[""]),
        ],
    );
}

#[test]
fn the_dialect_of_python() {
    check(
        RegexOptions::python(),
        &[
            (r"\d\w\s", &["٣é\u{1F}"], &["a1 "]),
            (r"(?a)\d\w\s", &["3e\t"], &["٣e ", "3é ", "3e\u{A0}"]),
            ("(?i)ist", &["IST", "ıſt", "İst"], &["st"]),
            ("(?ai)k[a-c]", &["kB", "KA"], &["\u{212A}b"]),
            ("(?i)[^k]", &["a"], &["K", "\u{212A}", "k"]),
            ("(?i:a)b(?-i:c)", &["Abc"], &["aBc", "abC"]),
            (r"(?x) a [ ] \  b # c", &["a  b"], &["a b", "ab"]),
            (r"(?P<n>a)(?#text)(?:b)", &["ab"], &["a"]),
            ("a{,2}b{1,}c{2}", &["bcc", "aabbcc"], &["aaabcc", "bc"]),
            ("a{x}{}a{,b", &["a{x}{}a{,b"], &["aa"]),
            ("[]a]+[^]a]", &["]ab"], &["]]"]),
            (r"[\]\-\b\7\101a-]+", &["]-\u{8}\u{7}Aa"], &["\\"]),
            (r"\07\101\0", &["\u{7}A\0"], &["7A0"]),
            (r"\x41\u00e9\U0001F4A9\a\v", &["Aé💩\u{7}\u{B}"], &[]),
            ("a$", &["a"], &["a\n"]),
            ("a$\n", &["a\n"], &["a"]),
            ("(a$)\n?b*", &["a", "a\n"], &["a\nb", "ab"]),
            ("(?m)a$\n^b", &["a\nb"], &["ab"]),
            (r"\Aa\Z|b\z", &["a", "b"], &["a\n"]),
            (".|(?s:.)b", &["\r", "\nb"], &["\n"]),
            (r"\bé\B", &[], &["é"]),
            ("(?<!a)b(?=c).", &["bc"], &["bd"]),
            // A backslash in a comment belongs to the character after it.
            (r"(?#\)(b)", &[""], &["b"]),
            (r"a(?#\\)b", &["ab"], &["a"]),
            ("(?x)a # c \\\nb\nc", &["ac"], &["abc"]),
            ("(?x)a # c \\\\\nb\nc", &["abc"], &["ac"]),
            ("(?<=a)*b", &["b"], &["ab"]),
            ("a(?<=a)+b(?<!b){2}c", &[], &["abc"]),
            ("a(?<=a)+b(?<!a){2}c", &["abc"], &["ac"]),
        ],
    );
    check(
        RegexOptions::python().with_search(true),
        &[
            ("^a$", &["a", "a\n"], &["a\n\n", "ba"]),
            ("a$|b", &["xa\n", "xbx"], &["ax", "a\nx"]),
            ("(a$)", &["xa\n", "a"], &["ax", "a\n\n"]),
        ],
    );
}

#[test]
fn operators_of_sets() {
    let options = RegexOptions::rust().with_operators(true);
    check(
        options,
        &[
            ("[a-z]+&~(no|yes)", &["n", "nope", "ye"], &["no", "yes", ""]),
            ("a.*&.*b|c", &["ab", "axb", "c"], &["a", "b"]),
            ("~a*", &["", "aa", "b"], &[]),
            ("~(a*)", &["b", "ab"], &["", "aa"]),
            ("~~a", &["a"], &["", "b"]),
            ("x(.*&~(.*--.*))y", &["xy", "x-y"], &["x--y"]),
            (r"\&\~&.*", &["&~"], &["&"]),
            ("^a&b?a$", &["a"], &["ba"]),
            (
                r"\bfoo.*&~(.*\bbar\b.*)",
                &["foo", "foo bars"],
                &["foo bar"],
            ),
            ("(?i)a.*&.*B", &["Ab"], &["a"]),
            ("&a*", &[""], &["a"]),
        ],
    );
    check(
        options.with_search(true),
        &[("a(.*&~(.*,.*))b", &["xab", "xa1bx"], &["a,b"])],
    );
    for options in [RegexOptions::python(), RegexOptions::json_schema()] {
        check(
            options.with_search(false).with_operators(true),
            &[
                ("[a-z]+&~(no|yes)", &["n", "nope"], &["no", "yes", ""]),
                ("~a*", &["", "aa", "b"], &[]),
                (r"[&~]\&", &["&&", "~&"], &["&"]),
            ],
        );
    }
}

#[test]
fn back_references() {
    let whole = RegexOptions::json_schema().with_search(false);
    let both: &[Case] = &[
        (
            r#"(["'])(?:(?!\1).)*\1"#,
            &["'a'", "\"'\"", "''"],
            &["'a\"", "'a'b'", "'"],
        ),
        (
            r"(?:(a|b)\1)*",
            &["", "aabb", "bbaabb"],
            &["ab", "aab", "abab"],
        ),
        (r"(a|b){2}\1", &["aaa", "baa", "abb"], &["aab", "bab", "aa"]),
        (r"(a|b)(c|d)\2\1", &["acca", "bddb"], &["acac", "acda"]),
        (r"((a|b)\2)-\1", &["aa-aa", "bb-bb"], &["aa-bb", "ab-ab"]),
        (r"(a|b)(?=\1).*", &["aa", "bbc"], &["ab", "a"]),
        (r"(?=(a|b).*\1$)\w+", &["aca", "bb"], &["acb", "a"]),
        (r"(a|b)c(?<=\1c)", &["ac", "bc"], &["cc"]),
        (r"(?i:(a))\1", &["aa", "AA"], &["aA", "Aa"]),
        (r"(a)(?i:\1)", &["aa", "aA"], &["AA"]),
        (r"(\b|x)a\1", &["a", "xax"], &["xa", "ax"]),
        (r"(a|b)\1{2,3}?c", &["aaac", "bbbbc"], &["aac", "abbc"]),
    ];
    check(whole, both);
    check(RegexOptions::python(), both);
    check(
        whole,
        &[
            // A group that has not matched is the empty text.
            (r"(?:(a)|b)\1c", &["aac", "bc"], &["ac", "bac"]),
            (r"\1(a)", &["a"], &["aa"]),
            (r"(a\1)", &["a"], &["aa"]),
            // A round forgets the groups of the round before.
            (r"(?:(a)|b)*\1", &["aa", "ab", "b", ""], &["a"]),
            // A round beyond the least number takes something.
            (r"(a|){2}\1", &["", "a", "aa", "aaa"], &["aaaa"]),
            (r"(?<q>'|`)x\k<q>", &["'x'", "`x`"], &["'x`"]),
        ],
    );
    check(
        RegexOptions::python(),
        &[
            // A group that has not matched matches nothing.
            (r"(?:(a)|b)\1c", &["aac"], &["bc", "bac", "ac"]),
            (r"(a)?b\1", &["aba"], &["b", "ab"]),
            (r"(?:(a)|b)?c\1", &["aca"], &["bcb", "bc", "c"]),
            (r"(?P<q>'|`)x(?P=q)", &["'x'", "`x`"], &["'x`"]),
            (r"(?i)(s|ſ)\1", &["sS", "ſſ"], &["sſ"]),
            (r"(?i)(k)\1", &["kK", "\u{212A}k"], &["kx"]),
            (r"(?ai)(k)\1", &["kK"], &["\u{212A}k"]),
        ],
    );
}

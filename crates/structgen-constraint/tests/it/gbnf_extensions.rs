//! The extensions of GBNF beyond llama.cpp.

use crate::support::{compile, walk_and_compare};
use structgen_frontend::gbnf::{GbnfOptions, parse};

#[test]
fn extensions_mean_what_is_said_of_them() {
    let cases: [(&str, &[&str], &[&str]); 13] = [
        ("root ::= /[a-z]+/i \"!\"", &["aB!"], &["!", "a1!"]),
        (
            r#"root ::= /a\/b|\bc(?=,)./ x
x ::= "x""#,
            &["a/bx", "c,x"],
            &["cx", "a/b"],
        ),
        (
            "root ::= (word & ~(\"no\" | \"yes\")) \";\"\nword ::= [a-z]+",
            &["n;", "nope;"],
            &["no;", "yes;", ";"],
        ),
        ("root ::= ~\"a\"*", &["", "b", "aa"], &[]),
        ("root ::= ~~\"a\" \"b\"", &["ab"], &["b", "bb"]),
        (
            "root ::= line & .{2,4}\nline ::= [^\\n]*",
            &["ab", "abcd"],
            &["a", "abcde", "a\nb"],
        ),
        (
            "root ::= \"<a>\" %until \"</a>\" \".\"",
            &["<a></a>.", "<a>x</</a>."],
            &["<a></a></a>.", "<a>."],
        ),
        (
            "root ::= %until \"aab\"+",
            &["aab", "aaab", "aabxaab"],
            &["aa", "aabx"],
        ),
        (
            "root ::= a & b & c | \"z\"\na ::= [a-m]+\nb ::= [d-z]+\nc ::= /.{2}/",
            &["de", "mm", "z"],
            &["da", "z1", "zz", "d"],
        ),
        (
            "root ::= (e & ~(.* \"--\" .*)) | root \"+\" root\ne ::= [a-z-]+",
            &["a-b", "a-b+c"],
            &["a--b", "a+b--c"],
        ),
        (
            "root ::= (~(\"a\" | b) &\n [ab]*)\nb ::= \"b\" &\n ~c\nc ::= \"c\"",
            &["", "ab"],
            &["a", "b"],
        ),
        (
            "root ::= %chars{2,4}(([a-z] \"-\")* | \"é\"+) \";\"",
            &["a-;", "a-b-;", "éé;", "éééé;"],
            &[";", "é;", "a-b-c-;", "ééééé;", "a--;"],
        ),
        (
            "root ::= @id(%json {\"type\": \"integer\", \"minimum\": 5}) (\", \" %json {\"enum\": [\"}\"]})*",
            &["5", "12, \"}\""],
            &["4", "5, }", "5, "],
        ),
    ];
    for (text, fits, others) in cases {
        let grammar =
            parse(text, &GbnfOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let constraint = compile(grammar);
        for (texts, expected) in [(fits, true), (others, false)] {
            for sample in texts {
                let refusal = constraint.matcher().check_text(sample.as_bytes());
                assert_eq!(refusal.unwrap().is_none(), expected, "{text} on {sample:?}");
            }
        }
        walk_and_compare(&constraint, 1, 12);
    }
}

#[test]
fn captures_are_told_by_their_names() {
    let cases = [
        (
            "root ::= @key([a-z]+) \"=\" @value([0-9]+)",
            "ab=12",
            "key=0..2 value=3..5",
        ),
        (
            "root ::= @pair(@key([a-z]+) \"=\" (@value([0-9]+) | @none(\"-\"))) (\";\" root)?",
            "a=1;b=-",
            "pair=0..3 key=0..1 value=2..3 pair=4..7 key=4..5 none=6..7",
        ),
        (
            "root ::= \"<a>\" @text(%until \"</a>\") @rest(/.*/)",
            "<a>x</a>yz",
            "text=3..8 rest=8..10",
        ),
    ];
    for (text, sample, expected) in cases {
        let grammar =
            parse(text, &GbnfOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let constraint = compile(grammar);
        let mut matcher = constraint.matcher();
        for byte in sample.bytes() {
            matcher
                .accept_token(structgen_vocab::TokenId(byte.into()))
                .unwrap();
        }
        let found: Vec<String> = matcher
            .captures()
            .unwrap()
            .iter()
            .map(|capture| format!("{}={:?}", capture.name, capture.span))
            .collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

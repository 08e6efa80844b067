use expect_test::{Expect, expect};

use crate::convert::{Notation, to_gbnf};
use crate::gbnf::{GbnfOptions, parse};

#[track_caller]
fn check(text: &str, expected: Expect) {
    let gbnf = to_gbnf(text, Notation::Lark, None).unwrap_or_else(|error| panic!("{error}"));
    if let Err(error) = parse(&gbnf, &GbnfOptions::default()) {
        panic!("{gbnf}\n{error}");
    }
    expected.assert_eq(&gbnf);
}

#[test]
fn rules_and_terminals_become_rules() {
    check(
        r#"// arithmetic
?start: sum // the root
!sum: product -> first   # an alias
    | sum "+" product -> add

    | sum "-" product
product: [SIGN] atom ~ 2..3 (atom{1,} | atom{,4} |
  atom{2}) atom~1
_group: "(" sum ")" | "if"i | "a/é\n"i | ""i
atom: INT | _group | "\"\\\x41\u00e9\/" | "a".."f" | /[^\/"]+/is | /x/u
SIGN: "+" | "-"
%import common.INT
"#,
        expect![[r#"
            root ::= start
            start ::= sum
            sum ::= product | sum "+" product | sum "-" product
            product ::= SIGN? atom{2,3} (atom+ | atom{0,4} | atom{2}) atom{1}
            -group ::= "(" sum ")" | /if/i | /a\/é\n/i | ""
            atom ::= INT | -group | "\"\\Aé/" | [a-f] | /[^\/"]+/is | /x/
            SIGN ::= "+" | "-"
            INT ::= /[0-9]+/
        "#]],
    );
}

#[test]
fn terminals_have_operators_of_sets() {
    check(
        r#"start: WORD ~(KEY | "x")
WORD: /[a-z]+/ & ~KEY & ~/.*no.*/ | "1" ~3 ~"2"* [KEY "!"]
KEY: "if" | "else"
"#,
        expect![[r#"
            root ::= start
            start ::= WORD ~(KEY | "x")
            WORD ::= /[a-z]+/ & ~KEY & ~/.*no.*/ | "1"{3} ~"2"* (KEY "!")?
            KEY ::= "if" | "else"
        "#]],
    );
}

#[test]
fn special_tokens_and_schemas_are_taken_over() {
    check(
        "start: <think> /[^<]*/ </think> call | <[5]> <[7-8,10,]> <[^3]> <[*]>\ncall: %json {\"type\": \"object\",\n  \"properties\": {}} <|end|>",
        expect![[r#"
            root ::= start
            start ::= <think> /[^<]*/ </think> call | <[5]> (<[7]> | <[8]> | <[10]>) !<[3]> (<[0]> | !<[0]>)
            call ::= %json {"type": "object",
              "properties": {}} <|end|>
        "#]],
    );
}

#[test]
fn attributes_say_where_a_text_ends() {
    check(
        r#"start: a b c d e f g h i
a[capture]: "x" start?
b[capture="b.name", lazy]: /.*<end>/
c[lazy]: LINE ";"
d[suffix="</a>"]: LINE
e[capture, suffix="aba", stop_capture="end"]: LINE
f[stop="\n", capture]: /(?s:.*)/
g[suffix=/[;,]/]: LINE
h[stop=""]: LINE
i[capture, suffix="", stop_capture="end"]: LINE
LINE: /.*/
"#,
        expect![[r#"
            root ::= start
            start ::= a b c d e f g h i
            a ::= @a("x" start?)
            b ::= @b.name(/.*<end>/ & ~(/.*<end>/ .+))
            c ::= (LINE ";") & ~((LINE ";") .+)
            d ::= (LINE "</a>") & ~((LINE "</a>") .+)
            e ::= @e(LINE & ~(LINE "aba" .*) & ~(LINE "ab")) @end("aba")
            f ::= @f(/(?s:.*)/ & ~(/(?s:.*)/ "\n" .*))
            g ::= (LINE /[;,]/) & ~((LINE /[;,]/) .+)
            h ::= LINE
            i ::= @i(LINE & ~(LINE .+)) @end("")
            LINE ::= /.*/
        "#]],
    );
}

#[test]
fn what_is_ignored_stands_between_lexemes() {
    check(
        r##"start: head? item* "."?
head: "[" NAME "]" | NAME "!"
item: (NAME | pair | <x>) | %json {"type": "null"} | text | OPTIONAL
pair: start ":" NAME
text[capture, lazy]: /[0-9]*;/
NAME: LETTER+
LETTER: "a".."z"
OPTIONAL: "?"*
%ignore /[ \t]+/
%ignore COMMENT
COMMENT: "#" LETTER*
"##,
        expect![[r##"
            root ::= start-first
            start-first ::= (head-first) item* (ignored ".")? | (item-first item*) (ignored ".")? | "." | ""
            COMMENT ::= "#" LETTER*
            head-first ::= "[" (ignored NAME) (ignored "]") | NAME (ignored "!")
            head ::= (ignored "[") (ignored NAME) (ignored "]") | (ignored NAME) (ignored "!")
            item ::= ignored NAME | pair | ignored <x> | ignored %json {"type": "null"} | text | (ignored (OPTIONAL & ~""))?
            item-first ::= NAME | pair-first | <x> | %json {"type": "null"} | text-first | OPTIONAL & ~""
            LETTER ::= [a-z]
            NAME ::= LETTER+
            pair ::= start (ignored ":") (ignored NAME)
            text ::= ignored @text(/[0-9]*;/ & ~(/[0-9]*;/ .+))
            OPTIONAL ::= "?"*
            pair-first ::= start-first (ignored ":") (ignored NAME) | ":" (ignored NAME)
            text-first ::= @text(/[0-9]*;/ & ~(/[0-9]*;/ .+))
            start ::= head? item* (ignored ".")?
            ignored ::= (/[ \t]+/ | COMMENT)*
        "##]],
    );
    check(
        "%llguidance {\"allow_initial_skip\": true, \"skip_repetition\": \"once\", \"no_forcing\": true}\nstart: \"a\"* opt\nopt[capture=\"o\"]: \"b\"?\nignored: \"x\"\n%ignore \" \"",
        expect![[r#"
            root ::= start
            start ::= (ignored-2 "a")* opt
            opt ::= ignored-2 @o("b") | @o("")
            ignored-2 ::= " "?
        "#]],
    );
}

#[test]
fn what_has_no_counterpart_is_refused_by_its_place() {
    let mut report = String::new();
    for text in [
        "",
        "a: \"b\"",
        "start: b",
        "start: B",
        "start: \"a\"\nstart: \"b\"",
        "start: A\nA: B\nB: A \"x\"",
        "start: A\nA: b\nb: \"x\"",
        "start: \"a\" & \"b\"",
        "start: \"a",
        "start: \"\\q\"",
        "start: \"ab\"..\"c\"",
        "start: \"b\"..\"a\"",
        "start: \"a\"..",
        "start: /a[/",
        "start: /(a)\\1/",
        "start: /a",
        "start: /a\nb/",
        "start: /a/l",
        "start: (\"a\"",
        "start: \"a\")",
        "start: [\"a\")",
        "start \"a\"",
        "start: \"a\"~3..2",
        "start: \"a\"{x}",
        "start: \"a\"~99999999999",
        "start: fooBar",
        "start: 5",
        "start: <>",
        "start: <[x]>",
        "start: <[0-99999]>",
        "start: <[^1-3]>",
        "start: A\nA: <x>",
        "start: A\nA: %json {}",
        "start: %json {\"a\": }",
        "start: %json [1]",
        "start: %json {\"x-guidance\": {}}",
        "start: %regex {\"substring_chars\": \"abc\"}",
        "start: %lark { start: \"a\" }",
        "start: @other",
        "start: \"a\" %if x",
        "start::_: \"a\"",
        "start: a::1\na: \"b\"",
        "start: list{a}\na: \"b\"",
        "start{x}: \"a\"",
        "start.1: \"a\"",
        "start[max_tokens=3]: /.*/",
        "start[temperature=0.5]: /.*/",
        "start[greedy]: /.*/",
        "start[lazy]: other\nother: \"a\"",
        "start[capture, suffix=/a/]: /.*/",
        "start[stop=/a/]: /.*/",
        "start[stop=\"a\", stop_capture=\"b\"]: /.*/",
        "start[stop=\"a\", suffix=\"b\"]: /.*/",
        "start[stop_capture=\"b\"]: /.*/",
        "start[capture=\"a b\"]: /.*/",
        "%import other.X\nstart: X",
        "%import common.NOTHING\nstart: \"a\"",
        "%override start: \"a\"",
        "%llguidance {\"x\": 1}\nstart: \"a\"",
        "%what\nstart: \"a\"",
        "%ignore b\nstart: \"a\"",
        "start: \"a\" ->",
        "start: \"é\"\n  what",
    ] {
        let error = to_gbnf(text, Notation::Lark, None).expect_err(text);
        report += &format!("{text}\n    {error}\n");
    }
    expect![[r#"

            line 1, column 1: there is no rule `start` to start from
        a: "b"
            line 1, column 1: there is no rule `start` to start from
        start: b
            line 1, column 8: there is no rule `b`
        start: B
            line 1, column 8: there is no terminal `B`
        start: "a"
        start: "b"
            line 2, column 1: `start` is defined already
        start: A
        A: B
        B: A "x"
            line 2, column 1: the terminal `A` comes back to itself: make it a rule, in lower case
        start: A
        A: b
        b: "x"
            line 2, column 4: a terminal does not name the rule `b`: make that a terminal, in upper case
        start: "a" & "b"
            line 1, column 12: `&` is for terminals: make this a terminal, in upper case
        start: "a
            line 1, column 8: the string is not closed
        start: "\q"
            line 1, column 8: the string has an escape or a character that strings of JSON do not have
        start: "ab".."c"
            line 1, column 8: the ends of a range are single characters
        start: "b".."a"
            line 1, column 8: the range's ends are out of order
        start: "a"..
            line 1, column 13: expected a string in double quotes
        start: /a[/
            line 1, column 10: in the pattern: unclosed character class
        start: /(a)\1/
            line 1, column 12: in the pattern: a back-reference is not supported
        start: /a
            line 1, column 8: the pattern is not closed
        start: /a
        b/
            line 1, column 8: a pattern ends in its line: write `\n` for a line end
        start: /a/l
            line 1, column 8: the flag `l` of patterns is not known here
        start: ("a"
            line 1, column 8: the group is not closed
        start: "a")
            line 1, column 11: expected the end of the line
        start: ["a")
            line 1, column 8: the group is not closed
        start "a"
            line 1, column 7: expected `:`
        start: "a"~3..2
            line 1, column 11: the numbers are out of order
        start: "a"{x}
            line 1, column 12: expected a number
        start: "a"~99999999999
            line 1, column 12: the number is too large
        start: fooBar
            line 1, column 8: `fooBar` is no name: those of rules are in lower case, those of terminals in upper case
        start: 5
            line 1, column 8: expected something to match
        start: <>
            line 1, column 8: a special token is written `<name>` or `<[number]>`
        start: <[x]>
            line 1, column 8: a token's number, or a range of them, is not understood
        start: <[0-99999]>
            line 1, column 8: more than 4096 tokens are not written out: name those that are meant
        start: <[^1-3]>
            line 1, column 8: all tokens but several have no counterpart: name those that are meant
        start: A
        A: <x>
            line 2, column 4: special tokens are for rules: make this a rule, in lower case
        start: A
        A: %json {}
            line 2, column 4: a schema is no part of a terminal: make this a rule, in lower case
        start: %json {"a": }
            line 1, column 20: this is not JSON: expected value
        start: %json [1]
            line 1, column 8: a schema is written `%json {…}`
        start: %json {"x-guidance": {}}
            line 1, column 8: `x-guidance` is not known here: say it with `x-structgen`
        start: %regex {"substring_chars": "abc"}
            line 1, column 8: parts of a text have no counterpart: write the pattern, or a rule for each place
        start: %lark { start: "a" }
            line 1, column 8: a grammar in a grammar is not read: write its rules beside the others
        start: @other
            line 1, column 8: other grammars are not named here: convert them too, and join them with GBNF's `%import`
        start: "a" %if x
            line 1, column 12: conditions have no counterpart: write a rule for each case
        start::_: "a"
            line 1, column 6: rules with parameters have no counterpart: write a rule for each value
        start: a::1
        a: "b"
            line 1, column 8: rules with parameters have no counterpart: write a rule for each value
        start: list{a}
        a: "b"
            line 1, column 8: templates are not known here: write a rule for each use
        start{x}: "a"
            line 1, column 6: templates are not known here: write a rule for each use
        start.1: "a"
            line 1, column 6: priorities say nothing here: all readings count
        start[max_tokens=3]: /.*/
            line 1, column 7: how many tokens a text has depends on how it is cut: limit the characters, as in /(?s:.{0,80})/
        start[temperature=0.5]: /.*/
            line 1, column 7: a temperature is no matter of a grammar: set it where text is generated
        start[greedy]: /.*/
            line 1, column 7: expected `capture`, `lazy`, `suffix=…`, `stop=…` or `stop_capture=…`
        start[lazy]: other
        other: "a"
            line 1, column 14: a terminal does not name the rule `other`: make that a terminal, in upper case
        start[capture, suffix=/a/]: /.*/
            line 1, column 1: what stands before a suffix is captured where the suffix is a string: capture both by a rule around this one
        start[stop=/a/]: /.*/
            line 1, column 1: `stop` is written with a string here: for other terminals use `suffix` without a capture
        start[stop="a", stop_capture="b"]: /.*/
            line 1, column 1: a text that `stop` takes back cannot be captured: use `suffix`, which is part of the text
        start[stop="a", suffix="b"]: /.*/
            line 1, column 17: a rule has one `suffix` or one `stop`
        start[stop_capture="b"]: /.*/
            line 1, column 24: `stop_capture` is beside a `suffix`
        start[capture="a b"]: /.*/
            line 1, column 15: expected a name in quotes, of letters, digits, `_`, `-`, `.`, `$`, `[` and `]`
        %import other.X
        start: X
            line 1, column 1: only `common` is imported from: copy what is needed, or import the converted file with GBNF's `%import`
        %import common.NOTHING
        start: "a"
            line 1, column 16: there is no terminal `common.NOTHING`
        %override start: "a"
            line 1, column 1: definitions of other files are not changed here: define the rule itself
        %llguidance {"x": 1}
        start: "a"
            line 1, column 13: the option `x` has no counterpart with this value: leave it out
        %what
        start: "a"
            line 1, column 1: expected `%ignore`, `%import` or `%llguidance`
        %ignore b
        start: "a"
            line 1, column 9: a terminal does not name the rule `b`: make that a terminal, in upper case
        start: "a" ->
            line 1, column 14: expected a name behind `->`
        start: "é"
          what
            line 2, column 7: expected `:`
    "#]].assert_eq(&report);
    assert!(to_gbnf("a: \"b\"", Notation::Lark, Some("a")).is_ok());
}

#[test]
fn the_common_terminals_are_patterns() {
    let names = "DIGIT HEXDIGIT INT SIGNED_INT DECIMAL _EXP FLOAT SIGNED_FLOAT NUMBER SIGNED_NUMBER ESCAPED_STRING LCASE_LETTER UCASE_LETTER LETTER WORD CNAME \
        WS_INLINE WS CR LF NEWLINE SH_COMMENT CPP_COMMENT C_COMMENT SQL_COMMENT";
    let all: Vec<&str> = names.split_whitespace().collect();
    let text = format!(
        "start: {}\n%import common ({})",
        all.join(" | "),
        all.join(", ")
    );
    let gbnf = to_gbnf(&text, Notation::Lark, None).unwrap_or_else(|error| panic!("{error}"));
    assert!(parse(&gbnf, &GbnfOptions::default()).is_ok(), "{gbnf}");
    assert_eq!(gbnf.lines().count(), all.len() + 2);
}

#[test]
fn hostile_grammars_are_answered() {
    let message = |text: &str| match to_gbnf(text, Notation::Lark, None) {
        Ok(gbnf) => format!("{} bytes", gbnf.len()),
        Err(error) => error.to_string(),
    };
    for open in ["(", "[", "~(", "(\n", "\"a\" | ("] {
        let said = message(&format!("start: {}", open.repeat(100_000)));
        assert!(said.contains("deeper than 200"), "{said}");
    }
    // A chain of terminals, and one of nullable rules, in the worst order.
    let chain = |name: &str, n: usize| -> String {
        let rule = |i: usize| format!("{name}{i}: {name}{}\n", i + 1);
        (0..n).map(rule).collect::<String>() + &format!("{name}{n}: \"x\"?\n")
    };
    let text = format!(
        "start: A0 a0\n{}{}%ignore \" \"",
        chain("A", 5_000),
        chain("a", 1_000)
    );
    assert!(message(&text).ends_with("bytes"), "{}", message(&text));
    // Each of many optional parts may be the first.
    let text = format!("start: {}\n%ignore \" \"", "\"a\"? ".repeat(20_000));
    assert!(message(&text).contains("becomes too large"));
    let text = format!("start: {}\n%ignore \" \"", "\"a\"? ".repeat(500));
    assert!(message(&text).ends_with("bytes"));
    let text = format!("start: {}", "a ".repeat(300_000));
    assert!(message(&text).contains("there is no rule `a`"));
    for text in [
        "start: %json {",
        "start: \"\\",
        "start: /\\",
        "start[",
        "%",
        "%import common (",
        "start: a{",
        "start: \"a\"~",
        "start: <",
        "start: <[capture]->",
    ] {
        assert!(message(text).starts_with("line 1"), "{text}");
    }
}

#[test]
fn no_text_panics() {
    use proptest::prelude::*;
    proptest!(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() },
        |(rest in r#"([()\[\]{}|*+?^\\.,:=!<>#"/%@&~\-0-9abAB \n]|é| : |start|->|\.\.|%json|%ignore|%import common\.|\[capture\]){0,24}"#)| {
        for text in [format!("start: {rest}"), format!("start: \"a\"\n%ignore {rest}"), rest] {
            if let Ok(gbnf) = to_gbnf(&text, Notation::Lark, None) {
                let read = parse(&gbnf, &GbnfOptions::default());
                prop_assert!(read.is_ok(), "{}\n{}\n{:?}", text, gbnf, read.map_err(|it| it.to_string()));
            }
        }
    });
}

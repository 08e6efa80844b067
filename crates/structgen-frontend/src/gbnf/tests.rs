use expect_test::{Expect, expect};
use structgen_grammar::{CharSet, Expr, ExprId, Regular, TokenTerminal};

use super::*;

fn grammar(text: &str) -> Grammar {
    match parse(text, &GbnfOptions::default()) {
        Ok(grammar) => grammar,
        Err(error) => panic!("{error}"),
    }
}

fn body(text: &str) -> Expr {
    let grammar = grammar(text);
    grammar.expr(grammar.rule(grammar.root()).body).clone()
}

fn parts(grammar: &Grammar, id: ExprId) -> Vec<Expr> {
    match grammar.expr(id) {
        Expr::Sequence(ids) | Expr::Choice(ids) => {
            ids.iter().map(|&id| grammar.expr(id).clone()).collect()
        }
        other => vec![other.clone()],
    }
}

fn chars(ranges: &[(char, char)]) -> Expr {
    Expr::Regular(Regular::Chars(CharSet::new(ranges.iter().copied())))
}

#[track_caller]
fn refused(texts: &[&str], expected: Expect) {
    let report: Vec<String> = texts
        .iter()
        .map(|text| match parse(text, &GbnfOptions::default()) {
            Ok(_) => panic!("{text:?} is taken"),
            Err(error) => error.to_string(),
        })
        .collect();
    expected.assert_eq(&report.join("\n\n"));
}

#[test]
fn escapes_stand_for_their_characters() {
    let text = r#"root ::= "a\"\\\n\r\t\[\]\-\x41\u00e9\U0001F4A9é""#;
    assert_eq!(
        body(text),
        Expr::Bytes("a\"\\\n\r\t[]-Aé💩é".as_bytes().into())
    );
}

#[test]
fn classes_are_sets_of_characters() {
    assert_eq!(body("root ::= [a-cx]"), chars(&[('a', 'c'), ('x', 'x')]));
    assert_eq!(
        body(r"root ::= [\]\\\-a-\x7a-]"),
        chars(&[(']', ']'), ('\\', '\\'), ('-', '-'), ('a', 'z')])
    );
    assert_eq!(
        body("root ::= [^a-z\"]"),
        Expr::Regular(Regular::Chars(
            CharSet::new([('a', 'z'), ('"', '"')]).complement()
        ))
    );
    assert_eq!(
        body("root ::= [a^#(\"]"),
        chars(&[('a', 'a'), ('^', '^'), ('#', '#'), ('(', '('), ('"', '"')])
    );
    assert_eq!(body("root ::= ."), chars(&[('\0', char::MAX)]));
}

#[test]
fn quantifiers_are_counters() {
    for (quantifier, min, max) in [
        ("*", 0, None),
        ("+", 1, None),
        ("?", 0, Some(1)),
        ("{3}", 3, Some(3)),
        ("{3,}", 3, None),
        ("{ 3 , 70000 }", 3, Some(70_000)),
        (" {0,1}", 0, Some(1)),
    ] {
        let grammar = grammar(&format!("root ::= \"ab\"{quantifier}"));
        let Expr::Repeat {
            body,
            min: least,
            max: most,
        } = *grammar.expr(grammar.rule(grammar.root()).body)
        else {
            panic!("{quantifier} is no counter");
        };
        assert_eq!(grammar.expr(body), &Expr::Bytes(b"ab"[..].into()));
        assert_eq!((least, most), (min, max), "{quantifier}");
    }
}

#[test]
fn line_ends_end_rules_but_not_within_parentheses_or_behind_a_bar() {
    let grammar = grammar(
        "# a comment\r\n\r\nroot ::= # the first\n  \"a\" (\n    \"b\" # inside\n    | \"c\"\n  )* one |\n  two\n\none::=\"1\"\rtwo ::= (\n) # the end",
    );
    let names: Vec<&str> = grammar
        .rules()
        .iter()
        .map(|rule| rule.name.as_str())
        .collect();
    assert_eq!(names, ["root", "one", "two"]);
    assert_eq!(parts(&grammar, grammar.rules()[0].body).len(), 2);
    assert_eq!(
        parts(&grammar, grammar.rules()[1].body),
        [Expr::Bytes(b"1"[..].into())]
    );
    assert_eq!(parts(&grammar, grammar.rules()[2].body), [Expr::Empty]);
}

#[test]
fn alternatives_may_be_empty() {
    let grammar = grammar("root ::= \"a\" | | (\"\" | \"b\")");
    assert_eq!(
        parts(&grammar, grammar.rules()[0].body),
        [
            Expr::Bytes(b"a"[..].into()),
            Expr::Empty,
            Expr::Bytes(b"b"[..].into())
        ]
    );
}

#[test]
fn tokens_are_named_or_numbered() {
    let grammar = grammar("root ::= <think> <[1000]> <|end|> !<think> !<[7]> <>");
    let tokens = [
        TokenTerminal::Name("<think>".to_owned()),
        TokenTerminal::Id(1_000),
        TokenTerminal::Name("<|end|>".to_owned()),
        TokenTerminal::NotName("<think>".to_owned()),
        TokenTerminal::NotId(7),
        TokenTerminal::Name("<>".to_owned()),
    ];
    assert_eq!(
        parts(&grammar, grammar.rules()[0].body),
        tokens.map(Expr::Token)
    );
}

#[test]
fn rules_may_refer_to_later_ones_and_to_themselves() {
    let grammar = grammar("root ::= root \"a\" | rest-1\nrest-1 ::= root");
    assert_eq!(grammar.rules().len(), 2);
    let other = GbnfOptions {
        root: "rest-1".to_owned(),
        ..GbnfOptions::default()
    };
    let other = parse("root ::= \"a\"\nrest-1 ::= root", &other).map(|grammar| grammar.root().0);
    assert_eq!(other, Ok(1));
}

#[test]
fn syntax_errors_say_what_was_expected() {
    refused(
        &[
            "root ::= 'yes'",
            "root ::= \"a\"\n  | \"b\"",
            "root = \"a\"",
            "root ::= \"a\" )",
            "root ::= (\"a\"",
            "root ::= \"a",
            "root ::= [a",
            "root ::= []",
            "root ::= \"\\q\"",
            "root ::= \"\\x4\"",
            "root ::= * \"a\"",
            "root ::= \"a\"{,3}",
            "root ::= \"a\"{2",
            "root ::= \"a\" $b",
            "root ::= <",
            "root ::= <[x]>",
            "root ::= ! <a>",
            "root ::= (\n  \"a\"\nb ::= \"b\"",
            "root ::= \"a\"{1,\n2}",
            "root ::= a ::= \"b\"",
            "root ::= \"a\"\n\"b\"",
            "root: \"a\"",
        ],
        expect![[r#"
            line 1, column 10: expected something to match, `|` or the end of the rule
              |
            1 | root ::= 'yes'
              |          ^
            hint: literals stand in double quotes

            line 2, column 3: expected a name or the end of the text
              |
            2 |   | "b"
              |   ^
            hint: a rule ends with its line: end the line before in `|`, or put the alternatives in parentheses

            line 1, column 6: expected `::=`
              |
            1 | root = "a"
              |      ^
            hint: rules are written `name ::= …`

            line 1, column 14: expected something to match, a quantifier, `|` or the end of the rule
              |
            1 | root ::= "a" )
              |              ^
            hint: no parenthesis is open here

            line 1, column 14: expected something to match, a quantifier, `|` or `)`
              |
            1 | root ::= ("a"
              |              ^
            hint: the parenthesis in line 1, column 10 is not closed

            line 1, column 12: expected a character or an escape
              |
            1 | root ::= "a
              |            ^
            hint: the literal is not closed

            line 1, column 12: expected a character
              |
            1 | root ::= [a
              |            ^
            hint: the class is not closed

            line 1, column 11: expected a character or `^`
              |
            1 | root ::= []
              |           ^
            hint: a class holds at least one character; a bracket in it is written `\]`

            line 1, column 12: expected an escape
              |
            1 | root ::= "\q"
              |            ^
            hint: the escapes are \n \r \t \\ \" \[ \] \- \xXX \uXXXX and \UXXXXXXXX

            line 1, column 12: expected an escape
              |
            1 | root ::= "\x4"
              |            ^
            hint: the escapes are \n \r \t \\ \" \[ \] \- \xXX \uXXXX and \UXXXXXXXX

            line 1, column 10: expected something to match, `|` or the end of the rule
              |
            1 | root ::= * "a"
              |          ^
            hint: a quantifier stands behind what it repeats

            line 1, column 14: expected a number
              |
            1 | root ::= "a"{,3}
              |              ^
            hint: a counter starts with the fewest times: `{0,3}`

            line 1, column 15: expected `,` or `}`
              |
            1 | root ::= "a"{2
              |               ^
            hint: the text ends within a rule

            line 1, column 14: expected something to match, a quantifier, `|` or the end of the rule
              |
            1 | root ::= "a" $b
              |              ^

            line 1, column 10: expected something to match, `|` or the end of the rule
              |
            1 | root ::= <
              |          ^
            hint: a token is written `<text>` or `<[id]>`, and every other one `!<text>`

            line 1, column 12: expected a number
              |
            1 | root ::= <[x]>
              |            ^

            line 1, column 11: expected a token
              |
            1 | root ::= ! <a>
              |           ^
            hint: a token is written `<text>` or `<[id]>`, and every other one `!<text>`

            line 3, column 3: expected something to match, a quantifier, `|` or `)`
              |
            3 | b ::= "b"
              |   ^
            hint: the parenthesis in line 1, column 10 is not closed

            line 1, column 13: a line ends within a counter
              |
            1 | root ::= "a"{1,
              |             ^

            line 1, column 12: expected something to match, a quantifier, `|` or the end of the rule
              |
            1 | root ::= a ::= "b"
              |            ^
            hint: a rule starts on a line of its own

            line 2, column 1: expected a name or the end of the text
              |
            2 | "b"
              | ^
            hint: a rule ends with its line unless a parenthesis is open or the line ends in `|`

            line 1, column 5: expected `::=`
              |
            1 | root: "a"
              |     ^
            hint: rules are written `name ::= …`"#]],
    );
}

#[test]
fn other_errors_name_what_they_are_about() {
    refused(
        &[
            "root ::= \"é\" vlaue\nvalue ::= \"a\"",
            "root ::= valeu\nvalue ::= \"a\"",
            "root ::= \"a\"\nb ::= \"b\"\r\nb ::= \"c\"",
            "rot ::= \"a\"",
            "root ::= [z-a]",
            "root ::= \"a\"{3,2}",
            "root ::= \"a\"{99999999999}",
            "root ::= <[99999999999]>",
            "root ::= \"\\uD800\"",
        ],
        expect![[r#"
            line 1, column 14: there is no rule `vlaue`
              |
            1 | root ::= "é" vlaue
              |              ^
            hint: did you mean `value`?

            line 1, column 10: there is no rule `valeu`
              |
            1 | root ::= valeu
              |          ^
            hint: did you mean `value`?

            line 3, column 1: the rule `b` is defined already, in line 2
              |
            3 | b ::= "c"
              | ^

            line 1, column 1: there is no rule `root` to start from
              |
            1 | rot ::= "a"
              | ^

            line 1, column 11: the range's ends are out of order
              |
            1 | root ::= [z-a]
              |           ^

            line 1, column 13: the counter's numbers are out of order
              |
            1 | root ::= "a"{3,2}
              |             ^

            line 1, column 14: the counter is too large
              |
            1 | root ::= "a"{99999999999}
              |              ^

            line 1, column 10: the token's id is too large
              |
            1 | root ::= <[99999999999]>
              |          ^

            line 1, column 11: `\uD800` is no Unicode character
              |
            1 | root ::= "\uD800"
              |           ^"#]],
    );
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!("root ::= {} ' {}", "\"é\" ".repeat(100), "x".repeat(500));
    let error = parse(&text, &GbnfOptions::default()).expect_err("a quote");
    assert_eq!((error.line, error.column), (1, 411));
    assert!(
        error
            .to_string()
            .lines()
            .all(|line| line.chars().count() < 130),
        "{error}"
    );
}

#[test]
fn any_nesting_is_read_and_a_limit_is_kept() {
    for (open, close) in [
        ("(", ")"),
        ("(\"a\" ", ")"),
        ("(\"b\" | ", " \"c\")*"),
        ("", "+?"),
    ] {
        for depth in [1, 63, 64, 65, 1_000, 100_000] {
            let text = format!(
                "root ::= {}\"a\"{}",
                open.repeat(depth),
                close.repeat(depth)
            );
            assert!(parse(&text, &GbnfOptions::default()).is_ok(), "{depth}");
        }
    }
    let options = GbnfOptions {
        max_nesting: 2,
        ..GbnfOptions::default()
    };
    assert!(parse("root ::= ((\"a\"))", &options).is_ok());
    let error = parse("root ::= (((\"a\")))", &options).expect_err("too deep");
    assert_eq!(error.column, 12);
    // What only looks like a parenthesis does not count.
    let text = format!("root ::= \"{0}\\\"{0}\" [{0}] # {0}\n  ", "(".repeat(500));
    assert!(parse(&text, &options).is_ok());
}

#[test]
fn a_leading_bar_and_line_ends_stand_where_llama_cpp_takes_them() {
    for (text, arms) in [
        ("root ::= | \"a\"", 2),
        ("root ::=\n\n  | \"a\" # one\n", 2),
        ("root ::= \"a\" |\n# two\n \"b\" |", 3),
        ("root ::= (| \"a\"\n | \"b\" |)", 4),
        ("root ::=", 1),
        ("root ::= (\n)\n", 1),
    ] {
        let grammar = grammar(text);
        let found = parts(&grammar, grammar.rules()[0].body).len();
        // The empty text once, however often it is said.
        assert!(found <= arms && found >= arms.min(2), "{text}: {found}");
    }
}

#[test]
fn what_says_nothing_is_warned_of() {
    let text =
        "a ::= a \"x\"\r\nroot ::= \"y\" | b\n\n  b ::= \"z\" b\nc ::= \"c\" d\nd ::= (((c)))";
    let (_, warnings) = parse_with_warnings(text, &GbnfOptions::default()).expect("it is read");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    expect![[r#"
        line 1, column 1: nothing that starts from the root leads to the rule `a`
        line 1, column 1: the rule `a` derives no text: it has no alternative that ends
        line 4, column 3: the rule `b` derives no text: it has no alternative that ends
        line 5, column 1: nothing that starts from the root leads to the rule `c`
        line 5, column 1: the rule `c` derives no text: it has no alternative that ends
        line 6, column 1: nothing that starts from the root leads to the rule `d`
        line 6, column 1: the rule `d` derives no text: it has no alternative that ends"#]]
    .assert_eq(&warnings.join("\n"));
    let sound = "root ::= ((\"a\" b)*)+\nb ::= \"b\"";
    assert_eq!(
        parse_with_warnings(sound, &GbnfOptions::default()).map(|found| found.1),
        Ok(vec![])
    );
}

#[test]
fn extensions_are_refused_by_strict_reading_and_where_they_make_no_sense() {
    let strict = GbnfOptions {
        strict: true,
        ..GbnfOptions::default()
    };
    let mut report = Vec::new();
    for text in [
        "root ::= /[a-z]+/i",
        "root ::= \"a\" & \"b\"",
        "root ::= ~\"a\"",
        "root ::= %until \"a\"",
    ] {
        assert!(parse(text, &GbnfOptions::default()).is_ok(), "{text}");
        report.push(parse(text, &strict).expect_err(text).to_string());
    }
    for text in [
        "root ::= \"é\" /a[b/i",
        "root ::= /(a)\\1/",
        "root ::= /a",
        "root ::= \"a\" & ~",
        "root ::= ~ | \"a\"",
        "root ::= (~)",
        "root ::= ~*",
        "root ::= %until \"\"",
        "root ::= %until",
        "root ::= \"a\" & b\nb ::= \"(\" b \")\" | \"\"",
        "root ::= ~<x>",
        "root ::= root & \"a\"",
    ] {
        report.push(
            parse(text, &GbnfOptions::default())
                .expect_err(text)
                .to_string(),
        );
    }
    expect![[r#"
        line 1, column 10: a pattern between slashes is no GBNF of llama.cpp
          |
        1 | root ::= /[a-z]+/i
          |          ^

        line 1, column 14: an operator of sets is no GBNF of llama.cpp
          |
        1 | root ::= "a" & "b"
          |              ^

        line 1, column 10: an operator of sets is no GBNF of llama.cpp
          |
        1 | root ::= ~"a"
          |          ^

        line 1, column 10: `%until` is no GBNF of llama.cpp
          |
        1 | root ::= %until "a"
          |          ^

        line 1, column 16: in the pattern: unclosed character class
          |
        1 | root ::= "é" /a[b/i
          |                ^

        line 1, column 14: in the pattern: a back-reference is not supported
          |
        1 | root ::= /(a)\1/
          |              ^

        line 1, column 10: the pattern is not closed
          |
        1 | root ::= /a
          |          ^
        hint: a pattern ends in a slash, in its line

        line 1, column 16: there is nothing to take the complement of
          |
        1 | root ::= "a" & ~
          |                ^

        line 1, column 10: there is nothing to take the complement of
          |
        1 | root ::= ~ | "a"
          |          ^

        line 1, column 11: there is nothing to take the complement of
          |
        1 | root ::= (~)
          |           ^

        line 1, column 11: expected something to match, `|` or the end of the rule
          |
        1 | root ::= ~*
          |           ^
        hint: a quantifier stands behind what it repeats

        line 1, column 10: a text ends somewhere: the stop is empty
          |
        1 | root ::= %until ""
          |          ^

        line 1, column 16: expected a literal
          |
        1 | root ::= %until
          |                ^
        hint: the text ends within a rule

        line 1, column 14: an operand of `&` or `~` is not regular: it comes back to itself
          |
        1 | root ::= "a" & b
          |              ^
        hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

        line 1, column 10: an operand of `&` or `~` is not regular: it names tokens or has JSON in it
          |
        1 | root ::= ~<x>
          |          ^
        hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

        line 1, column 15: an operand of `&` or `~` is not regular: it comes back to itself
          |
        1 | root ::= root & "a"
          |               ^
        hint: operands are made of literals, classes, patterns and rules that do not come back to themselves"#]].assert_eq(&report.join("\n\n"));
}

#[test]
fn rules_in_operands_are_reached() {
    let text = "root ::= word & ~banned\nword ::= [a-z]+\nbanned ::= \"no\" | yes\nyes ::= \"yes\"\nspare ::= word";
    let (_, warnings) = parse_with_warnings(text, &GbnfOptions::default()).expect("it is read");
    let lines: Vec<usize> = warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [5]);
}

#[test]
fn no_text_panics() {
    use proptest::prelude::*;
    proptest!(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() },
        |(rest in r#"([()\[\]{}|*+?^\\.,:=!<>#"\-0-9abnxu \n]|é| ::= ){0,24}"#)| {
        for text in [format!("root ::= {rest}"), rest] {
            if let Err(error) = parse(&text, &GbnfOptions::default()) {
                let _ = error.to_string();
            }
        }
    });
}

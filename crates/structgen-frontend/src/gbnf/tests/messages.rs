//! Messages for texts that are not grammars.

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
pub(super) fn refused(texts: &[&str], expected: Expect) {
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
fn what_is_not_closed_is_told_where_it_begins() {
    refused(
        &[
            "root ::= \"a\" b\nb ::= \"unclosed\nc ::= [0-9]\n",
            "root ::= \"a\" b\nb ::= \"unclosed\nc ::= \"x\"\n",
            "root ::= \"a\" b\nb ::= \"unclosed\nc ::= \"x\" \"y\"\n",
            "root ::= b b\nb ::= \"x\" | \"unclosed\nc ::= \"y\"\n# a \"comment\"\nd ::= [a\"]\n",
            "root ::= b\nb ::= [a-z\nc ::= \"x\"\n",
            "root ::= %until \"end",
        ],
        expect![[r#"
            line 2, column 7: the literal is not closed
              |
            2 | b ::= "unclosed
              |       ^

            line 3, column 9: the literal is not closed
              |
            3 | c ::= "x"
              |         ^
            hint: the literal that begins in line 2, column 7 ends in line 3: is it closed where it should be?

            line 3, column 13: the literal is not closed
              |
            3 | c ::= "x" "y"
              |             ^
            hint: the literal that begins in line 2, column 7 ends in line 3: is it closed where it should be?

            line 5, column 10: expected something to match, a quantifier, `|` or the end of the rule
              |
            5 | d ::= [a"]
              |          ^
            hint: the literal that begins in line 2, column 13 ends in line 3: is it closed where it should be?

            line 2, column 7: the class is not closed
              |
            2 | b ::= [a-z
              |       ^

            line 1, column 10: the literal is not closed
              |
            1 | root ::= %until "end
              |          ^"#]],
    );
    // Both may have several lines.
    assert!(parse("root ::= \"a\nb\" [\n]", &GbnfOptions::default()).is_ok());
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

            line 1, column 10: the literal is not closed
              |
            1 | root ::= "a
              |          ^

            line 1, column 10: the class is not closed
              |
            1 | root ::= [a
              |          ^

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

            line 1, column 11: `\uD800` is not a Unicode character
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

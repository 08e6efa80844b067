mod extensions;
mod imports;
mod messages;
mod schemas;

use expect_test::expect;
use structgen_grammar::{CharSet, Expr, ExprId, Regular, TokenTerminal};

use super::*;

fn grammar(text: &str) -> Grammar {
    match parse(text, &GbnfOptions::default()) {
        Ok(grammar) => grammar,
        Err(error) => panic!("{error}"),
    }
}

/// Options with these files.
fn files(files: &[(&'static str, &'static str)]) -> GbnfOptions {
    let files = files.to_vec();
    let read = move |path: &str| match files.iter().find(|(name, _)| *name == path) {
        Some((_, text)) => Ok((*text).to_owned()),
        None => Err("there is no such file".into()),
    };
    GbnfOptions {
        files: Some(GbnfFiles::new(read)),
        ..GbnfOptions::default()
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
    // Parentheses in literals, classes and comments do not count.
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
        // The empty text is found once, however often it is listed.
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

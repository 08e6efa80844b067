//! Extensions of llama.cpp's notation.

use expect_test::expect;
use structgen_grammar::{CharSet, Expr, Regular};

use super::messages::refused;
use super::*;

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
        "root ::= @a(\"a\")",
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
        "root ::= @(\"a\")",
        "root ::= @a (\"a\")",
        "root ::= @a(\"a\"",
        "root ::= \"a\" @",
        "root ::= ~@a(\"b\")",
        "root ::= a & /x/\na ::= \"x\" | @name(\"y\")",
    ] {
        report.push(
            parse(text, &GbnfOptions::default())
                .expect_err(text)
                .to_string(),
        );
    }
    expect![[r#"
        line 1, column 10: a pattern between slashes is not part of llama.cpp's GBNF
          |
        1 | root ::= /[a-z]+/i
          |          ^

        line 1, column 14: an operator of sets is not part of llama.cpp's GBNF
          |
        1 | root ::= "a" & "b"
          |              ^

        line 1, column 10: an operator of sets is not part of llama.cpp's GBNF
          |
        1 | root ::= ~"a"
          |          ^

        line 1, column 10: `%until` is not part of llama.cpp's GBNF
          |
        1 | root ::= %until "a"
          |          ^

        line 1, column 10: a capture is not part of llama.cpp's GBNF
          |
        1 | root ::= @a("a")
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
        hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

        line 1, column 11: expected a name
          |
        1 | root ::= @("a")
          |           ^

        line 1, column 10: expected something to match, `|` or the end of the rule
          |
        1 | root ::= @a ("a")
          |          ^
        hint: a part of the output is named as `@name(…)`

        line 1, column 16: expected something to match, a quantifier, `|` or `)`
          |
        1 | root ::= @a("a"
          |                ^
        hint: the parenthesis in line 1, column 10 is not closed

        line 1, column 15: expected a name
          |
        1 | root ::= "a" @
          |               ^
        hint: the text ends within a rule

        line 1, column 10: an operand of `&` or `~` is not regular: it names a part of the output
          |
        1 | root ::= ~@a("b")
          |          ^
        hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

        line 1, column 12: an operand of `&` or `~` is not regular: it names a part of the output
          |
        1 | root ::= a & /x/
          |            ^
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
fn captures_name_what_a_group_matches() {
    let text = "root ::= @a.b-1([a-z]* @é(\n  | \"x\" b\n))+ @empty()\nb ::= @b(\"y\"?)";
    let grammar = grammar(text);
    expect![[r#"
        root ::= @a.b-1([a-z]* @é("" | "x" b))+ @empty("")
        b ::= @b("y"?)
    "#]]
    .assert_eq(&grammar.to_string());
    // The printed grammar parses to the same grammar.
    assert_eq!(
        parse(&grammar.to_string(), &GbnfOptions::default()),
        Ok(grammar)
    );
}

#[test]
fn captures_nest_in_any_depth() {
    for depth in [63, 64, 65, 100_000] {
        let text = format!("root ::= {}\"a\"{}", "@a(".repeat(depth), ")".repeat(depth));
        assert!(parse(&text, &GbnfOptions::default()).is_ok(), "{depth}");
    }
    let options = GbnfOptions {
        max_nesting: 2,
        ..GbnfOptions::default()
    };
    let error = parse("root ::= @a((@b(\"a\")))", &options).expect_err("too deep");
    assert_eq!(error.column, 14);
}

#[test]
fn limits_of_characters_are_counters() {
    let set = |text: &str| match body(text) {
        Expr::Rule(_) => {
            let grammar = grammar(text);
            let Expr::Rule(rule) = *grammar.expr(grammar.rule(grammar.root()).body) else {
                panic!("{grammar}");
            };
            grammar.expr(grammar.rule(rule).body).clone()
        }
        other => other,
    };
    let Expr::Regular(Regular::Intersection(parts)) = set("root ::= %chars{2,70000}([a-z]*)")
    else {
        panic!("no intersection");
    };
    assert_eq!(
        parts[1],
        Regular::repeat(Regular::Chars(CharSet::all()), 2, Some(70_000))
    );
    refused(
        &[
            "root ::= %chars(\"a\")",
            "root ::= %chars{3}",
            "root ::= %chars{3,2}(\"a\")",
            "root ::= %chars{3,4(\"a\")",
            "root ::= %chars{0,3}(a)\na ::= \"(\" a \")\" | \"\"",
            "root ::= %chars{0,3}(@a(\"b\"))",
            "root ::= %chars{0,3}(<x>)",
            "root ::= %chars{0,3}(\"a\"",
            "root ::= %tokens(\"a\")",
            "root ::= %tokens{3}(\"a\")",
            "root ::= %tokens{0,0}(\"a\")",
            "root ::= %temperature(\"a\")",
            "root ::= %temperature{.5}(\"a\")",
            "root ::= %temperature{0.5}\"a\"",
            "root ::= %temperature{9e9}(\"a\")",
            "root ::= %char{0,3}(\"a\")",
        ],
        expect![[r#"
            line 1, column 16: expected a counter such as `{0,80}`
              |
            1 | root ::= %chars("a")
              |                ^
            hint: a limit is written `%chars{0,80}(…)`, with the numbers of a counter

            line 1, column 19: expected `(`
              |
            1 | root ::= %chars{3}
              |                   ^
            hint: a limit is written `%chars{0,80}(…)`, with the numbers of a counter

            line 1, column 16: the counter's numbers are out of order
              |
            1 | root ::= %chars{3,2}("a")
              |                ^

            line 1, column 16: expected a counter such as `{0,80}`
              |
            1 | root ::= %chars{3,4("a")
              |                ^
            hint: a limit is written `%chars{0,80}(…)`, with the numbers of a counter

            line 1, column 10: what `%chars` limits is not regular: it comes back to itself
              |
            1 | root ::= %chars{0,3}(a)
              |          ^
            hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

            line 1, column 10: what `%chars` limits is not regular: it names a part of the output
              |
            1 | root ::= %chars{0,3}(@a("b"))
              |          ^
            hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

            line 1, column 10: what `%chars` limits is not regular: it names tokens or has JSON in it
              |
            1 | root ::= %chars{0,3}(<x>)
              |          ^
            hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

            line 1, column 25: expected something to match, a quantifier, `|` or `)`
              |
            1 | root ::= %chars{0,3}("a"
              |                         ^
            hint: the parenthesis in line 1, column 10 is not closed

            line 1, column 17: expected a counter such as `{0,80}`
              |
            1 | root ::= %tokens("a")
              |                 ^
            hint: a limit is written `%tokens{0,50}(…)`, with the numbers of a counter

            line 1, column 17: only the most tokens can be limited
              |
            1 | root ::= %tokens{3}("a")
              |                 ^
            hint: a limit is written `%tokens{0,50}(…)`: any text can be cut into more tokens

            line 1, column 17: only the most tokens can be limited
              |
            1 | root ::= %tokens{0,0}("a")
              |                 ^
            hint: a limit is written `%tokens{0,50}(…)`: any text can be cut into more tokens

            line 1, column 10: expected something to match, `|` or the end of the rule
              |
            1 | root ::= %temperature("a")
              |          ^
            hint: a temperature is written `%temperature{0.7}(…)`

            line 1, column 23: expected a number such as `0.7`
              |
            1 | root ::= %temperature{.5}("a")
              |                       ^
            hint: a temperature is written `%temperature{0.7}(…)`

            line 1, column 27: expected `(`
              |
            1 | root ::= %temperature{0.5}"a"
              |                           ^
            hint: a temperature is written `%temperature{0.7}(…)`

            line 1, column 10: expected something to match, `|` or the end of the rule
              |
            1 | root ::= %temperature{9e9}("a")
              |          ^
            hint: a temperature is written `%temperature{0.7}(…)`

            line 1, column 10: expected something to match, `|` or the end of the rule
              |
            1 | root ::= %char{0,3}("a")
              |          ^
            hint: what begins with `%` is `%until "…"`, `%json {…}`, `%json "file.json"`, `%chars{0,80}(…)`, `%tokens{0,50}(…)`, `%temperature{0.7}(…)` or, on a line of its own, `%import name "file.gbnf"`"#]],
    );
    let deep = format!(
        "root ::= {}\"a\"{}",
        "%chars{0,9}(".repeat(5_000),
        ")".repeat(5_000)
    );
    let error = parse(&deep, &GbnfOptions::default())
        .expect_err("deep")
        .to_string();
    assert!(
        error.contains("levels of a set that is operated on"),
        "{error}"
    );
}

#[test]
fn a_set_of_too_many_literals_is_refused_whatever_operates_on_it() {
    let literals: Vec<String> = (0..300_000)
        .map(|number| format!("\"a{number}\""))
        .collect();
    for operator in ["~", "\"a1\" & ", "%chars{0,9}"] {
        let text = format!("root ::= {operator}({})", literals.join(" | "));
        let error = parse(&text, &GbnfOptions::default()).expect_err(operator);
        let limit = GbnfErrorKind::Limit {
            what: "nodes of a set that is operated on",
            limit: 100_000,
        };
        assert_eq!(error.kind, limit);
    }
}

#[test]
fn names_with_an_underscore_are_an_extension() {
    let strict = GbnfOptions {
        strict: true,
        ..GbnfOptions::default()
    };
    for (text, column) in [
        ("root ::= \"a\" b_c\nb_c ::= \"b\"", 14),
        ("_ ::= \"b\"\nroot ::= \"a\"", 1),
    ] {
        assert!(parse(text, &GbnfOptions::default()).is_ok(), "{text}");
        let error = parse(text, &strict).expect_err(text);
        assert_eq!(error.column, column, "{error}");
        assert!(matches!(error.kind, GbnfErrorKind::Extension(_)), "{error}");
    }
    assert!(parse("root ::= a-B1\na-B1 ::= \"_\"", &strict).is_ok());
}

#[test]
fn guides_are_kept_with_what_they_guide() {
    let text = "root ::= %tokens{0,50}([a-z]* \"x\") %temperature{0.25}(%tokens { 0 , 3 } ( b ))\nb ::= \"b\"";
    let grammar = parse(text, &GbnfOptions::default()).expect("a grammar");
    assert_eq!(
        grammar.to_string(),
        "root ::= %tokens{0,50}([a-z]* \"x\") %temperature{0.25}(%tokens{0,3}(b))\nb ::= \"b\"\n"
    );
    let strict = GbnfOptions {
        strict: true,
        ..GbnfOptions::default()
    };
    let error = parse("root ::= %temperature{1}(\"a\")", &strict).expect_err("an extension");
    assert!(error.to_string().contains("`%temperature`"), "{error}");
}

use super::*;
use crate::gbnf::{GbnfOptions, parse};

#[track_caller]
fn converted(text: &str, notation: Notation) -> String {
    let gbnf = to_gbnf(text, notation, None).unwrap_or_else(|error| panic!("{error}"));
    if let Err(error) = parse(&gbnf, &GbnfOptions::default()) {
        panic!("{gbnf}\n{error}");
    }
    gbnf
}

#[test]
fn abnf_becomes_gbnf() {
    let text = "; RFC 3339, in part\r\ndate = year \"-\" month\r\n   / %s\"Now\" ; or\r\nyear = 4DIGIT\r\nMonth = 2*2DIGIT\r\ndate =/ \"z1\" [*(\"a\" / %x41-43 %d13.10)] %b1010\r\n";
    expect_test::expect![[r#"
        root ::= date
        date ::= year "-" month | "Now" | [Zz] "1" (([Aa] | [A-C] "\r\n")*)? "\n"
        year ::= digit{4}
        month ::= digit{2}
        digit ::= [0-9]
    "#]]
    .assert_eq(&converted(text, Notation::Abnf));
    expect_test::expect![[r#"
        root ::= lwsp* char [Rr] [Oo] [Oo] [Tt]
        a ::= hexdig
        lwsp ::= (wsp | crlf wsp)*
        char ::= [\x01-\x7F]
        hexdig ::= digit | [Aa] | [Bb] | [Cc] | [Dd] | [Ee] | [Ff]
        wsp ::= sp | htab
        crlf ::= cr lf
        digit ::= [0-9]
        sp ::= " "
        htab ::= "\t"
        cr ::= "\r"
        lf ::= "\n"
    "#]]
    .assert_eq(&converted(
        "Root = *LWSP CHAR \"root\"\na = HEXDIG",
        Notation::Abnf,
    ));
}

#[test]
fn a_core_rule_can_be_extended() {
    expect_test::expect![[r#"
        root ::= a
        a ::= alpha+ hexdig
        alpha ::= [A-Z] | [a-z] | "_" | "-"
        hexdig ::= digit | [Aa] | [Bb] | [Cc] | [Dd] | [Ee] | [Ff] | "_"
        digit ::= [0-9]
    "#]]
    .assert_eq(&converted(
        "a = 1*ALPHA HEXDIG\nALPHA =/ \"_\"\nhexdig =/ \"_\"\nalpha =/ \"-\"",
        Notation::Abnf,
    ));
}

#[test]
fn constraints_that_a_specification_notes_are_no_classes() {
    let text = "[28] doctypedecl ::= '<!DOCTYPE' S Name '>' [VC: Root Element Type]\n [WFC: External Subset]\n[7] Name ::= [a-z]+ [NSC: Reserved]\nS ::= ' ' [ nsc:\nNo Prefix ] [VC]";
    expect_test::expect![[r#"
        root ::= doctypedecl
        doctypedecl ::= "<!DOCTYPE" S Name ">"
        Name ::= [a-z]+
        S ::= " " [VC]
    "#]]
    .assert_eq(&converted(text, Notation::Ebnf));
}

#[test]
fn ebnf_becomes_gbnf() {
    let text = "/* XML, in part */\n[1]  document ::= prolog element*  [ vc: a ]\n[2] prolog ::= Char - [^a-z#x9] | ('<' Name \"'\")+\n[2a] Char::= #x9 | [#xE000-#xFFFD]\n     | [^-^\\]\nelement ::= (Name - ('x' 'y')?)\nName ::= [a-zA-Z_:]";
    expect_test::expect![[r#"
        root ::= document
        document ::= prolog element*
        prolog ::= Char & ~[^a-z\t] | ("<" Name "'")+
        Char ::= [\t] | [\uE000-\uFFFD] | [^\-\x5E\\]
        element ::= Name & ~(("x" "y")?)
        Name ::= [a-zA-Z_:]
    "#]]
    .assert_eq(&converted(text, Notation::Ebnf));
    expect_test::expect![[r#"
        root ::= a
        a ::= root-2 | b-c
        root-2 ::= "\\\\"
        b-c ::= a-b? ""
        a-b ::= "ä"
    "#]]
    .assert_eq(&converted(
        "a ::= root | b.c\nroot ::= \"\\\\\"\nb.c ::= a-b? \"\"\na-b ::= 'ä'",
        Notation::Ebnf,
    ));
}

#[test]
fn what_is_no_grammar_is_refused_by_its_place() {
    let mut report = String::new();
    for (notation, texts) in [
        (
            Notation::Abnf,
            &[
                "",
                "a = b",
                "a = <prose>",
                "a = (\"b\"",
                "a = %x110000",
                "a = 3*2\"b\"",
                "a =",
                "a = \"b\"\nA = \"c\"",
                "= b",
                "a = %y1",
                "a = \"b",
                "a b",
                "a = b\nb =/ \"c\"\nb = \"d\"",
                "a = DIGIT\ndigit =/ \"x\"\nDIGIT = \"y\"",
            ][..],
        ),
        (
            Notation::Ebnf,
            &[
                "",
                "a ::= b",
                "a ::= [b",
                "a ::= ('b'",
                "a ::= [z-a]",
                "a = 'b'",
                "a ::= 'b",
                "a ::= /* c",
                "a ::= []",
                "a ::= 'a'\na ::= 'b'",
                "a ::= #xD800",
                "a ::= * 'b'",
            ][..],
        ),
    ] {
        for text in texts {
            let error = to_gbnf(text, notation, None).expect_err(text);
            report += &format!("{text}: {error}\n");
        }
    }
    expect_test::expect![[r#"
        : line 1, column 1: there is no rule
        a = b: line 1, column 5: there is no rule `b`
        a = <prose>: line 1, column 5: a description in prose is no rule
        a = ("b": line 1, column 5: the group is not closed
        a = %x110000: line 1, column 5: this is not a Unicode character
        a = 3*2"b": line 1, column 5: the numbers are out of order
        a =: line 1, column 4: expected something to match
        a = "b"
        A = "c": line 2, column 1: the rule `a` is defined already
        = b: line 1, column 1: expected the name of a rule
        a = %y1: line 1, column 5: expected `%x`, `%d`, `%b`, `%s"` or `%i"`
        a = "b: line 1, column 5: the string is not closed
        a b: line 1, column 3: expected `=` or `=/`
        a = b
        b =/ "c"
        b = "d": line 2, column 1: `=/` adds to `b`, which is not defined before it
        a = DIGIT
        digit =/ "x"
        DIGIT = "y": line 3, column 1: the rule `digit` is defined already
        : line 1, column 1: there is no rule
        a ::= b: line 1, column 7: there is no rule `b`
        a ::= [b: line 1, column 7: the class is not closed
        a ::= ('b': line 1, column 7: the group is not closed
        a ::= [z-a]: line 1, column 7: the range's ends are out of order
        a = 'b': line 1, column 3: expected `::=`
        a ::= 'b: line 1, column 7: the string is not closed
        a ::= /* c: line 1, column 7: the comment is not closed
        a ::= []: line 1, column 7: the class is empty
        a ::= 'a'
        a ::= 'b': line 2, column 1: the rule `a` is defined already
        a ::= #xD800: line 1, column 7: this is not a Unicode character
        a ::= * 'b': line 1, column 7: expected something to match
    "#]]
    .assert_eq(&report);
    assert!(
        to_gbnf("a = \"b\"\nc = a", Notation::Abnf, Some("C"))
            .is_ok_and(|it| it.starts_with("root ::= c\n"))
    );
    assert!(to_gbnf("a = \"b\"", Notation::Abnf, Some("x")).is_err());
    for notation in [Notation::Abnf, Notation::Ebnf] {
        let deep = format!(
            "a {} {}\"b\"",
            ["=", "::="][usize::from(notation == Notation::Ebnf)],
            "(".repeat(100_000)
        );
        let error = to_gbnf(&deep, notation, None).expect_err("too deep");
        assert!(error.message.contains("deeper than 200"), "{error}");
    }
}

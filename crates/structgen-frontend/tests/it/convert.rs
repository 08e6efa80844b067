//! Converting other notations to GBNF.

use structgen_frontend::convert::{Notation, to_gbnf};

/// More rules than can be compared in pairs.
const MANY: usize = 200_000;

#[test]
fn the_root_is_found_regardless_of_case_in_abnf_only() {
    let gbnf = to_gbnf("a = \"x\"\nb = a", Notation::Abnf, Some("B"));
    assert!(gbnf.is_ok_and(|gbnf| gbnf.starts_with("root ::= b\n")));
    let ebnf = "a ::= 'x'\nA ::= a 'y'";
    let gbnf = to_gbnf(ebnf, Notation::Ebnf, Some("A"));
    assert!(gbnf.is_ok_and(|gbnf| gbnf.starts_with("root ::= A\n")));
    let error = to_gbnf("a ::= 'x'", Notation::Ebnf, Some("A")).expect_err("there is no `A`");
    assert_eq!(error.message, "there is no rule `A`");
}

#[test]
fn many_rules_of_abnf_are_converted() {
    let rules: String = (0..MANY).map(|i| format!("rule-{i} = DIGIT\n")).collect();
    let gbnf = to_gbnf(&rules, Notation::Abnf, None).expect("it is a grammar");
    assert_eq!(gbnf.lines().count(), MANY + 2);
    assert!(gbnf.ends_with("rule-199999 ::= digit\ndigit ::= [0-9]\n"));
}

#[test]
fn a_long_line_of_ebnf_is_converted() {
    let line = format!("a ::= b{}\n[2] b ::= 'c'", " [1]".repeat(MANY));
    let gbnf = to_gbnf(&line, Notation::Ebnf, None).expect("it is a grammar");
    assert_eq!(gbnf.matches("[1]").count(), MANY);
}

#[test]
fn many_names_without_a_letter_of_gbnf_are_told_apart() {
    let names = (0..MANY / 10).map(|i| char::from_u32(0x4e00 + i as u32).expect("it is a letter"));
    let rules: String = names.map(|name| format!("{name} ::= 'x'\n")).collect();
    let gbnf = to_gbnf(&rules, Notation::Ebnf, None).expect("it is a grammar");
    assert!(gbnf.contains("\n- ::= \"x\"\n--2 ::= \"x\"\n--3 ::= "));
    assert!(gbnf.ends_with("\n--20000 ::= \"x\"\n"));
}

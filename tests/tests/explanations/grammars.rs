//! Refused texts of patterns and grammars.

use structgen::explain::{Explainer, Explanation};
use structgen::frontend::gbnf::GbnfOptions;
use structgen::{Checker, Constraint};

fn explain(explainer: &Explainer, text: &str) -> Explanation {
    let explanation = explainer.explain(text.as_bytes()).unwrap();
    let explanation = explanation.unwrap_or_else(|| panic!("{text:?} is to be refused"));
    let nearest = explainer.nearest(text.as_bytes()).unwrap();
    let nearest = nearest.unwrap_or_else(|| panic!("nothing is near to {text:?}"));
    let checked = explainer.checker().check(&nearest.text).unwrap();
    assert_eq!(checked, None, "{text:?}: {nearest:?}");
    explanation
}

fn nearest(explainer: &Explainer, text: &str) -> String {
    let nearest = explainer.nearest(text.as_bytes()).unwrap().unwrap();
    String::from_utf8(nearest.text).unwrap()
}

#[test]
fn a_text_near_to_one_that_a_pattern_refuses_matches() {
    for (pattern, cases) in [
        (
            "[a-z]{2,4}-[0-9]+",
            &[
                ("abcde-12", 4, "abcd-12"),
                ("ab12", 2, "ab-12"),
                ("ab-", 3, "ab-0"),
                ("", 0, "aa-0"),
            ][..],
        ),
        (
            r"\d{4}-\d{2}-\d{2}",
            &[
                ("2024/05/12", 4, "2024-05-12"),
                ("2024-5-12", 6, "2024-50-12"),
            ],
        ),
        (
            "(GET|POST) /[a-z/]*",
            &[("PUT /a", 1, "POST /a"), ("GET", 3, "GET /")],
        ),
        ("größe: [0-9]+ m", &[("grösse: 3 m", 4, "größe: 3 m")]),
        ("(?:ab)+", &[("ababa", 5, "ababab"), ("x", 0, "ab")]),
    ] {
        let constraint = Constraint::regex(pattern).unwrap();
        let explainer = Explainer::new(&constraint, Checker::new(&constraint).unwrap());
        for &(text, offset, near) in cases {
            let explanation = explain(&explainer, text);
            assert_eq!(explanation.mismatch.offset, offset, "{pattern} {text:?}");
            assert_eq!(nearest(&explainer, text), near, "{pattern} {text:?}");
        }
    }
}

const SUMS: &str = r#"root ::= expr
expr ::= term (("+" | "-") term)*
term ::= number | "(" expr ")"
number ::= [0-9]+ ("." [0-9]+)?
"#;

const LISTS: &str = r#"root ::= list
list ::= item | list "," item # recursive on the left
item ::= word | "[" list "]"
word ::= [a-z]+
"#;

/// The text, the offset, the innermost rule in progress with its line, the rules that could go on, and the nearest
/// text.
type Case = (
    &'static str,
    usize,
    (&'static str, usize),
    &'static [&'static str],
    &'static str,
);

#[test]
fn the_rule_and_its_line_are_right_and_a_near_text_matches() {
    let cases: [(&str, &[Case]); 2] = [
        (
            SUMS,
            &[
                (
                    "1+(2*3)",
                    4,
                    ("number", 4),
                    &["term", "expr", "number"],
                    "1+(2+3)",
                ),
                ("1.x", 2, ("number", 4), &["number"], "1.0"),
                ("(1", 2, ("number", 4), &["term", "expr", "number"], "(1)"),
                ("1+", 2, ("expr", 2), &["term", "number"], "1+0"),
            ],
        ),
        (
            LISTS,
            &[
                ("ab,[c", 5, ("word", 4), &["list", "item", "word"], "ab,[c]"),
                ("ab,,c", 3, ("list", 2), &["item", "word"], "ab,a,c"),
            ],
        ),
    ];
    for (grammar, cases) in cases {
        let constraint = Constraint::gbnf(grammar).unwrap();
        let explainer = Explainer::new(&constraint, Checker::new(&constraint).unwrap())
            .with_grammar(&constraint, grammar, &GbnfOptions::default())
            .unwrap();
        for &(text, offset, rule, expected, near) in cases {
            let explanation = explain(&explainer, text);
            assert_eq!(explanation.mismatch.offset, offset, "{text:?}");
            let innermost = explanation.rules.last().unwrap();
            assert_eq!(
                (&*innermost.name, innermost.line),
                (rule.0, Some(rule.1)),
                "{text:?}"
            );
            let mut rules: Vec<&str> = { explanation.expected_of_rules.iter() }
                .map(|next| &*next.rule.name)
                .collect();
            rules.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(rules, expected, "{text:?}");
            assert_eq!(nearest(&explainer, text), near, "{text:?}");
        }
    }
}

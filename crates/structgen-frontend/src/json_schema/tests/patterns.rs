//! Overlapping patterns: contradictions are detected, and disjoint patterns become a plain union.

use expect_test::{Expect, expect};

use super::print::print;
use crate::json_schema::{Profile, SchemaOptions, compile_str};

fn check(schema: &str, expect: Expect) {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let shown = match compile_str(schema, &options) {
        Ok(compiled) => print(&compiled.grammar),
        Err(error) => error.to_string(),
    };
    let value = shown.lines().next().unwrap_or_default();
    expect.assert_eq(value);
}

#[test]
fn arms_with_disjoint_patterns_exclude_nothing() {
    check(
        r##"{"type": "string", "oneOf": [{"pattern": "^a[0-9]+$"}, {"pattern": "^b[0-9]+$"}]}"##,
        expect![[r##"# = string<("a" ([0-9]){1,} | "b" ([0-9]){1,})>"##]],
    );
    check(
        r##"{"type": "string", "oneOf": [{"pattern": "^(?!x)..$"}, {"pattern": "^x"}]}"##,
        expect![[
            r##"# = string<((any)* (?<!any) (?!"x") [\0-\t\u{b}-\u{c}\u{e}-‧\u{202a}-\u{10ffff}] [\0-\t\u{b}-\u{c}\u{e}-‧\u{202a}-\u{10ffff}] (?!an…> | string<"x" (any)*>"##
        ]],
    );
}

#[test]
fn patterns_that_contradict_one_another_are_found() {
    check(
        r##"{"type": "string", "allOf": [{"pattern": "^[a-m]"}, {"pattern": "^[n-z]"}]}"##,
        expect![
            "#: no value is valid under this schema; contradicting: #/type, #/allOf, #/allOf/0/pattern, #/allOf/1/pattern"
        ],
    );
    check(
        r##"{"type": "string", "pattern": "\\bfoo\\b", "maxLength": 2}"##,
        expect![
            "#: no value is valid under this schema; contradicting: #/type, #/pattern, #/maxLength"
        ],
    );
    check(
        r##"{"type": ["string", "null"], "pattern": "^(?:aa)+$", "not": {"pattern": "^(?:aa)*$"}}"##,
        expect!["#: no value is valid under this schema; contradicting: #/pattern, #/not"],
    );
}

#[test]
fn what_looks_around_is_a_text_of_its_own() {
    check(
        r##"{"type": "string", "pattern": "^(?!con$)[a-z]+$", "maxLength": 8}"##,
        expect![[
            r##"# = string<((any)* (?<!any) (?!"con" (?!any)) ([a-z]){1,} (?!any) (any)*)>{0,8}"##
        ]],
    );
}

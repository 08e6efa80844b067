//! Masks that are computed ahead.

use std::time::Duration;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, WarmLimits, WarmReport};
use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_frontend::regex::{self, RegexOptions};
use structgen_grammar::{Expr, Grammar, JsonForm, TokenTerminal};

/// The default limits, with more time, since other tests run at the same time.
const LIMITS: WarmLimits = WarmLimits {
    states: 1_000,
    time: Duration::from_secs(60),
};

fn regex(pattern: &str) -> Grammar {
    let set = regex::parse(pattern, RegexOptions::rust()).unwrap();
    let build =
        |builder: &mut structgen_grammar::GrammarBuilder| builder.expr(Expr::Regular(set.clone()));
    crate::support::json(build, JsonForm::generate())
}

fn schema(text: &str) -> Grammar {
    json_schema::compile_str(text, &SchemaOptions::new())
        .unwrap()
        .grammar
}

fn choices(texts: &[&str]) -> Grammar {
    let build = |builder: &mut structgen_grammar::GrammarBuilder| {
        let arms: Vec<_> = texts.iter().map(|text| builder.bytes(text)).collect();
        builder.choice(arms)
    };
    crate::support::json(build, JsonForm::generate())
}

/// Walks at random, and returns how many masks were computed.
fn computed(constraint: &CompiledConstraint) -> u64 {
    let before = constraint.statistics().masks_computed;
    for seed in 0..40 {
        crate::support::walk_and_compare(constraint, seed, 20);
    }
    constraint.statistics().masks_computed - before
}

#[test]
fn walks_through_small_grammars_compute_no_mask() {
    let token = |builder: &mut structgen_grammar::GrammarBuilder| {
        let eos = builder.expr(Expr::Token(TokenTerminal::Name("<eos>".into())));
        let text = builder.bytes("<eos>");
        let either = builder.choice([eos, text]);
        let end = builder.bytes("foo");
        builder.sequence([either, end])
    };
    let grammars = [
        choices(&[
            "foo",
            "foobar",
            "bar",
            "true",
            "aaaaaaaaaaaaaaaaaaaaab",
            "日本語",
        ]),
        regex("[a-c]{1,3}-[0-9]{2}(é|日本)?"),
        regex("(foo|bar)+x*"),
        schema(r#"{"enum": ["foo", 1.5, null, {"a": [true]}]}"#),
        schema(
            r#"{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": [1, 2]}}, "required": ["b"]}"#,
        ),
        crate::support::json(token, JsonForm::generate()),
    ];
    for grammar in grammars {
        let shown = grammar.to_string();
        let constraint = crate::support::compile(grammar.clone());
        let report = constraint.warm(&LIMITS).unwrap();
        assert!(report.is_complete, "{report:?} {shown}");
        assert_eq!(computed(&constraint), 0, "{shown}");
        // Without warming, masks are computed.
        assert!(computed(&crate::support::compile(grammar)) > 0);
        // A second call has nothing left to do.
        let before = constraint.statistics().masks_computed;
        assert_eq!(constraint.warm(&LIMITS).unwrap(), report);
        assert_eq!(constraint.statistics().masks_computed, before);
    }
}

#[test]
fn limits_are_kept() {
    let warm = |limits| {
        let constraint = crate::support::compile(choices(&["foobar", "bar"]));
        let report = constraint.warm(&limits).unwrap();
        assert_eq!(constraint.statistics().masks_computed, report.states as u64);
        crate::support::walk_and_compare(&constraint, 1, 10);
        report
    };
    let all = LIMITS;
    let WarmReport {
        states,
        is_complete,
        ..
    } = warm(all);
    // What may follow is either word, `oobar`, `obar`, `bar`, `ar`, `r`, or nothing.
    assert_eq!((states, is_complete), (7, true));
    let exactly = warm(WarmLimits { states, ..all });
    assert_eq!((exactly.states, exactly.is_complete), (states, true));
    let few = warm(WarmLimits { states: 3, ..all });
    assert_eq!((few.states, few.is_complete), (3, false));
    let none = warm(WarmLimits {
        time: Duration::ZERO,
        ..all
    });
    assert_eq!((none.states, none.is_complete), (0, false));
}

#[test]
fn what_has_no_end_is_not_complete() {
    let constraint = crate::support::compile(crate::support::json(
        crate::support::any_value,
        JsonForm::exact(),
    ));
    let limits = WarmLimits {
        states: 200,
        time: Duration::from_secs(60),
    };
    let report = constraint.warm(&limits).unwrap();
    assert_eq!((report.states, report.is_complete), (200, false));
    for seed in 0..5 {
        crate::support::walk_and_compare(&constraint, seed, 30);
    }
}

#[test]
fn masks_are_not_computed_to_be_thrown_away() {
    let tables = crate::support::vocabulary();
    let options = ConstraintOptions {
        mask_bytes: 1_000,
        ..ConstraintOptions::default()
    };
    let grammar = choices(&["foobar", "bar"]);
    let constraint = CompiledConstraint::new(grammar, &tables, &options).unwrap();
    let report = constraint.warm(&LIMITS).unwrap();
    assert!(
        (1..7).contains(&report.states) && !report.is_complete,
        "{report:?}"
    );
    assert_eq!(constraint.statistics().masks_evicted, 0);
    assert!(constraint.statistics().mask_bytes <= 1_000);
}

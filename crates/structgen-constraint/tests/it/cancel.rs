//! A cancelled token ends work with an error that names the reason, and the matcher is unchanged.

use std::time::{Duration, Instant};

use crate::support::{compile, vocabulary};
use structgen_constraint::{
    CancelToken, CompileError, CompiledConstraint, ConstraintOptions, MatcherError,
};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_grammar::Grammar;
use structgen_vocab::TokenId;

/// The time to read a text grows with the cube of its length.
fn ambiguous() -> Grammar {
    gbnf::parse(r#"root ::= root "+" root | "a""#, &GbnfOptions::default()).unwrap()
}

#[test]
fn checking_a_text_ends_at_the_deadline() {
    let constraint = compile(ambiguous());
    let text = vec!["a"; 5_000].join("+");
    let token = CancelToken::with_timeout(Duration::from_millis(20));
    let begun = Instant::now();
    let mut matcher = constraint.matcher().with_cancel_token(token);
    let refused = matcher.check_text(text.as_bytes()).unwrap_err();
    assert!(matches!(refused, MatcherError::Limit(limit) if limit.is_timeout()));
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_text_has_a_limit_of_work_without_a_deadline() {
    let mut options = ConstraintOptions::default();
    options.limits.text_work = 100_000;
    let constraint = CompiledConstraint::new(ambiguous(), &vocabulary(), &options).unwrap();
    let long = vec!["a"; 1_000].join("+");
    let refused = { constraint.matcher() }
        .check_text(long.as_bytes())
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "alternatives looked at for one text exceed the limit of 299900"
    );
    assert_eq!(constraint.matcher().check_text(b"a+a+a"), Ok(None));
}

#[test]
fn a_matcher_is_as_it_was_before_it_was_cancelled() {
    let constraint = compile(ambiguous());
    let token = CancelToken::new();
    let mut matcher = constraint.matcher().with_cancel_token(token.clone());
    matcher.accept_token(TokenId(b'a'.into())).unwrap();
    token.cancel();
    let refused = matcher.accept_token(TokenId(b'+'.into())).unwrap_err();
    assert!(matches!(refused, MatcherError::Limit(limit) if limit.is_cancelled()));
    assert!(matcher.mask().is_err());
    let mut matcher = matcher.with_cancel_token(CancelToken::new());
    assert_eq!(matcher.tokens().count(), 1);
    assert!(matcher.mask().unwrap().contains(TokenId(b'+'.into())));
}

#[test]
fn compiling_ends_at_the_deadline() {
    let mut options = ConstraintOptions::default();
    options.limits.cancel = Some(CancelToken::with_timeout(Duration::ZERO));
    let refused = CompiledConstraint::new(ambiguous(), &vocabulary(), &options).unwrap_err();
    assert!(matches!(&refused, CompileError::Program(_)), "{refused}");
    assert_eq!(
        refused.to_string(),
        "milliseconds of work exceed the limit of 0"
    );
}

#[test]
fn a_deadline_of_the_compilation_is_none_of_the_constraint() {
    let mut options = ConstraintOptions::default();
    let token = CancelToken::new();
    options.limits.cancel = Some(token.clone());
    let constraint = CompiledConstraint::new(ambiguous(), &vocabulary(), &options).unwrap();
    token.cancel();
    assert_eq!(constraint.matcher().check_text(b"a+a"), Ok(None));
}

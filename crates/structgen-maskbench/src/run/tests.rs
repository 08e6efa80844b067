//! What a case comes to, with an engine whose answers are written down.

use serde_json::Value;

use super::run_case;
use crate::testing::{case, tokenizer};
use crate::{Case, Engine, FileResult, Status, Summary};

/// Accepts lower-case letters. It fails in the mask before `M`, when it accepts `A`, and at the end of a text that ends
/// in `e`.
struct Letters;

impl Engine for Letters {
    type Compiled = ();
    type State = u32;

    fn compile(&mut self, _case: &Case) -> Result<(), String> {
        Ok(())
    }

    fn start(&mut self, _compiled: &()) -> Result<u32, String> {
        Ok(0)
    }

    fn mask_has(&mut self, _state: &mut u32, token: u32) -> Result<bool, String> {
        match u8::try_from(token) {
            Ok(b'M') => Err("the mask exceeds the limit".into()),
            Ok(byte) => Ok(byte == b'A' || byte.is_ascii_lowercase()),
            Err(_) => Ok(false),
        }
    }

    fn accept(&mut self, state: &mut u32, token: u32) -> Result<(), String> {
        *state = token;
        match token == u32::from(b'A') {
            true => Err("the states exceed the limit".into()),
            false => Ok(()),
        }
    }

    fn may_end(&mut self, state: &mut u32) -> Result<bool, String> {
        match *state == u32::from(b'e') {
            true => Err("the end exceeds the limit".into()),
            false => Ok(true),
        }
    }
}

/// Tokens are bytes.
fn run(instances: &[(&str, bool)]) -> FileResult {
    run_case(
        &mut Letters,
        &case(&Value::Null, instances),
        &tokenizer(&[]),
    )
}

fn steps(result: &FileResult) -> Vec<usize> {
    result.instance_times().map(<[u64]>::len).collect()
}

#[test]
fn an_instance_on_which_the_engine_fails_is_undecided_whether_it_is_valid_or_not() {
    for is_valid in [true, false] {
        for (text, error) in [
            ("abM", "the mask exceeds the limit"),
            ("abA", "the states exceed the limit"),
            ("abe", "the end exceeds the limit"),
        ] {
            let result = run(&[("ab", true), (text, is_valid), ("a1", false)]);
            assert_eq!(result.status, Status::Undecided, "{text}");
            assert_eq!(result.undecided, 1);
            assert_eq!((result.valid.0, result.invalid.0), (1, 1));
            let said = format!("instance 1 is undecided: {error}");
            assert_eq!(result.error, Some(said));
        }
    }
}

#[test]
fn the_step_in_which_the_engine_fails_is_timed() {
    for text in ["abM", "abA", "abe", "ab1"] {
        assert_eq!(run(&[(text, false)]).tbm_ns.len(), 3, "{text}");
    }
}

#[test]
fn a_wrong_judgement_outweighs_a_failure() {
    let rejected = run(&[("M", true), ("1", true)]);
    assert_eq!(rejected.status, Status::ValidationError);
    let accepted = run(&[("a", false), ("M", false)]);
    assert_eq!(accepted.status, Status::InvalidationError);
    assert_eq!((rejected.undecided, accepted.undecided), (1, 1));
}

#[test]
fn times_are_told_apart_by_instance() {
    let result = run(&[
        ("ab", true),
        ("a1c", false),
        ("", true),
        ("M", true),
        ("xyz", true),
    ]);
    assert_eq!(steps(&result), [2, 2, 0, 1, 3]);
    assert_eq!(result.tbm_ns.len(), 8);
}

#[test]
fn a_summary_counts_undecided_files_and_prints_them_if_there_are_any() {
    let right = [run(&[("ab", true)])];
    assert!(!Summary::new(&right).to_string().contains("undecided"));
    let both = [run(&[("ab", true)]), run(&[("M", false)])];
    let summary = Summary::new(&both);
    assert_eq!((summary.ok, summary.undecided), (1, 1));
    let printed = summary.to_string();
    assert!(
        printed.contains("undecided                         1   50.0%"),
        "{printed}"
    );
}

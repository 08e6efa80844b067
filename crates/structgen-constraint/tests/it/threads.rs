//! Matchers of one constraint behave on several threads as on one.

use std::sync::Barrier;
use std::thread;

use structgen_constraint::{
    CompiledConstraint, ConstraintOptions, Matcher, WarmLimits, batch_masks,
};
use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_grammar::{Grammar, JsonForm};
use structgen_vocab::{TokenId, TokenMask};

const THREADS: usize = 4;

const SEEDS: u64 = 8;

fn schema(text: &str) -> Grammar {
    let compiled = json_schema::compile_str(text, &SchemaOptions::new());
    compiled.unwrap().grammar
}

fn grammars() -> Vec<Grammar> {
    let schemas = [
        r#"{"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 7}, "b": {"type": "string", "maxLength": 20}}, "additionalProperties": false}"#,
        r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["foo", "bar", 1, 2.5, null, [1]]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "string"}}"#,
        r#"{"anyOf": [{"type": "string", "pattern": "^(a|ab){2,40}b$"}, {"type": "number", "minimum": -1.5, "maximum": 1234}]}"#,
        r##"{"type": "object", "minProperties": 2, "patternProperties": {"^[ab]+$": {"type": "boolean"}}, "additionalProperties": {"$ref": "#"}}"##,
    ];
    let mut grammars: Vec<Grammar> = schemas.into_iter().map(schema).collect();
    grammars.push(crate::support::json(
        crate::support::any_value,
        JsonForm::generate(),
    ));
    grammars
}

/// What a matcher returns at one position.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    mask: TokenMask,
    cost: u64,
    is_accepting: bool,
    is_finished: bool,
    forced: Vec<u8>,
    /// The answer to a token drawn from the whole vocabulary.
    answer: Result<(), String>,
    /// The mask of a fork that accepted a token, before its rollback.
    forked: TokenMask,
}

/// A walk determined by the seed and the matcher's answers.
fn walk(constraint: &CompiledConstraint, seed: u64) -> Vec<Seen> {
    let mut random = crate::support::SplitMix::new(seed);
    let mut matcher = constraint.matcher();
    let mut seen = Vec::new();
    let ids = constraint.vocabulary().len();
    for _ in 0..40 {
        let mask = matcher.mask().unwrap();
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        let token = tokens[random.below(tokens.len())];
        let mut fork = matcher.clone();
        fork.accept_token(token).unwrap();
        let forked = fork.mask().unwrap().bits().clone();
        fork.rollback(1).unwrap();
        assert_eq!(fork.mask().unwrap().bits(), mask.bits());
        let any = TokenId(random.below(ids) as u32);
        let answer = fork.accept_token(any).map_err(|error| error.to_string());
        seen.push(Seen {
            mask: mask.bits().clone(),
            cost: matcher.completion_cost().unwrap(),
            is_accepting: matcher.is_accepting(),
            is_finished: matcher.is_finished(),
            forced: matcher.forced_text(20).unwrap(),
            answer,
            forked,
        });
        matcher.accept_token(token).unwrap();
        if matcher.is_finished() {
            break;
        }
    }
    seen
}

/// The walks of all seeds on each of several threads that share a constraint, each thread in another order.
fn walks_side_by_side(constraint: &CompiledConstraint) -> Vec<(u64, Vec<Seen>)> {
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        let threads = (0..THREADS as u64).map(|thread| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let seeds = (0..SEEDS).map(|i| (i * 3 + thread) % SEEDS);
                seeds.map(|seed| (seed, walk(constraint, seed))).collect()
            })
        });
        let threads: Vec<thread::ScopedJoinHandle<'_, Vec<_>>> = threads.collect();
        let walks = threads.into_iter().flat_map(|it| it.join().unwrap());
        walks.collect()
    })
}

#[test]
fn any_number_of_threads_sees_the_same() {
    for grammar in grammars() {
        let shown = grammar.to_string();
        let alone = crate::support::compile(grammar.clone());
        let expected: Vec<Vec<Seen>> = (0..SEEDS).map(|seed| walk(&alone, seed)).collect();
        let shared = crate::support::compile(grammar);
        for (seed, seen) in walks_side_by_side(&shared) {
            assert!(seen == expected[seed as usize], "seed {seed} of {shown}");
        }
    }
}

#[test]
fn states_that_are_replaced_under_load_change_nothing() {
    let tables = crate::support::vocabulary();
    let grammar = crate::support::json(crate::support::any_value, JsonForm::exact());
    let small = ConstraintOptions {
        state_bytes: 1,
        mask_bytes: 1,
        ..ConstraintOptions::default()
    };
    let small = CompiledConstraint::new(grammar.clone(), &tables, &small).unwrap();
    let large = ConstraintOptions::default();
    let large = CompiledConstraint::new(grammar, &tables, &large).unwrap();
    // Different keys are different states.
    let text = |thread: usize| -> String {
        let members = (0..150).map(|i| format!("\"key{thread}-{i}\":[{i},{{}}],"));
        format!("{{{}", members.collect::<String>())
    };
    let masks = |constraint: &CompiledConstraint, thread: usize| -> Vec<TokenMask> {
        let mut matcher = constraint.matcher();
        let bytes = text(thread).into_bytes();
        let masks = bytes.iter().enumerate().filter_map(|(i, &byte)| {
            let mask = (i % 37 == 0).then(|| matcher.mask().unwrap().bits().clone());
            matcher.accept_token(TokenId(byte.into())).unwrap();
            mask
        });
        masks.collect()
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (small, large, masks) = (&small, &large, &masks);
            scope.spawn(move || assert_eq!(masks(small, thread), masks(large, thread)));
        }
    });
    let statistics = small.statistics();
    assert!(statistics.states_dropped > 0, "{statistics:?}");
    assert_eq!(large.statistics().states_dropped, 0);
}

#[test]
fn batches_and_warming_on_many_threads_change_nothing() {
    let pool = |threads| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().unwrap()
    };
    for grammar in grammars() {
        let shown = grammar.to_string();
        let of_threads = [1, THREADS].map(|threads| {
            let constraint = crate::support::compile(grammar.clone());
            pool(threads).install(|| {
                let limits = WarmLimits {
                    states: 60,
                    time: std::time::Duration::from_secs(600),
                };
                let report = constraint.warm(&limits).unwrap();
                let mut matchers: Vec<Matcher> = (0..40).map(|_| constraint.matcher()).collect();
                let mut random = crate::support::SplitMix::new(1);
                let mut seen = Vec::new();
                for _ in 0..12 {
                    let masks = batch_masks(&mut matchers).into_iter();
                    let masks: Vec<TokenMask> =
                        masks.map(|it| it.unwrap().bits().clone()).collect();
                    for (matcher, mask) in matchers.iter_mut().zip(&masks) {
                        let tokens: Vec<TokenId> = mask.iter().collect();
                        if !tokens.is_empty() {
                            let token = tokens[random.below(tokens.len())];
                            matcher.accept_token(token).unwrap();
                        }
                    }
                    seen.push(masks);
                }
                (report, seen)
            })
        });
        assert!(of_threads[0] == of_threads[1], "{shown}");
    }
}

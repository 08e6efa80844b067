//! What a scheduler reserves for requests, and what it refuses because of its limits.

use std::sync::Arc;

use structgen_decode::{
    FinishReason, GenerateError, GenerateOptions, MockModel, Request, Scheduler, SchedulerLimits,
    Strategy, Unconstrained,
    strategies::{BeamOptions, ContrastiveDecoding, SmcOptions, Speculation},
};
use structgen_vocab::Vocabulary;

use crate::support::{EOS, prompt, scheduler, vocabulary};

/// Bytes of cache per token of a mock model.
const PER_TOKEN: usize = 4;

fn endless(vocabulary: &Vocabulary, context_length: usize) -> MockModel {
    MockModel::new(vocabulary.len(), context_length, [EOS]).preferring(EOS, -100.0)
}

/// A scheduler that may cache this number of tokens.
fn caching(tokens: usize, vocabulary: &Arc<Vocabulary>) -> Scheduler {
    let mut limits = SchedulerLimits::default();
    limits.cache_bytes = Some(tokens * PER_TOKEN);
    scheduler(endless(vocabulary, 900), vocabulary).with_limits(limits)
}

/// A request that needs as many cached tokens as it has positions.
fn request(positions: usize, vocabulary: &Vocabulary) -> Request<Unconstrained> {
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    let options = GenerateOptions {
        max_new_tokens: Some(positions - 10),
        ..GenerateOptions::default()
    };
    Request::new(prompt(10, positions as u32), free).with_options(options)
}

#[test]
fn a_scheduler_whose_cache_is_reserved_has_no_room() {
    let vocabulary = vocabulary();
    let mut scheduler = caching(100, &vocabulary);
    assert!(scheduler.has_room());
    scheduler.submit(request(60, &vocabulary)).unwrap();
    assert!(scheduler.has_room());
    // Queued requests count, before they are admitted.
    scheduler.submit(request(40, &vocabulary)).unwrap();
    assert!(!scheduler.has_room());
    scheduler.step();
    assert!(!scheduler.has_room());
    while !scheduler.is_idle() {
        scheduler.step();
    }
    assert!(scheduler.has_room());
}

#[test]
fn a_queued_request_that_is_cancelled_ends_at_the_next_step() {
    let vocabulary = vocabulary();
    let mut scheduler = caching(100, &vocabulary);
    let running = scheduler.submit(request(80, &vocabulary)).unwrap();
    let cancelled = scheduler.submit(request(90, &vocabulary)).unwrap();
    let small = scheduler.submit(request(15, &vocabulary)).unwrap();
    assert!(scheduler.step().is_empty());
    scheduler.cancel(cancelled);
    let ended = scheduler.step();
    let [(ticket, outputs)] = &ended[..] else {
        panic!("{ended:?}");
    };
    assert_eq!(*ticket, cancelled);
    let generation = &outputs.as_ref().unwrap().outputs[0]
        .as_ref()
        .unwrap()
        .generation;
    assert_eq!(
        (&generation.text[..], &generation.finish),
        ("", &FinishReason::Cancelled)
    );
    // The next request can run.
    let mut order = Vec::new();
    while !scheduler.is_idle() {
        order.extend(scheduler.step().into_iter().map(|(ticket, _)| ticket));
    }
    assert_eq!(order, [small, running]);
}

#[test]
fn the_cache_of_the_draft_model_counts() {
    let vocabulary = vocabulary();
    let pair = |tokens, draft_context| {
        let draft = endless(&vocabulary, draft_context).with_seed(5);
        let scheduler = caching(tokens, &vocabulary);
        scheduler.with_draft(draft, &vocabulary).unwrap()
    };
    let drafted = Speculation {
        model: true,
        ..Speculation::default()
    };
    let strategies = [
        Strategy::from(drafted),
        Strategy::from(ContrastiveDecoding::default()),
    ];
    for strategy in strategies {
        let request = |positions| request(positions, &vocabulary).with_strategy(strategy.clone());
        let error = pair(100, 900).submit(request(60)).unwrap_err();
        let GenerateError::CacheLimit { needed, limit } = error else {
            panic!("{error}");
        };
        assert_eq!((needed, limit), (120 * PER_TOKEN, 100 * PER_TOKEN));
        // The draft model never holds more than its context.
        assert!(pair(100, 40).submit(request(60)).is_ok());
        // However many requests run, the limit holds.
        let mut scheduler = pair(100, 900);
        for positions in [40, 50, 30, 20, 45, 50] {
            scheduler.submit(request(positions)).unwrap();
        }
        while !scheduler.is_idle() {
            for (_, outputs) in scheduler.step() {
                outputs.unwrap().all().unwrap();
            }
            assert!(scheduler.cache_bytes() <= 100 * PER_TOKEN);
        }
    }
    // Without drafts of the model, its cache is not used.
    let plain = request(90, &vocabulary);
    assert!(pair(100, 900).submit(plain.clone()).is_ok());
    let lookup = plain.with_strategy(Speculation::default());
    assert!(pair(100, 900).submit(lookup).is_ok());
}

#[test]
fn numbers_beyond_all_limits_are_refused_before_they_cost_memory() {
    let vocabulary = vocabulary();
    let mut scheduler = caching(100, &vocabulary);
    let mut refused = |sequences, strategy: Strategy| {
        let mut request = request(20, &vocabulary).with_strategy(strategy);
        request.options.sequences = sequences;
        if matches!(request.strategy, Strategy::Smc(_)) {
            request.options.sampling.temperature = 1.0;
        }
        scheduler.submit(request).unwrap_err().to_string()
    };
    let particles = |particles| {
        Strategy::from(SmcOptions {
            particles,
            ..SmcOptions::default()
        })
    };
    let beams = |width| {
        Strategy::from(BeamOptions {
            width,
            groups: width,
            ..BeamOptions::default()
        })
    };
    let told = [
        refused(100_000_000, Strategy::Sample),
        refused(usize::MAX, Strategy::Sample),
        refused(1, particles(usize::MAX)),
        refused(1, particles(60_000)),
        refused(1, beams(1_000_000_000)),
    ];
    expect_test::expect![[r#"
        the queue is full: 1024 outputs are waiting; try again later
        the queue is full: 1024 outputs are waiting; try again later
        smc.particles is 18446744073709552000, and must be from 1 to 65536
        the request may need 4800000 bytes of cache, and the limit is 400; shorten the prompt, lower the number of new tokens, or ask for fewer rows
        beam.width is 1000000000, and must be from 1 to 65536"#]].assert_eq(&told.join("\n"));
}

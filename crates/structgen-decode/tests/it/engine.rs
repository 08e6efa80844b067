//! Requests from many threads on one engine: each is the same as it would be alone, and none waits for another longer
//! than a step.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use structgen_constraint::Matcher;
use structgen_decode::{
    Engine, FinishReason, GenerateError, GenerateOptions, MockModel, ModelError, Request,
    SamplingParams, Scheduler, SchedulerLimits, Unconstrained, model::Packing,
    strategies::Speculation,
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{EOS, constraints, essence, hooked, prompt, run_all, scheduler, vocabulary};

fn model(vocabulary: &Vocabulary) -> MockModel {
    MockModel::new(vocabulary.len(), 900, [EOS]).with_seed(4)
}

fn free(vocabulary: &Vocabulary) -> Unconstrained {
    Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS])
}

fn endless(vocabulary: &Vocabulary) -> MockModel {
    model(vocabulary).preferring(EOS, -100.0)
}

fn up_to(max_new_tokens: usize) -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(max_new_tokens),
        ..GenerateOptions::default()
    }
}

/// Requests of different schemas, prompts and strategies.
fn requests(vocabulary: &Arc<Vocabulary>, n: u32) -> Vec<Request<Matcher>> {
    let compiled = constraints(vocabulary);
    let request = |i: u32| {
        let matcher = compiled[i as usize % compiled.len()].matcher();
        let options = GenerateOptions {
            sampling: SamplingParams {
                temperature: if i.is_multiple_of(3) { 0.0 } else { 1.1 },
                seed: u64::from(i),
                ..SamplingParams::default()
            },
            log_probs: i.is_multiple_of(2),
            ..up_to(60)
        };
        let lengths = [20, 3, 800, 70, 1, 300, 8];
        let prompt = prompt(lengths[i as usize % lengths.len()], i % 5);
        let request = Request::new(prompt, matcher).with_options(options);
        match i % 4 {
            1 => request.with_strategy(Speculation {
                forced_text: true,
                model: i.is_multiple_of(8),
                ..Speculation::default()
            }),
            _ => request,
        }
    };
    (0..n).map(request).collect()
}

fn with_draft(model: MockModel, vocabulary: &Arc<Vocabulary>) -> Scheduler {
    let draft = self::model(vocabulary).preferring(TokenId(40), 1.0);
    scheduler(model, vocabulary)
        .with_draft(draft, vocabulary)
        .unwrap()
}

#[test]
fn requests_that_join_and_leave_equal_single_runs_however_rows_are_packed() {
    let vocabulary = vocabulary();
    let single: Vec<String> = requests(&vocabulary, 64)
        .into_iter()
        .map(|request| {
            let output = with_draft(model(&vocabulary), &vocabulary).run(request);
            essence(&output.and_then(|outputs| outputs.single()))
        })
        .collect();
    for packing in [
        Packing::Ragged,
        Packing::Slots,
        Packing::Uniform,
        Packing::Apart,
    ] {
        for (rows, prefill_chunk, prefix_bytes) in [(64, 32, 0), (5, 256, 20_000), (1, 7, 1_000)] {
            let mut limits = SchedulerLimits::default();
            (limits.rows, limits.prefill_chunk, limits.prefix_bytes) =
                (rows, prefill_chunk, prefix_bytes);
            let model = model(&vocabulary).with_packing(packing);
            let mut scheduler = with_draft(model, &vocabulary).with_limits(limits);
            let mut found = BTreeMap::new();
            let mut tickets = Vec::new();
            for (i, request) in requests(&vocabulary, 64).into_iter().enumerate() {
                tickets.push(scheduler.submit(request).unwrap());
                // Requests arrive while others run.
                for _ in 0..i % 4 {
                    found.extend(scheduler.step());
                }
            }
            while !scheduler.is_idle() {
                found.extend(scheduler.step());
            }
            for (ticket, single) in tickets.iter().zip(&single) {
                let output = found.remove(ticket).unwrap();
                assert_eq!(
                    &essence(&output.and_then(|outputs| outputs.single())),
                    single
                );
            }
            assert!(scheduler.cache_bytes() <= prefix_bytes);
        }
    }
}

#[test]
fn workers_share_a_queue_and_outputs_do_not_depend_on_them() {
    let vocabulary = vocabulary();
    let outputs = [1, 3].map(|workers| {
        let schedulers = (0..workers).map(|_| with_draft(model(&vocabulary), &vocabulary));
        let engine = Engine::new(schedulers).unwrap();
        let threads = requests(&vocabulary, 24).into_iter().map(|request| {
            let engine = engine.clone();
            thread::spawn(move || essence(&engine.run(request).and_then(|all| all.single())))
        });
        let threads: Vec<_> = threads.collect();
        let outputs = threads.into_iter().map(|thread| thread.join().unwrap());
        outputs.collect::<Vec<_>>()
    });
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn schedulers_are_opened_once_requests_wait_and_all_are_busy() {
    let vocabulary = vocabulary();
    let (reached, waits) = channel();
    // Each run of the model waits until the test lets it go on.
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let open = || {
        let (reached, gate) = (reached.clone(), Arc::clone(&gate));
        let model = hooked(model(&vocabulary), move |_, _| {
            let _ = reached.send(());
            let (is_open, changed) = &*gate;
            drop(changed.wait_while(is_open.lock().unwrap(), |is_open| !*is_open));
            Ok(())
        });
        scheduler(model, &vocabulary)
    };
    // One of them cannot be opened.
    let more = [None, Some(open()), Some(open()), Some(open()), Some(open())];
    let engine = Engine::on_demand(open(), more.map(|scheduler| move || scheduler)).unwrap();
    let request = || Request::new(prompt(4, 1), free(&vocabulary)).with_options(up_to(2));
    let arrives = || waits.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut runs = Vec::new();
    for expected in [1, 2, 3] {
        runs.push(engine.submit(request()).unwrap());
        arrives();
        // A request that runs opens no more.
        thread::sleep(Duration::from_millis(20));
        assert_eq!(engine.schedulers(), expected);
    }
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for run in runs {
        run.wait().unwrap();
    }
    // An idle one takes the next request.
    for _ in 0..5 {
        engine.run(request()).unwrap();
        assert_eq!(engine.schedulers(), 3);
    }
}

#[test]
fn events_join_to_the_text_of_each_output() {
    let vocabulary = vocabulary();
    let engine = Engine::new([scheduler(endless(&vocabulary), &vocabulary)]).unwrap();
    let options = GenerateOptions {
        sampling: SamplingParams {
            temperature: 1.0,
            ..SamplingParams::default()
        },
        sequences: 3,
        ..up_to(30)
    };
    let request = Request::new(prompt(9, 1), free(&vocabulary)).with_options(options);
    let mut run = engine.submit(request.with_events()).unwrap();
    let mut texts = vec![(String::new(), 0); 3];
    for event in &mut run {
        texts[event.output].0 += &event.text;
        texts[event.output].1 += event.tokens.len();
    }
    let outputs = run.wait().unwrap().all().unwrap();
    assert_ne!(outputs[0].generation.text, outputs[1].generation.text);
    for (output, (text, tokens)) in outputs.iter().zip(&texts) {
        assert_eq!(&output.generation.text, text);
        assert_eq!(output.generation.tokens.len(), *tokens);
    }
}

/// A model that runs only when allowed to, and reports the number of rows of each run.
fn gated(
    model: MockModel,
) -> (
    impl structgen_decode::LanguageModel,
    Sender<()>,
    Receiver<usize>,
) {
    let (go, gate) = channel();
    let (tell, runs) = channel();
    let (gate, tell) = (Mutex::new(gate), Mutex::new(tell));
    let hooked = hooked(model, move |_, rows| {
        // Once the sender is dropped, nothing is blocked.
        let _ = gate.lock().unwrap().recv();
        let _ = tell.lock().unwrap().send(rows.len());
        Ok(())
    });
    (hooked, go, runs)
}

#[test]
fn a_cancelled_request_is_gone_within_a_step_and_dropping_a_run_cancels_it() {
    let vocabulary = vocabulary();
    let (model, go, runs) = gated(endless(&vocabulary));
    let engine = Engine::new([scheduler(model, &vocabulary)]).unwrap();
    let request = |seed| Request::new(prompt(4, seed), free(&vocabulary)).with_options(up_to(500));
    let [cancelled, dropped, stays] = [0, 1, 2].map(|seed| engine.submit(request(seed)).unwrap());
    let step = || {
        go.send(()).unwrap();
        runs.recv().unwrap()
    };
    while step() < 3 {}
    cancelled.cancel();
    drop(dropped);
    // The step in progress may still have them.
    step();
    step();
    assert_eq!(step(), 1);
    let outputs = cancelled.wait().unwrap().single().unwrap();
    assert_eq!(outputs.finish, FinishReason::Cancelled);
    assert!(!outputs.tokens.is_empty());
    stays.cancel();
    drop(go);
    stays.wait().unwrap();
}

#[test]
fn an_engine_lives_as_long_as_its_runs_and_no_longer() {
    let vocabulary = vocabulary();
    // Dropped with the model, which a worker owns.
    let model_of_engine = Arc::new(());
    let model = |delay| {
        let owned = Arc::clone(&model_of_engine);
        hooked(endless(&vocabulary), move |_, _| {
            thread::sleep(delay);
            let _ = &owned;
            Ok(())
        })
    };
    let submit = |engine: &Engine, tokens| {
        let request = Request::new(prompt(4, 1), free(&vocabulary)).with_options(up_to(tokens));
        engine.submit(request).unwrap()
    };
    let engine = Engine::new([scheduler(model(Duration::ZERO), &vocabulary)]).unwrap();
    let run = submit(&engine, 20);
    drop(engine);
    let output = run.wait().unwrap().single().unwrap();
    assert_eq!(output.finish, FinishReason::MaxTokens);
    assert_eq!(Arc::strong_count(&model_of_engine), 1);

    let slow = || scheduler(model(Duration::from_millis(20)), &vocabulary);
    let engine = Engine::new([slow(), slow()]).unwrap();
    let runs: Vec<_> = (0..6).map(|_| submit(&engine, 500)).collect();
    let mut first = submit(&engine, 500);
    drop(engine);
    assert!(!first.has_ended());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut first).poll(&mut cx).is_pending());
    drop(first);
    assert_eq!(Arc::strong_count(&model_of_engine), 3);
    drop(runs);
    assert_eq!(Arc::strong_count(&model_of_engine), 1);
}

/// Drops what it holds when it is woken.
struct Dropper(Mutex<Option<structgen_decode::Run>>);

impl Wake for Dropper {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn a_worker_may_drop_the_last_run() {
    let vocabulary = vocabulary();
    let (model, go, runs) = gated(endless(&vocabulary));
    let engine = Engine::new([scheduler(model, &vocabulary)]).unwrap();
    let request = Request::new(prompt(4, 1), free(&vocabulary)).with_options(up_to(3));
    let mut run = engine.submit(request).unwrap();
    drop(engine);
    let dropper = Arc::new(Dropper(Mutex::new(None)));
    let waker = Waker::from(Arc::clone(&dropper));
    assert!(
        Pin::new(&mut run)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    *dropper.0.lock().unwrap() = Some(run);
    drop(go);
    // The end of the model's runs is the end of the worker.
    while runs.recv().is_ok() {}
    assert!(dropper.0.lock().unwrap().is_none());
}

#[test]
fn a_stop_handle_ends_what_runs_what_waits_and_what_comes_later() {
    let vocabulary = vocabulary();
    let (model, go, runs) = gated(endless(&vocabulary));
    let mut limits = SchedulerLimits::default();
    limits.rows = 1;
    let scheduler = scheduler(model, &vocabulary).with_limits(limits);
    let engine = Engine::new([scheduler]).unwrap();
    let request = |seed| Request::new(prompt(4, seed), free(&vocabulary)).with_options(up_to(500));
    let [running, waiting] = [0, 1].map(|seed| engine.submit(request(seed)).unwrap());
    for _ in 0..3 {
        go.send(()).unwrap();
        runs.recv().unwrap();
    }
    engine.stop_handle().stop();
    let later = engine.submit(request(2)).unwrap();
    drop(go);
    let [running, waiting, later] =
        [running, waiting, later].map(|run| run.wait().unwrap().single().unwrap());
    for output in [&running, &waiting, &later] {
        assert_eq!(output.finish, FinishReason::Cancelled);
    }
    assert!(!running.tokens.is_empty() && running.tokens.len() < 10);
    assert!(waiting.tokens.is_empty() && later.tokens.is_empty());
}

/// An engine that runs one row, and has room for two outputs in its queue; with a request that runs.
fn occupied(
    vocabulary: &Arc<Vocabulary>,
) -> (Engine, structgen_decode::Run, Sender<()>, Receiver<usize>) {
    let (model, go, runs) = gated(endless(vocabulary));
    let mut limits = SchedulerLimits::default();
    (limits.rows, limits.queue) = (1, 2);
    let engine = Engine::new([scheduler(model, vocabulary).with_limits(limits)]).unwrap();
    let request = Request::new(prompt(4, 0), free(vocabulary)).with_options(up_to(500));
    let running = engine.submit(request).unwrap();
    go.send(()).unwrap();
    runs.recv().unwrap();
    (engine, running, go, runs)
}

#[test]
fn a_request_that_is_cancelled_while_it_waits_leaves_the_queue() {
    let vocabulary = vocabulary();
    let (engine, running, go, runs) = occupied(&vocabulary);
    let submit = |sequences| {
        let options = GenerateOptions {
            sequences,
            ..up_to(500)
        };
        engine.submit(Request::new(prompt(4, 1), free(&vocabulary)).with_options(options))
    };
    let [dropped, cancelled] = [(); 2].map(|()| submit(1).unwrap());
    assert!(matches!(submit(1), Err(GenerateError::QueueFull { .. })));
    drop(dropped);
    cancelled.cancel();
    assert_eq!(engine.waiting(), 0);
    let others = submit(2).unwrap();
    for _ in 0..2 {
        go.send(()).unwrap();
        runs.recv().unwrap();
    }
    assert!(cancelled.has_ended() && !running.has_ended());
    let output = cancelled.wait().unwrap().single().unwrap();
    assert_eq!(output.finish, FinishReason::Cancelled);
    drop((others, running, go));
}

#[test]
fn a_time_limit_holds_while_a_request_waits() {
    let vocabulary = vocabulary();
    let (engine, running, go, runs) = occupied(&vocabulary);
    let limit = Duration::from_millis(1);
    let options = GenerateOptions {
        time_limit: Some(limit),
        sequences: 2,
        ..up_to(500)
    };
    let request = Request::new(prompt(4, 1), free(&vocabulary)).with_options(options);
    let late = engine.submit(request.clone()).unwrap();
    thread::sleep(2 * limit);
    // Another one may take its place at once.
    let next = engine.submit(request).unwrap();
    for _ in 0..2 {
        go.send(()).unwrap();
        runs.recv().unwrap();
    }
    assert!(late.has_ended() && !running.has_ended());
    for output in late.wait().unwrap().all().unwrap() {
        assert_eq!(output.generation.finish, FinishReason::TimeLimit);
    }
    drop((next, running, go));
}

#[test]
fn a_long_prompt_is_run_in_pieces_between_the_steps_of_others() {
    let vocabulary = vocabulary();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let hooked = hooked(endless(&vocabulary), move |_, rows| {
        let tokens = rows.iter().map(|row| row.tokens.len()).max();
        log.lock().unwrap().push((rows.len(), tokens.unwrap_or(0)));
        Ok(())
    });
    let mut limits = SchedulerLimits::default();
    limits.prefill_chunk = 50;
    let mut scheduler = scheduler(hooked, &vocabulary).with_limits(limits);
    let request =
        |len, seed| Request::new(prompt(len, seed), free(&vocabulary)).with_options(up_to(40));
    scheduler.submit(request(5, 0)).unwrap();
    drop(scheduler.step());
    scheduler.submit(request(800, 1)).unwrap();
    while !scheduler.is_idle() {
        scheduler.step();
    }
    let seen = seen.lock().unwrap();
    let pieces: Vec<usize> = { seen.iter() }
        .enumerate()
        .filter(|(_, (_, tokens))| *tokens > 32)
        .map(|(at, _)| at)
        .collect();
    assert!(pieces.len() >= 800 / 50);
    // After each chunk, the other request advances.
    assert!(pieces.windows(2).all(|pair| pair[1] - pair[0] >= 2));
    assert!(seen.iter().all(|(_, tokens)| *tokens <= 50));
}

#[test]
fn prompts_that_begin_alike_are_run_once() {
    let vocabulary = vocabulary();
    let shared = prompt(300, 7);
    let mut scheduler = scheduler(model(&vocabulary), &vocabulary);
    let tickets: Vec<_> = (0..8)
        .map(|i| {
            let own = [shared.clone(), prompt(3 + i, i)].concat();
            let request = Request::new(own, free(&vocabulary)).with_options(up_to(4));
            scheduler.submit(request).unwrap()
        })
        .collect();
    let mut reused = BTreeMap::new();
    while !scheduler.is_idle() {
        for (ticket, outputs) in scheduler.step() {
            reused.insert(
                ticket,
                outputs.unwrap().single().unwrap().stats.reused_tokens,
            );
        }
    }
    assert_eq!(reused[&tickets[0]], 0);
    assert!(
        tickets[1..].iter().all(|ticket| reused[ticket] >= 250),
        "{reused:?}"
    );
}

#[test]
fn a_model_that_fails_on_one_row_fails_no_other_request() {
    let vocabulary = vocabulary();
    let bad = TokenId(17);
    let hooked = hooked(endless(&vocabulary), move |_, rows| {
        match rows.iter().any(|row| row.tokens.contains(&bad)) {
            true => Err(ModelError::Backend("a bad row".into())),
            false => Ok(()),
        }
    });
    let mut scheduler = scheduler(hooked, &vocabulary);
    let good = Request::new(vec![TokenId(5)], free(&vocabulary));
    let mut without = vocabulary.text_tokens().clone();
    without.deny(bad);
    let good = Request {
        constraint: Unconstrained::new(without, &[EOS]),
        ..good
    }
    .with_options(up_to(9));
    let tickets = [
        scheduler.submit(good.clone()).unwrap(),
        scheduler
            .submit(Request {
                prompt: vec![bad],
                ..good.clone()
            })
            .unwrap(),
        scheduler.submit(good).unwrap(),
    ];
    let mut ended = BTreeMap::new();
    while !scheduler.is_idle() {
        ended.extend(scheduler.step());
    }
    let outcomes = tickets.map(|ticket| ended.remove(&ticket).unwrap());
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let error = outcomes[1].as_ref().unwrap_err().to_string();
    assert_eq!(error, "the model failed to run: a bad row");
    assert_eq!(scheduler.cache_bytes(), 0);
}

#[test]
fn a_queue_that_is_full_and_a_request_that_never_fits_are_refused_with_the_limits() {
    let vocabulary = vocabulary();
    let mut limits = SchedulerLimits::default();
    (limits.queue, limits.cache_bytes) = (2, Some(4 * 100));
    let mut scheduler = scheduler(model(&vocabulary), &vocabulary).with_limits(limits);
    let request =
        |len, seed| Request::new(prompt(len, seed), free(&vocabulary)).with_options(up_to(40));
    let large = scheduler.submit(request(90, 0)).unwrap_err();
    assert!(matches!(
        large,
        GenerateError::CacheLimit {
            needed: 520,
            limit: 400
        }
    ));
    for seed in 0..2 {
        scheduler.submit(request(20, seed)).unwrap();
    }
    let full = scheduler.submit(request(20, 2)).unwrap_err();
    assert!(matches!(full, GenerateError::QueueFull { limit: 2 }));
    while !scheduler.is_idle() {
        scheduler.step();
        assert!(scheduler.cache_bytes() <= 400);
    }
}

#[test]
fn a_request_that_an_engine_accepts_is_never_refused_afterwards() {
    let vocabulary = vocabulary();
    let (model, go, runs) = gated(endless(&vocabulary));
    let mut limits = SchedulerLimits::default();
    // One output runs at a time, and three may wait.
    (limits.queue, limits.cache_bytes) = (3, Some(4 * 60));
    let engine = Engine::new([scheduler(model, &vocabulary).with_limits(limits)]).unwrap();
    let submit = |seed| {
        let options = GenerateOptions {
            sequences: 3,
            ..up_to(40)
        };
        let request = Request::new(prompt(10, seed), free(&vocabulary)).with_options(options);
        engine.submit(request).unwrap()
    };
    let first = submit(0);
    go.send(()).unwrap();
    runs.recv().unwrap();
    // The worker has taken the first, of which two outputs wait.
    let second = submit(1);
    drop(go);
    for run in [first, second] {
        assert_eq!(run.wait().unwrap().all().unwrap().len(), 3);
    }
}

#[test]
fn urgent_requests_are_admitted_first() {
    let vocabulary = vocabulary();
    let mut limits = SchedulerLimits::default();
    limits.rows = 1;
    let mut scheduler = scheduler(model(&vocabulary), &vocabulary).with_limits(limits);
    let request = |seed, priority| {
        let request = Request::new(prompt(4, seed), free(&vocabulary)).with_priority(priority);
        request.with_options(up_to(3))
    };
    let tickets = [0, 5, 5, 1].map(|priority| scheduler.submit(request(1, priority)).unwrap());
    let mut order = Vec::new();
    while !scheduler.is_idle() {
        order.extend(scheduler.step().into_iter().map(|(ticket, _)| ticket));
    }
    assert_eq!(order, [tickets[1], tickets[2], tickets[3], tickets[0]]);
}

#[test]
fn few_rows_run_side_by_side_where_their_caches_are_large() {
    let vocabulary = vocabulary();
    for (bytes, expected) in [(1, 9), (1 << 14, 9), (1 << 16, 7), (1 << 20, 4)] {
        let model = model(&vocabulary).with_cache_bytes_per_token(bytes);
        let most = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&most);
        let model = hooked(model, move |model, _| {
            seen.fetch_max(model.rows(), Ordering::Relaxed);
            Ok(())
        });
        let mut scheduler = scheduler(model, &vocabulary);
        let requests = (0..9).map(|seed| {
            let request = Request::new(prompt(10, seed), free(&vocabulary));
            request.with_options(up_to(3))
        });
        assert!(run_all(&mut scheduler, requests).iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::Relaxed), expected, "{bytes}");
    }
}

#[test]
fn an_engine_reports_what_its_schedulers_keep() {
    let vocabulary = vocabulary();
    let mut limits = SchedulerLimits::default();
    limits.prefix_bytes = 1 << 20;
    let scheduler = || scheduler(model(&vocabulary), &vocabulary).with_limits(limits);
    let engine = Engine::new([scheduler(), scheduler()]).unwrap();
    assert_eq!(engine.cache_bytes(), 0);
    for _ in 0..5 {
        let request = Request::new(prompt(20, 1), free(&vocabulary)).with_options(up_to(3));
        engine.run(request).unwrap();
    }
    let stats = engine.prefix_stats();
    assert_eq!(stats.hits + stats.misses, 5);
    assert!(stats.hits >= 3, "{stats:?}");
    assert!(stats.kept > 0 && stats.bytes == engine.cache_bytes());
}

#[test]
fn a_run_is_a_future() {
    let vocabulary = vocabulary();
    let engine = Engine::new([scheduler(model(&vocabulary), &vocabulary)]).unwrap();
    let request = Request::new(prompt(4, 1), free(&vocabulary)).with_options(up_to(5));
    let mut run = pin!(engine.submit(request.clone()).unwrap());
    let mut cx = Context::from_waker(Waker::noop());
    let outputs = loop {
        match run.as_mut().poll(&mut cx) {
            Poll::Ready(outputs) => break outputs,
            Poll::Pending => thread::sleep(Duration::from_millis(1)),
        }
    };
    let expected = engine.run(request).unwrap().single().unwrap().text;
    assert_eq!(outputs.unwrap().single().unwrap().text, expected);
}

#[test]
fn a_worker_that_panics_leaves_nobody_waiting() {
    let vocabulary = vocabulary();
    let broken = hooked(model(&vocabulary), |_, _| panic!("a bug in the model"));
    let engine = Engine::new([scheduler(broken, &vocabulary)]).unwrap();
    let request = Request::new(prompt(4, 1), free(&vocabulary));
    let runs = [(); 3].map(|()| engine.submit(request.clone()).unwrap());
    for run in runs {
        assert!(matches!(run.wait(), Err(GenerateError::Stopped)));
    }
}

#[test]
fn handles_are_shared_between_threads() {
    fn is_shared<T: Clone + Send + Sync>() {}
    is_shared::<Engine>();
    fn is_sent<T: Send>() {}
    is_sent::<structgen_decode::Run>();
    is_sent::<Scheduler>();
}

//! Concurrent sequences: each is the same as it would be alone.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use structgen_decode::{
    FinishReason, GenerateError, GenerateOptions, LanguageModel, MockModel, ModelError, Request,
    SamplingParams, SchedulerLimits, Unconstrained,
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{
    EOS, constraint, constraints, essence, hooked, prompt, run, run_all, scheduler, schemas,
    vocabulary,
};

fn model(vocabulary: &Vocabulary) -> MockModel {
    MockModel::new(vocabulary.len(), 120, [EOS]).with_seed(4)
}

fn sampled(seed: u64, max_new_tokens: Option<usize>) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature: if seed.is_multiple_of(3) { 0.0 } else { 1.2 },
            frequency_penalty: 0.3,
            top_k: 20,
            seed,
            ..SamplingParams::default()
        },
        max_new_tokens,
        log_probs: seed.is_multiple_of(2),
        ..GenerateOptions::default()
    }
}

#[test]
fn a_batch_of_eight_equals_eight_single_runs() {
    let vocabulary = vocabulary();
    let compiled = constraints(&vocabulary);
    let mut endings = [0; 2];
    for round in 0..12u32 {
        let prompts: Vec<Vec<TokenId>> = (0..8)
            .map(|i| prompt([3, 1, 17, 3, 40, 8, 2, 5][i as usize], i + round))
            .collect();
        // Some have a limit, and some may fill the context, part of which the padding of others takes.
        let options: Vec<GenerateOptions> = (0..8)
            .map(|i| {
                let seed = u64::from(i + 8 * round);
                let mut options = sampled(seed, (i % 3 != 0).then_some(70));
                if i == 5 {
                    options.stop = vec!["e".into(), "\"1".into()];
                }
                if i == 6 {
                    options.min_new_tokens = 9;
                }
                options
            })
            .collect();
        let which = |i: usize| &compiled[(i + round as usize) % compiled.len()];
        let request = |i: usize| {
            Request::new(&prompts[i][..], which(i).matcher()).with_options(options[i].clone())
        };
        let single: Vec<String> = (0..8)
            .map(|i| {
                let outputs = run(&model(&vocabulary), &vocabulary, request(i));
                essence(&outputs.and_then(|outputs| outputs.single()))
            })
            .collect();
        for chunk in [1, 5, usize::MAX] {
            let mut limits = SchedulerLimits::default();
            (limits.prefill_chunk, limits.prefill_most) = (chunk, chunk);
            let mut scheduler = scheduler(model(&vocabulary), &vocabulary).with_limits(limits);
            let outputs = run_all(&mut scheduler, (0..8).map(request));
            for (output, single) in outputs.iter().zip(&single) {
                assert_eq!(&essence(output), single);
                endings[usize::from(output.is_err())] += 1;
            }
        }
    }
    // Stop strings cut some, and the budget none.
    assert!(endings.iter().all(|&n| n > 0), "{endings:?}");
}

#[test]
fn free_texts_that_fill_the_context_equal_single_runs() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    let model = model(&vocabulary).preferring(EOS, -100.0);
    let requests: Vec<_> = [1, 100, 30, 119]
        .iter()
        .zip(0..)
        .map(|(&len, seed)| {
            Request::new(prompt(len, 3), free.clone()).with_options(sampled(seed, None))
        })
        .collect();
    let outputs = run_all(&mut scheduler(model.clone(), &vocabulary), requests.clone());
    for (request, output) in requests.into_iter().zip(&outputs) {
        let len = request.prompt.len();
        let single = run(&model, &vocabulary, request).unwrap().single();
        assert_eq!(essence(output), essence(&single));
        assert_eq!(output.as_ref().unwrap().tokens.len() + len, 120);
    }
}

#[test]
fn sequences_of_one_prompt_run_it_once_and_draw_apart() {
    let vocabulary = vocabulary();
    let matcher = constraint(&vocabulary, &schemas()[0]).matcher();
    let prompt = prompt(50, 1);
    let mut options = sampled(1, Some(40));
    options.sampling.temperature = 2.0;
    options.sequences = 6;
    let request = Request::new(prompt, matcher).with_options(options);
    let counted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&counted);
    let counting = hooked(model(&vocabulary), move |_, rows| {
        let tokens: usize = rows.iter().map(|row| row.tokens.len()).sum();
        count.fetch_add(tokens, Ordering::Relaxed);
        Ok(())
    });
    let outputs = scheduler(counting, &vocabulary).run(request.clone());
    let outputs = outputs.unwrap().all().unwrap();
    let mut texts: Vec<_> = { outputs.iter() }
        .map(|output| &output.generation.text)
        .collect();
    let mut first = request;
    first.options.sequences = 1;
    let first = run(&model(&vocabulary), &vocabulary, first)
        .unwrap()
        .single();
    assert_eq!(first.unwrap().text, *texts[0]);
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 6);
    let new: usize = { outputs.iter() }
        .map(|output| output.generation.tokens.len())
        .sum();
    let ran = counted.load(Ordering::Relaxed);
    // All but the first run the prompt's last token again, for its logits.
    assert!(
        ran >= 50 && ran <= 50 + 5 + new,
        "{ran} tokens for 50 and {new}"
    );
}

#[test]
fn what_is_wrong_with_one_request_is_its_own_affair() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &schemas()[0]);
    let (good, prompt) = (sampled(3, Some(60)), prompt(4, 2));
    let short = GenerateOptions {
        max_new_tokens: Some(3),
        ..GenerateOptions::default()
    };
    let bad = GenerateOptions {
        stop: vec![String::new()],
        ..GenerateOptions::default()
    };
    let mut scheduler = scheduler(model(&vocabulary), &vocabulary);
    let mut submit = |prompt: &[TokenId], options: &GenerateOptions| {
        let request = Request::new(prompt, compiled.matcher());
        scheduler.submit(request.with_options(options.clone()))
    };
    assert!(matches!(
        submit(&prompt, &short),
        Err(GenerateError::BudgetTooSmall { .. })
    ));
    let ticket = submit(&prompt, &good).unwrap();
    assert!(matches!(
        submit(&prompt, &bad),
        Err(GenerateError::EmptyStopString { index: 0 })
    ));
    assert!(matches!(
        submit(&[], &good),
        Err(GenerateError::EmptyPrompt)
    ));
    let mut ended = Vec::new();
    while !scheduler.is_idle() {
        ended.extend(scheduler.step_with(&mut |of, _, _| {
            assert_eq!(of, ticket);
            ControlFlow::Continue(())
        }));
    }
    assert_eq!(ended.len(), 1);
    assert!(ended.remove(0).1.unwrap().single().is_ok());
}

#[test]
fn a_callback_ends_its_own_sequence_and_sees_its_own_text() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    let mut options = sampled(5, Some(30));
    options.sequences = 3;
    let request = Request::new(prompt(4, 1), free).with_options(options);
    let mut texts = [const { String::new() }; 3];
    let model = model(&vocabulary).preferring(EOS, -100.0);
    let outputs = scheduler(model, &vocabulary)
        .run_with(request, |index, delta| {
            texts[index].push_str(delta.text);
            if index == 1 && delta.tokens == 7 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    for (i, output) in outputs.all().unwrap().iter().enumerate() {
        let output = &output.generation;
        assert_eq!(output.text, texts[i]);
        assert_eq!(output.tokens.len(), if i == 1 { 7 } else { 30 });
        assert_eq!(output.finish == FinishReason::Cancelled, i == 1);
    }
}

#[test]
fn a_model_that_fails_ends_what_it_ran() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    for at in [0, 3] {
        let broken = hooked(
            model(&vocabulary).preferring(EOS, -100.0),
            move |model, _| match model.stats().runs {
                runs if runs >= at => Err(ModelError::Backend("no power".into())),
                _ => Ok(()),
            },
        );
        let mut options = sampled(1, Some(9));
        options.sequences = 2;
        let request = Request::new(prompt(3, 3), free.clone()).with_options(options);
        let mut scheduler = scheduler(broken, &vocabulary);
        for output in scheduler.run(request).unwrap().outputs {
            let error = output.unwrap_err().to_string();
            assert_eq!(error, "the model failed to run: no power");
        }
        assert_eq!(scheduler.cache_bytes(), 0);
    }
}

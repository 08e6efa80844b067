//! Several sequences in one cache: each is what it would be alone.

mod support;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use structgen_decode::{
    FinishReason, GenerateError, GenerateOptions, Generator, LanguageModel, MockModel, ModelError,
    Request, SamplingParams, Unconstrained,
};
use structgen_vocab::{TokenId, Vocabulary};
use support::{EOS, Hooked, constraint, constraints, essence, prompt, schemas, vocabulary};

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
        // Some are told when to end, and some may fill the context, which the padding of others takes a part of.
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
        let single: Vec<String> = (0..8)
            .map(|i| {
                let mut model = model(&vocabulary);
                let mut matcher = which(i).matcher();
                let mut generator = Generator::new(&mut model, &vocabulary);
                essence(&generator.generate(&prompts[i], &mut matcher, &options[i]))
            })
            .collect();
        for chunk in [1, 5, usize::MAX] {
            let mut model = model(&vocabulary);
            let chunk = NonZeroUsize::new(chunk).unwrap();
            let mut generator = Generator::new(&mut model, &vocabulary).with_prefill_chunk(chunk);
            let requests = (0..8)
                .map(|i| Request::new(&prompts[i], which(i).matcher(), &options[i]))
                .collect();
            let outputs = generator.generate_batch(requests).unwrap();
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
    let mut model = model(&vocabulary).preferring(EOS, -100.0);
    let options: Vec<_> = (0..4).map(|seed| sampled(seed, None)).collect();
    let prompts: Vec<_> = [1, 100, 30, 119].map(|len| prompt(len, 3)).into();
    let requests = prompts.iter().zip(&options);
    let requests = requests.map(|(prompt, options)| Request::new(prompt, free.clone(), options));
    let outputs = Generator::new(&mut model, &vocabulary)
        .generate_batch(requests.collect())
        .unwrap();
    for (i, output) in outputs.iter().enumerate() {
        let single = Generator::new(&mut model, &vocabulary).generate(
            &prompts[i],
            &mut free.clone(),
            &options[i],
        );
        assert_eq!(essence(output), essence(&single));
        let output = output.as_ref().unwrap();
        assert_eq!(output.tokens.len() + prompts[i].len(), 120);
    }
}

#[test]
fn sequences_of_one_prompt_run_it_once_and_draw_apart() {
    let vocabulary = vocabulary();
    let matcher = constraint(&vocabulary, &schemas()[0]).matcher();
    let prompt = prompt(50, 1);
    let mut options = sampled(1, Some(40));
    options.sampling.temperature = 2.0;
    let mut many = model(&vocabulary);
    let outputs = Generator::new(&mut many, &vocabulary)
        .generate_many(&prompt, &matcher, 6, &options)
        .unwrap();
    let mut alone = model(&vocabulary);
    let mut texts = Vec::new();
    for (sequence, output) in outputs.iter().enumerate() {
        let request = Request {
            sequence: sequence as u64,
            ..Request::new(&prompt, matcher.clone(), &options)
        };
        let replayed = Generator::new(&mut alone, &vocabulary)
            .generate_batch(vec![request])
            .unwrap();
        assert_eq!(essence(output), essence(&replayed[0]));
        texts.push(output.as_ref().unwrap().text.clone());
    }
    let first = Generator::new(&mut alone, &vocabulary)
        .generate(&prompt, &mut matcher.clone(), &options)
        .unwrap();
    assert_eq!(first.text, texts[0]);
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 6);
    let new: usize = { outputs.iter() }
        .map(|output| output.as_ref().unwrap().tokens.len())
        .sum();
    let ran = many.stats().tokens as usize;
    assert!(
        ran >= 50 && ran <= 50 + new,
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
    let request = |options| Request::new(&prompt, compiled.matcher(), options);
    let empty = Request::new(&[], compiled.matcher(), &good);
    let requests = vec![request(&short), request(&good), request(&bad), empty];
    let mut model = model(&vocabulary);
    let outputs = Generator::new(&mut model, &vocabulary)
        .stream_batch(requests, |index, _| {
            assert_eq!(index, 1);
            ControlFlow::Continue(())
        })
        .unwrap();
    let is_right = [
        matches!(outputs[0], Err(GenerateError::BudgetTooSmall { .. })),
        outputs[1].is_ok(),
        matches!(outputs[2], Err(GenerateError::EmptyStopString { index: 0 })),
        matches!(outputs[3], Err(GenerateError::EmptyPrompt)),
    ];
    assert_eq!(is_right, [true; 4], "{outputs:?}");
    let none: Vec<Request<'_, Unconstrained>> = Vec::new();
    assert!(
        Generator::new(&mut model, &vocabulary)
            .generate_batch(none)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_callback_ends_its_own_sequence_and_sees_its_own_text() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    let mut model = model(&vocabulary).preferring(EOS, -100.0);
    let options = sampled(5, Some(30));
    let prompts = [prompt(4, 1), prompt(6, 2), prompt(2, 3)];
    let requests = { prompts.iter() }.map(|prompt| Request::new(prompt, free.clone(), &options));
    let mut texts = [const { String::new() }; 3];
    let outputs = Generator::new(&mut model, &vocabulary)
        .stream_batch(requests.collect(), |index, delta| {
            texts[index].push_str(delta.text);
            if index == 1 && delta.tokens == 7 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    for (i, output) in outputs.iter().enumerate() {
        let output = output.as_ref().unwrap();
        assert_eq!(output.text, texts[i]);
        assert_eq!(output.tokens.len(), if i == 1 { 7 } else { 30 });
        assert_eq!(output.finish == FinishReason::Cancelled, i == 1);
    }
}

#[test]
fn a_model_that_fails_ends_the_batch() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    for at in [0, 3] {
        let mut model = Hooked(
            model(&vocabulary).preferring(EOS, -100.0),
            |model: &MockModel| match model.stats().runs {
                runs if runs == at => Err(ModelError::Backend("no power".into())),
                _ => Ok(()),
            },
        );
        let error = Generator::new(&mut model, &vocabulary)
            .generate_many(&prompt(3, 3), &free, 2, &sampled(1, Some(9)))
            .unwrap_err();
        assert_eq!(error.to_string(), "the model failed to run: no power");
    }
}

//! Properties of every strategy: its JSON form, the options that it refuses, and its independence of concurrent
//! requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use serde_json::{Value, json};
use structgen_constraint::Matcher;
use structgen_decode::{
    FinishReason, GenerateError, GenerateOptions, MockModel, ModelError, Outputs, Request,
    Scheduler, Strategy,
    model::{Packing, RowRun},
    params::PARAMETERS,
    samplers::RepetitionGuardParams,
    strategies::{
        BeamOptions, ClassifierFreeGuidance, ContrastiveDecoding, ContrastiveSearch, Distinct,
        FaithfulError, FaithfulOptions, PromptLookup, SmcOptions, Speculation,
    },
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{EOS, Hooked, constraints, prompt, scheduler, vocabulary};

fn model(seed: u64) -> MockModel {
    MockModel::new(270, 400, [EOS])
        .with_seed(seed)
        .with_hidden_width(5)
}

/// One of each strategy, and of each kind of beam search.
fn strategies() -> Vec<Strategy> {
    let beams = BeamOptions {
        width: 4,
        n_best: 3,
        ..BeamOptions::default()
    };
    let groups = BeamOptions {
        groups: 2,
        diversity_penalty: 0.5,
        distinct: Distinct::JsonValue,
        renormalize: true,
        ..beams.clone()
    };
    let drawn = BeamOptions {
        sample: true,
        ..beams.clone()
    };
    let guidance = ClassifierFreeGuidance {
        scale: 2.5,
        prompt: prompt(50, 9),
    };
    vec![
        Strategy::Sample,
        beams.into(),
        groups.into(),
        drawn.into(),
        guidance.into(),
        ContrastiveDecoding::default().into(),
        ContrastiveSearch::default().into(),
    ]
}

/// Those of [`strategies`], and the others.
fn all_strategies() -> Vec<Strategy> {
    let speculation = Speculation {
        model: true,
        lookup: Some(PromptLookup::default()),
        ..Speculation::default()
    };
    let mut all = strategies();
    all.extend([
        speculation.into(),
        Strategy::Asap(FaithfulOptions::default()),
        Strategy::Rejection(FaithfulOptions::default()),
        SmcOptions::default().into(),
    ]);
    let names: BTreeSet<&str> = all.iter().map(Strategy::name).collect();
    assert_eq!(names, BTreeSet::from(Strategy::NAMES));
    all
}

/// Options that a strategy can be run with.
fn options(strategy: &Strategy) -> GenerateOptions {
    let mut options = GenerateOptions {
        max_new_tokens: Some(40),
        log_probs: true,
        alternatives: 2,
        refused: 2,
        ..GenerateOptions::default()
    };
    options.sampling.repetition_penalty = 1.1;
    options.sampling.repetition_guard = Some(RepetitionGuardParams::default());
    match strategy {
        Strategy::Beam(beams) if beams.sample => options.sampling.temperature = 2.0,
        Strategy::Guidance(_) | Strategy::Contrastive(_) => {
            options.sampling.temperature = 0.8;
            options.sequences = 2;
        }
        _ => {}
    }
    options
}

/// A value that is not the default, for every option.
fn set_options() -> Value {
    json!({
        "sampling": {
            "temperature": 0.7, "dynamic_temperature": {"range": 0.1}, "top_k": 5, "top_k_ties": true, "top_p": 0.5, "min_p": 0.5,
            "typical_p": 0.5, "epsilon_cutoff": 0.1, "eta_cutoff": 0.1, "top_n_sigma": 1.0, "top_h": 0.5,
            "xtc": {"probability": 0.5, "threshold": 0.1}, "min_keep": 2, "mirostat": {"version": 2},
            "adaptive_p": {"target": 0.5}, "repetition_penalty": 1.2, "repetition_scope": "output", "repetition_window": 4, "repetition_guard": {"window": 9},
            "frequency_penalty": 0.1, "presence_penalty": 0.1, "frequency_scope": "all", "frequency_window": 4,
            "dry": {"multiplier": 1.0}, "no_repeat_ngram": 9, "logit_bias": {"3": 1.0}, "suppress": [3], "bad_words": [[3]],
            "forced_tokens": {"0": 3}, "min_length": 3, "length_decay": {"start": 3, "factor": 1.1}, "watermark": {}, "seed": 3,
            "order": "hf",
        },
        "sequences": 2, "max_new_tokens": 30, "min_new_tokens": 2, "stop": ["zz"], "stop_text": "kept", "time_limit": 1.0,
        "log_probs": true, "alternatives": 2, "refused": 2, "token_times": true, "jump_forward": "canonical",
        "overflow": {"crop": {"keep": 1}}, "prefill": [91],
    })
}

#[test]
fn a_strategy_is_an_object_with_its_name() {
    for strategy in all_strategies() {
        let json = serde_json::to_value(&strategy).unwrap();
        assert_eq!(json["name"], strategy.name());
        assert_eq!(
            serde_json::from_value::<Strategy>(json.clone()).unwrap(),
            strategy
        );
        if json.as_object().unwrap().len() > 1 {
            let mut unknown = json;
            unknown["no_option"] = json!(1);
            serde_json::from_value::<Strategy>(unknown).unwrap_err();
        }
    }
    let short = json!({"name": "beam", "width": 7, "early_stopping": "never"});
    let Ok(Strategy::Beam(beams)) = serde_json::from_value(short) else {
        panic!("no beams");
    };
    assert_eq!((beams.width, beams.n_best), (7, 1));
}

#[test]
fn an_option_is_honoured_or_refused_by_its_name() {
    let set = set_options();
    // Parameters of a group are set with it.
    let paths: Vec<String> = { PARAMETERS.iter() }
        .filter(|row| !row.name.contains('.'))
        .filter_map(|row| row.path().strip_prefix("options.").map(str::to_owned))
        .collect();
    let vocabulary = vocabulary();
    let constraint = &constraints(&vocabulary)[1];
    let mut scheduler = pair(&vocabulary, model(1));
    let mut found = String::new();
    for strategy in all_strategies() {
        let mut refused = Vec::new();
        for path in &paths {
            let pointer = format!("/{}", path.replace('.', "/"));
            let value = set.pointer(&pointer).unwrap_or_else(|| panic!("{path}"));
            // Options that make this one valid.
            let mut options = json!({"sampling": {}});
            match &strategy {
                Strategy::Beam(beams) if beams.sample => {
                    options["sampling"]["temperature"] = json!(2.0);
                }
                Strategy::Asap(_) | Strategy::Rejection(_) | Strategy::Smc(_) => {
                    options["sampling"]["temperature"] = json!(1.0);
                }
                _ => {}
            }
            match path.strip_prefix("sampling.") {
                Some(field) => options["sampling"][field] = value.clone(),
                None => options[path] = value.clone(),
            }
            let options: GenerateOptions = serde_json::from_value(options).unwrap();
            let request = Request::new(prompt(5, 1), constraint.matcher())
                .with_options(options)
                .with_strategy(strategy.clone());
            match scheduler.submit(request) {
                Err(GenerateError::NotHonoured {
                    strategy: name,
                    option,
                    value: told,
                }) => {
                    assert_eq!((name, &option), (strategy.name(), path));
                    // The name of an order stands for its samplers.
                    let is_expanded = value.is_object() || path == "sampling.order";
                    assert!(is_expanded || told == *value.to_string(), "{told}");
                    refused.push(option);
                }
                // Faithful samplers require one temperature, which the error names.
                Err(GenerateError::Faithful(FaithfulError::OtherTarget { what })) => {
                    let is_named = path == "sampling.temperature" && what.contains("temperature");
                    assert!(is_named, "{path}: {what}");
                    refused.push(format!("{path} (unless 1)"));
                }
                Err(error) => panic!("{path}: {error}"),
                Ok(ticket) => scheduler.cancel(ticket),
            }
        }
        found += &format!("{}: {}\n", strategy.name(), refused.join(" "));
    }
    expect![[r#"
        sample: 
        beam: sampling.temperature sampling.dynamic_temperature sampling.top_k sampling.top_k_ties sampling.top_p sampling.min_p sampling.typical_p sampling.epsilon_cutoff sampling.eta_cutoff sampling.top_n_sigma sampling.top_h sampling.xtc sampling.min_keep sampling.mirostat sampling.adaptive_p sequences jump_forward overflow
        beam: sampling.temperature sampling.dynamic_temperature sampling.top_k sampling.top_k_ties sampling.top_p sampling.min_p sampling.typical_p sampling.epsilon_cutoff sampling.eta_cutoff sampling.top_n_sigma sampling.top_h sampling.xtc sampling.min_keep sampling.mirostat sampling.adaptive_p sequences jump_forward overflow
        beam: sampling.mirostat sampling.adaptive_p sequences jump_forward overflow
        guidance: overflow
        contrastive: overflow
        contrastive_search: sampling.temperature sampling.dynamic_temperature sampling.top_k sampling.top_k_ties sampling.top_p sampling.min_p sampling.typical_p sampling.epsilon_cutoff sampling.eta_cutoff sampling.top_n_sigma sampling.top_h sampling.xtc sampling.min_keep sampling.mirostat sampling.adaptive_p sequences overflow
        speculate: 
        asap: sampling.temperature (unless 1) sampling.dynamic_temperature sampling.top_k sampling.top_k_ties sampling.top_p sampling.min_p sampling.typical_p sampling.epsilon_cutoff sampling.eta_cutoff sampling.top_n_sigma sampling.top_h sampling.xtc sampling.min_keep sampling.mirostat sampling.adaptive_p sampling.repetition_penalty sampling.repetition_scope sampling.repetition_window sampling.repetition_guard sampling.frequency_penalty sampling.presence_penalty sampling.frequency_scope sampling.frequency_window sampling.dry sampling.no_repeat_ngram sampling.logit_bias sampling.suppress sampling.bad_words sampling.forced_tokens sampling.min_length sampling.length_decay sampling.watermark sampling.order min_new_tokens stop stop_text alternatives refused token_times jump_forward overflow
        rejection: sampling.temperature (unless 1) sampling.dynamic_temperature sampling.top_k sampling.top_k_ties sampling.top_p sampling.min_p sampling.typical_p sampling.epsilon_cutoff sampling.eta_cutoff sampling.top_n_sigma sampling.top_h sampling.xtc sampling.min_keep sampling.mirostat sampling.adaptive_p sampling.repetition_penalty sampling.repetition_scope sampling.repetition_window sampling.repetition_guard sampling.frequency_penalty sampling.presence_penalty sampling.frequency_scope sampling.frequency_window sampling.dry sampling.no_repeat_ngram sampling.logit_bias sampling.suppress sampling.bad_words sampling.forced_tokens sampling.min_length sampling.length_decay sampling.watermark sampling.order min_new_tokens stop stop_text alternatives refused token_times jump_forward overflow
        smc: sampling.temperature (unless 1) sampling.dynamic_temperature sampling.top_k sampling.top_k_ties sampling.top_p sampling.min_p sampling.typical_p sampling.epsilon_cutoff sampling.eta_cutoff sampling.top_n_sigma sampling.top_h sampling.xtc sampling.min_keep sampling.mirostat sampling.adaptive_p sampling.repetition_penalty sampling.repetition_scope sampling.repetition_window sampling.repetition_guard sampling.frequency_penalty sampling.presence_penalty sampling.frequency_scope sampling.frequency_window sampling.dry sampling.no_repeat_ngram sampling.logit_bias sampling.suppress sampling.bad_words sampling.forced_tokens sampling.min_length sampling.length_decay sampling.watermark sampling.order sequences min_new_tokens stop stop_text alternatives refused token_times jump_forward overflow
    "#]].assert_eq(&found);
    let options = GenerateOptions {
        sequences: 3,
        ..GenerateOptions::default()
    };
    let request = Request::new(prompt(5, 1), constraint.matcher())
        .with_options(options)
        .with_strategy(BeamOptions::default());
    expect!["the strategy beam does not honour sequences, which is 3; leave it out, or choose another strategy"].assert_eq(&scheduler.submit(request).unwrap_err().to_string());
}

/// A scheduler with a draft model.
fn pair(
    vocabulary: &Arc<Vocabulary>,
    model: impl structgen_decode::LanguageModel + 'static,
) -> Scheduler {
    let draft = MockModel::new(270, 400, [EOS]).with_seed(2);
    let scheduler = scheduler(model, vocabulary);
    scheduler.with_draft(draft, vocabulary).unwrap()
}

/// The outputs, without their costs.
fn essence(outputs: &Result<Outputs, GenerateError>) -> Vec<String> {
    let Ok(outputs) = outputs else {
        return vec![format!("{outputs:?}")];
    };
    let outputs = outputs.outputs.iter().map(|output| match output {
        Ok(output) => {
            let made = &output.generation;
            let ranked = (output.score, output.log_prob);
            format!(
                "{:?} {:?} {:?} {ranked:?}",
                made.tokens, made.end, made.finish
            )
        }
        Err(GenerateError::Incomplete(cut)) => {
            format!("{:?} {:?}", cut.partial.tokens, cut.partial.finish)
        }
        Err(error) => error.to_string(),
    });
    outputs.collect()
}

/// Requests of every strategy under every schema; some prompts share a prefix.
fn requests(vocabulary: &Arc<Vocabulary>) -> Vec<Request<Matcher>> {
    let mut requests = Vec::new();
    for (number, constraint) in constraints(vocabulary).iter().enumerate() {
        for strategy in strategies() {
            let len = [3, 50, 90][requests.len() % 3];
            let request = Request::new(prompt(len, number as u32 % 2), constraint.matcher())
                .with_options(options(&strategy))
                .with_strategy(strategy);
            requests.push(request);
        }
    }
    requests
}

#[test]
fn outputs_beside_others_are_those_of_single_runs() {
    let vocabulary = vocabulary();
    let requests = requests(&vocabulary);
    let alone = requests.iter().map(|request| {
        let outputs = pair(&vocabulary, model(1)).run(request.clone());
        essence(&outputs)
    });
    let alone: Vec<Vec<String>> = alone.collect();
    assert!(alone.iter().flatten().collect::<BTreeSet<_>>().len() > alone.len());
    for packing in [
        Packing::Apart,
        Packing::Uniform,
        Packing::Slots,
        Packing::Ragged,
    ] {
        let mut scheduler = pair(&vocabulary, model(1).with_packing(packing));
        let mut tickets = Vec::new();
        let mut ended = Vec::new();
        for request in &requests {
            tickets.push(scheduler.submit(request.clone()).unwrap());
            // They join while others run.
            ended.extend(scheduler.step());
        }
        while !scheduler.is_idle() {
            ended.extend(scheduler.step());
        }
        for (ticket, outputs) in ended {
            let at = tickets.iter().position(|&other| other == ticket).unwrap();
            let strategy = &requests[at].strategy;
            assert_eq!(essence(&outputs), alone[at], "{packing:?} {strategy:?}");
        }
        assert_eq!(scheduler.cache_bytes(), 0);
    }
}

#[test]
fn a_cancelled_request_leaves_at_once_and_leaves_no_row() {
    let vocabulary = vocabulary();
    let constraint = &constraints(&vocabulary)[0];
    let mut cancelled = 0;
    for strategy in strategies() {
        for steps in 0..12 {
            let rows = Arc::new(AtomicUsize::new(0));
            let seen = Arc::clone(&rows);
            let hook = move |model: &MockModel, _: &[RowRun<'_>]| -> Result<(), ModelError> {
                seen.store(model.rows(), Ordering::Relaxed);
                Ok(())
            };
            let mut scheduler = pair(&vocabulary, Hooked(model(1), hook));
            let request = Request::new(prompt(70, 1), constraint.matcher())
                .with_options(options(&strategy))
                .with_strategy(strategy.clone());
            let ticket = scheduler.submit(request).unwrap();
            for _ in 0..steps {
                assert!(scheduler.step().is_empty());
            }
            scheduler.cancel(ticket);
            let ended = scheduler.step();
            assert_eq!(ended.len(), 1, "{strategy:?} after {steps}");
            for output in ended.into_iter().flat_map(|(_, outputs)| match outputs {
                Ok(outputs) => outputs.outputs,
                Err(error) => vec![Err(error)],
            }) {
                match output {
                    // It ended before it was cancelled.
                    Ok(output) => assert_ne!(output.generation.finish, FinishReason::Cancelled),
                    Err(GenerateError::Incomplete(cut)) => {
                        assert_eq!(*cut.reason(), FinishReason::Cancelled);
                        cancelled += 1;
                    }
                    Err(error) => panic!("{strategy:?} after {steps}: {error}"),
                }
            }
            // Only the next request's own row is open.
            let next = Request::new([TokenId(7)], constraint.matcher());
            scheduler.submit(next).unwrap();
            scheduler.step();
            assert_eq!(
                rows.load(Ordering::Relaxed),
                1,
                "{strategy:?} after {steps}"
            );
        }
    }
    assert!(cancelled >= 7 * 12, "{cancelled}");
}

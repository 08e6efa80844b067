//! Whatever the strategy and the model, what comes out is whole, valid and within its budget: at the least one, one
//! more, and twice as much.
//!
//! 400 random schemas by default; `STRUCTGEN_FULL=1` takes 1,700, which makes 20,000 runs and more.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use structgen::constraint::{CompiledConstraint, Matcher};
use structgen::decode::{
    GenerateError, GenerateOptions, Generation, MockModel, Request, Scheduler,
    model::MockEncoder,
    request::JumpForward,
    strategies::{BeamOptions, Distinct, EarlyStopping, PromptLookup, Speculation},
};
use structgen::vocab::TokenId;
use structgen::{Checker, Constraint, SamplingParams, SchemaOptions};
use structgen_tests::generator::SchemaGenerator;
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, is_full_run, report};

const STRATEGIES: [&str; 8] = [
    "greedy",
    "sampled",
    "many",
    "batch",
    "beams",
    "groups",
    "drawn beams",
    "drafts",
];

/// What a model has set its mind on, beside none.
const WISHES: [&[u8]; 6] = [b"", b"", b"\"", b" \n", b"0123456789", b"[{\\"];

fn model(vocabulary: &TestVocabulary, wish: &[u8], seed: u64) -> MockModel {
    let mut model = MockModel::new(vocabulary.width(), 100_000, [vocabulary.eos]).with_seed(seed);
    for (id, bytes) in vocabulary.vocabulary().tokens() {
        if bytes.iter().all(|byte| wish.contains(byte)) {
            model = model.preferring(id, 100.0);
        }
    }
    // A model that would rather not end.
    match wish.is_empty() {
        true => model,
        false => model.preferring(vocabulary.eos, -100.0),
    }
}

/// All outputs of one strategy.
fn run(
    strategy: &str,
    vocabulary: &TestVocabulary,
    matcher: &Matcher,
    budget: usize,
    wish: &[u8],
    random: &mut SplitMix,
) -> Result<Vec<Generation>, GenerateError> {
    let seed = random.next_u64();
    let target = model(vocabulary, wish, seed);
    let draft = model(vocabulary, wish, seed ^ u64::from(seed.is_multiple_of(3)));
    let greedy = ["greedy", "beams", "groups"].contains(&strategy);
    let mut options = GenerateOptions {
        sampling: SamplingParams {
            temperature: if greedy { 0.0 } else { 2.0 },
            top_p: [1.0, 0.9][random.below(2)],
            repetition_penalty: [1.0, 1.3][random.below(2)],
            seed,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(budget),
        min_new_tokens: [0, 7][random.below(2)],
        log_probs: random.below(4) == 0,
        jump_forward: [JumpForward::Exact, JumpForward::Canonical][random.below(2)],
        ..GenerateOptions::default()
    };
    let prompts: [Vec<TokenId>; 3] = [1, 9, 4].map(|n| (0..n).map(TokenId).collect());
    let beams = BeamOptions {
        width: 4,
        n_best: 4,
        groups: if strategy == "groups" { 2 } else { 1 },
        diversity_penalty: if strategy == "groups" { 2.0 } else { 0.0 },
        sample: strategy == "drawn beams",
        renormalize: random.below(2) == 0,
        length_penalty: [1.0, -1.0, 2.0][random.below(3)],
        early_stopping: [
            EarlyStopping::Heuristic,
            EarlyStopping::Always,
            EarlyStopping::Never,
        ][random.below(3)],
        distinct: [Distinct::Tokens, Distinct::Text, Distinct::JsonValue][random.below(3)],
    };
    let request = |prompt: usize, options: &GenerateOptions| {
        Request::new(&prompts[prompt][..], matcher.clone()).with_options(options.clone())
    };
    let requests = match strategy {
        "greedy" | "sampled" => vec![request(0, &options)],
        "many" => {
            options.sequences = 3;
            vec![request(1, &options)]
        }
        "batch" => [0, 1, 2].map(|prompt| request(prompt, &options)).into(),
        "drafts" => {
            let speculation = Speculation {
                model: true,
                lookup: Some(PromptLookup::default()),
                forced_text: random.below(2) == 0,
                ..Speculation::default()
            };
            vec![request(2, &options).with_strategy(speculation)]
        }
        _ => {
            // Beams take no forced text, and truncate only what is drawn.
            options.jump_forward = JumpForward::Exact;
            if !beams.sample {
                options.sampling.top_p = 1.0;
            }
            vec![request(2, &options).with_strategy(beams)]
        }
    };
    let encoder = MockEncoder(vocabulary.vocabulary().clone());
    let mut scheduler = Scheduler::new(target, vocabulary.vocabulary().clone())
        .with_encoder(Arc::new(encoder))
        .with_draft(draft, vocabulary.vocabulary())?;
    for request in requests {
        scheduler.submit(request)?;
    }
    let mut generations = Vec::new();
    while !scheduler.is_idle() {
        for (_, outputs) in scheduler.step() {
            let outputs = outputs?.all()?;
            generations.extend(outputs.into_iter().map(|output| output.generation));
        }
    }
    Ok(generations)
}

/// Whether every number in the text has so few digits that a double has its value.
fn are_doubles(text: &str) -> bool {
    let digits = text.split(|c: char| !c.is_ascii_digit() && !".eE+-".contains(c));
    digits.into_iter().all(|number| number.len() <= 12)
}

/// Whether the validator reads the schema's patterns as ECMA-262 does: there, words are of ASCII letters.
fn reads_alike(schema: &Value, text: &str) -> bool {
    text.is_ascii() || !schema.to_string().contains(r"\\b")
}

/// Random schemas that compile, with what judges their texts.
fn schemas(
    count: usize,
    vocabulary: &TestVocabulary,
    random: &mut SplitMix,
) -> Vec<(Value, CompiledConstraint, Checker, jsonschema::Validator)> {
    let mut found = Vec::new();
    while found.len() < count {
        let schema = SchemaGenerator::document(random);
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema);
        let constraint = Constraint::json_schema(&schema, &SchemaOptions::new());
        let (Ok(validator), Ok(constraint)) = (validator, constraint) else {
            continue;
        };
        let compiled = constraint.compile(&vocabulary.tables, &[vocabulary.eos]);
        if let (Ok(compiled), Ok(checker)) = (compiled, Checker::new(&constraint)) {
            found.push((schema, compiled, checker, validator));
        }
    }
    found
}

#[test]
fn every_strategy_closes_within_every_budget_that_suffices() {
    let vocabulary = vocabularies::small();
    let mut random = SplitMix::new(17);
    let count = if is_full_run() { 1_700 } else { 400 };
    // By strategy: runs, outputs, and outputs that the budget steered.
    let mut tally: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut failures = Vec::new();
    for (round, (schema, compiled, checker, validator)) in
        schemas(count, &vocabulary, &mut random).iter().enumerate()
    {
        let matcher = compiled.matcher();
        let needed = matcher.clone().completion_cost().unwrap() as usize;
        for (i, budget) in [needed, needed + 1, 2 * needed].into_iter().enumerate() {
            for pass in 0..4 {
                let strategy = STRATEGIES[(round + i + 2 * pass) % STRATEGIES.len()];
                let wish = WISHES[random.below(WISHES.len())];
                let outputs = run(strategy, &vocabulary, &matcher, budget, wish, &mut random);
                let [runs, written, steered] = tally.entry(strategy).or_default();
                *runs += 1;
                let outputs = match outputs {
                    Ok(outputs) => outputs,
                    Err(error) => {
                        failures.push(format!(
                            "{strategy}, {budget} of {needed}: {error}: {schema}"
                        ));
                        continue;
                    }
                };
                assert!(!outputs.is_empty(), "{strategy}: {schema}");
                for output in outputs {
                    *written += 1;
                    *steered += usize::from(output.stats.steered_steps > 0);
                    let text = &output.text;
                    let value = serde_json::from_str::<Value>(text);
                    let is_valid = value.is_ok_and(|value| {
                        !are_doubles(text)
                            || !reads_alike(schema, text)
                            || validator.is_valid(&value)
                    });
                    let fits = matches!(checker.check(text.as_bytes()), Ok(None));
                    if !is_valid || !fits || output.tokens.len() > budget {
                        failures.push(format!(
                            "{strategy}, {budget} of {needed}: {text}: {schema}"
                        ));
                    }
                }
            }
        }
    }
    for (strategy, [runs, written, steered]) in &tally {
        report(&format!(
            "{strategy}: {runs} runs, {written} outputs, {steered} of them steered by the budget"
        ));
    }
    let shown: Vec<&String> = failures.iter().take(10).collect();
    assert!(shown.is_empty(), "{} failures: {shown:#?}", failures.len());
    for (strategy, [_, written, steered]) in tally {
        // A budget that never bites would show nothing.
        assert!(steered * 50 > written, "{strategy}: {steered} of {written}");
    }
}

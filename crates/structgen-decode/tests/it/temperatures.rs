//! The loop under grammars that set the temperatures of their parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_decode::{
    GenerateOptions, Generation, MockModel, Request, SamplingParams, Strategy,
    strategies::{BeamOptions, PromptLookup, Speculation},
};
use structgen_frontend::gbnf::{GbnfOptions, parse};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{self, EOS, vocabulary};

fn compiled(vocabulary: &Arc<Vocabulary>, grammar: &str) -> CompiledConstraint {
    let grammar = parse(grammar, &GbnfOptions::default()).unwrap();
    let tables = Arc::new(VocabularyTables::new(vocabulary.clone()));
    let options = ConstraintOptions {
        eos: vec![EOS],
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar, &tables, &options).unwrap()
}

struct Run<'a> {
    vocabulary: &'a Arc<Vocabulary>,
    constraint: &'a CompiledConstraint,
    options: GenerateOptions,
}

impl Run<'_> {
    fn output(&self, strategy: impl Into<Strategy>) -> Generation {
        let model = MockModel::new(self.vocabulary.len(), 4096, [EOS]).with_seed(3);
        let request = Request::new([TokenId(65)], self.constraint.matcher())
            .with_options(self.options.clone())
            .with_strategy(strategy);
        let outputs = support::run(&model, self.vocabulary, request).unwrap();
        outputs.single().unwrap()
    }
}

fn options(temperature: f32, seed: u64) -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(60),
        sampling: SamplingParams {
            temperature,
            seed,
            top_k: 12,
            top_p: 0.9,
            repetition_penalty: 1.2,
            ..SamplingParams::default()
        },
        ..GenerateOptions::default()
    }
}

#[test]
fn each_part_is_drawn_at_its_temperature() {
    let vocabulary = vocabulary();
    let guided = compiled(
        &vocabulary,
        "root ::= %temperature{0}([A-Z]{8}) \"-\" %temperature{1.5}([A-Z]{8}) \"-\" [A-Z]{4}",
    );
    let plain = compiled(
        &vocabulary,
        "root ::= [A-Z]{8} \"-\" [A-Z]{8} \"-\" [A-Z]{4}",
    );
    let run = |constraint, options| {
        Run {
            vocabulary: &vocabulary,
            constraint,
            options,
        }
        .output(Strategy::Sample)
    };
    let greedy = run(&plain, options(0.0, 0)).text;
    let mut outputs = Vec::new();
    for seed in 0..20 {
        let output = run(&guided, options(0.0, seed));
        assert_eq!(output.text[..9], greedy[..9]);
        // The second part is the same as if everything were drawn at its temperature, after the same prefix.
        let prefill: Vec<TokenId> = greedy[..9].bytes().map(|it| TokenId(it.into())).collect();
        let warm = GenerateOptions {
            prefill,
            ..options(1.5, seed)
        };
        assert_eq!(output.text[..18], run(&plain, warm).text[..18]);
        // The rest is greedy again.
        let prefill = output.text[..18].bytes().map(|it| TokenId(it.into()));
        let cold = GenerateOptions {
            prefill: prefill.collect(),
            ..options(0.0, seed)
        };
        assert_eq!(output.text, run(&plain, cold).text);
        outputs.push(output.text);
    }
    outputs.sort();
    outputs.dedup();
    assert!(outputs.len() > 10, "{outputs:?}");
}

#[test]
fn a_chain_without_guides_is_as_ever_under_a_grammar_that_has_some() {
    let vocabulary = vocabulary();
    let guided = compiled(
        &vocabulary,
        "root ::= [A-Z]{20} %temperature{0}(\"-\" [A-Z]{4})",
    );
    let plain = compiled(&vocabulary, "root ::= [A-Z]{20} \"-\" [A-Z]{4}");
    for temperature in [0.0, 0.7, 1.0, 1.8] {
        for seed in 0..10 {
            let outputs = [&guided, &plain].map(|constraint| {
                let options = options(temperature, seed);
                let vocabulary = &vocabulary;
                Run {
                    vocabulary,
                    constraint,
                    options,
                }
                .output(Strategy::Sample)
                .text
            });
            assert_eq!(outputs[0][..21], outputs[1][..21], "at {temperature}");
        }
    }
}

#[test]
fn limits_of_tokens_are_kept_and_what_is_begun_is_ended() {
    let vocabulary = vocabulary();
    let constraint = compiled(
        &vocabulary,
        "root ::= %tokens{0,6}(list) \"!\" %tokens{0,3}([A-Z]*) \".\"\nlist ::= \"(\" (list | [A-Z])* \")\"",
    );
    for seed in 0..100 {
        let output = Run {
            vocabulary: &vocabulary,
            constraint: &constraint,
            options: options(1.0, seed),
        }
        .output(Strategy::Sample);
        let (list, rest) = output.text.split_once('!').unwrap();
        // Every byte is a token of its own here.
        assert!(list.len() <= 6, "{}", output.text);
        assert!(
            rest.strip_suffix('.').unwrap().len() <= 3,
            "{}",
            output.text
        );
        let depth = list.matches('(').count();
        assert_eq!(depth, list.matches(')').count(), "{}", output.text);
    }
}

/// Returns the outputs of a beam search with their scores.
fn beams(
    vocabulary: &Arc<Vocabulary>,
    constraint: &CompiledConstraint,
    temperature: f32,
    seed: u64,
    beams: BeamOptions,
) -> Vec<(String, f64)> {
    let model = MockModel::new(vocabulary.len(), 4096, [EOS]).with_seed(3);
    let options = GenerateOptions {
        max_new_tokens: Some(60),
        sampling: SamplingParams {
            temperature,
            seed,
            repetition_penalty: 1.2,
            ..SamplingParams::default()
        },
        ..GenerateOptions::default()
    };
    let request = Request::new([TokenId(65)], constraint.matcher())
        .with_options(options)
        .with_strategy(beams);
    let outputs = support::run(&model, vocabulary, request).unwrap();
    let outputs = outputs.all().unwrap().into_iter();
    outputs
        .map(|output| (output.generation.text, output.score.unwrap()))
        .collect()
}

#[test]
fn beams_that_are_not_drawn_have_no_temperature() {
    let vocabulary = vocabulary();
    let guided = compiled(
        &vocabulary,
        "root ::= %temperature{3}([A-Z]{5}) \"-\" %temperature{0}([A-Z]{5}) \"-\" [A-Z]{4}",
    );
    let plain = compiled(
        &vocabulary,
        "root ::= [A-Z]{5} \"-\" [A-Z]{5} \"-\" [A-Z]{4}",
    );
    for width in [1, 4] {
        let [guided, plain] = [&guided, &plain].map(|constraint| {
            let options = BeamOptions {
                width,
                n_best: width,
                ..BeamOptions::default()
            };
            beams(&vocabulary, constraint, 0.0, 0, options)
        });
        assert_eq!(guided.len(), width);
        for ((text, score), (plain_text, plain_score)) in guided.iter().zip(&plain) {
            assert_eq!(text, plain_text);
            assert!((score - plain_score).abs() < 1e-5, "{score} {plain_score}");
        }
    }
}

#[test]
fn beams_are_not_drawn_where_a_grammar_asks_for_the_largest() {
    let vocabulary = vocabulary();
    let guided = compiled(
        &vocabulary,
        "root ::= %temperature{0}([A-Z]{8}) \"-\" [A-Z]{4}",
    );
    let plain = compiled(&vocabulary, "root ::= [A-Z]{8} \"-\" [A-Z]{4}");
    let one = BeamOptions {
        width: 1,
        ..BeamOptions::default()
    };
    let greedy = beams(&vocabulary, &plain, 0.0, 0, one);
    for width in [1, 3] {
        let mut rests = BTreeSet::new();
        for seed in 0..10 {
            let options = BeamOptions {
                width,
                sample: true,
                ..BeamOptions::default()
            };
            for (text, _) in beams(&vocabulary, &guided, 1.5, seed, options) {
                assert_eq!(text[..9], greedy[0].0[..9]);
                rests.insert(text[9..].to_owned());
            }
        }
        assert!(rests.len() > 5, "{rests:?}");
    }
}

#[test]
fn drafts_are_drawn_at_the_same_temperatures() {
    let vocabulary = vocabulary();
    let constraint = compiled(
        &vocabulary,
        "root ::= (%temperature{0}([A-Z]{6}) %temperature{2}([0-9]{2}) \";\"){3}",
    );
    for temperature in [0.0, 1.0] {
        for seed in 0..10 {
            let run = Run {
                vocabulary: &vocabulary,
                constraint: &constraint,
                options: options(temperature, seed),
            };
            let alone = run.output(Strategy::Sample);
            let drafted = run.output(Speculation {
                lookup: Some(PromptLookup::default()),
                ..Speculation::default()
            });
            assert_eq!(alone.text, drafted.text, "at {temperature}, seed {seed}");
        }
    }
}

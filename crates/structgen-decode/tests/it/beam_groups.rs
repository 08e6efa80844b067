//! Beam search in groups that are penalised for choosing the same token.

use std::collections::BTreeSet;

use structgen_decode::{
    GenerateOptions, MockModel, SamplingParams, Unconstrained, strategies::BeamOptions,
};
use structgen_vocab::TokenId;

use crate::beams::{at_most, letters, log_softmax, search, with_end};

#[test]
fn groups_differ_where_a_penalty_parts_them() {
    let (vocabulary, eos) = letters(8, 1);
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &eos);
    for seed in 0..20 {
        let model = MockModel::new(9, 64, eos.clone())
            .with_seed(seed)
            .preferring(eos[0], -100.0);
        let firsts = |diversity_penalty| {
            let beams = BeamOptions {
                width: 3,
                n_best: 3,
                groups: 3,
                diversity_penalty,
                ..BeamOptions::default()
            };
            let found = search(&model, &vocabulary, &free, &at_most(6), &beams);
            let firsts: BTreeSet<_> = found.iter().map(|one| with_end(one)[0]).collect();
            firsts.len()
        };
        assert_eq!((firsts(0.0), firsts(100.0)), (1, 3));
    }
}

/// In transformers' list of processors, that for diversity is the last before those for repetition.
#[test]
fn diversity_comes_before_the_repetition_penalty_as_in_transformers() {
    let (vocabulary, _) = letters(8, 1);
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[]);
    let (diversity_penalty, repetition_penalty) = (1.5, 2.0);
    let options = GenerateOptions {
        sampling: SamplingParams {
            repetition_penalty: repetition_penalty as f32,
            ..SamplingParams::default()
        },
        ..at_most(6)
    };
    for seed in 0..40 {
        let model = MockModel::new(9, 64, []).with_seed(seed);
        // Groups of one beam, each of which takes its best token.
        let mut expected = vec![(vec![TokenId(0)], 0.0); 3];
        for _ in 0..6 {
            let mut chosen = Vec::new();
            for (tokens, sum) in &mut expected {
                let logs = log_softmax(&model, tokens);
                let scores = (0..8).map(TokenId).map(|id| {
                    let others = chosen.iter().filter(|&&other| other == id).count();
                    let log = logs[id.index()] - diversity_penalty * others as f64;
                    let seen = tokens.contains(&id);
                    (id, if seen { log * repetition_penalty } else { log })
                });
                let (best, score) = scores.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                tokens.push(best);
                chosen.push(best);
                *sum += score;
            }
        }
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let beams = BeamOptions {
            width: 3,
            n_best: 3,
            groups: 3,
            diversity_penalty,
            ..BeamOptions::default()
        };
        let found = search(&model, &vocabulary, &free, &options, &beams);
        for (output, (tokens, sum)) in found.iter().zip(&expected) {
            assert_eq!(with_end(output), tokens[1..], "{seed}");
            assert!((output.log_prob.unwrap() - sum).abs() < 1e-4, "{seed}");
        }
    }
}

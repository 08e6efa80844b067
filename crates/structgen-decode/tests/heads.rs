//! Drafts by extra heads change how fast an output comes, and nothing about it.

mod support;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use structgen_decode::{
    DraftHeads, DraftLength, Forward, GenerateError, GenerateOptions, Generation, Generator,
    LanguageModel, MockEncoder, MockModel, ModelError, PromptLookup, SamplingParams, Speculation,
    Unconstrained,
};
use structgen_vocab::TokenId;
use support::{EOS, constraints, essence, prompt, vocabulary};

const WIDTH: usize = 6;
const VOCABULARY: usize = 265;

fn model(seed: u64) -> MockModel {
    MockModel::new(VOCABULARY, 300, [EOS])
        .with_seed(seed)
        .with_hidden_width(WIDTH)
}

/// Heads that know the states of a text, and what comes behind each; of other states, nothing.
struct Knowing {
    heads: usize,
    behind: HashMap<Vec<u32>, Vec<TokenId>>,
    logits: Vec<f32>,
    runs: u64,
}

impl Knowing {
    /// Of every so-manieth state, they are wrong.
    fn of(
        model: &MockModel,
        heads: usize,
        prompt: &[TokenId],
        output: &[TokenId],
        wrong: usize,
    ) -> Self {
        let mut model = model.clone();
        let all = [prompt, output].concat();
        let mut cache = model.new_cache(&[0]).unwrap();
        let input = Forward::new(&all, all.len()).with_hidden();
        let logits = model.forward(input, &mut cache).unwrap();
        let mut behind = HashMap::new();
        for at in 0..all.len() {
            let state = logits.hidden(0, at).unwrap().iter();
            let further = all.iter().skip(at + 2).take(heads);
            let shift = u32::from(at % wrong == wrong - 1);
            let further = further.map(|token| TokenId((token.0 + shift) % VOCABULARY as u32));
            behind.insert(state.map(|x| x.to_bits()).collect(), further.collect());
        }
        Self {
            heads,
            behind,
            logits: Vec::new(),
            runs: 0,
        }
    }
}

impl DraftHeads for Knowing {
    fn heads(&self) -> usize {
        self.heads
    }

    fn hidden_width(&self) -> usize {
        WIDTH
    }

    fn guess(&mut self, hidden: &[f32]) -> Result<&[f32], ModelError> {
        self.runs += 1;
        self.logits.clear();
        self.logits.resize(self.heads * VOCABULARY, 0.0);
        let state: Vec<u32> = hidden.iter().map(|x| x.to_bits()).collect();
        for (head, token) in self.behind.get(&state).into_iter().flatten().enumerate() {
            self.logits[head * VOCABULARY + token.index()] = 9.0;
        }
        Ok(&self.logits)
    }
}

fn ids(output: &Result<Generation, GenerateError>) -> Vec<TokenId> {
    let output = match output {
        Ok(output) => output,
        Err(GenerateError::Incomplete(cut)) => &cut.partial,
        Err(error) => panic!("{error}"),
    };
    output.tokens.iter().map(|token| token.id).collect()
}

#[test]
fn outputs_are_the_same_for_every_seed_and_with_every_source_beside() {
    let vocabulary = vocabulary();
    let encoder = MockEncoder(vocabulary.clone());
    let compiled = constraints(&vocabulary);
    let (mut kept, mut lost, mut beside) = (0, 0, 0);
    for number in 0..300u64 {
        let options = GenerateOptions {
            sampling: SamplingParams {
                temperature: if number % 2 == 1 { 1.3 } else { 0.0 },
                repetition_penalty: 1.1,
                top_k: 12,
                seed: number,
                ..SamplingParams::default()
            },
            max_new_tokens: Some(40 + number as usize % 30),
            min_new_tokens: number as usize % 11,
            log_probs: number.is_multiple_of(3),
            ..GenerateOptions::default()
        };
        let prompt = prompt(1 + number as u32 % 40, number as u32);
        let mut target = model(number);
        let mut other = model(number).preferring(TokenId(34), 1.0);
        let chunk = NonZeroUsize::new([usize::MAX, 3][number as usize / 7 % 2]).unwrap();
        let known = target.clone();
        let mut generator = Generator::new(&mut target, &vocabulary)
            .with_prefill_chunk(chunk)
            .with_encoder(&encoder);
        let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
        // One in six is free.
        let of = compiled.get(number as usize % 6);
        let plain = match of {
            Some(constraint) => generator.generate(&prompt, &mut constraint.matcher(), &options),
            None => generator.generate(&prompt, &mut free.clone(), &options),
        };
        let heads = 1 + number as usize % 3;
        let mut heads = Knowing::of(&known, heads, &prompt, &ids(&plain), 4);
        let mut speculation = Speculation::new().with_heads(&mut heads);
        if number % 4 == 2 {
            speculation = speculation
                .with_forced_text()
                .with_lookup(PromptLookup::default());
        }
        if number % 8 == 4 {
            speculation = speculation.with_model(&mut other, Arc::clone(&vocabulary));
        }
        let same = match of {
            Some(constraint) => {
                let matcher = &mut constraint.matcher();
                generator.generate_speculative(&prompt, matcher, &options, &mut speculation)
            }
            None => {
                let free = &mut free.clone();
                generator.generate_speculative(&prompt, free, &options, &mut speculation)
            }
        };
        assert_eq!(essence(&same), essence(&plain), "{number}");
        let stats = speculation.stats();
        kept += stats.heads.kept;
        lost += stats.heads.tested - stats.heads.kept;
        beside += stats.lookup.kept + stats.forced_text.kept + stats.model.kept;
        let runs = stats.head_runs;
        drop(speculation);
        assert_eq!(runs, heads.runs);
    }
    assert!(
        kept > 500 && lost > 100 && beside > 20,
        "{kept} {lost} {beside}"
    );
}

#[test]
fn heads_that_know_are_kept_whole_and_save_their_runs() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    let options = GenerateOptions {
        max_new_tokens: Some(60),
        ..GenerateOptions::default()
    };
    let prompt = prompt(7, 3);
    let mut target = model(4).preferring(EOS, -30.0);
    let known = target.clone();
    let mut generator = Generator::new(&mut target, &vocabulary);
    let plain = generator.generate(&prompt, &mut free.clone(), &options);
    let plain = ids(&plain);
    let mut heads = Knowing::of(&known, 2, &prompt, &plain, usize::MAX);
    let length = DraftLength::Fixed(NonZeroUsize::new(5).unwrap());
    let mut speculation = Speculation::new()
        .with_heads(&mut heads)
        .with_length(length);
    let same = generator
        .generate_speculative(&prompt, &mut free.clone(), &options, &mut speculation)
        .unwrap();
    assert_eq!(
        same.tokens.iter().map(|token| token.id).collect::<Vec<_>>(),
        plain
    );
    let stats = speculation.stats();
    // The first run has no state before it; each later one gives three tokens, the last what is left.
    assert_eq!(stats.target_runs, 1 + 59_u64.div_ceil(3));
    assert_eq!(stats.heads.tested, stats.heads.kept);
    assert_eq!(stats.acceptance(), [1.0, 1.0]);
    assert_eq!(stats.tokens, 60);
}

#[test]
fn a_model_without_the_states_that_heads_take_is_refused() {
    let vocabulary = vocabulary();
    let mut told = Vec::new();
    for mut target in [
        MockModel::new(VOCABULARY, 300, [EOS]),
        MockModel::new(VOCABULARY, 300, [EOS]).with_hidden_width(WIDTH + 1),
    ] {
        let mut heads = Knowing::of(&model(1), 2, &prompt(3, 1), &[], 2);
        let mut speculation = Speculation::new().with_heads(&mut heads);
        let mut free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
        let options = GenerateOptions::default();
        let error = Generator::new(&mut target, &vocabulary).generate_speculative(
            &prompt(3, 1),
            &mut free,
            &options,
            &mut speculation,
        );
        told.push(error.unwrap_err().to_string());
    }
    expect_test::expect![[r#"
        the model gives out no hidden states: export it with the output hidden_states, the last layer's normalised states
        the heads take hidden states of 6 numbers, and the model's have 7"#]]
    .assert_eq(&told.join("\n"));
}

//! Drafts by extra heads change how fast an output is generated, and nothing else.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use structgen_decode::{
    Constraint, GenerateError, GenerateOptions, Generation, LanguageModel, MockModel, ModelError,
    Outputs, Request, SamplingParams, SchedulerLimits, Unconstrained,
    model::{DraftHeads, RowRun},
    request::Report,
    strategies::{DraftLength, PromptLookup, Speculation, SpeculationStats},
};
use structgen_vocab::TokenId;

use crate::support::{EOS, constraints, essence, prompt, run, scheduler, vocabulary};

const WIDTH: usize = 6;
const VOCABULARY: usize = 265;

fn model(seed: u64) -> MockModel {
    MockModel::new(VOCABULARY, 300, [EOS])
        .with_seed(seed)
        .with_hidden_width(WIDTH)
}

/// Heads that know the states of a text, and what follows each; for other states, they know nothing.
struct Knowing {
    heads: usize,
    behind: HashMap<Vec<u32>, Vec<TokenId>>,
    logits: Vec<f32>,
    runs: Arc<AtomicU64>,
}

impl Knowing {
    /// Creates heads that are wrong for one in several states.
    fn of(
        model: &MockModel,
        heads: usize,
        prompt: &[TokenId],
        output: &[TokenId],
        wrong: usize,
    ) -> Self {
        let mut model = model.clone();
        let all = [prompt, output].concat();
        let row = model.open_row().unwrap();
        let everywhere = RowRun {
            positions: all.len(),
            ..RowRun::last(row, &all)
        };
        let output = model.run(&[everywhere], true).unwrap().row(0);
        let mut behind = HashMap::new();
        for at in 0..all.len() {
            let state = output.hidden(at).unwrap().iter();
            let further = all.iter().skip(at + 2).take(heads);
            let shift = u32::from(at % wrong == wrong - 1);
            let further = further.map(|token| TokenId((token.0 + shift) % VOCABULARY as u32));
            behind.insert(state.map(|x| x.to_bits()).collect(), further.collect());
        }
        Self {
            heads,
            behind,
            logits: Vec::new(),
            runs: Arc::default(),
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
        self.runs.fetch_add(1, Ordering::Relaxed);
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

fn stats(outputs: &Outputs) -> SpeculationStats {
    let Report::Speculation(stats) = &outputs.report else {
        panic!("{:?}", outputs.report);
    };
    stats.clone()
}

/// Returns a request's result without drafts, and with those of heads and of other sources; also the runs of the heads.
fn with_and_without<C: Constraint + Clone + 'static>(
    number: u64,
    request: Request<C>,
) -> (Result<Generation, GenerateError>, Outputs, u64) {
    let vocabulary = vocabulary();
    let target = model(number);
    let mut limits = SchedulerLimits::default();
    limits.prefill_most = [usize::MAX, 3][number as usize / 7 % 2];
    let plain = { scheduler(target.clone(), &vocabulary).with_limits(limits) }.run(request.clone());
    let plain = plain.and_then(|outputs| outputs.single());
    let heads = 1 + number as usize % 3;
    let heads = Knowing::of(&target, heads, &request.prompt, &ids(&plain), 4);
    let runs = Arc::clone(&heads.runs);
    let beside = number % 4 == 2;
    let speculation = Speculation {
        heads: true,
        forced_text: beside,
        lookup: beside.then(PromptLookup::default),
        model: number % 8 == 4,
        ..Speculation::default()
    };
    let other = target.clone().preferring(TokenId(34), 1.0);
    let outputs = scheduler(target, &vocabulary)
        .with_limits(limits)
        .with_heads(heads)
        .with_draft(other, &vocabulary)
        .unwrap()
        .run(request.with_strategy(speculation));
    (plain, outputs.unwrap(), runs.load(Ordering::Relaxed))
}

#[test]
fn outputs_are_the_same_for_every_seed_and_with_every_source_beside() {
    let vocabulary = vocabulary();
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
        let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
        let request = Request::new(prompt, free).with_options(options);
        // One in six is unconstrained.
        let (plain, same, head_runs) = match compiled.get(number as usize % 6) {
            Some(constraint) => {
                with_and_without(number, request.with_constraint(constraint.matcher()))
            }
            None => with_and_without(number, request),
        };
        let stats = stats(&same);
        assert_eq!(essence(&same.single()), essence(&plain), "{number}");
        kept += stats.heads.kept;
        lost += stats.heads.tested - stats.heads.kept;
        beside += stats.lookup.kept + stats.forced_text.kept + stats.model.kept;
        assert_eq!(stats.head_runs, head_runs);
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
    let request = Request::new(prompt(7, 3), free).with_options(options);
    let target = model(4).preferring(EOS, -30.0);
    let plain = run(&target, &vocabulary, request.clone()).and_then(|outputs| outputs.single());
    let plain = ids(&plain);
    let heads = Knowing::of(&target, 2, &request.prompt, &plain, usize::MAX);
    let speculation = Speculation {
        heads: true,
        length: DraftLength::Fixed(NonZeroUsize::new(5).unwrap()),
        ..Speculation::default()
    };
    let outputs = { scheduler(target, &vocabulary).with_heads(heads) }
        .run(request.with_strategy(speculation))
        .unwrap();
    let stats = stats(&outputs);
    assert_eq!(ids(&outputs.single()), plain);
    // The first run has no earlier state; each later one gives three tokens, and the last what is left.
    assert_eq!(stats.target_runs, 1 + 59_u64.div_ceil(3));
    assert_eq!(stats.heads.tested, stats.heads.kept);
    assert_eq!(stats.acceptance(), [1.0, 1.0]);
    assert_eq!(stats.tokens, 60);
}

#[test]
fn a_model_without_the_states_that_heads_take_is_refused_and_so_are_no_heads() {
    let vocabulary = vocabulary();
    let speculation = Speculation {
        heads: true,
        ..Speculation::default()
    };
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    let request = Request::new(prompt(3, 1), free).with_strategy(speculation);
    let mut told = Vec::new();
    for target in [
        MockModel::new(VOCABULARY, 300, [EOS]),
        MockModel::new(VOCABULARY, 300, [EOS]).with_hidden_width(WIDTH + 1),
    ] {
        let heads = Knowing::of(&model(1), 2, &request.prompt, &[], 2);
        let mut scheduler = scheduler(target, &vocabulary).with_heads(heads);
        told.push(scheduler.submit(request.clone()).unwrap_err().to_string());
    }
    let mut without = scheduler(model(1), &vocabulary);
    told.push(without.submit(request).unwrap_err().to_string());
    expect_test::expect![[r#"
        the model returns no hidden states: export it with the output hidden_states, the last layer's normalised states
        the heads take hidden states of 6 numbers, and the model's have 7
        drafts are to come from extra heads, and there are none: give the scheduler heads by with_heads"#]]
    .assert_eq(&told.join("\n"));
}

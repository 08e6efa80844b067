use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use structgen_vocab::Vocabulary;

use super::*;
use crate::FinishReason;
use crate::{
    Engine, LanguageModel, MockModel, ModelInfo, Scheduler, SchedulerLimits,
    model::{ModelStats, Packing, RowId, RowOutput, RowRun, RunOutput},
};

fn tokens(ids: &[u32]) -> Vec<TokenId> {
    ids.iter().copied().map(TokenId).collect()
}

const EOS: u32 = 256;

/// All bytes, an end, and longer tokens, two of which have the same bytes.
fn vocabulary() -> Vocabulary {
    let longer = ["<eos>", "a", "aa", "ab", "aab", "ba", "b", "日", "ab"];
    let bytes = (0..=255_u8).map(|byte| vec![byte]);
    let all = bytes.chain(longer.map(|text| text.as_bytes().to_vec()));
    Vocabulary::from_tokens(all, &[(TokenId(EOS), "<eos>")]).unwrap()
}

fn model(vocabulary: &Vocabulary, seed: u64) -> MockModel {
    // Some tokens are probable, so that sums are over different numbers.
    MockModel::new(vocabulary.len() + 3, 64, [TokenId(EOS)])
        .with_seed(seed)
        .preferring(TokenId(258), 4.0)
        .preferring(TokenId(u32::from(b'a')), 3.0)
        .preferring(TokenId(EOS), 2.0)
}

/// Returns the probabilities of token sequences.
fn canonical(
    model: impl LanguageModel + 'static,
    prompt: &[TokenId],
    choices: &[Vec<TokenId>],
    ends: &[TokenId],
) -> Result<Vec<ChoiceProbability>, GenerateError> {
    let request = ChoiceRequest::new(prompt, Choices::Tokens(choices.to_vec())).with_ends(ends);
    Scheduler::new(model, vocabulary()).choose(request)
}

/// Returns the probabilities of texts.
fn all(
    model: &MockModel,
    prompt: &[TokenId],
    texts: &[&str],
    ends: &[TokenId],
    limits: AllLimits,
) -> Result<Vec<ChoiceProbability>, GenerateError> {
    let texts = texts.iter().map(|&text| text.to_owned()).collect();
    let request = ChoiceRequest::new(prompt, Choices::Texts { texts, limits }).with_ends(ends);
    Scheduler::new(model.clone(), vocabulary()).choose(request)
}

/// Returns the logarithm of a token's probability after others, straight from the definition.
fn step(model: &mut MockModel, before: &[TokenId], token: TokenId) -> f64 {
    let row = model.open_row().unwrap();
    let run = [RowRun::last(row, before)];
    let output = model.run(&run, false).unwrap().row(0);
    let logits = output.last();
    let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    let log = f64::from(logits[token.index()]) - total.ln();
    model.close_row(row);
    log
}

fn sequence(model: &mut MockModel, prompt: &[TokenId], choice: &[TokenId], ends: bool) -> f64 {
    let mut seen = prompt.to_vec();
    let mut log = 0.0;
    for &token in choice.iter().chain(ends.then_some(&TokenId(EOS))) {
        log += step(model, &seen, token);
        seen.push(token);
    }
    log
}

/// Returns all tokenizations of a text.
fn spellings(vocabulary: &Vocabulary, text: &[u8]) -> Vec<Vec<TokenId>> {
    if text.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (id, bytes) in vocabulary.tokens().filter(|(_, bytes)| !bytes.is_empty()) {
        if let Some(rest) = text.strip_prefix(bytes) {
            for mut after in spellings(vocabulary, rest) {
                after.insert(0, id);
                found.push(after);
            }
        }
    }
    found
}

fn assert_close(found: f64, expected: f64) {
    let error = (found - expected).abs();
    assert!(
        found == expected || error < 1e-9,
        "{found} is not {expected}"
    );
}

#[test]
fn canonical_probabilities_are_products_of_those_of_the_tokens() {
    let vocabulary = vocabulary();
    let prompt = tokens(&[10, 11, 12]);
    let long: Vec<u32> = (20..60).collect();
    // One is a prefix of another, one occurs twice, one has nothing in common with the rest, one is longer than a
    // single run.
    let choices: Vec<Vec<TokenId>> = [
        &[97, 98][..],
        &[97],
        &[97, 98, 99, 100],
        &[97, 98, 98],
        &[97],
        &[5, 6, 7],
        &long,
    ]
    .map(tokens)
    .into();
    for (seed, ends) in [(0, false), (1, true), (2, false)] {
        let mut model = model(&vocabulary, seed);
        let eos = [TokenId(EOS)];
        let asked: &[TokenId] = if ends { &eos } else { &[] };
        let watched = Watched::new(model.clone());
        let tokens_run = Arc::clone(&watched.tokens_run);
        let found = canonical(watched, &prompt, &choices, asked).unwrap();
        let tokens_run = tokens_run.load(Relaxed);
        let mut expected = Vec::new();
        for (choice, found) in choices.iter().zip(&found) {
            let log = sequence(&mut model, &prompt, choice, ends);
            assert_close(found.log_probability, log);
            assert_eq!(found.left_out, 0.0);
            expected.push(log.exp());
        }
        // The choice that occurs twice counts once.
        let total: f64 = expected.iter().sum::<f64>() - expected[4];
        for (found, expected) in found.iter().zip(&expected) {
            assert_close(found.share, expected / total);
        }
        // The prompt, and each token that others depend on, once.
        let inner = if ends {
            3 + 5 + 3 + 40
        } else {
            3 + 2 + 1 + 2 + 39
        };
        assert!(
            tokens_run <= inner,
            "{tokens_run} tokens, and {inner} would do"
        );
    }
}

#[test]
fn one_choice_and_the_empty_one_are_choices() {
    let vocabulary = vocabulary();
    let mut model = model(&vocabulary, 3);
    let prompt = tokens(&[10]);
    let one = canonical(model.clone(), &prompt, &[tokens(&[7])], &[]).unwrap();
    assert_close(
        one[0].log_probability,
        step(&mut model, &prompt, TokenId(7)),
    );
    assert_close(one[0].share, 1.0);
    let empty = [tokens(&[]), tokens(&[7])];
    let found = canonical(model.clone(), &prompt, &empty, &[TokenId(EOS)]).unwrap();
    assert_close(
        found[0].log_probability,
        step(&mut model, &prompt, TokenId(EOS)),
    );
    let found = canonical(model.clone(), &prompt, &empty[..1], &[]).unwrap();
    assert_eq!(found[0].log_probability, 0.0);
}

#[test]
fn all_tokenizations_are_those_of_the_enumeration() {
    let vocabulary = vocabulary();
    let prompt = tokens(&[10, 11]);
    let choices = ["ab", "aab", "aabab", "", "日a", "aab", "c"];
    for (seed, ends) in [(0, false), (1, true), (2, false), (3, true)] {
        let mut model = model(&vocabulary, seed);
        let eos = [TokenId(EOS)];
        let asked: &[TokenId] = if ends { &eos } else { &[] };
        let limits = AllLimits {
            runs: usize::MAX,
            tolerance: 0.0,
        };
        let mut exact = Vec::new();
        for choice in choices {
            let ways = spellings(&vocabulary, choice.as_bytes());
            let logs: Vec<f64> = { ways.iter() }
                .map(|way| sequence(&mut model, &prompt, way, ends))
                .collect();
            exact.push(logs.iter().map(|log| log.exp()).sum::<f64>());
        }
        let found = all(&model, &prompt, &choices, asked, limits).unwrap();
        let total: f64 = exact.iter().sum::<f64>() - exact[5];
        for (found, exact) in found.iter().zip(&exact) {
            assert_close(found.probability(), *exact);
            assert_eq!(found.left_out, 0.0);
            assert_close(found.share, exact / total);
        }
        // Wherever the search stops, the truth is within the bounds.
        for runs in 0..40 {
            let limits = AllLimits {
                runs,
                tolerance: 0.0,
            };
            let cut = all(&model, &prompt, &choices, asked, limits).unwrap();
            for (cut, exact) in cut.iter().zip(&exact) {
                assert!(cut.probability() <= exact + 1e-12);
                assert!(*exact <= cut.probability() + cut.left_out + 1e-12);
            }
        }
        let limits = AllLimits {
            runs: usize::MAX,
            tolerance: 1e-3,
        };
        let near = all(&model, &prompt, &choices, asked, limits).unwrap();
        let most = 1e-3 * total + 1e-12;
        assert!(near.iter().all(|choice| choice.left_out <= most));
    }
}

#[test]
fn tokenizations_that_exceed_the_context_are_left_out() {
    let vocabulary = vocabulary();
    // Room for two tokens, and for a third whose logits are not needed; byte by byte, both texts take four or more.
    let small = |context| MockModel::new(vocabulary.len(), context, [TokenId(EOS)]).with_seed(1);
    let prompt = tokens(&[10, 11, 12]);
    let choices = ["aabab", "aaba"];
    let limits = AllLimits {
        runs: usize::MAX,
        tolerance: 0.0,
    };
    for ends in [&[][..], &[TokenId(EOS)]] {
        let exact = all(&small(64), &prompt, &choices, ends, limits).unwrap();
        let found = all(&small(5), &prompt, &choices, ends, limits).unwrap();
        for (found, exact) in found.iter().zip(&exact) {
            assert!(0.0 < found.probability() && found.probability() < exact.probability());
            assert!(exact.probability() <= found.probability() + found.left_out + 1e-12);
        }
    }
    // A prompt that fills the context is followed by one token, and a longer one by none.
    let found = all(&small(3), &prompt, &["ab", "aabab"], &[], limits).unwrap();
    assert!(found[0].probability() > 0.0 && found[0].left_out > 0.0);
    assert!(found[1].probability() == 0.0 && found[1].left_out > 0.0);
    assert!(matches!(
        all(&small(2), &prompt, &choices, &[], limits),
        Err(GenerateError::Model(ModelError::ContextOverflow {
            needed: 3,
            context_length: 2
        }))
    ));
}

#[test]
fn improbable_choices_are_told_apart() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 0);
    // The open probability soon falls below the tolerance, long before anything is found.
    let limits = AllLimits {
        runs: 5_000,
        tolerance: 0.1,
    };
    let found = all(
        &model,
        &tokens(&[10]),
        &["abababab", "babababa"],
        &[],
        limits,
    )
    .unwrap();
    let sum: f64 = found.iter().map(|choice| choice.probability()).sum();
    assert!(0.0 < sum && sum < 0.01, "{found:?}");
    assert!(found.iter().all(|choice| choice.left_out <= 0.1 * sum));
    let shares: f64 = found.iter().map(|choice| choice.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn what_cannot_be_asked_is_an_error() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 0);
    let prompt = tokens(&[1]);
    assert!(matches!(
        canonical(model.clone(), &prompt, &[], &[]),
        Err(GenerateError::Choice(ChoiceError::NoChoices))
    ));
    assert!(matches!(
        canonical(model.clone(), &[], &[tokens(&[1])], &[]),
        Err(GenerateError::EmptyPrompt)
    ));
    assert!(matches!(
        all(&model, &prompt, &[], &[], AllLimits::default()),
        Err(GenerateError::Choice(ChoiceError::NoChoices))
    ));
    // The last token's logits are not needed, unless an end has to follow.
    for (len, ends, fits) in [
        (64, false, true),
        (64, true, false),
        (63, true, true),
        (100, false, false),
    ] {
        let long = [tokens(&vec![1; len])];
        let ends: &[TokenId] = if ends { &[TokenId(EOS)] } else { &[] };
        let found = canonical(model.clone(), &prompt, &long, ends);
        match fits {
            true => assert!(found.unwrap()[0].log_probability < 0.0),
            false => assert!(matches!(
                found,
                Err(GenerateError::Model(ModelError::ContextOverflow { .. }))
            )),
        }
    }
}

/// A model that counts, and whose logits may be replaced by invalid ones.
struct Watched {
    model: MockModel,
    tokens_run: Arc<AtomicU64>,
    rows: Arc<AtomicUsize>,
    broken: Option<Vec<f32>>,
}

impl Watched {
    fn new(model: MockModel) -> Self {
        Self {
            model,
            tokens_run: Arc::default(),
            rows: Arc::default(),
            broken: None,
        }
    }
}

impl LanguageModel for Watched {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        self.rows.fetch_add(1, Relaxed);
        self.model.open_row()
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        self.rows.fetch_add(1, Relaxed);
        self.model.fork_row(row, len)
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.model.cut_row(row, len)
    }

    fn close_row(&mut self, row: RowId) {
        self.rows.fetch_sub(1, Relaxed);
        self.model.close_row(row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.model.row_len(row)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        let tokens: usize = rows.iter().map(|run| run.tokens.len()).sum();
        self.tokens_run.fetch_add(tokens as u64, Relaxed);
        let output = self.model.run(rows, hidden)?;
        let Some(logits) = &self.broken else {
            return Ok(output);
        };
        let rows = rows.iter().map(|run| {
            assert_eq!(run.positions, 1);
            RowOutput::new(logits, logits.len())
        });
        Ok(RunOutput::new(rows.collect()))
    }

    fn stats(&self) -> ModelStats {
        self.model.stats()
    }
}

#[test]
fn odd_logits_share_what_there_is_or_are_refused() {
    let broken = |logits: [f32; 4]| Watched {
        broken: Some(logits.to_vec()),
        ..Watched::new(MockModel::new(4, 16, [TokenId(0)]))
    };
    let choices = [tokens(&[1]), tokens(&[2]), tokens(&[3])];
    let nothing = [f32::NAN, f32::NEG_INFINITY, f32::NAN, f32::NEG_INFINITY];
    assert!(matches!(
        canonical(broken(nothing), &tokens(&[1]), &choices, &[]),
        Err(GenerateError::Choice(ChoiceError::NoDistribution {
            tokens: 1
        }))
    ));
    let infinite = [0.0, f32::INFINITY, f32::NAN, f32::INFINITY];
    let found = canonical(broken(infinite), &tokens(&[1]), &choices, &[]).unwrap();
    assert_close(found[0].share, 0.5);
    assert_eq!(found[1].probability(), 0.0);
    let far = [-3e38, 3e38, 0.0, -3e38];
    let found = canonical(broken(far), &tokens(&[1]), &choices, &[]).unwrap();
    assert_close(found[0].probability(), 1.0);
}

/// Requests of both kinds, with and without ends, two of them with a common prompt prefix.
fn requests() -> Vec<ChoiceRequest> {
    let long: Vec<u32> = (20..60).collect();
    let sequences = [&[97, 98][..], &[97], &[97, 98, 99, 100], &long].map(tokens);
    let prompts = [tokens(&[10; 20]), tokens(&[10; 17]), tokens(&[3])];
    let requests = prompts.iter().flat_map(|prompt| {
        [
            ChoiceRequest::new(&prompt[..], Choices::Tokens(sequences.to_vec())),
            ChoiceRequest::new(&prompt[..], Choices::texts(["aab", "aabab", "日a", "c"]))
                .with_ends([TokenId(EOS)]),
        ]
    });
    requests.collect()
}

#[test]
fn requests_side_by_side_come_to_what_each_comes_to_alone() {
    let vocabulary = vocabulary();
    for packing in [
        Packing::Ragged,
        Packing::Uniform,
        Packing::Slots,
        Packing::Apart,
    ] {
        let model = model(&vocabulary, 5).with_packing(packing);
        let alone = requests().into_iter().map(|request| {
            Scheduler::new(model.clone(), self::vocabulary())
                .choose(request)
                .unwrap()
        });
        let alone: Vec<_> = alone.collect();
        let limits = SchedulerLimits {
            prefill_chunk: 5,
            ..SchedulerLimits::default()
        };
        let mut scheduler = Scheduler::new(model, self::vocabulary()).with_limits(limits);
        let tickets = requests()
            .into_iter()
            .map(|request| scheduler.submit(request).unwrap());
        let tickets: Vec<_> = tickets.collect();
        let mut found = vec![Vec::new(); tickets.len()];
        while !scheduler.is_idle() {
            for (ticket, outputs) in scheduler.step() {
                let at = tickets.iter().position(|&other| other == ticket).unwrap();
                found[at] = outputs.unwrap().choices().unwrap();
            }
        }
        assert_eq!(found, alone, "{packing:?}");
    }
}

#[test]
fn an_engine_takes_requests_for_choices_from_any_thread() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 5);
    let schedulers = [(); 2].map(|()| Scheduler::new(model.clone(), self::vocabulary()));
    let engine = Engine::new(schedulers).unwrap();
    std::thread::scope(|scope| {
        for request in requests() {
            let (engine, model) = (engine.clone(), model.clone());
            scope.spawn(move || {
                let alone = Scheduler::new(model, self::vocabulary()).choose(request.clone());
                assert_eq!(engine.choose(request).unwrap(), alone.unwrap());
            });
        }
    });
}

#[test]
fn a_cancelled_request_leaves_no_row_and_bounds_what_it_can() {
    let vocabulary = vocabulary();
    for request in requests() {
        let is_exact = matches!(request.choices, Choices::Tokens(_));
        let model = model(&vocabulary, 0);
        let exact = Scheduler::new(model.clone(), self::vocabulary())
            .choose(request.clone())
            .unwrap();
        for steps in 0..4 {
            let watched = Watched::new(model.clone());
            let rows = Arc::clone(&watched.rows);
            let mut scheduler = Scheduler::new(watched, self::vocabulary());
            let ticket = scheduler.submit(request.clone()).unwrap();
            for _ in 0..steps {
                assert!(scheduler.step().is_empty());
            }
            scheduler.cancel(ticket);
            let (_, outputs) = scheduler.step().remove(0);
            assert_eq!(rows.load(Relaxed), 0);
            if is_exact {
                assert!(matches!(
                    outputs,
                    Err(GenerateError::Choice(ChoiceError::Stopped {
                        reason: FinishReason::Cancelled
                    }))
                ));
                continue;
            }
            for (cut, exact) in outputs.unwrap().choices().unwrap().iter().zip(&exact) {
                assert!(cut.probability() <= exact.probability() + 1e-12);
                assert!(exact.probability() <= cut.probability() + cut.left_out + 1e-12);
            }
        }
    }
}

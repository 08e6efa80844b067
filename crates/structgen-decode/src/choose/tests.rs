use structgen_vocab::Vocabulary;

use super::*;
use crate::{Logits, MockModel, ModelInfo, ModelStats};

fn tokens(ids: &[u32]) -> Vec<TokenId> {
    ids.iter().copied().map(TokenId).collect()
}

const EOS: u32 = 256;

/// All bytes, an end, and longer tokens, of which two have the same bytes.
fn vocabulary() -> Vocabulary {
    let longer = ["<eos>", "a", "aa", "ab", "aab", "ba", "b", "日", "ab"];
    let bytes = (0..=255_u8).map(|byte| vec![byte]);
    let all = bytes.chain(longer.map(|text| text.as_bytes().to_vec()));
    Vocabulary::from_tokens(all, &[(TokenId(EOS), "<eos>")]).unwrap()
}

fn model(vocabulary: &Vocabulary, seed: u64) -> MockModel {
    // Some tokens are probable, so that sums are of numbers that differ.
    MockModel::new(vocabulary.len() + 3, 64, [TokenId(EOS)])
        .with_seed(seed)
        .preferring(TokenId(258), 4.0)
        .preferring(TokenId(u32::from(b'a')), 3.0)
        .preferring(TokenId(EOS), 2.0)
}

/// The logarithm of the probability of a token behind others, straight from the definition.
fn step(model: &mut MockModel, before: &[TokenId], token: TokenId) -> f64 {
    let mut cache = model.new_cache(&[0]).unwrap();
    let logits = model.forward(Forward::last(before), &mut cache).unwrap();
    let row = logits.row(0, 0);
    let total: f64 = row.iter().map(|&logit| f64::from(logit).exp()).sum();
    f64::from(row[token.index()]) - total.ln()
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

/// All the ways of writing a text as tokens.
fn spellings(vocabulary: &Vocabulary, text: &[u8]) -> Vec<Vec<TokenId>> {
    if text.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (id, bytes) in vocabulary.tokens().filter(|(_, bytes)| !bytes.is_empty()) {
        if let Some(rest) = text.strip_prefix(bytes) {
            for mut behind in spellings(vocabulary, rest) {
                behind.insert(0, id);
                found.push(behind);
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
    // One begins another, one comes twice, one has nothing in common, one is longer than what is run at once.
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
        let found = canonical(&mut model, &prompt, &choices, asked).unwrap();
        let tokens_run = model.stats().tokens;
        let mut expected = Vec::new();
        for (choice, found) in choices.iter().zip(&found) {
            let log = sequence(&mut model, &prompt, choice, ends);
            assert_close(found.log_probability, log);
            assert_eq!(found.left_out, 0.0);
            expected.push(log.exp());
        }
        // The choice that comes twice counts once.
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
    let one = canonical(&mut model, &prompt, &[tokens(&[7])], &[]).unwrap();
    assert_close(
        one[0].log_probability,
        step(&mut model, &prompt, TokenId(7)),
    );
    assert_close(one[0].share, 1.0);
    let empty = [tokens(&[]), tokens(&[7])];
    let found = canonical(&mut model, &prompt, &empty, &[TokenId(EOS)]).unwrap();
    assert_close(
        found[0].log_probability,
        step(&mut model, &prompt, TokenId(EOS)),
    );
    let found = canonical(&mut model, &prompt, &empty[..1], &[]).unwrap();
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
        let found = all(&mut model, &vocabulary, &prompt, &choices, asked, &limits).unwrap();
        let total: f64 = exact.iter().sum::<f64>() - exact[5];
        for (found, exact) in found.iter().zip(&exact) {
            assert_close(found.probability(), *exact);
            assert_eq!(found.left_out, 0.0);
            assert_close(found.share, exact / total);
        }
        // Cut anywhere, the truth is within the bounds.
        for runs in 0..40 {
            let limits = AllLimits {
                runs,
                tolerance: 0.0,
            };
            let cut = all(&mut model, &vocabulary, &prompt, &choices, asked, &limits).unwrap();
            for (cut, exact) in cut.iter().zip(&exact) {
                assert!(cut.probability() <= exact + 1e-12);
                assert!(*exact <= cut.probability() + cut.left_out + 1e-12);
            }
        }
        let limits = AllLimits {
            runs: usize::MAX,
            tolerance: 1e-3,
        };
        let near = all(&mut model, &vocabulary, &prompt, &choices, asked, &limits).unwrap();
        assert!(near.iter().all(|choice| choice.left_out <= 1e-3 + 1e-12));
    }
}

#[test]
fn what_cannot_be_asked_is_an_error() {
    let vocabulary = vocabulary();
    let mut model = model(&vocabulary, 0);
    let limits = AllLimits::default();
    let prompt = tokens(&[1]);
    let none: [Vec<TokenId>; 0] = [];
    assert!(matches!(
        canonical(&mut model, &prompt, &none, &[]),
        Err(ChooseError::NoChoices)
    ));
    assert!(matches!(
        canonical(&mut model, &[], &[tokens(&[1])], &[]),
        Err(ChooseError::EmptyPrompt)
    ));
    let none: [&str; 0] = [];
    assert!(matches!(
        all(&mut model, &vocabulary, &prompt, &none, &[], &limits),
        Err(ChooseError::NoChoices)
    ));
    let long = [tokens(&[1; 100])];
    assert!(matches!(
        canonical(&mut model, &prompt, &long, &[]),
        Err(ChooseError::Model(ModelError::ContextOverflow { .. }))
    ));
}

/// A model that says nothing, or nothing but infinities.
struct Broken(MockModel, Vec<f32>);

impl LanguageModel for Broken {
    type Cache = crate::MockCache;

    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn new_cache(&mut self, left_padding: &[usize]) -> Result<Self::Cache, ModelError> {
        self.0.new_cache(left_padding)
    }

    fn forward(
        &mut self,
        input: Forward<'_>,
        cache: &mut Self::Cache,
    ) -> Result<Logits<'_>, ModelError> {
        self.0.forward(input, cache)?;
        let positions = input.positions;
        Logits::last_of(&self.1, 1, positions, self.1.len() / positions, positions)
    }

    fn stats(&self) -> ModelStats {
        self.0.stats()
    }
}

#[test]
fn odd_logits_share_what_there_is_or_are_refused() {
    let mock = || MockModel::new(4, 16, [TokenId(0)]);
    let choices = [tokens(&[1]), tokens(&[2]), tokens(&[3])];
    let nothing = vec![f32::NAN, f32::NEG_INFINITY, f32::NAN, f32::NEG_INFINITY];
    let mut broken = Broken(mock(), nothing);
    assert!(matches!(
        canonical(&mut broken, &tokens(&[1]), &choices, &[]),
        Err(ChooseError::NoDistribution { tokens: 1 })
    ));
    let infinite = vec![0.0, f32::INFINITY, f32::NAN, f32::INFINITY];
    let mut broken = Broken(mock(), infinite);
    let found = canonical(&mut broken, &tokens(&[1]), &choices, &[]).unwrap();
    assert_close(found[0].share, 0.5);
    assert_eq!(found[1].probability(), 0.0);
    let far = vec![-3e38, 3e38, 0.0, -3e38];
    let mut broken = Broken(mock(), far);
    let found = canonical(&mut broken, &tokens(&[1]), &choices, &[]).unwrap();
    assert_close(found[0].probability(), 1.0);
}

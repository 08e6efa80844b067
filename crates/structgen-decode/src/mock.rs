//! A model without weights, for tests: its logits are a hash of the tokens seen.

use std::sync::Arc;
use std::time::Duration;

use structgen_vocab::{TokenId, Vocabulary};

use crate::{
    Forward, KeyValueCache, LanguageModel, Logits, ModelError, ModelInfo, ModelStats, TextEncoder,
};

/// A deterministic model whose logits depend on the visible tokens of a row and on nothing else.
///
/// Batched and single, cached and uncached runs agree to the bit, which no real backend promises: the tests of the
/// decoding strategies compare exactly on it.
///
/// ```
/// use structgen_decode::{Forward, LanguageModel, MockModel};
/// use structgen_vocab::TokenId;
///
/// let mut model = MockModel::new(8, 32, [TokenId(0)]);
/// let tokens = [TokenId(1), TokenId(2)];
/// let mut whole = model.new_cache(&[0])?;
/// let at_once = model.forward(Forward::last(&tokens), &mut whole)?.row(0, 0).to_vec();
/// let mut parts = model.new_cache(&[0])?;
/// model.forward(Forward::last(&tokens[..1]), &mut parts)?;
/// assert_eq!(model.forward(Forward::last(&tokens[1..]), &mut parts)?.row(0, 0), at_once);
/// # Ok::<(), structgen_decode::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MockModel {
    info: ModelInfo,
    seed: u64,
    preferred: Vec<(TokenId, f32)>,
    logits: Vec<f32>,
    hidden: Vec<f32>,
    stats: ModelStats,
}

/// A tokenizer without merges, for tests: writes text in the longest tokens, from the left.
///
/// ```
/// use std::sync::Arc;
/// use structgen_decode::{MockEncoder, TextEncoder};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(["a", "b", "ab"].map(|text| text.as_bytes().to_vec()), &[]).unwrap();
/// let encoder = MockEncoder(Arc::new(vocabulary));
/// assert_eq!(encoder.encode_text("aba"), Some(vec![TokenId(2), TokenId(0)]));
/// assert_eq!(encoder.encode_text("abc"), None);
/// ```
#[derive(Debug, Clone)]
pub struct MockEncoder(pub Arc<Vocabulary>);

impl TextEncoder for MockEncoder {
    fn encode_text(&self, text: &str) -> Option<Vec<TokenId>> {
        let mut rest = text.as_bytes();
        let mut tokens = Vec::new();
        while !rest.is_empty() {
            let fitting = self.0.tokens().filter(|(_, bytes)| rest.starts_with(bytes));
            let (token, bytes) = fitting.max_by_key(|(_, bytes)| bytes.len())?;
            tokens.push(token);
            rest = &rest[bytes.len()..];
        }
        Some(tokens)
    }
}

impl MockModel {
    /// A model with `logits_width` logits, uniform in `[-8, 8)`.
    pub fn new(
        logits_width: usize,
        context_length: usize,
        eos: impl IntoIterator<Item = TokenId>,
    ) -> Self {
        Self {
            info: ModelInfo::new(logits_width, context_length, eos)
                .with_cache_bytes_per_token(size_of::<TokenId>()),
            seed: 0,
            preferred: Vec::new(),
            logits: Vec::new(),
            hidden: Vec::new(),
            stats: ModelStats::default(),
        }
    }

    /// The same model, which gives out hidden states of this width, uniform in `[-1, 1)`: a hash of the visible tokens as well.
    pub fn with_hidden_width(mut self, width: usize) -> Self {
        self.info.hidden_width = Some(width);
        self
    }

    /// The same model with other logits.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same model with `bias` added to the logit of `token` at every position: a stubborn or a broken model.
    pub fn preferring(mut self, token: TokenId, bias: f32) -> Self {
        self.preferred.push((token, bias));
        self
    }
}

impl LanguageModel for MockModel {
    type Cache = MockCache;

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn new_cache(&mut self, left_padding: &[usize]) -> Result<MockCache, ModelError> {
        if left_padding.is_empty() {
            return Err(ModelError::Shape {
                what: "rows",
                got: 0,
                rows: 0,
            });
        }
        let rows = left_padding.iter();
        Ok(MockCache {
            rows: rows.map(|&padding| (padding, Vec::new())).collect(),
        })
    }

    fn forward(
        &mut self,
        input: Forward<'_>,
        cache: &mut MockCache,
    ) -> Result<Logits<'_>, ModelError> {
        let (rows, width) = (cache.rows(), self.info.logits_width);
        let n = input.check(rows, cache.len(), &self.info)?;
        let hidden = self.info.hidden_width.filter(|_| input.hidden);
        self.logits.clear();
        self.hidden.clear();
        for (row, (padding, seen)) in cache.rows.iter_mut().enumerate() {
            for &token in &input.tokens[row * n..(row + 1) * n] {
                seen.push(token);
                let visible = seen.get(*padding..).unwrap_or_default();
                let mut state = self.seed;
                for token in visible {
                    state = mix(state ^ u64::from(token.0).wrapping_add(1));
                }
                for id in 0..width as u64 {
                    let bits = mix(state.wrapping_add(id.wrapping_mul(0x9e37_79b9)));
                    self.logits
                        .push((bits >> 40) as f32 / (1 << 20) as f32 - 8.0);
                }
                for place in 0..hidden.unwrap_or(0) as u64 {
                    let bits = mix(!state.wrapping_add(place.wrapping_mul(0x9e37_79b9)));
                    self.hidden
                        .push((bits >> 40) as f32 / (1 << 23) as f32 - 1.0);
                }
                let start = self.logits.len() - width;
                for &(token, bias) in &self.preferred {
                    if let Some(logit) = self.logits[start..].get_mut(token.index()) {
                        *logit += bias;
                    }
                }
            }
        }
        self.stats.record(input.tokens.len(), Duration::ZERO);
        let logits = Logits::last_of(&self.logits, rows, n, width, input.positions)?;
        match hidden {
            Some(width) => logits.with_hidden(&self.hidden, n, width),
            None => Ok(logits),
        }
    }

    fn stats(&self) -> ModelStats {
        self.stats
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The tokens that each row of a [`MockModel`] has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockCache {
    rows: Vec<(usize, Vec<TokenId>)>,
}

impl KeyValueCache for MockCache {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn len(&self) -> usize {
        self.rows[0].1.len()
    }

    fn truncate(&mut self, len: usize) -> Result<(), ModelError> {
        for (_, tokens) in &mut self.rows {
            tokens.truncate(len);
        }
        Ok(())
    }

    fn select_rows(&mut self, rows: &[usize]) -> Result<(), ModelError> {
        let chosen: Option<Vec<_>> = rows.iter().map(|&r| self.rows.get(r).cloned()).collect();
        match chosen {
            Some(chosen) if !chosen.is_empty() => {
                self.rows = chosen;
                Ok(())
            }
            _ => Err(ModelError::Shape {
                what: "row choices",
                got: rows.len(),
                rows: self.rows.len(),
            }),
        }
    }

    fn fork(&self) -> Result<Self, ModelError> {
        Ok(self.clone())
    }

    fn bytes(&self) -> usize {
        self.rows() * self.len() * size_of::<TokenId>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(ids: &[u32]) -> Vec<TokenId> {
        ids.iter().copied().map(TokenId).collect()
    }

    fn model() -> MockModel {
        MockModel::new(10, 16, [TokenId(0)])
    }

    #[test]
    fn padded_rows_of_a_batch_equal_single_rows() {
        let mut model = model();
        let mut batch = model.new_cache(&[0, 2]).unwrap();
        let input = tokens(&[4, 5, 6, 0, 0, 6]);
        let logits = model.forward(Forward::last(&input), &mut batch).unwrap();
        let rows = [logits.row(0, 0).to_vec(), logits.row(1, 0).to_vec()];
        for (expected, prompt) in rows.iter().zip([&[4, 5, 6][..], &[6]]) {
            let mut single = model.new_cache(&[0]).unwrap();
            let prompt = tokens(prompt);
            let logits = model.forward(Forward::last(&prompt), &mut single).unwrap();
            assert_eq!(logits.row(0, 0), expected);
        }
    }

    #[test]
    fn truncated_forked_and_selected_caches_equal_replayed_ones() {
        let mut model = model();
        let mut cache = model.new_cache(&[0]).unwrap();
        model
            .forward(Forward::last(&tokens(&[1, 2, 3])), &mut cache)
            .unwrap();
        let mut fork = cache.fork().unwrap();
        cache.truncate(2).unwrap();
        let mut replayed = model.new_cache(&[0]).unwrap();
        model
            .forward(Forward::last(&tokens(&[1, 2])), &mut replayed)
            .unwrap();
        assert_eq!(cache, replayed);
        assert_eq!(fork.len(), 3);
        fork.select_rows(&[0, 0]).unwrap();
        assert_eq!(fork.rows(), 2);
        assert!(fork.select_rows(&[2]).is_err());
        assert!(fork.select_rows(&[]).is_err());
    }

    #[test]
    fn hidden_states_are_those_of_the_positions_and_come_only_when_asked_for() {
        let mut model = model().with_hidden_width(3);
        let mut whole = model.new_cache(&[0]).unwrap();
        let ids = tokens(&[1, 2, 3]);
        let input = Forward::new(&ids, 2).with_hidden();
        let logits = model.forward(input, &mut whole).unwrap();
        let expected = [0, 1].map(|position| logits.hidden(0, position).unwrap().to_vec());
        assert_ne!(expected[0], expected[1]);
        let mut parts = model.new_cache(&[0]).unwrap();
        let logits = model.forward(Forward::last(&ids[..1]), &mut parts).unwrap();
        assert_eq!(logits.hidden(0, 0), None);
        for (id, expected) in ids[1..].chunks(1).zip(&expected) {
            let logits = { model.forward(Forward::last(id).with_hidden(), &mut parts) }.unwrap();
            assert_eq!(logits.hidden(0, 0), Some(&expected[..]));
        }
        let mut without = MockModel::new(10, 16, [TokenId(0)]);
        let mut cache = without.new_cache(&[0]).unwrap();
        let refused = without.forward(Forward::last(&ids).with_hidden(), &mut cache);
        assert!(matches!(refused, Err(ModelError::NoHiddenStates)));
        assert!(cache.is_empty());
    }

    #[test]
    fn misfits_are_refused_with_both_numbers() {
        let mut model = model();
        let mut cache = model.new_cache(&[0, 0]).unwrap();
        let refuse = |model: &mut MockModel, cache: &mut MockCache, ids: &[u32], positions| {
            let tokens = tokens(ids);
            let input = Forward::new(&tokens, positions);
            model.forward(input, cache).unwrap_err().to_string()
        };
        let errors = [
            refuse(&mut model, &mut cache, &[1, 2, 3], 1),
            refuse(&mut model, &mut cache, &[], 1),
            refuse(&mut model, &mut cache, &[1, 2], 2),
            refuse(&mut model, &mut cache, &[1, 10], 1),
            refuse(&mut model, &mut cache, &[1; 34], 1),
        ];
        expect_test::expect![[r#"
            3 tokens do not fit a cache of 2 rows
            0 tokens do not fit a cache of 2 rows
            2 positions do not fit a cache of 2 rows
            token 10 is outside the model's vocabulary of 10
            the text needs 17 positions, and the model's context holds 16; shorten the text or lower the number of new tokens"#]].assert_eq(&errors.join("\n"));
    }
}

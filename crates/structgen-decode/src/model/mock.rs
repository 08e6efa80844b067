//! A model without weights, for tests: its logits are a hash of the tokens so far.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use structgen_vocab::{TokenId, Vocabulary};

use super::{
    LanguageModel, ModelError, ModelInfo, ModelStats, OutputStart, Packing, RowId, RowOutput,
    RowRun, RunOutput, TextEncoder, check_run,
};

/// A deterministic model whose logits depend only on the tokens of a row.
///
/// Batched and single, cached and uncached runs agree to the bit, which no real backend guarantees, so tests of
/// decoding strategies can compare exactly.
///
/// ```
/// use structgen_decode::{LanguageModel, MockModel, model::RowRun};
/// use structgen_vocab::TokenId;
///
/// let mut model = MockModel::new(8, 32, [TokenId(0)]);
/// let tokens = [TokenId(1), TokenId(2)];
/// let [whole, parts] = [model.open_row()?, model.open_row()?];
/// let at_once = model.run(&[RowRun::last(whole, &tokens)], false)?.row(0).last().to_vec();
/// model.run(&[RowRun::last(parts, &tokens[..1])], false)?;
/// assert_eq!(model.run(&[RowRun::last(parts, &tokens[1..])], false)?.row(0).last(), at_once);
/// # Ok::<(), structgen_decode::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MockModel {
    info: ModelInfo,
    seed: u64,
    preferred: Vec<(TokenId, f32)>,
    rows: BTreeMap<RowId, Vec<TokenId>>,
    opened: u64,
    logits: Vec<f32>,
    hidden: Vec<f32>,
    stats: ModelStats,
}

/// A tokenizer without merges, for tests: encodes text greedily in the longest tokens, from the left.
///
/// ```
/// use std::sync::Arc;
/// use structgen_decode::model::{MockEncoder, TextEncoder};
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
    /// Creates a model with `logits_width` logits, uniform in `[-8, 8)`.
    pub fn new(
        logits_width: usize,
        context_length: usize,
        eos: impl IntoIterator<Item = TokenId>,
    ) -> Self {
        Self {
            info: ModelInfo::new(logits_width, context_length, eos)
                .with_cache_bytes_per_token(size_of::<TokenId>())
                .with_packing(Packing::Ragged),
            seed: 0,
            preferred: Vec::new(),
            rows: BTreeMap::new(),
            opened: 0,
            logits: Vec::new(),
            hidden: Vec::new(),
            stats: ModelStats::default(),
        }
    }

    /// Makes the model return hidden states of this width, uniform in `[-1, 1)`, also a hash of the tokens.
    #[must_use]
    pub fn with_hidden_width(mut self, width: usize) -> Self {
        self.info.hidden_width = Some(width);
        self
    }

    /// Sets the packing that the model reports.
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.info.packing = packing;
        self
    }

    /// Sets the bytes of cache per token that the model reports.
    #[must_use]
    pub fn with_cache_bytes_per_token(mut self, bytes: usize) -> Self {
        self.info.cache_bytes_per_token = bytes;
        self
    }

    /// Makes the model report that it is an encoder-decoder. It reads its texts as before.
    #[must_use]
    pub fn with_output_start(mut self, start: OutputStart) -> Self {
        self.info.output_start = Some(start);
        self
    }

    /// Changes the logits.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Adds `bias` to the logit of `token` at every position, which gives a stubborn or a broken model.
    #[must_use]
    pub fn preferring(mut self, token: TokenId, bias: f32) -> Self {
        self.preferred.push((token, bias));
        self
    }

    /// Returns the number of open rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    fn insert(&mut self, tokens: Vec<TokenId>) -> RowId {
        let row = RowId(self.opened);
        self.opened += 1;
        self.rows.insert(row, tokens);
        row
    }

    /// Returns the first `len` tokens of a row.
    fn beginning(&self, row: RowId, len: usize) -> Result<&[TokenId], ModelError> {
        let tokens = self.rows.get(&row).ok_or(ModelError::UnknownRow { row })?;
        tokens.get(..len).ok_or(ModelError::RowLength {
            row,
            len: tokens.len(),
            wanted: len,
        })
    }

    /// Appends the logits, and `hidden` numbers of hidden state, for the position after some tokens.
    fn push_position(&mut self, state: u64, hidden: usize) {
        let start = self.logits.len();
        for id in 0..self.info.logits_width as u64 {
            let bits = mix(state.wrapping_add(id.wrapping_mul(0x9e37_79b9)));
            self.logits
                .push((bits >> 40) as f32 / (1 << 20) as f32 - 8.0);
        }
        for place in 0..hidden as u64 {
            let bits = mix(!state.wrapping_add(place.wrapping_mul(0x9e37_79b9)));
            self.hidden
                .push((bits >> 40) as f32 / (1 << 23) as f32 - 1.0);
        }
        for &(token, bias) in &self.preferred {
            if let Some(logit) = self.logits[start..].get_mut(token.index()) {
                *logit += bias;
            }
        }
    }
}

impl LanguageModel for MockModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        Ok(self.insert(Vec::new()))
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        let tokens = self.beginning(row, len)?.to_vec();
        Ok(self.insert(tokens))
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.beginning(row, len)?;
        if let Some(tokens) = self.rows.get_mut(&row) {
            tokens.truncate(len);
        }
        Ok(())
    }

    fn close_row(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.rows.get(&row).map(Vec::len)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        check_run(self, rows, hidden)?;
        let width = self.info.logits_width;
        let hidden_width = self.info.hidden_width.filter(|_| hidden).unwrap_or(0);
        self.logits.clear();
        self.hidden.clear();
        let mut tokens_run = 0;
        for run in rows {
            let tokens = self.rows.entry(run.row).or_default();
            let mut state = self.seed;
            for token in tokens.iter() {
                state = absorb(state, *token);
            }
            tokens.extend_from_slice(run.tokens);
            tokens_run += run.tokens.len();
            let first_wanted = run.tokens.len() - run.positions;
            for (at, &token) in run.tokens.iter().enumerate() {
                state = absorb(state, token);
                if at >= first_wanted {
                    self.push_position(state, hidden_width);
                }
            }
        }
        self.stats.record(tokens_run, Duration::ZERO);
        let mut position = 0;
        let outputs = rows.iter().map(|run| {
            let positions = position..position + run.positions;
            position = positions.end;
            let output = RowOutput::new(
                &self.logits[positions.start * width..positions.end * width],
                width,
            );
            match hidden_width {
                0 => output,
                width => output.with_hidden(
                    &self.hidden[positions.start * width..positions.end * width],
                    width,
                ),
            }
        });
        Ok(RunOutput::new(outputs.collect()))
    }

    fn stats(&self) -> ModelStats {
        self.stats
    }
}

fn absorb(state: u64, token: TokenId) -> u64 {
    mix(state ^ u64::from(token.0).wrapping_add(1))
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
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

    fn logits_after(model: &mut MockModel, row: RowId, ids: &[u32]) -> Vec<f32> {
        let tokens = tokens(ids);
        let output = model.run(&[RowRun::last(row, &tokens)], false).unwrap();
        output.row(0).last().to_vec()
    }

    #[test]
    fn rows_run_together_equal_single_rows() {
        let mut model = model();
        let [a, b] = [(); 2].map(|()| model.open_row().unwrap());
        let (long, short) = (tokens(&[4, 5, 6]), tokens(&[6]));
        let runs = [RowRun::last(a, &long), RowRun::last(b, &short)];
        let output = model.run(&runs, false).unwrap();
        let together = [output.row(0).last().to_vec(), output.row(1).last().to_vec()];
        for (expected, ids) in together.iter().zip([&[4, 5, 6][..], &[6]]) {
            let row = model.open_row().unwrap();
            assert_eq!(&logits_after(&mut model, row, ids), expected);
        }
    }

    #[test]
    fn cut_and_forked_rows_equal_replayed_ones() {
        let mut model = model();
        let row = model.open_row().unwrap();
        logits_after(&mut model, row, &[1, 2, 3]);
        let fork = model.fork_row(row, 2).unwrap();
        model.cut_row(row, 1).unwrap();
        assert_eq!(
            (model.row_len(row), model.row_len(fork)),
            (Some(1), Some(2))
        );
        let replayed = model.open_row().unwrap();
        let expected = logits_after(&mut model, replayed, &[1, 2, 7]);
        assert_eq!(logits_after(&mut model, fork, &[7]), expected);
        assert_eq!(logits_after(&mut model, row, &[2, 7]), expected);
        assert!(model.cut_row(row, 9).is_err());
        model.close_row(row);
        assert!(model.fork_row(row, 0).is_err());
        assert_eq!(model.rows(), 2);
    }

    #[test]
    fn hidden_states_are_those_of_the_positions_and_come_only_when_asked_for() {
        let mut model = model().with_hidden_width(3);
        let ids = tokens(&[1, 2, 3]);
        let row = model.open_row().unwrap();
        let run = RowRun {
            positions: 2,
            ..RowRun::last(row, &ids)
        };
        let output = model.run(&[run], true).unwrap().row(0);
        let expected = [0, 1].map(|position| output.hidden(position).unwrap().to_vec());
        assert_ne!(expected[0], expected[1]);
        let row = model.open_row().unwrap();
        let output = model.run(&[RowRun::last(row, &ids[..1])], false).unwrap();
        assert_eq!(output.row(0).hidden(0), None);
        for (id, expected) in ids[1..].chunks(1).zip(&expected) {
            let output = model.run(&[RowRun::last(row, id)], true).unwrap();
            assert_eq!(output.row(0).hidden(0), Some(&expected[..]));
        }
        let mut without = self::model();
        let row = without.open_row().unwrap();
        let refused = without.run(&[RowRun::last(row, &ids)], true);
        assert!(matches!(refused, Err(ModelError::NoHiddenStates)));
        assert_eq!(without.row_len(row), Some(0));
    }

    #[test]
    fn wrong_runs_are_refused_with_both_numbers() {
        let mut model = model();
        let row = model.open_row().unwrap();
        let mut refuse = |row, ids: &[u32], positions, twice: bool| {
            let tokens = tokens(ids);
            let run = RowRun {
                row,
                tokens: &tokens,
                positions,
            };
            let runs = [run, run];
            let error = model
                .run(&runs[..1 + usize::from(twice)], false)
                .unwrap_err();
            error.to_string()
        };
        let errors = [
            refuse(row, &[1], 1, true),
            refuse(RowId(99), &[1], 1, false),
            refuse(row, &[], 0, false),
            refuse(row, &[1], 2, false),
            refuse(row, &[1, 10], 1, false),
            refuse(row, &[1; 17], 1, false),
        ];
        expect_test::expect![[r#"
            the model holds no row 0 that this call could use
            the model holds no row 99 that this call could use
            a run of 0 tokens cannot return the logits of 0 positions
            a run of 1 tokens cannot return the logits of 2 positions
            token 10 is outside the model's vocabulary of 10
            the text needs 17 positions, and the model's context holds 16; shorten the text or lower the number of new tokens"#]]
        .assert_eq(&errors.join("\n"));
    }
}

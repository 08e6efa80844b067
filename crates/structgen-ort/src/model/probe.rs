//! What a graph does right, found out by a few short runs when it is loaded.
//!
//! A decoder should compute the same logits however a text is cut into runs, and whatever shares its tensors. Not every
//! export does:
//!
//! - ONNX Runtime's operator `GroupQueryAttention` takes from the attention mask the number of positions that a row
//!   has, and counts them from the row's first one. Where rows are padded on the left, it attends to the padding and
//!   not to the end of the text.
//! - Decoders that were traced with a single new token keep its mask: several tokens after a past see one another's
//!   future, or none of the past.
//! - Graphs whose output matrix was pruned to the last position return its logits alone.
//! - Recurrent models that were traced as they read a prompt, or as they write a token, take several tokens after a
//!   past for a beginning, or leave no state after a prompt.
//! - Graphs that were traced with one row may mix the rows of a run, and `GroupQueryAttention` takes several tokens
//!   after a past of a single row alone.
//!
//! None of them reports it, and which operators a graph has says little about how it uses them. So it is tried.

use structgen_decode::{
    LanguageModel, ModelError,
    model::{ModelStats, RowId, RowRun},
};
use structgen_vocab::TokenId;

use super::texts::RowTexts;
use super::{OrtModel, Rows};
use crate::LoadError;
use crate::signature::{Element, Float};

/// What a graph does right, as far as it matters for how texts are cut into runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Padding on the left is left out, so that rows of different lengths may share tensors.
    pub(super) padding: bool,
    /// Several tokens after a past have the logits that they have one after another.
    pub(super) several_after_past: bool,
    /// The same of several rows in one run.
    pub(super) several_of_rows: bool,
    /// The logits of every position are returned, or of as many last ones as are asked for.
    pub(super) all_positions: bool,
    /// Every token is run by itself, by the user's wish or because a prompt leaves other states than its tokens do.
    pub(super) tokens_alone: bool,
    /// Every row is run by itself, by the user's wish or because the rows of a run are not independent.
    pub(super) rows_alone: bool,
}

impl Abilities {
    /// Whether any number of tokens of a row can be run at once.
    pub(super) fn takes_any_run(&self) -> bool {
        self.several_after_past && self.all_positions && !self.tokens_alone
    }
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            padding: true,
            several_after_past: true,
            several_of_rows: true,
            all_positions: true,
            tokens_alone: false,
            rows_alone: false,
        }
    }
}

/// A text whose third token is its first: what comes before it is all that tells their logits apart.
const TEXT: [u32; 5] = [1, 2, 1, 3, 4];
/// The number of tokens that are run first.
const PAST: usize = 3;

/// Two computations are the same where they differ by at most this share of what the text before a token does to its
/// logits. Sums in another order change a hundred-thousandth; where only the last position's logits can be compared, a
/// wrong mask may change no more than some hundredths.
const SAME: f32 = 0.005;
/// The same in half precision, where it is below a hundredth, and with keys and values of one byte.
const SAME_WHERE_ROUNDED: f32 = 0.03;
/// The same for graphs that quantise activations by a scale that depends on what is run together.
const SAME_WHERE_SCALES_VARY: f32 = 0.5;

impl OrtModel {
    /// Finds out what the graph does right. One that fails the attempts is taken to need the simplest runs, and
    /// reports its failure when it is used.
    ///
    /// # Errors
    /// [`LoadError::NotShared`] if a graph that is to write to buffers fails the attempts.
    pub(super) fn probe(&mut self, scales_vary: bool) -> Result<(), LoadError> {
        let opened = self.opened;
        let found = self.try_abilities(scales_vary);
        (opened..self.opened).for_each(|row| self.close_row(RowId(row)));
        self.abilities = match found {
            Err(error) if self.shares_buffers() => return Err(Self::not_shared(&error)),
            Err(_) => Abilities {
                padding: false,
                ..self.abilities
            },
            Ok(found) => {
                // Runs of several tokens were not tried if tokens run alone, but after the border, the first run has
                // several.
                let has_border = self.texts.as_ref().is_some_and(RowTexts::has_border);
                if !(found.tokens_alone && has_border) {
                    self.graph.learn_logits(found.all_positions);
                }
                found
            }
        };
        self.graph.stats = ModelStats::default();
        Ok(())
    }

    fn try_abilities(&mut self, scales_vary: bool) -> Result<Abilities, ModelError> {
        let mut found = self.abilities;
        let is_known = found.tokens_alone && found.rows_alone;
        let is_small = self.info.context_length < TEXT.len() || self.info.logits_width < 2;
        if is_known || is_small {
            if self.shares_buffers() {
                let row = self.open_attempt()?;
                self.logits(row, &[TokenId(0)], 1)?;
            }
            return Ok(found);
        }
        let width = self.info.logits_width as u32;
        let text = TEXT.map(|id| TokenId(id % width));
        let (past, rest) = text.split_at(PAST);

        let row = self.open_attempt()?;
        let (alone, third) = match self.logits(row, past, PAST) {
            Ok(logits) => (logits[0].clone(), logits[PAST - 1].clone()),
            Err(_) => {
                found.all_positions = false;
                let third = self.logits(row, past, 1)?.remove(0);
                let other = self.open_attempt()?;
                (self.logits(other, &past[..1], 1)?.remove(0), third)
            }
        };
        let signature = &self.graph.signature;
        let full = Element::Float(Float::F32);
        let is_coarse = signature.cache.iter().any(|tensor| tensor.element != full)
            || signature
                .states
                .iter()
                .any(|state| state.float != Float::F32);
        let share = match is_coarse {
            _ if scales_vary => SAME_WHERE_SCALES_VARY,
            true => SAME_WHERE_ROUNDED,
            false => SAME,
        };
        let allowed = apart(&alone, &third) * share;
        let is_same = move |a: &[f32], b: &[f32]| apart(a, b) <= allowed;

        let len = self.row_len(row).unwrap_or(0);
        let [single, padded] = [self.fork_row(row, len)?, self.fork_row(row, len)?];
        let mut expected = Vec::with_capacity(rest.len());
        for token in rest.chunks(1) {
            expected.extend(self.logits(single, token, 1)?);
        }
        if !self.graph.signature.states.is_empty() && !found.tokens_alone {
            let single = self.one_by_one(&text)?;
            if !is_same(&single[PAST - 1], &third)
                || !is_same(&single[text.len() - 1], &expected[rest.len() - 1])
            {
                // What follows the prompt is of no use. Token by token a text depends on no cut at least, and an export
                // that writes at all is right so.
                self.abilities.tokens_alone = true;
                let found = self.try_abilities(scales_vary)?;
                return Ok(Abilities {
                    several_after_past: false,
                    ..found
                });
            }
        }
        let positions = if found.all_positions { rest.len() } else { 1 };
        // A graph that refuses the run has not changed the row.
        found.several_after_past &= self.logits(row, rest, positions).is_ok_and(|logits| {
            let expected = &expected[rest.len() - positions..];
            logits
                .iter()
                .zip(expected)
                .all(|(logits, expected)| is_same(logits, expected))
        });

        self.abilities = found;
        if matches!(self.rows, Rows::Growing(_)) && !found.rows_alone && self.encoded.is_none() {
            let last = &expected[rest.len() - 1];
            let logits = self.logits_beside(padded, rest, single);
            found.padding = logits.is_ok_and(|logits| is_same(&logits, last));
            if !found.padding {
                let other = &past[..rest.len()];
                let mut independent = |n| {
                    let rows = [(other, &rest[..n]), (rest, &other[..n])];
                    self.are_independent(rows, is_same).unwrap_or(false)
                };
                found.rows_alone = !independent(1);
                found.several_of_rows = independent(rest.len());
            }
        }
        Ok(found)
    }

    /// Whether two texts of one length, each a past and what is run after it, have the logits together that they have
    /// alone.
    fn are_independent(
        &mut self,
        texts: [(&[TokenId], &[TokenId]); 2],
        is_same: impl Fn(&[f32], &[f32]) -> bool,
    ) -> Result<bool, ModelError> {
        let mut rows = Vec::new();
        let mut alone = Vec::new();
        for (past, rest) in texts {
            let row = self.open_attempt()?;
            self.logits(row, past, 0)?;
            let fork = self.fork_row(row, self.row_len(row).unwrap_or(0))?;
            alone.extend(self.logits(fork, rest, 1)?);
            rows.push((row, rest));
        }
        let runs = { rows.iter() }.map(|&(row, rest)| RowRun::last(row, rest));
        let runs: Vec<RowRun<'_>> = runs.collect();
        let output = self.run(&runs, false)?;
        let mut together = output.rows().iter().zip(&alone);
        Ok(together.all(|(together, alone)| is_same(together.last(), alone)))
    }

    /// The logits after each token of a text, each run by itself.
    fn one_by_one(&mut self, text: &[TokenId]) -> Result<Vec<Vec<f32>>, ModelError> {
        let row = self.open_attempt()?;
        let mut all = Vec::with_capacity(text.len());
        for token in text.chunks(1) {
            all.extend(self.logits(row, token, 1)?);
        }
        Ok(all)
    }

    /// A row for an attempt; that of an encoder-decoder has an input, and the token that starts the output.
    fn open_attempt(&mut self) -> Result<RowId, ModelError> {
        let row = self.open_row()?;
        let width = self.info.logits_width as u32;
        let start = { self.encoded.as_ref() }.map(|encoded| encoded.start_of_attempt(width));
        if let Some(tokens) = start {
            let run = RowRun {
                row,
                tokens: &tokens,
                positions: 0,
            };
            self.run(&[run], false)?;
        }
        Ok(row)
    }

    /// The logits of the last positions of a run of one row.
    fn logits(
        &mut self,
        row: RowId,
        tokens: &[TokenId],
        positions: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let run = RowRun {
            row,
            tokens,
            positions,
        };
        let output = self.run(&[run], false)?.row(0);
        Ok((0..positions)
            .map(|position| output.logits(position).to_vec())
            .collect())
    }

    /// The logits of tokens that are run together with the same tokens of a longer row.
    fn logits_beside(
        &mut self,
        row: RowId,
        tokens: &[TokenId],
        longer: RowId,
    ) -> Result<Vec<f32>, ModelError> {
        let runs = [longer, row].map(|row| RowRun::last(row, tokens));
        Ok(self.run(&runs, false)?.row(1).last().to_vec())
    }
}

/// The largest difference. A number is infinitely far from NaN, and infinities are where they are the same.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    let apart = a.iter().zip(b).map(|(a, b)| match (a - b).abs() {
        apart if !apart.is_nan() => apart,
        _ if a == b || a.is_nan() && b.is_nan() => 0.0,
        _ => f32::INFINITY,
    });
    apart.fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_far_from_numbers() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        assert_eq!(apart(&[1.0, -infinity], &[1.5, -infinity]), 0.5);
        assert_eq!(apart(&[nan, 2.0], &[nan, 2.0]), 0.0);
        assert_eq!(apart(&[nan, 2.0], &[1.0, 2.0]), infinity);
        assert_eq!(apart(&[-infinity], &[infinity]), infinity);
    }
}

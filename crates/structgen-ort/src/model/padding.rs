//! Whether a graph leaves out what is padding.
//!
//! Most take the attention mask as it is. ONNX Runtime's operator `GroupQueryAttention` takes from it the number of
//! positions that a row has, and counts them from the row's first one: where rows are padded on the left, it attends to
//! the padding and not to the end of the text, and reports nothing. Which operators a graph has cannot be seen from
//! outside, so it is tried.

use structgen_decode::{
    LanguageModel, ModelError,
    model::{ModelStats, RowRun},
};
use structgen_vocab::TokenId;

use super::OrtModel;

/// The number of tokens that are run, and the length of the text that the padding stands beside.
const TOKENS: usize = 6;
const PADDING: usize = 4;

impl OrtModel {
    /// Finds out whether a text after padding has the logits that it has alone, by four short runs. A graph that fails
    /// them is taken not to leave padding out, and reports its failure when it is used.
    pub(super) fn try_padding(&mut self) {
        self.takes_padding = true;
        self.takes_padding = self.leaves_padding_out().unwrap_or(false);
        self.graph.stats = ModelStats::default();
    }

    fn leaves_padding_out(&mut self) -> Result<bool, ModelError> {
        let fitting = self.info().context_length.saturating_sub(PADDING);
        if fitting < 2 {
            return Ok(true);
        }
        let width = self.info().logits_width as u32;
        let text: Vec<TokenId> = (0..TOKENS.min(fitting) as u32)
            .map(|i| TokenId((i + 1) % width))
            .collect();
        let alone = self.last_logits(&text, &[])?;
        let without_context = self.last_logits(&text[text.len() - 1..], &[])?;
        let padded = self.last_logits(&text, &[TokenId(0); PADDING])?;
        // Rounding is far less than what a text's beginning does to its end.
        Ok(apart(&padded, &alone) <= apart(&without_context, &alone) / 2.0)
    }

    /// The logits of a text's last token, where another row is as much longer as `beside`.
    fn last_logits(
        &mut self,
        text: &[TokenId],
        beside: &[TokenId],
    ) -> Result<Vec<f32>, ModelError> {
        let rows = [self.open_row()?, self.open_row()?];
        let logits = self.logits_beside(rows.map(|row| RowRun::last(row, text)), beside);
        rows.into_iter().for_each(|row| self.close_row(row));
        logits
    }

    fn logits_beside(
        &mut self,
        [other, run]: [RowRun<'_>; 2],
        beside: &[TokenId],
    ) -> Result<Vec<f32>, ModelError> {
        if beside.is_empty() {
            return Ok(self.run(&[run], false)?.row(0).last().to_vec());
        }
        self.run(&[RowRun::last(other.row, beside)], false)?;
        Ok(self.run(&[other, run], false)?.row(1).last().to_vec())
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

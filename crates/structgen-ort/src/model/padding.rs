//! Whether a graph leaves out what is padding.
//!
//! Most take the attention mask as it is. ONNX Runtime's operator `GroupQueryAttention` takes from it how many places a row has, which it counts from
//! the row's first one: where rows are padded on the left, it attends to the padding and not to the end of the text, and says nothing. Which operators a
//! graph has is not to be seen from outside, so it is tried.

use structgen_decode::{Forward, LanguageModel, ModelError};
use structgen_vocab::TokenId;

use super::OrtModel;
use crate::cache::{OrtCache, Storage};

/// How many tokens are run, and behind how much padding.
const TOKENS: usize = 6;
const PADDING: usize = 4;

impl OrtModel {
    /// Whether a text behind padding has the logits that it has alone. Three short runs, when it is first asked.
    pub(super) fn takes_padding(&mut self) -> Result<bool, ModelError> {
        if let Some(known) = self.takes_padding {
            return Ok(known);
        }
        let stats = self.stats;
        let tried = self.try_padding();
        self.stats = stats;
        let takes_padding = tried?;
        self.takes_padding = Some(takes_padding);
        Ok(takes_padding)
    }

    fn try_padding(&mut self) -> Result<bool, ModelError> {
        let fitting = self.info().context_length.saturating_sub(PADDING);
        if fitting < 2 {
            return Ok(true);
        }
        let width = self.info().logits_width as u32;
        let text: Vec<TokenId> = (0..TOKENS.min(fitting) as u32)
            .map(|i| TokenId((i + 1) % width))
            .collect();
        let last = &text[text.len() - 1..];
        let alone = self.last_logits(&text, &[0])?;
        let without_context = self.last_logits(last, &[0])?;
        let filler = vec![TokenId(0); PADDING];
        let padded = [&filler[..], &text, &filler, &text].concat();
        let padded = self.last_logits(&padded, &[0, PADDING])?;
        // Rounding is far less than what a text's beginning does to its end.
        Ok(apart(&padded, &alone) <= apart(&without_context, &alone) / 2.0)
    }

    /// The logits of the last row's last token.
    fn last_logits(
        &mut self,
        tokens: &[TokenId],
        padding: &[usize],
    ) -> Result<Vec<f32>, ModelError> {
        let storage = match &self.cache_memory {
            Some(_) => Storage::Device,
            None => Storage::Outputs,
        };
        let mut cache = OrtCache::new(&self.signature.cache, padding, storage)?;
        let logits = self.forward(Forward::last(tokens), &mut cache)?;
        Ok(logits.row(padding.len() - 1, 0).to_vec())
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

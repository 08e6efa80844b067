//! Heads that guess tokens further on than the next.

use crate::ModelError;

/// Extra heads of a model (Medusa, Cai et al. 2024), which guess several tokens from one hidden state.
///
/// They draft for the model whose states they were trained on: [`Speculation::with_heads`](crate::Speculation::with_heads).
pub trait DraftHeads {
    /// How many there are. The first guesses the token behind the next one, each other the one behind that of the head before it.
    fn heads(&self) -> usize;

    /// How many numbers a hidden state has: [`hidden_width`](crate::ModelInfo::hidden_width) of the model.
    fn hidden_width(&self) -> usize;

    /// The logits of all heads, one head behind the other, from the model's [state](crate::Logits::hidden) at one position: as many for each as the model has.
    ///
    /// # Errors
    /// Whatever the backend reports.
    fn guess(&mut self, hidden: &[f32]) -> Result<&[f32], ModelError>;
}

use super::ModelError;

/// Extra heads of a model (Medusa, Cai et al. 2024), which guess several tokens from one hidden state.
///
/// They draft for the model whose states they were trained on: [`Scheduler::with_heads`](crate::Scheduler::with_heads).
pub trait DraftHeads: Send {
    /// The number of heads. The first guesses the token after the next one, each other the one after that of the head
    /// before it.
    fn heads(&self) -> usize;

    /// The width of the hidden states it takes: [`hidden_width`](crate::ModelInfo::hidden_width) of the model.
    fn hidden_width(&self) -> usize;

    /// The logits of all heads, one head after the other, from the model's [state](crate::model::RowOutput::hidden) at one
    /// position: for each head as many as the model has.
    ///
    /// # Errors
    /// Whatever the backend reports.
    fn guess(&mut self, hidden: &[f32]) -> Result<&[f32], ModelError>;
}

use super::ModelError;

/// Extra heads of a model (Medusa, Cai et al. 2024), which predict several tokens from one hidden state.
///
/// They draft for the model on whose hidden states they were trained:
/// [`Scheduler::with_heads`](crate::Scheduler::with_heads).
pub trait DraftHeads: Send {
    /// Returns the number of heads. The first predicts the token after the next one, and each other head the token
    /// after that of the head before it.
    fn heads(&self) -> usize;

    /// Returns the width of the hidden states it accepts: the model's [`hidden_width`](crate::ModelInfo::hidden_width).
    fn hidden_width(&self) -> usize;

    /// Returns the logits of all heads, concatenated, from the model's [state](crate::model::RowOutput::hidden) at one
    /// position. Each head has as many logits as the model.
    ///
    /// # Errors
    /// The backend's errors.
    fn guess(&mut self, hidden: &[f32]) -> Result<&[f32], ModelError>;
}

//! A model's own logits after a text.

use std::sync::{Arc, Mutex, PoisonError};

use structgen_decode::strategies::LogitsRequest;
use structgen_vocab::TokenId;

use crate::{Model, Result};

impl Model {
    /// Returns the model's logits after each of the last `positions` tokens of a text, one row per position in order,
    /// without samplers or a constraint.
    ///
    /// A row has [`ModelInfo::logits_width`](structgen_decode::ModelInfo::logits_width) numbers. If all rows need too
    /// much memory, run a [`LogitsRequest`] with [`Engine::run`](structgen_decode::Engine::run), which passes on one
    /// row at a time.
    ///
    /// ```no_run
    /// use structgen::{Model, ModelOptions};
    ///
    /// let model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let prompt = model.encode_prompt("The capital of France is")?;
    /// let next = &model.logits(&prompt, 1)?[0];
    /// assert_eq!(next.len(), model.info().logits_width);
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate) without a token, with more tokens than the context has, or if the
    /// model fails.
    pub fn logits(&self, tokens: &[TokenId], positions: usize) -> Result<Vec<Vec<f32>>> {
        let rows = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&rows);
        let request = LogitsRequest::new(tokens, positions, move |_, logits| {
            let mut rows = found.lock().unwrap_or_else(PoisonError::into_inner);
            rows.push(logits.to_vec());
        });
        self.engine().run(request)?;
        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *rows))
    }
}

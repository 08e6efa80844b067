//! The logits after the tokens of a given text.

use std::fmt;

use structgen_vocab::TokenId;

use super::start::Resources;
use crate::demand::{Demand, Given, Text};
use crate::task::{Context, Task, TaskSize};
use crate::{FinishReason, GenerateError, ModelError, Outputs};

/// Maximum number of positions whose logits one demand requests.
const POSITIONS: usize = 32;

/// Receives the logits of a position.
type OnLogits = Box<dyn FnMut(usize, &[f32]) + Send>;

/// Requests the model's logits after each of the last tokens of a text: to score an existing text, to compare models,
/// or to inspect a single step.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use structgen_decode::{MockModel, Scheduler, strategies::LogitsRequest};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?;
/// let mut scheduler = Scheduler::new(MockModel::new(256, 32, []), vocabulary);
/// let rows = Arc::new(Mutex::new(Vec::new()));
/// let found = Arc::clone(&rows);
/// let request = LogitsRequest::new([TokenId(5), TokenId(9)], 2, move |position, logits| {
///     found.lock().unwrap().push((position, logits.len()));
/// });
/// scheduler.run(request)?;
/// assert_eq!(*rows.lock().unwrap(), [(0, 256), (1, 256)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LogitsRequest {
    tokens: Vec<TokenId>,
    positions: usize,
    on_logits: OnLogits,
}

impl LogitsRequest {
    /// Requests the logits after each of the last `positions` tokens.
    ///
    /// `on_logits` is called for each of them in order, on the thread that runs the model, with the index of the token
    /// that they come after.
    pub fn new(
        tokens: impl Into<Vec<TokenId>>,
        positions: usize,
        on_logits: impl FnMut(usize, &[f32]) + Send + 'static,
    ) -> Self {
        let on_logits = Box::new(on_logits);
        Self {
            tokens: tokens.into(),
            positions,
            on_logits,
        }
    }

    pub(crate) fn task(self, resources: &Resources<'_>) -> Result<Box<dyn Task>, GenerateError> {
        if self.tokens.is_empty() {
            return Err(GenerateError::EmptyPrompt);
        }
        let (needed, context_length) = (self.tokens.len(), resources.target.context_length);
        if needed > context_length {
            let overflow = ModelError::ContextOverflow {
                needed,
                context_length,
            };
            return Err(overflow.into());
        }
        Ok(Box::new(Logits {
            next: needed.saturating_sub(self.positions),
            run: 0,
            request: self,
            is_stopped: false,
        }))
    }
}

impl fmt::Debug for LogitsRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogitsRequest")
            .field("tokens", &self.tokens.len())
            .field("positions", &self.positions)
            .finish_non_exhaustive()
    }
}

struct Logits {
    request: LogitsRequest,
    /// The index of the token whose logits come next.
    next: usize,
    /// The number of tokens demanded so far.
    run: usize,
    is_stopped: bool,
}

impl Task for Logits {
    fn advance(
        &mut self,
        _: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        let tokens = &self.request.tokens;
        if self.is_stopped || self.next == tokens.len() {
            return Ok(());
        }
        let positions = (tokens.len() - self.next).min(POSITIONS);
        let end = self.next + positions;
        let wanted = tokens[self.run..end].to_vec();
        demands.push(Demand::row(Text::Main, self.run, wanted, positions));
        self.run = end;
        Ok(())
    }

    fn give(&mut self, _: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let [output] = given.rows else { return Ok(()) };
        for position in 0..output.positions() {
            (self.request.on_logits)(self.next, output.logits(position));
            self.next += 1;
        }
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.request.tokens.len();
        TaskSize::new(1, tokens)
    }

    fn stop(&mut self, _: FinishReason) {
        self.is_stopped = true;
    }

    fn finish(self: Box<Self>, _: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        Ok(Outputs::new(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LanguageModel, MockModel, Scheduler, SchedulerLimits, model::RowRun};
    use std::sync::{Arc, Mutex};
    use structgen_vocab::Vocabulary;

    fn vocabulary() -> Vocabulary {
        Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[]).unwrap()
    }

    #[test]
    fn the_logits_are_the_models_whatever_the_pieces() {
        let tokens: Vec<TokenId> = (0..100).map(|i| TokenId(i * 7 % 256)).collect();
        let mut model = MockModel::new(256, 128, []);
        let row = model.open_row().unwrap();
        let run = RowRun {
            row,
            tokens: &tokens,
            positions: tokens.len(),
        };
        let expected = model.run(&[run], false).unwrap();
        let expected: Vec<Vec<f32>> = (0..100)
            .map(|i| expected.row(0).logits(i).to_vec())
            .collect();
        for positions in [0, 1, 5, 33, 100, 1000] {
            for prefill_chunk in [3, 64, 1000] {
                let limits = SchedulerLimits {
                    prefill_chunk,
                    ..SchedulerLimits::default()
                };
                let model = MockModel::new(256, 128, []);
                let mut scheduler = Scheduler::new(model, vocabulary()).with_limits(limits);
                let rows = Arc::new(Mutex::new(Vec::new()));
                let found = Arc::clone(&rows);
                let request = LogitsRequest::new(tokens.clone(), positions, move |at, logits| {
                    found.lock().unwrap().push((at, logits.to_vec()));
                });
                scheduler.run(request).unwrap();
                let rows = rows.lock().unwrap();
                assert_eq!(rows.len(), positions.min(100));
                for (i, (at, logits)) in rows.iter().enumerate() {
                    assert_eq!(*at, 100 - rows.len() + i);
                    assert_eq!(logits, &expected[*at]);
                }
            }
        }
    }

    #[test]
    fn what_the_model_cannot_read_is_refused() {
        let mut scheduler = Scheduler::new(MockModel::new(256, 8, []), vocabulary());
        let mut run =
            |len: usize| scheduler.run(LogitsRequest::new(vec![TokenId(1); len], 1, |_, _| {}));
        assert!(matches!(run(0), Err(GenerateError::EmptyPrompt)));
        assert!(matches!(
            run(9),
            Err(GenerateError::Model(ModelError::ContextOverflow { .. }))
        ));
        assert!(run(8).is_ok());
    }
}

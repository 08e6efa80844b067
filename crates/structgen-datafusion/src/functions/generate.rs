//! `generate`: generates text after a prompt.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use structgen::decode::{FinishReason, GenerateError, Run};
use structgen::vocab::TokenId;
use structgen::{Constraint, Model, Request, SchemaOptions};

use super::Shared;
use super::function::TextFunction;
use super::rows::model_rows;
use crate::seed::seed_of;
use crate::{Cell, Result, RowType};

/// Maximum number of tokens per output, if the options set none.
const MAX_NEW_TOKENS: usize = 256;

#[derive(Debug)]
pub(super) struct Generate;

impl TextFunction for Generate {
    fn name(&self) -> &'static str {
        "generate"
    }

    fn literals(&self) -> (usize, usize) {
        (0, 1)
    }

    fn row_type(&self, shared: &Arc<Shared>, literals: &[&str]) -> Result<RowType> {
        if let Some(schema) = literals.first() {
            shared.schemas.find(schema)?;
        }
        Ok(RowType::Text)
    }

    fn values(
        &self,
        shared: &Arc<Shared>,
        literals: &[&str],
        texts: &ArrayRef,
    ) -> Result<ArrayRef> {
        let model = &shared.model()?.model;
        let constraint = match literals.first() {
            Some(schema) => {
                let schema = shared.schemas.find(schema)?;
                let options = SchemaOptions::new();
                let constraint = Constraint::json_schema_str(schema.text(), &options)?;
                Some(model.compile(&constraint)?)
            }
            None => None,
        };
        let submit = |text: &str| {
            let prompt = prompt(model, text)?;
            let mut options = shared.generate.clone();
            let most = options.max_new_tokens.unwrap_or(MAX_NEW_TOKENS);
            options.max_new_tokens = Some(model.room_after(&prompt, most));
            options.sampling.seed = seed_of(options.sampling.seed, text);
            model.submit(Request::new(prompt, constraint.clone()).with_options(options))
        };
        let wait = |run: Run| -> structgen::Result<Cell> {
            let output = run.wait()?.single()?;
            match output.finish {
                // Free text that was cut is no error of the request.
                FinishReason::Cancelled => Err(GenerateError::Stopped.into()),
                _ => Ok(Cell::Text(output.text)),
            }
        };
        model_rows(shared, &RowType::Text, texts, submit, wait, |_| Cell::Null)
    }
}

/// Encodes a prompt from a row, with names of special tokens as text, and through the model's chat template if it has
/// one.
fn prompt(model: &Model, text: &str) -> structgen::Result<Vec<TokenId>> {
    if model.chat_template().is_ok() {
        return model.chat_prompt(None, text);
    }
    let mut tokens = model.encode_prompt("")?;
    tokens.extend(model.tokenizer().encode(text)?);
    Ok(tokens)
}

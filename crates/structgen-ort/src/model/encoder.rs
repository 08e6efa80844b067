//! The encoder of an encoder-decoder: a session that turns an input into states.

use ort::session::{Session, SessionInputs};
use ort::value::{DynValue, TensorRef};
use structgen_decode::ModelError;
use structgen_vocab::TokenId;

use super::graph::{NamedInput, dims, unexpected};
use crate::LoadError;
use crate::error::backend;
use crate::signature::{Integer, find, integer_matrix};

/// The names that optimum gives the output, and those of the inputs.
const STATES: &str = "last_hidden_state";
const IDS: &str = "input_ids";
const MASK: &str = "attention_mask";

#[derive(Debug)]
pub(super) struct Encoder {
    session: Session,
    /// What each input is, with its type.
    inputs: Vec<(String, Role, Integer)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Ids,
    Mask,
}

impl Encoder {
    pub(super) fn new(session: Session) -> Result<Self, LoadError> {
        find(session.outputs(), STATES, "output")?;
        find(session.inputs(), IDS, "input")?;
        let inputs = session.inputs().iter().map(|outlet| {
            let role = match outlet.name() {
                IDS => Role::Ids,
                MASK => Role::Mask,
                name => {
                    return Err(LoadError::UnknownInput {
                        name: name.to_owned(),
                        dtype: outlet.dtype().to_string(),
                    });
                }
            };
            Ok((outlet.name().to_owned(), role, integer_matrix(outlet)?))
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        Ok(Self { session, inputs })
    }

    /// The states of an input, `[1, tokens, width]`.
    pub(super) fn states(&mut self, tokens: &[TokenId]) -> Result<DynValue, ModelError> {
        let shape = [1, tokens.len()];
        let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        // Ids are below the number of logits, at most 2^31.
        let short_ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        let (ones, short_ones) = (vec![1_i64; tokens.len()], vec![1_i32; tokens.len()]);
        let mut values: Vec<NamedInput<'_>> = Vec::with_capacity(self.inputs.len());
        for (name, role, ty) in &self.inputs {
            let value = match (role, ty) {
                (Role::Ids, Integer::I64) => {
                    TensorRef::from_array_view((shape, &ids[..])).map(Into::into)
                }
                (Role::Mask, Integer::I64) => {
                    TensorRef::from_array_view((shape, &ones[..])).map(Into::into)
                }
                (Role::Ids, Integer::I32) => {
                    TensorRef::from_array_view((shape, &short_ids[..])).map(Into::into)
                }
                (Role::Mask, Integer::I32) => {
                    TensorRef::from_array_view((shape, &short_ones[..])).map(Into::into)
                }
            };
            values.push((name.into(), value.map_err(backend)?));
        }
        let outputs = self.session.run(SessionInputs::<0>::ValueMap(values));
        let mut outputs = outputs.map_err(backend)?;
        let states = outputs
            .remove(STATES)
            .ok_or_else(|| unexpected("the encoder's states", &[]))?;
        match *dims(&states) {
            [1, len, _] if len == tokens.len() as i64 => Ok(states),
            ref other => Err(unexpected("the encoder's states", other)),
        }
    }
}

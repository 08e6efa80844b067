//! What a greedy loop costs at least: the session's run call alone.

use std::time::{Duration, Instant};

use ort::session::{SessionInputValue, SessionInputs};
use ort::value::{DynValue, Tensor, TensorRef};
use structgen_decode::ModelError;
use structgen_vocab::TokenId;

use super::graph::NamedInput;
use super::{OrtModel, inputs};
use crate::cache::{empty, states};
use crate::error::backend;
use crate::signature::{Input, Integer, Output};

/// What [`OrtModel::bare_greedy`] took.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BareRun {
    /// The tokens that it chose.
    pub tokens: Vec<TokenId>,
    /// The time to the first token.
    pub first: Duration,
    /// The time of the whole run.
    pub total: Duration,
}

impl OrtModel {
    /// Chooses `steps` tokens by the largest logit in a loop of `Session::run`, without checks, constraint and text:
    /// the measure of other loops over the same session.
    ///
    /// # Errors
    /// [`ModelError::Backend`], also where ids are not i64, and where logits are not f32. Whether prompt and tokens are
    /// within the context is not checked.
    pub fn bare_greedy(&mut self, prompt: &[TokenId], steps: usize) -> Result<BareRun, ModelError> {
        let started = Instant::now();
        let graph = &mut self.graph;
        let mut past = empty(&graph.signature.cache)?;
        let mut recurrent = states::empty(&graph.signature.states)?;
        let mut handed_on: Vec<Option<DynValue>> = Vec::new();
        handed_on.resize_with(graph.signature.handed_on, || None);
        let mut next: Option<i64> = None;
        let mut ids: Vec<i64> = prompt.iter().map(|token| i64::from(token.0)).collect();
        let (mut mask, mut positions) = (Vec::<i64>::new(), Vec::<i64>::new());
        let mut run = BareRun {
            tokens: Vec::with_capacity(steps),
            first: Duration::ZERO,
            total: Duration::ZERO,
        };
        while run.tokens.len() < steps {
            let (len, n) = (mask.len(), ids.len());
            mask.resize(len + n, 1);
            positions.clear();
            positions.extend(len as i64..(len + n) as i64);
            let (stages, stats) = graph.stages(len > 0);
            let mut spent = Duration::ZERO;
            for stage in stages {
                let mut values: Vec<NamedInput<'_>> = Vec::with_capacity(stage.inputs.len());
                for (name, role) in &stage.inputs {
                    let value = match *role {
                        Input::Ids(Integer::I64) => row(&ids)?,
                        Input::AttentionMask(Integer::I64) => row(&mask)?,
                        Input::PositionIds(Integer::I64) => row(&positions)?,
                        Input::ThreePositionIds(Integer::I64) => three_times(&positions)?,
                        Input::UseCacheBranch => inputs::cache_branch(len > 0)?,
                        Input::LogitsToKeep => inputs::logits_to_keep(1)?,
                        Input::NoFeatures(features) => inputs::no_features(features)?,
                        Input::Past(i) => (&past[i]).into(),
                        Input::State(i) => (&recurrent[i]).into(),
                        Input::HandedOn(i) if let Some(value) = &handed_on[i] => value.into(),
                        _ => {
                            let reason = "the bare loop is for graphs whose ids are i64";
                            return Err(ModelError::Backend(reason.into()));
                        }
                    };
                    values.push((name.into(), value));
                }
                let running = Instant::now();
                let inputs = SessionInputs::<0>::ValueMap(values);
                let outputs = stage.session.run_with_options(inputs, &stage.plain.options);
                spent += running.elapsed();
                let outputs = outputs.map_err(backend)?;
                for ((_, value), &(_, role)) in outputs.into_iter().zip(&stage.plain.roles) {
                    match role {
                        Output::Logits => {
                            let token = last_largest(&value, self.info.logits_width)?;
                            run.tokens.push(token);
                            next = Some(i64::from(token.0));
                        }
                        Output::Present(i) => past[i] = value,
                        Output::State(i) => recurrent[i] = value,
                        Output::HandedOn(i) => handed_on[i] = Some(value),
                        Output::Hidden | Output::Cross(_) | Output::Unused => {}
                    }
                }
            }
            stats.record(n, spent);
            ids.clear();
            ids.extend(next.take());
            if run.tokens.len() == 1 {
                run.first = started.elapsed();
            }
        }
        run.total = started.elapsed();
        Ok(run)
    }
}

fn row(numbers: &[i64]) -> Result<SessionInputValue<'_>, ModelError> {
    let view = TensorRef::from_array_view(([1, numbers.len()], numbers));
    Ok(view.map_err(backend)?.into())
}

fn three_times(numbers: &[i64]) -> Result<SessionInputValue<'static>, ModelError> {
    let tensor = Tensor::from_array(([3, 1, numbers.len()], numbers.repeat(3)));
    Ok(tensor.map_err(backend)?.into())
}

fn last_largest(logits: &DynValue, width: usize) -> Result<TokenId, ModelError> {
    let (_, logits) = logits.try_extract_tensor::<f32>().map_err(backend)?;
    let last = &logits[logits.len().saturating_sub(width)..];
    let mut best = 0;
    for (id, &logit) in last.iter().enumerate() {
        if logit > last[best] {
            best = id;
        }
    }
    Ok(TokenId(best as u32))
}

//! Which outputs a run is asked for, and views of them in `f32`.

use half::f16;
use ort::session::HasSelectedOutputs;
use ort::session::{OutputSelector, RunOptions, Session};
use ort::value::DynValue;
use structgen_decode::{
    ModelError,
    model::{RowOutput, RowRun, RunOutput},
};

use crate::cache::backend;
use crate::signature::{Float, Output};

use super::graph::{dims, unexpected};

/// The outputs of a run: what nobody asks for is not computed, where nothing else needs it, and not returned.
pub(super) struct Selection {
    /// The places of the outputs in the session, with what they are.
    pub(super) roles: Vec<(usize, Output)>,
    pub(super) options: RunOptions<HasSelectedOutputs>,
}

impl Selection {
    pub(super) fn new(session: &Session, roles: &[Output], hidden: bool) -> ort::Result<Self> {
        let wants = |role: &Output| match role {
            Output::Logits | Output::Present(_) => true,
            Output::Hidden => hidden,
            Output::Unused => false,
        };
        let places = roles.iter().copied().enumerate();
        let roles: Vec<_> = places.filter(|(_, role)| wants(role)).collect();
        let selector = roles
            .iter()
            .fold(OutputSelector::no_default(), |selector, &(place, _)| {
                selector.with(session.outputs()[place].name())
            });
        Ok(Self {
            roles,
            options: RunOptions::new()?.with_outputs(selector),
        })
    }
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Selection").field(&self.roles).finish()
    }
}

/// The logits, and the hidden states where a model returns them, of all runs of the session that one call makes.
#[derive(Debug)]
pub(super) struct Outputs {
    logits: Kept,
    hidden: Option<Kept>,
}

/// Where the numbers of a row are: the run of the session, and the row in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputPlace {
    pub(super) run: usize,
    pub(super) row: usize,
}

/// What a run of the session returned besides the cache.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) logits: Option<DynValue>,
    pub(super) hidden: Option<DynValue>,
}

impl Outputs {
    pub(super) fn new(logits: (Float, usize), hidden: Option<(Float, usize)>) -> Self {
        Self {
            logits: Kept::new("logits", logits),
            hidden: hidden.map(|hidden| Kept::new("hidden states", hidden)),
        }
    }

    /// Forgets the runs of the call before.
    pub(super) fn clear(&mut self) {
        self.logits.runs.clear();
        self.hidden.iter_mut().for_each(|kept| kept.runs.clear());
    }

    /// Keeps what a run of `n` tokens in each row returned; some graphs compute the last `positions` only. Returns the
    /// number of the run.
    pub(super) fn keep(
        &mut self,
        given: Given,
        rows: usize,
        n: usize,
        positions: usize,
        hidden: bool,
    ) -> Result<usize, ModelError> {
        self.logits.keep(given.logits, rows, n, positions)?;
        if let Some(kept) = self.hidden.as_mut().filter(|_| hidden) {
            kept.keep(given.hidden, rows, n, positions)?;
        }
        Ok(self.logits.runs.len() - 1)
    }

    /// Views of the last positions of each row.
    pub(super) fn view(
        &mut self,
        runs: &[RowRun<'_>],
        places: &[OutputPlace],
        hidden: bool,
    ) -> Result<RunOutput<'_>, ModelError> {
        let (width, logits) = (self.logits.width, self.logits.rows(runs, places)?);
        let rows = logits
            .into_iter()
            .map(|logits| RowOutput::new(logits, width));
        let Some(kept) = self.hidden.as_mut().filter(|_| hidden) else {
            return Ok(RunOutput::new(rows.collect()));
        };
        let width = kept.width;
        let rows = rows.zip(kept.rows(runs, places)?);
        let rows = rows.map(|(row, hidden)| row.with_hidden(hidden, width));
        Ok(RunOutput::new(rows.collect()))
    }
}

/// One output `[rows, positions, width]` of each run of a call.
#[derive(Debug)]
struct Kept {
    what: &'static str,
    float: Float,
    width: usize,
    /// The output of each run, and how many positions of each row it has.
    runs: Vec<(DynValue, usize)>,
    /// The numbers of the rows as `f32`, where the graph computes in `f16`.
    converted: Vec<f32>,
}

impl Kept {
    fn new(what: &'static str, (float, width): (Float, usize)) -> Self {
        Self {
            what,
            float,
            width,
            runs: Vec::new(),
            converted: Vec::new(),
        }
    }

    fn keep(
        &mut self,
        value: Option<DynValue>,
        rows: usize,
        n: usize,
        positions: usize,
    ) -> Result<(), ModelError> {
        let value = value.ok_or_else(|| unexpected(self.what, &[]))?;
        let given = match *dims(&value) {
            [r, given, width]
                if r == rows as i64
                    && width == self.width as i64
                    && (given == n as i64 || given == positions as i64) =>
            {
                given as usize
            }
            ref other => return Err(unexpected(self.what, other)),
        };
        self.runs.push((value, given));
        Ok(())
    }

    /// The numbers of the last positions of each row, as many as it asked for.
    fn rows(
        &mut self,
        runs: &[RowRun<'_>],
        places: &[OutputPlace],
    ) -> Result<Vec<&[f32]>, ModelError> {
        let asked = places.iter().zip(runs.iter().map(|run| run.positions));
        if self.float == Float::F32 {
            return asked
                .map(|(place, positions)| {
                    let (value, given) = &self.runs[place.run];
                    let (_, numbers) = value.try_extract_tensor::<f32>().map_err(backend)?;
                    Ok(last_positions(
                        numbers, self.width, place.row, *given, positions,
                    ))
                })
                .collect();
        }
        self.converted.clear();
        let mut ends = Vec::with_capacity(runs.len());
        for (place, positions) in asked {
            let (value, given) = &self.runs[place.run];
            let (_, numbers) = value.try_extract_tensor::<f16>().map_err(backend)?;
            let numbers = last_positions(numbers, self.width, place.row, *given, positions);
            self.converted
                .extend(numbers.iter().map(|number| number.to_f32()));
            ends.push(self.converted.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let rows = starts
            .zip(&ends)
            .map(|(start, &end)| &self.converted[start..end]);
        Ok(rows.collect())
    }
}

/// The last `positions` of the `given` ones of a row.
fn last_positions<T>(
    numbers: &[T],
    width: usize,
    row: usize,
    given: usize,
    positions: usize,
) -> &[T] {
    let end = (row + 1) * given;
    &numbers[(end - positions) * width..end * width]
}

#[cfg(test)]
mod tests {
    use structgen_decode::{LanguageModel, model::RowRun};

    use super::super::tests::{open, tokens};

    #[test]
    fn logits_are_computed_where_they_are_wanted_if_the_graph_can_leave_out_the_others() {
        let mut model = open("logits_to_keep");
        let mut whole = open("optimum");
        let text = tokens(3..9);
        for (positions, computed) in [(0, 1), (1, 1), (4, 4)] {
            for (model, computed) in [(&mut model, computed), (&mut whole, text.len())] {
                let row = model.open_row().unwrap();
                let run = RowRun {
                    row,
                    tokens: &text,
                    positions,
                };
                model.run(&[run], false).unwrap();
                assert_eq!(model.outputs.logits.runs[0].1, computed);
            }
        }
    }
}

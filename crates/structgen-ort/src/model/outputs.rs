//! Which outputs a run is asked for, and views of them in `f32`.

use half::f16;
use ort::session::HasSelectedOutputs;
use ort::session::{OutputSelector, RunOptions, Session};
use ort::value::{DynValue, PrimitiveTensorElementType};
use structgen_decode::{
    ModelError,
    model::{RowOutput, RunOutput},
};

use crate::error::backend;
use crate::signature::{Float, Output};

use super::graph::{dims, unexpected};

/// The outputs of a run: what nobody asks for is not computed, where nothing else needs it, and not returned.
pub(super) struct Selection {
    /// The places of the outputs in the session, with what they are.
    pub(super) roles: Vec<(usize, Output)>,
    pub(super) options: RunOptions<HasSelectedOutputs>,
}

/// What some runs return besides logits and cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    Hidden,
    /// Keys and values of an encoder's states.
    Cross,
}

impl Selection {
    pub(super) fn new(
        session: &Session,
        roles: &[Output],
        extra: Option<Extra>,
    ) -> ort::Result<Self> {
        let wants = |role: &Output| match role {
            Output::Logits | Output::Present(_) | Output::State(_) | Output::HandedOn(_) => true,
            Output::Hidden => extra == Some(Extra::Hidden),
            Output::Cross(_) => extra == Some(Extra::Cross),
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

/// Where numbers of a row are: the run of the session, the row in it, and how many of its last positions were asked
/// for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OutputPlace {
    pub(super) run: usize,
    pub(super) row: usize,
    pub(super) positions: usize,
}

/// Where the numbers of each row of a call are.
#[derive(Debug)]
pub(super) enum Places {
    /// All of a row are in one run of the session.
    One(Vec<OutputPlace>),
    /// Those of a row are in several, one after the other.
    Several(Vec<Vec<OutputPlace>>),
}

impl Places {
    pub(super) fn by_row(&self) -> Vec<&[OutputPlace]> {
        match self {
            Self::One(places) => places.iter().map(std::slice::from_ref).collect(),
            Self::Several(places) => places.iter().map(Vec::as_slice).collect(),
        }
    }
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

    /// Views of the positions of each row that were asked for, which several runs of the session may have computed.
    pub(super) fn view(
        &mut self,
        rows: &[&[OutputPlace]],
        hidden: bool,
    ) -> Result<RunOutput<'_>, ModelError> {
        let (width, logits) = (self.logits.width, self.logits.rows(rows)?);
        let outputs = logits
            .into_iter()
            .map(|logits| RowOutput::new(logits, width));
        let Some(kept) = self.hidden.as_mut().filter(|_| hidden) else {
            return Ok(RunOutput::new(outputs.collect()));
        };
        let width = kept.width;
        let outputs = outputs.zip(kept.rows(rows)?);
        let outputs = outputs.map(|(output, hidden)| output.with_hidden(hidden, width));
        Ok(RunOutput::new(outputs.collect()))
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

    /// The numbers of each row's positions, one position after the other.
    fn rows(&mut self, rows: &[&[OutputPlace]]) -> Result<Vec<&[f32]>, ModelError> {
        let is_view = |row: &&[OutputPlace]| row.len() == 1;
        if self.float == Float::F32 && rows.iter().all(is_view) {
            let places = rows.iter().flat_map(|row| row.iter());
            return places.map(|place| self.at::<f32>(place)).collect();
        }
        let mut converted = std::mem::take(&mut self.converted);
        converted.clear();
        let mut ends = Vec::with_capacity(rows.len());
        for row in rows {
            for place in *row {
                match self.float {
                    Float::F32 => converted.extend_from_slice(self.at::<f32>(place)?),
                    Float::F16 => {
                        converted
                            .extend(self.at::<f16>(place)?.iter().map(|number| number.to_f32()));
                    }
                }
            }
            ends.push(converted.len());
        }
        self.converted = converted;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let rows = starts
            .zip(&ends)
            .map(|(start, &end)| &self.converted[start..end]);
        Ok(rows.collect())
    }

    /// The numbers at a place, as the graph returned them.
    fn at<T: PrimitiveTensorElementType>(&self, place: &OutputPlace) -> Result<&[T], ModelError> {
        let (value, given) = &self.runs[place.run];
        let (_, numbers) = value.try_extract_tensor::<T>().map_err(backend)?;
        let end = (place.row + 1) * given;
        Ok(&numbers[(end - place.positions) * self.width..end * self.width])
    }
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

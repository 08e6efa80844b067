//! Runs of graphs whose past and present are one buffer.
//!
//! Such a graph has ONNX Runtime's operator `GroupQueryAttention`: where it finds past and present in the same memory,
//! it writes new keys and values after those that are there. How many these are it takes from the attention mask, as a
//! number for each row; so rows begin at the beginning of their buffer, and are padded on the right. After a past it
//! takes one token of each row, or several tokens of a single row.

use std::error::Error;

use structgen_decode::{
    ModelError,
    model::{RowId, RowRun},
};
use structgen_vocab::TokenId;

use super::graph::{Call, Graph};
use super::inputs::Feed;
use super::outputs::{OutputPlace, Outputs};
use super::{OrtModel, Rows};
use crate::LoadError;
use crate::cache::slots::SlotRows;
use crate::cache::states::{StateRows, States};
use crate::signature::Form;

/// Fills up the batch where a run does not name a slot's row.
const FILLER: [TokenId; 1] = [TokenId(0)];

impl OrtModel {
    /// Keeps rows in buffers from now on. That the graph can write to them, the first attempt of
    /// [`probe`](super::probe) shows.
    pub(super) fn share_buffers(&mut self) -> Result<(), LoadError> {
        let mut forms = self.graph.signature.cache.iter().map(|tensor| tensor.form);
        let reason = match forms.find(|&form| form != Form::Heads) {
            None => None,
            Some(Form::Joint | Form::OneHead) => Some("its keys and values are one tensor"),
            Some(_) => Some("its keys and values are not [batch, heads, past, dim]"),
        };
        if let Some(reason) = reason {
            let reason = reason.into();
            return Err(LoadError::NotShared { reason });
        }
        let layout = self.graph.signature.cache.clone();
        self.rows = Rows::Slots(SlotRows::new(layout, self.info.context_length));
        Ok(())
    }

    /// A graph that cannot be run on buffers, with ONNX Runtime's own reason.
    pub(super) fn not_shared(error: &ModelError) -> LoadError {
        LoadError::NotShared {
            reason: error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string),
        }
    }
}

/// Runs all rows that take one token together, and each of the others alone.
pub(super) fn run(
    graph: &mut Graph,
    (rows, states): (&mut SlotRows, &mut StateRows),
    runs: &[RowRun<'_>],
    hidden: bool,
    outputs: &mut Outputs,
) -> Result<Vec<OutputPlace>, ModelError> {
    let mut together: Vec<usize> = (0..runs.len())
        .filter(|&index| runs[index].tokens.len() == 1)
        .collect();
    if let [only] = together[..]
        && !rows.is_seated(runs[only].row)
    {
        together.clear();
    }
    let mut places = vec![OutputPlace::default(); runs.len()];
    let is_alone = |index: &usize| !together.contains(index);
    let mut after = Vec::with_capacity(runs.len());
    for index in (0..runs.len()).filter(is_alone) {
        let past = states.assemble(&[Some(runs[index].row)])?;
        let (run, new) = run_alone(graph, rows, &past, &runs[index], hidden, outputs)?;
        after.push((vec![Some(runs[index].row)], new));
        let positions = runs[index].positions;
        places[index] = OutputPlace {
            run,
            row: 0,
            positions,
        };
    }
    if !together.is_empty() {
        let found = run_together(graph, (rows, states), runs, &together, hidden, outputs)?;
        for (index, place) in together.iter().zip(found.places) {
            places[*index] = place;
        }
        after.push((found.rows, found.states));
    }
    // Nothing fails from here on: what the runs above wrote after the rows' ends now belongs to them.
    for run in (0..runs.len()).filter(is_alone).map(|index| &runs[index]) {
        rows.commit_own(run.row, run.tokens.len());
    }
    let named: Vec<_> = together.iter().map(|&index| runs[index].row).collect();
    if !named.is_empty() {
        rows.commit_shared(&named);
    }
    for (named, new) in after {
        let lens = named
            .into_iter()
            .map(|row| Some((row?, rows.len(row?).unwrap_or(0))));
        states.commit(lens, new);
    }
    Ok(places)
}

fn run_alone(
    graph: &mut Graph,
    rows: &mut SlotRows,
    states: &States,
    run: &RowRun<'_>,
    hidden: bool,
    outputs: &mut Outputs,
) -> Result<(usize, States), ModelError> {
    let n = run.tokens.len();
    let end = rows.len(run.row).unwrap_or(0) + n;
    let buffers = rows.own(run.row, end)?;
    let call = Call {
        rows: &[Feed {
            tokens: run.tokens,
            valid: 0..end,
        }],
        columns: end,
        positions: run.positions.max(1),
        hidden,
        counted: n,
    };
    let (given, after) = graph.run_in_place(&call, &mut buffers.tensors, states)?;
    let run = outputs.keep(given, 1, n, call.positions, hidden)?;
    Ok((run, after))
}

/// What a run of the shared buffer returned.
struct Together {
    /// Where the outputs of the rows are, in the order of the call.
    places: Vec<OutputPlace>,
    /// The states, and the row of each; none where the run did not name a slot's row.
    rows: Vec<Option<RowId>>,
    states: States,
}

fn run_together(
    graph: &mut Graph,
    (rows, states): (&mut SlotRows, &StateRows),
    runs: &[RowRun<'_>],
    together: &[usize],
    hidden: bool,
    outputs: &mut Outputs,
) -> Result<Together, ModelError> {
    let named: Vec<_> = together.iter().map(|&index| runs[index].row).collect();
    let (buffers, slots) = rows.shared(&named)?;
    let index_of = |row| {
        together
            .iter()
            .copied()
            .find(|&index| runs[index].row == row)
    };
    let mut feeds = Vec::with_capacity(slots.len());
    let mut indices = Vec::with_capacity(slots.len());
    for slot in &slots {
        let index = slot.row.and_then(index_of);
        indices.push(index);
        feeds.push(Feed {
            tokens: index.map_or(&FILLER[..], |index| runs[index].tokens),
            valid: 0..slot.len + 1,
        });
    }
    let call = Call {
        rows: &feeds,
        columns: feeds.iter().map(|feed| feed.valid.end).max().unwrap_or(1),
        positions: 1,
        hidden,
        counted: named.len(),
    };
    let named: Vec<_> = slots.iter().map(|slot| slot.row).collect();
    let past = states.assemble(&named)?;
    let (given, after) = graph.run_in_place(&call, &mut buffers.tensors, &past)?;
    let run = outputs.keep(given, slots.len(), 1, 1, hidden)?;
    let place = |index: &usize| OutputPlace {
        run,
        row: { indices.iter() }
            .position(|of| *of == Some(*index))
            .unwrap_or(0),
        positions: runs[*index].positions,
    };
    Ok(Together {
        places: together.iter().map(place).collect(),
        rows: named,
        states: after,
    })
}

#[cfg(test)]
mod tests {
    use structgen_decode::LanguageModel;

    use super::super::tests::{open, tokens};
    use super::*;

    /// The number of positions that are written to in the first head of each row of a buffer, and where it is.
    fn written(tensor: &ort::value::DynValue, rows: usize) -> (Vec<usize>, *const f32) {
        let (shape, numbers) = tensor.try_extract_tensor::<f32>().unwrap();
        let (room, dim) = (shape[2] as usize, shape[3] as usize);
        let of_row = |row: &[f32]| {
            let positions = row[..room * dim].chunks(dim);
            { positions.take_while(|position| position.iter().any(|&x| x != 0.0)) }.count()
        };
        let rows = numbers.chunks(numbers.len() / rows).map(of_row);
        (rows.collect(), numbers.as_ptr())
    }

    fn slots(model: &mut OrtModel) -> &mut SlotRows {
        let Rows::Slots(rows) = &mut model.rows else {
            panic!("the model's cache grows");
        };
        rows
    }

    fn own(model: &mut OrtModel, row: RowId) -> (Vec<usize>, *const f32) {
        let len = model.row_len(row).unwrap();
        written(&slots(model).own(row, len).unwrap().tensors[0], 1)
    }

    fn shared(model: &mut OrtModel, rows: &[RowId]) -> (Vec<usize>, *const f32) {
        let (buffers, slots) = slots(model).shared(rows).unwrap();
        let named: Vec<_> = slots.iter().map(|slot| slot.row.unwrap()).collect();
        assert_eq!(named, rows);
        written(&buffers.tensors[0], rows.len())
    }

    #[test]
    fn runs_write_after_what_is_there_and_move_nothing_while_there_is_room() {
        let mut model = open("shared_buffer");
        let rows = [(); 2].map(|()| model.open_row().unwrap());
        let text = tokens(4..14);
        model
            .run(&[RowRun::last(rows[0], &text[..3])], false)
            .unwrap();
        let (len, alone) = own(&mut model, rows[0]);
        assert_eq!(len, [3]);
        model
            .run(&[RowRun::last(rows[0], &text[..4])], false)
            .unwrap();
        assert_eq!(own(&mut model, rows[0]), (vec![7], alone));
        let both = rows.map(|row| RowRun::last(row, &text[..1]));
        model.run(&both, false).unwrap();
        let (lens, together) = shared(&mut model, &rows);
        assert_eq!(lens, [8, 1]);
        for i in 0..7 {
            model.run(&both, false).unwrap();
            assert_eq!(shared(&mut model, &rows), (vec![9 + i, 2 + i], together));
        }
        // Several tokens of one row, or of each, are run apart, and what they wrote is copied back where it belongs.
        model.cut_row(rows[0], 5).unwrap();
        let several = rows.map(|row| RowRun::last(row, &text[..4]));
        model.run(&several, false).unwrap();
        let (lens, after) = shared(&mut model, &rows);
        // After what is cut there are numbers that nobody reads.
        assert_eq!((lens, after), (vec![15, 12], together));
        // The room of 16 is used up.
        model.run(&[RowRun::last(rows[0], &text)], false).unwrap();
        model.run(&both, false).unwrap();
        let (lens, after) = shared(&mut model, &rows);
        assert_ne!(after, together);
        assert_eq!(lens, [20, 13]);
    }
}

//! Runs of graphs whose cache grows.

use std::collections::BTreeMap;

use structgen_decode::{ModelError, model::RowRun};

use super::encoded::Encoded;
use super::graph::{Call, Graph};
use super::inputs::Feed;
use super::outputs::{OutputPlace, Outputs};
use super::probe::Abilities;
use crate::cache::growing::{Block, GrowingRows};
use crate::cache::states::StateRows;

/// Runs rows that take the same number of tokens together, as far as that pays. Where the graph does not leave out
/// padding, they must be of one length as well, and so must the inputs that rows of an encoder-decoder attend to. Where
/// it takes several tokens after a past of one row alone, such rows are run apart.
pub(super) fn run(
    graph: &mut Graph,
    (rows, states): (&mut GrowingRows, &mut StateRows),
    mut encoded: Option<&mut Encoded>,
    abilities: Abilities,
    runs: &[RowRun<'_>],
    hidden: bool,
    outputs: &mut Outputs,
) -> Result<Vec<OutputPlace>, ModelError> {
    let mut alike: BTreeMap<[usize; 4], Vec<usize>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        let own = rows.len(run.row).unwrap_or(0);
        let len = if abilities.padding { 0 } else { own };
        let is_alone = !abilities.several_of_rows && run.tokens.len() > 1 && own > 0;
        let alone = if is_alone { index + 1 } else { 0 };
        let input = encoded
            .as_ref()
            .map_or(0, |encoded| encoded.input_len(run.row));
        alike
            .entry([run.tokens.len(), len, input, alone])
            .or_default()
            .push(index);
    }
    let mut places = vec![OutputPlace::default(); runs.len()];
    let mut grown = Vec::with_capacity(alike.len());
    for ([n, ..], alike) in alike {
        let ids: Vec<_> = alike.iter().map(|&index| runs[index].row).collect();
        for group in rows.grouped(&ids) {
            let group: Vec<usize> = group.into_iter().map(|at| alike[at]).collect();
            let ids: Vec<_> = group.iter().map(|&index| runs[index].row).collect();
            let past = rows.assemble(&ids)?;
            let named: Vec<_> = ids.iter().copied().map(Some).collect();
            let past_states = states.assemble(&named)?;
            let columns = past.len() + n;
            let feeds = group
                .iter()
                .zip(past.padding())
                .map(|(&index, &padding)| Feed {
                    tokens: runs[index].tokens,
                    valid: padding..columns,
                });
            let feeds: Vec<_> = feeds.collect();
            let positions = group.iter().map(|&index| runs[index].positions).max();
            let call = Call {
                rows: &feeds,
                columns,
                positions: positions.unwrap_or(1).max(1),
                hidden,
                counted: group.len() * n,
            };
            let attended = match &mut encoded {
                Some(encoded) => Some(encoded.attended(&ids)?),
                None => None,
            };
            let attending = attended.as_ref().and_then(|attended| attended.view());
            let after = graph.run_growing(&call, &past, &past_states, attending)?;
            let run = outputs.keep(after.given, group.len(), n, call.positions, hidden)?;
            for (row, index) in group.into_iter().enumerate() {
                let positions = runs[index].positions;
                places[index] = OutputPlace {
                    run,
                    row,
                    positions,
                };
            }
            let block = Block::new(after.present, past.padding().to_vec(), columns);
            grown.push((ids, block, after.states, n));
        }
    }
    // Nothing fails from here on: either all rows have grown or none.
    for (ids, block, after, n) in grown {
        rows.commit(&ids, block, n);
        let lens = ids
            .iter()
            .map(|&row| Some((row, rows.len(row).unwrap_or(0))));
        states.commit(lens, after);
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use structgen_decode::{LanguageModel, model::RowId};

    use super::super::tests::{open, tokens};
    use super::super::{OrtModel, Rows};
    use super::*;

    /// The memory of the rows' block, where the next run takes it as it is.
    fn memory(model: &mut OrtModel, rows: &[RowId]) -> *const f32 {
        let Rows::Growing(growing) = &mut model.rows else {
            panic!("the model shares buffers");
        };
        let block = growing.assemble(rows).unwrap();
        let tensor = &block.tensors()[0];
        tensor.try_extract_tensor::<f32>().unwrap().1.as_ptr()
    }

    #[test]
    fn rows_that_are_run_together_are_fed_back_without_a_copy() {
        let mut model = open("optimum");
        let rows = [(); 3].map(|()| model.open_row().unwrap());
        let token = tokens(5..6);
        let runs = rows.map(|row| RowRun::last(row, &token));
        for _ in 0..10 {
            model.run(&runs, false).unwrap();
        }
        let present = memory(&mut model, &rows);
        let cut = |model: &mut OrtModel, len| {
            for row in rows {
                model.cut_row(row, len).unwrap();
            }
        };
        assert_eq!(memory(&mut model, &rows), present);
        // Cut, they are copied once.
        cut(&mut model, 8);
        let copied = memory(&mut model, &rows);
        assert_ne!(copied, present);
        assert_eq!(memory(&mut model, &rows), copied);
        // A fork is of the same memory.
        let fork = model.fork_row(rows[1], 8).unwrap();
        assert_eq!(memory(&mut model, &rows), copied);
        assert_ne!(memory(&mut model, &[fork]), copied);
        assert_ne!(memory(&mut model, &rows[..2]), copied);
    }
}

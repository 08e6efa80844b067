//! A call that the graph cannot compute at once, taken apart into runs that it can.
//!
//! Forced stretches of a constraint, drafts and prompts that begin like others are runs of several tokens after a past.
//! Not every graph computes them as it computes single tokens ([`Abilities`](super::probe::Abilities)); where it does
//! not, or where it returns the last position's logits alone and others are wanted, tokens are run one after another.

use structgen_decode::{ModelError, model::RowRun};

use super::outputs::OutputPlace;
use super::{OrtModel, Rows, growing, slots};

impl OrtModel {
    /// Whether the graph computes a call as it is.
    pub(super) fn is_one_step(&self, runs: &[RowRun<'_>]) -> bool {
        let abilities = &self.abilities;
        if runs.len() > 1 && abilities.rows_alone {
            return false;
        }
        abilities.takes_any_run()
            || runs
                .iter()
                .all(|run| self.together(run) == run.tokens.len())
    }

    /// The number of tokens that a run of a row begins with; the others follow one at a time.
    fn together(&self, run: &RowRun<'_>) -> usize {
        let (abilities, n) = (&self.abilities, run.tokens.len());
        let is_empty = self.cached_len(run.row) == Some(0);
        if abilities.tokens_alone || !is_empty && !abilities.several_after_past {
            1
        } else if abilities.all_positions {
            n
        } else {
            n - run.positions.saturating_sub(1)
        }
    }

    /// Runs as much of each row as the graph takes, until all is run. After an error each row is as it was.
    pub(super) fn run_in_steps(
        &mut self,
        runs: &[RowRun<'_>],
        hidden: bool,
    ) -> Result<Vec<Vec<OutputPlace>>, ModelError> {
        let parts = runs.iter().map(|run| parts(*run, self.together(run)));
        let mut parts: Vec<_> = parts.collect();
        let at_once = match self.abilities.rows_alone {
            true => 1,
            false => runs.len(),
        };
        let before: Vec<_> = { runs.iter() }
            .map(|run| (run.row, self.cached_len(run.row).unwrap_or(0)))
            .collect();
        let mut places = vec![Vec::new(); runs.len()];
        loop {
            let rows = parts.iter_mut().enumerate();
            let next = rows.filter_map(|(index, parts)| Some((index, parts.next()?)));
            let (indices, step): (Vec<usize>, Vec<RowRun<'_>>) = next.take(at_once).unzip();
            if step.is_empty() {
                return Ok(places);
            }
            match self.run_step(&step, hidden) {
                Ok(found) => {
                    let found = indices.into_iter().zip(found);
                    for (index, place) in found.filter(|(_, place)| place.positions > 0) {
                        places[index].push(place);
                    }
                }
                Err(error) => {
                    before
                        .into_iter()
                        .for_each(|(row, len)| self.cut_cache(row, len));
                    return Err(error);
                }
            }
        }
    }

    /// Runs what the graph takes as it is.
    pub(super) fn run_step(
        &mut self,
        runs: &[RowRun<'_>],
        hidden: bool,
    ) -> Result<Vec<OutputPlace>, ModelError> {
        let (graph, outputs) = (&mut self.graph, &mut self.outputs);
        let states = &mut self.states;
        let places = match &mut self.rows {
            Rows::Growing(rows) => {
                let abilities = self.abilities;
                let encoded = self.encoded.as_mut();
                let places = growing::run(
                    graph,
                    (rows, states),
                    encoded,
                    abilities,
                    runs,
                    hidden,
                    outputs,
                )?;
                rows.release_left_blocks();
                places
            }
            Rows::Slots(rows) => slots::run(graph, (rows, states), runs, hidden, outputs)?,
        };
        self.states.release_left();
        Ok(places)
    }
}

/// A run cut into its first tokens and the others one by one, each with its share of the positions that are asked for.
fn parts(run: RowRun<'_>, together: usize) -> impl Iterator<Item = RowRun<'_>> {
    let n = run.tokens.len();
    let singles = (together..n).map(|at| (at, at + 1));
    std::iter::once((0, together))
        .chain(singles)
        .map(move |(start, end)| RowRun {
            row: run.row,
            tokens: &run.tokens[start..end],
            positions: (run.positions + end).saturating_sub(n).min(end - start),
        })
}

#[cfg(test)]
mod tests {
    use structgen_decode::model::RowId;
    use structgen_vocab::TokenId;

    use super::*;

    #[test]
    fn parts_share_the_positions_that_are_asked_for() {
        let tokens = [1, 2, 3, 4, 5].map(TokenId);
        for positions in 0..=5 {
            for together in 1..=5 {
                let run = RowRun {
                    row: RowId(0),
                    tokens: &tokens,
                    positions,
                };
                let parts: Vec<_> = parts(run, together).collect();
                let joined: Vec<_> = parts.iter().flat_map(|part| part.tokens).collect();
                assert_eq!(joined, tokens.iter().collect::<Vec<_>>());
                assert_eq!(parts[0].tokens.len(), together);
                let sum: usize = parts.iter().map(|part| part.positions).sum();
                assert_eq!(sum, positions);
                // The positions asked for are the last ones: once one is, all after it are.
                let asked = parts.iter().skip_while(|part| part.positions == 0).skip(1);
                assert!(
                    asked
                        .into_iter()
                        .all(|part| part.positions == part.tokens.len())
                );
            }
        }
    }
}

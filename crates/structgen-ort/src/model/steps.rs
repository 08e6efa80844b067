//! A call that the graph cannot compute at once, taken apart into runs that it can.
//!
//! Forced stretches of a constraint, drafts and prompts that begin like others are runs of several tokens after a past.
//! Not every graph computes them as it computes single tokens ([`Abilities`](super::probe::Abilities)); where it does
//! not, or where it returns the last position's logits alone and others are wanted, tokens are run one after another.

use structgen_decode::{ModelError, model::RowRun};

use super::outputs::{OutputPlace, Places};
use super::texts::with_texts;
use super::{OrtModel, Rows, growing, slots};

impl OrtModel {
    /// Runs a call, after what the cache lacks of the rows' texts. After an error each row is as it was.
    pub(super) fn run_call(
        &mut self,
        runs: &[RowRun<'_>],
        hidden: bool,
    ) -> Result<Places, ModelError> {
        match self.cut_at_border(runs) {
            Some(halves) => self.run_halves(runs, &halves, hidden),
            None => self.run_after_texts(runs, hidden),
        }
    }

    /// The halves of each run that crosses a border; `None` where no run does.
    fn cut_at_border<'a>(&self, runs: &[RowRun<'a>]) -> Option<Vec<Option<[RowRun<'a>; 2]>>> {
        let texts = self.texts.as_ref().filter(|texts| texts.has_border())?;
        let halves: Vec<_> = runs.iter().map(|run| texts.cut_at_border(run)).collect();
        halves.iter().any(Option::is_some).then_some(halves)
    }

    fn run_halves(
        &mut self,
        runs: &[RowRun<'_>],
        halves: &[Option<[RowRun<'_>; 2]>],
        hidden: bool,
    ) -> Result<Places, ModelError> {
        let halves_of = halves.iter().enumerate();
        let (rows, first): (Vec<usize>, Vec<RowRun<'_>>) = halves_of
            .filter_map(|(row, halves)| Some((row, (*halves)?[0])))
            .unzip();
        let before = self.run_after_texts(&first, hidden)?;
        // What was computed is not that of the whole text.
        first.iter().for_each(|run| self.cut_cache(run.row, 0));
        let second = { runs.iter().zip(halves) }
            .map(|(run, halves)| halves.map_or(*run, |[_, second]| second));
        let second: Vec<RowRun<'_>> = second.collect();
        let mut places = vec![Vec::new(); runs.len()];
        for (row, before) in rows.into_iter().zip(before.by_row()) {
            places[row].extend_from_slice(before);
        }
        let after = self.run_after_texts(&second, hidden)?;
        for (places, after) in places.iter_mut().zip(after.by_row()) {
            places.extend_from_slice(after);
        }
        Ok(Places::Several(places))
    }

    /// Runs the rows' tokens together with what the cache lacks of the texts before them.
    fn run_after_texts(&mut self, runs: &[RowRun<'_>], hidden: bool) -> Result<Places, ModelError> {
        let replayed = self.replayed(runs);
        let replay: Vec<RowRun<'_>>;
        let runs = match &replayed {
            None => runs,
            Some(texts) => {
                replay = with_texts(runs, texts);
                &replay[..]
            }
        };
        if self.encoded.is_some() {
            self.run_encoded(runs).map(Places::Several)
        } else if self.is_one_step(runs) {
            self.run_step(runs, hidden).map(Places::One)
        } else {
            self.run_in_steps(runs, hidden).map(Places::Several)
        }
    }

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
            let texts = self.texts.as_ref().filter(|_| is_empty);
            texts.map_or(1, |texts| texts.fewest_at_once(n))
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
    use structgen_decode::{LanguageModel, model::RowId};
    use structgen_vocab::TokenId;

    use super::super::tests::tokens;
    use super::*;
    use crate::{Device, LongRope, ModelConfig, ModelSource};

    /// A graph with other factors for texts of more than 16 tokens.
    fn long_rope(name: &str, single_tokens: bool) -> OrtModel {
        let runtime = crate::ensure_runtime(|_| {}).unwrap();
        let config = ModelConfig {
            context_length: Some(64),
            long_rope: Some(LongRope::ByLength { border: 16 }),
            ..ModelConfig::default()
        };
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let bytes = std::fs::read(format!("{fixtures}/{name}/model.onnx")).unwrap();
        let mut source = ModelSource::bytes(bytes, config, Device::cpu(1));
        source.single_tokens = single_tokens;
        source.open(runtime).unwrap()
    }

    fn logits(model: &mut OrtModel, row: RowId, tokens: &[TokenId], n: usize) -> Vec<Vec<f32>> {
        let run = RowRun {
            row,
            tokens,
            positions: n,
        };
        let output = model.run(&[run], false).unwrap().row(0);
        (0..n).map(|at| output.logits(at).to_vec()).collect()
    }

    #[test]
    fn all_keys_of_a_text_have_the_factors_of_its_length_where_tokens_run_alone() {
        let text = tokens(3..25);
        for name in ["long_rope", "long_rope_last_alone"] {
            let mut together = long_rope(name, false);
            let mut whole = |end: usize| {
                let row = together.open_row().unwrap();
                logits(&mut together, row, &text[..end], 1).remove(0)
            };
            let expected: Vec<Vec<f32>> = (1..=text.len()).map(&mut whole).collect();
            let mut alone = long_rope(name, true);
            // The ends of the runs of a text, each of which all positions are asked for.
            let cuts: [&[usize]; 4] = [&[22], &[9, 16, 17, 22], &[14, 19, 22], &[16, 22]];
            for ends in cuts {
                let row = alone.open_row().unwrap();
                let mut start = 0;
                for &end in ends {
                    let found = logits(&mut alone, row, &text[start..end], end - start);
                    for (at, found) in (start..end).zip(found) {
                        let apart = found.iter().zip(&expected[at]).map(|(a, b)| (a - b).abs());
                        let apart = apart.fold(0.0, f32::max);
                        assert!(apart < 1e-4, "{name}, {ends:?}, token {at}: {apart} apart");
                    }
                    start = end;
                }
            }
        }
    }

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

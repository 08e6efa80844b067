//! Random programs over many rows: whatever is done to them, logits are those of the same text in a row of its own.

use std::collections::BTreeMap;

use structgen_decode::{
    LanguageModel,
    model::{RowId, RowRun},
};
use structgen_ort::OrtModel;
use structgen_vocab::TokenId;

use crate::support::{CONTEXT, LAYOUTS, Random, WIDTH, apart, copied, open, tokens, tolerance};

/// A model, its open rows, and a model that computes every text anew.
struct Program {
    model: OrtModel,
    rows: BTreeMap<RowId, Vec<TokenId>>,
    reference: OrtModel,
    random: Random,
    /// The runs with rows of different lengths, and with rows of different numbers of new tokens.
    ragged: [usize; 2],
    worst: f32,
}

impl Program {
    fn new(model: OrtModel, reference: OrtModel, seed: u64) -> Self {
        Self {
            model,
            rows: BTreeMap::new(),
            reference,
            random: Random(seed),
            ragged: [0; 2],
            worst: 0.0,
        }
    }

    fn any_row(&mut self) -> Option<RowId> {
        let at = self.random.below(self.rows.len().max(1));
        self.rows.keys().nth(at).copied()
    }

    fn step(&mut self) {
        match (self.random.below(10), self.any_row()) {
            (0, _) | (_, None) if self.rows.len() < 9 => {
                let row = self.model.open_row().unwrap();
                self.rows.insert(row, Vec::new());
            }
            (1, Some(row)) if self.rows.len() < 9 => {
                let len = self.random.below(self.rows[&row].len() + 1);
                let fork = self.model.fork_row(row, len).unwrap();
                self.rows.insert(fork, self.rows[&row][..len].to_vec());
            }
            (2, Some(row)) if self.random.below(2) == 0 => {
                let len = self.rows[&row].len();
                let len = len - self.random.below(len.min(9) + 1);
                self.model.cut_row(row, len).unwrap();
                self.rows.get_mut(&row).unwrap().truncate(len);
            }
            (3, Some(row)) if self.random.below(3) == 0 => {
                self.model.close_row(row);
                self.rows.remove(&row);
            }
            (kind, _) => self.run(kind),
        }
        for (&row, text) in &self.rows {
            assert_eq!(self.model.row_len(row), Some(text.len()));
        }
    }

    /// Runs some rows or all of them, mostly with one token of each.
    fn run(&mut self, kind: usize) {
        let mut chosen: Vec<(RowId, Vec<TokenId>, usize)> = Vec::new();
        let is_all = self.random.below(3) > 0;
        let ids: Vec<RowId> = self.rows.keys().copied().collect();
        for row in ids {
            let n = match kind {
                4 | 5 => 1 + self.random.below(7),
                6 => 1 + self.random.below(2) * self.random.below(4),
                _ => 1,
            };
            let is_chosen = is_all || self.random.below(2) == 0;
            if is_chosen && self.rows[&row].len() + n <= CONTEXT {
                let tokens = (0..n).map(|_| TokenId(self.random.below(WIDTH) as u32));
                let tokens = tokens.collect();
                chosen.push((row, tokens, self.random.below(n + 1)));
            }
        }
        let len = chosen.len();
        for at in 1..len {
            chosen.swap(at, self.random.below(at + 1));
        }
        let is_ragged = |of: Vec<usize>| usize::from(of.iter().any(|&one| one != of[0]));
        let lens = chosen.iter().map(|(row, ..)| self.rows[row].len());
        self.ragged[0] += is_ragged(lens.collect());
        let ns = chosen.iter().map(|(_, tokens, _)| tokens.len());
        self.ragged[1] += is_ragged(ns.collect());
        let runs = chosen.iter().map(|(row, tokens, positions)| RowRun {
            row: *row,
            tokens,
            positions: *positions,
        });
        let runs: Vec<RowRun<'_>> = runs.collect();
        let hidden = self.model.info().hidden_width.is_some() && self.random.below(2) == 0;
        let output = self.model.run(&runs, hidden).unwrap();
        for (run, output) in runs.iter().zip(output.rows()) {
            let text = self.rows.get_mut(&run.row).unwrap();
            text.extend_from_slice(run.tokens);
            assert_eq!(output.positions(), run.positions);
            if run.positions > 0 {
                let row = self.reference.open_row().unwrap();
                let whole = RowRun {
                    positions: run.positions,
                    ..RowRun::last(row, text)
                };
                let expected = self.reference.run(&[whole], hidden).unwrap().row(0);
                for position in 0..run.positions {
                    let logits = apart(output.logits(position), expected.logits(position));
                    let states = [output, &expected].map(|output| output.hidden(position));
                    assert!(states.iter().all(|states| states.is_some() == hidden));
                    let states = apart(states[0].unwrap_or(&[]), states[1].unwrap_or(&[]));
                    self.worst = self.worst.max(logits).max(states);
                }
                self.reference.close_row(row);
            }
        }
    }
}

#[test]
fn any_program_over_rows_has_the_logits_of_single_runs() {
    let models = LAYOUTS
        .into_iter()
        .chain(["hidden_states", "hidden_states_float16"]);
    for (seed, name) in models.enumerate() {
        let mut program = Program::new(open(name), open(name), seed as u64);
        for _ in 0..1_200 {
            program.step();
            assert!(
                program.worst <= tolerance(name),
                "{name}: {}",
                program.worst
            );
        }
        let [lens, ns] = program.ragged;
        assert!(lens > 150 && ns > 60, "{name}: {lens} {ns}");
        let rows: Vec<RowId> = program.rows.keys().copied().collect();
        rows.iter().for_each(|&row| program.model.close_row(row));
        assert!(rows.iter().all(|&row| program.model.row_bytes(row) == 0));
    }
}

/// Bytes of the cache of `optimum`.
fn bytes_of(positions: usize) -> usize {
    positions * 2 * 2 * 4 * 4 * 4
}

#[test]
fn rows_of_a_cache_that_grows_share_its_memory_and_give_it_back() {
    let mut model = open("optimum");
    assert_eq!(model.info().cache_bytes_per_token, bytes_of(1));
    let text = tokens((0..40).map(|i| i * 7 % 48));
    let rows: Vec<RowId> = (0..8).map(|_| model.open_row().unwrap()).collect();
    let run = |model: &mut OrtModel, rows: &[RowId], tokens: &[TokenId]| {
        let runs: Vec<RowRun<'_>> = rows.iter().map(|&row| RowRun::last(row, tokens)).collect();
        model.run(&runs, false).unwrap();
    };
    let all = |model: &OrtModel, rows: &[RowId]| -> usize {
        rows.iter().map(|&row| model.row_bytes(row)).sum()
    };
    run(&mut model, &rows, &text[..20]);
    assert_eq!(all(&model, &rows), bytes_of(8 * 20));
    // A fork is another handle on the same memory.
    let fork = model.fork_row(rows[0], 12).unwrap();
    let rows_and_fork = [&rows[..], &[fork]].concat();
    assert_eq!(all(&model, &rows_and_fork), bytes_of(8 * 20) / 9 * 9);
    model.close_row(fork);
    // The rows that stay behind when most are run elsewhere do not keep the memory of all.
    run(&mut model, &rows[..5], &text[20..21]);
    assert_eq!(all(&model, &rows[..5]), bytes_of(5 * 21));
    assert_eq!(all(&model, &rows[5..]), bytes_of(3 * 20));
    // Cutting away most of a row frees it at the next run, a little stays where it is.
    model.cut_row(rows[7], 18).unwrap();
    run(&mut model, &rows[7..], &text[..1]);
    assert_eq!(model.row_bytes(rows[7]), bytes_of(19));
    model.cut_row(rows[7], 2).unwrap();
    run(&mut model, &rows[7..], &text[..1]);
    assert_eq!(model.row_bytes(rows[7]), bytes_of(3));
    rows.iter().for_each(|&row| model.close_row(row));
    assert_eq!(all(&model, &rows), 0);
}

#[test]
fn rows_of_shared_buffers_have_the_logits_of_a_cache_that_grows() {
    for seed in 0..4 {
        let mut program = Program::new(open("shared_buffer"), copied(), 100 + seed);
        for _ in 0..800 {
            program.step();
            assert!(program.worst < 1e-4, "{}", program.worst);
        }
    }
}

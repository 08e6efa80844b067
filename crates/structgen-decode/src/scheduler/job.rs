//! A task with its rows and its open demands.

use super::rows::{Rows, common};
use crate::demand::{Demand, RowDemand, Text};
use crate::task::{Task, TaskSize};
use crate::{FinishReason, GenerateError, ModelError, model::RowId};

/// A task that was admitted.
pub(super) struct Job {
    /// The request it belongs to.
    pub(super) request: u64,
    /// Its index among the request's tasks.
    pub(super) number: usize,
    pub(super) task: Box<dyn Task>,
    pub(super) size: TaskSize,
    pub(super) priority: i32,
    pub(super) demands: Vec<Open>,
    /// When it last had its turn among long prompts.
    pub(super) turn: u64,
    /// Whether it was cancelled.
    pub(super) is_cancelled: bool,
    /// Why it cannot continue.
    pub(super) failed: Option<GenerateError>,
    rows: TextRows,
}

/// The rows of each text.
type TextRows = [Vec<RowId>; Text::ALL.len()];

/// A demand that is not met yet.
pub(super) struct Open {
    pub(super) demand: Demand,
    /// Whether the rows are already those of the demand.
    is_begun: bool,
    /// The number of first tokens that were cached; reported with the first run.
    pub(super) reused: usize,
    /// The number of first tokens in the rows, cached or run.
    pub(super) done: usize,
}

impl Open {
    pub(super) fn new(demand: Demand) -> Self {
        Self {
            demand,
            is_begun: false,
            reused: 0,
            done: 0,
        }
    }

    /// Returns the number of tokens per row still to be run.
    pub(super) fn left(&self) -> usize {
        let tokens = self.demand.rows.first().map_or(0, |row| row.tokens.len());
        tokens - self.done
    }

    /// Returns whether its rows start empty, or with a cached prefix of a new text.
    pub(super) fn is_new_text(&self) -> bool {
        self.demand.rows.iter().any(|row| row.keep == 0)
    }

    /// Returns whether its rows are those of the demand, so that it can be run.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }
}

impl RowDemand {
    /// Returns the number of requested positions among the next `n` tokens after the first `done`.
    pub(super) fn positions_in(&self, done: usize, n: usize) -> usize {
        let first = self.tokens.len() - self.positions;
        (done + n).saturating_sub(first.max(done))
    }
}

impl Job {
    pub(super) fn new(request: u64, number: usize, task: Box<dyn Task>, priority: i32) -> Self {
        Self {
            request,
            number,
            size: task.size(),
            task,
            priority,
            demands: Vec::new(),
            turn: 0,
            is_cancelled: false,
            failed: None,
            rows: TextRows::default(),
        }
    }

    /// Ends the task at its next advance.
    pub(super) fn cancel(&mut self) {
        self.task.stop(FinishReason::Cancelled);
        self.is_cancelled = true;
        // Its demands are not needed any more.
        self.demands.clear();
    }

    /// Returns the task, the rows of its texts, and its demands.
    pub(super) fn split(&mut self) -> (&mut Box<dyn Task>, &TextRows, &[Open]) {
        (&mut self.task, &self.rows, &self.demands)
    }

    /// Takes the rows of the texts that the draft model reads, or those of the others.
    pub(super) fn take_rows(&mut self, drafted: bool) -> Vec<Vec<RowId>> {
        { Text::ALL.into_iter() }
            .filter(|text| text.is_drafted() == drafted)
            .map(|text| std::mem::take(&mut self.rows[text as usize]))
            .collect()
    }

    /// Returns the number of tokens that the target model's rows will hold once the open demands are run.
    pub(super) fn tokens(&self, rows: &Rows) -> usize {
        let is_of_target = |text: &Text| !text.is_drafted();
        let texts = Text::ALL.into_iter().filter(is_of_target);
        let held = texts.flat_map(|text| &self.rows[text as usize]);
        let demanded = { self.demands.iter() }.filter(|open| is_of_target(&open.demand.text));
        held.map(|&row| rows.tokens(row).len()).sum::<usize>()
            + demanded
                .map(|open| open.left() * open.demand.rows.len())
                .sum::<usize>()
    }

    /// Replaces the rows of a demand's text by those that it continues.
    pub(super) fn begin(&mut self, at: usize, rows: &mut Rows) -> Result<(), ModelError> {
        let open = &mut self.demands[at];
        if !open.is_begun {
            let own = &mut self.rows[open.demand.text as usize];
            open.reused = rows.continue_rows(own, &open.demand.rows)?;
            open.done = open.reused;
            open.is_begun = true;
        }
        Ok(())
    }

    /// Returns whether a demand should wait because its text is new and shares a longer prefix with another text, which
    /// is being run, than with any row now.
    pub(super) fn should_wait(&self, at: usize, rows: &Rows, running: &[Self]) -> bool {
        /// For fewer tokens than this, running them again is cheaper than waiting.
        const SHARED: usize = 8;
        let open = &self.demands[at];
        let [row] = &open.demand.rows[..] else {
            return false;
        };
        if open.is_begun || row.keep > 0 {
            return false;
        }
        let most = row.tokens.len() - row.positions.max(1);
        let known = rows
            .longest_known(&row.tokens, most)
            .map_or(0, |(_, len)| len);
        running.iter().any(|job| {
            job.demands.iter().any(|other| {
                let shared = match &other.demand.rows[..] {
                    [only]
                        if other.is_begun
                            && other.demand.text.is_drafted() == open.demand.text.is_drafted()
                            && only.keep == 0 =>
                    {
                        common(&only.tokens, &row.tokens).min(most)
                    }
                    _ => 0,
                };
                shared >= known + SHARED
            })
        })
    }
}

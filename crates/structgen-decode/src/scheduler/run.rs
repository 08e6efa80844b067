//! Planning and running: which demands run together, and how failed runs are handled.

use std::cmp::Reverse;
use std::time::Instant;

use super::job::Job;
use super::rows::Rows;
use super::{OnDelta, Scheduler, Ticket, Tools};
use crate::demand::{Given, RunTimes};
use crate::task::Task;
use crate::{
    Delta, ModelError,
    model::{Packing, RowRun},
};

/// A demand of at most this many tokens belongs to a text that is being generated; a longer one is a prompt, which is
/// run in chunks.
const WRITTEN: usize = 32;

/// A demand of a job, by their indices, and how many of its tokens to run.
#[derive(Debug, Clone, Copy)]
struct Part {
    job: usize,
    demand: usize,
    tokens: usize,
}

impl Scheduler {
    /// Runs the models once for all demands that can run together, and then for chunks of prompts.
    pub(super) fn run_demands(&mut self, on_delta: OnDelta<'_>) {
        self.begin_demands();
        for drafted in [true, false] {
            let (written, prompts) = self.plan(drafted);
            for parts in [written, prompts] {
                self.run_parts(parts, drafted, on_delta);
            }
        }
        for job in &mut self.running {
            job.demands.retain(|open| open.left() > 0);
        }
        self.retire_failed();
    }

    /// Gives every demand its rows, except those that wait for another text's prefix.
    fn begin_demands(&mut self) {
        for at in 0..self.running.len() {
            for demand in 0..self.running[at].demands.len() {
                let (before, rest) = self.running.split_at_mut(at);
                let job = &mut rest[0];
                let drafted = job.demands[demand].demand.text.is_drafted();
                let rows = match (drafted, &mut self.draft) {
                    (true, Some(draft)) => draft,
                    _ => &mut self.target,
                };
                if job.should_wait(demand, rows, before) {
                    continue;
                }
                if let Err(error) = job.begin(demand, rows) {
                    job.failed = Some(error.into());
                }
            }
        }
    }

    /// Returns the demands of texts that are being generated, with as many tokens as they can run together; and chunks
    /// of prompts.
    fn plan(&mut self, drafted: bool) -> (Vec<Part>, Vec<Part>) {
        let rows = match (drafted, &self.draft) {
            (true, Some(draft)) => draft,
            _ => &self.target,
        };
        let packing = rows.model.info().packing;
        let takes_alike = matches!(packing, Packing::Uniform | Packing::Slots);
        let mut written = Vec::new();
        let mut prompts = Vec::new();
        for (job, running) in self.running.iter().enumerate() {
            for (demand, open) in running.demands.iter().enumerate() {
                let is_one = open.is_begun() && open.demand.text.is_drafted() == drafted;
                let tokens = open.left();
                if !is_one || running.failed.is_some() || tokens == 0 {
                    continue;
                }
                let part = Part {
                    job,
                    demand,
                    tokens,
                };
                // If all rows must run the same number of tokens, a short prompt would advance by one token at a time.
                let is_prompt = tokens > WRITTEN || takes_alike && tokens > 1 && open.is_new_text();
                match is_prompt {
                    true => prompts.push(part),
                    false => written.push(part),
                }
            }
        }
        if takes_alike {
            // A row with several tokens ready runs as many as the others, at no extra cost to them.
            let fewest = written.iter().map(|part| part.tokens).min();
            for part in &mut written {
                part.tokens = fewest.unwrap_or(part.tokens);
            }
        }
        let is_alone = written.is_empty() && prompts.len() < 2;
        (written, self.take_turns(prompts, is_alone))
    }

    /// Selects as much of the prompts as one step may run, those that have waited longest first.
    fn take_turns(&mut self, mut prompts: Vec<Part>, is_alone: bool) -> Vec<Part> {
        let mut room = match is_alone {
            true => self.limits.prefill_most,
            false => self.limits.prefill_chunk,
        }
        .max(1);
        prompts.sort_by_key(|part| {
            let job = &self.running[part.job];
            (job.turn, Reverse(job.priority), job.request, job.number)
        });
        let mut taken = Vec::new();
        for mut part in prompts {
            let job = &mut self.running[part.job];
            let rows = job.demands[part.demand].demand.rows.len();
            part.tokens = part
                .tokens
                .min((room / rows).max(usize::from(taken.is_empty())));
            if part.tokens == 0 {
                break;
            }
            room = room.saturating_sub(part.tokens * rows);
            self.turns += 1;
            job.turn = self.turns;
            taken.push(part);
        }
        taken.sort_by_key(|part| (part.job, part.demand));
        taken
    }

    /// Runs parts of demands together; if that fails, one by one, so that only those at fault fail.
    fn run_parts(&mut self, mut parts: Vec<Part>, drafted: bool, on_delta: OnDelta<'_>) {
        parts.retain(|part| self.running[part.job].failed.is_none());
        if parts.is_empty() {
            return;
        }
        let hidden = parts
            .iter()
            .any(|part| self.running[part.job].demands[part.demand].demand.hidden);
        let (mut rows, mut rest) = self.split(drafted);
        let Err(error) = rest.run(rows, &parts, hidden, on_delta) else {
            return;
        };
        if let [part] = parts[..] {
            self.running[part.job].failed = Some(error.into());
            return;
        }
        for part in parts {
            if self.running[part.job].failed.is_some() {
                continue;
            }
            (rows, rest) = self.split(drafted);
            let hidden = rest.running[part.job].demands[part.demand].demand.hidden;
            if let Err(error) = rest.run(rows, &[part], hidden, on_delta) {
                self.running[part.job].failed = Some(error.into());
            }
        }
    }

    /// Splits off the rows of a model from everything else that a run uses.
    fn split(&mut self, drafted: bool) -> (&mut Rows, Runner<'_>) {
        let rows = match (drafted, &mut self.draft) {
            (true, Some(draft)) => draft,
            _ => &mut self.target,
        };
        let runner = Runner {
            running: &mut self.running,
            tools: &mut self.tools,
            has_helpers: self.has_helpers,
        };
        (rows, runner)
    }

    /// Removes the tasks that have failed.
    fn retire_failed(&mut self) {
        let mut at = 0;
        while at < self.running.len() {
            match self.running[at].failed.take() {
                Some(error) => {
                    let job = self.take_out(at, false);
                    self.deliver(job.request, job.number, Err(error));
                }
                None => at += 1,
            }
        }
    }
}

/// What a run uses besides the rows of a model.
struct Runner<'s> {
    running: &'s mut [Job],
    tools: &'s mut Tools,
    has_helpers: bool,
}

impl Runner<'_> {
    /// Runs a model once, while the tasks prepare what they can; then passes each its results.
    fn run(
        &mut self,
        rows: &mut Rows,
        parts: &[Part],
        hidden: bool,
        on_delta: OnDelta<'_>,
    ) -> Result<(), ModelError> {
        let (model, tokens) = rows.split();
        let mut runs: Vec<RowRun<'_>> = Vec::with_capacity(parts.len());
        let mut preparing = Vec::new();
        let mut left = parts;
        for (at, job) in self.running.iter_mut().enumerate() {
            let (task, rows, demands) = job.split();
            while let Some((part, rest)) = left.split_first()
                && part.job == at
            {
                let open = &demands[part.demand];
                let of_demand = open
                    .demand
                    .rows
                    .iter()
                    .zip(&rows[open.demand.text as usize]);
                runs.extend(of_demand.map(|(demand, &row)| RowRun {
                    row,
                    tokens: &demand.tokens[open.done..open.done + part.tokens],
                    positions: demand.positions_in(open.done, part.tokens),
                }));
                left = rest;
            }
            if self.has_helpers && task.can_prepare() {
                preparing.push(task);
            }
        }
        let started = Instant::now();
        let (output, ended) = beside(preparing, || (model.run(&runs, hidden), Instant::now()));
        let output = output?;
        for run in &runs {
            tokens.append(run.row, run.tokens);
        }
        let times = RunTimes {
            model: ended - started,
            backend: output.backend_time(),
            masks: ended.elapsed(),
        };
        let mut first = 0;
        for part in parts {
            let job = &mut self.running[part.job];
            let ticket = Ticket(job.request);
            let open = &mut job.demands[part.demand];
            let reused = std::mem::take(&mut open.reused);
            open.done += part.tokens;
            let of_part = first..first + open.demand.rows.len();
            first = of_part.end;
            let given = Given {
                text: open.demand.text,
                reused,
                tokens: part.tokens,
                is_done: open.left() == 0,
                rows: &output.rows()[of_part],
                times,
            };
            let mut on_delta = |number: usize, delta: Delta<'_>| on_delta(ticket, number, delta);
            let mut cx = self.tools.context(&mut on_delta);
            if let Err(error) = job.task.give(&mut cx, &given) {
                job.failed = Some(error);
            }
        }
        Ok(())
    }
}

/// Lets tasks prepare on other threads while this one, to which the model may be bound, does `work`.
fn beside<R>(preparing: Vec<&mut Box<dyn Task>>, work: impl FnOnce() -> R) -> R {
    if preparing.is_empty() {
        return work();
    }
    rayon::in_place_scope(move |scope| {
        for task in preparing {
            scope.spawn(move |_| task.prepare());
        }
        work()
    })
}

//! Runs loops in turns, each over all tasks.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::Serialize;
use structgen::GenerateOptions;
use structgen::decode::{
    Constraint, Delta, Generation, LanguageModel, Request, Scheduler, Unconstrained,
    request::JumpForward,
    strategies::{PromptLookup, Speculation},
};
use structgen::ort::OrtModel;
use structgen::vocab::TokenMask;

use super::tasks::Task;

/// A way to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    /// Only `Session::run`, for this many tokens.
    Bare(usize),
    /// The generator without a constraint, for this many tokens of any kind.
    Steps(usize),
    /// Free text up to its end.
    Free(Strategy),
    /// Under the task's schema.
    Schema(Strategy),
}

impl Contender {
    pub(super) fn name(self) -> String {
        match self {
            Self::Bare(steps) => format!("bare Session::run, {steps} tokens"),
            Self::Steps(steps) => format!("unconstrained, {steps} tokens"),
            Self::Free(_) => format!("free text, {}", self.strategy()),
            Self::Schema(_) => format!("JSON Schema, {}", self.strategy()),
        }
    }

    pub(super) fn strategy(self) -> String {
        match self {
            Self::Bare(_) | Self::Steps(_) => Strategy::default().name(),
            Self::Free(strategy) | Self::Schema(strategy) => strategy.name(),
        }
    }
}

/// What the loops run on, with the same number of threads each.
pub(super) struct Loops {
    /// The session of bare runs.
    pub(super) bare: OrtModel,
    /// The scheduler of all other loops, on a session of its own.
    pub(super) scheduler: Scheduler,
    pub(super) text_tokens: TokenMask,
    pub(super) has_draft: bool,
    pub(super) has_heads: bool,
}

/// How tokens are drafted and forced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strategy {
    pub(super) model: bool,
    pub(super) heads: bool,
    pub(super) lookup: bool,
    pub(super) forced: bool,
    pub(super) canonical: bool,
}

impl Strategy {
    /// Returns all strategies that are possible with the draft model, the heads and the constraint.
    pub(super) fn all(loops: &Loops, constrained: bool) -> Vec<Self> {
        let with_draft = loops.has_draft;
        let plain = Self::default();
        let lookup = Self {
            lookup: true,
            ..plain
        };
        let forced = Self {
            forced: true,
            ..plain
        };
        let mut all = vec![plain];
        if with_draft {
            all.push(Self {
                model: true,
                ..plain
            });
        }
        if loops.has_heads {
            let heads = Self {
                heads: true,
                ..plain
            };
            all.push(heads);
            all.push(Self {
                forced: constrained,
                lookup: true,
                ..heads
            });
        }
        all.push(lookup);
        if constrained {
            all.push(forced);
            all.push(Self {
                lookup: true,
                ..forced
            });
        }
        if with_draft {
            all.push(Self {
                model: true,
                forced: constrained,
                ..lookup
            });
        }
        if constrained {
            all.push(Self {
                canonical: true,
                ..plain
            });
            all.push(Self {
                canonical: true,
                ..lookup
            });
        }
        all
    }

    fn drafts(self) -> bool {
        self.model || self.heads || self.lookup || self.forced
    }

    pub(super) fn name(self) -> String {
        let parts = [
            (self.model, "draft"),
            (self.heads, "heads"),
            (self.lookup, "lookup"),
            (self.forced, "forced"),
            (self.canonical, "canonical"),
        ];
        let parts: Vec<&str> = parts
            .iter()
            .filter(|(on, _)| *on)
            .map(|&(_, name)| name)
            .collect();
        match parts[..] {
            [] => "plain".to_owned(),
            _ => parts.join(" + "),
        }
    }
}

/// The measurements of one contender in one round, over all tasks.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) tokens: usize,
    pub(super) runs: u64,
    /// Seconds after the first token, and the number of tokens in that time.
    pub(super) after_first: f64,
    pub(super) later_tokens: usize,
    pub(super) seconds: f64,
    /// Seconds outside of the model's run call.
    pub(super) outside: f64,
}

impl Tally {
    /// Returns the tokens per second after the first one.
    pub(super) fn rate(&self) -> f64 {
        self.later_tokens as f64 / self.after_first
    }
}

/// A contender with its rounds.
pub(super) struct Measured {
    pub(super) contender: Contender,
    pub(super) rounds: Vec<Tally>,
    /// Its outputs in the last round, one per task.
    pub(super) texts: Vec<String>,
}

impl Measured {
    pub(super) fn median(&self, of: impl Fn(&Tally) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    /// Returns the median over the rounds of a figure's ratio to another contender's in the same round.
    pub(super) fn ratio(&self, other: &Self, of: impl Fn(&Tally) -> f64) -> f64 {
        let pairs = self.rounds.iter().zip(&other.rounds);
        median(pairs.map(|(own, other)| of(own) / of(other)).collect())
    }
}

/// Returns the median, or NaN of an empty list.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len();
    match n {
        0 => f64::NAN,
        _ => (numbers[(n - 1) / 2] + numbers[n / 2]) / 2.0,
    }
}

/// Runs contenders in turns. The first round warms up and is not counted; each round starts with another contender.
pub(super) fn run(
    loops: &mut Loops,
    tasks: &[Task],
    contenders: &[Contender],
    rounds: usize,
    max_tokens: usize,
) -> anyhow::Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = { contenders.iter() }
        .map(|&contender| Measured {
            contender,
            rounds: Vec::with_capacity(rounds),
            texts: Vec::new(),
        })
        .collect();
    for round in 0..=rounds {
        for turn in 0..measured.len() {
            let at = (turn + round) % measured.len();
            let measured = &mut measured[at];
            let mut tally = Tally::default();
            measured.texts.clear();
            for task in tasks {
                let text = loops.one(task, measured.contender, max_tokens, &mut tally)?;
                measured.texts.push(text);
            }
            if round > 0 {
                measured.rounds.push(tally);
            }
        }
    }
    Ok(measured)
}

impl Loops {
    /// Generates one output of one contender.
    fn one(
        &mut self,
        task: &Task,
        contender: Contender,
        max_tokens: usize,
        tally: &mut Tally,
    ) -> anyhow::Result<String> {
        let info = self.scheduler.info();
        let room = info.context_length.saturating_sub(task.prompt.len());
        let room = room.clamp(1, max_tokens.max(1));
        let mut options = GenerateOptions {
            max_new_tokens: Some(room),
            ..GenerateOptions::default()
        };
        let (text, eos) = (self.text_tokens.clone(), info.eos.clone());
        match contender {
            Contender::Bare(steps) => {
                self.bare(task, steps.min(room), tally)?;
                Ok(String::new())
            }
            Contender::Steps(steps) => {
                options.max_new_tokens = Some(steps.min(room));
                let all = Unconstrained::new(TokenMask::full(info.logits_width), &[]);
                self.scheduled(task, all, options, Strategy::default(), tally)
            }
            Contender::Free(strategy) => {
                let free = Unconstrained::new(text, &eos);
                self.scheduled(task, free, options, strategy, tally)
            }
            Contender::Schema(strategy) => {
                self.scheduled(task, task.compiled.matcher(), options, strategy, tally)
            }
        }
    }

    fn bare(&mut self, task: &Task, steps: usize, tally: &mut Tally) -> anyhow::Result<()> {
        let before = self.bare.stats();
        let run = self.bare.bare_greedy(&task.prompt, steps)?;
        let spent = self.bare.stats().backend_time - before.backend_time;
        tally.add(
            steps,
            steps as u64,
            (0, run.first),
            run.total,
            run.total.saturating_sub(spent),
        );
        Ok(())
    }

    fn scheduled<C: Constraint + Clone + 'static>(
        &mut self,
        task: &Task,
        constraint: C,
        mut options: GenerateOptions,
        strategy: Strategy,
        tally: &mut Tally,
    ) -> anyhow::Result<String> {
        if strategy.canonical {
            options.jump_forward = JumpForward::Canonical;
        }
        let mut clock = Clock::new();
        let mut request = Request::new(task.prompt.clone(), constraint).with_options(options);
        if strategy.drafts() {
            request = request.with_strategy(strategy.speculation());
        }
        let outputs = self
            .scheduler
            .run_with(request, |_, delta| clock.tick(&delta))?;
        Ok(clock.stop(outputs.single()?, tally))
    }
}

impl Strategy {
    fn speculation(self) -> Speculation {
        Speculation {
            model: self.model,
            heads: self.heads,
            lookup: self.lookup.then(PromptLookup::default),
            forced_text: self.forced,
            ..Speculation::default()
        }
    }
}

impl Tally {
    /// Adds an output. `first` is the time of the first chosen token, with the number of tokens before it.
    fn add(
        &mut self,
        tokens: usize,
        runs: u64,
        (before, first): (usize, Duration),
        total: Duration,
        outside: Duration,
    ) {
        self.tokens += tokens;
        self.runs += runs;
        self.later_tokens += tokens.saturating_sub(before + 1);
        self.after_first += total.saturating_sub(first).as_secs_f64();
        self.seconds += total.as_secs_f64();
        self.outside += outside.as_secs_f64();
    }
}

/// Times one output with a clock of its own, like that of any other loop.
struct Clock {
    started: Instant,
    /// The time of each token.
    ticks: Vec<Duration>,
}

impl Clock {
    fn new() -> Self {
        let ticks = Vec::with_capacity(1024);
        Self {
            started: Instant::now(),
            ticks,
        }
    }

    fn tick(&mut self, delta: &Delta<'_>) -> ControlFlow<()> {
        if delta.tokens > self.ticks.len() {
            self.ticks.push(self.started.elapsed());
        }
        ControlFlow::Continue(())
    }

    fn stop(self, generation: Generation, tally: &mut Tally) -> String {
        let total = self.started.elapsed();
        let stats = &generation.stats;
        let outside = total.saturating_sub(stats.backend_time);
        // Tokens forced at the start come before the model has processed the prompt.
        let forced = generation
            .tokens
            .iter()
            .take_while(|token| token.forced)
            .count();
        let first = self.ticks.get(forced).copied().unwrap_or(total);
        tally.add(
            generation.tokens.len(),
            stats.runs,
            (forced, first),
            total,
            outside,
        );
        generation.text
    }
}

//! Limits on a render: steps, which only increase, and memory, which is released again.

use std::cell::Cell;
use std::rc::Rc;

/// Limits on what a chat template may do.
///
/// A template comes with a model and is as untrusted as the model's other files. Every operation counts its work: an
/// expression is a step, and so are some dozens of bytes that are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatLimits {
    /// The maximum number of steps of one render. The default takes well under a second.
    pub steps: u64,
    /// The maximum memory of one render at any time in bytes, including conversation and prompt.
    pub memory: usize,
}

impl Default for ChatLimits {
    fn default() -> Self {
        Self {
            steps: 5_000_000,
            memory: 64_000_000,
        }
    }
}

/// Why rendering stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A limit was exceeded: its name and value.
    Limit(&'static str, u64),
    /// The template called `raise_exception`.
    Raised(String),
    /// An invalid operation.
    Failed(String),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

pub(crate) fn fail<T>(reason: impl Into<String>) -> Result<T> {
    Err(Failure::Failed(reason.into()))
}

/// A handle to the counters of one render.
#[derive(Clone)]
pub(crate) struct Budget(Rc<Counters>);

struct Counters {
    steps: Cell<u64>,
    memory: Cell<usize>,
    limits: ChatLimits,
}

impl Budget {
    pub(crate) fn new(limits: ChatLimits) -> Self {
        Self(Rc::new(Counters {
            steps: Cell::new(0),
            memory: Cell::new(0),
            limits,
        }))
    }

    pub(crate) fn spend(&self, steps: u64) -> Result<()> {
        let spent = self.0.steps.get().saturating_add(steps);
        self.0.steps.set(spent);
        match spent <= self.0.limits.steps {
            true => Ok(()),
            false => Err(Failure::Limit("steps", self.0.limits.steps)),
        }
    }

    /// Counts the steps of allocating something.
    pub(crate) fn spend_making(&self) -> Result<()> {
        self.spend(3)
    }

    /// Counts the steps of searching a text.
    pub(crate) fn spend_searching(&self, bytes: usize) -> Result<()> {
        self.spend(1 + bytes as u64 / 32)
    }

    /// Counts the steps of reading every character of a text.
    pub(crate) fn spend_reading(&self, bytes: usize) -> Result<()> {
        self.spend(1 + bytes as u64 / 8)
    }

    /// Reserves memory before it is allocated.
    pub(crate) fn hold(&self, bytes: usize) -> Result<Held> {
        let mut held = Held {
            budget: self.clone(),
            bytes: 0,
        };
        held.grow(bytes)?;
        Ok(held)
    }
}

/// Memory that a value uses; dropping it releases the memory.
pub(crate) struct Held {
    budget: Budget,
    bytes: usize,
}

impl Held {
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<()> {
        let counters = &self.budget.0;
        let total = counters.memory.get().saturating_add(bytes);
        if total > counters.limits.memory {
            return Err(Failure::Limit(
                "bytes of memory",
                counters.limits.memory as u64,
            ));
        }
        counters.memory.set(total);
        self.bytes += bytes;
        Ok(())
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let memory = &self.budget.0.memory;
        memory.set(memory.get() - self.bytes);
    }
}

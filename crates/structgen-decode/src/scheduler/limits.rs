use crate::GenerateError;
use crate::task::TaskSize;

/// How much a [`Scheduler`](crate::Scheduler) does at once, and how much memory it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulerLimits {
    /// The most rows that run side by side; fewer do where moving their caches takes longer than what they share. A
    /// request that needs more runs alone.
    pub rows: usize,
    /// The most requests that wait, each of its outputs counted; one more is refused.
    pub queue: usize,
    /// The most tokens of a prompt in one run while other requests are being written; they wait no longer than that run
    /// takes.
    pub prefill_chunk: usize,
    /// The most tokens of a prompt in any run, which bounds what a run takes in memory.
    pub prefill_most: usize,
    /// The most bytes of cache, over all rows and kept texts; none is no limit. A request waits until what it may need
    /// at most is free, and is refused where it would never fit.
    pub cache_bytes: Option<usize>,
    /// The most bytes of cache that texts of ended requests take, for prompts that begin alike; zero keeps nothing.
    pub prefix_bytes: usize,
}

impl Default for SchedulerLimits {
    /// 64 rows, 1,024 waiting outputs, prompts in pieces of 256 tokens beside others and of 512 alone; no limit of
    /// memory, and nothing kept.
    fn default() -> Self {
        Self {
            rows: 64,
            queue: 1_024,
            prefill_chunk: 256,
            prefill_most: 512,
            cache_bytes: None,
            prefix_bytes: 0,
        }
    }
}

impl SchedulerLimits {
    pub(crate) fn check_queue(&self, waiting: usize) -> Result<(), GenerateError> {
        let limit = self.queue;
        match waiting <= limit {
            true => Ok(()),
            false => Err(GenerateError::QueueFull { limit }),
        }
    }

    pub(crate) fn check_size(
        &self,
        size: TaskSize,
        bytes_per_token: usize,
    ) -> Result<(), GenerateError> {
        let needed = Self::bytes(std::iter::once(size), bytes_per_token);
        match self.cache_bytes {
            Some(limit) if needed > limit => Err(GenerateError::CacheLimit { needed, limit }),
            _ => Ok(()),
        }
    }

    /// What tasks of these sizes may take together.
    pub(super) fn bytes(sizes: impl Iterator<Item = TaskSize>, bytes_per_token: usize) -> usize {
        sizes
            .map(TaskSize::bound)
            .fold(0, usize::saturating_add)
            .saturating_mul(bytes_per_token)
    }

    /// Whether a task can run beside others.
    pub(super) fn has_room(
        &self,
        running: impl Iterator<Item = TaskSize> + Clone,
        next: TaskSize,
        bytes_per_token: usize,
    ) -> bool {
        let rows: usize = running.clone().map(|size| size.rows).sum();
        if rows == 0 {
            return true;
        }
        let bytes = Self::bytes(running.chain([next]), bytes_per_token);
        rows.saturating_add(next.rows) <= self.rows
            && self.cache_bytes.is_none_or(|limit| bytes <= limit)
    }
}

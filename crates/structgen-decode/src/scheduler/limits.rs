use crate::GenerateError;
use crate::task::TaskSize;

/// How much a [`Scheduler`](crate::Scheduler) does at once, and how much memory it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulerLimits {
    /// Maximum number of rows to run in parallel. Fewer run if moving their caches costs more than running together
    /// saves. A request that needs more runs alone.
    pub rows: usize,
    /// Maximum number of queued requests, counting each of their outputs; further requests are refused.
    pub queue: usize,
    /// Maximum number of prompt tokens per run while other requests generate, who wait no longer than that run takes
    /// (chunked prefill).
    pub prefill_chunk: usize,
    /// Maximum number of prompt tokens in any run, which bounds the memory of a run.
    pub prefill_most: usize,
    /// Maximum bytes of cache, over all rows and cached prefixes, including the rows of a draft model; `None` is
    /// unlimited. A request waits until the most it may need is free, and is refused if it could never fit.
    pub cache_bytes: Option<usize>,
    /// Maximum bytes of cache kept from finished requests, for prompts with a common prefix; zero keeps nothing.
    pub prefix_bytes: usize,
}

impl Default for SchedulerLimits {
    /// 64 rows, 1,024 queued outputs, chunks of 256 prompt tokens, or 512 if nothing else runs; no memory limit, and no
    /// prefix cache.
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
        let needed = size.bytes(bytes_per_token);
        match self.cache_bytes {
            Some(limit) if needed > limit => Err(GenerateError::CacheLimit { needed, limit }),
            _ => Ok(()),
        }
    }

    /// Returns the bytes that tasks of these sizes may use together.
    pub(super) fn bytes(sizes: impl Iterator<Item = TaskSize>, bytes_per_token: usize) -> usize {
        sizes
            .map(|size| size.bytes(bytes_per_token))
            .fold(0, usize::saturating_add)
    }

    /// Returns whether a task can run in addition to others.
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

use std::num::NonZeroUsize;

/// Where a model runs. A device that cannot be had is an error, never replaced by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The processor.
    Cpu {
        /// Threads of one run; none is one for each physical core. Small models are fastest with one.
        threads: Option<NonZeroUsize>,
    },
    /// An NVIDIA GPU.
    Cuda {
        /// Its number, from zero.
        id: i32,
    },
}

impl Device {
    /// The processor with a fixed number of threads; zero is one for each physical core.
    pub fn cpu(threads: usize) -> Self {
        Self::Cpu {
            threads: NonZeroUsize::new(threads),
        }
    }

    /// The first GPU.
    pub fn cuda() -> Self {
        Self::Cuda { id: 0 }
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::cpu(0)
    }
}

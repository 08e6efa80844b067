use std::num::NonZeroUsize;
use std::str::FromStr;

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

/// As command lines have it: `cpu`, `cuda`, or `cuda:` and the number of a GPU.
impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        let id = match (text, text.strip_prefix("cuda:")) {
            ("cpu", _) => return Ok(Self::cpu(0)),
            ("cuda", _) => Some(0),
            (_, Some(id)) => id.parse().ok().filter(|&id: &i32| id >= 0),
            _ => None,
        };
        id.map(|id| Self::Cuda { id })
            .ok_or_else(|| UnknownDevice(text.to_owned()))
    }
}

/// A text that names no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no device: there are cpu, cuda, and cuda:N for the GPU of this number")]
pub struct UnknownDevice(pub String);

impl Default for Device {
    fn default() -> Self {
        Self::cpu(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named() {
        let parse = |text: &str| text.parse::<Device>();
        assert_eq!(parse("cpu"), Ok(Device::default()));
        assert_eq!(parse("cuda"), Ok(Device::cuda()));
        assert_eq!(parse("cuda:3"), Ok(Device::Cuda { id: 3 }));
        for wrong in ["", "tpu", "cuda:", "cuda:-1", "cuda:x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

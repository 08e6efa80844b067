use super::{SamplingParams, XtcParams};

/// A task, with parameters that suit it.
///
/// | task | parameters | source |
/// |---|---|---|
/// | `factual` | temperature 0.1, top-k 10, top-p 0.5 | the [guide](super::TaskGuide) |
/// | `code` | temperature 0.2, top-k 20, top-p 0.9 | the guide |
/// | `balanced` | temperature 0.7, top-k 40, top-p 0.9, repetition 1.1, frequency 0.3 | the guide |
/// | `prose` | temperature 0.8, top-k 40, top-p 0.9 | the guide |
/// | `chat` | temperature 0.8, top-k 40, top-p 0.95, min-p 0.05 | llama.cpp's defaults |
/// | `creative` | temperature 1, top-k 100, top-p 0.95, min-p 0.05, repetition 1.3, frequency 0.8 | the guide, Nguyen et al. 2024 |
/// | `brainstorm` | temperature 1.5, min-p 0.1, presence 0.5, XTC 0.5 from 0.1 on | Nguyen et al. 2024 |
///
/// ```
/// use structgen_decode::{SamplingParams, samplers::TaskPreset};
///
/// let task: TaskPreset = "code".parse().unwrap();
/// let params = SamplingParams { seed: 7, ..task.params() };
/// assert_eq!(params.temperature, 0.2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskPreset {
    /// One right answer: extraction, classification, questions of fact.
    Factual,
    /// Programs.
    Code,
    /// A compromise between the others.
    Balanced,
    /// Coherent prose.
    Prose,
    /// Conversation.
    Chat,
    /// Stories, without loops.
    Creative,
    /// Many different ideas.
    Brainstorm,
}

impl TaskPreset {
    /// All presets.
    pub const ALL: [Self; 7] = [
        Self::Factual,
        Self::Code,
        Self::Balanced,
        Self::Prose,
        Self::Chat,
        Self::Creative,
        Self::Brainstorm,
    ];

    /// Returns its name, as used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Factual => "factual",
            Self::Code => "code",
            Self::Balanced => "balanced",
            Self::Prose => "prose",
            Self::Chat => "chat",
            Self::Creative => "creative",
            Self::Brainstorm => "brainstorm",
        }
    }

    /// Returns the parameters. Those that a task does not set are as in [`SamplingParams::default`].
    pub fn params(self) -> SamplingParams {
        let off = SamplingParams::default();
        match self {
            Self::Factual => SamplingParams {
                temperature: 0.1,
                top_k: 10,
                top_p: 0.5,
                ..off
            },
            Self::Code => SamplingParams {
                temperature: 0.2,
                top_k: 20,
                top_p: 0.9,
                ..off
            },
            Self::Balanced => SamplingParams {
                temperature: 0.7,
                top_k: 40,
                top_p: 0.9,
                repetition_penalty: 1.1,
                frequency_penalty: 0.3,
                ..off
            },
            Self::Prose => SamplingParams {
                temperature: 0.8,
                top_k: 40,
                top_p: 0.9,
                ..off
            },
            Self::Chat => SamplingParams {
                temperature: 0.8,
                top_k: 40,
                top_p: 0.95,
                min_p: 0.05,
                ..off
            },
            Self::Creative => SamplingParams {
                temperature: 1.0,
                top_k: 100,
                top_p: 0.95,
                min_p: 0.05,
                repetition_penalty: 1.3,
                frequency_penalty: 0.8,
                ..off
            },
            Self::Brainstorm => SamplingParams {
                temperature: 1.5,
                min_p: 0.1,
                presence_penalty: 0.5,
                xtc: Some(XtcParams {
                    probability: 0.5,
                    threshold: 0.1,
                }),
                ..off
            },
        }
    }
}

impl std::str::FromStr for TaskPreset {
    type Err = UnknownTask;

    fn from_str(name: &str) -> Result<Self, UnknownTask> {
        let found = Self::ALL.into_iter().find(|task| task.name() == name);
        found.ok_or_else(|| UnknownTask(name.to_owned()))
    }
}

/// A name that is not a task's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the tasks factual, code, balanced, prose, chat, creative and brainstorm")]
pub struct UnknownTask(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_a_name_and_sound_parameters() {
        for task in TaskPreset::ALL {
            assert_eq!(task.name().parse(), Ok(task));
            assert_eq!(task.params().validate(), Ok(()));
        }
        let error = "poetry".parse::<TaskPreset>().unwrap_err().to_string();
        assert!(
            TaskPreset::ALL
                .iter()
                .all(|task| error.contains(task.name()))
        );
    }
}

use std::fmt;

use serde::Serialize;

use super::SamplingParams;

/// Which parameters suit a task: ranges from common practice, as a starting point for tuning.
///
/// [`TaskPreset`](super::TaskPreset) has one point of each range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskGuide {
    /// The task, named like its preset.
    pub task: &'static str,
    /// A description of the task.
    pub about: &'static str,
    /// [`SamplingParams::temperature`].
    pub temperature: TaskRange,
    /// [`SamplingParams::top_k`].
    pub top_k: TaskRange,
    /// [`SamplingParams::top_p`].
    pub top_p: TaskRange,
    /// [`SamplingParams::repetition_penalty`], if the guide recommends any.
    pub repetition_penalty: Option<TaskRange>,
    /// [`SamplingParams::frequency_penalty`], if the guide recommends any.
    pub frequency_penalty: Option<TaskRange>,
}

/// A closed range of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskRange {
    /// The smallest.
    pub low: f32,
    /// The largest.
    pub high: f32,
}

impl TaskRange {
    const fn new(low: f32, high: f32) -> Self {
        Self { low, high }
    }

    /// Returns whether the range contains a number.
    pub fn contains(self, number: f32) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

impl fmt::Display for TaskRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == self.high {
            write!(f, "{}", self.low)
        } else {
            write!(f, "{}–{}", self.low, self.high)
        }
    }
}

/// The guides of all tasks.
pub const TASK_GUIDES: &[TaskGuide] = &[
    TaskGuide {
        task: "factual",
        about: "one right answer: facts, classification",
        temperature: TaskRange::new(0.1, 0.3),
        top_k: TaskRange::new(10.0, 20.0),
        top_p: TaskRange::new(0.5, 0.7),
        repetition_penalty: Some(TaskRange::new(1.0, 1.0)),
        frequency_penalty: Some(TaskRange::new(0.0, 0.0)),
    },
    TaskGuide {
        task: "code",
        about: "programs",
        temperature: TaskRange::new(0.2, 0.4),
        top_k: TaskRange::new(10.0, 20.0),
        top_p: TaskRange::new(0.8, 0.9),
        repetition_penalty: None,
        frequency_penalty: None,
    },
    TaskGuide {
        task: "balanced",
        about: "a little of everything",
        temperature: TaskRange::new(0.7, 0.9),
        top_k: TaskRange::new(40.0, 60.0),
        top_p: TaskRange::new(0.85, 0.95),
        repetition_penalty: Some(TaskRange::new(1.1, 1.2)),
        frequency_penalty: Some(TaskRange::new(0.3, 0.5)),
    },
    TaskGuide {
        task: "prose",
        about: "coherent prose",
        temperature: TaskRange::new(0.7, 0.9),
        top_k: TaskRange::new(20.0, 50.0),
        top_p: TaskRange::new(0.85, 0.92),
        repetition_penalty: None,
        frequency_penalty: None,
    },
    TaskGuide {
        task: "creative",
        about: "stories, variety",
        temperature: TaskRange::new(1.0, 1.5),
        top_k: TaskRange::new(80.0, 200.0),
        top_p: TaskRange::new(0.95, 1.0),
        repetition_penalty: Some(TaskRange::new(1.3, 1.5)),
        frequency_penalty: Some(TaskRange::new(0.8, 1.0)),
    },
];

impl TaskGuide {
    /// Returns the guide of a task, if it exists.
    pub fn of(task: &str) -> Option<&'static Self> {
        TASK_GUIDES.iter().find(|guide| guide.task == task)
    }

    /// Returns the ranges with the names of their parameters.
    pub fn ranges(&self) -> impl Iterator<Item = (&'static str, TaskRange)> {
        let all = [
            ("temperature", Some(self.temperature)),
            ("top_k", Some(self.top_k)),
            ("top_p", Some(self.top_p)),
            ("repetition_penalty", self.repetition_penalty),
            ("frequency_penalty", self.frequency_penalty),
        ];
        { all.into_iter() }.filter_map(|(name, span)| Some((name, span?)))
    }

    /// Returns the names of the parameters that are outside their ranges.
    pub fn outside(&self, params: &SamplingParams) -> Vec<&'static str> {
        let value = |name| match name {
            "temperature" => params.temperature,
            "top_k" => params.top_k as f32,
            "top_p" => params.top_p,
            "repetition_penalty" => params.repetition_penalty,
            _ => params.frequency_penalty,
        };
        let outside = { self.ranges() }.filter(|&(name, span)| !span.contains(value(name)));
        outside.map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::TaskPreset;

    #[test]
    fn presets_lie_within_their_ranges() {
        for guide in TASK_GUIDES {
            let preset: TaskPreset = guide.task.parse().unwrap();
            let outside = guide.outside(&preset.params());
            assert!(outside.is_empty(), "{}: {outside:?}", guide.task);
        }
        let guide = TaskGuide::of("factual").unwrap();
        let outside = guide.outside(&SamplingParams::default());
        assert_eq!(outside, ["temperature", "top_k", "top_p"]);
        assert_eq!(TaskGuide::of("brainstorm"), None);
    }
}

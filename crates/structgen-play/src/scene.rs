//! Scripted scenes: parameters that move automatically while the screen shows the effect.

use std::fmt;
use std::str::FromStr;

use structgen_decode::SamplingParams;

use crate::slider::Slider;

/// A script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// The temperature from 0.1 to 2, with every token kept.
    Temperature,
    /// Top-k from 1 to 10: exactly that many tokens are kept.
    TopK,
    /// Top-p from 1 to 0.5.
    TopP,
    /// All of them together, for a whole output: temperature 0.7, top-k 10, top-p 0.9.
    Together,
}

/// How many tokens must be allowed in a scene about a single step: as many as the largest top-k keeps.
pub(crate) const ALLOWED: usize = 10;

impl Scene {
    /// All scenes.
    pub const ALL: [Self; 4] = [Self::Temperature, Self::TopK, Self::TopP, Self::Together];

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopK => "top-k",
            Self::TopP => "top-p",
            Self::Together => "together",
        }
    }

    /// Describes the scene.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Temperature => "the temperature goes from 0.1 to 2; nothing is cut",
            Self::TopK => "top-k goes from 1 to 10, and keeps exactly as many tokens",
            Self::TopP => "top-p goes from 1 to 0.5",
            Self::Together => "temperature 0.7, top-k 10 and top-p 0.9, to the end of the output",
        }
    }

    /// Returns whether it is about a single step, rather than a whole output.
    #[must_use]
    pub fn is_of_one_step(self) -> bool {
        self != Self::Together
    }

    /// Returns the number of its settings.
    #[must_use]
    pub fn frames(self) -> usize {
        match self {
            Self::Temperature => 20,
            Self::TopK => 10,
            Self::TopP => 11,
            Self::Together => 1,
        }
    }

    /// Sets the parameters of a frame, counted from 0. The last one is kept.
    pub fn set(self, frame: usize, params: &mut SamplingParams) {
        let at = frame.min(self.frames() - 1) as f32;
        let [t, k, p] = match self {
            Self::Temperature => [0.1 + 0.1 * at, 0.0, 1.0],
            Self::TopK => [1.0, 1.0 + at, 1.0],
            Self::TopP => [1.0, 0.0, 1.0 - 0.05 * at],
            Self::Together => [0.7, 10.0, 0.9],
        };
        for (slider, value) in Slider::ALL.into_iter().zip([t, k, p, 0.0]) {
            slider.set(params, value);
        }
    }

    /// Returns the slider that moves.
    #[must_use]
    pub fn slider(self) -> Option<Slider> {
        match self {
            Self::Temperature => Some(Slider::Temperature),
            Self::TopK => Some(Slider::TopK),
            Self::TopP => Some(Slider::TopP),
            Self::Together => None,
        }
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a scene's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the scenes temperature, top-k, top-p and together")]
pub struct UnknownScene(pub String);

impl FromStr for Scene {
    type Err = UnknownScene;

    fn from_str(name: &str) -> Result<Self, UnknownScene> {
        let found = Self::ALL.into_iter().find(|scene| scene.name() == name);
        found.ok_or_else(|| UnknownScene(name.to_owned()))
    }
}

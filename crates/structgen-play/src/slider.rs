//! The parameters that can be moved while an output grows.

use structgen_decode::SamplingParams;
use structgen_decode::samplers::SamplerKind;

/// A parameter with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slider {
    /// Divides the logits.
    Temperature,
    /// Keeps the `k` most probable tokens; zero is off.
    TopK,
    /// Keeps the most probable tokens up to this total probability; one is off.
    TopP,
    /// Keeps tokens with at least this share of the largest probability; zero is off.
    MinP,
}

impl Slider {
    /// All sliders, in the order shown.
    pub const ALL: [Self; 4] = [Self::Temperature, Self::TopK, Self::TopP, Self::MinP];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().name()
    }

    /// Returns the sampler that it controls.
    #[must_use]
    pub fn kind(self) -> SamplerKind {
        match self {
            Self::Temperature => SamplerKind::Temperature,
            Self::TopK => SamplerKind::TopK,
            Self::TopP => SamplerKind::TopP,
            Self::MinP => SamplerKind::MinP,
        }
    }

    /// Returns the smallest and the largest value.
    #[must_use]
    pub fn range(self) -> (f32, f32) {
        match self {
            Self::Temperature => (0.1, 2.0),
            Self::TopK => (0.0, 100.0),
            Self::TopP => (0.05, 1.0),
            Self::MinP => (0.0, 1.0),
        }
    }

    /// Returns how far a key moves it.
    #[must_use]
    pub fn step(self) -> f32 {
        match self {
            Self::TopK => 1.0,
            Self::Temperature | Self::TopP => 0.05,
            Self::MinP => 0.01,
        }
    }

    /// Returns the value at which the sampler changes nothing.
    #[must_use]
    pub fn off(self) -> f32 {
        match self {
            Self::Temperature | Self::TopP => 1.0,
            Self::TopK | Self::MinP => 0.0,
        }
    }

    /// Returns the value in these parameters.
    #[must_use]
    pub fn get(self, params: &SamplingParams) -> f32 {
        match self {
            Self::Temperature => params.temperature,
            Self::TopK => params.top_k as f32,
            Self::TopP => params.top_p,
            Self::MinP => params.min_p,
        }
    }

    /// Sets the value, clamped to the range and rounded to two decimals.
    pub fn set(self, params: &mut SamplingParams, value: f32) {
        let (least, most) = self.range();
        let value = (value.clamp(least, most) * 100.0).round() / 100.0;
        match self {
            Self::Temperature => params.temperature = value,
            Self::TopK => params.top_k = value as usize,
            Self::TopP => params.top_p = value,
            Self::MinP => params.min_p = value,
        }
    }

    /// Formats the value.
    #[must_use]
    pub fn shown(self, params: &SamplingParams) -> String {
        let value = self.get(params);
        match self {
            Self::TopK if value == 0.0 => "off".to_owned(),
            Self::TopK => format!("{value}"),
            Self::TopP | Self::MinP if value == self.off() => "off".to_owned(),
            _ => format!("{value:.2}"),
        }
    }

    /// Returns the position in the range, from 0 to 1.
    #[must_use]
    pub fn share(self, params: &SamplingParams) -> f32 {
        let (least, most) = self.range();
        ((self.get(params) - least) / (most - least)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_their_ranges() {
        let mut params = SamplingParams::default();
        for slider in Slider::ALL {
            let (least, most) = slider.range();
            slider.set(&mut params, f32::MIN);
            assert_eq!((slider.get(&params), slider.share(&params)), (least, 0.0));
            slider.set(&mut params, f32::MAX);
            assert_eq!((slider.get(&params), slider.share(&params)), (most, 1.0));
            slider.set(&mut params, slider.off());
            assert_eq!(slider.get(&params), slider.off());
        }
    }

    #[test]
    fn steps_do_not_drift() {
        let mut params = SamplingParams::default();
        Slider::Temperature.set(&mut params, 0.1);
        for _ in 0..18 {
            let value = Slider::Temperature.get(&params) + Slider::Temperature.step();
            Slider::Temperature.set(&mut params, value);
        }
        assert_eq!(params.temperature, 1.0);
    }
}

/// An axis: its quantity, unit and scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity and its unit: `entropy (nats)`.
    pub label: String,
    /// The scale.
    pub scale: Scale,
}

impl Axis {
    /// Creates a linear axis over the range of the data.
    pub fn linear(label: impl Into<String>) -> Self {
        let label = label.into();
        Self {
            label,
            scale: Scale::Linear(None),
        }
    }

    /// Creates a logarithmic axis over the range of the data, which is positive.
    pub fn log(label: impl Into<String>) -> Self {
        let label = label.into();
        Self {
            label,
            scale: Scale::Log,
        }
    }

    /// Sets the range of the axis.
    #[must_use]
    pub fn from_to(self, low: f64, high: f64) -> Self {
        Self {
            scale: Scale::Linear(Some((low, high))),
            ..self
        }
    }
}

/// How the numbers of an axis are placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Linearly, over the range of the data or a given one.
    Linear(Option<(f64, f64)>),
    /// Logarithmically; numbers that are not positive are omitted.
    Log,
}

/// A scale with its range and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    is_log: bool,
    low: f64,
    high: f64,
    pub(super) ticks: Vec<f64>,
}

impl Placed {
    /// Creates a scale for these numbers, with approximately this many ticks.
    pub(super) fn new(scale: Scale, numbers: impl Iterator<Item = f64>, ticks: usize) -> Self {
        let is_log = scale == Scale::Log;
        let shown = numbers.filter(|n| n.is_finite() && (!is_log || *n > 0.0));
        let range = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| {
            (low.min(n), high.max(n))
        });
        let (mut low, mut high) = match scale {
            Scale::Linear(Some(range)) => range,
            _ if range.0 > range.1 => (1.0, 10.0),
            _ => range,
        };
        if is_log {
            (low, high) = (low.log10().floor(), high.log10().ceil());
            if low == high {
                high += 1.0;
            }
            let step = ((high - low) / ticks as f64).ceil().max(1.0);
            let marks = ticks_from(low, high, step).into_iter();
            let ticks = marks.map(|mark| 10_f64.powf(mark)).collect();
            return Self {
                is_log,
                low,
                high,
                ticks,
            };
        }
        if low == high {
            (low, high) = (low - 0.5, high + 0.5);
        }
        let step = nice_step((high - low) / ticks as f64);
        if scale == Scale::Linear(None) {
            low = (low / step).floor() * step;
            high = (high / step).ceil() * step;
        }
        Self {
            is_log,
            low,
            high,
            ticks: ticks_from((low / step).ceil() * step, high, step),
        }
    }

    /// Returns the position of a number, from 0 to 1 within the range, or `None` if it has none.
    pub(super) fn place(&self, number: f64) -> Option<f64> {
        let number = if self.is_log { number.log10() } else { number };
        let place = (number - self.low) / (self.high - self.low);
        place.is_finite().then(|| place.clamp(0.0, 1.0))
    }

    /// Returns the largest absolute value.
    pub(super) fn reach(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Returns the label of each tick, with as many decimals as they need to differ.
    pub(super) fn labels(&self) -> Vec<String> {
        if self.is_log {
            return self.ticks.iter().map(|&tick| number(tick)).collect();
        }
        let decimals = (0..6).find(|&decimals| {
            { self.ticks.iter() }.all(|tick| {
                let scaled = tick * 10_f64.powi(decimals);
                (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
            })
        });
        let decimals = decimals.unwrap_or(6) as usize;
        // Never show minus zero on an axis.
        let text = |tick: &f64| format!("{:.decimals$}", tick + 0.0);
        self.ticks.iter().map(text).collect()
    }
}

fn ticks_from(first: f64, last: f64, step: f64) -> Vec<f64> {
    let count = ((last - first) / step + 1e-9).floor().max(0.0) as usize;
    (0..=count.min(100))
        .map(|i| first + i as f64 * step)
        .collect()
}

/// Returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least this large.
fn nice_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * power >= rough * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Formats a number on a scale, to three digits of the largest value.
pub(super) fn scaled(value: f64, reach: f64) -> String {
    let decimals = match reach {
        reach if reach >= 100.0 => 0,
        reach if reach >= 10.0 => 1,
        reach if reach >= 2.0 => 2,
        reach if reach >= 0.01 => 3,
        _ => return number(value),
    };
    match value.is_finite() {
        true => format!("{value:.decimals$}"),
        false => number(value),
    }
}

/// Formats a number to about three digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return if value > 0.0 {
            "∞".to_owned()
        } else {
            "−∞".to_owned()
        };
    }
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{value:.1e}")
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        trimmed(format!("{value:.1}"))
    } else if size >= 1.0 {
        trimmed(format!("{value:.2}"))
    } else {
        trimmed(format!("{value:.4}"))
    }
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

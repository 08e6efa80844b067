//! How much precision weights lose when they are stored in a few bits.
//!
//! Uniform quantisation puts 2^bits levels at equal distances between the smallest and the largest weight and rounds
//! each weight to the nearest level. Importance-aware quantisation keeps the few largest weights as floats, and spreads
//! the levels over the much smaller range of the rest.
//!
//! With `step = (max − min) / (2^bits − 1)`, the error of uniformly spread weights is about `step² / 12`, so each
//! further bit makes it four times smaller: 6 dB.

use serde::Serialize;

/// The numbers of bits in reports.
pub const BITS: [u32; 6] = [2, 3, 4, 5, 6, 8];

/// The percentile of importance from which weights are kept as floats.
pub const IMPORTANT_PERCENTILE: f64 = 99.0;

/// The loss of a quantisation.
///
/// ```
/// use structgen_lab::quantize::uniform;
///
/// let loss = uniform(&[-1.0, -0.2, 0.3, 1.0], 2)?;
/// assert!((loss.largest_error - 0.1333).abs() < 1e-4);
/// # Ok::<(), structgen_lab::quantize::QuantizeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Loss {
    /// The number of weights.
    pub weights: usize,
    /// The number of these that are kept as floats.
    pub kept_as_float: usize,
    /// The mean of the squared weights.
    pub mean_square: f64,
    /// The mean squared error.
    pub mse: f64,
    /// The largest error of any weight.
    pub largest_error: f64,
}

impl Loss {
    /// Returns the signal-to-noise ratio in decibels: `10 log10(mean w² / MSE)`. Infinite if nothing was lost.
    #[must_use]
    pub fn snr_db(&self) -> f64 {
        if self.mse == 0.0 {
            f64::INFINITY
        } else {
            10.0 * (self.mean_square / self.mse).log10()
        }
    }

    /// Combines this loss with that of other weights.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let weights = self.weights + other.weights;
        let mean = |a: f64, b: f64| match weights {
            0 => 0.0,
            _ => (a * self.weights as f64 + b * other.weights as f64) / weights as f64,
        };
        Self {
            weights,
            kept_as_float: self.kept_as_float + other.kept_as_float,
            mean_square: mean(self.mean_square, other.mean_square),
            mse: mean(self.mse, other.mse),
            largest_error: self.largest_error.max(other.largest_error),
        }
    }

    const NONE: Self = Self {
        weights: 0,
        kept_as_float: 0,
        mean_square: 0.0,
        mse: 0.0,
        largest_error: 0.0,
    };
}

/// Why weights cannot be quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The number of bits is outside its range.
    #[error("{0} bits cannot be stored: from 1 to 16 can")]
    Bits(u32),
    /// A weight is infinite or NaN.
    #[error("weight {index} is not finite")]
    NotFinite {
        /// Its index, from zero.
        index: usize,
    },
    /// The number of scales differs from that of the weights.
    #[error("there are {scales} scales for {weights} weights")]
    Scales {
        /// The number of weights.
        weights: usize,
        /// The number of scales.
        scales: usize,
    },
    /// The number of weights is not a multiple of the channel size.
    #[error("{weights} weights are not made of channels of {channel}")]
    Channels {
        /// The number of weights.
        weights: usize,
        /// The number of weights per channel.
        channel: usize,
    },
}

/// Quantises a tensor over its own range.
///
/// # Errors
/// [`QuantizeError::Bits`], [`QuantizeError::NotFinite`].
pub fn uniform(weights: &[f32], bits: u32) -> Result<Loss, QuantizeError> {
    check(weights, bits)?;
    Ok(uniform_of(weights, bits, |_| false))
}

/// Quantises each channel of `channel` consecutive weights over its own range.
///
/// # Errors
/// As for [`uniform`]; [`QuantizeError::Channels`].
pub fn per_channel(weights: &[f32], channel: usize, bits: u32) -> Result<Loss, QuantizeError> {
    check(weights, bits)?;
    if channel == 0 || !weights.len().is_multiple_of(channel) {
        let weights = weights.len();
        return Err(QuantizeError::Channels { weights, channel });
    }
    let channels = weights.chunks(channel);
    Ok(channels.fold(Loss::NONE, |loss, channel| {
        loss.and(uniform_of(channel, bits, |_| false))
    }))
}

/// Quantises the weights that are not important over their own range, and keeps the rest as floats.
///
/// A weight is important if its magnitude, or its entry in `scales` (of the activations that it multiplies, for
/// instance), is at or above the 99th percentile.
///
/// # Errors
/// As for [`uniform`]; [`QuantizeError::Scales`].
pub fn importance_aware(
    weights: &[f32],
    scales: Option<&[f32]>,
    bits: u32,
) -> Result<Loss, QuantizeError> {
    check(weights, bits)?;
    let importance: Vec<f32> = match scales {
        Some(scales) if scales.len() != weights.len() => {
            let (weights, scales) = (weights.len(), scales.len());
            return Err(QuantizeError::Scales { weights, scales });
        }
        Some(scales) => scales.to_vec(),
        None => weights.iter().map(|weight| weight.abs()).collect(),
    };
    let threshold = percentile(importance.clone(), IMPORTANT_PERCENTILE);
    Ok(uniform_of(weights, bits, |index| {
        f64::from(importance[index]) >= threshold
    }))
}

/// Returns the percentile of some numbers, from 0 to 100, with linear interpolation between the two closest ranks. Zero
/// if there are no numbers.
#[must_use]
pub fn percentile(mut numbers: Vec<f32>, percent: f64) -> f64 {
    let Some(last) = numbers.len().checked_sub(1) else {
        return 0.0;
    };
    let rank = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let low = rank.floor() as usize;
    let (_, &mut at_low, above) = numbers.select_nth_unstable_by(low, f32::total_cmp);
    let next = above.iter().copied().min_by(f32::total_cmp);
    let at_low = f64::from(at_low);
    at_low + (rank - low as f64) * (next.map_or(at_low, f64::from) - at_low)
}

fn check(weights: &[f32], bits: u32) -> Result<(), QuantizeError> {
    if !(1..=16).contains(&bits) {
        return Err(QuantizeError::Bits(bits));
    }
    match weights.iter().position(|weight| !weight.is_finite()) {
        Some(index) => Err(QuantizeError::NotFinite { index }),
        None => Ok(()),
    }
}

/// Quantises finite weights, except those that are kept.
fn uniform_of(weights: &[f32], bits: u32, is_kept: impl Fn(usize) -> bool) -> Loss {
    if weights.is_empty() {
        return Loss::NONE;
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let numbers =
        || { weights.iter().enumerate() }.map(|(index, &weight)| (index, f64::from(weight)));
    for (_, weight) in numbers().filter(|&(index, _)| !is_kept(index)) {
        (low, high) = (low.min(weight), high.max(weight));
    }
    let last_level = f64::from((1_u32 << bits) - 1);
    let step = (high - low) / last_level;
    let (mut squares, mut errors, mut largest, mut kept) = (0.0, 0.0, 0.0_f64, 0);
    for (index, weight) in numbers() {
        squares += weight * weight;
        if is_kept(index) {
            kept += 1;
        } else if step > 0.0 {
            let level = ((weight - low) / step).round().clamp(0.0, last_level);
            let error = (low + level * step - weight).abs();
            errors += error * error;
            largest = largest.max(error);
        }
    }
    let count = weights.len() as f64;
    Loss {
        weights: weights.len(),
        kept_as_float: kept,
        mean_square: squares / count,
        mse: errors / count,
        largest_error: largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns ten thousand normally distributed numbers with deviation .02, the same as `numpy.random.seed(42)` gives:
    /// a Mersenne Twister and the polar method.
    fn weights() -> Vec<f32> {
        let mut twister = vec![42_u32];
        for i in 1..624 {
            let last = twister[i - 1];
            let mixed = 1_812_433_253_u32.wrapping_mul(last ^ (last >> 30));
            twister.push(mixed.wrapping_add(i as u32));
        }
        let mut at = 624;
        let mut word = move || {
            if at == 624 {
                for i in 0..624 {
                    let y = (twister[i] & 1 << 31) | (twister[(i + 1) % 624] & !(1 << 31));
                    let odd = (y & 1) * 0x9908_b0df;
                    twister[i] = twister[(i + 397) % 624] ^ (y >> 1) ^ odd;
                }
                at = 0;
            }
            let mut y = twister[at];
            at += 1;
            y ^= y >> 11;
            y ^= (y << 7) & 0x9d2c_5680;
            y ^= (y << 15) & 0xefc6_0000;
            y ^ (y >> 18)
        };
        let mut signed = move || {
            let (high, low) = (f64::from(word() >> 5), f64::from(word() >> 6));
            2.0 * (high * f64::from(1 << 26) + low) / f64::powi(2.0, 53) - 1.0
        };
        let mut numbers = Vec::with_capacity(10_001);
        while numbers.len() < 10_000 {
            let (x, y) = (signed(), signed());
            let square: f64 = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = 0.02 * (-2.0 * square.ln() / square).sqrt();
                numbers.extend([(y * factor) as f32, (x * factor) as f32]);
            }
        }
        numbers
    }

    #[test]
    fn the_signal_to_noise_ratio_of_normal_weights() {
        let weights = weights();
        let expected = [2.2, 9.8, 16.4, 22.8, 28.9, 41.1];
        for (bits, expected) in BITS.into_iter().zip(expected) {
            let found = uniform(&weights, bits).unwrap().snr_db();
            assert!((found - expected).abs() < 0.05, "{bits} bits: {found} dB");
        }
        let mse = uniform(&weights, 4).unwrap().mse;
        assert!((mse - 9.24e-6).abs() < 0.005e-6, "{mse}");
    }

    #[test]
    fn a_bit_is_worth_six_decibels_and_the_third_more() {
        let weights = weights();
        let snr = |bits| uniform(&weights, bits).unwrap().snr_db();
        assert!((snr(3) - snr(2) - 7.6).abs() < 0.1);
        for bits in 3..8 {
            assert!((snr(bits + 1) - snr(bits) - 6.2).abs() < 0.5, "{bits}");
        }
    }

    #[test]
    fn keeping_one_percent_as_floats_halves_the_error() {
        let weights = weights();
        let all = uniform(&weights, 4).unwrap();
        let some = importance_aware(&weights, None, 4).unwrap();
        assert_eq!(some.kept_as_float, 100);
        assert!((some.mse - 4.00e-6).abs() < 0.005e-6, "{}", some.mse);
        assert!((some.snr_db() - 20.0).abs() < 0.05, "{}", some.snr_db());
        let less = 1.0 - some.mse / all.mse;
        assert!((less - 0.567).abs() < 0.0005, "{less}");
    }

    #[test]
    fn a_range_of_zero_loses_nothing() {
        let loss = uniform(&[0.5; 9], 2).unwrap();
        assert_eq!((loss.mse, loss.snr_db()), (0.0, f64::INFINITY));
        assert_eq!(uniform(&[], 4).unwrap().weights, 0);
        assert_eq!(
            importance_aware(&[], None, 4).unwrap().snr_db(),
            f64::INFINITY
        );
    }

    #[test]
    fn channels_of_different_sizes_are_better_apart() {
        let mut weights = weights();
        for weight in &mut weights[5000..] {
            *weight /= 100.0;
        }
        let together = uniform(&weights, 4).unwrap();
        let apart = per_channel(&weights, 5000, 4).unwrap();
        assert!(apart.mse < together.mse);
        assert_eq!(apart.weights, together.weights);
        assert!((apart.mean_square / together.mean_square - 1.0).abs() < 1e-12);
        assert_eq!(
            per_channel(&weights, 3, 4),
            Err(QuantizeError::Channels {
                weights: 10_000,
                channel: 3
            })
        );
    }

    #[test]
    fn scales_decide_what_is_important() {
        let weights: Vec<f32> = (0..200).map(|i| i as f32).collect();
        let mut scales = vec![0.0; 200];
        scales[7] = 1.0;
        scales[8] = 2.0;
        let loss = importance_aware(&weights, Some(&scales), 4).unwrap();
        assert_eq!(loss.kept_as_float, 2);
        assert!(importance_aware(&weights, Some(&[1.0]), 4).is_err());
    }

    #[test]
    fn percentiles_are_between_ranks() {
        let numbers = vec![4.0, 1.0, 3.0, 2.0];
        assert_eq!(percentile(numbers.clone(), 0.0), 1.0);
        assert_eq!(percentile(numbers.clone(), 50.0), 2.5);
        assert_eq!(percentile(numbers, 100.0), 4.0);
        assert_eq!(percentile(Vec::new(), 50.0), 0.0);
    }

    #[test]
    fn hostile_weights_are_refused() {
        assert_eq!(
            uniform(&[1.0, f32::NAN], 4),
            Err(QuantizeError::NotFinite { index: 1 })
        );
        assert_eq!(uniform(&[1.0], 0), Err(QuantizeError::Bits(0)));
        assert_eq!(uniform(&[1.0], 17), Err(QuantizeError::Bits(17)));
        let wide = uniform(&[f32::MIN, 0.0, f32::MAX], 2).unwrap();
        assert!(wide.mse.is_finite() && wide.snr_db().is_finite());
    }
}

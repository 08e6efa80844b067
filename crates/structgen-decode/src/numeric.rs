//! Exponential, logarithm and sums with the same bits on every platform.
//!
//! Rust guarantees nothing about the last bits of `f32::exp` and `f64::ln`, which come from the platform's C library. A
//! seeded draw must not depend on them, so these functions use only additions, multiplications and bit shifts, which
//! IEEE 754 fixes. Loops over slices have no branches and vectorise.

#![expect(
    clippy::needless_range_loop,
    reason = "loops of constant length over lanes are unrolled and vectorised; zipped iterators were not"
)]

/// Below this, `exp` returns zero. This keeps subnormal numbers, which are slow, out of the sums.
const EXP_UNDERFLOW: f32 = -87.0;

/// `e^x` for `x <= 0`, within two units in the last place; zero below -87 and for NaN.
///
/// Range reduction by Cody and Waite (1980), then a polynomial on `[-ln 2 / 2, ln 2 / 2]`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer without a call into the C library.
    const ROUND: f32 = 12_582_912.0;
    // 355/512: few enough bits that the product with any n here is exact.
    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let clamped = x.clamp(EXP_UNDERFLOW, 0.0);
    let rounded = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    // The Taylor coefficients up to r^7: at |r| <= 0.347 the remainder is below half a unit in the last place.
    let mut p = 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // The last bits of the rounded number are those of n. Conversions of floats to integers saturate, which does not
    // vectorise.
    let scale = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    // The comparison is negated so that NaN weighs nothing.
    if x >= EXP_UNDERFLOW { p * scale } else { 0.0 }
}

/// The natural logarithm of a positive finite number, within about one unit in the last place.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); |s| <= 0.1716, so eleven terms suffice for full precision.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let s2 = s * s;
    let mut sum = 0.0;
    for k in (0..11).rev() {
        sum = sum * s2 + 1.0 / f64::from(2 * k + 1);
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * sum
}

/// `e^x`, within a few units in the last place; zero below -700, and the largest number above 700.
pub(crate) fn exp_f64(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    if x > 700.0 {
        return f64::MAX;
    }
    const LN2_HIGH: f64 = 0.693_145_751_953_125;
    const LN2_LOW: f64 = 1.428_606_820_309_417_2e-6;
    let n = (x * std::f64::consts::LOG2_E + 0.5).floor();
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // The Taylor series up to r^13: at |r| <= 0.347 the remainder is below half a unit in the last place.
    let mut sum = 1.0;
    for k in (1..=13).rev() {
        sum = 1.0 + sum * r / f64::from(k);
    }
    sum * f64::from_bits(((n as i64 + 1023) as u64) << 52)
}

/// Raises `base` to the power of `exponent`, by repeated squaring.
pub(crate) fn power(mut base: f64, mut exponent: usize) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// Returns the larger number; a number rather than NaN, if it comes first.
#[inline(always)]
fn larger(best: f32, other: f32) -> f32 {
    if other > best { other } else { best }
}

/// Returns the largest of `logits`, ignoring NaN; `-inf` if there is none.
#[inline(always)]
pub(crate) fn max(logits: &[f32]) -> f32 {
    let (chunks, tail) = logits.as_chunks::<16>();
    let largest = max_of_lanes(lane_maxima(chunks));
    tail.iter().fold(largest, |best, &l| larger(best, l))
}

/// Computes the maximum of each of sixteen lanes, ignoring NaN: independent maxima let the compiler use whole
/// registers.
#[inline(always)]
fn lane_maxima(chunks: &[[f32; 16]]) -> [f32; 16] {
    let mut lanes = [f32::NEG_INFINITY; 16];
    for chunk in chunks {
        for lane in 0..16 {
            lanes[lane] = larger(lanes[lane], chunk[lane]);
        }
    }
    lanes
}

/// Returns the largest of sixteen, by comparing halves: one after another would be a dependency chain.
#[inline(always)]
fn max_of_lanes(lanes: [f32; 16]) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|i| larger(lanes[i], lanes[i + 8]));
    let four: [f32; 4] = std::array::from_fn(|i| larger(eight[i], eight[i + 4]));
    larger(larger(four[0], four[2]), larger(four[1], four[3]))
}

/// [`max`] of exactly 64.
#[inline(always)]
pub(crate) fn max_of_64(logits: &[f32; 64]) -> f32 {
    max_of_lanes(lane_maxima(logits.as_chunks().0))
}

/// Returns one term of a softmax whose largest logit is `max`. With `max = +inf`, the infinite logits share all of the
/// weight.
#[inline(always)]
pub(crate) fn weight(logit: f32, max: f32) -> f32 {
    if max == f32::INFINITY {
        return if logit == f32::INFINITY { 1.0 } else { 0.0 };
    }
    exp(logit - max)
}

/// A sum of weights in sixteen lanes, each weight in the lane of its token id modulo 16.
///
/// The lane depends on the id rather than on the index in a list. A list of the allowed tokens and the full vector with
/// zeros elsewhere therefore add the same numbers in the same order, and get the same bits.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaneSum([f64; 16]);

impl LaneSum {
    #[inline(always)]
    pub(crate) fn add(&mut self, id: u32, weight: f32) {
        self.0[(id & 15) as usize] += f64::from(weight);
    }

    /// Adds the weights of sixteen consecutive tokens, the first of which is a multiple of sixteen.
    #[inline(always)]
    pub(crate) fn add_aligned(&mut self, weights: &[f32; 16]) {
        for lane in 0..16 {
            self.0[lane] += f64::from(weights[lane]);
        }
    }

    /// Adds the weights of consecutive tokens, the first of which is a multiple of sixteen.
    #[inline(always)]
    pub(crate) fn add_all(&mut self, weights: &[f32]) {
        let (chunks, rest) = weights.as_chunks::<16>();
        // In a local variable, and indexed by constants only, the lanes stay in registers.
        let mut lanes = self.clone();
        for chunk in chunks {
            lanes.add_aligned(chunk);
        }
        let mut last = [0.0; 16];
        last[..rest.len()].copy_from_slice(rest);
        lanes.add_aligned(&last);
        *self = lanes;
    }

    pub(crate) fn total(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// Returns `ln(sum(exp(l)))` over all of `logits`, counting NaN as `-inf`; `None` if no logit is above `-inf`.
pub(crate) fn log_sum_exp(logits: &[f32]) -> Option<f64> {
    let max = max(logits);
    if max == f32::NEG_INFINITY {
        return None;
    }
    let mut sum = [0f64; 16];
    for chunk in logits.chunks(16) {
        for (lane, &l) in sum.iter_mut().zip(chunk) {
            *lane += f64::from(weight(l, max));
        }
    }
    let total: f64 = sum.iter().sum();
    Some(f64::from(max) + ln(total))
}

/// Returns the logarithm of a sum, given the logarithms of its terms.
pub(crate) fn ln_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return max;
    }
    max + ln(terms.map(|term| exp_f64(term - max)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let mut worst = 0.0f64;
        for i in 0..200_000 {
            let x = -87.0 * (i as f32) / 200_000.0;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - exact).abs() / exact);
        }
        assert!(worst < 2.0 * f64::from(f32::EPSILON), "{worst:e}");
    }

    #[test]
    fn exp_at_the_edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e30), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn exp_has_the_recorded_bits() {
        // Portability: every platform that runs the tests must produce exactly these.
        let bits: Vec<u32> = [-0.1f32, -1.0, -3.7, -20.25, -86.9]
            .iter()
            .map(|&x| exp(x).to_bits())
            .collect();
        expect_test::expect![[r#"
            [
                1063756653,
                1052531378,
                1019906302,
                819764977,
                12980105,
            ]
        "#]]
        .assert_debug_eq(&bits);
    }

    #[test]
    fn ln_agrees_with_the_platform_to_fifteen_digits() {
        for i in 1..100_000 {
            let x = f64::from(i) * 0.37 + 1e-3;
            let error = (ln(x) - x.ln()).abs() / x.ln().abs().max(1e-3);
            assert!(error < 1e-14, "{x}: {error:e}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn exp_f64_agrees_with_the_platform_to_fifteen_digits() {
        for i in -100_000..100_000 {
            let x = f64::from(i) * 0.006_99;
            let error = (exp_f64(x) / x.exp() - 1.0).abs();
            assert!(error < 2e-15, "{x}: {error:e}");
        }
        assert_eq!(
            (exp_f64(0.0), exp_f64(-1e9), exp_f64(1e9)),
            (1.0, 0.0, f64::MAX)
        );
        assert!(exp_f64(f64::NAN).is_nan());
    }

    #[test]
    fn powers() {
        assert_eq!(
            (power(1.5, 0), power(1.5, 3), power(2.0, 100)),
            (1.0, 3.375, 2f64.powi(100))
        );
        assert_eq!(
            (power(2.0, usize::MAX), power(0.5, usize::MAX)),
            (f64::INFINITY, 0.0)
        );
    }

    #[test]
    fn max_skips_nan_and_survives_nothing() {
        assert_eq!(max(&[]), f32::NEG_INFINITY);
        assert_eq!(max(&[f32::NAN, 1.0, f32::NAN, -3.0]), 1.0);
        let long: Vec<f32> = (0..100).map(|i| (i as f32 - 50.0).abs()).collect();
        assert_eq!(max(&long), 50.0);
    }

    #[test]
    fn a_list_and_the_full_vector_sum_to_the_same_bits() {
        let full: Vec<f32> = (0..1000)
            .map(|i| exp(-((i * 37 % 101) as f32) / 7.0))
            .collect();
        let allowed = |i: usize| i % 3 != 1;
        let (mut list, mut vector) = (LaneSum::default(), LaneSum::default());
        for (i, &w) in full.iter().enumerate() {
            if allowed(i) {
                list.add(i as u32, w);
            }
            vector.add(i as u32, if allowed(i) { w } else { 0.0 });
        }
        assert_eq!(list.total().to_bits(), vector.total().to_bits());
    }

    #[test]
    fn log_sum_exp_of_infinities() {
        assert_eq!(log_sum_exp(&[f32::NEG_INFINITY, f32::NAN]), None);
        let value = log_sum_exp(&[0.0, 0.0, f32::NEG_INFINITY]).unwrap();
        assert!((value - 2f64.ln()).abs() < 1e-7);
    }
}

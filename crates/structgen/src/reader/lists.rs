//! At which places an array has its values.

/// The probability that an array has a value at a place whose logit is so much more than that of no value.
pub(super) fn list_probability(gained: f32) -> f64 {
    1.0 / (1.0 + f64::from(-gained).exp())
}

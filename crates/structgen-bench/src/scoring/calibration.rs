//! Calibration: whether confidences are accurate.

use serde::Serialize;

use super::bootstrap::{Estimate, estimate};

/// The number of bins between 0 and 1.
const BINS: usize = 10;

/// How often fields are correct, by their confidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Calibration {
    /// The number of fields with a confidence.
    pub fields: usize,
    /// The expected calibration error: the mean distance between the confidence and accuracy of the bins, weighted by
    /// fields (Naeini et al. 2015).
    pub expected_error: f64,
    /// The nonempty bins, of equal width, ascending.
    pub bins: Vec<Bin>,
    /// The share of correct fields among those with a confidence above .9.
    pub above_90: Option<Estimate>,
}

/// Fields of similar confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bin {
    /// The number of fields.
    pub fields: usize,
    /// The mean confidence.
    pub confidence: f64,
    /// The share of correct fields.
    pub accuracy: f64,
}

impl Calibration {
    /// Computes it from texts, each with its fields: a confidence from 0 to 1, and whether the field is correct.
    /// Returns `None` without fields.
    #[must_use]
    pub fn new(texts: &[Vec<(f64, bool)>]) -> Option<Self> {
        let mut parts = vec![Vec::new(); BINS];
        for &field in texts.iter().flatten() {
            parts[((field.0 * BINS as f64) as usize).min(BINS - 1)].push(field);
        }
        let bins: Vec<Bin> = parts.iter().filter_map(|part| Bin::new(part)).collect();
        let fields: usize = bins.iter().map(|bin| bin.fields).sum();
        let distance = |bin: &Bin| bin.fields as f64 * (bin.confidence - bin.accuracy).abs();
        let above_90: Vec<(f64, f64)> = { texts.iter() }
            .map(|text| {
                let sure = text.iter().filter(|field| field.0 > 0.9);
                let right = sure.clone().filter(|field| field.1);
                (right.count() as f64, sure.count() as f64)
            })
            .collect();
        (fields > 0).then(|| Self {
            fields,
            expected_error: bins.iter().map(distance).sum::<f64>() / fields as f64,
            bins,
            above_90: estimate(&above_90),
        })
    }
}

impl Bin {
    fn new(fields: &[(f64, bool)]) -> Option<Self> {
        let n = fields.len();
        (n > 0).then(|| Self {
            fields: n,
            confidence: fields.iter().map(|field| field.0).sum::<f64>() / n as f64,
            accuracy: fields.iter().filter(|field| field.1).count() as f64 / n as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_binned_by_their_confidence() {
        let texts = [
            vec![(1.0, true), (0.95, false), (0.9, true)],
            vec![(0.04, false), (0.0, true)],
        ];
        let found = Calibration::new(&texts).unwrap();
        assert_eq!(found.fields, 5);
        let bins: Vec<_> = found
            .bins
            .iter()
            .map(|bin| (bin.fields, bin.accuracy))
            .collect();
        assert_eq!(bins, [(2, 0.5), (3, 2.0 / 3.0)]);
        // .9 itself does not count as above.
        let sure = found.above_90.unwrap();
        assert_eq!((sure.of, sure.share), (2.0, 0.5));
        let error = (2.0 * (0.5 - 0.02) + 3.0 * (0.95 - 2.0 / 3.0)) / 5.0;
        assert!((found.expected_error - error).abs() < 1e-12);
    }

    #[test]
    fn confidences_that_are_kept_have_no_error() {
        let fields: Vec<_> = (0..100).map(|at| (0.75, at % 4 != 0)).collect();
        let found = Calibration::new(&[fields]).unwrap();
        assert!(found.expected_error < 1e-12 && found.above_90.is_none());
        assert_eq!(Calibration::new(&[Vec::new()]), None);
    }
}

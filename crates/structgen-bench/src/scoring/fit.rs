//! Fits a calibration.

/// Regularisation of the weights towards zero, which keeps them finite for separable data.
const RIDGE: f64 = 1e-3;
/// Newton's method converges long before.
const STEPS: usize = 50;

/// Fits a logistic regression of whether fields are correct on their two log odds (Platt 1999); returns the intercept
/// and the two weights. No weight is negative: a more probable field never has less confidence. Returns `None` without
/// fields.
#[must_use]
pub fn fit_confidence(fields: &[([f64; 2], bool)]) -> Option<[f64; 3]> {
    if fields.is_empty() {
        return None;
    }
    let rows: Vec<([f64; 3], f64)> = { fields.iter() }
        .map(|&([first, second], is_right)| ([1.0, first, second], f64::from(is_right)))
        .collect();
    // If not all of the best weights would be positive, one of them is zero.
    let fits = [
        [true; 3],
        [true, true, false],
        [true, false, true],
        [true, false, false],
    ];
    { fits.iter().map(|used| newton(&rows, used)) }
        .filter(|[_, first, second]| *first >= 0.0 && *second >= 0.0)
        .min_by(|a, b| loss(&rows, a).total_cmp(&loss(&rows, b)))
}

fn newton(rows: &[([f64; 3], f64)], used: &[bool; 3]) -> [f64; 3] {
    let mut weights = [0.0; 3];
    for _ in 0..STEPS {
        let mut gradient = weights.map(|weight| -RIDGE * weight);
        let mut curvature = [[0.0; 3]; 3];
        for (row, right) in rows {
            // An unused feature is zero, so its weight does not change.
            let row: &[f64; 3] = &[0, 1, 2].map(|i| if used[i] { row[i] } else { 0.0 });
            let p = probability(&weights, row);
            for i in 0..3 {
                gradient[i] += (right - p) * row[i];
                for j in 0..3 {
                    curvature[i][j] += p * (1.0 - p) * row[i] * row[j];
                }
            }
        }
        for (i, row) in curvature.iter_mut().enumerate() {
            row[i] += RIDGE;
        }
        let step = solve(curvature, gradient);
        for (weight, step) in weights.iter_mut().zip(step) {
            *weight += step;
        }
    }
    weights
}

fn probability(weights: &[f64; 3], row: &[f64; 3]) -> f64 {
    let log_odds: f64 = weights.iter().zip(row).map(|(weight, x)| weight * x).sum();
    1.0 / (1.0 + (-log_odds).exp())
}

fn loss(rows: &[([f64; 3], f64)], weights: &[f64; 3]) -> f64 {
    let of = |(row, right): &([f64; 3], f64)| {
        let p = probability(weights, row);
        -(right * p.max(1e-12).ln() + (1.0 - right) * (1.0 - p).max(1e-12).ln())
    };
    rows.iter().map(of).sum()
}

/// Solves a symmetric positive definite system by elimination.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> [f64; 3] {
    for i in 0..3 {
        for j in 0..3 {
            if i == j {
                continue;
            }
            let factor = matrix[j][i] / matrix[i][i];
            let row = matrix[i];
            for (entry, above) in matrix[j].iter_mut().zip(row) {
                *entry -= factor * above;
            }
            right[j] -= factor * right[i];
        }
    }
    [0, 1, 2].map(|i| right[i] / matrix[i][i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_that_made_the_fields_are_found() {
        // Each field is correct as often as its confidence says.
        let (intercept, weight) = (1.5, 0.8);
        let mut fields = Vec::new();
        for at in 1..40 {
            let x = f64::from(at) / 10.0 - 2.0;
            let confidence = probability(&[intercept, weight, 0.0], &[1.0, x, 0.0]);
            let right = (confidence * 1000.0).round() as usize;
            fields.extend((0..1000).map(|n| ([x, 0.0], n < right)));
        }
        let [a, b, c] = fit_confidence(&fields).unwrap();
        assert!(
            (a - intercept).abs() < 0.05 && (b - weight).abs() < 0.05 && c == 0.0,
            "{a} {b} {c}"
        );
    }

    #[test]
    fn no_weight_is_negative_and_none_is_infinite() {
        let misled = [
            ([2.0, 0.0], false),
            ([-2.0, 0.0], true),
            ([-9.0, -9.0], true),
        ];
        let [_, first, second] = fit_confidence(&misled).unwrap();
        assert!(first >= 0.0 && second >= 0.0);
        let [intercept, ..] = fit_confidence(&[([9.0, 9.0], true)]).unwrap();
        assert!(intercept.is_finite());
        assert_eq!(fit_confidence(&[]), None);
    }
}

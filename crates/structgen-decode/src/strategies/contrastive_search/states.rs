//! The hidden states of all tokens of a text, for comparison.

/// The number of products summed in parallel.
const LANES: usize = 16;

/// The hidden states of a text, each normalised to length one.
#[derive(Debug)]
pub(super) struct States {
    width: usize,
    units: Vec<f32>,
}

impl States {
    pub(super) fn new(width: usize) -> Self {
        let units = Vec::new();
        Self { width, units }
    }

    /// Appends the state of the next token.
    pub(super) fn push(&mut self, state: &[f32]) {
        self.units.extend(unit(state));
    }

    /// Returns the cosine with the most similar state, from -1 to 1. A state without a direction is similar to none:
    /// zero.
    pub(super) fn largest_cosine(&self, state: &[f32]) -> f32 {
        let state: Vec<f32> = unit(state).collect();
        let states = self.units.chunks_exact(self.width.max(1));
        let cosines = states.map(|other| dot(&state, other));
        let largest = cosines.fold(f32::NEG_INFINITY, f32::max);
        match largest.is_finite() {
            true => largest,
            false => 0.0,
        }
    }
}

fn unit(state: &[f32]) -> impl Iterator<Item = f32> {
    let length = dot(state, state).sqrt();
    let scale = match length > 0.0 {
        true => 1.0 / length,
        false => 0.0,
    };
    state.iter().map(move |number| number * scale)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_that_is_most_alike_counts_whatever_its_length() {
        let mut states = States::new(2);
        states.push(&[0.0, 5.0]);
        states.push(&[3.0, 4.0]);
        assert!((states.largest_cosine(&[10.0, 0.0]) - 0.6).abs() < 1e-6);
        assert!((states.largest_cosine(&[0.0, 0.1]) - 1.0).abs() < 1e-6);
        assert!((states.largest_cosine(&[0.0, -2.0]) + 0.8).abs() < 1e-6);
    }

    #[test]
    fn states_without_a_direction_are_like_none() {
        let mut states = States::new(3);
        assert_eq!(states.largest_cosine(&[1.0, 2.0, 3.0]), 0.0);
        states.push(&[0.0; 3]);
        assert_eq!(states.largest_cosine(&[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(states.largest_cosine(&[f32::NAN; 3]), 0.0);
    }

    #[test]
    fn wide_states_are_summed_to_the_last_number() {
        let ones = [1.0f32; 2 * LANES + 3];
        assert_eq!(dot(&ones, &ones), 35.0);
    }
}

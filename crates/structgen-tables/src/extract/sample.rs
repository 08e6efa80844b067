//! An evenly spread sample of rows.

use serde::{Deserialize, Serialize};

/// Selects which of `total` rows are in a sample of `wanted`, independent of how the rows are partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    wanted: u64,
    total: u64,
}

impl Sample {
    pub(crate) fn new(wanted: u64, total: u64) -> Self {
        let wanted = wanted.min(total);
        Self { wanted, total }
    }

    /// Returns how many rows before this one are in the sample.
    pub(crate) fn before(self, row: u64) -> u64 {
        let share = u128::from(row) * u128::from(self.wanted) / u128::from(self.total.max(1));
        u64::try_from(share).unwrap_or(self.wanted)
    }

    pub(crate) fn has(self, row: u64) -> bool {
        self.before(row) < self.before(row + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_as_many_rows_as_are_wanted() {
        for (wanted, total) in [(0, 10), (1, 10), (3, 10), (10, 10), (20, 10), (1, 0)] {
            let sample = Sample::new(wanted, total);
            let rows = (0..total).filter(|&row| sample.has(row)).count() as u64;
            assert_eq!(rows, wanted.min(total));
            assert_eq!(sample.before(total), rows);
        }
    }
}

//! What the results of many files say together.

use std::fmt;

use crate::{FileResult, Status};

/// Counts and times over many files.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How many files there are.
    pub files: usize,
    /// How many were judged right altogether.
    pub ok: usize,
    /// How many of these have a schema that no value fits.
    pub unsatisfiable: usize,
    /// How many were refused.
    pub refused: usize,
    /// In how many a valid instance was rejected.
    pub validation_errors: usize,
    /// In how many an invalid instance was accepted.
    pub invalidation_errors: usize,
    /// In how many the engine failed on an instance, and misjudged none.
    pub undecided: usize,
    /// Compiling plus the first mask, in microseconds.
    pub ttfm_us: Percentiles,
    /// Mask plus accept, in microseconds.
    pub tbm_us: Percentiles,
}

impl Summary {
    /// Sums up some results.
    pub fn new<'r>(results: impl IntoIterator<Item = &'r FileResult> + Clone) -> Self {
        let count = |status| {
            results
                .clone()
                .into_iter()
                .filter(|result| result.status == status)
                .count()
        };
        let ttfm = results
            .clone()
            .into_iter()
            .filter_map(|result| result.ttfm_us)
            .collect();
        let tbm = results
            .clone()
            .into_iter()
            .flat_map(|result| &result.tbm_ns)
            .map(|&ns| ns as f64 / 1e3)
            .collect();
        Self {
            files: results.clone().into_iter().count(),
            ok: count(Status::Ok) + count(Status::Unsatisfiable),
            unsatisfiable: count(Status::Unsatisfiable),
            refused: count(Status::CompileError),
            validation_errors: count(Status::ValidationError),
            invalidation_errors: count(Status::InvalidationError),
            undecided: count(Status::Undecided),
            ttfm_us: Percentiles::new(ttfm),
            tbm_us: Percentiles::new(tbm),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: usize| 100.0 * count as f64 / self.files.max(1) as f64;
        writeln!(f, "files                      {:>8}", self.files)?;
        writeln!(
            f,
            "every instance right       {:>8}  {:5.1}%",
            self.ok,
            share(self.ok)
        )?;
        writeln!(
            f,
            "  of these unsatisfiable   {:>8}  {:5.1}%",
            self.unsatisfiable,
            share(self.unsatisfiable)
        )?;
        writeln!(
            f,
            "refused at compile         {:>8}  {:5.1}%",
            self.refused,
            share(self.refused)
        )?;
        writeln!(
            f,
            "a valid one rejected       {:>8}  {:5.1}%",
            self.validation_errors,
            share(self.validation_errors)
        )?;
        writeln!(
            f,
            "an invalid one accepted    {:>8}  {:5.1}%",
            self.invalidation_errors,
            share(self.invalidation_errors)
        )?;
        if self.undecided > 0 {
            writeln!(
                f,
                "undecided                  {:>8}  {:5.1}%",
                self.undecided,
                share(self.undecided)
            )?;
        }
        writeln!(f, "microseconds               {}", Percentiles::HEADER)?;
        writeln!(f, "compile + first mask       {}", self.ttfm_us)?;
        write!(f, "mask + accept              {}", self.tbm_us)
    }
}

/// The distribution of some times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// How many times there are.
    pub count: usize,
    /// Their average.
    pub average: f64,
    /// The median.
    pub p50: f64,
    /// What 90% stay within.
    pub p90: f64,
    /// What 99% stay within.
    pub p99: f64,
    /// What 99.9% stay within.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl Percentiles {
    /// Column heads for `Display`.
    pub const HEADER: &'static str =
        "   average       p50       p90       p99     p99.9         max";

    /// The distribution of the times; all zero where there are none.
    #[must_use]
    pub fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let Some(&max) = times.last() else {
            return Self::default();
        };
        // The smallest time that a share of all stays within.
        let at = |share: f64| {
            times[((times.len() as f64 * share).ceil() as usize).clamp(1, times.len()) - 1]
        };
        Self {
            count: times.len(),
            average: times.iter().sum::<f64>() / times.len() as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max,
        }
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            average,
            p50,
            p90,
            p99,
            p999,
            max,
            ..
        } = self;
        write!(
            f,
            "{average:>10.1}{p50:>10.1}{p90:>10.1}{p99:>10.1}{p999:>10.1}{max:>12.1}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Percentiles;

    #[test]
    fn percentiles_are_times_that_occur() {
        let times = (1..=1000).rev().map(f64::from).collect();
        let Percentiles {
            count,
            average,
            p50,
            p90,
            p99,
            p999,
            max,
        } = Percentiles::new(times);
        assert_eq!(
            (count, average, p50, p90, p99, p999, max),
            (1000, 500.5, 500.0, 900.0, 990.0, 999.0, 1000.0)
        );
    }
}

//! Shares and percentiles over all files.

use std::fmt;

use super::{Record, Status};

/// What all files came to.
#[derive(Default)]
pub(crate) struct Summary {
    by_status: [usize; 4],
    valid: [usize; 2],
    invalid: [usize; 2],
    ttfm_ns: Vec<u64>,
    tbm_ns: Vec<u64>,
    /// The same times, as one sum for each file that compiled.
    masks: usize,
}

impl Summary {
    pub(crate) fn add(&mut self, record: Record) {
        self.by_status[record.status as usize] += 1;
        if record.status == Status::CompileError {
            return;
        }
        for (total, add) in self.valid.iter_mut().zip(record.valid) {
            *total += add;
        }
        for (total, add) in self.invalid.iter_mut().zip(record.invalid) {
            *total += add;
        }
        self.ttfm_ns
            .extend(record.ttfm_us.map(|us| (us * 1e3) as u64));
        self.masks += record.tbm_ns.len();
        self.tbm_ns.extend(record.tbm_ns);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ok, compile, validation, invalidation] = self.by_status;
        let files = ok + compile + validation + invalidation;
        let share = |part: usize| 100.0 * part as f64 / files.max(1) as f64;
        writeln!(f, "files       {files}")?;
        for (name, count) in [
            ("ok", ok),
            ("compile_error", compile),
            ("validation_error", validation),
            ("invalidation_error", invalidation),
        ] {
            writeln!(f, "  {name:<19} {count:>6}  {:>6.2}%", share(count))?;
        }
        writeln!(
            f,
            "valid       {} of {} instances accepted",
            self.valid[0], self.valid[1]
        )?;
        writeln!(
            f,
            "invalid     {} of {} instances rejected",
            self.invalid[0], self.invalid[1]
        )?;
        writeln!(f, "masks       {}", self.masks)?;
        writeln!(
            f,
            "            {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "mean", "p50", "p90", "p99", "p99.9", "max"
        )?;
        line(f, "TTFM (us)", &self.ttfm_ns)?;
        line(f, "TBM (us)", &self.tbm_ns)
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, times: &[u64]) -> fmt::Result {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let mean = sorted.iter().sum::<u64>() as f64 / sorted.len().max(1) as f64;
    write!(f, "{name:<11} {:>10.1}", mean / 1e3)?;
    for share in [0.5, 0.9, 0.99, 0.999, 1.0] {
        write!(f, " {:>10.1}", percentile(&sorted, share) as f64 / 1e3)?;
    }
    writeln!(f)
}

/// The smallest time that is at least as large as this share of the times.
fn percentile(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times: Vec<u64> = (1..=1000).collect();
        assert_eq!(
            [0.5, 0.99, 0.999, 1.0].map(|share| percentile(&times, share)),
            [500, 990, 999, 1000]
        );
        assert_eq!(percentile(&[], 0.5), 0);
        assert_eq!(percentile(&[7], 0.001), 7);
    }
}

//! Counters and histograms, in Prometheus's text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The metrics of a server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answered requests, by route and status.
    requests: Labelled,
    /// Refused schemas, by keyword.
    refusals: Labelled,
    pub(crate) request_time: Histogram,
    pub(crate) first_token_time: Histogram,
    pub(crate) token_time: Histogram,
    pub(crate) compile_time: Histogram,
    pub(crate) mask_time: Histogram,
    pub(crate) running: Gauge,
    pub(crate) streams: Gauge,
    pub(crate) prompt_tokens: Counter,
    pub(crate) cached_tokens: Counter,
    pub(crate) new_tokens: Counter,
    pub(crate) forced_tokens: Counter,
    pub(crate) cancelled: Counter,
    pub(crate) refused_connections: Counter,
    pub(crate) constraint_hits: Counter,
    pub(crate) constraint_misses: Counter,
}

/// Metrics that are read from the models on demand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineGauges {
    pub(crate) waiting: usize,
    pub(crate) cache_bytes: usize,
    pub(crate) loaded_models: usize,
    pub(crate) loading_models: usize,
    pub(crate) failed_loads: u64,
}

impl Metrics {
    pub(crate) fn answered(&self, route: &str, status: u16) {
        let labels = format!("route=\"{route}\",status=\"{status}\"");
        self.requests.add(labels);
    }

    pub(crate) fn refused_keyword(&self, keyword: &str) {
        // An unknown keyword could be any text, which would create unbounded labels.
        if keyword
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '$')
            && keyword.len() <= 40
        {
            self.refusals.add(format!("keyword=\"{keyword}\""));
        }
    }

    /// Formats all metrics for Prometheus.
    pub(crate) fn to_text(&self, gauges: EngineGauges) -> String {
        let mut text = String::new();
        let out = &mut text;
        self.requests.write(
            out,
            "structgen_requests_total",
            "Requests that were answered.",
        );
        self.refusals.write(
            out,
            "structgen_refused_keywords_total",
            "Schemas that were refused, by keyword.",
        );
        for (name, help, histogram) in [
            (
                "request_seconds",
                "Time from a request to the end of its reply.",
                &self.request_time,
            ),
            (
                "time_to_first_token_seconds",
                "Time from a request to the first token.",
                &self.first_token_time,
            ),
            (
                "time_between_tokens_seconds",
                "Mean time between the tokens of an output.",
                &self.token_time,
            ),
            (
                "compile_seconds",
                "Time to compile a constraint that was not kept.",
                &self.compile_time,
            ),
            (
                "mask_wait_seconds",
                "Time in which an output waited for masks.",
                &self.mask_time,
            ),
        ] {
            histogram.write(out, &format!("structgen_{name}"), help);
        }
        for (name, help, counter) in [
            ("prompt_tokens", "Tokens of prompts.", &self.prompt_tokens),
            (
                "cached_prompt_tokens",
                "Tokens of prompts that were not run again.",
                &self.cached_tokens,
            ),
            ("new_tokens", "Tokens of outputs.", &self.new_tokens),
            (
                "forced_tokens",
                "Tokens of outputs that the constraint forced.",
                &self.forced_tokens,
            ),
            (
                "cancelled",
                "Requests whose client left before the end, or cancelled them.",
                &self.cancelled,
            ),
            (
                "refused_connections",
                "Connections that were one too many.",
                &self.refused_connections,
            ),
            (
                "constraint_cache_hits",
                "Constraints that were compiled already.",
                &self.constraint_hits,
            ),
            (
                "constraint_cache_misses",
                "Constraints that were compiled.",
                &self.constraint_misses,
            ),
        ] {
            let name = format!("structgen_{name}_total");
            write_one(out, &name, "counter", help, counter.get());
        }
        for (name, help, value) in [
            (
                "running_requests",
                "Requests that generate.",
                self.running.get(),
            ),
            (
                "open_streams",
                "Replies that are being streamed.",
                self.streams.get(),
            ),
            (
                "waiting_outputs",
                "Outputs that wait for a model.",
                gauges.waiting as u64,
            ),
            (
                "cache_bytes",
                "Bytes of keys and values that are in use or kept.",
                gauges.cache_bytes as u64,
            ),
            (
                "loaded_models",
                "Models that are loaded.",
                gauges.loaded_models as u64,
            ),
            (
                "loading_models",
                "Models that are being loaded.",
                gauges.loading_models as u64,
            ),
        ] {
            write_one(out, &format!("structgen_{name}"), "gauge", help, value);
        }
        write_one(
            out,
            "structgen_failed_loads_total",
            "counter",
            "Attempts to load a model that failed.",
            gauges.failed_loads,
        );
        text
    }
}

fn write_one(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    let _ = writeln!(
        out,
        "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
    );
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A current number of things.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counters by their labels.
#[derive(Debug, Default)]
struct Labelled(Mutex<BTreeMap<String, u64>>);

impl Labelled {
    fn add(&self, labels: String) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(labels).or_default() += 1;
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (labels, count) in &*counts {
            let _ = writeln!(out, "{name}{{{labels}}} {count}");
        }
    }
}

/// The upper bounds of a histogram's buckets, in seconds.
const BUCKETS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// Durations in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS.len()],
    count: AtomicU64,
    microseconds: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        if let Some(at) = BUCKETS.iter().position(|&bound| seconds <= bound) {
            self.buckets[at].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(micros, Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut below = 0;
        for (bucket, bound) in self.buckets.iter().zip(BUCKETS) {
            below += bucket.load(Ordering::Relaxed);
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let count = self.count.load(Ordering::Relaxed);
        let sum = self.microseconds.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let metrics = Metrics::default();
        metrics.request_time.observe(Duration::from_millis(3));
        metrics.request_time.observe(Duration::from_secs(100));
        let text = metrics.to_text(EngineGauges::default());
        for line in [
            "structgen_request_seconds_bucket{le=\"0.0025\"} 0",
            "structgen_request_seconds_bucket{le=\"0.005\"} 1",
            "structgen_request_seconds_bucket{le=\"60\"} 1",
            "structgen_request_seconds_bucket{le=\"+Inf\"} 2",
            "structgen_request_seconds_sum 100.003",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} in {text}");
        }
    }
}

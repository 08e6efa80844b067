//! The computed size of the cache, compared with the memory of the process.

use structgen::decode::ModelInfo;

use super::tasks::Task;

pub(super) fn line(info: &ModelInfo, tasks: &[Task], max_tokens: usize) -> String {
    let longest = tasks
        .iter()
        .map(|task| task.prompt.len())
        .max()
        .unwrap_or(0);
    let length = (longest + max_tokens).min(info.context_length);
    let bytes = info.cache_bytes_per_token;
    format!(
        "\ncache: {bytes} bytes a token (2 x layers x heads x size of a head x size of a number), {:.2} MB at {length} tokens, {:.2} MB at the whole \
         context of {}; the process: {}\n",
        (bytes * length) as f64 / 1e6,
        (bytes * info.context_length) as f64 / 1e6,
        info.context_length,
        process(),
    )
}

/// Describes the memory of this process, as reported by the system.
fn process() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let megabytes = |name: &str| -> Option<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024.0 / 1e6)
    };
    match (megabytes("VmRSS:"), megabytes("VmHWM:")) {
        (Some(now), Some(peak)) => format!("{now:.0} MB, at most {peak:.0} MB"),
        _ => "this system does not report it".to_owned(),
    }
}

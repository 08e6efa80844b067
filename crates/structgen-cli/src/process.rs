//! What the system reports about this process.

/// Describes this process's memory use, if the system reports it.
pub(crate) fn memory() -> String {
    match (resident(), bytes("VmHWM:")) {
        (Some(now), Some(peak)) => {
            format!(
                "{:.0} MB, at most {:.0} MB",
                now as f64 / 1e6,
                peak as f64 / 1e6
            )
        }
        _ => "this system does not say".to_owned(),
    }
}

/// Returns the number of bytes that this process has in memory, if the system reports it.
pub(crate) fn resident() -> Option<u64> {
    bytes("VmRSS:")
}

fn bytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

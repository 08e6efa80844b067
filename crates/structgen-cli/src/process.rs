//! What the system says of this process.

/// What the system says that this process has in memory.
pub(crate) fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = |name: &str| -> Option<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    match (kilobytes("VmRSS:"), kilobytes("VmHWM:")) {
        (Some(now), Some(peak)) => {
            format!(
                "{:.0} MB, at most {:.0} MB",
                now * 1024.0 / 1e6,
                peak * 1024.0 / 1e6
            )
        }
        _ => "this system does not say".to_owned(),
    }
}

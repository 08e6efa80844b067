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
    let kilobytes: u64 = status(name)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Returns whether this process ignores a signal, if the system reports it.
#[cfg(unix)]
pub(crate) fn ignores(signal: i32) -> Option<bool> {
    let ignored = u64::from_str_radix(&status("SigIgn:")?, 16).ok()?;
    // The lowest bit is signal 1.
    let bit = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(ignored.checked_shr(bit)? & 1 == 1)
}

/// Returns the first word of a line of the process's status.
fn status(name: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next().map(str::to_owned)
}

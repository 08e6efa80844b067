//! The date for `strftime_now`.

use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Formats a time in UTC as C's `strftime` does in the C locale.
pub(super) fn strftime(now: SystemTime, format: &str) -> Result<String, String> {
    let seconds = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let weekday = DAYS[((days + 4) % 7) as usize];
    let month_name = MONTHS[(month - 1) as usize];
    let twelve = (hour + 11) % 12 + 1;

    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut directive = characters.next();
        let unpadded = directive == Some('-');
        if unpadded {
            directive = characters.next();
        }
        let mut number = |value: u64, width: usize| {
            let width = if unpadded { 0 } else { width };
            text.push_str(&format!("{value:0width$}"));
        };
        match directive {
            Some('Y') => number(year, 4),
            Some('y') => number(year % 100, 2),
            Some('m') => number(month, 2),
            Some('d') => number(day, 2),
            Some('H') => number(hour, 2),
            Some('I') => number(twelve, 2),
            Some('M') => number(minute, 2),
            Some('S') => number(second, 2),
            Some('j') => number(days - days_before(year) + 1, 3),
            Some('B') => text.push_str(month_name),
            Some('b') => text.push_str(&month_name[..3]),
            Some('A') => text.push_str(weekday),
            Some('a') => text.push_str(&weekday[..3]),
            Some('p') => text.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('F') => text.push_str(&format!("{year:04}-{month:02}-{day:02}")),
            Some('T') => text.push_str(&format!("{hour:02}:{minute:02}:{second:02}")),
            Some('Z') => text.push_str("UTC"),
            Some('%') => text.push('%'),
            other => {
                let directive = other.map_or_else(String::new, String::from);
                return Err(format!(
                    "strftime_now: the directive %{directive} is not supported"
                ));
            }
        }
    }
    Ok(text)
}

/// The year, month and day for a number of days since 1970-01-01, in the proleptic Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // An estimate that is at most the year, corrected in steps of one.
    let mut year = 1970 + days / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - days_before(year);
    let mut month = 1;
    while rest >= month_length(year, month) {
        rest -= month_length(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}

/// The number of days from 1970-01-01 to the first day of a year.
fn days_before(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

fn month_length(year: u64, month: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64, format: &str) -> String {
        strftime(UNIX_EPOCH + Duration::from_secs(seconds), format).unwrap()
    }

    #[test]
    fn known_dates_are_right() {
        let full = "%A %a %d %B %b %Y %y %m %j %H:%M:%S %I %p %F %T %Z %% %-d %-m";
        assert_eq!(
            at(0, full),
            "Thursday Thu 01 January Jan 1970 70 01 001 00:00:00 12 AM 1970-01-01 00:00:00 UTC % 1 1"
        );
        // The leap day of a century year divisible by 400, and the last second of a leap year.
        assert_eq!(at(951_782_400, "%F %A"), "2000-02-29 Tuesday");
        assert_eq!(at(1_735_689_599, "%F %T %j"), "2024-12-31 23:59:59 366");
        assert_eq!(at(4_107_542_400, "%F"), "2100-03-01");
        assert_eq!(at(253_402_300_799, "%F"), "9999-12-31");
    }

    #[test]
    fn unknown_directives_are_refused() {
        for format in ["%Q", "%", "%-"] {
            assert!(strftime(UNIX_EPOCH, format).is_err());
        }
    }
}

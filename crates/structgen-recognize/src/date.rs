//! Dates and times of day.

use std::fmt;

use crate::Number;

/// A date of the Gregorian calendar, as complete as in the text: either the year or the day may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Date {
    /// 1000 to 2999. Two digits stand for 1940 to 2039; 30 to 69 can be in the other century as well.
    pub year: Option<u16>,
    /// 1 to 12.
    pub month: u8,
    /// 1 to the length of the month.
    pub day: Option<u8>,
}

impl Date {
    /// Returns a date if it exists; 29 February exists without a year.
    pub(crate) fn new(year: Option<u16>, month: u8, day: Option<u8>) -> Option<Date> {
        let in_range = year.is_none_or(|year| (1000..3000).contains(&year))
            && (1..=12).contains(&month)
            && day.is_none_or(|day| (1..=days_in_month(year, month)).contains(&day));
        in_range.then_some(Date { year, month, day })
    }

    /// Returns whether year, month and day are known.
    pub fn is_full(&self) -> bool {
        self.year.is_some() && self.day.is_some()
    }

    /// Returns the date in this year, if it has no year of its own and exists in it.
    pub fn in_year(&self, year: u16) -> Option<Date> {
        Date::new(self.year.or(Some(year)), self.month, self.day)
    }
}

fn days_in_month(year: Option<u16>, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => match year {
            Some(year)
                if !(year.is_multiple_of(4) && !year.is_multiple_of(100)
                    || year.is_multiple_of(400)) =>
            {
                28
            }
            _ => 29,
        },
        _ => 31,
    }
}

/// Returns the possible meanings of a two-digit year, best first: 1940 to 2039, then the other century from 1930 and to
/// 2069.
pub(crate) fn full_years(two_digits: u16) -> impl Iterator<Item = u16> {
    let (best, other) = match two_digits {
        0..40 => (2000, 1900),
        _ => (1900, 2000),
    };
    let other = (30..70).contains(&two_digits).then_some(other + two_digits);
    std::iter::once(best + two_digits).chain(other)
}

/// ISO 8601; `2024-05` without a day and `--05-12` without a year.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.year {
            Some(year) => write!(f, "{year:04}-{:02}", self.month)?,
            None => write!(f, "--{:02}", self.month)?,
        }
        self.day.map_or(Ok(()), |day| write!(f, "-{day:02}"))
    }
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Time {
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59, if the text has seconds.
    pub second: Option<u8>,
    /// The fraction of the second, below one, if the text has one: as many digits as there, but at most nine.
    pub fraction: Option<Number>,
    /// The offset from UTC in minutes, if the text has one.
    pub offset: Option<i16>,
}

impl Time {
    pub(crate) fn new(hour: u32, minute: u32, second: Option<u32>) -> Option<Time> {
        (hour < 24 && minute < 60 && second.is_none_or(|second| second < 60)).then(|| Time {
            hour: hour as u8,
            minute: minute as u8,
            second: second.map(|second| second as u8),
            fraction: None,
            offset: None,
        })
    }

    /// Formats the time as `HH:MM`.
    pub fn hour_minute(&self) -> String {
        format!("{:02}:{:02}", self.hour, self.minute)
    }

    /// Formats the time as `HH:MM:SS`, with `:00` if the text has no seconds.
    pub fn hour_minute_second(&self) -> String {
        format!(
            "{:02}:{:02}:{:02}",
            self.hour,
            self.minute,
            self.second.unwrap_or(0)
        )
    }

    /// Formats the time as `HH:MM:SS`: with the fraction of the second if the text has one, and then without it.
    pub(crate) fn with_seconds(&self) -> Vec<String> {
        let whole = self.hour_minute_second();
        let exact = self.fraction.map(|fraction| {
            let fraction = fraction.to_string();
            format!("{whole}{}", fraction.trim_start_matches('0'))
        });
        exact.into_iter().chain([whole]).collect()
    }

    /// Formats the offset as in RFC 3339, or as `Z` if the text has none.
    pub(crate) fn offset_text(&self) -> String {
        match self.offset {
            None | Some(0) => "Z".to_owned(),
            Some(offset) => {
                let sign = if offset < 0 { '-' } else { '+' };
                format!(
                    "{sign}{:02}:{:02}",
                    offset.unsigned_abs() / 60,
                    offset.unsigned_abs() % 60
                )
            }
        }
    }
}

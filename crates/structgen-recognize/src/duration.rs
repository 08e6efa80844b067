//! Lengths of time.

use crate::Number;

/// A length of time, as a sum of parts in the units of the text, largest unit first: `1 h 30 min` has two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duration {
    pub(crate) parts: Vec<(Number, TimeUnit)>,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeUnit {
    /// 12 months.
    Year,
    /// A twelfth of a year; of no fixed number of days.
    Month,
    /// 7 days.
    Week,
    /// 24 hours.
    Day,
    /// 60 minutes.
    Hour,
    /// 60 seconds.
    Minute,
    /// A second.
    Second,
}

impl TimeUnit {
    /// All units, largest first.
    pub const ALL: [TimeUnit; 7] = [
        TimeUnit::Year,
        TimeUnit::Month,
        TimeUnit::Week,
        TimeUnit::Day,
        TimeUnit::Hour,
        TimeUnit::Minute,
        TimeUnit::Second,
    ];

    /// Months, if the unit is counted in them.
    fn months(self) -> Option<i128> {
        match self {
            TimeUnit::Year => Some(12),
            TimeUnit::Month => Some(1),
            _ => None,
        }
    }

    /// Seconds, if the unit is of a fixed length.
    fn seconds(self) -> Option<i128> {
        match self {
            TimeUnit::Year | TimeUnit::Month => None,
            TimeUnit::Week => Some(604_800),
            TimeUnit::Day => Some(86_400),
            TimeUnit::Hour => Some(3_600),
            TimeUnit::Minute => Some(60),
            TimeUnit::Second => Some(1),
        }
    }

    fn letter(self) -> char {
        match self {
            TimeUnit::Year => 'Y',
            TimeUnit::Month | TimeUnit::Minute => 'M',
            TimeUnit::Week => 'W',
            TimeUnit::Day => 'D',
            TimeUnit::Hour => 'H',
            TimeUnit::Second => 'S',
        }
    }
}

impl Duration {
    /// The parts in the units of the text, largest unit first.
    pub fn parts(&self) -> &[(Number, TimeUnit)] {
        &self.parts
    }

    /// The length in one unit, if it is exact with at most four decimals: half an hour is 30 minutes and 0.5 hours; 20
    /// minutes are no number of hours, and a month is no number of days.
    ///
    /// ```
    /// use structgen_recognize::{Options, TimeUnit, Value, recognize};
    ///
    /// let candidates = recognize("half an hour", &Options::default());
    /// let duration = candidates.iter().find_map(|c| match &c.readings[0] {
    ///     Value::Duration(duration) => Some(duration),
    ///     _ => None,
    /// });
    /// assert_eq!(duration.unwrap().in_unit(TimeUnit::Minute).unwrap().to_string(), "30");
    /// ```
    pub fn in_unit(&self, unit: TimeUnit) -> Option<Number> {
        if let [(number, own)] = self.parts[..]
            && own == unit
        {
            return Some(number);
        }
        match unit.months() {
            Some(months) => self.sum(TimeUnit::months)?.divided(months, 4),
            None => self.sum(TimeUnit::seconds)?.divided(unit.seconds()?, 4),
        }
    }

    fn sum(&self, size: fn(TimeUnit) -> Option<i128>) -> Option<Number> {
        self.parts
            .iter()
            .try_fold(Number::from(0), |sum, (number, unit)| {
                sum.plus(number.times(size(*unit)?)?)
            })
    }

    /// ISO 8601 texts of equal length: in the units of the text (`PT90M`), then in the largest ones (`PT1H30M`).
    pub fn iso_texts(&self) -> Vec<String> {
        let written: Option<Vec<_>> = self
            .parts
            .iter()
            .map(|(number, unit)| Some((number.to_integer()?, *unit)))
            .collect();
        let mut texts: Vec<String> = [
            written,
            self.carried(TimeUnit::months),
            self.carried(TimeUnit::seconds),
        ]
        .into_iter()
        .flatten()
        .filter_map(|parts| iso(&parts))
        .collect();
        texts.dedup();
        texts
    }

    /// Whole numbers of the largest units, without weeks: those do not mix with other units in RFC 3339.
    fn carried(&self, size: fn(TimeUnit) -> Option<i128>) -> Option<Vec<(i128, TimeUnit)>> {
        let mut rest = self.sum(size)?.to_integer()?;
        let units = TimeUnit::ALL
            .into_iter()
            .filter(|unit| *unit != TimeUnit::Week);
        Some(
            units
                .filter_map(|unit| {
                    let size = size(unit)?;
                    let count = rest / size;
                    rest %= size;
                    (count > 0).then_some((count, unit))
                })
                .collect(),
        )
    }
}

fn iso(parts: &[(i128, TimeUnit)]) -> Option<String> {
    let mixed = parts.len() > 1 && parts.iter().any(|(_, unit)| *unit == TimeUnit::Week);
    if parts.is_empty() || mixed || parts.iter().any(|(count, _)| *count < 0) {
        return None;
    }
    let mut text = String::from("P");
    for (count, unit) in parts {
        if *unit >= TimeUnit::Hour && !text.contains('T') {
            text.push('T');
        }
        text.push_str(&count.to_string());
        text.push(unit.letter());
    }
    Some(text)
}

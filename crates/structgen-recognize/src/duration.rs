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
    /// A twelfth of a year, without a fixed number of days.
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

    /// Returns the number of months in the unit, if it is a multiple of months.
    fn months(self) -> Option<i128> {
        match self {
            TimeUnit::Year => Some(12),
            TimeUnit::Month => Some(1),
            _ => None,
        }
    }

    /// Returns the number of seconds in the unit, if its length is fixed.
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
    /// Returns the parts in the units of the text, largest unit first.
    pub fn parts(&self) -> &[(Number, TimeUnit)] {
        &self.parts
    }

    /// Converts the length to a single unit, if this is exact with at most four decimals: half an hour is 30 minutes or
    /// 0.5 hours, but 20 minutes cannot be converted to hours, nor a month to days.
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

    /// Returns ISO 8601 texts of the same length: in the units of the text (`PT90M`), then in the largest ones
    /// (`PT1H30M`).
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

    /// Returns whole numbers of the largest units, except weeks, which RFC 3339 does not mix with other units.
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

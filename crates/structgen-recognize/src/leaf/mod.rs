//! The values of a text, in the form that a leaf of a schema requires.

mod dates;
mod numbers;
mod times;

use std::fmt::Display;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::{Candidate, Value};

/// The form that a leaf of a schema requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Leaf {
    /// A JSON number without fraction.
    Integer,
    /// A JSON number.
    Number,
    /// `2024-05-12`.
    Date,
    /// `2024-05`.
    YearMonth,
    /// `09:30`.
    HourMinute,
    /// `09:30:00`.
    HourMinuteSecond,
    /// RFC 3339's `full-time`, `09:30:00Z`.
    Time,
    /// RFC 3339's `date-time`, `2024-05-12T09:30:00Z`.
    DateTime,
    /// ISO 8601, `PT1H30M`.
    Duration,
    /// The code of a currency in ISO 4217, `EUR`.
    Currency,
    /// `ada@example.com`.
    Email,
    /// `https://example.com/`.
    Uri,
    /// `example.com`.
    Hostname,
    /// `192.0.2.1`.
    Ipv4,
    /// `2001:db8::1`.
    Ipv6,
    /// In lowercase.
    Uuid,
    /// The digits, after a `+` if the text has one.
    Phone,
    /// A code, as written.
    Identifier,
    /// A whole number in digits, such as `12` for `twelve`.
    Digits,
}

impl Leaf {
    /// All leaves that are JSON strings: the values of a string with a `pattern` that may be written differently in the
    /// text.
    pub const STRINGS: [Leaf; 17] = [
        Leaf::Date,
        Leaf::YearMonth,
        Leaf::HourMinute,
        Leaf::HourMinuteSecond,
        Leaf::Time,
        Leaf::DateTime,
        Leaf::Duration,
        Leaf::Currency,
        Leaf::Email,
        Leaf::Uri,
        Leaf::Hostname,
        Leaf::Ipv4,
        Leaf::Ipv6,
        Leaf::Uuid,
        Leaf::Phone,
        Leaf::Identifier,
        Leaf::Digits,
    ];

    /// Returns the JSON Schema `format` of the leaf, or a name of this crate's own if there is none.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Leaf::Integer => "integer",
            Leaf::Number => "number",
            Leaf::Date => "date",
            Leaf::YearMonth => "year-month",
            Leaf::HourMinute => "hour-minute",
            Leaf::HourMinuteSecond => "partial-time",
            Leaf::Time => "time",
            Leaf::DateTime => "date-time",
            Leaf::Duration => "duration",
            Leaf::Currency => "currency",
            Leaf::Email => "email",
            Leaf::Uri => "uri",
            Leaf::Hostname => "hostname",
            Leaf::Ipv4 => "ipv4",
            Leaf::Ipv6 => "ipv6",
            Leaf::Uuid => "uuid",
            Leaf::Phone => "phone",
            Leaf::Identifier => "identifier",
            Leaf::Digits => "digits",
        }
    }

    /// Returns the leaf for a JSON Schema `format`, or `None` for formats whose values are not recognised.
    ///
    /// ```
    /// use structgen_recognize::Leaf;
    ///
    /// assert_eq!(Leaf::for_format("date-time"), Some(Leaf::DateTime));
    /// assert_eq!(Leaf::for_format("regex"), None);
    /// ```
    pub fn for_format(format: &str) -> Option<Leaf> {
        Some(match format {
            "date" => Leaf::Date,
            "time" => Leaf::Time,
            "partial-time" => Leaf::HourMinuteSecond,
            "date-time" => Leaf::DateTime,
            "duration" => Leaf::Duration,
            "email" | "idn-email" => Leaf::Email,
            "uri" | "uri-reference" | "iri" | "iri-reference" | "url" => Leaf::Uri,
            "hostname" | "idn-hostname" => Leaf::Hostname,
            "ipv4" => Leaf::Ipv4,
            "ipv6" => Leaf::Ipv6,
            "uuid" => Leaf::Uuid,
            _ => return None,
        })
    }
}

/// A text that a leaf may contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// In the normal form of the leaf, without the quotes of a JSON string.
    pub text: String,
    /// The parts of the input that it may come from, in bytes, in order.
    pub spans: Vec<Range<usize>>,
    /// For each of these parts, the index of its best reading that gives this text.
    pub readings: Vec<usize>,
}

impl Allowed {
    /// Returns the index of the best reading that gives this text; 0 if this is the most likely value of some part of
    /// the input.
    #[must_use]
    pub fn reading(&self) -> usize {
        self.readings.iter().copied().min().unwrap_or(0)
    }
}

/// Returns the texts that a leaf may contain, in the order of the input and without duplicates.
///
/// - [`Leaf::Integer`] and [`Leaf::Number`]: numbers in digits and words, ordinals, percentages (also as a fraction of
///   one), amounts, durations in the units of the text and in the next larger and smaller ones in which they are exact
///   (years in months up to ten years), years, months and days of dates, hours and minutes of times. What may be just a
///   number, such as the `9` of `at 9`, is no time here. A number is listed with the digits of the text (`1234.50`) and
///   in its shortest form (`1234.5`).
/// - [`Leaf::Date`]: a date without a year gets that of the closest date with one or, if there are none, the closest
///   number that looks like a year; relative words such as `tomorrow` are not dates.
/// - [`Leaf::HourMinuteSecond`], [`Leaf::Time`] and [`Leaf::DateTime`]: the fraction of a second is kept, and the value
///   without it is less likely.
/// - [`Leaf::Time`] and [`Leaf::DateTime`]: a time without an offset from UTC gets a `Z`. A time is combined with the
///   closest dates before and after it.
///
/// ```
/// use structgen_recognize::{Leaf, Options, allowed, recognize};
///
/// let candidates = recognize("Am 12. Mai 2024 um halb zehn: 1.234,50 €", &Options::default());
/// let first = |leaf| allowed(&candidates, leaf).into_iter().next().map(|allowed| allowed.text);
/// assert_eq!(first(Leaf::Date).as_deref(), Some("2024-05-12"));
/// assert_eq!(first(Leaf::HourMinute).as_deref(), Some("09:30"));
/// assert!(allowed(&candidates, Leaf::Number).iter().any(|allowed| allowed.text == "1234.50"));
/// ```
pub fn allowed(candidates: &[Candidate], leaf: Leaf) -> Vec<Allowed> {
    let mut list = List::default();
    match leaf {
        Leaf::Integer | Leaf::Number => numbers::list(candidates, leaf, &mut list),
        Leaf::Digits => numbers::digits(candidates, &mut list),
        Leaf::Date | Leaf::YearMonth => dates::list(candidates, leaf, &mut list),
        Leaf::DateTime => times::with_dates(candidates, &mut list),
        _ => {
            for (candidate, reading, value) in readings(candidates) {
                simple(candidate, reading, value, leaf, &mut list);
            }
        }
    }
    list.allowed
}

/// Returns every reading of every candidate with its index.
fn readings(candidates: &[Candidate]) -> impl Iterator<Item = (&Candidate, usize, &Value)> {
    candidates.iter().flat_map(|candidate| {
        candidate
            .readings
            .iter()
            .enumerate()
            .map(move |(index, value)| (candidate, index, value))
    })
}

/// Adds values that do not depend on others.
fn simple(candidate: &Candidate, reading: usize, value: &Value, leaf: Leaf, list: &mut List) {
    let mut add = |text: &dyn Display| list.add(text.to_string(), &candidate.span, reading);
    match (leaf, value) {
        (Leaf::HourMinute, Value::Time(time) | Value::DateTime(_, time)) => {
            add(&time.hour_minute())
        }
        (Leaf::HourMinuteSecond | Leaf::Time, Value::Time(time) | Value::DateTime(_, time)) => {
            let offset = if leaf == Leaf::Time {
                time.offset_text()
            } else {
                String::new()
            };
            for (less_likely, text) in time.with_seconds().into_iter().enumerate() {
                list.add(text + &offset, &candidate.span, reading + less_likely);
            }
        }
        (Leaf::Duration, Value::Duration(duration)) => {
            duration.iso_texts().iter().for_each(|text| add(text))
        }
        (Leaf::Currency, Value::Amount { currencies, .. }) => {
            for (index, code) in currencies.iter().enumerate() {
                list.add((*code).to_owned(), &candidate.span, index);
            }
        }
        (Leaf::Email, Value::Email(text))
        | (Leaf::Uri, Value::Url(text))
        | (Leaf::Hostname, Value::Host(text))
        | (Leaf::Uuid, Value::Uuid(text))
        | (Leaf::Phone, Value::Phone(text))
        | (Leaf::Identifier, Value::Identifier(text)) => add(text),
        (Leaf::Ipv4, Value::Ipv4(address)) => add(address),
        (Leaf::Ipv6, Value::Ipv6(address)) => add(address),
        _ => {}
    }
}

/// Allowed texts, without duplicates.
#[derive(Default)]
struct List {
    allowed: Vec<Allowed>,
    indices: FxHashMap<String, usize>,
}

impl List {
    fn add(&mut self, text: String, span: &Range<usize>, reading: usize) {
        match self.indices.get(&text) {
            Some(index) => {
                let known = &mut self.allowed[*index];
                if known.spans.last() == Some(span) {
                    if let Some(last) = known.readings.last_mut() {
                        *last = reading.min(*last);
                    }
                } else {
                    known.spans.push(span.clone());
                    known.readings.push(reading);
                }
            }
            None => {
                self.indices.insert(text.clone(), self.allowed.len());
                self.allowed.push(Allowed {
                    text,
                    spans: vec![span.clone()],
                    readings: vec![reading],
                });
            }
        }
    }
}

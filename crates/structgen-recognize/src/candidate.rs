//! The results of [`recognize`](crate::recognize).

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use crate::{Date, Duration, Number, Time};

/// A part of the text that can be read as a value.
///
/// Candidates may overlap: `12.05.2024` contains a date and three numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its position, in bytes.
    pub span: Range<usize>,
    /// Its possible meanings, best first; never empty.
    pub readings: Vec<Value>,
}

/// A value in its normal form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `1.234,50`, `three`, `a dozen`, `2½`, `3 million`.
    Number(Number),
    /// `3rd`, `third`, `dritte`: a position.
    Ordinal(u32),
    /// `19 %`: the number before the sign.
    Percent(Number),
    /// `€12.50`, with the currencies that the sign or word may stand for as ISO 4217 codes, most common first.
    Amount {
        /// The number.
        number: Number,
        /// The possible currencies.
        currencies: &'static [&'static str],
    },
    /// `12 May 2024`, `12 May`, `May 2024`.
    Date(Date),
    /// `9:30`, `half past nine`.
    Time(Time),
    /// A date with a time, such as `2024-05-12T09:30:00Z`.
    DateTime(Date, Time),
    /// `half an hour`, `1h30`, `two weeks`.
    Duration(Duration),
    /// As written.
    Email(String),
    /// With its scheme; `https://` is prepended to an address that starts with `www.`, or is just a host and a path.
    Url(String),
    /// A domain name of two or more labels, or a machine's name such as `web-05`, in lowercase.
    Host(String),
    /// Four octets.
    Ipv4(Ipv4Addr),
    /// In any of its notations.
    Ipv6(Ipv6Addr),
    /// Its digits, after a `+` if there is one.
    Phone(String),
    /// In lowercase.
    Uuid(String),
    /// A code of letters, digits and joiners, as written: `CVE-2025-82218`, `#1042`.
    Identifier(String),
}

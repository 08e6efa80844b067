//! What [`recognize`](crate::recognize) finds.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use crate::{Date, Duration, Number, Time};

/// A part of the text that can be read as a value.
///
/// Candidates may overlap: in `12.05.2024` there are a date and three numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Where it stands, in bytes.
    pub span: Range<usize>,
    /// What it can mean, best first; never empty.
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
    /// `€12.50`, with the currencies that sign or word stand for as ISO 4217 codes, most usual first.
    Amount {
        /// How much.
        number: Number,
        /// In which currency.
        currencies: &'static [&'static str],
    },
    /// `12 May 2024`, `12 May`, `May 2024`.
    Date(Date),
    /// `9:30`, `half past nine`.
    Time(Time),
    /// A date and a time in one piece, `2024-05-12T09:30:00Z`.
    DateTime(Date, Time),
    /// `half an hour`, `1h30`, `two weeks`.
    Duration(Duration),
    /// As it is written.
    Email(String),
    /// With its scheme; an address that begins with `www.` or is a bare host with a path has `https://` added.
    Url(String),
    /// A domain name of two or more labels, or a machine's name such as `web-05`, in small letters.
    Host(String),
    /// Four octets.
    Ipv4(Ipv4Addr),
    /// In any of its notations.
    Ipv6(Ipv6Addr),
    /// Its digits, after a `+` if it was written with one.
    Phone(String),
    /// In small letters.
    Uuid(String),
    /// A code of letters, digits and joiners, as it is written: `CVE-2025-82218`, `#1042`.
    Identifier(String),
}

//! The types of other crates that schemars knows.

use std::collections::{BTreeMap, HashMap};

use arrayvec::{ArrayString, ArrayVec};
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc, Weekday};
use indexmap::{IndexMap, IndexSet};

use crate::{Case, kept, refused};

pub(super) fn cases() -> Vec<Case> {
    vec![
        kept::<NaiveDate>(),
        kept::<NaiveTime>(),
        kept::<NaiveDateTime>(),
        kept::<DateTime<Utc>>(),
        kept::<DateTime<FixedOffset>>(),
        kept::<TimeDelta>(),
        kept::<Weekday>(),
        kept::<HashMap<Weekday, u8>>(),
        kept::<jiff::civil::Date>(),
        kept::<jiff::civil::Time>(),
        kept::<jiff::civil::DateTime>(),
        kept::<jiff::Timestamp>(),
        kept::<jiff::Zoned>(),
        kept::<jiff::SignedDuration>(),
        kept::<jiff::Span>(),
        kept::<uuid::Uuid>(),
        kept::<url::Url>(),
        kept::<Vec<url::Url>>(),
        kept::<semver::Version>(),
        kept::<rust_decimal::Decimal>(),
        kept::<bigdecimal::BigDecimal>(),
        kept::<bytes::Bytes>(),
        kept::<bytes::BytesMut>(),
        kept::<smol_str::SmolStr>(),
        kept::<smol_str02::SmolStr>(),
        kept::<IndexMap<String, i32>>(),
        kept::<IndexMap<u8, i32>>(),
        kept::<IndexSet<u8>>(),
        kept::<either::Either<u8, String>>(),
        kept::<Vec<either::Either<String, Option<u8>>>>(),
        kept::<ArrayVec<u8, 3>>(),
        // Its schema has no length: that would be one in characters, and the capacity is one in bytes.
        refused::<ArrayString<8>>("#"),
        refused::<BTreeMap<uuid::Uuid, u8>>("#/additionalProperties"),
        refused::<BTreeMap<NaiveDate, u8>>("#/additionalProperties"),
    ]
}

//! Types with derived schemas: every representation of enums, and every attribute that changes what is taken.
#![allow(dead_code, reason = "the types are only deserialised into")]

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use chrono::NaiveTime;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::{Case, kept, refused};

pub(super) fn cases() -> Vec<Case> {
    vec![
        kept::<External>(),
        kept::<Vec<External>>(),
        kept::<Internal>(),
        kept::<Adjacent>(),
        kept::<Untagged>(),
        kept::<Mixed>(),
        kept::<Documented>(),
        kept::<Flattened>(),
        kept::<FlattenedEnums>(),
        kept::<FlattenedMap>(),
        kept::<Attributes>(),
        kept::<Strict>(),
        kept::<Tree>(),
        kept::<Expression>(),
        kept::<Page<Page<NaiveTime>>>(),
        kept::<Seconds>(),
        kept::<Id>(),
        kept::<BTreeMap<Id, Unit>>(),
        kept::<HashMap<Plain, u8>>(),
        kept::<BTreeMap<Small, bool>>(),
        kept::<Unit>(),
        kept::<Tuple>(),
        kept::<Initials>(),
        kept::<Record>(),
        refused::<BTreeMap<Documented, u8>>("#"),
        refused::<Vec<Even>>("#/items"),
        refused::<Holder>("#/properties/even"),
        // What flattening and tags read first holds no 128-bit integer.
        refused::<Buffered>("#"),
    ]
}

#[derive(Deserialize, JsonSchema)]
enum External {
    Unit,
    New(u8),
    Pair(i8, String),
    Fields { a: Option<char>, b: Box<External> },
    Inner(Result<u8, String>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Internal {
    Unit,
    Fields { at: NaiveTime, ip: IpAddr },
    New(Inner),
    Nested { inner: Box<Internal> },
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    x: i32,
    y: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "data")]
enum Adjacent {
    Unit,
    New(Vec<u8>),
    Pair(u8, bool),
    Fields { a: i64 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Float(f32),
    Text(String),
    Pair(u8, u8),
    Fields { a: Option<u8> },
    Null,
}

#[derive(Deserialize, JsonSchema)]
enum Mixed {
    Known,
    Other(u8),
    #[serde(untagged)]
    Anything(String),
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Documented {
    /// The first.
    First,
    /// The second.
    Second,
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, Hash)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Plain {
    LeftSide,
    RightSide,
}

#[derive(Deserialize, JsonSchema)]
struct Flattened {
    id: u64,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    maybe: Option<Page<bool>>,
}

#[derive(Deserialize, JsonSchema)]
struct FlattenedEnums {
    id: u8,
    #[serde(flatten)]
    shape: Shape,
    #[serde(flatten)]
    internal: Internal,
}

#[derive(Deserialize, JsonSchema)]
enum Shape {
    Point,
    Circle(u8),
    Named(String),
    Square { side: u16 },
}

#[derive(Deserialize, JsonSchema)]
struct FlattenedMap {
    id: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, i16>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Attributes {
    first_name: String,
    #[serde(rename = "größe")]
    size: u16,
    #[serde(default)]
    is_admin: bool,
    #[serde(alias = "other")]
    aliased: Option<i8>,
    #[serde(skip)]
    skipped: u8,
    #[serde(skip_serializing)]
    read_only: u8,
    #[serde(default = "ten")]
    ten: u8,
    #[schemars(range(min = 1, max = 5))]
    rating: u8,
    #[schemars(length(min = 2, max = 8))]
    code: String,
    #[schemars(regex(pattern = "^[a-z]+$"))]
    word: String,
    #[schemars(email)]
    mail: String,
    #[schemars(url)]
    link: String,
}

fn ten() -> u8 {
    10
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Strict {
    a: u8,
    b: Option<StrictEnum>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", deny_unknown_fields)]
enum StrictEnum {
    A,
    B { x: u8 },
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    value: i32,
    left: Option<Box<Tree>>,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", content = "of")]
enum Expression {
    Number(f64),
    Negated(Box<Expression>),
    Sum(Vec<Expression>),
}

#[derive(Deserialize, JsonSchema)]
struct Page<T> {
    items: Vec<T>,
    next: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Seconds {
    #[serde(deserialize_with = "seconds")]
    #[schemars(with = "u32")]
    wait: Duration,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u32::deserialize(deserializer).map(|seconds| Duration::from_secs(seconds.into()))
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
struct Id(String);

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
struct Small(u8);

#[derive(Deserialize, JsonSchema)]
struct Unit;

#[derive(Deserialize, JsonSchema)]
struct Tuple(i8, String, Option<bool>);

/// What the refusal of `HashMap<char, _>` says to do.
#[derive(Deserialize, JsonSchema)]
struct Initials {
    #[schemars(extend("propertyNames" = {"minLength": 1, "maxLength": 1}))]
    counts: HashMap<char, u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Record {
    at: NaiveTime,
    from: Option<IpAddr>,
    link: url::Url,
    price: rust_decimal::Decimal,
    result: Result<uuid::Uuid, semver::Version>,
    by_year: BTreeMap<u16, Vec<jiff::Timestamp>>,
}

/// Its schema is that of any byte.
#[derive(JsonSchema)]
struct Even(u8);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            odd if odd % 2 == 1 => Err(D::Error::custom("an odd number")),
            even => Ok(Self(even)),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Holder {
    even: Even,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t")]
enum Buffered {
    Wide { number: i128 },
}

//! What a user of structgen writes; the tests are in `tests/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fields that are in no alphabetical order.
#[derive(Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// A string.
    pub zone: String,
    /// A small integer.
    pub amount: u8,
    /// A list of objects.
    pub items: Vec<Item>,
    /// Something that may be missing.
    pub delivery: Option<Delivery>,
    /// An enum with data.
    pub state: State,
    /// A float.
    pub total: f64,
}

/// A part of an order.
#[derive(Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Item {
    /// What it is called.
    pub name: String,
    /// How many.
    pub count: i16,
}

/// Where to.
#[derive(Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The street.
    pub street_name: String,
    /// The city.
    pub city: String,
}

/// What became of it.
#[derive(Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum State {
    /// Nothing yet.
    Open,
    /// It is on its way.
    Sent {
        /// For how many days.
        days: u32,
    },
}

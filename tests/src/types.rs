//! Rust types: what profile `rust` generates from their schemas has to deserialise into them.

use std::collections::BTreeMap;

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A Rust type: its schema, and whether a text deserialises into it.
pub struct TypeCase {
    /// The type's name.
    pub name: &'static str,
    /// Its schema, as schemars derives it.
    pub schema: Value,
    /// Deserialises a text into the type.
    pub deserialise: fn(&str) -> serde_json::Result<()>,
}

fn case<T: JsonSchema + DeserializeOwned>(name: &'static str) -> TypeCase {
    TypeCase {
        name,
        schema: schema_for!(T).to_value(),
        deserialise: |text| serde_json::from_str::<T>(text).map(drop),
    }
}

/// All types.
#[must_use]
pub fn all() -> Vec<TypeCase> {
    vec![
        case::<Person>("Person"),
        case::<Integers>("Integers"),
        case::<Floats>("Floats"),
        case::<Colour>("Colour"),
        case::<Shape>("Shape"),
        case::<Event>("Event"),
        case::<Untagged>("Untagged"),
        case::<Adjacent>("Adjacent"),
        case::<Tree>("Tree"),
        case::<Collections>("Collections"),
        case::<Flat>("Flat"),
        case::<Renamed>("Renamed"),
        case::<Tuple>("Tuple"),
    ]
}

#[allow(dead_code, reason = "only deserialised into")]
mod shapes {
    use super::*;

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Person {
        /// The full name.
        name: String,
        age: u8,
        email: Option<String>,
        friends: Vec<Friend>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Friend {
        name: String,
        since: i32,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Integers {
        a: i8,
        b: u8,
        c: i16,
        d: u16,
        e: i32,
        f: u32,
        g: i64,
        h: u64,
        i: usize,
        j: std::num::NonZeroU8,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Floats {
        single: f32,
        double: f64,
        maybe: Option<f64>,
        list: Vec<f32>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub(super) enum Colour {
        Red,
        DarkGreen,
        /// As the sky.
        Blue,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) enum Shape {
        Point,
        Circle { radius: f64 },
        Line(i32, i32),
        Named(String),
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub(super) enum Event {
        Opened { by: String },
        Closed { at: u32, reason: Option<String> },
        Ignored,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    pub(super) enum Untagged {
        Number(i64),
        Text(String),
        Many(Vec<bool>),
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", content = "data")]
    pub(super) enum Adjacent {
        Count(u16),
        Label(String),
        Nothing,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Tree {
        value: i32,
        left: Option<Box<Tree>>,
        right: Option<Box<Tree>>,
        children: Vec<Tree>,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Collections {
        counts: BTreeMap<String, u32>,
        pairs: Vec<(String, bool)>,
        fixed: [u8; 3],
        nested: Vec<Vec<i16>>,
        initial: char,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Flat {
        id: u64,
        #[serde(flatten)]
        point: Point,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Point {
        x: i32,
        y: i32,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub(super) struct Renamed {
        first_name: String,
        #[serde(rename = "größe")]
        size: u16,
        #[serde(default)]
        is_admin: bool,
        #[schemars(range(min = 1, max = 5))]
        rating: u8,
        #[schemars(length(min = 2, max = 8))]
        code: String,
    }

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Tuple(i8, String, Option<bool>);
}

use shapes::{
    Adjacent, Collections, Colour, Event, Flat, Floats, Integers, Person, Renamed, Shape, Tree,
    Tuple, Untagged,
};

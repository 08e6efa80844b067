//! The values of a template, which behave like Python's.

use std::cmp::Ordering;
use std::rc::Rc;

use serde_json::Value as Json;

use super::ast::{MacroId, Name};
use super::budget::{Budget, Failure, Held, Result, fail};
use super::functions::Function;
use super::text::{Origin, Text};

/// The fields of a JSON object.
type Fields = serde_json::Map<String, Json>;

/// The maximum nesting of lists and maps.
const MAX_DEPTH: u32 = 200;

#[derive(Clone)]
pub(crate) enum Value {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text),
    List(List),
    Map(Map),
    /// The only mutable value, stored by number, since it may contain itself.
    Namespace(usize),
    Loop(Rc<Loop>),
    Callable(Rc<Callable>),
}

/// The kinds of Python sequences that templates can distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    List,
    Tuple,
    /// A range, or a view of a map's keys, values or items.
    View,
    /// A generator, as filters such as `map` return: true even if empty, and without a length.
    Generator,
}

#[derive(Clone)]
pub(crate) struct List(Rc<ListInner>);

struct ListInner {
    kind: ListKind,
    items: Vec<Value>,
    depth: u32,
    is_hashable: bool,
    _held: Held,
}

#[derive(Clone)]
pub(crate) struct Map(Rc<MapInner>);

struct MapInner {
    entries: Vec<(Value, Value)>,
    depth: u32,
    _held: Held,
}

/// The value of `loop` in the body of a loop.
pub(crate) struct Loop {
    pub(crate) items: List,
    pub(crate) index: usize,
}

pub(crate) enum Callable {
    Function(Function),
    Macro(MacroValue),
    /// A method of a map, not called yet.
    Method(Value, &'static str),
}

/// A macro and the variables around it, except those of the outermost scope.
pub(crate) struct MacroValue {
    pub(crate) definition: MacroId,
    pub(crate) captured: Vec<(Name, Value)>,
    depth: u32,
    _held: Held,
}

impl MacroValue {
    /// A macro whose memory is reserved.
    pub(crate) fn new(
        definition: MacroId,
        captured: Vec<(Name, Value)>,
        held: Held,
    ) -> Result<Self> {
        // A macro captures those before it, and values are dropped recursively.
        let depth = checked_depth(captured.iter().map(|(_, value)| value))?;
        Ok(Self {
            definition,
            captured,
            depth,
            _held: held,
        })
    }
}

impl List {
    pub(crate) fn new(budget: &Budget, kind: ListKind, items: Vec<Value>) -> Result<Self> {
        budget.spend(1 + items.len() as u64 / 8)?;
        let depth = checked_depth(items.iter())?;
        let is_hashable = kind == ListKind::Tuple && items.iter().all(Value::is_hashable);
        let held = budget.hold(64 + items.capacity() * size_of::<Value>())?;
        Ok(Self(Rc::new(ListInner {
            kind,
            items,
            depth,
            is_hashable,
            _held: held,
        })))
    }

    pub(crate) fn kind(&self) -> ListKind {
        self.0.kind
    }

    pub(crate) fn items(&self) -> &[Value] {
        &self.0.items
    }
}

impl Map {
    /// Of two entries with the same key, the last value is used, at the position of the first.
    pub(crate) fn new(budget: &Budget, entries: Vec<(Value, Value)>) -> Result<Self> {
        let mut unique: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            if !key.is_hashable() {
                return fail(format!("{} cannot be the key of a map", key.kind()));
            }
            match position(budget, &unique, &key)? {
                Some(at) => unique[at].1 = value,
                None => unique.push((key, value)),
            }
        }
        Self::of_unique(budget, unique)
    }

    /// A map of entries whose keys are known to be distinct.
    fn of_unique(budget: &Budget, entries: Vec<(Value, Value)>) -> Result<Self> {
        budget.spend(1 + entries.len() as u64 / 8)?;
        let depth = checked_depth(entries.iter().flat_map(|(key, value)| [key, value]))?;
        let held = budget.hold(64 + entries.capacity() * size_of::<(Value, Value)>())?;
        Ok(Self(Rc::new(MapInner {
            entries,
            depth,
            _held: held,
        })))
    }

    pub(crate) fn entries(&self) -> &[(Value, Value)] {
        &self.0.entries
    }

    pub(crate) fn get(&self, budget: &Budget, key: &Value) -> Result<Option<&Value>> {
        let at = position(budget, &self.0.entries, key)?;
        Ok(at.map(|at| &self.0.entries[at].1))
    }

    pub(crate) fn get_str(&self, budget: &Budget, key: &str) -> Result<Option<&Value>> {
        budget.spend(self.0.entries.len() as u64 / 16)?;
        for (found, value) in &self.0.entries {
            if let Value::Text(text) = found
                && text.len() == key.len()
            {
                budget.spend(key.len() as u64 / 64)?;
                if **text == *key {
                    return Ok(Some(value));
                }
            }
        }
        Ok(None)
    }
}

fn position(budget: &Budget, entries: &[(Value, Value)], key: &Value) -> Result<Option<usize>> {
    budget.spend(entries.len() as u64 / 16)?;
    for (at, (found, _)) in entries.iter().enumerate() {
        if found.equals(budget, key)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// One more than the maximum depth of some values.
fn checked_depth<'v>(values: impl Iterator<Item = &'v Value>) -> Result<u32> {
    let depth = 1 + values.map(Value::depth).max().unwrap_or(0);
    match depth <= MAX_DEPTH {
        true => Ok(depth),
        false => Err(too_deep()),
    }
}

fn too_deep() -> Failure {
    Failure::Limit("levels of nested values", u64::from(MAX_DEPTH))
}

impl Value {
    /// A value of the conversation.
    pub(crate) fn of_json(budget: &Budget, json: &Json) -> Result<Self> {
        Self::of_json_at(budget, json, 0)
    }

    fn of_json_at(budget: &Budget, json: &Json, depth: u32) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        budget.spend(1)?;
        Ok(match json {
            Json::Null => Self::None,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.to_string().parse() {
                Ok(whole) => Self::Int(whole),
                Err(_) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::data(budget, text)?,
            Json::Array(items) => {
                let items = items.iter();
                let items = items.map(|item| Self::of_json_at(budget, item, depth + 1));
                Self::list(budget, items.collect::<Result<_>>()?)?
            }
            Json::Object(fields) => Self::of_entries(budget, fields, |_, value| {
                Self::of_json_at(budget, value, depth + 1)
            })?,
        })
    }

    /// A message of the conversation.
    ///
    /// A role that is a single word counts as the template's text, since `'<|' + message.role + '|>'` is the name of a
    /// token.
    pub(crate) fn of_message(budget: &Budget, fields: &Fields) -> Result<Self> {
        let is_word = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        };
        Self::of_entries(budget, fields, |name, value| match value {
            Json::String(role) if name == "role" && is_word(role) => Self::template(budget, role),
            _ => Self::of_json_at(budget, value, 1),
        })
    }

    fn of_entries(
        budget: &Budget,
        fields: &Fields,
        of_field: impl Fn(&str, &Json) -> Result<Self>,
    ) -> Result<Self> {
        let entries = fields.iter().map(|(name, value)| {
            let value = of_field(name, value)?;
            Ok((Self::data(budget, name)?, value))
        });
        Ok(Self::Map(Map::of_unique(
            budget,
            entries.collect::<Result<_>>()?,
        )?))
    }

    pub(crate) fn data(budget: &Budget, text: &str) -> Result<Self> {
        Ok(Self::Text(Text::new(budget, text, Origin::Data)?))
    }

    pub(crate) fn template(budget: &Budget, text: &str) -> Result<Self> {
        Ok(Self::Text(Text::new(budget, text, Origin::Template)?))
    }

    pub(crate) fn list(budget: &Budget, items: Vec<Value>) -> Result<Self> {
        Ok(Self::List(List::new(budget, ListKind::List, items)?))
    }

    pub(crate) fn list_of(budget: &Budget, kind: ListKind, items: Vec<Value>) -> Result<Self> {
        Ok(Self::List(List::new(budget, kind, items)?))
    }

    pub(crate) fn of_len(len: usize) -> Self {
        Self::Int(len as i128)
    }

    /// The type of the value, for errors.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "an undefined value",
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "an int",
            Self::Float(_) => "a float",
            Self::Text(_) => "a str",
            Self::List(list) => match list.kind() {
                ListKind::List => "a list",
                ListKind::Tuple => "a tuple",
                ListKind::View => "a view",
                ListKind::Generator => "a generator",
            },
            Self::Map(_) => "a dict",
            Self::Namespace(_) => "a namespace",
            Self::Loop(_) => "a loop",
            Self::Callable(_) => "a function",
        }
    }

    fn depth(&self) -> u32 {
        match self {
            Self::List(list) => list.0.depth,
            Self::Map(map) => map.0.depth,
            Self::Loop(state) => 1 + state.items.0.depth,
            Self::Callable(callable) => match &**callable {
                Callable::Function(_) => 0,
                Callable::Method(value, _) => 1 + value.depth(),
                Callable::Macro(value) => value.depth,
            },
            _ => 0,
        }
    }

    fn is_hashable(&self) -> bool {
        match self {
            Self::List(list) => list.0.is_hashable,
            Self::Map(_) => false,
            _ => true,
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => list.kind() == ListKind::Generator || !list.items().is_empty(),
            Self::Map(map) => !map.entries().is_empty(),
            Self::Namespace(_) | Self::Loop(_) | Self::Callable(_) => true,
        }
    }

    /// A bool, int or float as an integer.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Bool(value) => Some(i128::from(*value)),
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            _ => self.as_int().map(|value| value as f64),
        }
    }

    pub(crate) fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of an iterable value; `None` if it cannot be iterated over.
    pub(crate) fn items(&self, budget: &Budget) -> Result<Option<List>> {
        let items = match self {
            Self::Undefined => Vec::new(),
            Self::List(list) => return Ok(Some(list.clone())),
            Self::Map(map) => {
                budget.spend(map.entries().len() as u64)?;
                map.entries().iter().map(|(key, _)| key.clone()).collect()
            }
            Self::Text(text) => {
                let mut items = Vec::new();
                let mut held = budget.hold(0)?;
                for (at, c) in text.char_indices() {
                    held.grow(2 * size_of::<Self>())?;
                    items.push(Self::Text(text.slice(at..at + c.len_utf8())?));
                }
                items
            }
            _ => return Ok(None),
        };
        List::new(budget, ListKind::List, items).map(Some)
    }

    pub(crate) fn equals(&self, budget: &Budget, other: &Self) -> Result<bool> {
        Ok(match (self, other) {
            (Self::Text(a), Self::Text(b)) => {
                if a.len() == b.len() {
                    budget.spend(a.len() as u64 / 64)?;
                }
                **a == **b
            }
            (Self::Undefined, Self::Undefined) | (Self::None, Self::None) => true,
            (Self::List(a), Self::List(b)) => {
                if a.kind() != b.kind() || a.items().len() != b.items().len() {
                    return Ok(false);
                }
                for (a, b) in a.items().iter().zip(b.items()) {
                    budget.spend(1)?;
                    if !a.equals(budget, b)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Map(a), Self::Map(b)) => {
                if a.entries().len() != b.entries().len() {
                    return Ok(false);
                }
                for (key, value) in a.entries() {
                    budget.spend(1)?;
                    match b.get(budget, key)? {
                        Some(other) if value.equals(budget, other)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Self::Namespace(a), Self::Namespace(b)) => a == b,
            (Self::Callable(a), Self::Callable(b)) => Rc::ptr_eq(a, b),
            _ => match (self.as_int(), other.as_int()) {
                (Some(a), Some(b)) => a == b,
                _ => match (self.as_number(), other.as_number()) {
                    (Some(a), Some(b)) => a == b,
                    _ => false,
                },
            },
        })
    }

    /// The order of two values; an error if Python does not compare them.
    pub(crate) fn order(&self, budget: &Budget, other: &Self) -> Result<Option<Ordering>> {
        budget.spend(2)?;
        if let (Self::Text(a), Self::Text(b)) = (self, other) {
            budget.spend(a.len().min(b.len()) as u64 / 64)?;
            return Ok(Some(a.chars().cmp(b.chars())));
        }
        if let (Self::List(a), Self::List(b)) = (self, other)
            && a.kind() == b.kind()
        {
            for (a, b) in a.items().iter().zip(b.items()) {
                if !a.equals(budget, b)? {
                    return a.order(budget, b);
                }
            }
            return Ok(Some(a.items().len().cmp(&b.items().len())));
        }
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            return Ok(Some(a.cmp(&b)));
        }
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => Ok(a.partial_cmp(&b)),
            _ => fail(format!(
                "{} and {} have no order",
                self.kind(),
                other.kind()
            )),
        }
    }
}

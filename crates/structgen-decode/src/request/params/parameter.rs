use std::fmt;

use serde_json::Value;

use super::Params;
use super::form_of;
use crate::Strategy;

/// A row of the table of parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its unique name, which starts with the strategy's name if it belongs to one.
    pub name: &'static str,
    /// Where it is in the serde form.
    pub place: Place,
    /// The type of its values.
    pub kind: ParameterKind,
    /// A line of help.
    pub help: &'static str,
}

/// Where a parameter is in the serde form of [`Params`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Among the sampling parameters, under its name.
    Sampling,
    /// Among the options, under its name.
    Options,
    /// In the strategy, under the rest of its name after the strategy's.
    Strategy,
    /// At the top level, under its name: the strategy itself, and what a program adds to the table.
    Top,
}

/// The type of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A number.
    Number(Range),
    /// A whole number.
    Integer(Range),
    /// `true` or `false`.
    Switch,
    /// One of several words.
    Word(&'static [&'static str]),
    /// The name of a strategy, with default options, or its serde form.
    Strategy,
    /// A string, such as a file name.
    Text,
    /// One string, or a JSON array of them.
    Texts,
    /// Token ids: one, several separated by commas, or a JSON array.
    Ids,
    /// The names of samplers, separated by commas or as a JSON array, or the name of an order.
    Order,
    /// A word, some with a number after a colon: `error`, `crop:8`; or the serde form, if it is an object. The second
    /// item of each pair is where the number is in the serde form.
    Tagged(&'static [(&'static str, NumberAt)]),
    /// Several parameters that are enabled together: `on`, `off`, or a JSON object. Parameters that are not set have
    /// the values given here.
    Group(&'static str),
    /// A JSON value of this form.
    Json(&'static str),
}

/// Where the number of a [tagged](ParameterKind::Tagged) value is in its serde form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberAt {
    /// There is none.
    Nowhere,
    /// `{"word": number}`
    Word,
    /// `{"word": {"field": number}}`
    Field(&'static str),
}

/// The range of a parameter's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
    has_low: bool,
    has_high: bool,
}

impl Range {
    /// Every finite number.
    pub const ANY: Self = Self::new(f64::NEG_INFINITY, f64::INFINITY, false, false);
    /// From 0 to 1.
    pub const UNIT: Self = Self::new(0.0, 1.0, true, true);
    /// At least 0.
    pub const NOT_NEGATIVE: Self = Self::at_least(0.0);
    /// Greater than 0.
    pub const POSITIVE: Self = Self::new(0.0, f64::INFINITY, false, false);

    /// Creates the range between two numbers, each included or not.
    #[must_use]
    pub const fn new(low: f64, high: f64, has_low: bool, has_high: bool) -> Self {
        Self {
            low,
            high,
            has_low,
            has_high,
        }
    }

    /// Creates the range of numbers that are at least `low`.
    #[must_use]
    pub const fn at_least(low: f64) -> Self {
        Self::new(low, f64::INFINITY, true, false)
    }

    /// Returns whether the range contains a number.
    #[must_use]
    pub fn contains(&self, number: f64) -> bool {
        let is_above = number > self.low || (self.has_low && number == self.low);
        let is_below = number < self.high || (self.has_high && number == self.high);
        number.is_finite() && is_above && is_below
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, high, .. } = self;
        match (low.is_finite(), high.is_finite()) {
            (false, _) => f.write_str("finite"),
            (true, false) if self.has_low => write!(f, "{low} or more"),
            (true, false) => write!(f, "above {low}"),
            (true, true) => match (self.has_low, self.has_high) {
                (true, true) => write!(f, "from {low} to {high}"),
                (true, false) => write!(f, "{low} or more, and below {high}"),
                (false, true) => write!(f, "above {low}, and at most {high}"),
                (false, false) => write!(f, "between {low} and {high}"),
            },
        }
    }
}

impl Parameter {
    /// Returns the strategy that it belongs to, if any.
    #[must_use]
    pub fn strategy(&self) -> Option<&'static str> {
        match self.place {
            Place::Strategy => self.name.split_once('.').map(|(strategy, _)| strategy),
            _ => None,
        }
    }

    /// Returns its path in the serde form, such as `options.sampling.dry.multiplier`.
    #[must_use]
    pub fn path(&self) -> String {
        let name = self.name;
        match self.place {
            Place::Sampling => format!("options.sampling.{name}"),
            Place::Options => format!("options.{name}"),
            Place::Strategy => {
                let (_, field) = name.split_once('.').unwrap_or(("", name));
                format!("strategy.{field}")
            }
            Place::Top => name.to_owned(),
        }
    }

    /// Returns its default value. For a parameter in a [group](ParameterKind::Group), this is its value once the group
    /// is enabled.
    #[must_use]
    pub fn default_value(&self) -> Value {
        let mut form = form_of(&Params::default());
        if let Some(strategy) = self.strategy() {
            form["strategy"] = form_of(&Strategy::named(strategy));
        }
        self.value_in(&form)
    }

    /// Returns its value in a serde form, or its default if its group is off.
    #[must_use]
    pub fn value_in(&self, form: &Value) -> Value {
        let path = self.path();
        let mut value = form;
        let mut keys = path.split('.');
        while let Some(key) = keys.next() {
            match value.get(key) {
                Some(Value::Null) => {
                    let Some(last) = keys.next() else { break };
                    let group: Value = serde_json::from_str(self.group()).unwrap_or_default();
                    return group.get(last).cloned().unwrap_or_default();
                }
                Some(inner) => value = inner,
                None => return Value::Null,
            }
        }
        let pointer = format!("/{}", path.replace('.', "/"));
        form.pointer(&pointer).cloned().unwrap_or_default()
    }

    /// Returns the values of the other parameters in its group when it enables the group; empty if it is in no group.
    pub(super) fn group(&self) -> &'static str {
        let group = self.name.rsplit_once('.').map(|(group, _)| group);
        let mut rows = super::PARAMETERS.iter();
        let row = rows.find(|row| Some(row.name) == group && row.place == self.place);
        match row.map(|row| row.kind) {
            Some(ParameterKind::Group(on)) => on,
            _ => "",
        }
    }

    /// Returns the strategies that honour it, by their defaults.
    #[must_use]
    pub fn honoured_by(&self) -> Vec<&'static str> {
        let path = self.path();
        let Some(option) = path.strip_prefix("options.") else {
            let mut names = Strategy::NAMES.to_vec();
            names.retain(|name| self.strategy().is_none_or(|own| own == *name));
            return names;
        };
        let is_refused = |refused: &&str| {
            let rest = option.strip_prefix(*refused);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let honours = |name: &&str| {
            let strategy = Strategy::named(name);
            strategy.is_some_and(|strategy| !strategy.refuses().iter().any(is_refused))
        };
        Strategy::NAMES.iter().copied().filter(honours).collect()
    }
}

/// Describes a valid value, as a continuation of "must be".
impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(range) => write!(f, "a number, {range}"),
            Self::Integer(range) => write!(f, "a whole number, {range}"),
            Self::Switch => f.write_str("true or false"),
            Self::Word(words) => f.write_str(&either(words)),
            Self::Strategy => f.write_str(&either(&Strategy::NAMES)),
            Self::Text => f.write_str("a text"),
            Self::Texts => f.write_str("a text, or a JSON list of texts"),
            Self::Ids => f.write_str("token ids with commas between them"),
            Self::Order => {
                f.write_str("the name of an order, or samplers with commas between them")
            }
            Self::Tagged(tags) => {
                let forms = tags.iter().map(|(word, at)| match at {
                    NumberAt::Nowhere => (*word).to_owned(),
                    _ => format!("{word}:N"),
                });
                f.write_str(&either(&forms.collect::<Vec<_>>()))
            }
            Self::Group(_) => f.write_str("on, off, or a JSON object"),
            Self::Json(form) => write!(f, "JSON of the form {form}"),
        }
    }
}

fn either(words: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        match at {
            0 => {}
            _ if at + 1 == words.len() => text.push_str(" or "),
            _ => text.push_str(", "),
        }
        text.push_str(word.as_ref());
    }
    text
}

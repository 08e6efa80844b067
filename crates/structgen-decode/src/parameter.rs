//! What a row of the tables of parameters says: a name, a type with its range, an effect, and a line of help.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A row of the table of parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its unique name, which starts with the strategy's name if it belongs to one.
    pub name: &'static str,
    /// Where it is in the serde form.
    pub place: Place,
    /// What it has an effect on.
    pub effect: Effect,
    /// The type of its values.
    pub kind: ParameterKind,
    /// A line of help.
    pub help: &'static str,
}

/// What an option has an effect on, by which strategies honour or refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The request as a whole, such as its limits. Every strategy honours it.
    Request,
    /// How tokens are drawn: temperatures, and samplers that truncate.
    Draws,
    /// How tokens are drawn, depending on how probable the earlier ones were: mirostat and adaptive-p.
    Feedback,
    /// The logits of the allowed tokens: biases, bans and penalties.
    Logits,
    /// When an output ends, and what is recorded of each token.
    Tokens,
    /// How many outputs are generated independently of each other.
    Sequences,
    /// How text is written that the constraint forces.
    ForcedText,
    /// What happens to a text that outgrows the context.
    Overflow,
}

/// Where a parameter is in the serde form of [`Params`](crate::request::Params).
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
    /// One of these names of strategies, with default options, or a strategy's serde form.
    Strategy(&'static [&'static str]),
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
        let place = match self.place {
            Place::Sampling => "options.sampling.",
            Place::Options => "options.",
            Place::Strategy => "strategy.",
            Place::Top => "",
        };
        format!("{place}{}", self.field())
    }

    /// Returns its path in the serde form of the sampling parameters, options or strategy that it is a part of.
    fn field(&self) -> &'static str {
        match (self.place, self.name.split_once('.')) {
            (Place::Strategy, Some((_, field))) => field,
            _ => self.name,
        }
    }

    /// Checks its number in the serde form of the sampling parameters or strategy that it is a part of. A parameter of
    /// a group that is off has none.
    pub(crate) fn check(&self, form: &Value) -> Result<(), OutOfRange> {
        let (ParameterKind::Number(range) | ParameterKind::Integer(range)) = self.kind else {
            return Ok(());
        };
        let mut keys = self.field().split('.');
        let Some(value) = keys.try_fold(form, |form, key| form.get(key)) else {
            return Ok(());
        };
        // JSON has no number for infinities and NaN.
        let value = value.as_f64().unwrap_or(f64::NAN);
        match range.contains(value) {
            true => Ok(()),
            false => Err(OutOfRange {
                name: self.name,
                value,
                range,
            }),
        }
    }
}

/// A number outside the range of its parameter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name} is {}, and must be {range}", number(*value))]
#[non_exhaustive]
pub struct OutOfRange {
    /// The parameter.
    pub name: &'static str,
    /// Its value, or NaN if it is infinite.
    pub value: f64,
    /// The range.
    pub range: Range,
}

fn number(value: f64) -> String {
    match value.is_finite() {
        true => value.to_string(),
        false => "infinite or NaN".to_owned(),
    }
}

/// Serialises through text, which gives numbers as people write them: 0.1 rather than the `f32` next to it.
pub(crate) fn form_of(source: &impl Serialize) -> Value {
    let text = serde_json::to_string(source).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Describes a valid value, as a continuation of "must be".
impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(range) => write!(f, "a number, {range}"),
            Self::Integer(range) => write!(f, "a whole number, {range}"),
            Self::Switch => f.write_str("true or false"),
            Self::Word(words) => f.write_str(&either(words)),
            Self::Strategy(names) => f.write_str(&either(names)),
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

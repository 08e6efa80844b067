//! Tool-call formats: how a chat model writes its calls, as data.

mod check;
mod presets;

use serde::Deserialize;
use serde_json::Value;

use crate::{FormatError, is_space};

/// How a chat model writes its calls, its reasoning and its text.
///
/// A format is read from TOML; the fields below are its entries. A marker is a text, or a list of alternative texts.
/// Whether a marker is one token, a special token or several tokens depends on the vocabulary. Whitespace at the ends
/// of a marker is written as in the format, and may be missing when a text is parsed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolFormat {
    /// The name of the format.
    pub name: String,
    /// The models that use it.
    #[serde(default)]
    pub models: String,
    /// Where it is documented.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The markers around the reasoning, which precedes everything else.
    #[serde(default)]
    pub reasoning: Option<Enclosed>,
    /// The markers around text in an output without calls; usually none.
    #[serde(default)]
    pub text: Text,
    /// The markers around text before calls, if `text` has markers.
    #[serde(default)]
    pub preamble: Option<Enclosed>,
    /// The markers around and between calls.
    pub calls: Calls,
    /// A single call.
    pub call: Call,
    /// Sample outputs in this format, and their meaning.
    #[serde(default, rename = "sample")]
    pub samples: Vec<Sample>,
}

/// A marker: a text, or several alternative ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Marker(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Marker {
    fn from(texts: OneOrMany) -> Self {
        match texts {
            OneOrMany::One(text) => Self(vec![text]),
            OneOrMany::Many(texts) => Self(texts),
        }
    }
}

/// The markers around a text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enclosed {
    /// The opening marker.
    pub begin: Marker,
    /// The closing marker: texts that differ only in the whitespace at their ends. The enclosed text cannot contain it.
    pub end: Marker,
}

/// The markers around text in an output without calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The opening marker.
    #[serde(default)]
    pub begin: Marker,
    /// The closing marker. An empty text among its texts stands for end-of-sequence tokens.
    #[serde(default)]
    pub end: Marker,
}

/// The markers around and between calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Where calls may begin.
    #[serde(default)]
    pub position: Position,
    /// The trigger that marks the beginning of calls: a prefix of `begin` followed by `call.begin` (and the opening
    /// brace, if a call is an object). Text never contains it.
    #[serde(default)]
    pub trigger: String,
    /// The marker before the first call.
    #[serde(default)]
    pub begin: Marker,
    /// The marker between calls.
    #[serde(default)]
    pub separator: Marker,
    /// The marker after the last call.
    #[serde(default)]
    pub end: Marker,
    /// Whether there may be several calls.
    #[serde(default = "yes")]
    pub parallel: bool,
}

fn yes() -> bool {
    true
}

/// Where calls may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Position {
    /// After any text.
    #[default]
    Anywhere,
    /// Only at the start of the output, or after its reasoning: an output is either text or calls.
    Start,
}

/// How a single call is written: its name and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "style", rename_all = "lowercase", deny_unknown_fields)]
pub enum Call {
    /// One JSON object with the name and the arguments.
    Object {
        /// The text before the object.
        #[serde(default)]
        begin: String,
        /// The members, in order.
        members: Vec<Member>,
        /// The text after the object.
        #[serde(default)]
        end: String,
    },
    /// The name, followed by the arguments as a JSON object.
    Json {
        /// The text before the name.
        #[serde(default)]
        begin: String,
        /// The id after the name, if calls have one there.
        #[serde(default)]
        id: Option<IdFormat>,
        /// The marker between the name and the arguments.
        #[serde(default)]
        name_end: Marker,
        /// The text after the arguments.
        #[serde(default)]
        end: String,
    },
    /// The name, followed by each argument between tags: strings verbatim, all other values as JSON.
    Tagged {
        /// The text before the name.
        #[serde(default)]
        begin: String,
        /// The marker after the name.
        #[serde(default)]
        name_end: Marker,
        /// An argument.
        parameter: Parameter,
        /// The text after the last argument.
        end: String,
    },
    /// The name, followed by the arguments as `{key:value,…}`: keys verbatim, strings between the format's own quotes,
    /// all other values as JSON. Strings and keys within lists and objects are written in the same way.
    Quoted {
        /// The text before the name.
        #[serde(default)]
        begin: String,
        /// The quote before and after a string, which cannot contain it.
        quote: String,
        /// The text after the closing brace.
        #[serde(default)]
        end: String,
    },
    /// A call in Python syntax: `name(key=value, …)`, with Python literals.
    Python {
        /// The text before the name.
        #[serde(default)]
        begin: String,
        /// The text after the closing parenthesis.
        #[serde(default)]
        end: String,
    },
}

/// A member of a call that is a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The key.
    pub key: String,
    /// What its value is.
    pub holds: MemberContent,
    /// For an id, a regular expression of its values; for a constant, the text.
    #[serde(default)]
    pub value: String,
    /// Whether an id or a constant may be missing.
    #[serde(default)]
    pub optional: bool,
}

/// The content of a member of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberContent {
    /// The tool's name.
    Name,
    /// The arguments.
    Arguments,
    /// The call's id.
    Id,
    /// Always the same text.
    Constant,
}

/// An id after a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdFormat {
    /// The text before the id.
    pub begin: String,
    /// A regular expression of the ids, over ASCII letters, digits, `_` and `-`.
    pub pattern: String,
    /// The end of the text before the name, if the id is more than what matches the pattern: it is then the text from
    /// here on, with the name and `begin`. Of `functions.` is the id `functions.get_weather:0`.
    #[serde(default)]
    pub prefix: Option<String>,
}

/// An argument between tags.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The text before the key.
    pub begin: String,
    /// The marker between the key and the value.
    pub key_end: Marker,
    /// The marker after the value: texts that differ only in the whitespace at their ends. A string cannot contain it.
    pub end: Marker,
}

/// A sample output in the format, and its meaning.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// What it shows.
    pub about: String,
    /// The output.
    pub output: String,
    /// The text in it, without calls and reasoning.
    #[serde(default)]
    pub text: String,
    /// The reasoning in it.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// The calls.
    #[serde(default)]
    pub calls: Vec<SampleCall>,
}

/// A call of a [`Sample`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleCall {
    /// The tool.
    pub name: String,
    /// The arguments, as JSON.
    pub arguments: Argument,
    /// The id.
    #[serde(default)]
    pub id: Option<String>,
}

/// The arguments of a sample, as JSON in a string.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Argument(pub Value);

impl TryFrom<String> for Argument {
    type Error = serde_json::Error;

    fn try_from(json: String) -> Result<Self, Self::Error> {
        serde_json::from_str(&json).map(Self)
    }
}

impl ToolFormat {
    /// Parses a format from the text of a file.
    ///
    /// ```
    /// use structgen_tools::{FormatError, ToolFormat};
    ///
    /// let format = ToolFormat::from_toml(r#"
    ///     name = "brackets"
    ///     [calls]
    ///     trigger = "[[call "
    ///     [call]
    ///     style = "json"
    ///     begin = "[[call "
    ///     name_end = " "
    ///     end = "]]"
    /// "#)?;
    /// assert_eq!(format.name, "brackets");
    ///
    /// let error = ToolFormat::from_toml("name = 'x'\n[calls]\n[call]\nstyle = 'python'").unwrap_err();
    /// assert_eq!(error.to_string(), "`calls.trigger`: without a trigger, calls cannot be told from text");
    /// # Ok::<(), FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the text is not a format, or the parts of the format cannot be distinguished from one
    /// another.
    pub fn from_toml(text: &str) -> Result<Self, FormatError> {
        let format: Self = toml::from_str(text).map_err(|error| FormatError::NotAFormat {
            reason: error.to_string(),
        })?;
        format.check()?;
        Ok(format)
    }

    /// A built-in format, by its name or by a name of the models that use it: `qwen`, `llama3`, …
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        presets::find(name)
    }

    /// The names of the built-in formats.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        presets::ALL.iter().map(|preset| preset.0)
    }

    /// The texts by which calls are recognised.
    pub(crate) fn triggers(&self) -> Vec<String> {
        if !self.calls.trigger.is_empty() {
            return vec![self.calls.trigger.clone()];
        }
        let call = self.call.opening();
        let begins = self.calls.begin.texts();
        begins.map(|begin| format!("{begin}{call}")).collect()
    }

    /// Whether text has markers around it.
    #[must_use]
    pub fn encloses_text(&self) -> bool {
        !self.text.begin.first().is_empty()
    }
}

impl Call {
    /// The text before the call's own content.
    pub(crate) fn begin(&self) -> &str {
        match self {
            Self::Object { begin, .. }
            | Self::Json { begin, .. }
            | Self::Tagged { begin, .. }
            | Self::Quoted { begin, .. }
            | Self::Python { begin, .. } => begin,
        }
    }

    /// The text after the call's own content.
    pub(crate) fn end(&self) -> &str {
        match self {
            Self::Object { end, .. }
            | Self::Json { end, .. }
            | Self::Tagged { end, .. }
            | Self::Quoted { end, .. }
            | Self::Python { end, .. } => end,
        }
    }

    /// The common beginning of all calls.
    pub(crate) fn opening(&self) -> String {
        let brace = if matches!(self, Self::Object { .. }) {
            "{"
        } else {
            ""
        };
        format!("{}{brace}", self.begin())
    }
}

impl IdFormat {
    /// The whole id of a call, given the part of it that matches the pattern.
    pub(crate) fn whole(&self, name: &str, matched: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}{name}{}{matched}", core(&self.begin)),
            None => matched.to_owned(),
        }
    }
}

impl Marker {
    /// The texts, of which there is at least one: the empty one, if there is no other.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let none = self.0.is_empty().then_some("");
        self.0.iter().map(String::as_str).chain(none)
    }

    /// The first of the texts.
    pub(crate) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

/// A marker's text without the whitespace at its ends.
pub(crate) fn core(marker: &str) -> &str {
    marker.trim_matches(is_space)
}

/// The whitespace before and after a marker's text.
pub(crate) fn edges(marker: &str) -> (&str, &str) {
    let left = marker.len() - marker.trim_start_matches(is_space).len();
    let right = marker.trim_end_matches(is_space).len().max(left);
    (&marker[..left], &marker[right..])
}

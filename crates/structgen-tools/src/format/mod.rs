//! How a chat model writes its calls: a format, which is data.

mod check;
mod presets;

use serde::Deserialize;
use serde_json::Value;

use crate::{FormatError, is_space};

/// How a chat model writes its calls, its reasoning and its text.
///
/// Read from TOML; the fields below are its entries. A marker is a text, or a list of texts any of which may stand there; whether a marker is
/// one token, a special one or several is the vocabulary's affair. Whitespace at a marker's ends is written as the format has it, and may
/// be missing where a text is read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolFormat {
    /// The name of the format.
    pub name: String,
    /// Which models use it.
    #[serde(default)]
    pub models: String,
    /// Where it is documented.
    #[serde(default)]
    pub sources: Vec<String>,
    /// What encloses the reasoning before anything else.
    #[serde(default)]
    pub reasoning: Option<Enclosed>,
    /// What encloses text where there are no calls: mostly nothing.
    #[serde(default)]
    pub text: Text,
    /// What encloses text before calls, where `text` is enclosed.
    #[serde(default)]
    pub preamble: Option<Enclosed>,
    /// What stands around and between calls.
    pub calls: Calls,
    /// A single call.
    pub call: Call,
    /// Texts in this format, and what they mean.
    #[serde(default, rename = "sample")]
    pub samples: Vec<Sample>,
}

/// A text that may stand at a place, or several of which any one may.
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

/// What encloses a text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enclosed {
    /// What it begins with.
    pub begin: Marker,
    /// What it ends with: texts that differ in the whitespace at their ends. What is enclosed does not have it.
    pub end: Marker,
}

/// What encloses text where there are no calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// What it begins with.
    #[serde(default)]
    pub begin: Marker,
    /// What it ends with. An empty text among them is for ends that are end-of-sequence tokens.
    #[serde(default)]
    pub end: Marker,
}

/// What stands around and between calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Where calls may begin.
    #[serde(default)]
    pub position: Position,
    /// What says that calls begin: a part, from its start, of `begin` and `call.begin` together. Text never has it.
    #[serde(default)]
    pub trigger: String,
    /// What stands before the first call.
    #[serde(default)]
    pub begin: Marker,
    /// What stands between calls.
    #[serde(default)]
    pub separator: Marker,
    /// What stands behind the last call.
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
    /// Behind any text.
    #[default]
    Anywhere,
    /// At the start of the output only, or behind its reasoning: an output is text or calls.
    Start,
}

/// How a single call is written: its name and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "style", rename_all = "lowercase", deny_unknown_fields)]
pub enum Call {
    /// One JSON object with the name and the arguments.
    Object {
        /// What stands before the object.
        #[serde(default)]
        begin: String,
        /// The members, in order.
        members: Vec<Member>,
        /// What stands behind the object.
        #[serde(default)]
        end: String,
    },
    /// The name, and behind it the arguments as a JSON object.
    Json {
        /// What stands before the name.
        #[serde(default)]
        begin: String,
        /// What stands behind the name if the call has an id there.
        #[serde(default)]
        id: Option<IdFormat>,
        /// What stands between the name and the arguments.
        #[serde(default)]
        name_end: Marker,
        /// What stands behind the arguments.
        #[serde(default)]
        end: String,
    },
    /// The name, and behind it each argument between tags: strings as they are, all else as JSON.
    Tagged {
        /// What stands before the name.
        #[serde(default)]
        begin: String,
        /// What stands behind the name.
        #[serde(default)]
        name_end: Marker,
        /// An argument.
        parameter: Parameter,
        /// What stands behind the last argument.
        end: String,
    },
    /// The name, and behind it the arguments as `{key:value,…}`: keys as they are, strings between quotes of the format's own, all else as
    /// JSON. Strings and keys within lists and objects are written in the same way.
    Quoted {
        /// What stands before the name.
        #[serde(default)]
        begin: String,
        /// What stands before and behind a string, which does not have it.
        quote: String,
        /// What stands behind the closing brace.
        #[serde(default)]
        end: String,
    },
    /// A call as Python has it: `name(key=value, …)`, with literals of Python.
    Python {
        /// What stands before the name.
        #[serde(default)]
        begin: String,
        /// What stands behind the closing parenthesis.
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
    /// What it holds.
    pub holds: MemberContent,
    /// For an id, what it may be: a regular expression. For a constant, the text.
    #[serde(default)]
    pub value: String,
    /// Whether an id or a constant may be missing.
    #[serde(default)]
    pub optional: bool,
}

/// What a member of a call holds.
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

/// An id behind a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdFormat {
    /// What stands before the id.
    pub begin: String,
    /// What the id may be: a regular expression over ASCII letters, digits, `_` and `-`.
    pub pattern: String,
}

/// An argument between tags.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What stands before the key.
    pub begin: String,
    /// What stands between the key and the value.
    pub key_end: Marker,
    /// What stands behind the value: texts that differ in the whitespace at their ends. A string does not have it.
    pub end: Marker,
}

/// A text in the format, and what it means.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// What it shows.
    pub about: String,
    /// The output.
    pub output: String,
    /// The text in it that is neither call nor reasoning.
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

/// Arguments that a file gives as JSON in a text.
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
    /// A format from the text of a file.
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
    /// [`FormatError`] when the text is no format, or one whose parts cannot be told from one another.
    pub fn from_toml(text: &str) -> Result<Self, FormatError> {
        let format: Self = toml::from_str(text).map_err(|error| FormatError::NotAFormat {
            reason: error.to_string(),
        })?;
        format.check()?;
        Ok(format)
    }

    /// A format that comes along, by its name or another name of the models that use it: `qwen`, `llama3`, …
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        presets::find(name)
    }

    /// The names of the formats that come along.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        presets::ALL.iter().map(|preset| preset.0)
    }

    /// What calls are recognised by.
    pub(crate) fn triggers(&self) -> Vec<String> {
        if !self.calls.trigger.is_empty() {
            return vec![self.calls.trigger.clone()];
        }
        let call = self.call.opening();
        let begins = self.calls.begin.texts();
        begins.map(|begin| format!("{begin}{call}")).collect()
    }

    /// Whether text stands between markers.
    #[must_use]
    pub fn encloses_text(&self) -> bool {
        !self.text.begin.first().is_empty()
    }
}

impl Call {
    /// What stands before the call's own content.
    pub(crate) fn begin(&self) -> &str {
        match self {
            Self::Object { begin, .. }
            | Self::Json { begin, .. }
            | Self::Tagged { begin, .. }
            | Self::Quoted { begin, .. }
            | Self::Python { begin, .. } => begin,
        }
    }

    /// What stands behind the call's own content.
    pub(crate) fn end(&self) -> &str {
        match self {
            Self::Object { end, .. }
            | Self::Json { end, .. }
            | Self::Tagged { end, .. }
            | Self::Quoted { end, .. }
            | Self::Python { end, .. } => end,
        }
    }

    /// What every call begins with.
    pub(crate) fn opening(&self) -> String {
        let brace = if matches!(self, Self::Object { .. }) {
            "{"
        } else {
            ""
        };
        format!("{}{brace}", self.begin())
    }
}

impl Marker {
    /// The texts, of which there is at least one: the empty one, if no other.
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

/// The whitespace before a marker's text, and the one behind.
pub(crate) fn edges(marker: &str) -> (&str, &str) {
    let left = marker.len() - marker.trim_start_matches(is_space).len();
    let right = marker.trim_end_matches(is_space).len().max(left);
    (&marker[..left], &marker[right..])
}

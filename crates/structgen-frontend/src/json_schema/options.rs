//! How a schema is compiled.

use serde_json::Value;
use structgen_grammar::{EscapeForm, JsonForm, Whitespace};

/// A draft of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Draft {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7.
    Draft7,
    /// Draft 2019-09.
    Draft2019,
    /// Draft 2020-12.
    #[default]
    Draft2020,
}

impl Draft {
    /// All drafts, oldest first.
    pub const ALL: [Self; 5] = [
        Self::Draft4,
        Self::Draft6,
        Self::Draft7,
        Self::Draft2019,
        Self::Draft2020,
    ];

    /// The draft whose metaschema has this URI.
    pub(crate) fn of_metaschema(uri: &str) -> Option<Self> {
        let name = uri.strip_suffix('#').unwrap_or(uri);
        let name = name
            .strip_prefix("https://")
            .or_else(|| name.strip_prefix("http://"))?;
        Some(match name.trim_end_matches('/') {
            "json-schema.org/draft-04/schema" => Self::Draft4,
            "json-schema.org/draft-06/schema" => Self::Draft6,
            "json-schema.org/draft-07/schema" => Self::Draft7,
            "json-schema.org/draft/2019-09/schema" => Self::Draft2019,
            "json-schema.org/draft/2020-12/schema" => Self::Draft2020,
            _ => return None,
        })
    }
}

/// What the grammar is for; it decides which part of the schema's language is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Every text that a validator accepts, within limits.
    Exact,
    /// What a model should write: a part of `Exact`.
    #[default]
    Generate,
    /// `Generate`, and what is written deserialises with serde_json into the Rust type that schemars made the schema from, as far as the
    /// schema tells.
    ///
    /// - Values nest at most 127 deep. Numbers are within their type (`int8` to `uint128`, `int`, `uint`), by its `format`.
    /// - Strings of a `format` or `pattern` that schemars gives are such that every type with it takes them: `ip`; `partial-time`,
    ///   `partial-date-time` and `date-time` without leap seconds and with at most nine digits of a second; `zoned-date-time` with an offset in
    ///   brackets; `duration` in hours, minutes and seconds; `uri` as the URL standard has it; decimals of up to 28 digits; versions
    ///   within 64 bits. A `CString` has no U+0000.
    /// - Integer keys of maps are those of [`SchemaOptions::integer_keys`].
    /// - Of the tags of an externally tagged enum one comes, also where the schema takes others beside it (`Result`, `Bound`).
    ///
    /// What is left out is in the report. Some schemas do not tell: that of a `SocketAddr` is any string's, that of a map with `char`
    /// keys any map's, and `#[serde(try_from)]` asks what no schema says. With the type, `Constraint::for_type` of the crate
    /// `structgen` finds out and refuses it.
    Rust,
}

impl Profile {
    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Generate => "generate",
            Self::Rust => "rust",
        }
    }
}

/// What `format` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FormatMode {
    /// Every format that a draft defines is enforced, or the schema is refused.
    #[default]
    Assert,
    /// Formats are annotations.
    Annotate,
}

/// How much work and memory a schema may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchemaLimits {
    /// How deep the schema, as JSON, may nest; never more than 512. A schema read from text nests at most 127 deep, as serde_json has it.
    pub max_depth: usize,
    /// How many JSON values the schema and the documents that it uses may be made of.
    pub max_values: u64,
    /// How many steps the compilation may take, one being the look at one keyword, property or value.
    pub max_steps: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            max_depth: 512,
            max_values: 4_000_000,
            max_steps: 8_000_000,
        }
    }
}

/// In which order the keys of an object come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyOrder {
    /// As the schema declares them, undeclared keys after them.
    Declared,
    /// As the schema declares them, but those that are required before the others, undeclared keys after them.
    RequiredFirst,
    /// Every permutation.
    Any,
}

/// Which integers profile `rust` writes as keys of a map whose keys are integers.
///
/// schemars gives such a map the pattern `^\d+$` where the keys' type is unsigned and `^-?\d+$` where it is signed or never zero, and
/// does not say how wide the type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerKeys {
    bits: u32,
    positive: bool,
    only_bounds: bool,
}

impl IntegerKeys {
    /// From those of 64-bit integers to those that every type holds, `NonZeroI8` included.
    pub const WIDEST_FIRST: [Self; 8] = [
        Self::of(64, false),
        Self::of(32, false),
        Self::of(16, false),
        Self::of(8, false),
        Self::of(64, true),
        Self::of(32, true),
        Self::of(16, true),
        Self::of(8, true),
    ];

    const fn of(bits: u32, positive: bool) -> Self {
        Self {
            bits,
            positive,
            only_bounds: false,
        }
    }

    /// The smallest and the largest of these, and zero where it is one: a type that takes them takes all.
    #[must_use]
    pub fn only_bounds(mut self) -> Self {
        self.only_bounds = true;
        self
    }

    /// Whether those between the smallest, zero and the largest are left out.
    pub(crate) fn are_bounds(self) -> bool {
        self.only_bounds
    }

    /// The smallest and the largest key of an unsigned type.
    pub(crate) fn unsigned(self) -> (i128, i128) {
        (0, (1 << self.bits) - 1)
    }

    /// The smallest and the largest key of a signed type.
    pub(crate) fn signed(self) -> (i128, i128) {
        let half = 1 << (self.bits - 1);
        let low = if self.positive { 1 } else { -half };
        (low, half - 1)
    }
}

impl Default for IntegerKeys {
    /// The integers that a key of every type holds: those of 8 bits, and where the type is not unsigned, the positive ones.
    fn default() -> Self {
        Self::of(8, true)
    }
}

/// How a schema is compiled. Made by [`SchemaOptions::new`] and the methods that each set one thing.
///
/// ```
/// use structgen_frontend::json_schema::{Draft, Profile, SchemaOptions};
///
/// let options = SchemaOptions::new()
///     .with_profile(Profile::Exact)
///     .with_draft(Draft::Draft7);
/// assert_eq!(options.draft, Draft::Draft7);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SchemaOptions {
    /// What the grammar is for.
    pub profile: Profile,
    /// The order of keys; without one, the profile's.
    pub order: Option<KeyOrder>,
    /// What may stand between tokens of JSON; without one, the profile's.
    pub whitespace: Option<Whitespace>,
    /// Which escapes strings may use; without one, the profile's.
    pub escapes: Option<EscapeForm>,
    /// What `format` does.
    pub formats: FormatMode,
    /// The dialect of a schema that does not name one with `$schema`.
    pub draft: Draft,
    /// Documents that references may name, each under its URI.
    pub documents: Vec<(String, Value)>,
    /// How much work a schema may take.
    pub limits: SchemaLimits,
    /// Whether an assertion that is not supported is dropped, and the report says so, instead of being an error.
    pub lenient: bool,
    /// Which integers profile `rust` writes as keys of maps.
    pub integer_keys: IntegerKeys,
    /// What was set by a method above, also where it is the default: the schema does not override it.
    set: ChosenOptions,
}

/// Which of the options that have no way to say "not set" were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ChosenOptions {
    profile: bool,
    formats: bool,
    lenient: bool,
}

impl SchemaOptions {
    /// The defaults: profile generate, formats asserted, draft 2020-12, nothing dropped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the grammar is for.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self.set.profile = true;
        self
    }

    /// Sets the order of keys.
    #[must_use]
    pub fn with_order(mut self, order: KeyOrder) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets what may stand between tokens of JSON.
    #[must_use]
    pub fn with_whitespace(mut self, whitespace: Whitespace) -> Self {
        self.whitespace = Some(whitespace);
        self
    }

    /// Sets which escapes strings may use.
    #[must_use]
    pub fn with_escapes(mut self, escapes: EscapeForm) -> Self {
        self.escapes = Some(escapes);
        self
    }

    /// Sets what `format` does.
    #[must_use]
    pub fn with_formats(mut self, formats: FormatMode) -> Self {
        self.formats = formats;
        self.set.formats = true;
        self
    }

    /// Sets the dialect of schemas that do not name one.
    #[must_use]
    pub fn with_draft(mut self, draft: Draft) -> Self {
        self.draft = draft;
        self
    }

    /// Registers a document that references may name by this URI, or by the `$id` in it.
    #[must_use]
    pub fn with_document(mut self, uri: impl Into<String>, document: Value) -> Self {
        self.documents.push((uri.into(), document));
        self
    }

    /// Sets how much work a schema may take.
    #[must_use]
    pub fn with_limits(mut self, limits: SchemaLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether assertions that are not supported are dropped.
    #[must_use]
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self.set.lenient = true;
        self
    }

    /// Sets which integers profile `rust` writes as keys of maps.
    #[must_use]
    pub fn with_integer_keys(mut self, keys: IntegerKeys) -> Self {
        self.integer_keys = keys;
        self
    }

    /// The written form of the values: the profile's, with what is set here instead.
    #[must_use]
    pub fn form(&self) -> JsonForm {
        let mut form = match self.profile {
            Profile::Exact => JsonForm::exact(),
            Profile::Generate | Profile::Rust => JsonForm::generate(),
        };
        if self.profile == Profile::Rust {
            // serde_json stops at a nesting of 128.
            form.max_depth = form.max_depth.min(127);
        }
        form.whitespace = self.whitespace.unwrap_or(form.whitespace);
        form.escapes = self.escapes.unwrap_or(form.escapes);
        form
    }

    /// The order of keys: what is set here, else the profile's.
    #[must_use]
    pub fn key_order(&self) -> KeyOrder {
        let of_profile = match self.profile {
            Profile::Exact => KeyOrder::Any,
            Profile::Generate | Profile::Rust => KeyOrder::Declared,
        };
        self.order.unwrap_or(of_profile)
    }

    /// Whether the caller chose the profile.
    pub(crate) fn sets_profile(&self) -> bool {
        self.set.profile || self.profile != Profile::default()
    }

    /// Whether the caller chose what formats do.
    pub(crate) fn sets_formats(&self) -> bool {
        self.set.formats || self.formats != FormatMode::default()
    }

    /// Whether the caller chose if assertions may be dropped.
    pub(crate) fn sets_lenient(&self) -> bool {
        self.set.lenient || self.lenient
    }
}

/// How a schema becomes a part of a grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartOptions<'a> {
    /// What the names of the part's rules begin with, so that parts are told apart.
    pub prefix: &'a str,
    /// The words for `true`, `false` and `null`.
    pub words: Words,
}

/// The words for `true`, `false` and `null`: the one thing in which values that are neither strings nor numbers differ between JSON and the
/// literals of programming languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// `true`.
    pub yes: &'static str,
    /// `false`.
    pub no: &'static str,
    /// `null`.
    pub null: &'static str,
}

impl Words {
    /// As JSON has them.
    pub const JSON: Self = Self {
        yes: "true",
        no: "false",
        null: "null",
    };
    /// As Python has them.
    pub const PYTHON: Self = Self {
        yes: "True",
        no: "False",
        null: "None",
    };
}

impl Default for Words {
    fn default() -> Self {
        Self::JSON
    }
}

#[cfg(test)]
mod tests {
    use super::Draft;

    #[test]
    fn metaschemas_are_known_with_and_without_a_fragment() {
        for (uri, draft) in [
            (
                "http://json-schema.org/draft-07/schema#",
                Some(Draft::Draft7),
            ),
            (
                "https://json-schema.org/draft/2020-12/schema",
                Some(Draft::Draft2020),
            ),
            ("http://json-schema.org/draft-03/schema#", None),
        ] {
            assert_eq!(Draft::of_metaschema(uri), draft, "{uri}");
        }
    }
}

//! How a schema is compiled.

use serde_json::Value;
use structgen_grammar::{EscapeForm, JsonForm, Whitespace};
use structgen_regular::CancelToken;

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

/// What the grammar is for, which determines the part of the schema's language that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Every text that a validator accepts, within limits.
    Exact,
    /// What a model should write: a subset of `Exact`. Integers have at most 19 digits, other numbers
    /// 15 before the point and 15 after it.
    #[default]
    Generate,
    /// As `Generate`, and the output deserialises with serde_json into the Rust type from which schemars derived the
    /// schema, as far as the schema describes it.
    ///
    /// - Values nest at most 127 deep. Numbers are within their type (`int8` to `uint128`, `int`, `uint`), by its
    ///   `format`, and integers have at most 20 digits: enough for all of 64 bits. Those of 128 bits
    ///   stay between `i64::MIN` and `u64::MAX`, beyond which serde_json's own values are floating-point numbers.
    /// - Strings of a `format` or `pattern` that schemars derives are accepted by every type with it: `ip`;
    ///   `partial-time`, `partial-date-time` and `date-time` without leap seconds and with at most nine digits of a
    ///   second; `zoned-date-time` with an offset in brackets; `duration` in hours, minutes and seconds; `uri` by the
    ///   URL standard; decimals of up to 28 digits; versions within 64 bits. A `CString` has no U+0000.
    /// - Integer keys of maps are those of [`SchemaOptions::integer_keys`].
    /// - An externally tagged enum has exactly one tag, even if the schema allows others (`Result`, `Bound`).
    ///
    /// What is left out is in the report. Some schemas do not describe the type: that of a `SocketAddr` allows any
    /// string, that of a map with `char` keys any map, and `#[serde(try_from)]` has conditions that no schema contains.
    /// Given the type, `Constraint::for_type` of the crate `structgen` detects that and refuses it.
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

/// Where the strings and numbers of an output come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Source {
    /// Unrestricted: the model chooses them.
    #[default]
    Model,
    /// They occur in the input, once the constraint is bound to one. This does not concern strings of an `enum` or
    /// `const`.
    Input,
}

impl Source {
    /// The source of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "model" => Self::Model,
            "input" => Self::Input,
            _ => return None,
        })
    }
}

/// Limits on the work and memory for a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchemaLimits {
    /// The maximum nesting of the schema as JSON, at most 512. A schema read from text nests at most 127 deep, which is
    /// serde_json's limit.
    pub max_depth: usize,
    /// The maximum number of JSON values in the schema and the documents that it uses.
    pub max_values: u64,
    /// The maximum number of steps of the compilation. A step looks at one keyword, property or value.
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

/// The order of the keys of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOrder {
    /// As declared in the schema, followed by undeclared keys.
    #[default]
    Declared,
    /// As declared in the schema, required keys before optional ones, followed by undeclared keys.
    RequiredFirst,
    /// Every permutation.
    Any,
}

/// Which integers profile `rust` writes as keys of a map whose keys are integers.
///
/// schemars gives such a map the pattern `^\d+$` where the keys' type is unsigned and `^-?\d+$` where it is signed or
/// never zero, and does not describe the type's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerKeys {
    bits: u32,
    positive: bool,
    only_bounds: bool,
}

impl IntegerKeys {
    /// From the keys of 64-bit integers to those that fit into every type, including `NonZeroI8`.
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

    /// Restricts the keys to the smallest, the largest and, if it is included, zero: a type that accepts these accepts
    /// all.
    #[must_use]
    pub fn only_bounds(mut self) -> Self {
        self.only_bounds = true;
        self
    }

    /// Whether only the smallest, zero and the largest are written.
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
    /// The integers that fit into the key of every type: those of 8 bits, and only positive ones if the type is not
    /// unsigned.
    fn default() -> Self {
        Self::of(8, true)
    }
}

/// How a schema is compiled. Starts from [`SchemaOptions::new`]; each method sets one option.
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
    /// The order of keys; `None` for the profile's.
    pub order: Option<KeyOrder>,
    /// The whitespace allowed between tokens of JSON; `None` for the profile's.
    pub whitespace: Option<Whitespace>,
    /// The escapes allowed in strings; `None` for the profile's.
    pub escapes: Option<EscapeForm>,
    /// What `format` does.
    pub formats: FormatMode,
    /// The dialect of a schema that does not name one with `$schema`.
    pub draft: Draft,
    /// Documents for references, each with its URI.
    pub documents: Vec<(String, Value)>,
    /// How much work a schema may take.
    pub limits: SchemaLimits,
    /// Cancels the compilation.
    pub cancel: Option<CancelToken>,
    /// Whether an unsupported assertion is dropped and reported instead of being an error.
    pub lenient: bool,
    /// Whether a probable mistake in the schema is an error instead of being a warning of the report.
    pub strict: bool,
    /// Which integers profile `rust` writes as keys of maps.
    pub integer_keys: IntegerKeys,
    /// The source of strings and numbers, unless the schema names one at a node.
    pub source: Source,
    /// Which options were set by a method below, even to their defaults: the schema does not override these.
    set: ChosenOptions,
}

/// Which options were set, of those without a value for "not set".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ChosenOptions {
    profile: bool,
    formats: bool,
    lenient: bool,
    source: bool,
}

impl SchemaOptions {
    /// The defaults: profile generate, formats asserted, draft 2020-12, nothing dropped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These options for the schema alone, whatever Rust types accept; without documents.
    pub(crate) fn without_rust_types(&self) -> Self {
        Self {
            profile: Profile::Exact,
            documents: Vec::new(),
            limits: self.limits,
            cancel: self.cancel.clone(),
            ..*self
        }
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

    /// Sets the whitespace allowed between tokens of JSON.
    #[must_use]
    pub fn with_whitespace(mut self, whitespace: Whitespace) -> Self {
        self.whitespace = Some(whitespace);
        self
    }

    /// Sets the escapes allowed in strings.
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

    /// Registers a document for references to this URI or to the document's `$id`.
    #[must_use]
    pub fn with_document(mut self, uri: impl Into<String>, document: Value) -> Self {
        self.documents.push((uri.into(), document));
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: SchemaLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether unsupported assertions are dropped.
    #[must_use]
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self.set.lenient = true;
        self
    }

    /// Sets whether probable mistakes, such as a misspelt keyword, are errors.
    ///
    /// ```
    /// use structgen_frontend::json_schema::{SchemaError, SchemaOptions, compile_str};
    ///
    /// let options = SchemaOptions::new().with_strict(true);
    /// let error = compile_str(r#"{"format": "emial"}"#, &options).unwrap_err();
    /// assert!(matches!(error, SchemaError::Mistaken(_)));
    /// ```
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets which integers profile `rust` writes as keys of maps.
    #[must_use]
    pub fn with_integer_keys(mut self, keys: IntegerKeys) -> Self {
        self.integer_keys = keys;
        self
    }

    /// Sets where strings and numbers come from.
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = source;
        self.set.source = true;
        self
    }

    /// The written form of the values: the profile's, overridden by what is set.
    #[must_use]
    pub fn form(&self) -> JsonForm {
        let mut form = match self.profile {
            Profile::Exact => JsonForm::exact(),
            Profile::Generate | Profile::Rust => JsonForm::generate(),
        };
        if self.profile == Profile::Rust {
            // serde_json stops at a nesting of 128.
            form.max_depth = form.max_depth.min(127);
            // As many as `u64::MAX` has.
            form.numbers.integer_digits = 20;
        }
        form.whitespace = self.whitespace.unwrap_or(form.whitespace);
        form.escapes = self.escapes.unwrap_or(form.escapes);
        form
    }

    /// The order of keys: the one that was set, or else the profile's.
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

    /// Whether the caller chose the mode of formats.
    pub(crate) fn sets_formats(&self) -> bool {
        self.set.formats || self.formats != FormatMode::default()
    }

    /// Whether the caller chose where values come from.
    #[must_use]
    pub fn sets_source(&self) -> bool {
        self.set.source || self.source != Source::default()
    }

    /// Whether the caller chose if assertions may be dropped.
    pub(crate) fn sets_lenient(&self) -> bool {
        self.set.lenient || self.lenient
    }
}

/// How a schema is compiled as a part of a grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartOptions<'a> {
    /// Prefix of the names of the part's rules, which keeps the parts apart.
    pub prefix: &'a str,
    /// The words for `true`, `false` and `null`.
    pub words: Words,
}

/// The words for `true`, `false` and `null`, in which JSON and the literals of programming languages differ.
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
    /// JSON's words.
    pub const JSON: Self = Self {
        yes: "true",
        no: "false",
        null: "null",
    };
    /// Python's words.
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

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
}

/// What the grammar is for; it decides which part of the schema's language is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Every text that a validator accepts, within limits.
    Exact,
    /// What a model should write: a part of `Exact`.
    #[default]
    Generate,
    /// `Generate`, and what is written deserialises into the Rust type that the schema was made from.
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
    /// What was set by a method above, also where it is the default: the schema does not override it.
    set: Set,
}

/// Which of the options that have no way to say "not set" were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set {
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

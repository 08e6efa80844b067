//! How JSON values may be written.

/// The written form of the JSON values in a grammar.
///
/// The two constructors are the forms of the profiles: [`JsonForm::exact`] takes every text that a validator takes,
/// within limits; [`JsonForm::generate`] is what a model should write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonForm {
    /// What may stand between two tokens of JSON.
    pub whitespace: Whitespace,
    /// Which escapes a string may use.
    pub escapes: EscapeForm,
    /// How numbers may be written.
    pub numbers: NumberForm,
    /// How deep arrays and objects may nest: a limit.
    pub max_depth: u32,
}

/// What may stand between two tokens of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whitespace {
    /// Nothing.
    Compact,
    /// Nothing, or one space after a comma or colon.
    Spaced,
    /// One space after every comma and colon, as Python's `json.dumps` writes it.
    OneSpace,
    /// A line for every member and item, indented by its depth, and one space after a colon; nothing in empty objects
    /// and arrays. So writes serde_json's `to_string_pretty`, with two spaces.
    Indented {
        /// What stands at the start of a line for each level of nesting.
        indent: Indent,
    },
    /// Up to `max` characters out of space, tab, line feed and carriage return at every place where JSON takes
    /// whitespace.
    Bounded {
        /// The most characters at one place.
        max: u16,
    },
}

/// What stands at the start of a line for each level of nesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indent {
    /// So many spaces.
    Spaces(u8),
    /// A tab.
    Tab,
}

impl Indent {
    /// How many characters a level takes.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Self::Spaces(width) => width.into(),
            Self::Tab => 1,
        }
    }

    /// The character.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Spaces(_) => b' ',
            Self::Tab => b'\t',
        }
    }
}

impl Default for Indent {
    /// Two spaces.
    fn default() -> Self {
        Self::Spaces(2)
    }
}

/// Which escapes a string may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EscapeForm {
    /// Every escape of RFC 8259 wherever it may stand.
    Any,
    /// Only what has to be escaped, and that in its shortest form (`\n`, `\"`, `\u001f`).
    Needed,
}

/// How numbers may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberForm {
    /// Whether an exponent (`1e3`) may be used.
    pub exponent: bool,
    /// Whether a fraction that says nothing may be used: `1.0` for an integer, `0.50`.
    pub redundant_fraction: bool,
    /// Whether zero may have a sign: `-0`.
    pub negative_zero: bool,
    /// The most digits before the decimal point.
    pub integer_digits: u16,
    /// The most digits after the decimal point.
    pub fraction_digits: u16,
    /// The most digits of an exponent.
    pub exponent_digits: u16,
}

impl JsonForm {
    /// Every text that a validator takes, within limits.
    #[must_use]
    pub fn exact() -> Self {
        Self {
            whitespace: Whitespace::Bounded { max: 256 },
            escapes: EscapeForm::Any,
            numbers: NumberForm {
                exponent: true,
                redundant_fraction: true,
                negative_zero: true,
                integer_digits: 40,
                fraction_digits: 40,
                exponent_digits: 3,
            },
            max_depth: 100_000,
        }
    }

    /// What a model should write: one space at most, plain numbers, no needless escapes.
    #[must_use]
    pub fn generate() -> Self {
        Self {
            whitespace: Whitespace::Spaced,
            escapes: EscapeForm::Needed,
            numbers: NumberForm {
                exponent: false,
                // An amount keeps the zeros that it was written with; integers are written whole.
                redundant_fraction: true,
                negative_zero: false,
                integer_digits: 15,
                fraction_digits: 15,
                exponent_digits: 0,
            },
            max_depth: 64,
        }
    }
}

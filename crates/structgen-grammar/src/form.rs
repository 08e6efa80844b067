//! How JSON values may be written.

/// The written form of the JSON values in a grammar.
///
/// The two constructors are the forms of the profiles: [`JsonForm::exact`] accepts every text that a validator accepts,
/// within limits; [`JsonForm::generate`] is what a model should write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonForm {
    /// The whitespace between two tokens of JSON.
    pub whitespace: Whitespace,
    /// Which escapes a string may use.
    pub escapes: EscapeForm,
    /// How numbers may be written.
    pub numbers: NumberForm,
    /// The maximum nesting of arrays and objects.
    pub max_depth: u32,
}

/// The whitespace between two tokens of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whitespace {
    /// None.
    Compact,
    /// Optionally one space after a comma or colon.
    Spaced,
    /// One space after every comma and colon, as Python's `json.dumps` writes it.
    OneSpace,
    /// A line for every member and item, indented by its depth, and one space after a colon; nothing in empty objects
    /// and arrays. This is the output of serde_json's `to_string_pretty`, with two spaces.
    Indented {
        /// The indentation for each level of nesting.
        indent: Indent,
    },
    /// Up to `max` spaces, tabs, line feeds and carriage returns, wherever JSON allows whitespace.
    Bounded {
        /// The maximum number of characters in one place.
        max: u16,
    },
}

/// The indentation for each level of nesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indent {
    /// This number of spaces.
    Spaces(u8),
    /// A tab.
    Tab,
}

impl Indent {
    /// The number of characters per level.
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
    /// Every escape of RFC 8259, wherever it is valid.
    Any,
    /// Only characters that must be escaped, in their shortest form (`\n`, `\"`, `\u001f`).
    Needed,
}

/// How numbers may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberForm {
    /// Whether an exponent (`1e3`) may be used.
    pub exponent: bool,
    /// Whether redundant zeros may be written in a fraction: `1.0` for an integer, `0.50`.
    pub redundant_fraction: bool,
    /// Whether zero may have a sign: `-0`.
    pub negative_zero: bool,
    /// The maximum number of digits before the decimal point.
    pub integer_digits: u16,
    /// The maximum number of digits after the decimal point.
    pub fraction_digits: u16,
    /// The maximum number of digits of an exponent.
    pub exponent_digits: u16,
}

impl JsonForm {
    /// Every text that a validator accepts, within limits.
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

    /// What a model should write: at most one space, plain numbers, no needless escapes. An integer has up to 19
    /// digits, so that all identifiers of 64 bits can be copied from a text; other numbers have up to 15 before the
    /// point and after it.
    #[must_use]
    pub fn generate() -> Self {
        Self {
            whitespace: Whitespace::Spaced,
            escapes: EscapeForm::Needed,
            numbers: NumberForm {
                exponent: false,
                // Amounts may keep trailing zeros; integers are written without a fraction.
                redundant_fraction: true,
                negative_zero: false,
                integer_digits: 19,
                fraction_digits: 15,
                exponent_digits: 0,
            },
            max_depth: 64,
        }
    }
}

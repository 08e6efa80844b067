//! Prior knowledge about a text.

use crate::Language;

/// Prior knowledge about a text. By default there is none, and the text itself decides.
///
/// Options affect only the order of readings; none is omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The language of the text. By default, the language whose common words are most frequent; if several are, the one
    /// with the most words of its own; English if there are none. Words of all languages are recognised, except that a
    /// word such as `once` (Spanish for eleven) counts only in its own language. `1 billion` is a thousand millions in
    /// English and a million millions in French and German; without common words of a language, it can be either.
    pub language: Option<Language>,
    /// The first part of `5/12/24`. By default, the order shown by another date in the same text that can be read in
    /// only one way, or else the month in English and the day in the other languages.
    pub date_order: Option<DateOrder>,
    /// The decimal mark, which determines the reading of `1.234` and `1,234`. By default, the mark used by other
    /// numbers in the same text, or else the point in English and the comma in the other languages. Without this
    /// option, whole thousands (`20.000`) and amounts of money (`1.234 €`) always count as grouped.
    pub decimal_mark: Option<DecimalMark>,
}

/// The order of day and month in a date with slashes or hyphens. With points, the day always comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// `31/12/2024`.
    DayFirst,
    /// `12/31/2024`.
    MonthFirst,
}

/// The mark between a number's whole part and its fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1,234.50`.
    Point,
    /// `1.234,50`.
    Comma,
}

//! What is known about a text beforehand.

use crate::Language;

/// What is known about a text beforehand. By default nothing is, and the text itself decides.
///
/// Options choose the order of readings only; none is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The language of the text. Otherwise the language whose common words are most frequent, or most of whose words
    /// are its own if several are; English if there are none. Words of all languages are recognised, except that a word
    /// such as `once` (Spanish for eleven) counts only in its own language.
    pub language: Option<Language>,
    /// What the first part of `5/12/24` is. Otherwise what a date of the same text shows that can be read in only one
    /// way; otherwise the month in English and the day in the other languages.
    pub date_order: Option<DateOrder>,
    /// The mark before the fraction, which decides about `1.234` and `1,234`. Otherwise the mark that other numbers of
    /// the same text use; otherwise the point in English and the comma in the other languages. Without this option,
    /// whole thousands (`20.000`) and amounts of money (`1.234 €`) are grouped in any case.
    pub decimal_mark: Option<DecimalMark>,
}

/// The order of day and month in a date between slashes or hyphens. Between points, the day is always first.
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

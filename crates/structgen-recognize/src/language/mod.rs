//! Languages as data: the meanings of words.
//!
//! A language is a table of rows, each with a meaning and its words. Words are folded to lowercase without accents
//! (`fold`). To add a language, add a table, and list it in [`Language::ALL`] and [`Language::words`].

mod english;
mod french;
mod german;
mod german_compounds;
mod spanish;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::TimeUnit;

pub(crate) use german_compounds::{number_of as compound, ordinal_of as compound_ordinal};

/// A language whose words are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
}

impl Language {
    /// All languages. The first is assumed if a text has no common words.
    pub const ALL: [Language; 4] = [
        Language::English,
        Language::German,
        Language::French,
        Language::Spanish,
    ];

    fn words(self) -> Rows {
        match self {
            Language::English => english::WORDS,
            Language::German => german::WORDS,
            Language::French => french::WORDS,
            Language::Spanish => spanish::WORDS,
        }
    }

    /// Returns words that are common in another language with another meaning. They count only in texts of this
    /// language.
    fn homographs(self) -> &'static str {
        match self {
            Language::English => english::HOMOGRAPHS,
            Language::German => german::HOMOGRAPHS,
            Language::French => french::HOMOGRAPHS,
            Language::Spanish => spanish::HOMOGRAPHS,
        }
    }
}

type Rows = &'static [(Sense, &'static str)];

/// The meaning of a word for a recogniser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sense {
    /// Zero, which is not part of larger numbers.
    Zero,
    /// 1 to 9.
    Unit(u8),
    /// 10 to 19.
    Teen(u8),
    /// 20, 30 to 90.
    Ten(u8),
    /// A word for several hundreds: `doscientos`.
    Hundreds(u16),
    /// A hundred, which multiplies the number before it.
    Hundred,
    /// A thousand or more, which multiplies the number before it.
    Scale(u64),
    /// A scale only next to a currency, since the abbreviation is also a word: `Bio.`, `mill.`
    AmountScale(u64),
    /// A count of things that can be halved and multiplied: a dozen.
    Collective(u32),
    /// Tenths: `anderthalb` is 15.
    Tenths(u32),
    /// `a`, which means one before a noun that counts.
    Article,
    Half,
    Quarter,
    /// The word before the fraction of a spoken number: `three point five`.
    Point,
    Minus,
    And,
    Ordinal(u16),
    /// The suffix of an ordinal in digits: `rd`.
    OrdinalMark,
    MonthName(u8),
    TimeUnit(TimeUnit),
    /// A unit directly after a number: `5m`, `2w`.
    ShortTimeUnit(TimeUnit),
    /// A word for a whole duration: a fortnight.
    Span(u32, TimeUnit),
    /// Minutes after an hour: `ten past nine`.
    Past,
    /// Minutes before an hour: `ten to nine`.
    Before,
    /// The word after the number of an hour: `o'clock`, `Uhr`.
    Clock,
    Noon,
    Midnight,
    Morning,
    Afternoon,
    Night,
    /// The word before a time of day: `at`.
    At,
    /// The word between the ends of a range: `to`.
    Until,
    /// The word between day and month: `of`.
    Of,
    /// A word between a time and the part of the day.
    Filler,
    Currency(&'static [&'static str]),
    /// A scale with a currency: `TEUR`.
    ScaledCurrency(u64, &'static [&'static str]),
    /// A hundredth of a currency.
    Cent(&'static [&'static str]),
    Percent,
    /// A common word, by which the language of a text is recognised.
    Common,
}

/// The meaning of a word in a language.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) language: Language,
    pub(crate) sense: Sense,
    /// Whether it counts only in texts of its language.
    pub(crate) homograph: bool,
}

static LEXICON: LazyLock<FxHashMap<&'static str, Vec<Entry>>> = LazyLock::new(|| {
    let mut lexicon: FxHashMap<&'static str, Vec<Entry>> = FxHashMap::default();
    for language in Language::ALL {
        let homographs: Vec<&str> = language.homographs().split_whitespace().collect();
        for (sense, words) in language.words() {
            for word in words.split_whitespace() {
                let homograph = homographs.contains(&word);
                lexicon.entry(word).or_default().push(Entry {
                    language,
                    sense: *sense,
                    homograph,
                });
            }
        }
    }
    lexicon
});

/// Returns the meanings of a folded word in all languages.
pub(crate) fn senses(folded: &str) -> &'static [Entry] {
    LEXICON.get(folded).map_or(&[], Vec::as_slice)
}

/// Currencies whose signs and names several languages share.
pub(crate) const EURO: &[&str] = &["EUR"];
pub(crate) const DOLLAR: &[&str] = &["USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"];
pub(crate) const POUND: &[&str] = &["GBP"];
pub(crate) const FRANC: &[&str] = &["CHF"];
pub(crate) const KRONA: &[&str] = &["SEK", "NOK", "DKK", "ISK", "CZK"];
pub(crate) const ZLOTY: &[&str] = &["PLN"];
pub(crate) const PESO: &[&str] = &["MXN", "ARS", "CLP", "COP", "UYU", "PHP"];
pub(crate) const YEN: &[&str] = &["JPY", "CNY"];

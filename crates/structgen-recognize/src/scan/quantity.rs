//! The numbers of a text, by their starts and ends.

use super::{digits, fraction, number_words};
use crate::tokens::Tokens;
use crate::{DecimalMark, Language, Number, Options, Value};

/// A number, in the tokens from `first` to before `end`.
#[derive(Clone, Debug)]
pub(super) struct Quantity {
    pub(super) first: usize,
    pub(super) end: usize,
    /// Best first; never empty.
    pub(super) readings: Vec<Number>,
    /// The language of its words; `None` for digits.
    pub(super) language: Option<Language>,
    /// A single separator before three digits, which may group or be the decimal mark. The readings are then the
    /// grouped one and the decimal one, until it is known which is more likely.
    pub(super) ambiguous: Option<DecimalMark>,
    /// The mark before its fraction, if it is unambiguous.
    pub(super) mark: Option<DecimalMark>,
}

impl Quantity {
    pub(super) fn of(first: usize, end: usize, number: Number) -> Quantity {
        Quantity {
            first,
            end,
            readings: vec![number],
            language: None,
            ambiguous: None,
            mark: None,
        }
    }

    /// Returns whether it is compatible with words of this language.
    pub(super) fn speaks(&self, language: Language) -> bool {
        self.language.is_none_or(|own| own == language)
    }

    /// Returns the readings as values.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.readings.iter().copied().map(Value::Number)
    }

    /// Returns the best reading as a small integer.
    pub(super) fn small(&self) -> Option<u32> {
        u32::try_from(self.readings.first()?.to_integer()?).ok()
    }
}

/// The numbers of a text.
pub(super) struct Quantities {
    list: Vec<Quantity>,
    /// Positions in `list`, by end.
    by_end: Vec<usize>,
}

impl Quantities {
    pub(super) fn of(tokens: &Tokens<'_>, options: &Options) -> Quantities {
        let mut list = Vec::new();
        digits::scan(tokens, &mut list);
        settle(&mut list, tokens.language, options);
        number_words::scan(tokens, &mut list);
        list.sort_by_key(|quantity| (quantity.first, quantity.end));
        let plain = Quantities::indexed(list);
        let longer = fraction::scan(tokens, &plain);
        let mut list = plain.list;
        list.extend(longer);
        list.sort_by_key(|quantity| (quantity.first, quantity.end));
        Quantities::indexed(list)
    }

    fn indexed(list: Vec<Quantity>) -> Quantities {
        let mut by_end: Vec<usize> = (0..list.len()).collect();
        by_end.sort_by_key(|at| list[*at].end);
        Quantities { list, by_end }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Quantity> {
        self.list.iter()
    }

    /// Returns the numbers that start at a token, shortest first.
    pub(super) fn starting_at(&self, first: usize) -> impl Iterator<Item = &Quantity> {
        let from = self.list.partition_point(|quantity| quantity.first < first);
        self.list[from..]
            .iter()
            .take_while(move |quantity| quantity.first == first)
    }

    /// Returns the numbers that end before a token, longest first.
    pub(super) fn ending_at(&self, end: usize) -> impl Iterator<Item = &Quantity> {
        let from = self.by_end.partition_point(|at| self.list[*at].end < end);
        self.by_end[from..]
            .iter()
            .map(|at| &self.list[*at])
            .take_while(move |quantity| quantity.end == end)
    }
}

/// Orders the readings of ambiguous numbers: by the option, by the mark that other numbers of the text use, or by what
/// is usual in the language.
fn settle(list: &mut [Quantity], language: Language, options: &Options) {
    if list.iter().all(|quantity| quantity.ambiguous.is_none()) {
        return;
    }
    let usual = if language == Language::English {
        DecimalMark::Point
    } else {
        DecimalMark::Comma
    };
    let mark = options
        .decimal_mark
        .or_else(|| digits::mark_in_use(list))
        .unwrap_or(usual);
    for quantity in list {
        // Nobody writes `20.000` as a fraction.
        let thousands = quantity.readings[0]
            .to_integer()
            .is_some_and(|grouped| grouped % 1000 == 0);
        let grouped = thousands && options.decimal_mark.is_none();
        if quantity.ambiguous == Some(mark) && !grouped {
            // Pairs: the negative readings, if there is a sign, and the positive ones.
            quantity
                .readings
                .chunks_exact_mut(2)
                .for_each(<[Number]>::reverse);
        }
    }
}

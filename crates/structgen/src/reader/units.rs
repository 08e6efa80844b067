//! Units: what a reader reads of a text, as the rows of its table.
//!
//! A unit is a run of letters (`unitPrice` has two), of digits, of blanks if there are several, or of one other
//! character; a line break is one, and a single space is none. Its rows are those of its tokens, those of its form and
//! of the letters that it has, hashed, so that a word that training never saw is near those that it shares letters with
//! (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information"; Weinberger et al. 2009, "Feature Hashing
//! for Large Scale Multitask Learning"), and those of what it means ([`lexicon`](super::lexicon)).
//!
//! `training/units.py` makes the same units and rows: both agree on `tests/data/units.jsonl`.

use std::collections::HashMap;

use structgen_ort::ReadUnit;
use structgen_vocab::Tokenizer;

use super::lexicon::{Senses, senses};
use super::words::{folded, is_accent};
use crate::Result;

/// The rows of the table.
const ROWS: u32 = 16_384;

/// The rows of a unit in the table of units, where those of its tokens come first; 0 is none.
type FormRows = [i64; ReadUnit::ROWS];

/// The rows of a unit that do not depend on where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitRows {
    pub(super) form: FormRows,
    pub(super) senses: Senses,
}

/// The tokens that a unit has at most.
const TOKENS: usize = 8;

/// The row of the first token, and the tokens that have one.
const FIRST_TOKEN: u32 = 64;
const VOCABULARY: u32 = 4_096;

/// The first row of those that are hashed.
const HASHED: u32 = FIRST_TOKEN + VOCABULARY;

const LINE: i64 = 5;
const GAP: i64 = 6;

/// Of words: four cases by seven classes of length.
const CASES: usize = 8;

/// Of numbers: eight lengths.
const DIGITS: usize = 36;

/// Of other characters.
const OTHER: i64 = 44;

/// The class of a word by its letters; longer ones are in the last.
const LENGTHS: [usize; 10] = [0, 0, 1, 2, 3, 4, 4, 5, 5, 5];
const LONG: usize = 6;

/// The trigrams that count at the beginning and at the end of a word that has more of them.
const FIRST_TRIGRAMS: usize = 6;
const LAST_TRIGRAMS: usize = 5;

/// What stands in a question before a part of it, as a unit of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mark {
    Field = 1,
    Option,
    /// For no value.
    None,
    Text,
}

impl Mark {
    /// Its token is the one that stands there in the prompt.
    pub(super) fn rows(self) -> UnitRows {
        let token = match self {
            Self::Field => 2,
            Self::Option => 4,
            Self::None => 1,
            Self::Text => 3,
        };
        let mut form = [0; ReadUnit::ROWS];
        form[0] = i64::from(FIRST_TOKEN + token);
        form[TOKENS] = self as i64;
        let senses = Senses::default();
        UnitRows { form, senses }
    }
}

/// A unit of a text, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether a space stands before it.
    pub(super) is_spaced: bool,
}

/// What a unit is a run of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Letter,
    Digit,
    Line,
    Blank,
    Other(char),
}

impl Kind {
    pub(super) fn of(letter: char) -> Self {
        match letter {
            _ if letter.is_alphabetic() || is_accent(letter) => Self::Letter,
            _ if letter.is_numeric() => Self::Digit,
            '\n' => Self::Line,
            _ if letter.is_whitespace() => Self::Blank,
            _ => Self::Other(letter),
        }
    }
}

/// The units of a text, in its order.
pub(super) fn units(text: &str) -> Vec<Unit> {
    let mut found = Vec::new();
    let mut letters = text.char_indices().peekable();
    let mut is_spaced = false;
    while let Some((start, first)) = letters.next() {
        let kind = Kind::of(first);
        let mut last = first;
        let mut end = start + first.len_utf8();
        while let Some(&(at, letter)) = letters.peek() {
            let is_hump = kind == Kind::Letter && letter.is_uppercase() && last.is_lowercase();
            if kind == Kind::Line || Kind::of(letter) != kind || is_hump {
                break;
            }
            (last, end) = (letter, at + letter.len_utf8());
            letters.next();
        }
        let is_single = end == start + first.len_utf8();
        if kind == Kind::Blank && is_single && first != '\t' {
            is_spaced = true;
            continue;
        }
        found.push(Unit {
            start,
            end,
            is_spaced,
        });
        is_spaced = false;
    }
    found
}

/// Makes the rows of units, each once.
pub(super) struct RowsOfUnits<'t> {
    tokenizer: &'t Tokenizer,
    known: HashMap<String, UnitRows>,
}

impl<'t> RowsOfUnits<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        Self {
            tokenizer,
            known: HashMap::new(),
        }
    }

    /// Those of the units of a text.
    pub(super) fn read(&mut self, text: &str, units: &[Unit]) -> Result<Vec<UnitRows>> {
        let read = { units.iter() }.map(|unit| self.rows(&text[unit.start..unit.end]));
        read.collect()
    }

    fn rows(&mut self, unit: &str) -> Result<UnitRows> {
        if let Some(&rows) = self.known.get(unit) {
            return Ok(rows);
        }
        let kind = unit.chars().next().map(Kind::of);
        let is_blank = kind == Some(Kind::Blank);
        let tokens = self.tokenizer.encode(if is_blank { " " } else { unit })?;
        let mut form = features(unit);
        let known = tokens.iter().filter(|token| token.0 < VOCABULARY);
        for (place, token) in form[..TOKENS].iter_mut().zip(known) {
            *place = i64::from(FIRST_TOKEN + token.0);
        }
        let senses = match kind {
            Some(Kind::Letter) => senses(&folded(unit)),
            _ => Senses::default(),
        };
        let rows = UnitRows { form, senses };
        self.known.insert(unit.to_owned(), rows);
        Ok(rows)
    }
}

/// The rows of a unit without those of its tokens.
fn features(unit: &str) -> FormRows {
    let mut rows = Rows::default();
    let mut letters = unit.chars();
    let Some(first) = letters.next() else {
        return rows.found;
    };
    match Kind::of(first) {
        Kind::Line => rows.push(LINE),
        Kind::Blank => rows.push(GAP),
        Kind::Digit => rows.number(unit),
        Kind::Letter => rows.word(unit),
        Kind::Other(_) => {
            rows.push(OTHER);
            rows.hash(&[&first.to_string()]);
            if letters.next().is_some() {
                rows.hash(&[&first.to_string(), "+"]);
            }
        }
    }
    rows.found
}

#[derive(Default)]
struct Rows {
    found: FormRows,
    count: usize,
}

impl Rows {
    fn push(&mut self, row: i64) {
        if let Some(place) = self.found.get_mut(TOKENS + self.count) {
            *place = row;
            self.count += 1;
        }
    }

    /// Adds the row of a part of a unit: its FNV-1a hash of 32 bits.
    fn hash(&mut self, part: &[&str]) {
        let bytes = part.iter().flat_map(|part| part.bytes());
        let hash = bytes.fold(2_166_136_261u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
        });
        self.push(i64::from(HASHED + hash % (ROWS - HASHED)));
    }

    fn number(&mut self, digits: &str) {
        let starts: Vec<usize> = digits.char_indices().map(|(at, _)| at).collect();
        self.push((DIGITS + starts.len().min(8) - 1) as i64);
        self.hash(&[digits]);
        for many in 1..=2 {
            if starts.len() > many {
                self.hash(&[&digits[..starts[many]], "#"]);
                self.hash(&["#", &digits[starts[starts.len() - many]..]]);
            }
        }
    }

    fn word(&mut self, word: &str) {
        let case = case_of(word);
        let folded = folded(word);
        let letters: Vec<char> = folded.chars().collect();
        let length = LENGTHS.get(letters.len()).copied().unwrap_or(LONG);
        self.push((CASES + (LONG + 1) * case + length) as i64);
        self.hash(&[&folded]);
        let part = |letters: &[char]| letters.iter().collect::<String>();
        if letters.len() > 4 {
            self.hash(&[&part(&letters[..4])]);
        }
        if letters.len() > 5 {
            self.hash(&[&part(&letters[..5])]);
            self.hash(&[&part(&letters[letters.len() - 5..])]);
        }
        let whole: Vec<char> = format!("<{folded}>").chars().collect();
        let count = whole.len().saturating_sub(2);
        let is_counted = |at: usize| {
            let is_short = count <= FIRST_TRIGRAMS + LAST_TRIGRAMS;
            is_short || at < FIRST_TRIGRAMS || at >= count - LAST_TRIGRAMS
        };
        for at in (0..count).filter(|&at| is_counted(at)) {
            self.hash(&[&part(&whole[at..at + 3])]);
        }
    }
}

/// Small letters, a large one before small ones, large letters, or anything else.
fn case_of(word: &str) -> usize {
    let has_case = |letter: &char| letter.is_lowercase() || letter.is_uppercase();
    let cased = || word.chars().filter(has_case);
    let is_small = cased().next().is_some() && cased().all(char::is_lowercase);
    let is_large = cased().next().is_some() && cased().all(char::is_uppercase);
    let mut letters = word.chars();
    let begins_large = letters.next().is_some_and(char::is_uppercase);
    let rest = letters.as_str();
    match () {
        () if is_small => 0,
        () if is_large && word.chars().nth(1).is_some() => 2,
        () if begins_large && rest.to_lowercase() == rest => 1,
        () => 3,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn units_and_their_rows_are_those_of_training() {
        for line in include_str!("../../tests/data/units.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let text = case["text"].as_str().unwrap();
            let found: Vec<Value> = { units(text).into_iter() }
                .map(|unit| {
                    let said = &text[unit.start..unit.end];
                    let rows = features(said).into_iter().filter(|&row| row != 0);
                    json!([said, unit.is_spaced, rows.collect::<Vec<_>>()])
                })
                .collect();
            assert_eq!(Value::from(found), case["units"], "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_share_rows() {
        let shared = |a: &str, b: &str| {
            let [a, b] = [a, b].map(features);
            a.iter().filter(|row| **row != 0 && b.contains(row)).count()
        };
        assert!(shared("Kaltmiete", "Miete") > 4);
        assert!(shared("delivery", "DELIVERED") > 5);
        assert!(shared("delivery", "horizon") < 2);
    }
}

//! Where a unit of a question stands and what it has in common with the other side, as rows of the reader's table of
//! roles.
//!
//! A unit has five rows besides those of its form ([`units`](super::units)), and those of what it points at
//! ([`pointers`](super::pointers)). The first is what it is for. In the text, the next four are its line, how many
//! cells of a table and how many commas come before it in the line, and whether fields or options have the same word or
//! concept, or it is a cue of theirs. In the schema, they are its field, its option, whether it is in an array, and
//! whether the text has the same word or concept; a mark records whether the text has none, some or all of the words of
//! its name or option. What a question and a text share is hard to learn and easy to compute, as for the reader of Chen
//! et al. 2017, "Reading Wikipedia to Answer Open-Domain Questions" (3.2, exact match).
//!
//! `training/sites.py` makes the same rows: both agree on `tests/data/sites.jsonl`.

use std::collections::{HashMap, HashSet};

use structgen_ort::ReadUnit;

use super::lexicon::{Senses, concepts, cued, senses};
use super::pointers::{self, AT_NOTHING, Pointers, pointers};
use super::units::{Kind, Unit, units};
use super::words::folded;

/// The rows of a unit in the table of roles.
pub(super) type Site = [i64; ReadUnit::ROLES];

/// What a unit is for. Its first row is twice this, and one more if a space stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Question,
    Option,
    Text,
}

impl Role {
    fn row(self, is_spaced: bool) -> i64 {
        2 * self as i64 + i64::from(is_spaced)
    }
}

// The first row of each kind, and how many there are.
const LINES: i64 = 6;
const FIELDS: i64 = 38;
const LINE_COUNT: usize = 32;
const CELLS: i64 = 70;
const OPTIONS: i64 = 86;
const COMMAS: i64 = 102;
const MOST: usize = 15;
const SINGLE: i64 = 118;
const SHARED: i64 = 119;
const MANY: i64 = 132;

// What is shared. Of a unit of the text: nothing, or one and two more for the beginning of a field's word and the whole
// one; the next two for those of an option; or an option word by word.
const OF_FIELD: i64 = SHARED;
const OF_OPTION: i64 = SHARED + 2;
const OF_SAID_OPTION: i64 = SHARED + 12;
// Of a unit of the schema: the text's words, in the same way.
const OF_TEXT: i64 = SHARED + 5;
// Of a mark: none of its words, some of them, all of them; or the text has the option word by word.
const OF_MARK: i64 = SHARED + 8;
const SAID: i64 = SHARED + 11;
// A concept in common, where there is no word: of a unit of the text with a field or an option, of a unit of the schema
// with the text.
const FIELD_CONCEPT: i64 = 133;
const OPTION_CONCEPT: i64 = 134;
const TEXT_CONCEPT: i64 = 135;
// A cue of a field or an option, which has nothing else in common with any.
const FIELD_CUE: i64 = 217;
const OPTION_CUE: i64 = 218;

/// The rows of a unit that are no pointers.
const OWN: usize = 5;
const _: () = assert!(OWN + pointers::WIDTH == ReadUnit::ROLES);

/// The letters at the beginning of a word.
const STEM: usize = 4;

/// What is compared of a unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    pub(super) text: String,
    /// The bytes of its beginning.
    stem: usize,
    /// Whether it is a word or a number that means something by itself.
    pub(super) counts: bool,
    pub(super) senses: Senses,
    /// The concepts of which it is a cue.
    pub(super) cued: &'static [u16],
}

impl Form {
    fn new(unit: &str) -> Self {
        let is = |kind| unit.chars().next().map(Kind::of) == Some(kind);
        let is_word = is(Kind::Letter);
        let text = match is_word {
            true => folded(unit),
            false => unit.to_owned(),
        };
        let stem = text.char_indices().nth(STEM).filter(|_| is_word);
        let length = text.chars().count();
        Self {
            stem: stem.map_or(text.len(), |(at, _)| at),
            counts: is_word && length > 2 || is(Kind::Digit) && length > 1,
            senses: match is_word {
                true => senses(&text),
                false => Senses::default(),
            },
            cued: match is_word {
                true => cued(&text),
                false => &[],
            },
            text,
        }
    }

    pub(super) fn stem(&self) -> &str {
        &self.text[..self.stem]
    }
}

/// A mark of a question, with the units that follow it.
#[derive(Debug)]
pub(super) struct Part {
    field: usize,
    /// Whether the field is in an array.
    is_many: bool,
    /// The number of its option, from 1 on; 0 for none.
    option: usize,
    forms: Vec<Form>,
    is_spaced: Vec<bool>,
}

impl Part {
    /// That of a field's name, of one of its options, counted from 1 on, or of no value.
    pub(super) fn new(field: usize, is_many: bool, option: usize, text: &str) -> Self {
        let units = units(text);
        Self {
            field,
            is_many,
            option,
            forms: forms(text, &units),
            is_spaced: units.iter().map(|unit| unit.is_spaced).collect(),
        }
    }

    fn role(&self) -> Role {
        match self.option {
            0 => Role::Question,
            _ => Role::Option,
        }
    }

    /// The words of an option, or of a name without its type and description.
    fn name(&self) -> impl Iterator<Item = &Form> {
        let end = match self.option {
            0 => self.name_end(),
            _ => self.forms.len(),
        };
        self.forms[..end].iter().filter(|form| form.counts)
    }

    pub(super) fn field(&self) -> usize {
        self.field
    }

    pub(super) fn option(&self) -> usize {
        self.option
    }

    pub(super) fn forms(&self) -> impl Iterator<Item = &Form> {
        self.forms.iter()
    }

    /// The units of a field's name, without its type and description.
    pub(super) fn named(&self) -> impl Iterator<Item = &Form> {
        self.forms[..self.name_end()].iter()
    }

    /// The units of a field's name and description, without its type.
    pub(super) fn meant(&self) -> impl Iterator<Item = &Form> {
        let description = self.forms.iter().position(|form| form.text == "(");
        let description = description.unwrap_or(self.forms.len());
        self.named().chain(&self.forms[description..])
    }

    fn name_end(&self) -> usize {
        let is_end = |form: &Form| matches!(&*form.text, ":" | "(");
        self.forms
            .iter()
            .position(is_end)
            .unwrap_or(self.forms.len())
    }
}

fn forms(text: &str, units: &[Unit]) -> Vec<Form> {
    let unit = |unit: &Unit| Form::new(&text[unit.start..unit.end]);
    units.iter().map(unit).collect()
}

/// The words of one side.
struct Words<'f> {
    words: HashSet<&'f str>,
    stems: HashSet<&'f str>,
    concepts: HashSet<i64>,
}

impl<'f> Words<'f> {
    fn new(forms: impl Iterator<Item = &'f Form> + Clone) -> Self {
        let counting = forms.clone().filter(|form| form.counts);
        let (words, stems) = counting.map(|form| (&*form.text, form.stem())).unzip();
        Self {
            words,
            stems,
            concepts: forms.flat_map(|form| concepts(&form.senses)).collect(),
        }
    }

    /// 0, 1 for the beginning of a word, 2 for a whole one.
    fn share(&self, form: &Form) -> i64 {
        match () {
            () if !form.counts => 0,
            () if self.words.contains(&*form.text) => 2,
            () => i64::from(self.stems.contains(form.stem())),
        }
    }

    /// Whether one of them means what this form does.
    fn mean(&self, form: &Form) -> bool {
        concepts(&form.senses).any(|concept| self.concepts.contains(&concept))
    }

    /// Whether this form is a cue of one of them.
    fn are_cued(&self, form: &Form) -> bool {
        let mut cued = form.cued.iter().map(|&concept| i64::from(concept));
        cued.any(|concept| self.concepts.contains(&concept))
    }
}

/// The rows of all units of a question and its text, between which stands the mark of the text.
pub(super) fn sites(parts: &[Part], text: &str, found: &[Unit]) -> Vec<Site> {
    let forms = forms(text, found);
    let mut said = vec![false; forms.len()];
    let mut sites = sites_of_parts(parts, &forms, &mut said);
    let mark = [Role::Question.row(false), LINES, CELLS, COMMAS, OF_MARK];
    sites.push(site_of(mark, &AT_NOTHING));
    sites.extend(sites_of_text(parts, text, found, &forms, &said));
    sites
}

/// All rows of a unit.
fn site_of(own: [i64; OWN], pointers: &Pointers) -> Site {
    let mut site = [0; ReadUnit::ROLES];
    site[..OWN].copy_from_slice(&own);
    site[OWN..].copy_from_slice(pointers);
    site
}

/// Those of the question. Marks in `said` the units of the text that say an option word by word.
fn sites_of_parts(parts: &[Part], text: &[Form], said: &mut [bool]) -> Vec<Site> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let numbered: Vec<usize> = { text.iter() }
        .map(|form| {
            let next = numbers.len();
            *numbers.entry(&form.text).or_insert(next)
        })
        .collect();
    let words = Words::new(text.iter());
    let mut sites = Vec::new();
    for part in parts {
        let mut mark = match (part.name().next(), |form| words.share(form) > 0) {
            (Some(_), is_met) if part.name().all(is_met) => OF_MARK + 2,
            (_, is_met) => OF_MARK + i64::from(part.name().any(is_met)),
        };
        let own = part
            .forms
            .iter()
            .map(|form| numbers.get(&*form.text).copied());
        if let Some(own) = own.collect::<Option<Vec<usize>>>()
            && part.option > 0
            && !own.is_empty()
        {
            let mut until = 0;
            for (at, _) in { numbered.windows(own.len()).enumerate() }.filter(|(_, it)| *it == own)
            {
                mark = SAID;
                said[at.max(until)..at + own.len()].fill(true);
                until = at + own.len();
            }
        }
        let site = |row, shared| {
            let field = FIELDS + (part.field % LINE_COUNT) as i64;
            let option = OPTIONS + part.option.min(MOST) as i64;
            let many = if part.is_many { MANY } else { SINGLE };
            site_of([row, field, option, many, shared], &AT_NOTHING)
        };
        sites.push(site(part.role().row(false), mark));
        let units = part.forms.iter().zip(&part.is_spaced);
        sites.extend(units.map(|(form, &is_spaced)| {
            let shared = match words.share(form) {
                0 if words.mean(form) => TEXT_CONCEPT,
                shared => OF_TEXT + shared,
            };
            site(Role::Question.row(is_spaced), shared)
        }));
    }
    sites
}

/// Those of the text.
fn sites_of_text(
    parts: &[Part],
    text: &str,
    found: &[Unit],
    forms: &[Form],
    said: &[bool],
) -> Vec<Site> {
    let words = |of_options: bool| {
        let parts = parts
            .iter()
            .filter(move |part| (part.option > 0) == of_options);
        Words::new(parts.flat_map(|part| &part.forms))
    };
    let (names, options) = (words(false), words(true));
    let pointers = pointers(parts, text, found, forms);
    let digit = |letter: Option<char>| letter.map(Kind::of) == Some(Kind::Digit);
    let (mut line, mut cell, mut comma) = (0, 0, 0);
    let mut sites = Vec::with_capacity(found.len());
    let units = found.iter().zip(forms).zip(said).zip(&pointers);
    for (((unit, form), &is_said), pointers) in units {
        let shared = match (options.share(form), names.share(form)) {
            _ if is_said => OF_SAID_OPTION,
            (0, 0) if options.mean(form) => OPTION_CONCEPT,
            (0, 0) if names.mean(form) => FIELD_CONCEPT,
            (0, 0) if options.are_cued(form) => OPTION_CUE,
            (0, 0) if names.are_cued(form) => FIELD_CUE,
            (0, shared) => OF_FIELD + shared,
            (shared, _) => OF_OPTION + shared,
        };
        let rows = [
            Role::Text.row(unit.is_spaced),
            LINES + (line % LINE_COUNT) as i64,
            CELLS + cell.min(MOST) as i64,
            COMMAS + comma.min(MOST) as i64,
            shared,
        ];
        sites.push(site_of(rows, pointers));
        match text[unit.start..].chars().next().map(Kind::of) {
            Some(Kind::Line) => (line, cell, comma) = (line + 1, 0, 0),
            Some(Kind::Blank | Kind::Other('|' | ';')) => cell += 1,
            Some(Kind::Other(',')) => {
                let is_decimal = digit(text[..unit.start].chars().next_back())
                    && digit(text[unit.end..].chars().next());
                comma += usize::from(!is_decimal);
            }
            _ => {}
        }
    }
    sites
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn sites_are_those_of_training() {
        for line in include_str!("../../tests/data/sites.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let mut parts = Vec::new();
            for (field, asked) in case["fields"].as_array().unwrap().iter().enumerate() {
                let options = asked[1].as_array().unwrap();
                for (option, text) in { std::iter::once(&asked[0]).chain(options) }.enumerate() {
                    parts.push(Part::new(
                        field,
                        field % 2 == 1,
                        option,
                        text.as_str().unwrap(),
                    ));
                }
            }
            let text = case["text"].as_str().unwrap();
            let sites = sites(&parts, text, &units(text));
            let rows = Value::from_iter(sites.iter().map(|site| site.to_vec()));
            assert_eq!(rows, case["rows"], "{text}");
        }
    }
}

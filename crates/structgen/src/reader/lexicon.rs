//! What words mean, as far as a list can say: concepts, and their kinds.
//!
//! The reader is small and training has few of the words that users write. The lexicon tells it that `vendor` and
//! "shop" are one concept, and that "dachshund" is of the kind that `breed` asks for, in English, German, French and
//! Spanish. A line of its files is `kind.concept: word word ...`. A word that they do not have is looked for without
//! an ending of inflection, and then by its last part, as of German compounds; names are only found as they stand.
//!
//! `training/lexicon.py` finds the same: both agree on `tests/data/senses.jsonl`. The rows are numbers of lines, so
//! the lexicon belongs to the weights: after a change of its lines, the reader has to be trained again.

use std::collections::HashMap;
use std::sync::LazyLock;

use structgen_ort::ReadUnit;

use super::words::folded;

/// The rows of a word in the table of meanings: of each of its concepts, that of the kind and its own; 0 is none.
pub(super) type Senses = [i64; ReadUnit::SENSES];

/// The row of the first concept; before it are those of the kinds, from 1 on.
const FIRST: u16 = 256;

/// The rows of the table. What comes after the last line is free.
#[cfg(test)]
const ROWS: u16 = 4_352;

/// The kinds whose words are not found by a part of another.
const NAMES: [&str; 5] = ["given", "surname", "town", "country", "region"];

const ENDINGS: [&str; 6] = ["es", "en", "er", "s", "n", "e"];

/// The letters of a word without its ending, at least.
const LEAST_STEM: usize = 4;

/// The letters of a word's last part, and of what stands before it, at least.
const LEAST_HEAD: usize = 4;

/// The letters of a word that is looked for, at most.
const LONGEST: usize = 40;

/// The order is that of the rows.
const FILES: [&str; 8] = [
    include_str!("lexicon/abstracts.txt"),
    include_str!("lexicon/actions.txt"),
    include_str!("lexicon/money.txt"),
    include_str!("lexicon/people.txt"),
    include_str!("lexicon/places.txt"),
    include_str!("lexicon/qualities.txt"),
    include_str!("lexicon/things.txt"),
    include_str!("lexicon/time.txt"),
];

/// The words of the lexicon.
static LEXICON: LazyLock<HashMap<String, Meanings>> = LazyLock::new(read);

/// What a word means.
#[derive(Debug, Default)]
struct Meanings {
    all: Kept,
    /// The same without names.
    common: Kept,
}

/// [`Senses`] in a fourth of the memory.
type Kept = [u16; ReadUnit::SENSES];

/// A concept of a word: the word's place in the line, the rows of the concept and of its kind.
type Meaning = (u16, u16, u16);

/// Reads all lines. A word that has many concepts keeps those at the beginning of whose lines it stands.
fn read() -> HashMap<String, Meanings> {
    let mut kinds: HashMap<&str, u16> = HashMap::new();
    let mut found: HashMap<String, Vec<Meaning>> = HashMap::new();
    let lines = FILES.iter().flat_map(|file| file.lines());
    for (concept, line) in (FIRST..).zip(lines) {
        let (label, members) = line.split_once(": ").unwrap_or((line, ""));
        let kind = label.split_once('.').map_or(label, |(kind, _)| kind);
        let next = kinds.len() as u16 + 1;
        let kind = *kinds.entry(kind).or_insert(next);
        for (place, word) in (0..).zip(members.split_ascii_whitespace()) {
            let meanings = found.entry(folded(word)).or_default();
            if meanings.last().is_none_or(|last| last.1 != concept) {
                meanings.push((place, concept, kind));
            }
        }
    }
    let names = NAMES.map(|name| kinds.get(name).copied());
    let kept = |meanings: &mut dyn Iterator<Item = &Meaning>| {
        let mut kept = Kept::default();
        for (place, &(_, concept, kind)) in kept.chunks_exact_mut(2).zip(meanings) {
            place.copy_from_slice(&[kind, concept]);
        }
        kept
    };
    let words = found.into_iter().map(|(word, mut meanings)| {
        meanings.sort_unstable();
        let is_common = |meaning: &&Meaning| !names.contains(&Some(meaning.2));
        let all = kept(&mut meanings.iter());
        let common = kept(&mut meanings.iter().filter(is_common));
        (word, Meanings { all, common })
    });
    words.collect()
}

/// The rows of a word, which is folded: all 0 where the lexicon does not know it.
pub(super) fn senses(word: &str) -> Senses {
    if has(word, LONGEST + 1) {
        return Senses::default();
    }
    let last_parts = || {
        let starts = word.char_indices().skip(LEAST_HEAD).map(|(at, _)| at);
        let mut parts = starts
            .map(|at| &word[at..])
            .filter(|it| has(it, LEAST_HEAD));
        parts.find_map(without_ending)
    };
    { LEXICON.get(word).map(|it| &it.all) }
        .or_else(|| without_ending(word))
        .or_else(last_parts)
        .map_or(Senses::default(), |rows| rows.map(i64::from))
}

/// The rows of a word, or of it without the first ending that leaves one, which are no names.
fn without_ending(word: &str) -> Option<&'static Kept> {
    let stems = ENDINGS
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    let forms = std::iter::once(word).chain(stems.filter(|it| has(it, LEAST_STEM)));
    let mut common = forms.filter_map(|form| LEXICON.get(form).map(|it| &it.common));
    common.find(|rows| rows[0] != 0)
}

fn has(word: &str, letters: usize) -> bool {
    word.chars().nth(letters - 1).is_some()
}

/// The concepts among the rows of a word.
pub(super) fn concepts(senses: &Senses) -> impl Iterator<Item = i64> {
    { senses.iter().skip(1).step_by(2).copied() }.filter(|&concept| concept != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn senses_are_those_of_training() {
        for line in include_str!("../../tests/data/senses.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let found = senses(&folded(case["word"].as_str().unwrap()));
            let found: Vec<i64> = found.into_iter().filter(|&row| row != 0).collect();
            assert_eq!(json!(found), case["senses"], "{line}");
        }
    }

    #[test]
    fn words_of_one_idea_share_a_concept() {
        let share = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|word| senses(&folded(word)));
            concepts(&a).any(|concept| concepts(&b).any(|other| other == concept))
        };
        for (a, b) in [
            ("vendor", "sellers"),
            ("Kaltmiete", "rent"),
            ("kilométrage", "mileage"),
        ] {
            assert!(share(a, b), "{a} {b}");
        }
        assert!(!share("vendor", "mileage"));
        assert!(!share("xqzt", "xqzt"));
    }

    #[test]
    fn lines_are_a_kind_a_concept_and_words() {
        let (mut kinds, mut labels) = (HashSet::new(), HashSet::new());
        for line in FILES.iter().flat_map(|file| file.lines()) {
            let (label, words) = line.split_once(": ").unwrap();
            let (kind, concept) = label.split_once('.').unwrap();
            assert!(!concept.contains('.') && labels.insert(label), "{line}");
            kinds.insert(kind);
            let is_word = |word: &str| {
                has(word, 1) && !has(word, LONGEST + 1) && word.chars().all(char::is_alphabetic)
            };
            assert!(words.split(' ').all(is_word), "{line}");
        }
        assert!(kinds.len() < usize::from(FIRST));
        assert!(labels.len() <= usize::from(ROWS - FIRST));
        assert!(NAMES.iter().all(|name| kinds.contains(name)));
    }
}

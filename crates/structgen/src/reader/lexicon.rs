//! What words mean, as far as a list can say: concepts, and their kinds.
//!
//! The reader is small and training has few of the words that users write. The lexicon tells it that `vendor` and
//! "shop" are one concept, and that "dachshund" is of the kind that `breed` asks for, in English, German, French and
//! Spanish. A line of its files is `kind.concept: word word ...`. A word that they do not have is looked for without
//! an ending of inflection, and then by its last part, as of German compounds; names are only found as they stand.
//! Words of the kind `glue` have a meaning, but no two texts have anything in common by them. Cues, which are in a file
//! of the same form, are words near a value that tell what it is, though they do not mean it: who "lets" is the
//! `landlord`.
//!
//! `training/lexicon.py` finds the same: both agree on `tests/data/senses.jsonl`. The rows are numbers of lines, so
//! the lexicon belongs to the weights: after a change of its lines, the reader has to be trained again.

use std::collections::{HashMap, HashSet};
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

/// The kind whose concepts share nothing.
const GLUE: &str = "glue";

/// The kinds of words of grammar. No value is of the kind that a field asks for by them, and their words are not found
/// by a part of another.
const GRAMMAR: [&str; 2] = ["link", GLUE];

const ENDINGS: [&str; 6] = ["es", "en", "er", "s", "n", "e"];

/// The endings without which a cue is looked for.
const CUE_ENDINGS: [&str; 9] = ["es", "en", "er", "s", "n", "e", "ed", "ing", "d"];

/// The letters of a word without its ending, at least.
const LEAST_STEM: usize = 4;

/// The letters of a word's last part, and of what stands before it, at least.
const LEAST_HEAD: usize = 4;

/// The letters of a word that is looked for, at most.
const LONGEST: usize = 40;

/// The order is that of the rows.
const FILES: [&str; 9] = [
    include_str!("lexicon/abstracts.txt"),
    include_str!("lexicon/actions.txt"),
    include_str!("lexicon/money.txt"),
    include_str!("lexicon/people.txt"),
    include_str!("lexicon/places.txt"),
    include_str!("lexicon/qualities.txt"),
    include_str!("lexicon/things.txt"),
    include_str!("lexicon/time.txt"),
    include_str!("lexicon/grammar.txt"),
];

const CUES: &str = include_str!("lexicon/cues.txt");

static LEXICON: LazyLock<Lexicon> = LazyLock::new(read);

#[derive(Debug, Default)]
struct Lexicon {
    words: HashMap<String, Meanings>,
    /// The concepts by which words have nothing in common.
    glue: HashSet<u16>,
    /// The kinds of grammar.
    grammar: Vec<u16>,
    /// The concepts of which words are cues.
    cues: HashMap<String, Vec<u16>>,
}

/// What a word means.
#[derive(Debug, Default)]
struct Meanings {
    all: Kept,
    /// The same without names and grammar.
    common: Kept,
}

/// [`Senses`] in a fourth of the memory.
type Kept = [u16; ReadUnit::SENSES];

/// A concept of a word: the word's place in the line, the rows of the concept and of its kind.
type Meaning = (u16, u16, u16);

/// Reads all lines. A word that has many concepts keeps those at the beginning of whose lines it stands.
fn read() -> Lexicon {
    let mut lexicon = Lexicon::default();
    let mut kinds: HashMap<&str, u16> = HashMap::new();
    let mut concepts: HashMap<&str, u16> = HashMap::new();
    let mut found: HashMap<String, Vec<Meaning>> = HashMap::new();
    let lines = FILES.iter().flat_map(|file| file.lines());
    for (concept, line) in (FIRST..).zip(lines) {
        let (label, members) = line.split_once(": ").unwrap_or((line, ""));
        concepts.insert(label, concept);
        let kind = label.split_once('.').map_or(label, |(kind, _)| kind);
        if kind == GLUE {
            lexicon.glue.insert(concept);
        }
        let next = kinds.len() as u16 + 1;
        let kind = *kinds.entry(kind).or_insert(next);
        for (place, word) in (0..).zip(members.split_ascii_whitespace()) {
            let meanings = found.entry(folded(word)).or_default();
            if meanings.last().is_none_or(|last| last.1 != concept) {
                meanings.push((place, concept, kind));
            }
        }
    }
    lexicon.grammar = { GRAMMAR.iter() }
        .filter_map(|name| kinds.get(name).copied())
        .collect();
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
        let is_common = |&&(_, _, kind): &&Meaning| {
            !names.contains(&Some(kind)) && !lexicon.grammar.contains(&kind)
        };
        let all = kept(&mut meanings.iter());
        let common = kept(&mut meanings.iter().filter(is_common));
        (word, Meanings { all, common })
    });
    lexicon.words = words.collect();
    for (label, members) in CUES.lines().filter_map(|line| line.split_once(": ")) {
        let Some(&concept) = concepts.get(label) else {
            continue;
        };
        for word in members.split_ascii_whitespace() {
            let cued = lexicon.cues.entry(folded(word)).or_default();
            if cued.last() != Some(&concept) {
                cued.push(concept);
            }
        }
    }
    lexicon
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
    { LEXICON.words.get(word).map(|it| &it.all) }
        .or_else(|| without_ending(word))
        .or_else(last_parts)
        .map_or(Senses::default(), |rows| rows.map(i64::from))
}

/// The rows of a word, or of it without the first ending that leaves one, which are no names.
fn without_ending(word: &str) -> Option<&'static Kept> {
    let forms = forms(word, &ENDINGS);
    let mut common = forms.filter_map(|form| LEXICON.words.get(form).map(|it| &it.common));
    common.find(|rows| rows[0] != 0)
}

/// A word as it stands, and without each of some endings.
fn forms<'w>(word: &'w str, endings: &'static [&str]) -> impl Iterator<Item = &'w str> {
    let stems = { endings.iter() }.filter_map(|ending| word.strip_suffix(ending));
    std::iter::once(word).chain(stems.filter(|it| has(it, LEAST_STEM)))
}

/// The concepts of which a word, which is folded, is a cue; or it without the first ending that leaves one.
pub(super) fn cued(word: &str) -> &'static [u16] {
    let mut cued = forms(word, &CUE_ENDINGS).filter_map(|form| LEXICON.cues.get(form));
    cued.next().map_or(&[], Vec::as_slice)
}

fn has(word: &str, letters: usize) -> bool {
    word.chars().nth(letters - 1).is_some()
}

/// The concepts among the rows of a word by which it can have something in common with another.
pub(super) fn concepts(senses: &Senses) -> impl Iterator<Item = i64> {
    let is_shared = |concept| u16::try_from(concept).is_ok_and(|it| !LEXICON.glue.contains(&it));
    { senses.iter().skip(1).step_by(2).copied() }
        .filter(move |&concept| concept != 0 && is_shared(concept))
}

/// The kinds among the rows of a word, grammar apart.
pub(super) fn kinds(senses: &Senses) -> impl Iterator<Item = i64> {
    let is_grammar = |kind| { LEXICON.grammar.iter() }.any(|&it| i64::from(it) == kind);
    { senses.iter().step_by(2).copied() }.filter(move |&kind| kind != 0 && !is_grammar(kind))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn senses_are_those_of_training() {
        for line in include_str!("../../tests/data/senses.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let found = senses(&folded(case["word"].as_str().unwrap()));
            let found: Vec<i64> = found.into_iter().filter(|&row| row != 0).collect();
            assert_eq!(json!(found), case["senses"], "{line}");
            let word = folded(case["word"].as_str().unwrap());
            let found: BTreeSet<u16> = cued(&word).iter().copied().collect();
            assert_eq!(json!(found), case["cued"], "{line}");
        }
    }

    #[test]
    fn cues_tell_what_a_value_is() {
        for (concept, cue) in [
            ("landlord", "lets"),
            ("tenant", "einzieht"),
            ("author", "wrote"),
        ] {
            let asked = senses(concept);
            let mut told = cued(cue).iter().map(|&concept| i64::from(concept));
            assert!(
                told.any(|it| concepts(&asked).any(|own| own == it)),
                "{concept} {cue}"
            );
        }
        assert!(cued("xqzt").is_empty());
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
        let is_word = |word: &str| {
            has(word, 1) && !has(word, LONGEST + 1) && word.chars().all(char::is_alphabetic)
        };
        for line in FILES.iter().flat_map(|file| file.lines()) {
            let (label, words) = line.split_once(": ").unwrap();
            let (kind, concept) = label.split_once('.').unwrap();
            assert!(!concept.contains('.') && labels.insert(label), "{line}");
            kinds.insert(kind);
            assert!(words.split(' ').all(is_word), "{line}");
        }
        let mut cued = HashSet::new();
        for line in CUES.lines() {
            let (label, words) = line.split_once(": ").unwrap();
            assert!(labels.contains(label) && cued.insert(label), "{line}");
            assert!(words.split(' ').all(is_word), "{line}");
        }
        assert!(kinds.len() < usize::from(FIRST));
        assert!(labels.len() <= usize::from(ROWS - FIRST));
        let named = NAMES.iter().chain(&GRAMMAR);
        assert!(named.into_iter().all(|name| kinds.contains(name)));
    }
}

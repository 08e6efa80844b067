//! What the words of a text say of a yes or no.
//!
//! The reader has learnt them in part, the decoder has not. So words count as well: whether the text has words of the
//! field, and a negation near them.

use std::collections::BTreeMap;

use super::fields::ReadField;
use super::text_units::TextUnits;
use super::words::{Word, are_related, content_words};

// The numbers are those of a logistic regression on 13,751 booleans of training's passages, rounded. With them alone,
// 65 percent of the booleans of held-out families and 64 of those of held-out domains are right; by the decoder's
// logits 48 and 49. Rejected, since they are no better on one of the two sets or on both: words for what is missing or
// forbidden, negations elsewhere in the sentence, an end of their reach at commas and conjunctions, marked boxes, and a
// list of everyday concepts in four languages.

/// The logarithm of how much more probable `true` is than `false` where a sentence has a word of the field.
const MENTIONED: f32 = 0.3;

/// What it gains where the best sentences have all words of the key.
const ALL_WORDS: f32 = 0.9;

/// What it gains by a negation near the word.
const NEGATED: f32 = -2.8;

/// What it gains by a word that affirms near the word.
const AFFIRMED: f32 = 1.1;

/// What it gains where the sentence is a question, and the next words have a negation.
const ANSWERED_NO: f32 = -3.0;

/// The same where they affirm.
const ANSWERED_YES: f32 = 2.0;

/// The logarithm where the text has no word of the field, and what it gains for each negation in ten words, up to two.
const UNMENTIONED: (f32, f32) = (0.4, -1.7);

/// How many words away is near.
const NEAR: usize = 4;

/// How many words an answer may begin with.
const ANSWER: usize = 4;

/// Sentences that have as many words of the field as any other. Those beyond are not looked at.
const MAX_SENTENCES: usize = 4;

/// Sorted, and as `words` writes them. So are those below.
const NEGATIONS: [&str; 53] = [
    "arent", "aucun", "aucune", "cannot", "cant", "didnt", "dont", "dosnt", "hasnt", "havent",
    "isnt", "jamais", "kein", "keine", "keinem", "keinen", "keiner", "keines", "n", "nada",
    "nadie", "ne", "nein", "neither", "never", "ni", "nicht", "nichts", "nie", "niemals",
    "niemand", "ningun", "ninguna", "ninguno", "no", "nobody", "non", "none", "nor", "not",
    "nothing", "nunca", "ohne", "pas", "personne", "rien", "sans", "sin", "tampoco", "wasnt",
    "weder", "without", "wont",
];

/// Words that affirm, where they stand near.
const AFFIRMATIONS: [&str; 41] = [
    "already",
    "also",
    "auch",
    "aussi",
    "avec",
    "compris",
    "con",
    "darf",
    "deja",
    "done",
    "durfen",
    "fine",
    "gern",
    "gerne",
    "gladly",
    "inbegriffen",
    "included",
    "incluida",
    "incluido",
    "inclus",
    "inklusive",
    "ja",
    "may",
    "mit",
    "ok",
    "okay",
    "oui",
    "peut",
    "pude",
    "si",
    "sure",
    "tambien",
    "tru",
    "vrai",
    "wahr",
    "welcome",
    "well",
    "willkommen",
    "with",
    "x",
    "yes",
];

/// Words that affirm as an answer.
const YES: [&str; 16] = [
    "done", "fine", "gern", "gerne", "gladly", "ja", "ok", "okay", "oui", "si", "sure", "tru",
    "vrai", "wahr", "x", "yes",
];

/// The logarithm of how much more probable `true` is than `false`.
pub(super) fn log_odds(field: &ReadField, units: &TextUnits, text: &str) -> f32 {
    let key = field.path.last().map(String::as_str);
    let key_words = content_words(key).len();
    // Those of the key come first.
    let wanted = content_words(key.into_iter().chain(field.description.as_deref()));
    let sentences = sentences(&wanted, units);
    if sentences.is_empty() {
        let negations = units.words.iter().filter(|word| is_in(&NEGATIONS, word));
        let share = 10.0 * negations.count() as f32 / (units.words.len() + 1) as f32;
        return UNMENTIONED.0 + UNMENTIONED.1 * share.min(2.0);
    }
    let gained = { sentences.iter() }.map(|sentence| sentence.log_odds(units, text));
    let mean = gained.sum::<f32>() / sentences.len() as f32;
    let is_found = |word: usize| sentences.iter().any(|it| it.found.contains_key(&word));
    let has_all = key_words > 0 && (0..key_words).all(is_found);
    MENTIONED + mean + if has_all { ALL_WORDS } else { 0.0 }
}

/// A sentence with words of a field.
struct Sentence {
    number: usize,
    /// The words of the field that it has, and where the first of each is among those of the text.
    found: BTreeMap<usize, usize>,
}

/// The sentences that have the most words of a field, the first ones.
fn sentences(wanted: &[String], units: &TextUnits) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = Vec::new();
    for (at, word) in units.words.iter().enumerate() {
        let related = { wanted.iter().enumerate() }.filter(|(_, it)| are_related(it, &word.text));
        for (which, _) in related {
            let number = units.sentence(word.start);
            if all.last().is_none_or(|last| last.number != number) {
                all.push(Sentence {
                    number,
                    found: BTreeMap::new(),
                });
            }
            if let Some(last) = all.last_mut() {
                last.found.entry(which).or_insert(at);
            }
        }
    }
    let most = all.iter().map(|it| it.found.len()).max();
    all.retain(|it| Some(it.found.len()) == most);
    all.truncate(MAX_SENTENCES);
    all
}

impl Sentence {
    fn log_odds(&self, units: &TextUnits, text: &str) -> f32 {
        let places = || self.found.values().copied();
        let is_within = |at: usize| units.sentence(units.words[at].start) == self.number;
        let near = |list: &[&str]| {
            places().any(|place| {
                let around = place.saturating_sub(NEAR)..units.words.len().min(place + NEAR + 1);
                around
                    .filter(|&at| is_within(at) && places().all(|place| place != at))
                    .any(|at| is_in(list, &units.words[at]))
            })
        };
        let mut gained = 0.0;
        if near(&NEGATIONS) {
            gained += NEGATED;
        }
        if near(&AFFIRMATIONS) {
            gained += AFFIRMED;
        }
        let end = units.sentence_end(self.number);
        if let Some(end) = end.filter(|&end| text[end..].starts_with('?')) {
            let next = units.words.partition_point(|word| word.start < end);
            let answer = units.words[next..].iter().take(ANSWER);
            let has = |list: &[&str]| answer.clone().any(|word| is_in(list, word));
            if has(&NEGATIONS) {
                gained += ANSWERED_NO;
            } else if has(&YES) {
                gained += ANSWERED_YES;
            }
        }
        gained
    }
}

fn is_in(list: &[&str], word: &Word) -> bool {
    list.binary_search(&&*word.text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::fields::fields;
    use super::super::text_units::tests::units_of;
    use super::*;
    use serde_json::json;

    fn of(key: &str, description: &str, text: &str) -> f32 {
        let property = json!({"type": "boolean", "description": description});
        let schema = json!({"properties": {key: property}});
        log_odds(&fields(&schema)[0], &units_of(text), text)
    }

    #[test]
    fn what_is_mentioned_is_true_and_what_is_negated_is_false() {
        for (key, text) in [
            ("pets_allowed", "Two rooms. Pets are allowed."),
            ("furnished", "The flat comes furnished."),
            ("aufzug", "Altbau mit Aufzug"),
            ("meublé", "Studio meublé, 30 m²"),
            ("mascotas", "Se admiten mascotas"),
            ("parking", "Is there parking? Yes, in the yard."),
        ] {
            assert!(of(key, "", text) > 0.0, "{key}: {text}");
        }
        for (key, text) in [
            (
                "pets_allowed",
                "Two rooms. No pets, please. Smoking allowed.",
            ),
            ("furnished", "The flat isn't furnished."),
            ("aufzug", "Altbau ohne Aufzug"),
            ("meublé", "Studio non meublé, 30 m²"),
            ("mascotas", "No se admiten mascotas"),
            ("parking", "Is there parking? No, but in the next street."),
        ] {
            assert!(of(key, "", text) < 0.0, "{key}: {text}");
        }
    }

    #[test]
    fn words_of_the_description_count() {
        let negated = of("field_1", "whether a lift exists", "There is no lift.");
        assert!(negated < 0.0);
        assert!(of("field_1", "whether a lift exists", "There is a lift.") > 0.0);
    }

    #[test]
    fn negations_of_other_sentences_do_not_count() {
        let text = "Breakfast is included.\nNo returns";
        assert!(of("breakfast", "", text) > 0.0);
        assert!(of("returns", "", text) < 0.0);
    }

    #[test]
    fn without_a_word_of_the_field_negations_make_no_a_little_more_probable() {
        assert!(of("paid", "", "It rained all day") > 0.0);
        assert!(of("paid", "", "It did not rain, no one came") < 0.0);
        assert!(of("paid", "", "") > 0.0);
    }

    #[test]
    fn lists_are_sorted_and_as_words_are_written() {
        use super::super::words::words;
        for list in [&NEGATIONS[..], &AFFIRMATIONS, &YES] {
            assert!(list.is_sorted());
            for word in list {
                assert_eq!(words(word)[0].text, *word);
            }
        }
    }
}

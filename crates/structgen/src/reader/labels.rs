//! Labels: words of a field that the text has near a value.
//!
//! The reader learns with these gains (`training/labels.py` computes the same), so that it knows where labels mislead.
//! Its weights belong to the constants here.

use super::fields::ReadField;
use super::text_units::TextUnits;
use super::words::{are_related, content_words};

/// What the logit of a place gains right after a word of the field: of its key, of the keys above it, or of its
/// description. It falls to nothing over so many bytes, and at the end of the sentence or line.
///
/// The numbers were fitted with a reader of tokens, which did not learn with them: it found 71.1 and 67.3 percent of
/// the places of single values in held-out families and domains with them, and 68.2 and 64.2 with a gain for words of
/// the key alone.
const AFTER: (f32, usize) = (3.5, 60);

/// The same for a place before such a word, as in "3 rooms".
const BEFORE: (f32, usize) = (3.2, 40);

/// What the logit of no value gains, to be level with those. Fitted with them, it is 0.4 or 0.5.
const NONE: f32 = 0.4;

/// Adds to the logits of places near a word of the field, and to that of no value.
pub(super) fn prefer_labelled(
    field: &ReadField,
    none: Option<usize>,
    units: &TextUnits,
    starts: &mut [f32],
) {
    let description = field.description.as_deref();
    let names = field.path.iter().map(String::as_str).chain(description);
    let labels = content_words(names);
    let mut gained = vec![0f32; units.starts.len()];
    let start_of = |place: usize| units.spans[units.starts[place]].start;
    let label_words = { units.words.iter() }
        .filter(|word| labels.iter().any(|label| are_related(label, &word.text)));
    for word in label_words {
        let sentence = units.sentence(word.start);
        let mut gain = |place: usize, distance: usize, (most, width): (f32, usize)| {
            let start = start_of(place);
            let is_near = distance <= width && units.sentence(start) == sentence;
            if is_near {
                let gain = most * (1.0 - distance as f32 / width as f32);
                gained[place] = gained[place].max(gain);
            }
            is_near
        };
        let place = |byte: usize| {
            let is_before = |&at: &usize| units.spans[at].start < byte;
            units.starts.partition_point(is_before)
        };
        for at in place(word.end)..units.starts.len() {
            if !gain(at, start_of(at) - word.end, AFTER) {
                break;
            }
        }
        for at in (0..place(word.start)).rev() {
            if !gain(at, word.start - start_of(at), BEFORE) {
                break;
            }
        }
    }
    for (&at, gained) in units.starts.iter().zip(gained) {
        starts[units.first + at] += gained;
    }
    if let Some(none) = none {
        starts[none] += NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::fields;
    use super::super::text_units::tests::units_of;
    use super::*;
    use serde_json::json;

    /// What the words of a text gain for the only field of a schema.
    fn gained(schema: &serde_json::Value, text: &str) -> Vec<(String, f32)> {
        let units = units_of(text);
        let mut starts = vec![0.0; units.spans.len()];
        prefer_labelled(&fields(schema)[0], None, &units, &mut starts);
        let gained = { units.spans.iter().zip(starts) }.filter(|(_, gained)| *gained > 0.0);
        gained
            .map(|(span, gained)| (text[span.clone()].to_owned(), gained))
            .collect()
    }

    #[test]
    fn places_gain_as_in_training() {
        for line in include_str!("../../tests/data/labels.jsonl").lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let [key, said, text] =
                ["key", "description", "text"].map(|it| case[it].as_str().unwrap());
            let schema = json!({"properties": {key: {"type": "number", "description": said}}});
            let units = units_of(text);
            let mut gained = vec![0.0; units.spans.len()];
            prefer_labelled(&fields(&schema)[0], None, &units, &mut gained);
            let gained = units.starts.iter().map(|&at| gained[at]);
            let expected = case["gains"].as_array().unwrap();
            assert_eq!(units.starts.len(), expected.len());
            for (gained, expected) in gained.zip(expected) {
                let difference = f64::from(gained) - expected.as_f64().unwrap();
                assert!(difference.abs() < 1e-3, "{text}: {gained}, not {expected}");
            }
        }
    }

    #[test]
    fn what_follows_a_word_of_the_field_gains_more_the_nearer_it_is() {
        let schema = json!({"properties": {"invoice": {"properties": {"total": {
            "type": "number", "description": "the amount",
        }}}}});
        for label in ["Total", "Amount", "INVOICE", "amounts"] {
            let found = gained(&schema, &format!("9 . {label} 12 or 13; 14"));
            let [(twelve, most), (or, _), (thirteen, less), _] = &found[..] else {
                panic!("{label}: {found:?}")
            };
            assert_eq!([&**twelve, or, thirteen], ["12", "or", "13"]);
            assert!(AFTER.0 > *most && most > less, "{label}: {found:?}");
        }
    }

    #[test]
    fn what_stands_before_a_word_of_the_field_gains_as_well() {
        let schema = json!({"properties": {"rooms": {"type": "integer"}}});
        let found = gained(&schema, "5\n3 rooms\n7");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "3");
        let far = format!("3 {} rooms", "x".repeat(60));
        assert_eq!(gained(&schema, &far).len(), 0);
    }
}

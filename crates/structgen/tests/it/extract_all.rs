//! Many texts at a time: results are in order, and an error takes the place of its text, however many workers there
//! are.

use std::cell::Cell;
use std::iter;

use structgen::decode::GenerateError;
use structgen::{Error, Extractor, GenerateOptions, LongText};

use crate::support::{PEOPLE, Person, model};

#[test]
fn extractions_come_in_order_with_errors_in_their_place_for_any_number_of_workers() {
    let too_long = "Mia is 41. ".repeat(2_000);
    let mut texts = [PEOPLE, PEOPLE].concat();
    texts.insert(3, &too_long);
    texts.push(&too_long);
    let mut outcomes = Vec::new();
    for workers in [1, 3] {
        let people = Extractor::<Person>::builder()
            .workers(workers)
            .build()
            .unwrap()
            .with_long_text(LongText::Refuse);
        assert_eq!(people.model().workers(), workers);
        let alone: Vec<_> = texts
            .iter()
            .map(|text| outcome(people.extract(text)))
            .collect();
        let all: Vec<_> = people.extract_all(&texts).map(outcome).collect();
        assert_eq!(all, alone);
        outcomes.push(all);
    }
    assert_eq!(outcomes[0], outcomes[1]);
    let failed = |(number, outcome): (usize, &_)| Result::is_err(outcome).then_some(number);
    let failed: Vec<usize> = outcomes[0].iter().enumerate().filter_map(failed).collect();
    assert_eq!(failed, [3, texts.len() - 1]);
}

/// Returns the text and the value, or the error.
fn outcome(
    found: structgen::Result<structgen::Extraction<Person>>,
) -> Result<(String, Person), String> {
    match found {
        Ok(found) => Ok((found.json, found.value)),
        Err(error) => {
            assert!(matches!(
                error,
                Error::Generate(GenerateError::ContextOverflow { .. })
            ));
            Err(error.to_string())
        }
    }
}

#[test]
fn texts_are_taken_as_there_is_room() {
    let people = Extractor::<Person>::with_model(model(), GenerateOptions::default()).unwrap();
    let taken = Cell::new(0);
    let endless = iter::repeat(PEOPLE[0]).inspect(|_| taken.set(taken.get() + 1));
    let found: Vec<_> = people.extract_all(endless).take(3).collect();
    let first = found[0].as_ref().unwrap();
    assert!(
        found
            .iter()
            .all(|found| found.as_ref().unwrap().value == first.value)
    );
    // As many as can run, and a few more.
    let most = people.model().engine().limits().rows + 1;
    assert!((3..=most + 3).contains(&taken.get()), "{}", taken.get());
    assert_eq!(people.extract_all(iter::empty::<&str>()).count(), 0);
}

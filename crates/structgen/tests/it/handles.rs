//! Models and extractors are handles: cheap to clone, and used by any number of threads at the same time.

use std::num::NonZeroUsize;
use std::rc::Rc;
use std::thread;

use structgen::{Extractor, GenerateOptions, Model, ModelOptions, SchemaExtractor};

use crate::support::{PEOPLE, Person, model, open};

#[test]
fn handles_are_cloned_and_shared_whatever_they_extract() {
    fn is_handle<T: Clone + Send + Sync + 'static>() {}
    is_handle::<Model>();
    is_handle::<SchemaExtractor>();
    is_handle::<Extractor<Person>>();
    is_handle::<Extractor<Rc<Person>>>();
}

#[test]
fn threads_extract_at_the_same_time_what_one_extracts_alone() {
    let alone = Extractor::<Person>::with_model(model(), GenerateOptions::default()).unwrap();
    let expected = PEOPLE.map(|text| alone.extract(text).unwrap().json);
    let two = ModelOptions::new().with_workers(NonZeroUsize::MIN.saturating_add(1));
    for model in [model(), open(&two)] {
        let people = Extractor::<Person>::with_model(model, GenerateOptions::default()).unwrap();
        thread::scope(|scope| {
            for first in 0..4 {
                let (people, expected) = (people.clone(), &expected);
                scope.spawn(move || {
                    for number in (first..PEOPLE.len()).chain(0..first) {
                        let found = people.extract(PEOPLE[number]).unwrap();
                        assert_eq!(found.json, expected[number]);
                        let value: Person = serde_json::from_str(&found.json).unwrap();
                        assert_eq!(found.value, value);
                    }
                });
            }
        });
    }
}

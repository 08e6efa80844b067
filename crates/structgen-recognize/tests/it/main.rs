//! Tests of the public interface: the meaning of each notation, and the recall on texts of the training data.

mod addresses;
mod amounts;
mod dates;
mod durations;
mod hostile;
mod numbers;
mod sample;
mod times;

use structgen_recognize::{Allowed, Leaf, Options, allowed, recognize};

/// Returns what a leaf may contain for a text.
fn values(text: &str, leaf: Leaf) -> Vec<Allowed> {
    allowed(&recognize(text, &Options::default()), leaf)
}

/// Checks that in each text, the value is the best reading of some part.
#[track_caller]
fn best(leaf: Leaf, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, value)| {
            let values = values(text, leaf);
            let hit = values
                .iter()
                .any(|allowed| allowed.text == *value && allowed.reading() == 0);
            (!hit).then(|| {
                let values: Vec<_> = values
                    .iter()
                    .map(|value| (&value.text, value.reading()))
                    .collect();
                format!("{text:?} as {leaf:?} is not {value} but {values:?}")
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that in each text, the value is another reading.
#[track_caller]
fn other(leaf: Leaf, cases: &[(&str, &str)]) {
    for (text, value) in cases {
        let values = values(text, leaf);
        let hit = values.iter().find(|allowed| allowed.text == *value);
        assert!(
            hit.is_some_and(|hit| hit.reading() > 0),
            "{text:?} as {leaf:?}: {value} among {values:?}"
        );
    }
}

/// Checks that no text has the value.
#[track_caller]
fn never(leaf: Leaf, cases: &[(&str, &str)]) {
    for (text, value) in cases {
        let values = values(text, leaf);
        assert!(
            values.iter().all(|allowed| allowed.text != *value),
            "{text:?} as {leaf:?}: {value} among {values:?}"
        );
    }
}

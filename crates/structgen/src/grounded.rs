//! Values that come from the text.

mod other_notations;

use std::collections::HashSet;

use structgen_automata::LimitExceeded;
use structgen_constraint::{Candidate, CandidateValue, CompileError, Input};
use structgen_grammar::Decimal;
use structgen_recognize::{Leaf, Options, allowed, recognize};

use other_notations::other_notations;

/// Prepares a text as the source of grounded values, including the numbers, dates, times and addresses in any of the
/// notations of [`structgen_recognize`].
///
/// Pass it to [`CompiledConstraint::bind`](structgen_constraint::CompiledConstraint::bind). An
/// [`Extractor`](crate::Extractor) binds each text by itself.
///
/// ```
/// use serde_json::json;
/// use structgen::locate;
///
/// let input = structgen::recognized_input("Two crates until 12 May 2024")?;
/// let found = locate(&json!({"crates": 2, "weight": 7}), &input);
/// assert_eq!((&found[0].bytes[..], found[1].bytes.len()), (&[0..3][..], 0));
/// # Ok::<(), structgen::Error>(())
/// ```
///
/// # Errors
/// [`Error::Compile`](crate::Error::Compile) if the text is too long.
pub fn recognized_input(text: &str) -> crate::Result<Input> {
    Ok(input(text).map_err(CompileError::from)?)
}

fn input(text: &str) -> Result<Input, LimitExceeded> {
    let found = recognize(text, &Options::default());
    let mut candidates = Vec::new();
    let mut numbers = HashSet::new();
    for leaf in [Leaf::Number, Leaf::Integer] {
        for number in allowed(&found, leaf) {
            // Whole numbers are in both lists.
            if let Ok(value) = number.text.parse::<Decimal>()
                && numbers.insert(number.text)
            {
                let spans = number.spans.into_iter().zip(number.readings);
                candidates.extend(spans.map(|(span, reading)| Candidate {
                    span,
                    value: CandidateValue::Number(value.clone()),
                    reading,
                }));
            }
        }
    }
    // Strings that belong to no format are for strings with a pattern.
    for leaf in Leaf::STRINGS {
        for string in allowed(&found, leaf) {
            let spans = string.spans.into_iter().zip(string.readings);
            candidates.extend(spans.map(|(span, reading)| Candidate {
                span,
                reading,
                value: CandidateValue::String {
                    format: leaf.name().into(),
                    text: (&*string.text).into(),
                },
            }));
        }
    }
    let others = other_notations(&found).into_iter();
    candidates.extend(others.map(|(span, text)| Candidate {
        span,
        reading: 0,
        value: CandidateValue::OtherNotation(text.into()),
    }));
    Input::with_candidates(text, candidates)
}

//! Values that come from the text.

use std::collections::HashSet;
use std::sync::Arc;

use structgen_automata::LimitExceeded;
use structgen_constraint::{Candidate, CandidateValue, CompileError, CompiledConstraint, Input};
use structgen_grammar::{Decimal, Expr};
use structgen_recognize::{Leaf, Options, allowed, recognize};

/// A text that grounded values can come from, with the numbers, dates, times and addresses that it has in any of the
/// notations of [`structgen_recognize`].
///
/// [`CompiledConstraint::bind`] takes it. An [`Extractor`](crate::Extractor) binds each text by itself.
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
/// [`Error::Compile`](crate::Error::Compile) when the text is too long.
pub fn recognized_input(text: &str) -> crate::Result<Input> {
    Ok(input(text).map_err(CompileError::from)?)
}

fn input(text: &str) -> Result<Input, LimitExceeded> {
    let found = recognize(text, &Options::default());
    let mut candidates = Vec::new();
    let mut numbers = HashSet::new();
    for leaf in [Leaf::Number, Leaf::Integer] {
        for number in allowed(&found, leaf) {
            // Both lists have the whole numbers.
            if let Ok(value) = number.text.parse::<Decimal>()
                && numbers.insert(number.text)
            {
                candidates.extend(number.spans.into_iter().map(|span| Candidate {
                    span,
                    value: CandidateValue::Number(value.clone()),
                }));
            }
        }
    }
    // Those that are no format's are for strings with a pattern.
    for leaf in Leaf::STRINGS {
        for string in allowed(&found, leaf) {
            candidates.extend(string.spans.into_iter().map(|span| Candidate {
                span,
                value: CandidateValue::String {
                    format: leaf.name().into(),
                    text: (&*string.text).into(),
                },
            }));
        }
    }
    Input::with_candidates(text, candidates)
}

/// Whether values of a constraint are to come from an input.
pub(crate) fn is_grounded(constraint: &CompiledConstraint) -> bool {
    let grammar = constraint.program().grammar();
    { grammar.exprs().iter() }.any(|expr| matches!(expr, Expr::Grounded { .. }))
}

/// What a constraint leaves of a text's values.
pub(crate) struct Grounding {
    pub(crate) input: Arc<Input>,
    pub(crate) constraint: CompiledConstraint,
    /// JSON Pointers into the schema: required values that the text does not have.
    pub(crate) ungrounded: Vec<String>,
}

impl Grounding {
    pub(crate) fn of(constraint: &CompiledConstraint, text: &str) -> crate::Result<Self> {
        let input = Arc::new(recognized_input(text)?);
        let bound = constraint.bind(&input)?;
        Ok(Self {
            input,
            constraint: bound.constraint,
            ungrounded: { bound.ungrounded.iter() }
                .map(|pointer| pointer.trim_start_matches('#').to_owned())
                .collect(),
        })
    }
}

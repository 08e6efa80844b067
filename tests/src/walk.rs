//! Random walks through masks.

use structgen::constraint::{CompiledConstraint, Matcher};

use crate::SplitMix;
use crate::vocabularies::TestVocabulary;

/// Takes random tokens until the text may end, then the cheapest way out; `None` where a limit is met.
///
/// # Errors
/// If no token leads to a completion within the budget, in words.
///
/// # Panics
/// If no token is allowed, or a completion's cost exceeds a limit.
pub fn walk(
    constraint: &CompiledConstraint,
    vocabulary: &TestVocabulary,
    random: &mut SplitMix,
) -> Result<Option<Vec<u8>>, String> {
    walk_with(constraint, None, vocabulary, random)
}

/// Walks a constraint as [`walk`] does, and another in step, whose masks must be the same all along.
///
/// # Errors
/// As those of [`walk`], or if the masks differ, in words.
///
/// # Panics
/// As [`walk`] does.
pub fn walk_in_step(
    constraint: &CompiledConstraint,
    other: &CompiledConstraint,
    vocabulary: &TestVocabulary,
    random: &mut SplitMix,
) -> Result<Option<Vec<u8>>, String> {
    walk_with(constraint, Some(other.matcher()), vocabulary, random)
}

fn walk_with(
    constraint: &CompiledConstraint,
    mut follower: Option<Matcher>,
    vocabulary: &TestVocabulary,
    random: &mut SplitMix,
) -> Result<Option<Vec<u8>>, String> {
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    let mut budget = 40 + matcher.completion_cost().expect("within the limits");
    loop {
        let Ok(mask) = matcher.mask() else {
            return Ok(None);
        };
        if let Some(follower) = &mut follower {
            let Ok(other) = follower.mask() else {
                return Ok(None);
            };
            if mask.bits() != other.bits() {
                let text = String::from_utf8_lossy(&text);
                return Err(format!("other masks after {text:?}"));
            }
        }
        let tokens: Vec<_> = mask.bits().iter().collect();
        assert!(
            !tokens.is_empty(),
            "a dead end after {:?}",
            String::from_utf8_lossy(&text)
        );
        if matcher.is_finished() {
            return Ok(Some(text));
        }
        let (cost, shown) = (
            matcher.completion_cost().expect("within the limits"),
            String::from_utf8_lossy(&text).into_owned(),
        );
        let mut affordable = |token| {
            constraint.eos().contains(&token)
                || matcher
                    .completion_cost_after(token)
                    .is_ok_and(|cost| cost < budget)
        };
        let drawn = (0..6).map(|_| tokens[random.below(tokens.len())]);
        let token = drawn
            .chain(tokens.iter().copied())
            .find(|&token| affordable(token));
        let Some(token) = token else {
            return Err(format!(
                "nothing within {budget} after {shown:?}, which costs {cost}"
            ));
        };
        if constraint.eos().contains(&token) {
            return Ok(Some(text));
        }
        let has_met_a_limit = matcher.accept_token(token).is_err() || { follower.as_mut() }
            .is_some_and(|follower| follower.accept_token(token).is_err());
        if has_met_a_limit {
            return Ok(None);
        }
        text.extend_from_slice(
            vocabulary
                .vocabulary()
                .token_bytes(token)
                .unwrap_or_default(),
        );
        budget = budget.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use structgen::Constraint;

    use super::*;
    use crate::vocabularies;

    #[test]
    fn constraints_that_differ_only_at_the_end_are_told_apart_in_step() {
        let vocabulary = vocabularies::small();
        let compile = |end: &str| {
            let constraint = Constraint::gbnf(&format!("root ::= \"x\"{{20}} {end}")).unwrap();
            let eos = [vocabulary.eos];
            constraint.compile(&vocabulary.tables, &eos).unwrap()
        };
        let (one, other) = (compile("\"1\""), compile("\"2\""));
        let first = |constraint: &CompiledConstraint| {
            let mut matcher = constraint.matcher();
            matcher.mask().unwrap().bits().clone()
        };
        assert_eq!(first(&one), first(&other));

        let mut random = SplitMix::new(1);
        let same = walk_in_step(&one, &compile("\"1\""), &vocabulary, &mut random);
        assert_eq!(same, Ok(Some(b"xxxxxxxxxxxxxxxxxxxx1".to_vec())));
        let error = walk_in_step(&one, &other, &vocabulary, &mut random).unwrap_err();
        assert!(error.starts_with("other masks after \"x"), "{error}");
    }
}

//! Random walks through masks.

use structgen::constraint::CompiledConstraint;

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
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    let mut budget = 40 + matcher.completion_cost().expect("within the limits");
    loop {
        let Ok(mask) = matcher.mask() else {
            return Ok(None);
        };
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
        if matcher.accept_token(token).is_err() {
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

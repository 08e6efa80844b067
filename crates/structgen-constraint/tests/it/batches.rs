//! Masks of many sequences at once, and cached masks, equal those of a single matcher.

use crate::small::choices;
use structgen_constraint::Matcher;
use structgen_vocab::TokenId;

#[test]
fn a_batch_over_several_constraints_gives_each_matcher_its_mask() {
    let constraints = [&["ab", "b"][..], &["true", "false", "null"], &["a"]].map(choices);
    let mut matchers: Vec<Matcher> = (0..30).map(|i| constraints[i % 3].matcher()).collect();
    for (i, matcher) in matchers.iter_mut().enumerate() {
        if i % 2 == 1 {
            let token = matcher.mask().unwrap().bits().first().unwrap();
            matcher.accept_token(token).unwrap();
        }
    }
    let masks = structgen_constraint::batch_masks(&mut matchers);
    assert_eq!(masks.len(), matchers.len());
    for (mask, matcher) in masks.into_iter().zip(&mut matchers) {
        assert_eq!(mask.unwrap().bits(), matcher.mask().unwrap().bits());
    }
    assert!(structgen_constraint::batch_masks(&mut []).is_empty());
}

#[test]
fn a_mask_is_ready_once_it_was_computed_and_where_one_token_is_forced() {
    let constraint = choices(&["x", "zzz"]);
    let mut matcher = constraint.matcher();
    // Two bytes are allowed, and the mask is not cached.
    assert!(matcher.ready_mask().unwrap().is_none());
    let mask = matcher.mask().unwrap();
    assert_eq!(matcher.ready_mask().unwrap().unwrap().bits(), mask.bits());
    matcher.accept_token(TokenId(u32::from(b'z'))).unwrap();
    let forced = matcher.ready_mask().unwrap().unwrap();
    assert_eq!(forced.list(), Some(&[TokenId(u32::from(b'z'))][..]));
}

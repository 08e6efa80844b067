//! Once everything is cached, masks and tokens allocate nothing.

use crate::small::choices;
use structgen_constraint::Matcher;
use structgen_vocab::TokenId;

/// Masks and tokens along a path, and back to its start.
fn walk(matcher: &mut Matcher, path: &[TokenId]) -> usize {
    let mut allowed = 0;
    for &token in path {
        allowed += matcher.mask().unwrap().count();
        matcher.accept_token(token).unwrap();
    }
    matcher.rollback(path.len()).unwrap();
    allowed
}

#[test]
fn a_path_that_was_walked_before_allocates_nothing() {
    let constraint = choices(&["true", "trusted", "false", "nothing else"]);
    let mut matcher = constraint.matcher();
    let path: Vec<TokenId> = b"nothing else".iter().map(|&b| TokenId(b.into())).collect();
    let first = walk(&mut matcher, &path);
    // The counter is per thread, so the test harness is not counted.
    let mut again = 0;
    let measured = allocation_counter::measure(|| again = walk(&mut matcher, &path));
    assert_eq!(again, first);
    assert_eq!(measured.count_total, 0);
    // The counter does count allocations.
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(counted.count_total, 1);
}

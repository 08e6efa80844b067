//! The statistics count the work done.

use crate::small::choices;
use structgen_vocab::TokenId;

#[test]
fn bytes_and_states_are_counted() {
    let constraint = choices(&["yes", "no"]);
    let before = constraint.statistics();
    assert_eq!((before.masks_computed, before.mask_bytes), (0, 0));
    constraint.matcher().mask().unwrap();
    let after = constraint.statistics();
    assert!(after.mask_bytes > 0 && after.states >= before.states && after.nodes > 0);
    assert_eq!((after.masks_evicted, after.states_dropped), (0, 0));
    assert!(constraint.state_bytes() > 0);
    let mut twice = after;
    twice.add(&after);
    assert_eq!(twice.nodes_walked, 2 * after.nodes_walked);
}

#[test]
fn forced_text_ends_where_something_may_be_chosen() {
    let constraint = choices(&["no, never", "no, not so", "yes"]);
    let mut matcher = constraint.matcher();
    assert_eq!(matcher.forced_text(100).unwrap(), b"");
    matcher.accept_token(TokenId(b'n'.into())).unwrap();
    assert_eq!(matcher.forced_text(100).unwrap(), b"o, n");
    assert_eq!(matcher.forced_text(2).unwrap(), b"o,");
    // Reading them takes no work.
    for &byte in b"o, no" {
        matcher.accept_token(TokenId(byte.into())).unwrap();
    }
    assert_eq!(matcher.forced_text(100).unwrap(), b"t so");
    // If an output may end, nothing is forced.
    let mut matcher = choices(&["a", "ab"]).matcher();
    assert_eq!(matcher.forced_text(100).unwrap(), b"a");
}

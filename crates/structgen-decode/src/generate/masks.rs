//! Masks that are computed while the model runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Constraint, ConstraintError};

/// What a token is chosen by, once it is there.
pub(super) type SomeMask<C> = Option<Result<Arc<<C as Constraint>::Mask>, ConstraintError>>;

/// Computes missing masks on other threads while this one, which the model may be bound to, does `work`. Also says how much longer the masks took.
pub(super) fn with_masks<'m, C: Constraint + 'm, R>(
    missing: impl Iterator<Item = (&'m mut C, &'m mut SomeMask<C>)>,
    work: impl FnOnce() -> R,
) -> (R, Duration) {
    let mut missing = missing.peekable();
    if missing.peek().is_none() {
        return (work(), Duration::ZERO);
    }
    let (result, done) = rayon::in_place_scope(move |scope| {
        for (constraint, mask) in missing {
            scope.spawn(move |_| *mask = Some(constraint.mask()));
        }
        (work(), Instant::now())
    });
    (result, done.elapsed())
}

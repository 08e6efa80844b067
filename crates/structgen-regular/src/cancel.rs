//! Cancels work from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::LimitExceeded;
use crate::limit::{CANCELLED, MILLISECONDS};

/// A token that cancels work, on request or once a deadline has passed.
///
/// Clones are the same token. Code that counts its work checks the token about every thousand units, so that work ends
/// within milliseconds, with a [`LimitExceeded`] that names the reason.
///
/// ```
/// use std::time::Duration;
/// use structgen_regular::CancelToken;
///
/// let token = CancelToken::new();
/// assert!(token.check().is_ok());
/// token.clone().cancel();
/// assert!(token.check().is_err_and(|error| error.is_cancelled()));
///
/// let late = CancelToken::with_timeout(Duration::ZERO);
/// let error = late.check().unwrap_err();
/// assert_eq!(error.to_string(), "milliseconds of work exceed the limit of 0");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Cancellation>);

#[derive(Debug, Default)]
struct Cancellation {
    is_cancelled: AtomicBool,
    /// The time at which work has to end, and the total time allowed.
    deadline: Option<(Instant, Duration)>,
}

/// The work between two checks; a power of two.
const INTERVAL: u64 = 1 << 10;

impl CancelToken {
    /// Creates a token without a deadline.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token whose deadline is this long after now. If that is beyond the range of the clock, it has none.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        let end = Instant::now().checked_add(timeout);
        Self(Arc::new(Cancellation {
            is_cancelled: AtomicBool::new(false),
            deadline: end.map(|end| (end, timeout)),
        }))
    }

    /// Cancels all work with this token.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Checks whether work may continue.
    ///
    /// # Errors
    /// If the token was cancelled, or its deadline has passed.
    pub fn check(&self) -> Result<(), LimitExceeded> {
        if self.0.is_cancelled.load(Ordering::Relaxed) {
            return Err(LimitExceeded {
                what: CANCELLED,
                limit: 0,
            });
        }
        match self.0.deadline {
            Some((end, timeout)) if Instant::now() >= end => Err(LimitExceeded {
                what: MILLISECONDS,
                limit: timeout.as_millis().try_into().unwrap_or(u64::MAX),
            }),
            _ => Ok(()),
        }
    }

    /// Like [`check`](Self::check), but only if the count of work has passed a multiple of some number.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[inline]
    pub fn check_between(&self, before: u64, after: u64) -> Result<(), LimitExceeded> {
        match before / INTERVAL == after / INTERVAL {
            true => Ok(()),
            false => self.check(),
        }
    }
}

/// Tokens are equal if they are the same.
impl PartialEq for CancelToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CancelToken {}

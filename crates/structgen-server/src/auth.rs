//! Keys of clients.

use axum::http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::error::{ApiError, Result};

/// What is before the key. Names of schemes are case-insensitive (RFC 9110, section 11.1).
const BEARER: &[u8] = b"Bearer ";

/// The keys that clients may present, hashed.
#[derive(Debug)]
pub(crate) struct Keys(Vec<[u8; 32]>);

impl Keys {
    pub(crate) fn new(keys: &[String]) -> Self {
        Self(keys.iter().map(|key| hash(key.as_bytes())).collect())
    }

    /// Returns the index of the key that a request presents, or `None` if no key is required.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Option<usize>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let given = { headers.get(header::AUTHORIZATION) }
            .and_then(|value| value.as_bytes().split_at_checked(BEARER.len()))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(BEARER))
            .map_or(&[][..], |(_, key)| key);
        let given = hash(given);
        // Compare all keys completely, so that the time reveals nothing about them.
        let mut found = None;
        for (number, key) in self.0.iter().enumerate() {
            if is_same(key, &given) {
                found = Some(number);
            }
        }
        match found {
            Some(number) => Ok(Some(number)),
            None => {
                let message = "a valid API key is needed: Authorization: Bearer KEY";
                Err(ApiError::new(StatusCode::UNAUTHORIZED, message).with_code("invalid_api_key"))
            }
        }
    }
}

fn hash(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// Compares in a time that does not depend on where the two differ.
fn is_same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_a_key_that_is_known_is_let_in() {
        let keys = Keys::new(&["one".to_owned(), "two".to_owned()]);
        let with = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            keys.check(&headers).ok().flatten()
        };
        for right in ["Bearer two", "bearer two", "BEARER two"] {
            assert_eq!(with(right), Some(1), "{right}");
        }
        for wrong in ["Bearer three", "Bearer ", "two", "Basic two", "Bearer two "] {
            assert_eq!(with(wrong), None, "{wrong}");
        }
        assert!(keys.check(&HeaderMap::new()).is_err());
        let open = Keys::new(&[]);
        assert_eq!(open.check(&HeaderMap::new()).unwrap(), None);
    }
}

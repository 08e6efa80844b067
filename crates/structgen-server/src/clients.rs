//! Clients, by key or address, and their share of the server.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;

use crate::error::{ApiError, Result};

/// The sender of a request: the index of the key, or the address if no key is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    Key(usize),
    Address(IpAddr),
}

impl Client {
    /// Returns the number of the client for the models' queues, where clients take turns.
    pub(crate) fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// The number of requests in progress of each client.
#[derive(Debug)]
pub(crate) struct Clients {
    most: usize,
    counts: Arc<Mutex<HashMap<Client, usize>>>,
}

/// A request in progress of a client.
#[derive(Debug)]
pub(crate) struct Share {
    client: Client,
    counts: Arc<Mutex<HashMap<Client, usize>>>,
}

impl Clients {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            counts: Arc::default(),
        }
    }

    /// Counts another request of a client, until the returned share is dropped.
    pub(crate) fn enter(&self, client: &Client) -> Result<Share> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(*client).or_default();
        if *count >= self.most {
            let message = format!(
                "{} requests of this client are under way, which is the most; try again later",
                self.most
            );
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, message);
            return Err(error.with_code("too_many_requests"));
        }
        *count += 1;
        Ok(Share {
            client: *client,
            counts: Arc::clone(&self.counts),
        })
    }
}

impl Share {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_share() {
        let clients = Clients::new(1);
        let first = clients.enter(&Client::Key(0)).unwrap();
        assert!(clients.enter(&Client::Key(0)).is_err());
        let _other = clients.enter(&Client::Key(1)).unwrap();
        drop(first);
        clients.enter(&Client::Key(0)).unwrap();
    }
}

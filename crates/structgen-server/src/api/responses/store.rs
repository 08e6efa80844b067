//! Stored responses, for `previous_response_id` and for clients that retrieve them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;

use crate::clients::Client;
use crate::generation::Conversation;

/// Maximum bytes of text over all stored responses.
const MOST_BYTES: usize = 64 << 20;

/// Responses that are stored or in progress, each accessible to the client that requested it.
pub(crate) struct Responses {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The latest at the back; the oldest is removed first.
    kept: VecDeque<Kept>,
    bytes: usize,
    running: HashMap<String, (Client, Arc<Notify>)>,
}

struct Kept {
    id: String,
    client: Client,
    bytes: usize,
    response: Value,
    conversation: Conversation,
}

/// Registers a response in progress, until it is dropped.
pub(crate) struct Running<'r> {
    responses: &'r Responses,
    id: String,
    pub(crate) cancelled: Arc<Notify>,
}

impl Responses {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a response with its conversation, including the answer.
    pub(crate) fn keep(
        &self,
        id: &str,
        client: Client,
        response: Value,
        conversation: Conversation,
    ) {
        let messages = conversation.messages.iter();
        let written =
            messages.map(|message| Value::from(message.fields().clone()).to_string().len());
        let bytes = response.to_string().len() + written.sum::<usize>();
        let mut inner = self.inner();
        inner.bytes += bytes;
        inner.kept.push_back(Kept {
            id: id.to_owned(),
            client,
            bytes,
            response,
            conversation,
        });
        while inner.kept.len() > self.most || inner.bytes > MOST_BYTES {
            let Some(oldest) = inner.kept.pop_front() else {
                break;
            };
            inner.bytes -= oldest.bytes;
        }
    }

    /// Returns the response with an id, if it belongs to this client.
    pub(crate) fn response(&self, id: &str, client: Client) -> Option<Value> {
        self.find(id, client, |kept| kept.response.clone())
    }

    /// Returns the conversation up to a response.
    pub(crate) fn conversation(&self, id: &str, client: Client) -> Option<Conversation> {
        self.find(id, client, |kept| kept.conversation.clone())
    }

    fn find<T>(&self, id: &str, client: Client, take: impl Fn(&Kept) -> T) -> Option<T> {
        let inner = self.inner();
        let mut kept = inner.kept.iter();
        kept.find(|kept| kept.id == id && kept.client == client)
            .map(take)
    }

    /// Deletes a response; returns whether it existed.
    pub(crate) fn delete(&self, id: &str, client: Client) -> bool {
        let mut inner = self.inner();
        let is_it = |kept: &Kept| kept.id == id && kept.client == client;
        let Some(at) = inner.kept.iter().position(is_it) else {
            return false;
        };
        if let Some(gone) = inner.kept.remove(at) {
            inner.bytes -= gone.bytes;
        }
        true
    }

    /// Registers a response in progress, which its client may cancel.
    pub(crate) fn run(&self, id: &str, client: Client) -> Running<'_> {
        let cancelled = Arc::new(Notify::new());
        let entry = (client, Arc::clone(&cancelled));
        self.inner().running.insert(id.to_owned(), entry);
        Running {
            responses: self,
            id: id.to_owned(),
            cancelled,
        }
    }

    /// Cancels a response in progress; returns whether there was one.
    pub(crate) fn cancel(&self, id: &str, client: Client) -> bool {
        let inner = self.inner();
        let running = inner.running.get(id).filter(|(owner, _)| *owner == client);
        running
            .inspect(|(_, cancelled)| cancelled.notify_one())
            .is_some()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.responses.inner().running.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn responses_belong_to_their_client_and_the_oldest_goes() {
        let responses = Responses::new(2);
        let (one, two) = (Client::Key(1), Client::Key(2));
        for id in ["a", "b", "c"] {
            responses.keep(id, one, json!({"id": id}), Conversation::default());
        }
        assert!(responses.response("a", one).is_none());
        assert!(responses.response("b", two).is_none());
        assert_eq!(responses.response("b", one), Some(json!({"id": "b"})));
        assert!(!responses.delete("b", two));
        assert!(responses.delete("b", one) && !responses.delete("b", one));
    }
}

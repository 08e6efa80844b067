//! Stored responses, for `previous_response_id` and for clients that retrieve them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::body::ResponseBody;
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
    running: HashMap<String, (Client, mpsc::Sender<Cancellation>)>,
}

struct Kept {
    id: String,
    client: Client,
    bytes: usize,
    response: ResponseBody,
    conversation: Conversation,
}

/// A request to cancel a response, which is answered with the response.
pub(super) type Cancellation = oneshot::Sender<ResponseBody>;

/// Registers a response in progress, until it is dropped.
pub(crate) struct Running<'r> {
    responses: &'r Responses,
    id: String,
    cancellations: mpsc::Receiver<Cancellation>,
}

impl Running<'_> {
    /// Waits until the client cancels the response.
    pub(super) async fn cancelled(&mut self) -> Cancellation {
        match self.cancellations.recv().await {
            Some(cancellation) => cancellation,
            // The response is no longer registered, and nobody can cancel it.
            None => std::future::pending().await,
        }
    }
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
    pub(super) fn keep(
        &self,
        id: &str,
        client: Client,
        response: ResponseBody,
        conversation: Conversation,
    ) {
        let messages = conversation.messages.iter();
        let written =
            messages.map(|message| Value::from(message.fields().clone()).to_string().len());
        let bytes = response.len() + written.sum::<usize>();
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
    pub(super) fn response(&self, id: &str, client: Client) -> Option<ResponseBody> {
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
        // A second request to cancel it comes too late.
        let (sender, cancellations) = mpsc::channel(1);
        self.inner().running.insert(id.to_owned(), (client, sender));
        Running {
            responses: self,
            id: id.to_owned(),
            cancellations,
        }
    }

    /// Cancels a response in progress, and returns it; `None` if there is none.
    pub(super) async fn cancel(&self, id: &str, client: Client) -> Option<ResponseBody> {
        let (cancellation, response) = oneshot::channel();
        {
            let inner = self.inner();
            let (owner, running) = inner.running.get(id)?;
            (*owner == client).then_some(())?;
            running.try_send(cancellation).ok()?;
        }
        response.await.ok()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.responses.inner().running.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::Repeated;
    use super::*;
    use crate::fields::{Fields, Unread};
    use serde_json::json;

    #[test]
    fn responses_belong_to_their_client_and_the_oldest_goes() {
        let responses = Responses::new(2);
        let (one, two) = (Client::Key(1), Client::Key(2));
        let unread = Unread::default();
        let repeated = Repeated::of(&Fields::of_body("{}", &unread).unwrap()).unwrap();
        for id in ["a", "b", "c"] {
            let body = ResponseBody::new(json!({"id": id}), &repeated);
            responses.keep(id, one, body, Conversation::default());
        }
        assert!(responses.response("a", one).is_none());
        assert!(responses.response("b", two).is_none());
        let found = serde_json::to_value(responses.response("b", one)).unwrap();
        assert_eq!(found["id"], "b");
        assert!(!responses.delete("b", two));
        assert!(responses.delete("b", one) && !responses.delete("b", one));
    }
}

//! Server-sent events of a reply.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::{RemoteError, refusal_in};

/// The maximum size of an event, in bytes.
const LARGEST_EVENT: u64 = 16 << 20;

/// The events of a reply, up to its end. An error event is the last.
pub(crate) struct Events {
    url: String,
    reader: BufReader<Box<dyn Read>>,
    has_ended: bool,
}

impl Events {
    pub(super) fn new(url: String, reader: impl Read + 'static) -> Self {
        Self {
            url,
            reader: BufReader::new(Box::new(reader)),
            has_ended: false,
        }
    }

    fn read(&mut self) -> Result<Option<Value>, RemoteError> {
        let url = || self.url.clone();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = { self.reader.by_ref().take(LARGEST_EVENT) }.read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) || line.last() != Some(&b'\n') {
                // A complete stream ends with a marker.
                return Err(RemoteError::Cut { url: url() });
            }
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            let data = data.trim_ascii();
            if data == b"[DONE]" {
                return Ok(None);
            }
            let event: Value = serde_json::from_slice(data).map_err(|_| RemoteError::Strange {
                url: url(),
                what: "an event that is not JSON".to_owned(),
            })?;
            return match refusal_in(&self.url, 200, &event) {
                Some(error) => Err(error),
                None => Ok(Some(event)),
            };
        }
    }
}

impl Iterator for Events {
    type Item = Result<Value, RemoteError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let event = self.read().transpose();
        self.has_ended = !matches!(event, Some(Ok(_)));
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &'static str) -> Vec<Result<Value, RemoteError>> {
        Events::new("u".to_owned(), text.as_bytes()).collect()
    }

    #[test]
    fn events_end_with_done_and_with_nothing_else() {
        let whole =
            events(": hello\n\ndata: {\"a\": 1}\n\nevent: x\ndata:{\"a\":2}\n\ndata: [DONE]\n\n");
        let values: Vec<i64> = { whole.iter() }
            .map(|event| event.as_ref().unwrap()["a"].as_i64().unwrap())
            .collect();
        assert_eq!(values, [1, 2]);
        for cut in ["", "data: {\"a\": 1}\n\n", "data: [DONE]"] {
            let last = events(cut).pop().unwrap();
            assert!(matches!(last, Err(RemoteError::Cut { .. })), "{cut:?}");
        }
    }

    #[test]
    fn an_error_in_a_stream_ends_it() {
        let events = events(
            "data: {\"error\": {\"message\": \"no\", \"code\": \"incomplete\"}}\n\ndata: {}\n\n",
        );
        let [Err(error)] = &events[..] else {
            panic!("{events:?}")
        };
        assert!(error.is_incomplete());
    }
}

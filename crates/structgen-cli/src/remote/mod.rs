//! A server that generates and extracts in place of a local model.

mod body;
mod events;

use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};
use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body as Reply};

use crate::interrupt;
use crate::output::detail;

pub(crate) use body::Body;
pub(crate) use events::Events;

/// The environment variable with the key; `structgen serve` uses it too.
const KEY_VARIABLE: &str = "STRUCTGEN_API_KEY";

/// Timeout for connecting.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How often to send a request while the server is too busy.
const ATTEMPTS: u32 = 10;

/// The maximum wait between two attempts, whatever the server requests.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The maximum size of a reply, in bytes.
const LARGEST_REPLY: u64 = 256 << 20;

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    agent: Agent,
    /// Its URL, without a slash at the end.
    url: String,
    /// The value of the authorization header.
    authorization: Option<String>,
    /// The model to request; `None` is the server's default.
    model: Option<String>,
}

/// Why a request to a server failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// The server cannot be reached.
    #[error("there is no server at {url}: {reason}")]
    NoServer { url: String, reason: String },
    /// It replied with an error.
    #[error("{url} refuses the request with status {status}: {message}")]
    Refused {
        url: String,
        status: u16,
        message: String,
        code: Option<String>,
    },
    /// The connection ended before the reply did.
    #[error("{url} ended the connection before its reply was complete")]
    Cut { url: String },
    /// The reply is not in a form that this program understands.
    #[error("{url} replies with {what}: it does not seem to be a server of structgen")]
    Strange { url: String, what: String },
}

impl RemoteError {
    /// Returns whether the server failed at this text only, so that other texts may succeed.
    pub(crate) fn is_of_request(&self) -> bool {
        let Self::Refused { status, .. } = self else {
            return false;
        };
        matches!(status, 400 | 408 | 413 | 422 | 500)
    }

    /// Returns whether an output was cut before it was complete.
    pub(crate) fn is_incomplete(&self) -> bool {
        matches!(self, Self::Refused { code: Some(code), .. } if code == "incomplete" || code == "time_limit")
    }
}

impl Remote {
    /// Creates a client for the server at a URL. Sends nothing yet.
    ///
    /// # Errors
    /// If the URL or key is malformed.
    pub(crate) fn new(url: &str, key: Option<&str>, model: Option<&Path>) -> anyhow::Result<Self> {
        let url = base_url(url)?;
        let key = key
            .map(str::to_owned)
            .or_else(|| std::env::var(KEY_VARIABLE).ok());
        let authorization = match key {
            Some(key) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                bail!("the API key has characters that no key has")
            }
            key => key.map(|key| format!("Bearer {key}")),
        };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // Send the key to the given server, and to no other.
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIME))
            .user_agent(concat!("structgen/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        interrupt::end_at_once();
        Ok(Self {
            agent,
            url,
            authorization,
            model: model.map(|name| name.to_string_lossy().into_owned()),
        })
    }

    /// Sends a request, and returns its reply as text.
    pub(crate) fn ask(&self, path: &str, body: Body) -> Result<String, RemoteError> {
        let reply = self.post(path, body)?;
        self.text_of(reply)
    }

    /// Sends a request, and returns the events of its reply as they arrive.
    pub(crate) fn stream(&self, path: &str, body: Body) -> Result<Events, RemoteError> {
        let reply = self.post(path, body)?;
        Ok(Events::new(
            self.url.clone(),
            reply.into_body().into_reader(),
        ))
    }

    /// Sends a request, retries while the server is too busy, and returns a successful reply.
    fn post(&self, path: &str, mut body: Body) -> Result<Response<Reply>, RemoteError> {
        if let Some(model) = &self.model {
            body.set("model", model);
        }
        let body = body.into_json();
        let mut attempt = 1;
        loop {
            let mut request = { self.agent.post(format!("{}{path}", self.url)) }
                .header("content-type", "application/json");
            if let Some(authorization) = &self.authorization {
                request = request.header("authorization", authorization);
            }
            let reply = request.send(&body).map_err(|error| self.failed(&error))?;
            match reply.status().as_u16() {
                200 => return Ok(reply),
                429 if attempt < ATTEMPTS => {
                    let wait = retry_after(&reply);
                    detail(&format!(
                        "{} is busy: trying again in {} s",
                        self.url,
                        wait.as_secs()
                    ));
                    thread::sleep(wait);
                    attempt += 1;
                }
                status => return Err(self.refusal(status, reply)),
            }
        }
    }

    fn text_of(&self, reply: Response<Reply>) -> Result<String, RemoteError> {
        let mut reader = reply.into_body().into_reader().take(LARGEST_REPLY + 1);
        let mut bytes = Vec::new();
        let cut = || RemoteError::Cut {
            url: self.url.clone(),
        };
        reader.read_to_end(&mut bytes).map_err(|_| cut())?;
        if bytes.len() as u64 > LARGEST_REPLY {
            return Err(self.strange(format!("more than {LARGEST_REPLY} bytes")));
        }
        String::from_utf8(bytes).map_err(|_| self.strange("no text"))
    }

    pub(crate) fn strange(&self, what: impl Into<String>) -> RemoteError {
        RemoteError::Strange {
            url: self.url.clone(),
            what: what.into(),
        }
    }

    /// Returns the error of an unsuccessful reply.
    fn refusal(&self, status: u16, reply: Response<Reply>) -> RemoteError {
        let text = match self.text_of(reply) {
            Ok(text) => text,
            Err(error) => return error,
        };
        let parsed = serde_json::from_str::<Value>(&text);
        match parsed.map(|body| refusal_in(&self.url, status, &body)) {
            Ok(Some(error)) => error,
            _ => self.strange(format!("status {status}")),
        }
    }

    /// Returns the error of a request without a reply. The system's error is turned into text, so that a broken
    /// connection is not mistaken for the end of standard output.
    fn failed(&self, error: &ureq::Error) -> RemoteError {
        use std::io::ErrorKind as K;
        let url = self.url.clone();
        let reason = match error {
            ureq::Error::Io(error) => match error.kind() {
                K::ConnectionReset | K::BrokenPipe | K::UnexpectedEof | K::ConnectionAborted => {
                    return RemoteError::Cut { url };
                }
                _ => error.to_string(),
            },
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed | ureq::Error::Timeout(_) => {
                error.to_string()
            }
            _ => return self.strange(format!("no HTTP ({error})")),
        };
        RemoteError::NoServer { url, reason }
    }
}

/// Returns the error that the body of a reply, or an event, describes.
fn refusal_in(url: &str, status: u16, body: &Value) -> Option<RemoteError> {
    let error = body.get("error")?;
    let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut message = text("message")?;
    if status == 401 {
        message.push_str(&format!(" ({KEY_VARIABLE}, or --set api_key)"));
    }
    Some(RemoteError::Refused {
        url: url.to_owned(),
        status,
        message,
        code: text("code"),
    })
}

/// Returns how long a busy server asks clients to wait.
fn retry_after<T>(reply: &Response<T>) -> Duration {
    let seconds = { reply.headers().get("retry-after") }
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    Duration::from_secs(seconds.unwrap_or(1)).min(LONGEST_WAIT)
}

/// Normalises a server's URL: with or without a scheme, with or without the path of OpenAI's API.
fn base_url(given: &str) -> anyhow::Result<String> {
    let wrong = || anyhow!("--server takes a URL such as http://127.0.0.1:8080, not {given:?}");
    let rest = match given.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", _)) => {
            bail!("--server takes http:// and no https://: a tunnel or a proxy adds encryption")
        }
        Some(_) => return Err(wrong()),
        None => given,
    };
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix("/v1").unwrap_or(rest);
    let url = format!("http://{rest}");
    let is_plain = !rest.is_empty() && !rest.contains(['?', '#', '@']);
    match url.parse::<ureq::http::Uri>() {
        Ok(parsed) if is_plain && parsed.host().is_some_and(|host| !host.is_empty()) => Ok(url),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_be_named_in_several_ways() {
        for given in [
            "127.0.0.1:8080",
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "http://127.0.0.1:8080/v1",
            "127.0.0.1:8080/v1/",
        ] {
            assert_eq!(base_url(given).unwrap(), "http://127.0.0.1:8080", "{given}");
        }
        for wrong in [
            "",
            "http://",
            "ftp://x",
            "https://x",
            "http://a b",
            "a?b",
            "u@x",
        ] {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_of_a_text_are_no_errors_of_the_server() {
        let refused = |status, code: &str| {
            let body = serde_json::json!({"error": {"message": "m", "code": code}});
            refusal_in("u", status, &body).unwrap()
        };
        assert!(refused(400, "context_length_exceeded").is_of_request());
        assert!(refused(422, "incomplete").is_incomplete());
        for status in [401, 404, 429, 503] {
            assert!(!refused(status, "x").is_of_request(), "{status}");
        }
        assert!(refusal_in("u", 500, &Value::Null).is_none());
    }
}

//! What a server serves, to whom, and within which limits.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use structgen::ModelOptions;
use structgen::tools::ToolFormat;

use crate::hosts::{is_host_name, is_origin};

/// A server's configuration. The default serves the embedded model to this machine only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The address to listen on. One that other machines can reach requires a key, or [`no_auth`](Self::no_auth).
    pub address: SocketAddr,
    /// The keys that clients may present; if empty, no key is required.
    pub api_keys: Vec<String>,
    /// Whether other machines, and pages of any name that leads here, may use the server without a key.
    pub no_auth: bool,
    /// The models; the first is the default.
    pub models: Vec<ModelSpec>,
    /// Whether unknown fields of requests are listed in a header of the reply instead of being errors.
    pub lenient: bool,
    /// The origins whose pages may use the server, such as `https://example.org`, or `*` for all; none by default.
    pub cors_origins: Vec<String>,
    /// The names under which clients may address the server, besides `localhost`, names that end in `.localhost`, and
    /// loopback addresses. A server with a key, or with [`no_auth`](Self::no_auth), accepts any name.
    pub hosts: Vec<String>,
    /// The limits of requests.
    pub limits: ServerLimits,
}

/// Limits of a server's requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Maximum number of open connections; further ones are refused.
    pub connections: usize,
    /// Maximum bytes of a request's body.
    pub body_bytes: usize,
    /// Maximum time for a client to send the head of a request, and again for its body.
    pub read_time: Duration,
    /// Maximum time for a client to read a part of a streamed reply.
    pub write_time: Duration,
    /// Maximum time to generate an output.
    pub generation_time: Duration,
    /// Maximum time to compile the constraint of a request.
    pub compile_time: Duration,
    /// Maximum time for a request to wait until its constraint is compiled, if those of others are before.
    pub compile_wait: Duration,
    /// Time for requests in progress to finish after the server was asked to stop.
    pub stop_time: Duration,
    /// Maximum number of new tokens per output, if the request sets none.
    pub new_tokens: usize,
    /// Maximum number of outputs per request (`n`).
    pub outputs: usize,
    /// Maximum number of alternatives to report per token.
    pub alternatives: usize,
    /// Maximum number of texts per request to `/v1/extract`, and of prompts per request to `/v1/completions`.
    pub texts: usize,
    /// Maximum number of concurrent requests per client: a key, or an address if there is none.
    pub requests_per_client: usize,
    /// Maximum number of constraints to compile at the same time.
    pub compilations: usize,
    /// Maximum number of compiled constraints to cache per model.
    pub kept_constraints: usize,
    /// Maximum number of responses to store for `previous_response_id`.
    pub kept_responses: usize,
    /// Maximum bytes of model files loaded at the same time; beyond it, the least recently used model is unloaded.
    /// `None` is unlimited.
    pub model_bytes: Option<u64>,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            body_bytes: 4 << 20,
            read_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            generation_time: Duration::from_secs(600),
            compile_time: Duration::from_secs(5),
            compile_wait: Duration::from_secs(30),
            stop_time: Duration::from_secs(30),
            new_tokens: 4_096,
            outputs: 16,
            alternatives: 20,
            texts: 256,
            requests_per_client: 256,
            compilations: 2,
            kept_constraints: 64,
            kept_responses: 1_024,
            model_bytes: None,
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            api_keys: Vec::new(),
            no_auth: false,
            models: vec![ModelSpec::embedded()],
            lenient: false,
            cors_origins: Vec::new(),
            hosts: Vec::new(),
            limits: ServerLimits::default(),
        }
    }
}

impl ServerConfig {
    /// Returns an error for a configuration that is unsafe or contradictory.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !is_this_machine(self.address.ip()) && self.api_keys.is_empty() && !self.no_auth {
            return Err(ConfigError::NoKey {
                address: self.address,
            });
        }
        if self.api_keys.iter().any(String::is_empty) {
            return Err(ConfigError::EmptyKey);
        }
        if self.models.is_empty() {
            return Err(ConfigError::NoModel);
        }
        for (at, model) in self.models.iter().enumerate() {
            if self.models[..at].iter().any(|it| it.name == model.name) {
                return Err(ConfigError::SameName {
                    name: model.name.clone(),
                });
            }
        }
        if let Some(origin) =
            { self.cors_origins.iter() }.find(|origin| *origin != ANY_ORIGIN && !is_origin(origin))
        {
            return Err(ConfigError::Origin {
                origin: origin.clone(),
            });
        }
        match self.hosts.iter().find(|host| !is_host_name(host)) {
            Some(host) => Err(ConfigError::Host { host: host.clone() }),
            None => Ok(()),
        }
    }
}

/// The entry of [`cors_origins`](ServerConfig::cors_origins) for all origins.
pub(crate) const ANY_ORIGIN: &str = "*";

fn is_this_machine(address: IpAddr) -> bool {
    address.is_loopback()
}

/// A model to serve, which is loaded when it is first requested.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelSpec {
    /// The name that requests use.
    pub name: String,
    /// Its folder; `None` is the embedded model.
    pub folder: Option<PathBuf>,
    /// How to load it.
    pub options: ModelOptions,
    /// The format of its tool calls. By default, the one that the model's tokens and its chat template show, or else
    /// `qwen`, with a warning.
    pub tool_format: Option<ToolFormat>,
}

impl ModelSpec {
    /// The name of the embedded model.
    pub const EMBEDDED: &'static str = "structgen";

    /// Serves the embedded model.
    #[must_use]
    pub fn embedded() -> Self {
        Self {
            name: Self::EMBEDDED.to_owned(),
            folder: None,
            options: ModelOptions::new(),
            tool_format: None,
        }
    }

    /// Serves the model of a folder, under the folder's name.
    #[must_use]
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let name = { folder.file_name() }.map_or_else(
            || folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        Self {
            name,
            folder: Some(folder),
            options: ModelOptions::new(),
            tool_format: None,
        }
    }
}

/// Why a server does not start with a configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Anyone could use the server.
    #[error(
        "{address} can be reached from other machines: set an API key, or say explicitly that none is wanted"
    )]
    NoKey {
        /// The address.
        address: SocketAddr,
    },
    /// A key is empty.
    #[error("an API key is empty")]
    EmptyKey,
    /// There is no model to serve.
    #[error("there is no model to serve")]
    NoModel,
    /// Two models have the same name.
    #[error("two models have the name {name:?}: give one of them another")]
    SameName {
        /// The name.
        name: String,
    },
    /// No page has such an origin.
    #[error(
        "{origin:?} is no origin, such as https://example.org: a scheme and a host in lower case, without a path and \
         without the scheme's own port; * is every origin"
    )]
    Origin {
        /// The text.
        origin: String,
    },
    /// No request names such a host.
    #[error(
        "{host:?} is no name of a host, such as models.example.org: it has neither a scheme nor a port"
    )]
    Host {
        /// The text.
        host: String,
    },
    /// The server cannot listen on the address.
    #[error("the server cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_a_key() {
        let mut config = ServerConfig::default();
        config.check().unwrap();
        config.address = "0.0.0.0:80".parse().unwrap();
        assert!(matches!(config.check(), Err(ConfigError::NoKey { .. })));
        config.api_keys = vec!["k".to_owned()];
        config.check().unwrap();
        config.api_keys.clear();
        config.no_auth = true;
        config.check().unwrap();
    }

    #[test]
    fn origins_and_hosts_that_no_request_can_have_are_refused() {
        let with_origin = |origin: &str| {
            let config = ServerConfig {
                cors_origins: vec![origin.to_owned()],
                ..ServerConfig::default()
            };
            config.check()
        };
        with_origin("*").unwrap();
        with_origin("https://example.org").unwrap();
        let error = with_origin("https://a.b/");
        assert!(matches!(error, Err(ConfigError::Origin { .. })));
        let config = ServerConfig {
            hosts: vec!["http://x:8".to_owned()],
            ..ServerConfig::default()
        };
        assert!(matches!(config.check(), Err(ConfigError::Host { .. })));
    }

    #[test]
    fn names_of_models_are_distinct() {
        let config = ServerConfig {
            models: vec![ModelSpec::embedded(), ModelSpec::embedded()],
            ..ServerConfig::default()
        };
        assert!(matches!(config.check(), Err(ConfigError::SameName { .. })));
    }
}

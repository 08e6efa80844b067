//! What a server serves, to whom, and how much of it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use structgen::ModelOptions;
use structgen::tools::ToolFormat;

/// A server's configuration. The default serves the embedded model to this machine alone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The address to listen on. One that other machines reach needs a key, or [`no_auth`](Self::no_auth).
    pub address: SocketAddr,
    /// The keys that clients may present; with none, none is asked for.
    pub api_keys: Vec<String>,
    /// Whether other machines may use the server without a key.
    pub no_auth: bool,
    /// The models, the first of which is the default.
    pub models: Vec<ModelSpec>,
    /// Whether fields of requests that are not known are listed in a header of the reply instead of being errors.
    pub lenient: bool,
    /// The origins whose pages may use the server; none by default.
    pub cors_origins: Vec<String>,
    /// What requests may cost.
    pub limits: ServerLimits,
}

/// What requests to a server may cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Connections that are open at the same time; more are refused.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// How long a client may take for the head of a request, and again for its body.
    pub read_time: Duration,
    /// How long a client may let a part of a streamed reply wait.
    pub write_time: Duration,
    /// How long an output may take.
    pub generation_time: Duration,
    /// How long the constraint of a request may take to compile.
    pub compile_time: Duration,
    /// How long requests under way may go on after the server was asked to stop.
    pub stop_time: Duration,
    /// New tokens of an output where the request does not say.
    pub new_tokens: usize,
    /// Outputs of one request (`n`).
    pub outputs: usize,
    /// Tokens reported beside each token of an output.
    pub alternatives: usize,
    /// Texts of one request to `/v1/extract`, and prompts of one to `/v1/completions`.
    pub texts: usize,
    /// Requests under way for one client: a key, or an address where there is none.
    pub requests_per_client: usize,
    /// Constraints that are compiled at the same time.
    pub compilations: usize,
    /// Compiled constraints that are kept for each model.
    pub kept_constraints: usize,
    /// Responses that are kept for `previous_response_id`.
    pub kept_responses: usize,
    /// Bytes of model files that are loaded at the same time; beyond it, the model that was used least recently is
    /// unloaded. None is no limit.
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
            limits: ServerLimits::default(),
        }
    }
}

impl ServerConfig {
    /// Refuses what would be unsafe or make no sense.
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
        Ok(())
    }
}

fn is_this_machine(address: IpAddr) -> bool {
    address.is_loopback()
}

/// A model that is served, which is loaded when it is first asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelSpec {
    /// The name that requests use.
    pub name: String,
    /// Its folder; none is the embedded model.
    pub folder: Option<PathBuf>,
    /// How it is loaded.
    pub options: ModelOptions,
    /// How it writes calls of tools; none takes the format whose marker is a token of the model's vocabulary, or
    /// `qwen`.
    pub tool_format: Option<ToolFormat>,
}

impl ModelSpec {
    /// The name of the embedded model.
    pub const EMBEDDED: &'static str = "structgen";

    /// The embedded model.
    #[must_use]
    pub fn embedded() -> Self {
        Self {
            name: Self::EMBEDDED.to_owned(),
            folder: None,
            options: ModelOptions::new(),
            tool_format: None,
        }
    }

    /// The model of a folder, under the folder's name.
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
    /// Anybody could use the server.
    #[error(
        "{address} can be reached from other machines: set an API key, or say explicitly that none is wanted"
    )]
    NoKey {
        /// The address.
        address: SocketAddr,
    },
    /// A key is the empty text.
    #[error("an API key is empty")]
    EmptyKey,
    /// There is nothing to serve.
    #[error("there is no model to serve")]
    NoModel,
    /// Two models have one name.
    #[error("two models have the name {name:?}: give one of them another")]
    SameName {
        /// The name.
        name: String,
    },
    /// A name of an origin cannot stand in a header.
    #[error("{origin:?} is no origin, such as https://example.org")]
    Origin {
        /// The text.
        origin: String,
    },
    /// The address cannot be listened on.
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
    fn names_of_models_are_distinct() {
        let config = ServerConfig {
            models: vec![ModelSpec::embedded(), ModelSpec::embedded()],
            ..ServerConfig::default()
        };
        assert!(matches!(config.check(), Err(ConfigError::SameName { .. })));
    }
}

//! Requests to a hub.

use std::sync::Arc;
use std::time::Duration;

use ureq::config::{Config, RedirectAuthHeaders};
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::{HubError, Repository, RepositoryName};

/// Timeouts for connecting, and for a connection without data.
const CONNECT_TIME: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(60);

/// Maximum size of a list of files.
const LARGEST_LISTING: u64 = 64 << 20;

/// A hub: <https://huggingface.co>, or a server with the same API.
#[derive(Debug, Clone)]
pub struct Hub {
    agent: Agent,
    /// Its URL, without a slash at the end.
    endpoint: String,
    /// The value of the authorization header.
    authorization: Option<String>,
}

impl Hub {
    /// Creates a client for the hub at a URL, with the user's access token if there is one. Sends nothing yet.
    ///
    /// The token is sent to this host only, not to hosts that it redirects to. Proxies are read from the environment
    /// (`HTTPS_PROXY` and the like), and certificates from the system's store.
    ///
    /// # Errors
    /// [`HubError::Endpoint`], [`HubError::Token`].
    pub fn new(endpoint: &str, token: Option<&str>) -> Result<Self, HubError> {
        let url = endpoint.trim_end_matches('/');
        let parsed = url.parse::<ureq::http::Uri>().ok();
        let scheme = parsed.as_ref().and_then(|url| url.scheme_str());
        let is_https = scheme == Some("https");
        let has_host = { parsed.as_ref() }
            .and_then(|url| url.host())
            .is_some_and(|host| !host.is_empty());
        if !(has_host && (is_https || scheme == Some("http"))) || url.contains(['?', '#', '@']) {
            return Err(HubError::Endpoint {
                endpoint: endpoint.to_owned(),
            });
        }
        let authorization = match token {
            Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                return Err(HubError::Token);
            }
            token => token.map(|token| format!("Bearer {token}")),
        };
        let config: Config = Agent::config_builder()
            .http_status_as_error(false)
            .https_only(is_https)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(CONNECT_TIME))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .user_agent(concat!("structgen/", env!("CARGO_PKG_VERSION")))
            // A hub without encryption may redirect to a host with it.
            .tls_config(tls())
            .build();
        Ok(Self {
            agent: config.new_agent(),
            endpoint: url.to_owned(),
            authorization,
        })
    }

    /// Returns the hub's URL, without a slash at the end.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Lists the files of a repository at a branch, tag or commit.
    ///
    /// # Errors
    /// [`HubError`] if the hub cannot be reached, there is no such repository, or the reply is invalid.
    pub fn repository(
        &self,
        name: &RepositoryName,
        revision: &str,
    ) -> Result<Repository, HubError> {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        let parts_are_names = |revision: &str| {
            { revision.split('/') }.all(|part| !part.is_empty() && part != "." && part != "..")
        };
        if !revision.bytes().all(is_usual) || !parts_are_names(revision) {
            return Err(HubError::Revision {
                revision: revision.to_owned(),
            });
        }
        // Branch names may contain slashes, such as `refs/pr/1`.
        let revision_part = revision.replace('/', "%2F");
        let url = format!(
            "{}/api/models/{name}/revision/{revision_part}?blobs=true",
            self.endpoint
        );
        let reply = self.get(&url, None, name, revision)?;
        let mut body = reply.into_body();
        let text = { body.with_config().limit(LARGEST_LISTING) }.read_to_string();
        let text = text.map_err(|error| self.failed(&url, &error))?;
        Repository::from_json(name, &url, &text)
    }

    /// Requests a URL, from a byte on. The reply has a successful status.
    pub(crate) fn get(
        &self,
        url: &str,
        from: Option<u64>,
        name: &RepositoryName,
        revision: &str,
    ) -> Result<Response<Body>, HubError> {
        // A compressed reply would have another length.
        let mut request = self.agent.get(url).header("accept-encoding", "identity");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if let Some(from) = from {
            request = request.header("range", format!("bytes={from}-"));
        }
        let reply = request.call().map_err(|error| self.failed(url, &error))?;
        let code = reply.headers().get("x-error-code");
        let is_gated = code.is_some_and(|code| code == "GatedRepo");
        match reply.status().as_u16() {
            200..=299 | 416 => Ok(reply),
            _ if is_gated => Err(HubError::Gated {
                endpoint: self.endpoint.clone(),
                name: name.clone(),
            }),
            // The hub does not distinguish private repositories from missing ones.
            401 | 403 | 404 => Err(HubError::NotFound {
                endpoint: self.endpoint.clone(),
                name: name.clone(),
                revision: revision.to_owned(),
            }),
            status => Err(HubError::Status {
                url: url.to_owned(),
                status,
            }),
        }
    }

    fn failed(&self, url: &str, error: &ureq::Error) -> HubError {
        use ureq::Error as E;
        match error {
            E::Io(_)
            | E::HostNotFound
            | E::ConnectionFailed
            | E::Timeout(_)
            | E::Tls(_)
            | E::Rustls(_) => HubError::Unreachable {
                endpoint: self.endpoint.clone(),
                reason: error.to_string(),
            },
            _ => HubError::Strange {
                url: url.to_owned(),
                what: error.to_string(),
            },
        }
    }
}

/// Configures TLS with the certificates that the system trusts, which may include those of a company's own network.
fn tls() -> TlsConfig {
    let found = rustls_native_certs::load_native_certs();
    let certificates = found.certs.iter();
    let certificates = certificates.map(|der| Certificate::from_der(der).to_owned());
    TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

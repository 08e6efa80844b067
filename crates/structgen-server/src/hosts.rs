//! The names under which a server may be addressed.
//!
//! A page of any origin can have the name of its own host lead to this machine (DNS rebinding), and would then read the
//! replies of a server that listens here. Its requests still carry that name.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, header};

use crate::config::ServerConfig;
use crate::error::{ApiError, Result};

/// Returns an error if a server that needs no key is addressed by a name that is not its own.
pub(crate) fn check_host(config: &ServerConfig, headers: &HeaderMap) -> Result<()> {
    if !config.api_keys.is_empty() || config.no_auth {
        return Ok(());
    }
    // Browsers always send it.
    let Some(host) = headers.get(header::HOST) else {
        return Ok(());
    };
    let name = host.to_str().map(name_of).unwrap_or_default();
    let is_own =
        is_this_machine(name) || { config.hosts.iter() }.any(|own| own.eq_ignore_ascii_case(name));
    match is_own {
        true => Ok(()),
        false => {
            let message = format!(
                "a server without an API key answers only to localhost and to names that it was started with \
                 (--allow-host), and this request is for {name:?}"
            );
            let error = ApiError::new(StatusCode::FORBIDDEN, message);
            Err(error.with_code("host_not_allowed"))
        }
    }
}

/// Returns a host without its port, and without the brackets of an address.
fn name_of(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return address;
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn is_this_machine(name: &str) -> bool {
    if let Ok(address) = name.parse::<IpAddr>() {
        // An address is no name that could lead elsewhere; clients reach this machine by the unspecified one as well.
        let address = address.to_canonical();
        return address.is_loopback() || address.is_unspecified();
    }
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_names_of_this_machine_are_accepted_without_a_key() {
        let mut config = ServerConfig {
            hosts: vec!["models.lan".to_owned()],
            ..ServerConfig::default()
        };
        let accepts = |config: &ServerConfig, host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            check_host(config, &headers).is_ok()
        };
        for own in [
            "localhost",
            "LocalHost:8080",
            "a.localhost:1",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]:8080",
            "[::ffff:127.0.0.1]:8080",
            "0.0.0.0:8080",
            "models.lan:80",
        ] {
            assert!(accepts(&config, own), "{own}");
        }
        let others = [
            "example.org:8080",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "10.0.0.1",
            "[2001:db8::1]:80",
            "",
        ];
        for other in others {
            assert!(!accepts(&config, other), "{other}");
        }
        config.no_auth = true;
        assert!(others.iter().all(|other| accepts(&config, other)));
    }
}

//! The names under which a server may be addressed.
//!
//! A page of any origin can have the name of its own host lead to this machine (DNS rebinding), and would then read the
//! replies of a server that listens here. Its requests still carry that name.

use std::net::IpAddr;

use axum::http::uri::Authority;
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

/// Returns whether a name can be that of a request: without a scheme, a port or a path.
pub(crate) fn is_host_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    name.parse::<IpAddr>().is_ok() || !name.is_empty() && name.bytes().all(is_part)
}

/// Returns whether browsers can send a text as the origin of a page: a scheme and a host in lower case, and a port
/// unless it is that of the scheme.
pub(crate) fn is_origin(text: &str) -> bool {
    // The origin of sandboxed pages and of files.
    if text == "null" {
        return true;
    }
    let Some((scheme, authority)) = text.split_once("://") else {
        return false;
    };
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_default_port = |port| matches!((scheme, port), ("http", 80) | ("https", 443));
    let is_host = |authority: Authority| {
        let has_user = authority.as_str().contains('@');
        let has_port = authority.as_str().len() > authority.host().len();
        let port = authority.port_u16();
        !authority.host().is_empty()
            && !has_user
            && port.is_some() == has_port
            && !port.is_some_and(is_default_port)
    };
    scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.bytes().all(is_of_scheme)
        && !text.bytes().any(|byte| byte.is_ascii_uppercase())
        && authority.parse().is_ok_and(is_host)
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
    fn origins_are_those_that_browsers_send() {
        for origin in [
            "https://example.org",
            "http://localhost:3000",
            "http://[::1]:8080",
            "https://example.org:80",
            "chrome-extension://abcdef",
            "null",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in [
            "",
            "*",
            "notaurl",
            "example.org",
            "https://",
            "https://a.b/",
            "https://a.b/c",
            "https://a.b?c",
            "https://a.b:",
            "https://a.b:443",
            "http://a.b:80",
            "https://a.b:99999",
            "https://user@a.b",
            "https://Example.org",
            "HTTPS://a.b",
            "://a.b",
            "https://a b",
            "https://a.b,https://c.d",
        ] {
            assert!(!is_origin(other), "{other}");
        }
    }

    #[test]
    fn names_of_hosts_have_neither_a_scheme_nor_a_port() {
        for name in ["models.lan", "x", "10.0.0.1", "2001:db8::1", "my_box"] {
            assert!(is_host_name(name), "{name}");
        }
        for other in [
            "",
            "http://x",
            "http://x:8",
            "x:8",
            "x/",
            "a b",
            "*",
            "[::1]",
            "ä.de",
        ] {
            assert!(!is_host_name(other), "{other}");
        }
    }

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

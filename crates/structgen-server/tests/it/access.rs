//! Who may use a server, and what is public.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::support::{Running, request, serve, serve_with};

#[test]
fn models_are_listed_and_found_by_name() {
    let server = serve();
    let list = server.get("/v1/models").expect(200);
    assert_eq!(list["object"], "list");
    assert_eq!(list["data"][0]["id"], "structgen");
    let model = server.get("/v1/models/structgen").expect(200);
    assert_eq!(model["owned_by"], "structgen");
    let error = server.get("/v1/models/other").expect(404);
    assert_eq!(error["error"]["code"], "model_not_found");
    assert_eq!(error["error"]["param"], "model");
}

#[test]
fn health_and_version_are_there() {
    let server = serve();
    assert_eq!(server.get("/health").expect(200)["status"], "ok");
    assert_eq!(server.get("/ready").expect(200)["status"], "ready");
    let version = server.get("/version").expect(200);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_key_is_asked_for_but_for_health() {
    let server = serve_with(|config| config.api_keys = vec!["secret".to_owned()]);
    server.get("/health").expect(200);
    for path in ["/v1/models", "/metrics", "/version"] {
        let error = server.get(path).expect(401);
        assert_eq!(error["error"]["code"], "invalid_api_key", "{path}");
        let wrong = [("authorization", "Bearer secre")];
        assert_eq!(
            request(server.address, "GET", path, &wrong, None).status,
            401
        );
        for right in ["Bearer secret", "bearer secret"] {
            let right = [("authorization", right)];
            let reply = request(server.address, "GET", path, &right, None);
            assert_eq!(reply.status, 200, "{right:?}");
        }
    }
    let body = json!({"messages": [{"role": "user", "content": "x"}]});
    server.post("/v1/chat/completions", &body).expect(401);
}

#[test]
fn what_is_not_there_is_an_error_of_the_usual_form() {
    let server = serve();
    let error = server.get("/v1/nothing").expect(404);
    assert_eq!(error["error"]["type"], "not_found_error");
    let error = server.get("/v1/chat/completions").expect(405);
    assert_eq!(error["error"]["type"], "invalid_request_error");
    for path in ["/v1/models/%ff", "/v1/responses/%ff"] {
        let error = server.get(path).expect(400);
        assert_eq!(error["error"]["type"], "invalid_request_error", "{path}");
    }
}

#[test]
fn tricks_with_paths_and_headers_open_nothing() {
    let server = serve_with(|config| config.api_keys = vec!["secret".to_owned()]);
    // Paths that a proxy might normalise to a public one are not public here.
    for path in [
        "/v1/models/../models",
        "/health/../v1/models",
        "/health/%2e%2e/v1/models",
        "//v1/models",
        "/v1//models",
        "/V1/models",
        "/v1/models;x",
        "/v1/models%00",
        "/v1/models/",
        "/health%2f..%2fv1%2fmodels",
        "http://localhost/v1/models",
        "/app.js/../metrics",
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
    ] {
        let status = request(server.address, "GET", path, &[], None).status;
        assert!([400, 401, 404].contains(&status), "{path}: {status}");
    }
    for headers in [
        &[("authorization", "Bearer  secret")][..],
        &[
            ("authorization", "Bearer wrong"),
            ("authorization", "Bearer secret"),
        ],
        &[("x-forwarded-for", "127.0.0.1")],
        &[("x-original-url", "/health")],
        &[("x-http-method-override", "GET")],
        &[("api-key", "secret")],
    ] {
        let reply = request(server.address, "GET", "/v1/models", headers, None);
        assert_eq!(reply.status, 401, "{headers:?}");
    }
}

/// Requests whose end two readers may see at different positions.
#[test]
fn requests_that_are_ambiguous_are_refused() {
    let server = serve();
    let body = r#"{"prompt": "x", "max_tokens": 1}"#;
    let length = body.len().to_string();
    for headers in [
        &[
            ("content-type", "application/json"),
            ("content-length", "3"),
        ][..],
        &[
            ("content-type", "application/json"),
            ("content-length", "-1"),
        ],
        &[
            ("content-type", "application/json"),
            ("transfer-encoding", "chunked, identity"),
        ],
    ] {
        let reply = request(
            server.address,
            "POST",
            "/v1/completions",
            headers,
            Some(body),
        );
        assert_eq!(reply.status, 400, "{headers:?}: {}", reply.body);
    }
    // The same length twice is a single length.
    let same = [
        ("content-type", "application/json"),
        ("content-length", length.as_str()),
    ];
    let reply = request(server.address, "POST", "/v1/completions", &same, Some(body));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let huge = "a".repeat(200_000);
    let reply = request(server.address, "GET", "/health", &[("x-a", &huge)], None);
    assert_eq!(reply.status, 431);
    server.get("/health").expect(200);
}

#[test]
fn every_reply_has_an_id_and_a_plain_one_is_kept() {
    let server = serve();
    let given = [("x-request-id", "mine-1")];
    let reply = request(server.address, "GET", "/health", &given, None);
    assert_eq!(reply.header("x-request-id"), Some("mine-1"));
    let forged = [("x-request-id", "a b")];
    let reply = request(server.address, "GET", "/health", &forged, None);
    assert!(reply.header("x-request-id").unwrap().starts_with("req_"));
}

#[test]
fn pages_of_other_origins_are_answered_where_they_are_named() {
    let origin = [("origin", "https://example.org")];
    let closed = serve();
    let reply = request(closed.address, "GET", "/health", &origin, None);
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let open = serve_with(|config| config.cors_origins = vec!["https://example.org".to_owned()]);
    let reply = request(open.address, "GET", "/health", &origin, None);
    let allowed = reply.header("access-control-allow-origin");
    assert_eq!(allowed, Some("https://example.org"));
}

#[test]
fn pages_of_all_origins_are_answered_if_the_star_is_named() {
    let server = serve_with(|config| config.cors_origins = vec!["*".to_owned()]);
    for origin in ["https://example.org", "http://localhost:3000"] {
        let origin = [("origin", origin)];
        let reply = request(server.address, "GET", "/health", &origin, None);
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    }
}

#[test]
fn pages_of_named_origins_may_use_official_clients() {
    let server = serve_with(|config| config.cors_origins = vec!["https://example.org".to_owned()]);
    let wanted = "authorization, content-type, x-stainless-os, x-structgen-lenient";
    let asked = [
        ("origin", "https://example.org"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", wanted),
    ];
    let reply = request(
        server.address,
        "OPTIONS",
        "/v1/chat/completions",
        &asked,
        None,
    );
    assert_eq!(reply.header("access-control-allow-headers"), Some(wanted));
    let reply = request(server.address, "GET", "/health", &asked[..1], None);
    let exposed = reply.header("access-control-expose-headers").unwrap();
    for name in ["x-request-id", "retry-after", "x-structgen-ignored-fields"] {
        assert!(exposed.contains(name), "{exposed}");
    }
}

/// A page whose host's name leads to this machine could read replies to its requests.
#[test]
fn a_server_without_a_key_answers_to_its_own_names_only() {
    let status = |server: &Running, host: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let text = format!("GET /v1/models HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.split(' ').nth(1).unwrap().to_owned()
    };
    let server = serve();
    let port = server.address.port();
    assert_eq!(status(&server, &format!("127.0.0.1:{port}")), "200");
    assert_eq!(status(&server, &format!("example.org:{port}")), "403");
    let open = serve_with(|config| config.no_auth = true);
    assert_eq!(status(&open, "example.org"), "200");
    let named = serve_with(|config| config.hosts = vec!["example.org".to_owned()]);
    assert_eq!(status(&named, "example.org"), "200");
    let with_key = serve_with(|config| config.api_keys = vec!["k".to_owned()]);
    assert_eq!(status(&with_key, "example.org"), "401");
}

#[test]
fn the_document_names_paths_that_are_there_and_fields_that_are_read() {
    let server = serve();
    let document = server.get("/openapi.json").expect(200);
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 15);
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let body = operation.pointer("/requestBody/content/application~1json/schema");
            let headers = [("content-type", "application/json")];
            let path = path.replace("{id}", "structgen");
            let ask = |body: Option<&str>| {
                request(
                    server.address,
                    &method.to_uppercase(),
                    &path,
                    &headers,
                    body,
                )
            };
            assert!(
                ![404, 405].contains(&ask(None).status) || path.contains("structgen"),
                "{path}"
            );
            let Some(body) = body else { continue };
            // A field of the wrong type is refused as such, and never as unknown.
            for name in body["properties"].as_object().unwrap().keys() {
                let reply = ask(Some(&json!({name.as_str(): [[]]}).to_string()));
                assert!(
                    !reply.body.contains("unknown_parameter"),
                    "{path} {name}: {}",
                    reply.body
                );
            }
        }
    }
}

#[test]
fn the_page_may_load_nothing_from_elsewhere() {
    let server = serve();
    let reply = server.get("/");
    assert_eq!(
        reply.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"));
    for path in ["/app.js", "/app.css"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

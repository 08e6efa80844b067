//! Tracing spans of requests. They contain nothing of the requests' and answers' contents.

use axum::http::{HeaderMap, Method};
use tracing::Span;
use tracing::field::Empty;

/// Creates the span of a request, which continues the trace named in its headers.
pub(crate) fn of_request(method: &Method, route: &str, id: &str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = %method,
        http.route = route,
        http.response.status_code = Empty,
        request_id = id,
    );
    go_on(&span, headers);
    span
}

/// Records how a request was answered.
pub(crate) fn answered(span: &Span, status: u16) {
    span.record("http.response.status_code", status);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// Creates the span of a run of a model, with OpenTelemetry's attributes for generative models.
pub(crate) fn of_run(model: &str) -> Span {
    tracing::info_span!(
        "generate",
        gen_ai.request.model = model,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        structgen.cached_tokens = Empty,
        structgen.first_token_seconds = Empty,
    )
}

#[cfg(feature = "otel")]
fn go_on(span: &Span, headers: &HeaderMap) {
    use opentelemetry::propagation::Extractor;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    struct Headers<'a>(&'a HeaderMap);

    impl Extractor for Headers<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.to_str().ok()
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(axum::http::HeaderName::as_str).collect()
        }
    }

    let context = opentelemetry::global::get_text_map_propagator(|propagator| {
        propagator.extract(&Headers(headers))
    });
    // Without a collector, there is no trace to continue.
    let _ = span.set_parent(context);
}

#[cfg(not(feature = "otel"))]
fn go_on(_: &Span, _: &HeaderMap) {}

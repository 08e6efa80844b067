//! Exports the server's spans to an OpenTelemetry collector, by OTLP over HTTP.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// The variables with which OpenTelemetry configures a collector's address; the others of its specification are
/// honoured too.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];

/// The service's name, unless OTEL_SERVICE_NAME sets another.
const SERVICE: &str = "structgen";

/// Timeout for sending a batch of spans.
const SEND_TIME: Duration = Duration::from_secs(10);

/// Sends spans until it is shut down.
pub(super) struct Exporter(Option<SdkTracerProvider>);

impl Exporter {
    /// Returns the exporter to the collector that the environment configures, if any.
    ///
    /// # Errors
    /// If this program cannot reach such a collector.
    pub(super) fn of_environment() -> anyhow::Result<Self> {
        let named = |name: &'static str| Some((name, std::env::var(name).ok()?));
        let mut endpoints = { ENDPOINTS.into_iter() }
            .filter_map(named)
            .filter(|(_, url)| !url.is_empty())
            .peekable();
        if endpoints.peek().is_none() {
            return Ok(Self(None));
        }
        if let Some((name, url)) = endpoints.find(|(_, url)| !url.starts_with("http://")) {
            bail!("{name} is {url:?}, and must begin with http://");
        }
        global::set_text_map_propagator(TraceContextPropagator::new());
        let exporter = { SpanExporter::builder().with_http() }
            .with_http_client(Client::new())
            .build()
            .context("spans cannot be exported")?;
        let resource = Resource::builder();
        let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
            Some(_) => resource,
            None => resource.with_service_name(SERVICE),
        };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        Ok(Self(Some(provider)))
    }

    /// Returns the layer that passes spans to the exporter.
    pub(super) fn layer<S>(&self) -> Option<OpenTelemetryLayer<S, SdkTracer>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let provider = self.0.as_ref()?;
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(SERVICE));
        // Source locations are of no use to people who run a server.
        Some(layer.with_location(false).with_threads(false))
    }

    /// Sends the remaining spans.
    pub(super) fn shut_down(self) {
        if let Some(provider) = self.0
            && let Err(error) = provider.shutdown()
        {
            crate::output::warn(&format!("the last spans could not be exported: {error}"));
        }
    }
}

/// The HTTP client that commands use for servers, adapted to the exporter. It runs on the exporter's own thread.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Client {
    fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(SEND_TIME));
        Self(config.build().new_agent())
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let reply = self.0.run(Request::from_parts(head, body.to_vec()))?;
        let (head, mut body) = reply.into_parts();
        Ok(Response::from_parts(head, body.read_to_vec()?.into()))
    }
}

//! The admin port: whether sizegate lives, whether it takes clients, and its metrics.
//!
//! HTTP/1.1, one request for each connection. It is served beside the clients' traffic, so what it
//! may cost is bounded: the number of connections, the time each may take, and what is read of a
//! request. It never waits for a broker.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::lifecycle::Lifecycle;
use crate::telemetry::Metrics;

/// Answers on `listener` until it is dropped.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, lifecycle: Arc<Lifecycle>) {
    let admin = Admin { metrics, lifecycle };
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Those who find no place wait in the listener's backlog.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let admin = admin.clone();
                tokio::spawn(async move {
                    admin.answer(stream).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of descriptors, mostly; it would be the same at once.
                warn!(%error, "admin port can't accept");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// What the answers are made from.
#[derive(Clone, Debug)]
struct Admin {
    metrics: Arc<Metrics>,
    lifecycle: Arc<Lifecycle>,
}

impl Admin {
    /// Reads one request and answers it.
    async fn answer(&self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_REQUEST)
            .keep_alive(false)
            .half_close(true)
            .serve_connection(
                TokioIo::new(stream),
                service_fn(async |request| Ok::<_, Infallible>(self.respond(&request))),
            );
        match timeout(CONNECTION_TIMEOUT, connection).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => debug!(%error, "admin request failed"),
            Err(_) => debug!("admin request took too long"),
        }
    }

    fn respond<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        let found = match path {
            "/livez" | "/healthz" => Some(text(StatusCode::OK, "ok")),
            "/readyz" if self.lifecycle.draining() => {
                Some(text(StatusCode::SERVICE_UNAVAILABLE, "draining"))
            }
            "/readyz" => Some(text(StatusCode::OK, "ready")),
            "/metrics" => Some(self.metrics()),
            _ => None,
        };
        match found {
            None => text(StatusCode::NOT_FOUND, "not found"),
            Some(response) if [Method::GET, Method::HEAD].contains(request.method()) => response,
            Some(_) => {
                let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
                let headers = response.headers_mut();
                headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            }
        }
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(self.metrics.render()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE));
        response
    }
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// The media type of Prometheus' text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4";
/// Connections at a time: room for a few scrapers and probes.
const MAX_CONNECTIONS: usize = 32;
/// For the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// From accepting to the last octet of the answer.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Octets of a request that are held; the least that hyper allows.
const MAX_REQUEST: usize = 8192;
/// After an error of accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpStream;

use super::*;

fn admin() -> Admin {
    Admin {
        metrics: Arc::new(
            Metrics::new(
                &["mqtt"],
                &[],
                &[],
                &Arc::new(crate::gate::HoldBudget::new(0)),
            )
            .expect("metrics that have names"),
        ),
        lifecycle: Arc::new(Lifecycle::new()),
    }
}

/// A client of an admin port whose pipe holds this many octets.
fn client(admin: &Admin, octets: usize) -> DuplexStream {
    let (client, server) = duplex(octets);
    let admin = admin.clone();
    tokio::spawn(async move { admin.answer(server).await });
    client
}

/// The answer to a request, up to the end of the connection.
async fn ask(admin: &Admin, method: &str, path: &str) -> String {
    let mut client = client(admin, 1 << 20);
    let request = format!("{method} {path} HTTP/1.1\r\nHost: sizegate\r\n\r\n");
    client
        .write_all(request.as_bytes())
        .await
        .expect("a request that is read");
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("an answer");
    answer
}

fn head_and_body(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").expect("a head and a body")
}

#[tokio::test(start_paused = true)]
async fn probes_are_answered() {
    let admin = admin();
    for (path, body) in [("/livez", "ok"), ("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = ask(&admin, "GET", path).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert_eq!(head_and_body(&answer).1, body, "{path}");
    }
    assert!(
        ask(&admin, "GET", "/readyz?verbose")
            .await
            .ends_with("ready")
    );
}

#[tokio::test(start_paused = true)]
async fn while_draining_it_lives_and_is_not_ready() {
    let admin = admin();
    admin.lifecycle.begin_drain();
    let answer = ask(&admin, "GET", "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(head_and_body(&answer).1, "draining");
    assert!(
        ask(&admin, "GET", "/livez")
            .await
            .starts_with("HTTP/1.1 200 ")
    );
}

#[tokio::test(start_paused = true)]
async fn metrics_are_served_as_prometheus_expects_them() {
    let admin = admin();
    admin
        .metrics
        .forwarded(crate::policy::Direction::ToBroker, 4711);
    let answer = ask(&admin, "GET", "/metrics").await;
    let (head, body) = head_and_body(&answer);
    assert!(
        head.contains("\r\ncontent-type: text/plain; version=0.0.4\r\n"),
        "{head}"
    );
    assert!(
        body.contains("sizegate_forwarded_bytes_total{direction=\"send\"} 4711\n"),
        "{body}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_head_request_gets_the_head_alone() {
    let admin = admin();
    for path in ["/livez", "/healthz", "/readyz", "/metrics"] {
        let get = ask(&admin, "GET", path).await;
        let head = ask(&admin, "HEAD", path).await;
        assert_eq!(head_and_body(&head), (head_and_body(&get).0, ""), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_and_what_is_not_allowed_are_told_apart() {
    let admin = admin();
    for path in ["/", "/metrics/", "/livez/x", "//livez"] {
        let answer = ask(&admin, "GET", path).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = ask(&admin, method, "/metrics").await;
        assert!(answer.starts_with("HTTP/1.1 405 "), "{method}: {answer}");
        assert!(
            answer.contains("\r\nallow: GET, HEAD\r\n"),
            "{method}: {answer}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_is_given_up() {
    let mut client = client(&admin(), 1 << 20);
    client
        .write_all(b"GET /livez HTTP/1.1\r\nHost:")
        .await
        .expect("room in the pipe");
    let start = tokio::time::Instant::now();
    let mut answer = Vec::new();
    // How the connection ends does not matter, only that it does.
    let _ = client.read_to_end(&mut answer).await;
    assert_eq!(start.elapsed().as_secs(), HEADER_TIMEOUT.as_secs());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_is_given_up() {
    let mut client = client(&admin(), 64);
    client
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .expect("it is read");
    sleep(CONNECTION_TIMEOUT + Duration::from_secs(1)).await;
    let mut answer = Vec::new();
    client
        .read_to_end(&mut answer)
        .await
        .expect("the end of what was written");
    assert_eq!(answer.len(), 64);
}

#[tokio::test(start_paused = true)]
async fn silent_clients_do_not_keep_a_probe_out() {
    let admin = admin();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(serve(listener, admin.metrics, admin.lifecycle));
    let mut silent = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        silent.push(TcpStream::connect(address).await.expect("a connection"));
    }
    let mut probe = TcpStream::connect(address).await.expect("a connection");
    probe
        .write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .expect("room");
    let mut answer = String::new();
    probe.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

//! How a connection in TLS ends: with and without a word, and by what TLS does not take.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_end_of_a_clients_stream_passes_through_tls_and_the_broker_may_still_answer() {
    let (mut bench, mut broker) = TlsBench::connected(Setting::default()).await;
    say(&mut bench.client, SMALL).await;
    bench.client.shutdown().await.unwrap();
    assert_eq!(to_the_end(&mut broker).await.unwrap(), SMALL);
    sleep(LINGER * 100).await;
    say(&mut broker, SMALL).await;
    hear(&mut bench.client, SMALL).await;
    broker.shutdown().await.unwrap();
    // An end without close_notify would be an error.
    assert_eq!(to_the_end(&mut bench.client).await.unwrap(), NOTHING);
    bench.relay.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_leaves_without_close_notify_has_closed() {
    let (bench, mut broker) = TlsBench::connected(Setting::default()).await;
    let TlsBench { client, relay, .. } = bench;
    drop(client);
    assert_eq!(to_the_end(&mut broker).await.unwrap(), NOTHING);
    drop(broker);
    relay.await.unwrap();
    let metrics = bench.shared.metrics.render();
    assert!(
        metrics.contains("reason=\"closed\",side=\"client\"} 1\n"),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_octets_before_an_end_without_close_notify_arrive() {
    let (mut bench, mut broker) = TlsBench::connected(Setting::default()).await;
    say(&mut broker, SMALL).await;
    drop(broker);
    assert_eq!(to_the_end(&mut bench.client).await.unwrap(), SMALL);
}

#[tokio::test(start_paused = true)]
async fn octets_that_are_not_tls_any_more_end_the_connection_and_the_peer_hears_an_alert() {
    let (mut bench, mut broker) = TlsBench::connected(Setting::default()).await;
    bench.client.get_mut().0.write_all(&[0; 64]).await.unwrap();
    assert_eq!(to_the_end(&mut broker).await.unwrap(), NOTHING);
    let error = to_the_end(&mut bench.client).await.unwrap_err();
    assert!(error.to_string().contains("fatal alert"), "{error}");
    drop((bench.client, broker));
    bench.relay.await.unwrap();
    let metrics = bench.shared.metrics.render();
    assert!(
        metrics.contains("reason=\"tls\",side=\"client\"} 1\n"),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_spurns_our_certificate_after_the_handshake_counts_as_not_reached() {
    let mut bench = TlsBench::start(Setting::default()).await;
    say(&mut bench.client, CONNECT_V5).await;
    let broker = bench.brokers.recv().await.unwrap();
    // In TLS 1.3 a client is done before the server has looked at its certificate.
    let acceptor = TlsAcceptor::from(Arc::clone(&CONFIGS.demanding));
    acceptor.accept(broker).await.unwrap_err();
    hear(&mut bench.client, &[0x20, 3, 0, 0x88, 0]).await;
    assert_eq!(to_the_end(&mut bench.client).await.unwrap(), NOTHING);
    assert!(bench.counts("sizegate_upstream_up 0\n"));
    assert!(bench.counts("sizegate_upstream_connect_errors_total{reason=\"tls\"} 1\n"));
    bench.client.shutdown().await.unwrap();
    bench.relay.await.unwrap();
    let metrics = bench.shared.metrics.render();
    assert!(metrics.contains("reason=\"upstream-unreachable\",side=\"broker\"} 1\n"));
}

#[tokio::test(start_paused = true)]
async fn peers_that_are_cut_hear_the_end_in_tls() {
    let (mut bench, mut broker) = TlsBench::connected(Setting::default()).await;
    bench.shared.lifecycle.cut_all();
    assert_eq!(to_the_end(&mut bench.client).await.unwrap(), NOTHING);
    assert_eq!(to_the_end(&mut broker).await.unwrap(), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_speaks_nothing_known_hears_the_end_in_tls() {
    let mut bench = TlsBench::start(Setting::default()).await;
    say(&mut bench.client, b"GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(to_the_end(&mut bench.client).await.unwrap(), NOTHING);
}

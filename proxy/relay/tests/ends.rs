//! How a connection ends: half closes, goodbyes, drains and cuts.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_message_over_the_limit_is_drained_and_answered_and_the_next_one_passes() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    bench.client.write_all(&large()).await.unwrap();
    bench.client.write_all(SMALL).await.unwrap();
    expect(&mut bench.client, &[0x40, 2, 0, 9]).await;
    expect(&mut broker, SMALL).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_clients_stream_passes_and_the_broker_may_still_answer() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    bench.client.write_all(SMALL).await.unwrap();
    bench.client.shutdown().await.unwrap();
    assert_eq!(rest(&mut broker).await, SMALL);
    tokio::time::advance(LINGER * 100).await;
    broker.write_all(SMALL).await.unwrap();
    expect(&mut bench.client, SMALL).await;
    drop(broker);
    assert_eq!(rest(&mut bench.client).await, NOTHING);
    bench.ended().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_brokers_stream_passes_and_gives_the_client_the_linger_time() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    broker.write_all(SMALL).await.unwrap();
    broker.shutdown().await.unwrap();
    assert_eq!(rest(&mut bench.client).await, SMALL);
    bench.client.write_all(SMALL).await.unwrap();
    expect(&mut broker, SMALL).await;
    let client = std::mem::replace(&mut bench.client, duplex(1).0);
    assert_eq!(bench.ended().await, LINGER);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_reaches_a_client_that_writes_before_it_reads() {
    let setting = Setting {
        on_oversize: OnOversize::Close,
        ..Setting::default()
    };
    let (mut bench, mut broker) = setting.connected(CONNECT_V5, CONNACK_V5).await;
    let piece = large();
    for _ in 0..5_000 {
        bench.client.write_all(&piece).await.unwrap();
    }
    bench.client.shutdown().await.unwrap();
    let said = rest(&mut bench.client).await;
    assert_eq!((said[0], said[2]), (0xE0, 0x95));
    assert_eq!(
        rest(&mut broker).await,
        NOTHING,
        "no DISCONNECT: the Will is to fire"
    );
    drop(broker);
    assert!(bench.ended().await < LINGER, "nothing is left to wait for");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stays_after_its_goodbye_is_cut_when_the_linger_time_is_over() {
    let setting = Setting {
        on_oversize: OnOversize::Close,
        ..Setting::default()
    };
    let (mut bench, broker) = setting.connected(CONNECT_V5, CONNACK_V5).await;
    bench.client.write_all(&large()).await.unwrap();
    drop(broker);
    let shared = Arc::clone(&bench.shared);
    let client = std::mem::replace(&mut bench.client, duplex(1).0);
    let Bench { relay, .. } = bench;
    let before = Instant::now();
    relay.await.unwrap();
    assert_eq!(before.elapsed(), LINGER);
    let metrics = shared.metrics.render();
    assert!(
        metrics.contains("reason=\"oversize\",side=\"client\"} 1\n"),
        "{metrics}"
    );
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_on_sending_after_its_goodbye_is_cut_after_64_mib() {
    let setting = Setting {
        on_oversize: OnOversize::Close,
        pipe: 1 << 20,
        ..Setting::default()
    };
    let (mut bench, _broker) = setting.connected(CONNECT_V5, CONNACK_V5).await;
    bench.client.write_all(&large()).await.unwrap();
    let piece = vec![0; 1 << 20];
    let mut sent = 0;
    while bench.client.write_all(&piece).await.is_ok() {
        sent += 1;
        assert!(sent < 80, "still reading after {sent} MiB");
    }
    assert!(sent >= 64, "cut after {sent} MiB");
    assert_eq!(bench.ended().await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_drain_says_goodbye_between_packets_and_is_over_when_the_client_leaves() {
    let (mut bench, mut broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    let (first, second) = SMALL.split_at(7);
    broker.write_all(first).await.unwrap();
    expect(&mut bench.client, first).await;
    bench.shared.lifecycle.say_goodbye();
    tokio::task::yield_now().await;
    broker.write_all(second).await.unwrap();
    assert_eq!(
        rest(&mut bench.client).await,
        [second, &[0xE0, 1, 0x8B]].concat()
    );
    drop(bench.client);
    drop(broker);
    bench.relay.await.unwrap();
    assert!(!bench.shared.lifecycle.was_cut());
}

#[tokio::test(start_paused = true)]
async fn a_drain_tells_of_a_client_that_did_not_leave() {
    let (bench, broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    drop(broker);
    bench.shared.lifecycle.say_goodbye();
    bench.relay.await.unwrap();
    assert!(bench.shared.lifecycle.was_cut());
}

#[tokio::test(start_paused = true)]
async fn a_drain_closes_clients_that_have_not_said_who_they_are() {
    for said in [&b""[..], &CONNECT_V311[..1], &CONNECT_V311[..13]] {
        let mut bench = Setting::default().start();
        bench.client.write_all(said).await.unwrap();
        tokio::task::yield_now().await;
        bench.shared.lifecycle.say_goodbye();
        assert_eq!(rest(&mut bench.client).await, NOTHING);
        assert_eq!(bench.ended().await, Duration::ZERO, "after {said:02X?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_cut_ends_at_once() {
    let (mut bench, _broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    bench.shared.lifecycle.cut_all();
    assert_eq!(rest(&mut bench.client).await, NOTHING);
    assert!(bench.has_closed("sizegate", "drain"));
    assert_eq!(bench.ended().await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_last_words_of_a_broker_that_breaks_off_reach_the_client() {
    let (mut bench, mut broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    broker.write_all(&[0xE0, 1, 0x8D]).await.unwrap();
    drop(broker);
    // What the client sends now has nowhere to go.
    bench.client.write_all(SMALL).await.unwrap();
    assert_eq!(rest(&mut bench.client).await, [0xE0, 1, 0x8D]);
}

//! Peers that are slow, that stop, and that do not read, in each protocol.

use tokio::sync::mpsc::UnboundedReceiver;

use super::languages::Language;
use super::*;

/// Octets between two peers of which one does not read: two pipes, and what a lane holds.
const BETWEEN: usize = 2 * PIPE + LARGE;
const PIPE: usize = 64 * 1024;

/// Says a greeting, the client's part of it an octet a second, and comes back when all is said.
async fn trickle(
    language: &Language,
    client: &mut DuplexStream,
    brokers: &mut UnboundedReceiver<DuplexStream>,
) {
    let mut broker = None;
    for (side, octets) in &language.greeting {
        if *side == Side::Client {
            for octet in octets {
                tokio::time::sleep(Duration::from_secs(1)).await;
                client.write_all(&[*octet]).await.unwrap();
            }
            if broker.is_none() {
                broker = brokers.recv().await;
            }
            expect(broker.as_mut().unwrap(), octets).await;
        } else {
            broker.as_mut().unwrap().write_all(octets).await.unwrap();
            expect(client, octets).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_an_octet_a_second_is_closed_in_time() {
    for language in Language::all() {
        let before = Instant::now();
        let mut bench = Setting::default().start();
        tokio::select! {
            () = trickle(&language, &mut bench.client, &mut bench.broker) => {
                panic!("{}: it was waited for", language.protocol);
            }
            ended = &mut bench.relay => ended.unwrap(),
        }
        assert_eq!(before.elapsed(), HANDSHAKE, "{}", language.protocol);
        assert!(has_closed(
            &bench.shared,
            language.protocol,
            "client",
            "handshake-timeout"
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_before_it_has_said_who_it_is_is_closed_in_time() {
    for language in Language::all() {
        let (_, first) = &language.greeting[0];
        for said in 1..=first.len() {
            let is_whole = said == first.len();
            if is_whole && language.protocol == "mqtt" {
                continue;
            }
            let before = Instant::now();
            let mut bench = Setting::default().start();
            bench.client.write_all(&first[..said]).await.unwrap();
            let mut broker = None;
            if is_whole {
                broker = bench.broker.recv().await;
                let (_, answer) = &language.greeting[1];
                broker.as_mut().unwrap().write_all(answer).await.unwrap();
                expect(&mut bench.client, answer).await;
            }
            bench.relay.await.unwrap();
            assert_eq!(before.elapsed(), HANDSHAKE, "{}", language.protocol);
            drop(broker);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_it_takes_to_reach_the_broker_is_not_the_clients() {
    let setting = Setting {
        dial_takes: HANDSHAKE * 2,
        ..Setting::default()
    };
    for language in Language::all() {
        let (mut bench, mut broker) = language.greeted(setting).await;
        passes(&mut bench.client, &mut broker, &language.traffic).await;
    }
    dawdles_behind_a_slow_broker(setting, Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn the_time_that_the_broker_takes_to_answer_is_not_the_clients() {
    dawdles_behind_a_slow_broker(Setting::default(), HANDSHAKE * 2).await;
    // Both together.
    let setting = Setting {
        dial_takes: HANDSHAKE,
        ..Setting::default()
    };
    dawdles_behind_a_slow_broker(setting, HANDSHAKE).await;
}

/// Has a client say its first words, whose broker takes two handshakes to be reached and to answer,
/// and then no more: its own time is all the same no longer than that of others.
async fn dawdles_behind_a_slow_broker(setting: Setting, answer_takes: Duration) {
    for language in Language::all() {
        if language.protocol == "mqtt" {
            continue;
        }
        let before = Instant::now();
        let mut bench = setting.start();
        let own = HANDSHAKE / 4;
        tokio::time::sleep(own).await;
        let [(_, first), (_, answer), ..] = &language.greeting[..] else {
            panic!("a greeting has two words");
        };
        bench.client.write_all(first).await.unwrap();
        let mut broker = bench.broker.recv().await.unwrap();
        expect(&mut broker, first).await;
        tokio::time::sleep(answer_takes).await;
        broker.write_all(answer).await.unwrap();
        expect(&mut bench.client, answer).await;
        assert_eq!(before.elapsed(), own + HANDSHAKE * 2);
        bench.relay.await.unwrap();
        assert_eq!(before.elapsed(), HANDSHAKE * 3, "{}", language.protocol);
        assert!(has_closed(
            &bench.shared,
            language.protocol,
            "client",
            "handshake-timeout"
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn peers_that_have_greeted_each_other_may_be_silent_for_ever() {
    for language in Language::all() {
        let (mut bench, mut broker) = language.greeted(Setting::default()).await;
        tokio::time::sleep(HANDSHAKE * 1_000).await;
        passes(&mut broker, &mut bench.client, &language.traffic).await;
        passes(&mut bench.client, &mut broker, &language.traffic).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_holds_back_who_writes_and_nothing_is_lost() {
    for language in Language::all() {
        for from in [Side::Client, Side::Broker] {
            let (bench, broker) = language.greeted(Setting::default()).await;
            let (mut writer, mut reader) = match from {
                Side::Client => (bench.client, broker),
                Side::Broker => (broker, bench.client),
            };
            let traffic = &language.traffic;
            let written = fill(&mut writer, traffic, 64 << 20).await;
            assert!(
                written <= BETWEEN,
                "{}: {written} octets were taken from the {from:?}",
                language.protocol
            );
            let mut read = vec![0; written];
            reader.read_exact(&mut read).await.unwrap();
            assert!(
                read.chunks(traffic.len())
                    .all(|piece| traffic.starts_with(piece))
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_either_stream_passes_and_the_other_one_goes_on() {
    for language in Language::all() {
        let (mut bench, mut broker) = language.greeted(Setting::default()).await;
        bench.client.shutdown().await.unwrap();
        assert_eq!(rest(&mut broker).await, NOTHING, "{}", language.protocol);
        tokio::time::advance(LINGER * 100).await;
        passes(&mut broker, &mut bench.client, &language.traffic).await;
        drop(broker);
        assert_eq!(rest(&mut bench.client).await, NOTHING);
        bench.relay.await.unwrap();
        assert!(has_closed(
            &bench.shared,
            language.protocol,
            "client",
            "closed"
        ));

        let (mut bench, mut broker) = language.greeted(Setting::default()).await;
        broker.shutdown().await.unwrap();
        let before = Instant::now();
        assert_eq!(rest(&mut bench.client).await, NOTHING);
        passes(&mut bench.client, &mut broker, &language.traffic).await;
        bench.relay.await.unwrap();
        assert_eq!(before.elapsed(), LINGER, "a broker that left is gone");
        assert!(has_closed(
            &bench.shared,
            language.protocol,
            "broker",
            "closed"
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_no_longer_than_the_linger_time_for_one_who_does_not_read() {
    for language in Language::all() {
        for from in [Side::Client, Side::Broker] {
            let (mut bench, mut broker) = language.greeted(Setting::default()).await;
            let writer = match from {
                Side::Client => &mut bench.client,
                Side::Broker => &mut broker,
            };
            fill(writer, &language.traffic, 64 << 20).await;
            let before = Instant::now();
            bench.shared.lifecycle.say_goodbye();
            bench.relay.await.unwrap();
            assert_eq!(before.elapsed(), LINGER, "{} {from:?}", language.protocol);
            assert!(bench.shared.lifecycle.was_cut());
            assert!(has_closed(
                &bench.shared,
                language.protocol,
                "sizegate",
                "drain"
            ));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_its_refusals_is_stopped_and_not_waited_for() {
    for language in Language::that_refuse() {
        let setting = Setting {
            pipe: 1_024,
            ..Setting::default()
        };
        let (mut bench, _broker) = language.greeted(setting).await;
        let written = fill(&mut bench.client, &language.refused, 64 << 20).await;
        assert!(
            written < 1 << 20,
            "{}: {written} octets were taken",
            language.protocol
        );
        let before = Instant::now();
        bench.shared.lifecycle.say_goodbye();
        bench.relay.await.unwrap();
        assert_eq!(before.elapsed(), LINGER, "{}", language.protocol);
        assert!(bench.shared.lifecycle.was_cut());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_why_it_is_closed_is_cut_when_the_linger_time_is_over() {
    for language in Language::that_refuse() {
        let setting = Setting {
            on_oversize: OnOversize::Close,
            ..Setting::default()
        };
        let (mut bench, mut broker) = language.greeted(setting).await;
        // What the broker has said fills the way to the client.
        fill(&mut broker, &language.traffic, 64 << 20).await;
        let before = Instant::now();
        bench.client.write_all(&language.refused).await.unwrap();
        bench.relay.await.unwrap();
        // A broker of AMQP 0-9-1 is given a second for its close-ok first.
        let most = LINGER + Duration::from_secs(1);
        assert!(before.elapsed() <= most, "{}", language.protocol);
        assert!(has_closed(
            &bench.shared,
            language.protocol,
            "client",
            "oversize"
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_that_there_is_no_broker_is_cut_and_counted_as_that() {
    let setting = Setting {
        is_broker_up: false,
        pipe: 2,
        ..Setting::default()
    };
    for language in Language::all() {
        let mut bench = setting.start();
        bench
            .client
            .write_all(&language.greeting[0].1)
            .await
            .unwrap();
        let before = Instant::now();
        bench.relay.await.unwrap();
        assert_eq!(before.elapsed(), LINGER, "{}", language.protocol);
        assert!(has_closed(
            &bench.shared,
            language.protocol,
            "broker",
            "upstream-unreachable"
        ));
    }
}

async fn passes(from: &mut DuplexStream, to: &mut DuplexStream, octets: &[u8]) {
    from.write_all(octets).await.unwrap();
    expect(to, octets).await;
}

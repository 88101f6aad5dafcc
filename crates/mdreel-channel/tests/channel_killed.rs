//! Tests that kill producers and consumers at random moments (SIGKILL). No frame is torn, repeated or lost, and no process hangs.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::time::{Duration, Instant};

use channel_processes::{
    LONG, N_STEPS, check, checkpoint, kill, n_repetitions, open, random, role, simulate, staged, start,
};
use mdreel_channel::consumer::{Consumer, Next, Start};
use mdreel_channel::end::End;
use mdreel_core::error::Error;

/// The entry point of the other processes, which run only this test. Does nothing in a normal test run.
#[test]
fn other_process_plays_its_role() {
    let Some((role, place, from)) = role() else { return };
    if role == "producer" {
        simulate(&place, from, false);
    } else {
        let mut consumer = Consumer::join(&place.join("channel"), Start::Earliest).unwrap();
        while let Ok(Next::Frame(frame)) = consumer.next(LONG) {
            check(&frame);
        }
    }
}

#[test]
fn consumer_sees_each_step_once_when_the_producer_is_killed() {
    for _ in 0..n_repetitions() {
        let place = tempfile::tempdir().unwrap();
        drop(open(place.path(), 0, false));
        let mut consumer = Consumer::join(&place.path().join("channel"), Start::Earliest).unwrap();
        let mut producer = start("producer", place.path(), 0);
        let mut kill_at = Instant::now() + Duration::from_micros(random(400_000));
        let mut seen: Vec<i64> = Vec::new();
        let mut n_kills = 0;
        loop {
            if n_kills < 5 && Instant::now() >= kill_at {
                kill(&mut producer);
                n_kills += 1;
                producer = start("producer", place.path(), checkpoint(place.path()));
                kill_at = Instant::now() + Duration::from_micros(random(300_000));
            }
            match consumer.next(Duration::from_millis(20)) {
                Ok(Next::Frame(frame)) => seen.push(check(&frame)),
                Ok(Next::End(end)) => {
                    assert_eq!(end, End::Finished);
                    break;
                }
                // No producer is running at the moment, and the next one will start.
                Err(Error::Stream(_) | Error::StreamTimeout(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        producer.wait().unwrap();
        assert!(seen.iter().copied().eq(0..N_STEPS), "after {n_kills} kills: {} steps", seen.len());
        let mut kept = staged(place.path());
        kept.sort_unstable();
        kept.dedup();
        assert!(kept.into_iter().eq(0..N_STEPS));
    }
}

#[test]
fn waiting_consumer_notices_within_two_seconds_that_the_producer_was_killed() {
    for _ in 0..n_repetitions() {
        let place = tempfile::tempdir().unwrap();
        drop(open(place.path(), 0, false));
        let mut consumer = Consumer::join(&place.path().join("channel"), Start::Earliest).unwrap();
        let mut producer = start("producer", place.path(), 0);
        while consumer.next(LONG).is_err() {}
        kill(&mut producer);
        let killed = Instant::now();
        let error = loop {
            match consumer.next(LONG) {
                Ok(Next::Frame(frame)) => assert!(check(&frame) < N_STEPS),
                Ok(Next::End(end)) => panic!("{end:?}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Stream(_)), "{error}");
        assert!(killed.elapsed() < LONG, "a limit so wide that load does not reach it");
    }
}

#[test]
fn producer_and_other_consumers_go_on_when_consumers_are_killed() {
    for _ in 0..n_repetitions() {
        let place = tempfile::tempdir().unwrap();
        drop(open(place.path(), 0, false));
        let mut consumer = Consumer::join(&place.path().join("channel"), Start::Earliest).unwrap();
        let mut others: Vec<_> = (0..2).map(|_| start("consumer", place.path(), 0)).collect();
        let mut producer = start("producer", place.path(), 0);
        let mut next = 0;
        loop {
            match consumer.next(LONG) {
                Ok(Next::Frame(frame)) => {
                    assert_eq!(check(&frame), next);
                    next += 1;
                }
                Ok(Next::End(_)) => break,
                // The producer has not started yet.
                Err(Error::Stream(_)) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
            if next % 500 == 499 {
                let which = random(2) as usize;
                kill(&mut others[which]);
                others[which] = start("consumer", place.path(), 0);
            }
        }
        assert_eq!(next, N_STEPS);
        assert!(producer.wait().unwrap().success());
        others.iter_mut().for_each(kill);
    }
}

//! Tests of the ring with its files: consumers see what the producer publishes, whichever party joins, leaves or dies.

mod catch_up;
mod garbage;
mod group_places;
mod groups;
mod held;
mod in_place;
mod prepared;
mod refusals;
mod restart;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::consumer::{Consumer, Next, Start};
use super::directory::Directory;
use super::end::End;
use super::layout::Section;
use super::lock::{Locks, PRODUCER};
use super::manifest::Manifest;
use super::producer::{Moment, Policy, Producer, Settings};
use super::ring_file::{Geometry, N_CURSORS};
use super::section::{DataType, SectionKind};
use super::staging::{Durability, Retention, Staging, replay};
use super::status::Status;
use mdreel_core::error::Error;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(20);
const N_ATOMS: usize = 10;

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn staging(&self) -> PathBuf {
        self.path.with_file_name("staging")
    }
}

/// A retention that deletes nothing, with several frames in each segment.
const ALL: Retention = Retention { count: None, bytes: None, age: None, segment: 1000 };

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place { path: directory.path().join("channel"), _directory: directory }
}

fn settings(policy: Policy, resume_step: i64) -> Settings {
    let manifest = Manifest {
        stream: 1,
        topology_hash: [0; 32],
        n_atoms: N_ATOMS as u64,
        units: Vec::new(),
        time_step: 0.002,
        stride: 1,
        sections: Vec::new(),
        energies: Vec::new(),
    };
    Settings { geometry: Geometry { n_slots: 4, slot_len: 512 }, manifest, policy, resume_step, staging: None }
}

fn open(path: &Path, policy: Policy, resume_step: i64) -> Producer {
    Producer::open(path, settings(policy, resume_step)).unwrap()
}

fn publish(producer: &mut Producer, step: i64) -> mdreel_core::error::Result<u64> {
    let bytes = [step as u8; 12 * N_ATOMS];
    let section = Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &bytes };
    let moment = Moment { step, time: step as f64, cell: None };
    producer.publish(&moment, &[section]).map(|published| published.sequence)
}

/// Checks that the next frame is as it was published, and returns its step; `None` at the end.
fn step(consumer: &mut Consumer) -> Option<i64> {
    match consumer.next(LONG).unwrap() {
        Next::End(_) => None,
        Next::Frame(frame) => {
            let view = frame.view().unwrap();
            view.verify(Path::new("ring")).unwrap();
            let step = view.header.step;
            assert!(view.sections().all(|section| section.bytes == [step as u8; 12 * N_ATOMS]));
            Some(step)
        }
    }
}

fn steps(consumer: &mut Consumer) -> Vec<i64> {
    std::iter::from_fn(|| step(consumer)).collect()
}

#[test]
fn consumers_see_each_frame_in_order_and_the_end() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    let consumers: Vec<_> = (0..3)
        .map(|_| {
            let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
            thread::spawn(move || (steps(&mut consumer), consumer.missed()))
        })
        .collect();
    (0..2000).for_each(|i| assert_eq!(publish(&mut producer, i).unwrap(), i as u64));
    producer.end(&End::Failed("no more room".repeat(100))).unwrap();
    for consumer in consumers {
        assert_eq!(consumer.join().unwrap(), ((0..2000).collect(), 0));
    }
    let mut late = Consumer::join(&place.path, Start::Latest).unwrap();
    let Next::End(End::Failed(reason)) = late.next(SHORT).unwrap() else { panic!("no end") };
    assert!(reason.starts_with("no more room") && reason.len() <= 256);
}

#[test]
fn consumer_begins_where_it_was_told() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    (0..6).for_each(|i| assert!(publish(&mut producer, 10 * i).is_ok()));
    let cases = [(Start::Earliest, 20), (Start::Sequence(4), 40), (Start::Step(25), 30), (Start::Time(50.0), 50)];
    for (start, expected) in cases {
        assert_eq!(step(&mut Consumer::join(&place.path, start).unwrap()), Some(expected));
    }
    let mut latest = Consumer::join(&place.path, Start::Latest).unwrap();
    assert!(matches!(latest.next(SHORT), Err(Error::StreamTimeout(_))));
    publish(&mut producer, 60).unwrap();
    assert_eq!(step(&mut latest), Some(60));
}

#[test]
fn full_ring_refuses_a_frame_and_takes_it_when_there_is_room() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(SHORT), 0);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert!(matches!(publish(&mut producer, 4), Err(Error::StreamTimeout(_))));
    assert_eq!(producer.lag(), Some(4));
    assert_eq!(step(&mut consumer), Some(0));
    assert_eq!(publish(&mut producer, 4).unwrap(), 4);
    drop(consumer);
    (5..50).for_each(|i| assert_eq!(publish(&mut producer, i).unwrap(), i as u64));
    assert_eq!(producer.dropped(), 0);
}

#[test]
fn full_ring_spills_whole_frames() {
    let place = place();
    let spilled = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&spilled);
    let spill = Policy::Spill(Box::new(move |frame| {
        into.lock().unwrap().push(frame.to_vec());
        Ok(())
    }));
    let mut producer = open(&place.path, spill, 0);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    (0..7).for_each(|i| assert_eq!(publish(&mut producer, i).unwrap(), i as u64));
    let spilled: Vec<_> = spilled.lock().unwrap().iter().map(|frame| frame_step(frame)).collect();
    assert_eq!(spilled, [4, 5, 6]);
    producer.end(&End::Stopped).unwrap();
    assert_eq!(steps(&mut consumer), [0, 1, 2, 3]);
}

/// Opens a producer as `open` does, with frames that are also staged.
fn open_staged(place: &Place, policy: Policy, resume_step: i64, retention: Retention) -> Producer {
    let staging = Some(Staging::open(&place.staging(), Durability::File, retention).unwrap());
    Producer::open(&place.path, Settings { staging, ..settings(policy, resume_step) }).unwrap()
}

fn frame_step(frame: &[u8]) -> i64 {
    super::layout::FrameView::decode(Path::new("frame"), frame).unwrap().header.step
}

#[test]
fn lost_producer_is_an_error_and_its_successor_goes_on() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    let mut behind = Consumer::join(&place.path, Start::Earliest).unwrap();
    let mut ahead = Consumer::join(&place.path, Start::Earliest).unwrap();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    (0..4).for_each(|i| assert_eq!(step(&mut ahead), Some(i)));
    let begin = Instant::now();
    let waiting = thread::spawn(move || (ahead.next(LONG).map(|_| ()).unwrap_err(), ahead));
    drop(producer);
    let (error, mut ahead) = waiting.join().unwrap();
    assert!(matches!(error, Error::Stream(_)), "{error}");
    assert!(begin.elapsed() < LONG / 2);
    assert_eq!(step(&mut behind), Some(0));
    let mut producer = open(&place.path, Policy::Block(LONG), 2);
    assert_eq!(producer.epoch(), 1);
    let publisher = thread::spawn(move || {
        (2..9).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        producer.end(&End::Finished).unwrap();
    });
    let reader = thread::spawn(move || steps(&mut ahead));
    assert_eq!(steps(&mut behind), (1..9).collect::<Vec<_>>());
    assert_eq!(reader.join().unwrap(), (4..9).collect::<Vec<_>>());
    publisher.join().unwrap();
}

#[test]
fn second_producer_and_another_channel_are_refused() {
    let place = place();
    let producer = open(&place.path, Policy::Block(LONG), 0);
    let again = || Producer::open(&place.path, settings(Policy::Block(LONG), 0)).map(|_| ());
    assert!(matches!(again(), Err(Error::Stream(_))));
    drop(producer);
    again().unwrap();
    let mut other = settings(Policy::Block(LONG), 0);
    other.manifest.n_atoms += 1;
    assert!(matches!(Producer::open(&place.path, other).map(|_| ()), Err(Error::Mismatch(_))));
}

#[test]
fn cursors_are_given_out_once_and_come_back() {
    let place = place();
    let producer = open(&place.path, Policy::Block(LONG), 0);
    let join = || Consumer::join(&place.path, Start::Earliest);
    let mut all: Vec<_> = (0..200).map(|_| join().unwrap()).collect();
    assert_eq!(producer.n_consumers().unwrap(), 200);
    // Another party takes the other cursors, because this process has too few file descriptors for them.
    let others = Locks::open(&Directory::open(&place.path).unwrap(), "lock", false).unwrap();
    (200..N_CURSORS as u64).for_each(|cursor| assert!(others.take(PRODUCER + 1 + cursor).unwrap()));
    let error = join().unwrap_err();
    assert!(error.to_string().contains("already has 1024 consumers"), "{error}");
    all.pop();
    assert_eq!(producer.n_consumers().unwrap(), 199);
    join().unwrap();
}

#[test]
fn damaged_ring_is_refused() {
    let place = place();
    drop(open(&place.path, Policy::Block(LONG), 0));
    let path = place.path.join("ring");
    let bytes = std::fs::read(&path).unwrap();
    let with = |at: usize, value: u64| {
        let mut damaged = bytes.clone();
        damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&path, damaged).unwrap();
        Consumer::join(&place.path, Start::Earliest).map(|_| ())
    };
    for (at, values) in [(0, &[0, 1]), (8, &[0, 1]), (16, &[0, u64::MAX]), (16, &[1, 5]), (24, &[0, u64::MAX])] {
        values.iter().for_each(|value| assert!(matches!(with(at, *value), Err(Error::Format { .. })), "{at} {value}"));
    }
    let mut damaged = bytes.clone();
    // Each of the two values is valid, but not both together: the product is 2 to the power of 64.
    damaged[16..24].copy_from_slice(&(1u64 << 20).to_le_bytes());
    damaged[24..32].copy_from_slice(&(1u64 << 44).to_le_bytes());
    std::fs::write(&path, damaged).unwrap();
    assert!(matches!(Consumer::join(&place.path, Start::Earliest).map(|_| ()), Err(Error::Format { .. })));
    std::fs::write(&path, &bytes[..100]).unwrap();
    assert!(Consumer::join(&place.path, Start::Earliest).is_err());
}

#[test]
fn frames_are_staged_before_they_are_seen() {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    (0..20).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!(staged_steps(&place), (0..20).collect::<Vec<_>>());
}

fn staged_steps(place: &Place) -> Vec<i64> {
    let mut seen = Vec::new();
    replay(&place.staging(), |frame| {
        seen.push(frame_step(frame));
        Ok(())
    })
    .unwrap();
    seen
}

#[test]
fn status_says_who_is_there_and_how_far() {
    let place = place();
    assert!(matches!(Status::of(&place.path), Err(Error::Io { .. })));
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    let _other = Consumer::join(&place.path, Start::Earliest).unwrap();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    step(&mut consumer);
    let status = Status::of(&place.path).unwrap();
    assert_eq!((status.lags.clone(), status.n_published, status.n_dropped), (vec![3, 4], 4, 0));
    assert!(status.has_producer && status.end.is_none() && !status.is_lost() && status.loss.is_none());
    publish(&mut producer, 4).unwrap();
    drop((producer, consumer));
    let status = Status::of(&place.path).unwrap();
    assert_eq!((status.lags.len(), status.sequence, status.n_dropped, status.is_lost()), (1, 5, 1, true));
    let loss = status.loss.unwrap();
    assert!(loss.starts_with(&format!("process {} ", std::process::id())) && loss.ends_with("without an end record"));
    open(&place.path, Policy::Block(LONG), 5).end(&End::Stopped).unwrap();
    let status = Status::of(&place.path).unwrap();
    assert_eq!(
        (status.epoch, status.end.clone(), status.loss.clone(), status.is_lost()),
        (1, Some(End::Stopped), None, false)
    );
}

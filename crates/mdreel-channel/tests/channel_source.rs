//! Tests of channels as sources. A run over a channel sees each published frame once, for any number of workers.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "frames of a channel are found by number")]
#[path = "../../mdreel-core/tests/support/reading.rs"]
mod reading;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mdreel_channel::consumer::Start;
use mdreel_channel::end::End;
use mdreel_channel::layout::Section;
use mdreel_channel::manifest::Manifest;
use mdreel_channel::producer::{Moment, Policy, Producer, Settings as ProducerSettings};
use mdreel_channel::ring_file::Geometry;
use mdreel_channel::section::{DataType, SectionKind};
use mdreel_channel::source::{ChannelSource, Settings};
use mdreel_core::block::{Arriving, Blocks, FrameSet};
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::{Quantities, Quantity};
use mdreel_core::pool::Unattended;
use mdreel_core::run::run;
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use reading::{Bits, KeepAll, Kept, Seen, bits, read_frames};

const N_ATOMS: usize = 5;
const LONG: Duration = Duration::from_secs(60);
const SETTINGS: Settings = Settings {
    start: Start::Earliest,
    timeout: Some(LONG),
    restart: Duration::ZERO,
    memory: 0,
    bears_missed: false,
    bears_late: true,
};

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place { path: directory.path().join("channel"), _directory: directory }
}

fn open(path: &Path, policy: Policy, resume_step: i64) -> Producer {
    let manifest = Manifest {
        stream: 1,
        topology_hash: [0; 32],
        n_atoms: N_ATOMS as u64,
        units: Vec::new(),
        time_step: 0.002,
        stride: 1,
        sections: vec![(1, 1, "positions".into()), (2, 2, "velocities".into())],
        energies: Vec::new(),
    };
    let geometry = Geometry { n_slots: 4, slot_len: 1024 };
    Producer::open(path, ProducerSettings { geometry, manifest, policy, resume_step, staging: None }).unwrap()
}

fn position(frame: u64, i: usize) -> f32 {
    (frame as f32 + i as f32 * 0.37).sin() * 20.0
}

/// Publishes positions, with the type of each atom if `has_types`, and velocities that are twice as large.
fn publish(producer: &mut Producer, frame: u64, has_types: bool) -> Result<u64> {
    let numbers = || (0..3 * N_ATOMS).map(|i| position(frame, i));
    let (data_type, positions) = if has_types {
        let mut bytes = Vec::new();
        for (i, number) in numbers().enumerate() {
            if i % 3 == 0 {
                bytes.extend(7_i32.to_le_bytes());
            }
            bytes.extend(f64::from(number).to_le_bytes());
        }
        (DataType::TypeAndFloat64, bytes)
    } else {
        (DataType::Float32, numbers().flat_map(f32::to_le_bytes).collect())
    };
    let velocities: Vec<u8> = numbers().flat_map(|v| (2.0 * f64::from(v)).to_le_bytes()).collect();
    let sections = [
        Section { kind: SectionKind::Positions, data_type, bytes: &positions },
        Section { kind: SectionKind::Velocities, data_type: DataType::Float64, bytes: &velocities },
        Section { kind: SectionKind::Energies, data_type: DataType::Float64, bytes: &[0; 8] },
    ];
    let cell = Some([9.0, 0.0, 0.0, 1.5, 8.0, 0.0, 0.25, 0.5, 7.0]);
    let moment = Moment { step: 10 * frame as i64, time: 0.5 * frame as f64, cell };
    producer.publish(&moment, &sections).map(|published| published.sequence)
}

fn expected(index: u64, frame: u64, atoms: &[u32]) -> Seen {
    let numbers = |factor: f32| -> Bits {
        let xyz = |&atom: &u32| std::array::from_fn(|k| bits(factor * position(frame, 3 * atom as usize + k)));
        atoms.iter().map(xyz).collect()
    };
    Seen {
        index,
        step: 10 * frame as i64,
        time: (0.5 * frame as f64).to_bits(),
        cell: Some([[9.0, 0.0, 0.0], [1.5, 8.0, 0.0], [0.25, 0.5, 7.0]].map(|row| row.map(bits))),
        coordinates: numbers(1.0),
        velocities: Some(numbers(2.0)),
        forces: None,
    }
}

fn run_all(source: &ChannelSource, frames: FrameSet, n_workers: usize) -> Result<Kept> {
    // The blocks are smaller than usual, so that there are many of them.
    let blocks = Blocks::Arriving(Arriving { frames, block_frames: 6 });
    let atoms = AtomSelection::new(vec![0, 2, 4]).unwrap();
    let kernel = KeepAll { n_atoms: 3, wanted: Quantities::ALL };
    run(source, &atoms, &kernel, &blocks, n_workers, &mut Unattended).map(|outcome| outcome.unwrap().result)
}

#[test]
fn run_over_a_channel_sees_each_frame_once_for_any_number_of_workers() {
    let ways = [(1, 0, 1, false), (3, 0, 1, true), (3, 7, 9, false), (1, 99, 1, false)];
    for (n_workers, first, step, has_types) in ways {
        let place = place();
        let mut producer = open(&place.path, Policy::Block(LONG), 0);
        let source = ChannelSource::join(&place.path, SETTINGS).unwrap();
        assert!(source.quantities().iter().eq([Quantity::Positions, Quantity::Velocities]));
        let simulation = thread::spawn(move || {
            (0..100).for_each(|frame| assert_eq!(publish(&mut producer, frame, has_types).unwrap(), frame));
            producer.end(&End::Finished).unwrap();
        });
        let found = run_all(&source, FrameSet::endless(first, step), n_workers).unwrap();
        simulation.join().unwrap();
        let wanted: Vec<_> = (first..100).step_by(step as usize).map(|i| expected(i, i, &[0, 2, 4])).collect();
        assert_eq!(found.0, wanted);
        assert_eq!((source.n_frames().unwrap(), source.times().unwrap().len()), (100, 100));
        source.check_end().unwrap();
        // The frames that were read are gone, and a new run does not wait for them.
        let error = run_all(&source, FrameSet::endless(0, 1), n_workers).unwrap_err();
        assert!(matches!(&error, Error::Stream(problem) if problem.message.contains("has gone by")), "{error}");
    }
}

#[test]
fn frames_before_a_run_can_be_looked_at_and_are_seen_by_it() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    let source = ChannelSource::join(&place.path, SETTINGS).unwrap();
    let growth = source.growth().unwrap();
    assert_eq!(growth.await_frame(0, Duration::from_millis(5)).unwrap().n_frames, 0);
    (0..4).for_each(|frame| assert!(publish(&mut producer, frame, false).is_ok()));
    assert!(growth.await_frame(3, LONG).unwrap().n_frames == 4);
    let all = AtomSelection::all(N_ATOMS);
    let seen = read_frames(&source, &all, FrameSet::List([2, 0].into())).unwrap();
    assert_eq!(seen.iter().map(|frame| frame.index).collect::<Vec<_>>(), [2, 0]);
    assert!(matches!(read_frames(&source, &all, FrameSet::all(5)), Err(Error::FrameIndex { frame: 4, .. })));
    growth.check_reach(1000).unwrap();
    assert!(matches!(growth.check_reach(10_000_000), Err(Error::Unsupported(_))));
    producer.end(&End::Stopped).unwrap();
    assert_eq!(run_all(&source, FrameSet::endless(0, 1), 1).unwrap().0.len(), 4);
}

#[test]
fn run_fails_with_the_simulation_and_with_its_loss() {
    for end in [Some(End::Failed("the box has exploded".into())), None] {
        let place = place();
        let mut producer = open(&place.path, Policy::Block(LONG), 0);
        let source = ChannelSource::join(&place.path, SETTINGS).unwrap();
        publish(&mut producer, 0, false).unwrap();
        let word = if end.is_some() { "after 1 frames: the box has exploded" } else { "the producer was lost" };
        match end {
            Some(end) => producer.end(&end).unwrap(),
            None => drop(producer),
        }
        for n_workers in [1, 2] {
            let error = run_all(&source, FrameSet::endless(0, 1), n_workers).unwrap_err();
            assert!(matches!(&error, Error::Stream(problem) if problem.message.contains(word)), "{error}");
        }
        assert!(source.check_end().is_err());
        assert_eq!(read_frames(&source, &AtomSelection::all(N_ATOMS), FrameSet::all(1)).unwrap().len(), 1);
    }
}

#[test]
fn run_goes_on_with_a_producer_that_was_started_again() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    let source = ChannelSource::join(&place.path, Settings { restart: LONG, ..SETTINGS }).unwrap();
    (0..3).for_each(|frame| assert!(publish(&mut producer, frame, false).is_ok()));
    source.growth().unwrap().await_frame(2, LONG).unwrap();
    drop(producer);
    let path = place.path.clone();
    let simulation = thread::spawn(move || {
        let mut producer = open(&path, Policy::Block(LONG), 20);
        (2..30).for_each(|frame| assert!(publish(&mut producer, frame, false).is_ok()));
        producer.end(&End::Finished).unwrap();
    });
    let found = run_all(&source, FrameSet::endless(0, 1), 2).unwrap();
    simulation.join().unwrap();
    assert_eq!(found.0, (0..30).map(|i| expected(i, i, &[0, 2, 4])).collect::<Vec<_>>());
}

#[test]
fn late_and_overwritten_frames_are_errors() {
    let place = place();
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let short = Settings { timeout: Some(Duration::from_millis(20)), ..SETTINGS };
    let late = run_all(&ChannelSource::join(&place.path, short).unwrap(), FrameSet::endless(0, 1), 1).unwrap_err();
    assert!(
        matches!(&late, Error::StreamTimeout(problem) if problem.message.contains("nothing came for 0.02 s")),
        "{late}"
    );
    let strict = ChannelSource::join(&place.path, SETTINGS).unwrap();
    let tolerant = ChannelSource::join(&place.path, Settings { bears_missed: true, ..SETTINGS }).unwrap();
    (0..7).for_each(|frame| assert!(publish(&mut producer, frame, false).is_ok()));
    producer.end(&End::Finished).unwrap();
    let missed = run_all(&strict, FrameSet::endless(0, 1), 1).unwrap_err();
    assert!(
        matches!(&missed, Error::Stream(problem) if problem.message.contains("3 frames were overwritten")),
        "{missed}"
    );
    let found = run_all(&tolerant, FrameSet::endless(0, 1), 1).unwrap();
    assert_eq!(found.0, (0..4).map(|i| expected(i, i + 3, &[0, 2, 4])).collect::<Vec<_>>());
}

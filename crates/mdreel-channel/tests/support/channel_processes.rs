//! Producers and consumers in separate processes, which tests can kill.
//!
//! Each other process runs the test program again, and gets its role from `MDREEL_CHANNEL_ROLE`. It runs the test
//! `other_process_plays_its_role`.

// Each test program uses a part of this module.
#![allow(dead_code, reason = "each test crate uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mdreel_channel::end::End;
use mdreel_channel::layout::{FrameView, Header, Section};
use mdreel_channel::manifest::Manifest;
use mdreel_channel::producer::{Moment, Policy, Producer, Settings};
use mdreel_channel::ring_file::Geometry;
use mdreel_channel::section::{DataType, SectionKind};
use mdreel_channel::staging::{Durability, Retention, Staging, replay};
use mdreel_core::error::{Error, Result};

const ROLE: &str = "MDREEL_CHANNEL_ROLE";
const PLACE: &str = "MDREEL_CHANNEL_PLACE";
const FROM: &str = "MDREEL_CHANNEL_FROM";
pub(crate) const LONG: Duration = Duration::from_secs(30);
pub(crate) const N_ATOMS: usize = 100;
/// The number of steps of the complete simulation.
pub(crate) const N_STEPS: i64 = 1500;

/// Returns whether long tests run in full, with `MDREEL_SLOW_TESTS=1`.
pub(crate) fn is_slow() -> bool {
    std::env::var_os("MDREEL_SLOW_TESTS").is_some_and(|value| value == "1")
}

/// Returns 2 in a normal run, and 20 in a slow one.
pub(crate) fn n_repetitions() -> u64 {
    if is_slow() { 20 } else { 2 }
}

/// Opens the channel. A process that is being started shares the locks of its parent until it executes its program, so a lock may
/// be taken now and free a moment later.
pub(crate) fn open(place: &Path, resume_step: i64, may_drop: bool) -> Producer {
    insist(|| try_open(place, resume_step, may_drop))
}

/// Tries again as long as a dying process holds a required lock.
pub(crate) fn insist<T>(mut open: impl FnMut() -> Result<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        match open() {
            Ok(opened) => return opened,
            Err(Error::Stream(_)) if Instant::now() < until => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) fn try_open(place: &Path, resume_step: i64, may_drop: bool) -> Result<Producer> {
    let retention = Retention { count: None, bytes: None, age: None, segment: 1 << 20 };
    let policy = if may_drop { Policy::DropOldest } else { Policy::Block(LONG) };
    let staging = Some(Staging::open(&place.join("staging"), Durability::File, retention)?);
    Producer::open(&place.join("channel"), settings(N_ATOMS, resume_step, policy, staging))
}

/// Returns the settings for publishing frames of `n_atoms` atoms.
pub(crate) fn settings(n_atoms: usize, resume_step: i64, policy: Policy, staging: Option<Staging>) -> Settings {
    let manifest = Manifest {
        stream: 1,
        topology_hash: [0; 32],
        n_atoms: n_atoms as u64,
        units: Vec::new(),
        time_step: 0.002,
        stride: 1,
        sections: Vec::new(),
        energies: Vec::new(),
    };
    let geometry = Geometry { n_slots: 8, slot_len: 12 * n_atoms as u64 + 1024 };
    Settings { geometry, manifest, policy, resume_step, staging }
}

fn content(step: i64, n_atoms: u64) -> Vec<u8> {
    let mixed = step.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_le_bytes().into_iter().cycle().take(12 * n_atoms as usize).collect()
}

fn moment(step: i64) -> Moment {
    Moment { step, time: 0.5 * step as f64, cell: Some([step as f64; 9]) }
}

/// Checks that a frame is as it was published, and returns its step.
pub(crate) fn check(bytes: &[u8]) -> i64 {
    let view = FrameView::decode(Path::new("frame"), bytes).unwrap();
    view.verify(Path::new("frame")).unwrap();
    let Header { stream, step, time, n_atoms, cell, .. } = view.header;
    assert_eq!((stream, Moment { step, time, cell }), (1, moment(step)));
    let expected = content(step, n_atoms);
    assert!(view.sections().len() == 1 && view.sections().all(|section| section.bytes == expected), "step {step}");
    step
}

pub(crate) fn publish(producer: &mut Producer, step: i64) {
    publish_of(N_ATOMS, producer, step);
}

pub(crate) fn publish_of(n_atoms: usize, producer: &mut Producer, step: i64) {
    let bytes = content(step, n_atoms as u64);
    let section = Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &bytes };
    producer.publish(&moment(step), &[section]).unwrap();
}

/// Simulates from a step to the end.
pub(crate) fn simulate(place: &Path, from: i64, may_drop: bool) {
    let mut producer = open(place, from, may_drop);
    (from..N_STEPS).for_each(|step| publish(&mut producer, step));
    producer.end(&End::Finished).unwrap();
}

/// Returns the role of this process, the folder of the channel, and the first step, if a test has started it.
pub(crate) fn role() -> Option<(String, PathBuf, i64)> {
    let role = std::env::var(ROLE).ok()?;
    let place = PathBuf::from(std::env::var_os(PLACE).unwrap());
    Some((role, place, std::env::var(FROM).unwrap().parse().unwrap()))
}

pub(crate) fn start(role: &str, place: &Path, from: i64) -> Child {
    start_saying(role, place, from, Stdio::null())
}

/// Starts a process as `start` does, and writes its standard output to `output`.
pub(crate) fn start_saying(role: &str, place: &Path, from: i64, output: Stdio) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "other_process_plays_its_role"]).env(ROLE, role).env(PLACE, place);
    command.env(FROM, from.to_string()).stdout(output).stderr(Stdio::null()).spawn().unwrap()
}

/// Returns a number from 0 to below `limit`, derived from the current time.
pub(crate) fn random(limit: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    (now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % limit
}

pub(crate) fn kill(child: &mut Child) {
    let _ = child.kill();
    child.wait().unwrap();
}

/// Returns the staged steps, in order.
pub(crate) fn staged(place: &Path) -> Vec<i64> {
    let mut steps = Vec::new();
    replay(&place.join("staging"), |frame| {
        steps.push(check(frame));
        Ok(())
    })
    .unwrap();
    steps
}

/// Returns the step from which a killed simulation continues: a checkpoint some steps before its last frame.
pub(crate) fn checkpoint(place: &Path) -> i64 {
    staged(place).last().map_or(0, |step| (step - 3).max(0))
}

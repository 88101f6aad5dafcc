//! Tests that kill producers (SIGKILL) while they reuse the files of deleted frames for new ones. Frames are complete in staging, and
//! in the ring, whose slots refer to staging.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::path::Path;
use std::time::{Duration, Instant};

use channel_processes::{LONG, check, insist, kill, n_repetitions, publish_of, random, role, settings, staged, start};
use mdreel_channel::consumer::{Consumer, Next, Start};
use mdreel_channel::producer::{Policy, Producer};
use mdreel_channel::staging::{Durability, Retention, Staging, replay};
use mdreel_core::error::Result;

/// A number of atoms for which a process is often killed while it writes a frame.
const N_ATOMS: usize = 4000;
const N_KEPT: u64 = 4;

fn open(place: &Path, step: i64) -> Result<Producer> {
    let two_frames = 24 * N_ATOMS as u64;
    let retention = Retention { count: Some(N_KEPT), bytes: None, age: None, segment: two_frames };
    let staging = Staging::open(&place.join("staging"), Durability::File, retention)?;
    Producer::open(&place.join("channel"), settings(N_ATOMS, step, Policy::DropOldest, Some(staging)))
}

/// Publishes steps until it is killed, and records its progress in a file.
#[test]
fn other_process_plays_its_role() {
    let Some((_, place, from)) = role() else { return };
    let mut producer = insist(|| open(&place, from));
    for step in from.. {
        publish_of(N_ATOMS, &mut producer, step);
        std::fs::write(place.join("new"), step.to_le_bytes()).unwrap();
        std::fs::rename(place.join("new"), place.join("published")).unwrap();
    }
}

fn published(place: &Path) -> i64 {
    std::fs::read(place.join("published")).map_or(-1, |bytes| i64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Checks the frames of the ring of a producer that was killed, and returns the step of the last one.
fn in_ring(place: &Path) -> i64 {
    let mut consumer = Consumer::join(&place.join("channel"), Start::Earliest).unwrap();
    let mut last = -1;
    while let Ok(Next::Frame(frame)) = consumer.next(LONG) {
        let step = check(&frame);
        assert!(last < 0 || step == last + 1);
        last = step;
    }
    last
}

#[test]
fn frames_are_whole_while_files_become_others_and_after_each_kill() {
    // On this file system, the producer writes frames in place.
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let place = place.path();
    let mut next = 0;
    for _ in 0..2 * n_repetitions() {
        let (mut producer, begin) = (start("producer", place, next), Instant::now());
        let mut last = -1;
        // Enough frames to reuse each file, plus a part of the time that a further frame takes.
        while published(place) < next + 8 {
            assert!(begin.elapsed() < LONG);
            if !place.join("staging").exists() {
                continue;
            }
            // Reads while the producer writes: each frame is either complete or absent.
            replay(&place.join("staging"), |frame| {
                last = last.max(check(frame));
                Ok(())
            })
            .unwrap();
        }
        let until = Instant::now() + Duration::from_micros(random(1000));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        kill(&mut producer);
        let (steps, published) = (staged(place), published(place));
        let newest = *steps.last().unwrap();
        assert!(steps.iter().copied().eq(newest + 1 - steps.len() as i64..=newest), "{steps:?}");
        assert!(steps.len() as u64 >= N_KEPT && newest >= published.max(last), "{steps:?} after step {published}");
        assert!(newest <= published + 1);
        assert!((published..=newest).contains(&in_ring(place)));
        next = newest + 1;
    }
}

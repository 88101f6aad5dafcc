use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{Policy, Producer, Published, Settings};
use crate::catch_up::{self, CatchUp};
use crate::consumer::{Consumer, Next, Start};
use crate::end::End;
use crate::layout::{Header, Section, encode};
use crate::manifest::Manifest;
use crate::ring_file::Geometry;
use crate::section::{DataType, SectionKind};
use crate::staging::{Durability, Retention, Staging};
use crate::status::Status;
use mdreel_core::error::{Error, Result};

const N_ATOMS: usize = 3;
const SHORT: Duration = Duration::from_millis(20);

fn settings(staging: Option<&Path>) -> Settings {
    let manifest = Manifest {
        stream: 7,
        topology_hash: [0; 32],
        n_atoms: N_ATOMS as u64,
        units: Vec::new(),
        time_step: 0.0,
        stride: 0,
        sections: vec![(1, 1, "positions".into())],
        energies: Vec::new(),
    };
    let all = Retention { count: None, bytes: None, age: None, segment: 1 << 20 };
    let staging = staging.map(|path| Staging::open(path, Durability::File, all).unwrap());
    let geometry = Geometry { n_slots: 8, slot_len: 512 };
    Settings { geometry, manifest, policy: Policy::Block(SHORT), resume_step: 0, staging }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("channel");
    (directory, path)
}

fn frame_of(header: Header, kind: SectionKind) -> Vec<u8> {
    let bytes = [header.step as u8; 12 * N_ATOMS];
    let mut frame = vec![0; 512];
    let length = encode(&header, &[Section { kind, data_type: DataType::Float32, bytes: &bytes }], &mut frame).unwrap();
    frame.truncate(length);
    frame
}

fn frame(epoch: u64, sequence: u64, step: i64) -> Vec<u8> {
    let n_atoms = N_ATOMS as u64;
    frame_of(Header { stream: 7, epoch, sequence, step, time: 0.5, n_atoms, cell: None }, SectionKind::Positions)
}

/// Relays a frame in one piece.
fn relayed(relay: &mut Producer, frame: &[u8]) -> Result<Published> {
    relay.begin_relay(frame, frame.len())?;
    relay.relay(frame).map(|published| published.unwrap())
}

/// Returns the number and the step of each available frame.
fn seen(consumer: &mut Consumer) -> Vec<(u64, i64)> {
    let mut found = Vec::new();
    while let Ok(Next::Frame(frame)) = consumer.next(SHORT) {
        frame.view().unwrap().verify(Path::new("ring")).unwrap();
        found.push((frame.header().sequence, frame.header().step));
    }
    found
}

#[test]
fn frames_keep_their_numbers_and_what_was_left_out_is_missed() {
    let (_directory, path) = place();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    let mut consumer = Consumer::join(&path, Start::Earliest).unwrap();
    for sequence in [40, 41, 45] {
        assert_eq!(relayed(&mut relay, &frame(0, sequence, sequence as i64)).unwrap().sequence, sequence);
    }
    assert_eq!(seen(&mut consumer), [(40, 40), (41, 41), (45, 45)]);
    assert_eq!(consumer.missed(), 3);
    assert_eq!(relay.next_sequence(), 46);
    assert_eq!(relay.last().unwrap().unwrap().step, 45);
    relay.end(&End::Finished).unwrap();
    assert!(matches!(consumer.next(SHORT), Ok(Next::End(End::Finished))));
}

#[test]
fn numbers_that_a_relay_passes_over_are_not_missed() {
    for has_staging in [false, true] {
        let (directory, path) = place();
        let staging = directory.path().join("staging");
        let mut relay = Producer::open_relay(&path, settings(has_staging.then_some(staging.as_path()))).unwrap();
        let mut reader = CatchUp::join(&path, Start::Earliest).unwrap();
        (0..3).for_each(|number| assert!(relayed(&mut relay, &frame(0, number, number as i64)).is_ok()));
        relay.advance(1, 3).unwrap();
        relay.pass_over(2).unwrap();
        relayed(&mut relay, &frame(1, 6, 3)).unwrap();
        // No frame of this epoch arrives.
        relay.advance(2, 4).unwrap();
        relay.pass_over(1).unwrap();
        relay.advance(3, 4).unwrap();
        relay.pass_over(2).unwrap();
        relayed(&mut relay, &frame(3, 9, 4)).unwrap();
        relay.end(&End::Finished).unwrap();
        let mut numbers = Vec::new();
        while let catch_up::Next::Frame(frame) = reader.next(SHORT).unwrap() {
            numbers.push(frame.header().sequence);
        }
        assert_eq!(numbers, [0, 1, 2, 6, 9]);
        assert_eq!(reader.missed(), 1, "the frame of number 5");
    }
}

#[test]
fn relay_that_was_killed_goes_on_in_the_same_epoch() {
    let (_directory, path) = place();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    relay.advance(3, 20).unwrap();
    relayed(&mut relay, &frame(3, 9, 21)).unwrap();
    drop(relay);
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    assert_eq!((relay.epoch(), relay.first_step().unwrap(), relay.next_sequence()), (3, 20, 10));
    relayed(&mut relay, &frame(3, 10, 22)).unwrap();
    assert_eq!(seen(&mut Consumer::join(&path, Start::Earliest).unwrap()), [(9, 21), (10, 22)]);
    let status = Status::of(&path).unwrap();
    assert_eq!((status.epoch, status.resume_steps), (3, vec![i64::MIN, i64::MAX, i64::MAX, 20]));
}

#[test]
fn frames_of_a_run_before_are_not_looked_at() {
    let (_directory, path) = place();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    relay.advance(2, 0).unwrap();
    relayed(&mut relay, &frame(2, 5, 50)).unwrap();
    relay.end(&End::Finished).unwrap();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    relay.advance(3, i64::MIN).unwrap();
    relayed(&mut relay, &frame(3, 6, 0)).unwrap();
    assert_eq!(seen(&mut Consumer::join(&path, Start::Earliest).unwrap()), [(6, 0)]);
    for epoch in [0, 3, 64, u64::MAX] {
        assert!(matches!(relay.advance(epoch, 0), Err(Error::Mismatch(_))));
    }
}

#[test]
fn frame_that_is_damaged_or_of_something_else_is_refused() {
    let (_directory, path) = place();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    relayed(&mut relay, &frame(0, 4, 4)).unwrap();
    let whole = frame(0, 5, 5);
    for at in 0..whole.len() {
        assert!(relayed(&mut relay, &whole[..at]).is_err());
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        // The padding after a section, up to the next multiple of 64 bytes, has no checksum.
        let is_padding = (192 + 12 * N_ATOMS..).contains(&at);
        assert!(is_padding || matches!(relayed(&mut relay, &damaged), Err(Error::Format { .. })), "byte {at}");
        if is_padding {
            break;
        }
    }
    let header = Header { stream: 7, epoch: 0, sequence: 5, step: 5, time: 0.0, n_atoms: 3, cell: None };
    let others = [
        frame_of(Header { stream: 8, ..header }, SectionKind::Positions),
        frame_of(header, SectionKind::Forces),
        frame(1, 5, 5),
        frame(0, 4, 5),
        frame(0, u64::MAX, 5),
        [whole.clone(), vec![0; 64]].concat(),
    ];
    for other in others {
        assert!(matches!(relayed(&mut relay, &other), Err(Error::Format { .. })));
    }
    relayed(&mut relay, &whole).unwrap();
    assert_eq!(seen(&mut Consumer::join(&path, Start::Earliest).unwrap()), [(4, 4), (5, 5)]);
}

#[test]
fn frame_in_pieces_is_there_when_it_is_whole_and_another_may_take_its_place_before() {
    let (_directory, path) = place();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    let mut consumer = Consumer::join(&path, Start::Earliest).unwrap();
    let (whole, other) = (frame(0, 1, 1), frame(0, 2, 2));
    assert!(matches!(relay.relay(&whole), Err(Error::Mismatch(_))), "nothing was begun");
    for cut in 192..whole.len() {
        let (first, second) = whole.split_at(cut);
        relay.begin_relay(first, whole.len()).unwrap();
        assert_eq!(relay.relay(first).unwrap(), None);
        assert_eq!((seen(&mut consumer), Status::of(&path).unwrap().n_published), (vec![], 0));
        let mut damaged = second.to_vec();
        damaged[0] ^= 1;
        // The padding after the section has no checksum.
        if cut < 192 + 12 * N_ATOMS {
            assert!(matches!(relay.relay(&damaged), Err(Error::Format { .. })));
            assert!(matches!(relay.relay(second), Err(Error::Mismatch(_))), "it is to be begun again");
        }
    }
    relay.begin_relay(&whole[..192], whole.len()).unwrap();
    assert_eq!(relay.relay(&whole[..192]).unwrap(), None);
    assert!(relay.relay(&[0; 4096]).is_err(), "more than there is of it");
    relay.begin_relay(&whole[..192], whole.len()).unwrap();
    relay.advance(1, 0).unwrap();
    assert!(matches!(relay.relay(&whole[..192]), Err(Error::Mismatch(_))), "of an epoch that is over");
    assert!(relayed(&mut relay, &other).is_err());
    let last = frame(1, 3, 3);
    relay.begin_relay(&last[..192], last.len()).unwrap();
    for piece in [&last[..192], &[], &last[192..200], &last[200..last.len() - 1]] {
        assert_eq!(relay.relay(piece).unwrap(), None);
    }
    assert_eq!(relay.relay(&last[last.len() - 1..]).unwrap().map(|published| published.sequence), Some(3));
    assert_eq!(seen(&mut consumer), [(3, 3)]);
}

#[test]
fn frame_for_which_there_is_no_room_may_be_relayed_again() {
    let (_directory, path) = place();
    let mut relay = Producer::open_relay(&path, settings(None)).unwrap();
    let mut consumer = Consumer::join(&path, Start::Earliest).unwrap();
    (0..8).for_each(|i| assert!(relayed(&mut relay, &frame(0, i, i as i64)).is_ok()));
    assert!(matches!(relayed(&mut relay, &frame(0, 8, 8)), Err(Error::StreamTimeout(_))));
    assert_eq!(seen(&mut consumer).len(), 8);
    relayed(&mut relay, &frame(0, 8, 8)).unwrap();
    assert_eq!(seen(&mut consumer), [(8, 8)]);
}

#[test]
fn relay_with_staging_serves_who_comes_late_and_survives_the_ring() {
    let (directory, path) = place();
    let staging = directory.path().join("staging");
    let mut relay = Producer::open_relay(&path, settings(Some(&staging))).unwrap();
    relay.advance(1, 0).unwrap();
    for i in 10..40 {
        assert_eq!(relayed(&mut relay, &frame(1, i, i as i64)).unwrap().level, Durability::File);
    }
    drop(relay);
    std::fs::remove_dir_all(&path).unwrap();
    let relay = Producer::open_relay(&path, settings(Some(&staging))).unwrap();
    assert_eq!((relay.epoch(), relay.next_sequence()), (1, 40));
    let mut late = crate::catch_up::CatchUp::join(&path, Start::Earliest).unwrap();
    for i in 10..40 {
        let crate::catch_up::Next::Frame(frame) = late.next(SHORT).unwrap() else { panic!("no frame") };
        assert_eq!(frame.header().sequence, i);
    }
}

#[test]
fn simulation_does_not_publish_on_what_a_relay_holds() {
    let (_directory, path) = place();
    let _relay = Producer::open_relay(&path, settings(None)).unwrap();
    assert!(matches!(Producer::open(&path, settings(None)), Err(Error::Stream(_))));
    assert!(matches!(Producer::open_relay(&path, settings(None)), Err(Error::Stream(_))));
    let spills = Settings { policy: Policy::Spill(Box::new(|_| Ok(()))), ..settings(None) };
    assert!(matches!(Producer::open_relay(&path, spills), Err(Error::Mismatch(_))));
}

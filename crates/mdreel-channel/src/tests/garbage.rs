//! Tests with garbage in the files that another process writes: reading returns an error or a value, and never panics.

use proptest::prelude::*;

use super::super::directory::Directory;
use super::super::group::file::{State, read_facts, read_state};
use super::super::layout::checksum;
use super::super::staging::place::StagingPlace;
use super::*;

/// Replaces a file by a record whose checksum is correct. No accident does this, but a broken program may.
fn seal(directory: &Directory, name: &str, magic: &[u8; 8], body: &[u8]) {
    let pieces: [&[u8]; 3] = [magic, &checksum(body).to_le_bytes(), body];
    std::fs::write(directory.join(name), pieces.concat()).unwrap();
}

/// Returns the body of the record in a file.
fn body(directory: &Directory, name: &str) -> Vec<u8> {
    std::fs::read(directory.join(name)).unwrap()[16..].to_vec()
}

/// Generates any bytes, or those of a valid record with some of them changed, cut or repeated.
fn bodies(valid: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let n_bytes = valid.len();
    let changed =
        (prop::collection::vec((0..n_bytes, any::<u8>()), 1..8), 0..2 * n_bytes).prop_map(move |(changes, length)| {
            let mut body = valid.clone();
            changes.into_iter().for_each(|(at, byte)| body[at] = byte);
            body.iter().copied().cycle().take(length).collect()
        });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..256), changed]
}

fn channel() -> (Place, Producer) {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    (0..3).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    (place, producer)
}

#[test]
fn records_of_a_channel_are_read_or_refused_whatever_they_say() {
    let (place, _producer) = channel();
    let directory = Directory::open(&place.path).unwrap();
    let mut runner = proptest::test_runner::TestRunner::default();
    let manifest = body(&directory, "manifest");
    runner
        .run(&bodies(manifest), |body| {
            seal(&directory, "manifest", b"MDREELMF", &body);
            let _ = Manifest::read(&directory);
            let _ = Status::of(&place.path);
            Ok(())
        })
        .unwrap();
    let staging = body(&directory, "staging");
    runner
        .run(&bodies(staging), |body| {
            seal(&directory, "staging", b"MDREELSP", &body);
            let _ = StagingPlace::of(&directory);
            Ok(())
        })
        .unwrap();
    let state = postcard::to_allocvec(&State { blob: vec![1; 20], ..State::default() }).unwrap();
    runner
        .run(&bodies(state), |body| {
            seal(&directory, "group.all.member.one", b"MDREELGS", &body);
            let _ = read_state(&directory, "all", "one");
            seal(&directory, "group.all", b"MDREELGR", &body);
            let _ = read_facts(&directory, "all");
            Ok(())
        })
        .unwrap();
}

#[test]
fn head_of_a_ring_is_read_or_refused_whatever_it_says() {
    let (place, producer) = channel();
    drop(producer);
    let ring = place.path.join("ring");
    let whole = std::fs::read(&ring).unwrap();
    let words = prop::collection::vec((0usize..512, any::<u64>()), 1..16);
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&words, |words| {
            let mut bytes = whole.clone();
            for (word, value) in words {
                bytes[8 * word..8 * word + 8].copy_from_slice(&value.to_le_bytes());
            }
            std::fs::write(&ring, bytes).unwrap();
            if let Ok(status) = Status::of(&place.path) {
                prop_assert!(status.resume_steps.len() <= 4096);
            }
            Ok(())
        })
        .unwrap();
}

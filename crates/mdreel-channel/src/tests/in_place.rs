//! Frames that are written only once, to a mapped segment of staging.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use super::super::held::{Held, HeldNext, Holder};
use super::super::ring_file::RingFile;
use super::*;

/// The number of slots of the ring in `settings`.
const N_SLOTS: usize = 4;
/// The length of a frame of `publish` with its prefix.
const RECORD: u64 = 64 + 192 + 128;
/// A retention with one segment for each frame. As many frames stay as the ring has slots.
const FEW: Retention = Retention { count: Some(1), bytes: None, age: None, segment: 1 };

/// Returns a place in memory, where frames can be written in place.
pub(super) fn place_in_memory() -> Place {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    Place { path: directory.path().join("channel"), _directory: directory }
}

fn open_staged(place: &Place, policy: Policy, resume_step: i64, retention: Retention) -> Producer {
    let staging = Some(Staging::open(&place.staging(), Durability::File, retention).unwrap());
    Producer::open(&place.path, Settings { staging, ..settings(policy, resume_step) }).unwrap()
}

/// Returns the number of slots that refer to a segment.
pub(super) fn n_in_segments(place: &Place) -> usize {
    let directory = Directory::open(&place.path).unwrap();
    RingFile::open(&directory, false).unwrap().all_in_segments().count()
}

pub(super) fn segments(place: &Place) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.staging()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("segment-")).collect()
}

fn publish_all(producer: &mut Producer, steps: std::ops::Range<i64>) {
    steps.for_each(|step| assert!(publish(producer, step).is_ok()));
}

fn held(holder: &Arc<Holder>) -> Held {
    match holder.next(LONG).unwrap() {
        HeldNext::Frame(frame) => frame,
        HeldNext::End(_) => panic!("no frame"),
    }
}

fn has_step(frame: &Held, step: i64) -> bool {
    let view = frame.view().unwrap();
    view.verify(Path::new("ring")).unwrap();
    view.header.step == step && view.sections().all(|section| section.bytes == [step as u8; 12 * N_ATOMS])
}

/// Returns the number of deleted files of a staging that this process has mapped.
fn n_deleted_but_mapped(place: &Place) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let staging = place.staging();
    maps.lines().filter(|line| line.contains(staging.to_str().unwrap()) && line.ends_with("(deleted)")).count()
}

#[test]
fn frames_are_written_once_as_soon_as_files_are_reused() {
    for retention in [
        FEW,
        Retention { segment: 3 * RECORD, ..FEW },
        Retention { count: None, bytes: Some(20_000), ..FEW },
        Retention { count: None, age: Some(Duration::ZERO), ..FEW },
    ] {
        let place = place_in_memory();
        let mut producer = open_staged(&place, Policy::Block(LONG), 0, retention);
        let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
        let mut inodes = BTreeSet::new();
        for step in 0..300 {
            publish(&mut producer, step).unwrap();
            assert_eq!(self::step(&mut consumer), Some(step));
            if step >= 200 {
                assert_eq!(n_in_segments(&place), N_SLOTS, "after step {step} with {retention:?}");
                inodes.extend(segments(&place).iter().map(|path| path.metadata().unwrap().ino()));
            }
        }
        assert!(inodes.len() <= 60, "{} files with {retention:?}", inodes.len());
        assert_eq!(n_deleted_but_mapped(&place), 0);
        assert!(replay(&place.staging(), |_| Ok(())).is_ok());
        let staged = producer.last().unwrap().unwrap();
        assert_eq!(staged.step, 299);
    }
}

#[test]
fn frames_in_files_that_the_kernel_may_have_written_are_complete() {
    let place = place_in_memory();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, FEW);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    for step in 0..130 {
        if step == 100 {
            thread::sleep(Duration::from_millis(4_200)); // a system call writes the next frames
        }
        publish(&mut producer, step).unwrap();
        assert_eq!(self::step(&mut consumer), Some(step));
        assert!(step < 50 || n_in_segments(&place) == N_SLOTS, "after step {step}");
    }
    assert_eq!(n_deleted_but_mapped(&place), 0);
    assert_eq!(staged_steps(&place).last(), Some(&129));
}

#[test]
fn frames_are_copied_twice_where_they_could_not_stay_in_staging() {
    // The first retention keeps all frames, so that no file is reused, and for short frames none is prepared. The others have less room than the ring.
    let none = Retention { count: None, ..FEW };
    for retention in [none, Retention { bytes: Some(1000), ..none }, Retention { bytes: Some(2000), ..none }] {
        let place = place_in_memory();
        let mut producer = open_staged(&place, Policy::DropOldest, 0, retention);
        publish_all(&mut producer, 0..50);
        assert_eq!(n_in_segments(&place), 0, "{retention:?}");
    }
    let place = place_in_memory();
    let staging = Some(Staging::open(&place.staging(), Durability::Fsync, FEW).unwrap());
    let mut producer = Producer::open(&place.path, Settings { staging, ..settings(Policy::DropOldest, 0) }).unwrap();
    publish_all(&mut producer, 0..50);
    assert_eq!(n_in_segments(&place), 0, "each frame is written to the disk");
}

#[test]
fn frame_that_a_consumer_holds_stays_as_it_is_and_its_segment_does_not() {
    for retention in [FEW, Retention { count: None, bytes: Some(20_000), segment: 2 * RECORD, ..FEW }] {
        let place = place_in_memory();
        let mut producer = open_staged(&place, Policy::DropOldest, 0, retention);
        publish_all(&mut producer, 0..100);
        let holder = Holder::join_latest(&place.path).unwrap();
        let frame = held(&holder);
        assert!(has_step(&frame, 99));
        let n_before = segments(&place).len();
        for step in 100..200 {
            publish(&mut producer, step).unwrap();
            assert!(has_step(&frame, 99), "after step {step}");
        }
        assert!(segments(&place).len() <= n_before + 1, "the held frame keeps no segment");
        assert!(n_in_segments(&place) >= N_SLOTS - 1);
        drop(frame);
        // The consumer unmaps files that have been deleted when it maps the next one.
        assert!(has_step(&held(&holder), 199));
        assert_eq!(n_deleted_but_mapped(&place), 0);
    }
}

#[test]
fn consumer_that_is_behind_finds_its_frames_after_the_producer_restarts() {
    let place = place_in_memory();
    let mut consumer = {
        let mut producer = open_staged(&place, Policy::DropOldest, 0, FEW);
        publish_all(&mut producer, 0..100);
        Consumer::join(&place.path, Start::Earliest).unwrap()
    };
    assert_eq!(n_in_segments(&place), N_SLOTS);
    // The staging is the same, so the segments stay until the slots are overwritten.
    let mut producer = open_staged(&place, Policy::Block(SHORT), 100, FEW);
    assert_eq!((step(&mut consumer), step(&mut consumer)), (Some(96), Some(97)));
    publish_all(&mut producer, 100..102);
    assert_eq!((step(&mut consumer), step(&mut consumer)), (Some(98), Some(99)));
    for next in 102..150 {
        publish(&mut producer, next).unwrap();
        assert_eq!(step(&mut consumer), Some(next - 2));
    }
    assert_eq!(n_in_segments(&place), N_SLOTS);
    drop(producer);
    // With another staging or none, the frames are copied to the ring, and the old segments can be deleted.
    let mut other = settings(Policy::DropOldest, 150);
    let path = place.staging().with_file_name("other");
    other.staging = Some(Staging::open(&path, Durability::File, FEW).unwrap());
    drop(Producer::open(&place.path, other).unwrap());
    assert_eq!(n_in_segments(&place), 0);
    std::fs::remove_dir_all(place.staging()).unwrap();
    assert_eq!((step(&mut consumer), step(&mut consumer)), (Some(148), Some(149)));
}

#[test]
fn limit_on_bytes_holds_while_the_ring_is_full() {
    let place = place_in_memory();
    let limit = 20_000;
    let retention = Retention { count: None, bytes: Some(limit), ..FEW };
    let mut producer = open_staged(&place, Policy::Spill(Box::new(|_| Ok(()))), 0, retention);
    publish_all(&mut producer, 0..200);
    assert_eq!(n_in_segments(&place), N_SLOTS);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    // The consumer takes no frame, so that the frames after the fourth do not get into the ring.
    for step in 200..500 {
        publish(&mut producer, step).unwrap();
        let n_bytes: u64 = segments(&place).iter().map(|path| path.metadata().unwrap().len()).sum();
        assert!(n_bytes <= limit, "{n_bytes} bytes after step {step}");
    }
    assert_eq!(n_in_segments(&place), 0, "the frames are in their slots");
    (196..200).for_each(|expected| assert_eq!(step(&mut consumer), Some(expected)));
}

#[test]
fn segment_that_somebody_has_deleted_does_not_stop_the_producer() {
    let place = place_in_memory();
    let mut producer = open_staged(&place, Policy::DropOldest, 0, FEW);
    publish_all(&mut producer, 0..100);
    let holder = Holder::join_latest(&place.path).unwrap();
    let frame = held(&holder);
    segments(&place).iter().for_each(|path| std::fs::remove_file(path).unwrap());
    publish_all(&mut producer, 100..200);
    assert!(has_step(&frame, 99));
}

#[test]
fn frame_that_a_consumer_holds_stays_as_it_is_when_another_producer_gets_its_staging() {
    let place = place_in_memory();
    let mut producer = open_staged(&place, Policy::DropOldest, 0, FEW);
    publish_all(&mut producer, 0..100);
    let holder = Holder::join_latest(&place.path).unwrap();
    let frame = held(&holder);
    drop(producer);
    // The frame is copied to its slot, and the consumer still has that of the segment.
    drop(open(&place.path, Policy::DropOldest, 100));
    let mut producer = open_staged(&place, Policy::DropOldest, 100, FEW);
    for step in 100..200 {
        publish(&mut producer, step).unwrap();
        assert!(has_step(&frame, 99), "after step {step}");
    }
    assert!(n_in_segments(&place) >= N_SLOTS - 1);
}

#[test]
fn producer_without_staging_takes_over_the_frames_of_one_with_staging() {
    let place = place_in_memory();
    let mut producer = open_staged(&place, Policy::DropOldest, 0, FEW);
    publish_all(&mut producer, 0..100);
    drop(producer);
    let mut producer = open(&place.path, Policy::DropOldest, 100);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    std::fs::remove_dir_all(place.staging()).unwrap();
    publish_all(&mut producer, 100..101);
    producer.end(&End::Finished).unwrap();
    assert_eq!(steps(&mut consumer), [97, 98, 99, 100]);
}

#[test]
fn segment_that_somebody_has_deleted_is_an_error_for_its_frames_only() {
    let place = place_in_memory();
    let mut producer = open_staged(&place, Policy::DropOldest, 0, FEW);
    publish_all(&mut producer, 0..100);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    let mut paths = segments(&place);
    paths.sort_unstable();
    let of = |step: i64| paths.iter().find(|path| path.to_str().unwrap().ends_with(&format!("{step:020}"))).unwrap();
    std::fs::remove_file(of(96)).unwrap();
    std::fs::copy(of(98), place.staging().join("copy")).unwrap();
    std::fs::rename(place.staging().join("copy"), of(97)).unwrap();
    for expected in [0, 1] {
        let error = consumer.next(SHORT).unwrap_err().to_string();
        assert!(error.contains(&format!("segment-{:020}", 96 + expected)), "{error}");
    }
    assert_eq!((step(&mut consumer), step(&mut consumer)), (Some(98), Some(99)));
    // The producer continues, because it has its own view of the files.
    publish_all(&mut producer, 100..200);
    assert_eq!(step(&mut consumer), Some(196));
}

#[test]
fn copy_of_a_segment_and_a_second_name_stay_as_they_are() {
    let place = place_in_memory();
    let mut producer = open_staged(&place, Policy::DropOldest, 0, FEW);
    publish_all(&mut producer, 0..100);
    let newest = segments(&place).into_iter().max().unwrap();
    let name = place.staging().with_file_name("second");
    std::fs::hard_link(&newest, &name).unwrap();
    let before = std::fs::read(&name).unwrap();
    publish_all(&mut producer, 100..200);
    assert_eq!(std::fs::read(&name).unwrap(), before);
    assert_eq!(n_in_segments(&place), N_SLOTS, "after the loss of one file");
}

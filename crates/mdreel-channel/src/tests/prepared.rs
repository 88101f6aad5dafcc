//! Frames in files that threads have prepared.

use std::time::Instant;

use super::in_place::{n_in_segments, place_in_memory, segments};
use super::*;
use crate::staging::Retention;

const N_SLOTS: usize = 4;
/// The length of the slots, for which files are prepared. The frames are shorter.
const SLOT: u64 = 128 << 10;
/// The length of a frame of `publish` with its prefix, and that of a segment's header.
const RECORD: u64 = 64 + 192 + 128;
const HEADER: u64 = 64;
const ALL: Retention = Retention { count: None, bytes: None, age: None, segment: 1 };

fn open_with_long_slots(place: &Place, retention: Retention) -> Producer {
    resume_with_long_slots(place, retention, 0)
}

fn resume_with_long_slots(place: &Place, retention: Retention, resume_step: i64) -> Producer {
    let staging = Some(Staging::open(&place.staging(), Durability::File, retention).unwrap());
    let geometry = Geometry { n_slots: N_SLOTS as u64, slot_len: SLOT };
    Producer::open(&place.path, Settings { geometry, staging, ..settings(Policy::DropOldest, resume_step) }).unwrap()
}

/// Publishes frames from this step on until all slots refer to segments. Returns the next step.
fn publish_until_in_place(producer: &mut Producer, place: &Place, from: i64) -> i64 {
    publish_slowly_until_in_place(producer, place, from, Duration::from_millis(1))
}

/// Publishes frames with pauses, in which the thread prepares files, as `publish_until_in_place` does.
fn publish_slowly_until_in_place(producer: &mut Producer, place: &Place, from: i64, pause: Duration) -> i64 {
    let begin = Instant::now();
    let is_in_place = |step: &i64| {
        publish(producer, *step).unwrap();
        std::thread::sleep(pause);
        assert!(begin.elapsed() < LONG, "frames are not written in place");
        n_in_segments(place) == N_SLOTS
    };
    (from..).find(is_in_place).unwrap() + 1
}

/// Returns the number of files without a name in the staging that this process has mapped or open.
fn n_unnamed(place: &Place) -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let all = open.chain(maps.lines().map(str::to_owned));
    all.filter(|line| line.contains(place.staging().to_str().unwrap()) && line.ends_with("(deleted)")).count()
}

#[test]
fn frames_are_written_once_although_all_are_retained() {
    for segment in [1, 50 * RECORD] {
        let place = place_in_memory();
        let mut producer = open_with_long_slots(&place, Retention { segment, ..ALL });
        let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
        let mut next = 0;
        for _ in 0..30 {
            next = publish_until_in_place(&mut producer, &place, next);
            assert_eq!(std::iter::from_fn(|| step(&mut consumer)).find(|step| *step == next - 1), Some(next - 1));
        }
        producer.end(&End::Finished).unwrap();
        drop(consumer);
        assert_eq!(n_unnamed(&place), 0, "files are closed");
        let mut n_frames = 0;
        let counted = replay(&place.staging(), |_| {
            n_frames += 1;
            Ok(())
        });
        counted.unwrap();
        assert_eq!(n_frames, next);
        let lengths: u64 = segments(&place).iter().map(|path| path.metadata().unwrap().len()).sum();
        assert_eq!(lengths, n_frames as u64 * RECORD + segments(&place).len() as u64 * HEADER, "nothing follows");
    }
}

#[test]
fn first_frames_are_written_once_before_files_are_reused() {
    let place = place_in_memory();
    let mut producer = open_with_long_slots(&place, Retention { count: Some(1000), ..ALL });
    let next = publish_until_in_place(&mut producer, &place, 0);
    assert_eq!(segments(&place).len() as i64, next, "no file was reused");
    // If few frames are retained, all files are prepared when the channel is opened.
    for (segment, n_files) in [(1, N_SLOTS + 2), (2 * SLOT, 1 + N_SLOTS.div_ceil(2) + 1)] {
        let place = place_in_memory();
        let mut producer = open_with_long_slots(&place, Retention { count: Some(1), segment, ..ALL });
        assert_eq!(n_unnamed(&place), 2 * n_files, "files that are open and mapped");
        for step in 0..100 {
            publish(&mut producer, step).unwrap();
            assert_eq!(n_in_segments(&place), N_SLOTS.min(step as usize + 1), "after step {step}");
        }
    }
}

#[test]
fn files_are_prepared_only_if_the_limit_on_bytes_has_room_for_them() {
    let longest = 64 + SLOT;
    let retention = |n_files: u64| Retention { bytes: Some(n_files * (64 + longest)), ..ALL };
    // The limit allows the ring and two segments, but not a batch of files.
    let place = place_in_memory();
    let mut producer = open_with_long_slots(&place, retention(N_SLOTS as u64 + 2));
    assert_eq!(n_unnamed(&place), 0);
    publish(&mut producer, 0).unwrap();
    let place = place_in_memory();
    let mut producer = open_with_long_slots(&place, retention(100));
    publish_until_in_place(&mut producer, &place, 0);
    // The thread starts when there is room, and is ready when other files have taken a part of it.
    for n_files in N_SLOTS as u64 + 2..40 {
        let place = place_in_memory();
        let mut producer = open_with_long_slots(&place, retention(n_files));
        for step in 0..60 {
            publish(&mut producer, step).unwrap();
            let n_bytes: u64 = segments(&place).iter().map(|path| path.metadata().unwrap().len()).sum();
            assert!(n_bytes <= n_files * (64 + longest), "{n_bytes} bytes after step {step} with {n_files} files");
        }
    }
}

#[test]
fn files_are_prepared_after_a_restart() {
    let place = place_in_memory();
    let retention = Retention { count: Some(50), ..ALL };
    let mut producer = open_with_long_slots(&place, retention);
    (0..100).for_each(|step| assert!(publish(&mut producer, step).is_ok()));
    drop(producer);
    let mut producer = resume_with_long_slots(&place, retention, 100);
    let next = publish_slowly_until_in_place(&mut producer, &place, 100, Duration::from_millis(100));
    assert!(next < 150, "no file was reused");
}

#[test]
fn ring_has_its_frames_after_the_end_without_the_staging() {
    let place = place_in_memory();
    let mut producer = open_with_long_slots(&place, ALL);
    let next = publish_until_in_place(&mut producer, &place, 0);
    producer.end(&End::Finished).unwrap();
    std::fs::remove_dir_all(place.staging()).unwrap();
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    assert_eq!(steps(&mut consumer), (next - N_SLOTS as i64..next).collect::<Vec<_>>());
}

#[test]
fn name_that_exists_is_not_replaced() {
    let place = place_in_memory();
    let mut producer = open_with_long_slots(&place, ALL);
    let next = publish_until_in_place(&mut producer, &place, 0);
    let path = place.staging().join(format!("segment-{next:020}"));
    std::fs::write(&path, "kept").unwrap();
    assert!(publish(&mut producer, next).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"kept");
    std::fs::remove_file(&path).unwrap();
    publish(&mut producer, next).unwrap();
}

#[test]
fn consumer_maps_a_limited_number_of_bytes() {
    let place = place_in_memory();
    let mut producer = open_with_long_slots(&place, ALL);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    let mut next = 0;
    for _ in 0..30 {
        next = publish_until_in_place(&mut producer, &place, next);
        while step(&mut consumer) != Some(next - 1) {}
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let n_mapped =
        maps.lines().filter(|line| line.contains(place.staging().join("segment-").to_str().unwrap())).count();
    // The producer maps files that had no name, and its maps show none.
    assert!((1..=8).contains(&n_mapped), "{n_mapped} segments");
}

#[test]
fn forked_child_does_not_wait_for_the_thread_of_its_parent() {
    let place = place_in_memory();
    let producer = open_with_long_slots(&place, Retention { segment: 32 << 20, ..ALL });
    let begin = Instant::now();
    while n_unnamed(&place) == 0 {
        assert!(begin.elapsed() < LONG, "no file is prepared");
    }
    // SAFETY: the child drops its copy of the producer and ends at once.
    let child = unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(60);
                drop(std::ptr::read(&raw const producer));
                libc::_exit(0)
            }
            child => child,
        }
    };
    let mut status = 0;
    // SAFETY: the call writes only to the number.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    drop(producer);
    assert_eq!(n_unnamed(&place), 0);
}

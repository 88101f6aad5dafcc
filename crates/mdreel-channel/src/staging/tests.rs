mod recycling;

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::super::layout::{FrameView, Header, Section, encode, frame_len};
use super::super::ring_file::Geometry;
use super::super::section::{DataType, SectionKind};
use super::*;

/// The length of a record with a frame of `frame`, and the length of a segment's header.
const RECORD: u64 = 320;
const HEADER: u64 = PREFIX;
/// The length of a segment with two frames.
const TWO: u64 = HEADER + 2 * RECORD;

const ALL: Retention = Retention { count: None, bytes: None, age: None, segment: 10_000 };

/// Returns a frame of 256 bytes. Its section has 64 bytes with the value `byte`.
fn frame(byte: u8) -> Vec<u8> {
    frame_of(byte, 64)
}

fn frame_of(byte: u8, n_bytes: usize) -> Vec<u8> {
    numbered(byte.into(), n_bytes)
}

/// Returns a frame with `n_bytes` bytes that depend on its number.
fn numbered(sequence: u64, n_bytes: usize) -> Vec<u8> {
    let bytes = vec![(sequence % 251) as u8; n_bytes];
    let header = Header { stream: 1, epoch: 0, sequence, step: 0, time: 0.0, n_atoms: 0, cell: None };
    let section = Section { kind: SectionKind::Custom(0), data_type: DataType::Float32, bytes: &bytes };
    let mut frame = vec![0; n_bytes + 256];
    let length = encode(&header, &[section], &mut frame).unwrap();
    frame.truncate(length);
    frame
}

/// Writes a file that only the user may access.
fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

fn kept(path: &Path) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    replay(path, |frame| {
        frames.push(frame.to_vec());
        Ok(())
    })
    .unwrap();
    frames
}

#[test]
fn staging_keeps_whole_frames_wherever_the_last_write_was_cut() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, ALL).unwrap();
    let frames: Vec<Vec<u8>> = (0..3).map(frame).collect();
    for (sequence, frame) in (0..).zip(&frames) {
        assert_eq!(staging.append(sequence, frame).unwrap(), Durability::File);
    }
    drop(staging);
    let segment = path.join(name(0));
    let bytes = std::fs::read(&segment).unwrap();
    for length in 0..bytes.len() {
        put(&segment, &bytes[..length]);
        let whole = (length as u64).saturating_sub(HEADER) / RECORD;
        assert_eq!(kept(&path), frames[..whole as usize]);
        let mut staging = Staging::open(&path, Durability::Fsync, ALL).unwrap();
        assert_eq!(staging.n_frames(), whole);
        assert_eq!(staging.append(7, &frame(9)).unwrap(), Durability::Fsync);
        assert_eq!(kept(&path).len() as u64, whole + 1);
        drop(staging);
        std::fs::read_dir(&path).unwrap().flatten().for_each(|entry| std::fs::remove_file(entry.path()).unwrap());
    }
    let mut damaged = bytes;
    damaged[300] ^= 1;
    put(&segment, &damaged);
    assert!(replay(&path, |_| Ok(())).is_err(), "damage before the last frame");
    assert!(Staging::open(&path, Durability::File, ALL).is_err());
}

#[test]
fn staging_deletes_whole_segments() {
    // Returns the number of frames that stay after `n`, including those in the segment whose file is reused next, and the number
    // that stays at the end.
    let write = |retention: Retention, n: u8| {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("staging");
        let mut staging = Staging::open(&path, Durability::File, retention).unwrap();
        (0..n).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
        let frames = kept(&path);
        assert_eq!(staging.n_frames(), frames.len() as u64);
        assert!((0..n).rev().zip(frames.iter().rev()).all(|(i, kept)| *kept == frame(i)));
        staging.sync().unwrap();
        assert_eq!(staging.n_frames(), kept(&path).len() as u64);
        (frames.len() as u64, staging.n_frames())
    };
    let two = Retention { segment: TWO, ..ALL };
    assert_eq!(write(two, 9), (9, 9));
    assert_eq!(write(Retention { count: Some(3), ..two }, 9), (5, 3));
    assert_eq!(write(Retention { count: Some(4), ..two }, 9), (5, 5));
    assert_eq!(write(Retention { bytes: Some(3 * TWO - RECORD), ..two }, 9), (5, 5));
    assert_eq!(write(Retention { bytes: Some(1), ..two }, 9), (1, 1));
    let place = tempfile::tempdir().unwrap();
    let old = Retention { age: Some(Duration::from_secs(60)), ..two };
    let mut staging = Staging::open(&place.path().join("staging"), Durability::File, old).unwrap();
    (0..5u8).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    assert_eq!(staging.n_frames(), 5);
    staging.retain(Instant::now() + Duration::from_secs(100), true).unwrap();
    assert_eq!(staging.n_frames(), 1);
}

#[test]
fn age_is_what_it_was_when_staging_was_opened_whatever_the_wall_clock_says_later() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let minute = Retention { age: Some(Duration::from_secs(60)), segment: TWO, ..ALL };
    let mut staging = Staging::open(&path, Durability::File, minute).unwrap();
    (0..6u8).for_each(|i| assert!(staging.append(i.into(), &frame_of(i, 384)).is_ok()));
    let set = |first, modified| {
        let file = OpenOptions::new().write(true).open(path.join(name(first))).unwrap();
        file.set_modified(modified).unwrap();
    };
    // The writer knows the true age of the files, whatever their times say after a step of the clock.
    (0..6).for_each(|first| set(first, SystemTime::UNIX_EPOCH));
    staging.append(6, &frame_of(6, 384)).unwrap();
    assert_eq!(staging.n_frames(), 7);
    drop(staging);
    let hour = Duration::from_secs(3600);
    (0..6).for_each(|first| set(first, SystemTime::now() + hour));
    set(0, SystemTime::now() - hour);
    let mut staging = Staging::open(&path, Durability::File, minute).unwrap();
    staging.append(7, &frame_of(7, 384)).unwrap();
    assert_eq!(staging.n_frames(), 7, "the oldest alone is an hour old");
    staging.retain(Instant::now() + Duration::from_secs(70), true).unwrap();
    assert_eq!(staging.n_frames(), 1, "those of the future are a minute old");
}

#[test]
fn all_segments_are_on_disk_once_that_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let two = Retention { segment: TWO, ..ALL };
    let on_disk = |staging: &Staging| staging.segments.iter().map(|kept| kept.is_on_disk).collect::<Vec<_>>();
    let mut staging = Staging::open(&path, Durability::File, two).unwrap();
    (0..5).for_each(|i| assert!(staging.append(i, &frame(0)).is_ok()));
    assert_eq!(on_disk(&staging), [false; 3], "nobody waits for the disk where a segment is full");
    staging.sync().unwrap();
    assert_eq!(on_disk(&staging), [true; 3]);
    staging.append(5, &frame(0)).unwrap();
    std::fs::remove_file(path.join(name(4))).unwrap();
    staging.sync().unwrap();
    assert_eq!(on_disk(&staging), [true; 3]);
    drop(staging);
    let mut staging = Staging::open(&path, Durability::Fsync, two).unwrap();
    staging.append(6, &frame(0)).unwrap();
    assert_eq!(on_disk(&staging), [false, false, true], "who opened it cannot know of what was there");
}

#[test]
fn staging_without_a_level_of_its_own_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::Ring, ALL).unwrap();
    assert_eq!(staging.append(0, &frame(1)).unwrap(), Durability::Ring);
    assert!(kept(&path).is_empty());
}

#[test]
fn staging_has_one_writer() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let staging = Staging::open(&path, Durability::File, ALL).unwrap();
    assert!(matches!(Staging::open(&path, Durability::File, ALL), Err(Error::Stream(_))));
    drop(staging);
    Staging::open(&path, Durability::File, ALL).unwrap();
}

#[test]
fn staging_goes_on_in_another_segment_when_a_write_has_failed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, ALL).unwrap();
    staging.append(0, &frame(1)).unwrap();
    // A file that cannot be written to stands for a full disk.
    staging.file.as_mut().unwrap().replace_file(File::open(path.join(name(0))).unwrap());
    assert!(staging.append(1, &frame(2)).is_err());
    staging.append(1, &frame(3)).unwrap();
    assert_eq!(kept(&path), [frame(1), frame(3)]);
    assert_eq!(staging.n_frames(), 2);
}

#[test]
fn frame_is_the_same_whether_a_mapping_or_a_system_call_writes_it() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = place.path().join("staging");
    let mut staging =
        Staging::open(&path, Durability::File, Retention { count: Some(1), segment: 2 << 20, ..ALL }).unwrap();
    staging.allow_in_place(Geometry { n_slots: 4, slot_len: 132 << 10 });
    let bytes: Vec<_> = [4, 64, 100, 129_872].map(|length| vec![length as u8; length]).into();
    let (kind, data_type) = (SectionKind::Custom(0), DataType::Float32);
    let sections: Vec<_> = bytes.iter().map(|bytes| Section { kind, data_type, bytes }).collect();
    let length = frame_len(sections.iter().map(|section| section.bytes.len())).unwrap();
    let mut expected = Vec::new();
    for sequence in 0..8 {
        let header = Header { stream: 1, epoch: 0, sequence, step: 0, time: 0.0, n_atoms: 0, cell: None };
        // The file of the newest segment counts as old for every other frame.
        let mapped = staging.segments.back_mut().and_then(|last| last.mapped.as_mut());
        assert_eq!(mapped.is_some(), sequence > 0);
        if let Some(mapped) = mapped {
            mapped.note_age(Duration::from_secs(60 * (sequence % 2)));
            assert_eq!(mapped.is_clean, sequence % 2 == 1);
        }
        assert!(staging.write_in_place(&header, &sections, length).unwrap().is_some(), "frame {sequence}");
        let mut frame = vec![0xa5; length];
        assert_eq!(encode(&header, &sections, &mut frame).unwrap(), length);
        expected.push(frame);
    }
    assert_eq!(kept(&path), expected);
}

#[test]
fn staging_with_prepared_files_goes_on_and_unmaps_them_when_writes_have_failed() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, ALL).unwrap();
    staging.allow_in_place(Geometry { n_slots: 4, slot_len: 128 << 10 });
    let begin = Instant::now();
    let mut written = Vec::new();
    for _ in 0..5 {
        loop {
            let (sequence, bytes) = (written.len() as u64, numbered(written.len() as u64, 64));
            let view = FrameView::decode(&path, &bytes).unwrap();
            let sections: Vec<_> = view.sections().collect();
            let outcome = staging.write_in_place(&view.header, &sections, bytes.len()).unwrap();
            if outcome.is_none() {
                staging.append(sequence, &bytes).unwrap();
            }
            written.push(bytes);
            assert!(begin.elapsed() < Duration::from_secs(20), "frames are not written in place");
            if outcome.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let newest = staging.segments.back().unwrap().first;
        staging.file.as_mut().unwrap().replace_file(File::open(path.join(name(newest))).unwrap());
        assert!(staging.append(written.len() as u64, &frame(0)).is_err());
    }
    assert_eq!(kept(&path), written);
    let n_mapped: u64 = staging.segments.iter().flat_map(|kept| &kept.mapped).map(|it| it.memory.len() as u64).sum();
    assert_eq!(staging.n_mapped, n_mapped);
    assert_eq!(staging.segments.iter().filter(|kept| kept.mapped.is_some()).count(), 1, "only the newest");
}

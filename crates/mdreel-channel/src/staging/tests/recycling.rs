//! Tests of files that are reused for later segments. Readers see the old content unchanged, or not at all.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;

use super::super::super::layout::FrameView;
use super::super::reader::StagedFrames;
use super::*;

const ONE: Retention = Retention { count: Some(1), bytes: None, age: None, segment: 1 };

fn inode(path: &Path, first: u64) -> u64 {
    path.join(name(first)).metadata().unwrap().ino()
}

fn files(path: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(|name| name != "lock").collect()
}

fn names(firsts: &[u64]) -> BTreeSet<String> {
    firsts.iter().map(|first| name(*first)).collect()
}

#[test]
fn file_of_deleted_frames_is_that_of_the_next_segment() {
    for level in [Durability::File, Durability::Fsync] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("staging");
        let mut staging = Staging::open(&path, level, ONE).unwrap();
        let mut inodes = BTreeSet::new();
        for i in 0..10 {
            staging.append(i.into(), &frame(i)).unwrap();
            inodes.insert(inode(&path, i.into()));
            // The previous segment stays until the next one reuses its file.
            let firsts: Vec<u64> = (i.saturating_sub(1)..=i).map(u64::from).collect();
            assert_eq!(kept(&path), (i.saturating_sub(1)..=i).map(frame).collect::<Vec<_>>());
            assert_eq!(files(&path), names(&firsts));
        }
        assert_eq!(inodes.len(), 2);
        staging.sync().unwrap();
        assert_eq!(files(&path), names(&[9]), "a producer that ends leaves only what retention requires");
    }
}

#[test]
fn frames_of_another_length_follow_in_a_file_that_had_longer_or_shorter_ones() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, Retention { segment: 2000, ..ONE }).unwrap();
    let lengths = [2000, 64, 64, 640, 3000, 64, 128, 64, 1000, 64, 64, 64, 64, 64, 5000, 64];
    let frames: Vec<_> = (0..).zip(lengths).map(|(i, length)| frame_of(i, length)).collect();
    for (i, frame) in (0..).zip(&frames) {
        staging.append(i, frame).unwrap();
        let found = kept(&path);
        assert_eq!(found.len() as u64, staging.n_frames());
        assert_eq!(found, frames[i as usize + 1 - found.len()..=i as usize], "after frame {i}");
    }
    drop(staging);
    let n_frames = kept(&path).len();
    assert_eq!(Staging::open(&path, Durability::File, ONE).unwrap().n_frames(), n_frames as u64);
}

#[test]
fn files_become_others_within_the_bytes_that_may_stay() {
    // With few segments, as many frames stay as possible; with many, one segment less.
    for (bytes, n_least, n_files) in [(3 * TWO, 5, None), (5 * TWO, 7, Some(5)), (8 * TWO + RECORD, 13, Some(8))] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("staging");
        let retention = Retention { count: None, bytes: Some(bytes), age: None, segment: TWO };
        let mut staging = Staging::open(&path, Durability::File, retention).unwrap();
        let mut inodes = BTreeSet::new();
        for i in 0..60 {
            staging.append(i.into(), &frame(i)).unwrap();
            let lengths = files(&path).iter().map(|name| path.join(name).metadata().unwrap().len()).sum::<u64>();
            assert!(lengths <= bytes, "{lengths} bytes after frame {i}");
            let n_kept = kept(&path).len();
            assert!(usize::from(i) < n_least || n_kept >= n_least, "{n_kept} of {bytes} bytes after frame {i}");
            inodes.insert(inode(&path, (i - i % 2).into()));
        }
        assert!(n_files.is_none_or(|n_files| inodes.len() == n_files), "{} files for {bytes} bytes", inodes.len());
    }
}

#[test]
fn process_killed_in_the_middle_of_a_frame_leaves_the_frames_before_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let two = Retention { segment: TWO, ..ONE };
    let mut staging = Staging::open(&path, Durability::File, two).unwrap();
    (0..5).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    drop(staging);
    let (segment, new) = (path.join(name(4)), frame(5));
    let begun = std::fs::read(&segment).unwrap();
    assert_eq!(begun.len() as u64, TWO, "frame 1 is behind frame 4 in its file");
    let at = (HEADER + RECORD) as usize;
    for n_written in 0..=new.len() {
        let mut torn = begun.clone();
        torn[at + PREFIX as usize..][..n_written].copy_from_slice(&new[..n_written]);
        put(&segment, &torn);
        assert_eq!(kept(&path).last(), Some(&frame(4)));
        if n_written % 50 == 0 {
            let mut staging = Staging::open(&path, Durability::File, two).unwrap();
            assert_eq!(staging.take_last(), Some(frame(4)));
            staging.append(5, &new).unwrap();
            assert_eq!(kept(&path).last(), Some(&new));
        }
    }
}

#[test]
fn process_killed_while_a_file_becomes_another_segment_leaves_the_frames_before_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, ONE).unwrap();
    (0..3).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    drop(staging);
    assert_eq!(files(&path), names(&[1, 2]));
    // First, the file has the name of the next segment and the content of the old one. Then it has the new frame, before the header
    // and the prefix are written.
    std::fs::rename(path.join(name(1)), path.join(name(3))).unwrap();
    for has_frame in [false, true] {
        if has_frame {
            let file = OpenOptions::new().write(true).open(path.join(name(3))).unwrap();
            file.write_all_at(&frame(3), HEADER + PREFIX).unwrap();
        }
        assert_eq!(files(&path), names(&[2, 3]));
        assert_eq!(kept(&path), [frame(2)]);
        let mut reader = StagedFrames::open(&path).unwrap();
        assert!(reader.read(3).unwrap().is_none());
    }
    let mut reader = StagedFrames::open(&path).unwrap();
    assert!(reader.read(3).unwrap().is_none());
    let mut staging = Staging::open(&path, Durability::File, ONE).unwrap();
    assert_eq!(files(&path), names(&[2]));
    staging.append(3, &frame(3)).unwrap();
    assert_eq!(kept(&path), [frame(2), frame(3)]);
    assert_eq!(reader.read(3).unwrap().unwrap().sequence, 3, "the segment of this name is another file now");
}

#[test]
fn reader_that_has_seen_the_old_header_finds_the_frames_of_the_new_segment() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, ONE).unwrap();
    (0..3).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    // This is the state in the middle of `reuse`.
    std::fs::rename(path.join(name(1)), path.join(name(3))).unwrap();
    let mut reader = StagedFrames::open(&path).unwrap();
    assert!(reader.read(3).unwrap().is_none());
    let mut segment = Segment::open(&Directory::open(&path).unwrap(), 3).unwrap().unwrap();
    assert!(segment.pass().unwrap().is_none());
    std::fs::rename(path.join(name(3)), path.join(name(1))).unwrap();
    staging.append(3, &frame(3)).unwrap();
    assert_eq!(reader.read(3).unwrap().unwrap().sequence, 3);
    assert_eq!(segment.pass().unwrap().unwrap().sequence, 3);
}

#[test]
fn crash_of_the_machine_that_keeps_a_name_without_its_bytes_leaves_the_frames_before_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::Fsync, ONE).unwrap();
    (0..3).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    drop(staging);
    let old = std::fs::read(path.join(name(1))).unwrap();
    std::fs::remove_file(path.join(name(1))).unwrap();
    // The disk may have the bytes of an older segment, zeros, or nothing.
    for bytes in [old, vec![0; 1000], Vec::new()] {
        put(&path.join(name(3)), &bytes);
        assert_eq!(kept(&path), [frame(2)]);
        let staging = Staging::open(&path, Durability::Fsync, ONE).unwrap();
        assert_eq!((staging.n_frames(), files(&path)), (1, names(&[2])));
    }
}

#[test]
fn reader_of_a_file_that_becomes_another_segment_finds_no_frame_there() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let two = Retention { segment: TWO, ..ONE };
    let mut staging = Staging::open(&path, Durability::File, two).unwrap();
    (0..4).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    let mut reader = StagedFrames::open(&path).unwrap();
    assert_eq!(reader.read(2).unwrap().unwrap().sequence, 2);
    let mut old = Segment::open(&Directory::open(&path).unwrap(), 2).unwrap().unwrap();
    let (mut bytes, inode_before) = (Vec::new(), inode(&path, 2));
    (4..8).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    assert_eq!(inode(&path, 6), inode_before);
    assert!(old.read(&mut bytes).unwrap().is_none() && old.pass().unwrap().is_none());
    assert_eq!(reader.read(3).unwrap().unwrap().sequence, 4, "frame 3 was deleted");
    assert_eq!(reader.frame(), frame(4));
    // The prefix is still there while the frame is being overwritten, so that half of the frame belongs to another one.
    let mut old = Segment::open(&Directory::open(&path).unwrap(), 6).unwrap().unwrap();
    std::fs::rename(path.join(name(6)), path.join("spare")).unwrap();
    let spare = OpenOptions::new().write(true).open(path.join("spare")).unwrap();
    spare.write_all_at(&[99; 20], HEADER + 300).unwrap();
    assert!(old.read(&mut bytes).unwrap().is_none(), "it is no damaged frame");
}

#[test]
fn reader_sees_whole_frames_while_their_files_are_written_anew() {
    const LENGTH: usize = 20_000;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let two = Retention { segment: 30_000, ..ONE };
    let mut staging = Staging::open(&path, Durability::File, two).unwrap();
    staging.append(0, &numbered(0, LENGTH)).unwrap();
    let mut frames = StagedFrames::open(&path).unwrap();
    let reader = thread::spawn(move || {
        let (mut next, mut n_seen) = (0, 0);
        while next < 600 {
            let Some(header) = frames.read(next).unwrap() else { continue };
            let view = FrameView::decode(Path::new("frame"), frames.frame()).unwrap();
            view.verify(Path::new("frame")).unwrap();
            let byte = (header.sequence % 251) as u8;
            assert!(header.sequence >= next && view.sections().all(|section| section.bytes == [byte; LENGTH]));
            (next, n_seen) = (header.sequence + 1, n_seen + 1);
        }
        n_seen
    });
    (1..=600).for_each(|i| assert!(staging.append(i, &numbered(i, LENGTH)).is_ok()));
    assert!(reader.join().unwrap() > 0);
}

#[test]
fn file_with_a_second_name_is_not_written_anew() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::File, ONE).unwrap();
    staging.append(0, &frame(0)).unwrap();
    let copy = place.path().join("copy");
    std::fs::hard_link(path.join(name(0)), &copy).unwrap();
    let before = std::fs::read(&copy).unwrap();
    (1..4).for_each(|i| assert!(staging.append(i.into(), &frame(i)).is_ok()));
    assert_eq!(std::fs::read(&copy).unwrap(), before);
}

#[test]
fn segment_of_another_version_is_refused_and_stays() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    drop(Staging::open(&path, Durability::File, ONE).unwrap());
    // The first version wrote the length of a frame, its number and a checksum.
    let old = [256u64.to_le_bytes(), 0u64.to_le_bytes(), 77u64.to_le_bytes()].concat();
    let old = [old, frame(0)].concat();
    put(&path.join(name(0)), &old);
    let error = Staging::open(&path, Durability::File, ONE).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert!(replay(&path, |_| Ok(())).is_err());
    assert_eq!(std::fs::read(path.join(name(0))).unwrap(), old);
}

use super::*;

const ALL: Retention = Retention { count: None, bytes: None, age: None, segment: 1000 };

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
    let frames: Vec<Vec<u8>> = (0..3).map(|i| vec![i + 1; 40]).collect();
    for (sequence, frame) in (0..).zip(&frames) {
        assert_eq!(staging.append(sequence, frame).unwrap(), Durability::File);
    }
    drop(staging);
    let segment = path.join(name(0));
    let bytes = std::fs::read(&segment).unwrap();
    for length in 0..bytes.len() {
        std::fs::write(&segment, &bytes[..length]).unwrap();
        let whole = length / 64;
        assert_eq!(kept(&path), frames[..whole]);
        let mut staging = Staging::open(&path, Durability::Fsync, ALL).unwrap();
        assert_eq!(staging.n_frames(), whole as u64);
        assert_eq!(staging.append(7, &[9; 7]).unwrap(), Durability::Fsync);
        assert_eq!(kept(&path).len(), whole + 1);
    }
    std::fs::write(&segment, &bytes).unwrap();
    let mut damaged = bytes;
    damaged[80] ^= 1;
    std::fs::write(&segment, &damaged).unwrap();
    assert!(replay(&path, |_| Ok(())).is_err(), "damage before the last frame");
    assert!(Staging::open(&path, Durability::File, ALL).is_err());
}

#[test]
fn staging_deletes_whole_segments() {
    let write = |retention: Retention, n: u8| {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("staging");
        let mut staging = Staging::open(&path, Durability::File, retention).unwrap();
        (0..n).for_each(|i| assert!(staging.append(i.into(), &[i; 76]).is_ok()));
        let frames = kept(&path);
        assert_eq!(staging.n_frames(), frames.len() as u64);
        assert!((0..n).rev().zip(frames.iter().rev()).all(|(i, frame)| *frame == [i; 76]));
        frames.len()
    };
    let two = Retention { segment: 200, ..ALL };
    assert_eq!(write(two, 9), 9);
    assert_eq!(write(Retention { count: Some(3), ..two }, 9), 3);
    assert_eq!(write(Retention { count: Some(4), ..two }, 9), 5);
    assert_eq!(write(Retention { bytes: Some(500), ..two }, 9), 5);
    assert_eq!(write(Retention { bytes: Some(1), ..two }, 9), 1);
    let place = tempfile::tempdir().unwrap();
    let old = Retention { age: Some(Duration::from_secs(60)), ..two };
    let mut staging = Staging::open(&place.path().join("staging"), Durability::File, old).unwrap();
    (0..5u8).for_each(|i| assert!(staging.append(i.into(), &[i; 76]).is_ok()));
    assert_eq!(staging.n_frames(), 5);
    staging.retain(Instant::now() + Duration::from_secs(100)).unwrap();
    assert_eq!(staging.n_frames(), 1);
}

#[test]
fn age_is_what_it_was_when_staging_was_opened_whatever_the_wall_clock_says_later() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let minute = Retention { age: Some(Duration::from_secs(60)), segment: 200, ..ALL };
    let mut staging = Staging::open(&path, Durability::File, minute).unwrap();
    (0..6u8).for_each(|i| assert!(staging.append(i.into(), &[i; 176]).is_ok()));
    let set = |first, modified| {
        let file = OpenOptions::new().write(true).open(path.join(name(first))).unwrap();
        file.set_modified(modified).unwrap();
    };
    // To the writer the files are as old as they are, whatever their times say after a step of the clock.
    (0..6).for_each(|first| set(first, SystemTime::UNIX_EPOCH));
    staging.append(6, &[6; 176]).unwrap();
    assert_eq!(staging.n_frames(), 7);
    drop(staging);
    let hour = Duration::from_secs(3600);
    (0..6).for_each(|first| set(first, SystemTime::now() + hour));
    set(0, SystemTime::now() - hour);
    let mut staging = Staging::open(&path, Durability::File, minute).unwrap();
    staging.append(7, &[7; 176]).unwrap();
    assert_eq!(staging.n_frames(), 7, "the oldest alone is an hour old");
    staging.retain(Instant::now() + Duration::from_secs(70)).unwrap();
    assert_eq!(staging.n_frames(), 1, "those of the future are a minute old");
}

#[test]
fn all_segments_are_on_disk_once_that_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let two = Retention { segment: 200, ..ALL };
    let on_disk = |staging: &Staging| staging.segments.iter().map(|kept| kept.is_on_disk).collect::<Vec<_>>();
    let mut staging = Staging::open(&path, Durability::File, two).unwrap();
    (0..5).for_each(|i| assert!(staging.append(i, &[0; 76]).is_ok()));
    assert_eq!(on_disk(&staging), [false; 3], "nobody waits for the disk where a segment is full");
    staging.sync().unwrap();
    assert_eq!(on_disk(&staging), [true; 3]);
    staging.append(5, &[0; 76]).unwrap();
    std::fs::remove_file(path.join(name(4))).unwrap();
    staging.sync().unwrap();
    assert_eq!(on_disk(&staging), [true; 3]);
    drop(staging);
    let mut staging = Staging::open(&path, Durability::Fsync, two).unwrap();
    staging.append(6, &[0; 76]).unwrap();
    assert_eq!(on_disk(&staging), [false, false, true], "who opened it cannot know of what was there");
}

#[test]
fn staging_without_a_level_of_its_own_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("staging");
    let mut staging = Staging::open(&path, Durability::Ring, ALL).unwrap();
    assert_eq!(staging.append(0, &[1; 10]).unwrap(), Durability::Ring);
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
    staging.append(0, &[1; 40]).unwrap();
    // A file that cannot be written to stands for a disk that is full.
    staging.file = Some(File::open(path.join(name(0))).unwrap());
    assert!(staging.append(1, &[2; 40]).is_err());
    staging.append(1, &[3; 40]).unwrap();
    assert_eq!(kept(&path), [[1; 40], [3; 40]]);
    assert_eq!(staging.n_frames(), 2);
}

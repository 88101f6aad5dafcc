//! The frame index of a file that has grown or was rewritten in place.

use std::fs::{self, OpenOptions};
use std::io::Write;

use mdreel_core::source::frame_index::{FrameIndex, Keep, SAMPLE};
use mdreel_core::source::{Source, SourceExt};

use crate::indexed_file::{Trajectory, changed};
use crate::xtc_oracle::decode_file;
use crate::xtc_stream::{Coverage, Dice, random_file};

#[test]
fn an_index_is_given_up_when_the_middle_has_changed_under_the_same_size_time_and_ends() {
    let trajectory = Trajectory::new(60);
    trajectory.times();
    let frames = decode_file(&trajectory.bytes).expect("a valid stream");
    let middle = frames[30].start as u64;
    assert!(
        middle > 8192 && middle + 8192 < trajectory.bytes.len() as u64,
        "not among the bytes of which there is a sum"
    );
    let mut expected = trajectory.true_times();
    // The time follows the magic number, the number of atoms and the step.
    trajectory.write_over(middle + 12, &123.5f32.to_be_bytes());
    expected[30] = 123.5;
    assert!(trajectory.open().unlocated_bytes().is_some());
    assert_eq!(trajectory.times(), expected);
    // The file now has an index of its new content.
    assert_eq!(trajectory.open().unlocated_bytes(), None);
    assert_eq!(trajectory.times(), expected);
}

#[test]
fn an_index_is_made_anew_when_only_the_change_time_is_another() {
    let trajectory = Trajectory::new(9);
    trajectory.times();
    trajectory.doctor_index();
    let same = trajectory.bytes[0];
    trajectory.write_over(0, &[same]);
    assert_eq!(trajectory.times(), trajectory.true_times());
}

#[test]
fn an_index_is_given_up_when_an_older_frame_has_changed_while_the_file_has_grown() {
    let mut trajectory = Trajectory::new(60);
    trajectory.times();
    let more = random_file(&mut Dice::new(&[4]), 100, 3, &mut Coverage::default());
    let mut file = OpenOptions::new().append(true).open(trajectory.path()).expect("our own file");
    file.write_all(&more).expect("room for a small file");
    let middle = decode_file(&trajectory.bytes).expect("a valid stream")[30].start;
    trajectory.bytes[middle + 12..middle + 16].copy_from_slice(&123.5f32.to_be_bytes());
    trajectory.bytes.extend(&more);
    fs::write(trajectory.path(), &trajectory.bytes).expect("room for a small file");
    assert_eq!(trajectory.times(), trajectory.true_times());
    assert_eq!(trajectory.times()[30], 123.5);
}

#[test]
fn an_index_is_not_believed_when_the_file_was_written_to_before_it_was_kept() {
    let trajectory = Trajectory::new(60);
    trajectory.times();
    let file = trajectory.file();
    let index = FrameIndex::load(&file, Keep::Beside).expect("an index");
    let middle = decode_file(&trajectory.bytes).expect("a valid stream")[30].start as u64;
    // The index contains the frames of the file that was opened before.
    trajectory.write_over(middle + 12, &123.5f32.to_be_bytes());
    index.save(&file, Keep::Beside).expect("room for a small file");
    assert_eq!(FrameIndex::load(&trajectory.file(), Keep::Beside), None);
    assert_eq!(trajectory.times()[30], 123.5);
}

#[test]
fn an_index_is_extended_from_its_end_when_the_file_has_grown() {
    // There are more frames than the check samples. If the doctored times of the others appear, the reader has not read
    // all frames again.
    let mut trajectory = Trajectory::of_atoms(3, 2 * SAMPLE);
    trajectory.times();
    let file = trajectory.file();
    let index = FrameIndex::load(&file, Keep::Beside).expect("an index");
    let index = changed(&index, |frames| frames[1].time += 1e6);
    index.save(&file, Keep::Beside).expect("room for a small file");
    let doctored: Vec<_> = index.frames().map(|frame| frame.time).collect();
    let n_frames = doctored.len();
    let more = random_file(&mut Dice::new(&[4]), 3, 3, &mut Coverage::default());
    let mut torn = more.clone();
    torn.extend_from_slice(&trajectory.bytes[..50]);
    let mut file = OpenOptions::new().append(true).open(trajectory.path()).expect("our own file");
    file.write_all(&torn).expect("room for a small file");
    trajectory.bytes.extend(&more);
    // Old frames show the doctored times, because the reader has not read them again. New frames show their own times.
    let mut grown = doctored.clone();
    grown.extend(&trajectory.true_times()[n_frames..]);
    let xtc = trajectory.open();
    assert_eq!(xtc.times().expect("located"), grown);
    xtc.check_end().expect_err("a torn frame");
    // The rest of the torn frame arrives.
    file.write_all(&trajectory.bytes[50..decode_file(&trajectory.bytes).expect("valid")[0].end]).expect("room");
    let xtc = trajectory.open();
    assert_eq!(xtc.n_frames().expect("located"), n_frames as u64 + 4);
    assert_eq!(xtc.times().expect("located")[..n_frames + 3], grown);
    xtc.check_end().expect("whole frames");
}

#[test]
fn an_index_is_given_up_when_the_file_has_grown_and_is_another() {
    let trajectory = Trajectory::new(9);
    trajectory.times();
    trajectory.doctor_index();
    let other = random_file(&mut Dice::new(&[9]), 90, 30, &mut Coverage::default());
    assert!(other.len() > trajectory.bytes.len());
    fs::write(trajectory.path(), &other).expect("room for a small file");
    let times: Vec<_> = decode_file(&other).expect("valid").iter().map(|frame| f64::from(frame.time)).collect();
    assert_eq!(trajectory.times(), times);
}

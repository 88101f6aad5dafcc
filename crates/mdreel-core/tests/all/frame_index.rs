//! The frame index: saved, loaded again, and discarded if it no longer matches the data.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Barrier;
use std::time::Instant;

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::error::Error;
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::{FrameIndex, Keep};
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use mdreel_core::span::Recorder;

use crate::alone;
use crate::indexed_file::{Trajectory, changed, names};
use crate::xtc_oracle::decode_file;

/// The environment variable that names the file that a child process of a test opens.
const CHILD_FILE: &str = "MDREEL_TEST_FILE";

#[test]
fn an_index_comes_back_as_it_was_kept() {
    let trajectory = Trajectory::new(9);
    let file = trajectory.file();
    assert_eq!(FrameIndex::load(&file, Keep::Beside), None);
    let times = trajectory.times();
    assert_eq!(times, trajectory.true_times());
    let index = FrameIndex::load(&file, Keep::Beside).expect("an index");
    let frames = decode_file(&trajectory.bytes).expect("a valid stream");
    assert_eq!(index.end, trajectory.bytes.len() as u64);
    assert_eq!(index.len(), 9);
    for (i, (location, frame)) in index.frames().zip(&frames).enumerate() {
        assert_eq!((location.offset, location.step), (frame.start as u64, i64::from(frame.step)));
        assert_eq!(location.time, f64::from(frame.time));
        assert_eq!(index.range(i), Some(frame.start as u64..frame.end as u64));
    }
    index.save(&file, Keep::Beside).expect("room for a small file");
    assert_eq!(FrameIndex::load(&file, Keep::Beside), Some(index));
    assert_eq!(trajectory.names(), [".run.xtc.mdreel-index", "run.xtc"]);
}

#[test]
fn an_index_is_used_when_nothing_has_changed() {
    let trajectory = Trajectory::new(9);
    trajectory.times();
    let doctored = trajectory.doctor_index();
    let xtc = trajectory.open();
    assert_eq!(xtc.unlocated_bytes(), None);
    assert_eq!(xtc.times().expect("located"), doctored);
}

#[test]
fn an_index_is_given_up_when_the_file_was_modified() {
    let trajectory = Trajectory::new(9);
    trajectory.times();
    trajectory.doctor_index();
    trajectory.set_modified(trajectory.modified() + std::time::Duration::from_nanos(1000));
    assert!(trajectory.open().unlocated_bytes().is_some());
    assert_eq!(trajectory.times(), trajectory.true_times());
}

#[test]
fn an_index_is_given_up_when_the_file_has_shrunk() {
    let trajectory = Trajectory::new(9);
    trajectory.times();
    trajectory.doctor_index();
    let end = decode_file(&trajectory.bytes).expect("a valid stream")[4].end;
    let modified = trajectory.modified();
    OpenOptions::new().write(true).open(trajectory.path()).and_then(|file| file.set_len(end as u64)).expect("our own");
    trajectory.set_modified(modified);
    assert_eq!(trajectory.times(), trajectory.true_times()[..5]);
}

#[test]
fn an_index_is_given_up_when_either_end_has_changed_under_the_same_size_and_time() {
    for at_end in [false, true] {
        let trajectory = Trajectory::new(9);
        trajectory.times();
        trajectory.doctor_index();
        let modified = trajectory.modified();
        let mut file = OpenOptions::new().write(true).open(trajectory.path()).expect("our own file");
        let last = decode_file(&trajectory.bytes).expect("a valid stream")[8].start;
        let step = if at_end { last as u64 + 8 } else { 8 };
        file.seek(SeekFrom::Start(step)).and_then(|_| file.write_all(&[0, 0, 0, 77])).expect("our own file");
        trajectory.set_modified(modified);
        assert_eq!(trajectory.times(), trajectory.true_times());
        let index = FrameIndex::load(&trajectory.file(), Keep::Beside).expect("a new index");
        assert_eq!(index.get(if at_end { 8 } else { 0 }).expect("nine frames").step, 77);
    }
}

#[test]
fn a_damaged_index_is_made_anew() {
    let trajectory = Trajectory::new(5);
    trajectory.times();
    let good = fs::read(trajectory.index_path()).expect("an index");
    let check = |damaged: &[u8], what: &str| {
        fs::write(trajectory.index_path(), damaged).expect("our own file");
        assert_eq!(FrameIndex::load(&trajectory.file(), Keep::Beside), None, "{what}");
    };
    for len in 0..good.len() {
        check(&good[..len], &format!("cut to {len} bytes"));
    }
    for bit in 0..8 * good.len() {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&flipped, &format!("bit {bit}"));
    }
    check(&[good.as_slice(), b"x"].concat(), "longer");
    check(&vec![0xff; good.len()], "filled with ones");
    assert_eq!(trajectory.times(), trajectory.true_times());
    assert_eq!(fs::read(trajectory.index_path()).expect("a new index"), good);
}

#[test]
fn an_index_whose_frames_are_not_in_order_is_made_anew() {
    let trajectory = Trajectory::new(5);
    trajectory.times();
    let file = trajectory.file();
    let good = FrameIndex::load(&file, Keep::Beside).expect("an index");
    let swapped = changed(&good, |frames| frames.swap(1, 2));
    let behind = changed(&good, |frames| frames[4].offset = good.end);
    for index in [swapped, behind] {
        index.save(&file, Keep::Beside).expect("room for a small file");
        assert_eq!(FrameIndex::load(&file, Keep::Beside), None);
        assert_eq!(trajectory.times(), trajectory.true_times());
    }
}

#[test]
fn an_index_that_does_not_fit_its_frames_is_an_error_at_the_frame() {
    // The middle of a file can change while its size, modification time and ends stay the same.
    for n_atoms in [5, 100] {
        let trajectory = Trajectory::of_atoms(n_atoms, 9);
        trajectory.times();
        let file = trajectory.file();
        let index = FrameIndex::load(&file, Keep::Beside).expect("an index");
        let index = changed(&index, |frames| frames[5].offset -= 8);
        index.save(&file, Keep::Beside).expect("room for a small file");
        let xtc = trajectory.open();
        let atoms = AtomSelection::all(n_atoms);
        for frame in [4, 5] {
            let mut reader = xtc.reader(&atoms, Quantities::POSITIONS).expect("all atoms");
            reader.start(&Extent::Frames(FrameSet::List([frame].into()))).expect("located");
            let mut recorder = Recorder::new(Instant::now(), 0);
            let error = reader.read(&mut FrameBatch::for_atoms(n_atoms), &mut recorder).expect_err("no such frame");
            let Error::Format { place, .. } = &error else { panic!("{error}") };
            assert_eq!(
                (place.frame, place.byte),
                (Some(frame), index.get(frame as usize).map(|frame| frame.offset)),
                "{error}"
            );
        }
    }
}

#[test]
fn an_index_that_cannot_be_kept_is_no_error() {
    let trajectory = Trajectory::new(5);
    fs::create_dir(trajectory.index_path()).expect("a directory in its place");
    assert_eq!(trajectory.times(), trajectory.true_times());
    assert_eq!(trajectory.names(), [".run.xtc.mdreel-index", "run.xtc"]);
    let read_only = Trajectory::new(5);
    fs::set_permissions(read_only.directory.path(), Permissions::from_mode(0o555)).expect("our own directory");
    assert_eq!(read_only.times(), read_only.true_times());
    fs::set_permissions(read_only.directory.path(), Permissions::from_mode(0o755)).expect("our own directory");
    // A user with unlimited permissions has saved the index, and others have not. In both cases, no partial file
    // remains.
    assert!(read_only.names().iter().all(|name| !name.ends_with(".part")));
}

#[test]
fn threads_that_open_the_same_new_file_do_not_race() {
    let trajectory = Trajectory::new(40);
    let barrier = Barrier::new(16);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..20 {
                    assert_eq!(trajectory.times(), trajectory.true_times());
                    let _ = fs::remove_file(trajectory.index_path());
                }
            });
        }
    });
    assert_eq!(trajectory.times(), trajectory.true_times());
    assert_eq!(trajectory.names(), [".run.xtc.mdreel-index", "run.xtc"]);
}

/// Starts this test program again, to open a file in a separate process.
fn child(file: &Path, cache: &Path) -> Child {
    alone(module_path!(), "child_opens_a_file")
        .arg("--ignored")
        .env("MDREEL_CACHE_DIR", cache)
        .env(CHILD_FILE, file)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn child_opens_a_file() {
    let path = PathBuf::from(std::env::var_os(CHILD_FILE).expect("named by the parent"));
    for _ in 0..20 {
        let xtc =
            Xtc::open(FileBytes::open(&path, Access::Auto).expect("it is there"), Keep::Cache).expect("a valid file");
        assert_eq!(xtc.n_frames().expect("located"), 40);
        assert!(xtc.times().expect("located").iter().all(|time| time.is_finite()));
    }
}

#[test]
fn processes_that_open_the_same_new_file_do_not_race() {
    let trajectory = Trajectory::new(40);
    let cache = tempfile::tempdir().expect("a temporary directory");
    let cache_path = cache.path().join("made/when/needed");
    let children: Vec<_> = (0..8).map(|_| child(&trajectory.path(), &cache_path)).collect();
    for mut child in children {
        assert!(child.wait().expect("our own child").success());
    }
    let kept = names(&cache_path.join("index"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].starts_with("run.xtc.") && kept[0].ends_with(".index"), "{kept:?}");
    assert_eq!(trajectory.names(), ["run.xtc"]);
}

#[test]
fn a_cache_directory_that_cannot_be_made_is_no_error() {
    let trajectory = Trajectory::new(40);
    let file = trajectory.directory.path().join("a file");
    File::create(&file).expect("our own directory");
    assert!(child(&trajectory.path(), &file.join("below")).wait().expect("our own child").success());
    assert_eq!(trajectory.names(), ["a file", "run.xtc"]);
}

//! The frame index: kept, found again, extended, and given up when it does not belong to the data any more.

#[allow(dead_code, reason = "shared with the tests of XTC, which use the rest")]
#[path = "support/xtc_oracle.rs"]
mod xtc_oracle;
#[allow(dead_code, reason = "shared with the tests of XTC, which use the rest")]
#[path = "support/xtc_stream.rs"]
mod xtc_stream;

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Barrier;
use std::time::Instant;

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::error::Error;
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::{FrameIndex, Keep, SAMPLE, place};
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{AtomSelection, FrameLocation, Source};
use mdreel_core::span::Recorder;
use tempfile::TempDir;
use xtc_oracle::decode_file;
use xtc_stream::{Coverage, Dice, random_file};

/// Says to a process made by a test which file it shall open.
const CHILD_FILE: &str = "MDREEL_TEST_FILE";

/// An index like another, with other frames.
fn changed(index: &FrameIndex, change: impl FnOnce(&mut [FrameLocation])) -> FrameIndex {
    let mut frames: Vec<_> = index.frames().collect();
    change(&mut frames);
    let mut changed = FrameIndex::default();
    changed.end = index.end;
    changed.extend(frames);
    changed
}

struct Trajectory {
    directory: TempDir,
    bytes: Vec<u8>,
}

impl Trajectory {
    fn new(n_frames: usize) -> Self {
        Trajectory::of_atoms(100, n_frames)
    }

    fn of_atoms(n_atoms: usize, n_frames: usize) -> Self {
        let bytes = random_file(&mut Dice::new(&[3]), n_atoms, n_frames, &mut Coverage::default());
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("run.xtc"), &bytes).expect("room for a small file");
        Trajectory { directory, bytes }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("run.xtc")
    }

    fn file(&self) -> FileBytes {
        FileBytes::open(&self.path(), Access::Auto).expect("it is there")
    }

    fn open(&self) -> Xtc {
        Xtc::open(self.file(), Keep::Beside).expect("a valid file")
    }

    fn index_path(&self) -> PathBuf {
        place(&self.path(), Keep::Beside).expect("a place beside the data")
    }

    /// Opens the file, locates its frames and says their times.
    fn times(&self) -> Vec<f64> {
        self.open().times().expect("located")
    }

    fn true_times(&self) -> Vec<f64> {
        decode_file(&self.bytes).expect("a valid stream").iter().map(|frame| f64::from(frame.time)).collect()
    }

    /// Keeps an index whose times are all wrong by 1,000,000 ps: who shows them has used it.
    fn doctor_index(&self) -> Vec<f64> {
        let file = self.file();
        let index = FrameIndex::load(&file, Keep::Beside).expect("an index");
        let index = changed(&index, |frames| frames.iter_mut().for_each(|frame| frame.time += 1e6));
        index.save(&file, Keep::Beside).expect("room for a small file");
        index.frames().map(|frame| frame.time).collect()
    }

    fn modified(&self) -> std::time::SystemTime {
        fs::metadata(self.path()).expect("it is there").modified().expect("a time")
    }

    fn set_modified(&self, time: std::time::SystemTime) {
        let file = OpenOptions::new().write(true).open(self.path()).expect("it is there");
        file.set_times(FileTimes::new().set_modified(time)).expect("our own file");
    }

    /// Replaces bytes in place, and sets the modification time back to what it was. Nobody can set the change time.
    fn write_over(&self, at: u64, bytes: &[u8]) {
        let before = fs::metadata(self.path()).expect("it is there");
        let mut file = OpenOptions::new().write(true).open(self.path()).expect("our own file");
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).expect("our own file");
        // Its clock may be so coarse that it takes some writes until it shows another time.
        while {
            self.set_modified(before.modified().expect("a time"));
            let now = fs::metadata(self.path()).expect("it is there");
            (now.ctime(), now.ctime_nsec()) == (before.ctime(), before.ctime_nsec())
        } {}
        let after = fs::metadata(self.path()).expect("it is there");
        assert_eq!((after.len(), after.modified().ok()), (before.len(), before.modified().ok()));
    }

    /// All names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        names(self.directory.path())
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

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
    // The time stands behind magic number, atoms and step.
    trajectory.write_over(middle + 12, &123.5f32.to_be_bytes());
    expected[30] = 123.5;
    assert!(trajectory.open().unlocated_bytes().is_some());
    assert_eq!(trajectory.times(), expected);
    // And from now on there is an index of what is there.
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
    // Its frames were located in the file that was opened before.
    trajectory.write_over(middle + 12, &123.5f32.to_be_bytes());
    index.save(&file, Keep::Beside).expect("room for a small file");
    assert_eq!(FrameIndex::load(&trajectory.file(), Keep::Beside), None);
    assert_eq!(trajectory.times()[30], 123.5);
}

#[test]
fn an_index_is_extended_from_its_end_when_the_file_has_grown() {
    // More frames than are looked at: who shows the doctored time of the others has not looked at all of them again.
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
    // Old frames show the doctored times: they were not looked at again. New ones show their own.
    let mut grown = doctored.clone();
    grown.extend(&trajectory.true_times()[n_frames..]);
    let xtc = trajectory.open();
    assert_eq!(xtc.times().expect("located"), grown);
    xtc.check_end().expect_err("a torn frame");
    // The rest of the torn frame comes.
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
    // The middle of a file can change under the same size, time and ends.
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
    // Whoever may write anywhere has kept it; others have not, and nobody left a part of it.
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

/// This test program again, to open a file in a process of its own.
fn child(file: &Path, cache: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child_opens_a_file", "--ignored"])
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

//! An XTC file with a frame index beside it, for tests.

use std::fs::{self, FileTimes, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::{FrameIndex, Keep, place};
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{FrameLocation, Source};
use tempfile::TempDir;

use crate::xtc_oracle::decode_file;
use crate::xtc_stream::{Coverage, Dice, random_file};

/// Returns a copy of an index with changed frames.
pub(crate) fn changed(index: &FrameIndex, change: impl FnOnce(&mut [FrameLocation])) -> FrameIndex {
    let mut frames: Vec<_> = index.frames().collect();
    change(&mut frames);
    let mut changed = FrameIndex::default();
    changed.end = index.end;
    changed.extend(frames);
    changed
}

pub(crate) struct Trajectory {
    pub directory: TempDir,
    pub bytes: Vec<u8>,
}

impl Trajectory {
    pub(crate) fn new(n_frames: usize) -> Self {
        Trajectory::of_atoms(100, n_frames)
    }

    pub(crate) fn of_atoms(n_atoms: usize, n_frames: usize) -> Self {
        let bytes = random_file(&mut Dice::new(&[3]), n_atoms, n_frames, &mut Coverage::default());
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("run.xtc"), &bytes).expect("room for a small file");
        Trajectory { directory, bytes }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("run.xtc")
    }

    pub(crate) fn file(&self) -> FileBytes {
        FileBytes::open(&self.path(), Access::Auto).expect("it is there")
    }

    pub(crate) fn open(&self) -> Xtc {
        Xtc::open(self.file(), Keep::Beside).expect("a valid file")
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        place(&self.path(), Keep::Beside).expect("a place beside the data")
    }

    /// Opens the file, locates its frames and returns their times.
    pub(crate) fn times(&self) -> Vec<f64> {
        self.open().times().expect("located")
    }

    pub(crate) fn true_times(&self) -> Vec<f64> {
        decode_file(&self.bytes).expect("a valid stream").iter().map(|frame| f64::from(frame.time)).collect()
    }

    /// Saves an index with all times wrong by 1,000,000 ps. A source that returns these times has used the index.
    pub(crate) fn doctor_index(&self) -> Vec<f64> {
        let file = self.file();
        let index = FrameIndex::load(&file, Keep::Beside).expect("an index");
        let index = changed(&index, |frames| frames.iter_mut().for_each(|frame| frame.time += 1e6));
        index.save(&file, Keep::Beside).expect("room for a small file");
        index.frames().map(|frame| frame.time).collect()
    }

    pub(crate) fn modified(&self) -> std::time::SystemTime {
        fs::metadata(self.path()).expect("it is there").modified().expect("a time")
    }

    pub(crate) fn set_modified(&self, time: std::time::SystemTime) {
        let file = OpenOptions::new().write(true).open(self.path()).expect("it is there");
        file.set_times(FileTimes::new().set_modified(time)).expect("our own file");
    }

    /// Replaces bytes in place and restores the modification time. Programs cannot set the change time.
    pub(crate) fn write_over(&self, at: u64, bytes: &[u8]) {
        let before = fs::metadata(self.path()).expect("it is there");
        let mut file = OpenOptions::new().write(true).open(self.path()).expect("our own file");
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).expect("our own file");
        // The resolution of the change time may be coarse, so several writes may be necessary until it differs.
        while {
            self.set_modified(before.modified().expect("a time"));
            let now = fs::metadata(self.path()).expect("it is there");
            (now.ctime(), now.ctime_nsec()) == (before.ctime(), before.ctime_nsec())
        } {}
        let after = fs::metadata(self.path()).expect("it is there");
        assert_eq!((after.len(), after.modified().ok()), (before.len(), before.modified().ok()));
    }

    /// Returns all names in the directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.directory.path())
    }
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

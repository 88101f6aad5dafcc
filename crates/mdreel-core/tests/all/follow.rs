//! Following a growing file: the reader returns every frame once, complete and in order, however the file is written in
//! pieces.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use mdreel_core::block::{Arriving, Blocks, Extent, FrameSet};
use mdreel_core::convert::{Output, convert};
use mdreel_core::error::Error;
use mdreel_core::frame::Quantities;
use mdreel_core::plan::{Wishes, plan};
use mdreel_core::pool::{Monitor, Unattended};
use mdreel_core::run::run;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::follow::{Ending, Follow, Settings};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::growth::Growth;
use mdreel_core::source::memory::MemorySource;
use mdreel_core::source::open::{Location, Options, open};
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use mdreel_core::writer::format::Settings as WriterSettings;
use proptest::prelude::*;

use crate::reading::{KeepAll, Seen, read_frames};

const N_ATOMS: usize = 13;
const LONG: Duration = Duration::from_secs(60);

/// Writes `n_frames` frames. Returns the frames as the source of the complete file reads them, the bytes of the file,
/// and the end of each frame.
fn write(path: &Path, n_frames: usize) -> (Vec<Seen>, Vec<u8>, Vec<u64>) {
    let positions = (0..3 * N_ATOMS * n_frames).map(|i| ((i * i) as f32 * 0.37).sin() * 20.0).collect();
    let times = (0..n_frames).map(|i| i as f64).collect();
    let memory = MemorySource::new(N_ATOMS, positions, times, Vec::new()).unwrap();
    let output = Output::new(path, WriterSettings { precision: None }).unwrap();
    let all = AtomSelection::all(N_ATOMS);
    convert(&memory, &all, &FrameSet::all(n_frames as u64), &output, 1, &mut Unattended).unwrap();
    let options = Options { keep: Keep::Nowhere, ..Options::default() };
    let source = open(vec![Location::Path(path.into())], options, &std::sync::Arc::default()).unwrap().source();
    let seen = read_frames(&*source, &all, FrameSet::all(n_frames as u64)).unwrap();
    let bytes = FileBytes::open(path, Access::Read).unwrap();
    let ends = match source.stored_frames(0..n_frames as u64).unwrap() {
        Some(_) => (0..n_frames as u64)
            .map(|i| source.stored_frames(i..i + 1).unwrap().unwrap().pop().unwrap().bytes.end)
            .collect(),
        None => {
            let frame = source.n_bytes() / n_frames as u64;
            (1..=n_frames as u64).map(|i| bytes.len() - source.n_bytes() + i * frame).collect()
        }
    };
    (seen, bytes.read_vec(0..bytes.len()).unwrap(), ends)
}

fn follow(path: &Path, ending: Ending, may_notify: bool) -> mdreel_core::Result<Follow> {
    let settings = Settings { ending, format: None, timeout: Some(LONG), keep: Keep::Nowhere, may_notify };
    Follow::open(path, &settings, &mut || true)
}

fn with_stop_file(folder: &Path) -> Ending {
    Ending { stop_file: Some(folder.join("done")), ..Ending::default() }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn follow_finds_exactly_the_whole_frames_after_every_piece(
        ending in prop::sample::select(vec!["xtc", "trr", "dcd"]),
        n_frames in 2usize..30,
        mut cuts in prop::collection::vec(0.0f64..1.0, 0..12),
        polls in prop::bool::weighted(0.2),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (expected, bytes, ends) = write(&folder.path().join(format!("whole.{ending}")), n_frames);
        let path = folder.path().join(format!("grown.{ending}"));
        cuts.sort_by(f64::total_cmp);
        let first = ends[0] as usize;
        append(&path, &bytes[..first]);
        let source = follow(&path, with_stop_file(folder.path()), !polls).unwrap();
        let atoms = AtomSelection::new(vec![0, 5, 6, 12]).unwrap();
        let mut at = first;
        let mut n_read = 0;
        for cut in cuts.iter().chain([&1.0]) {
            let next = (cut * bytes.len() as f64) as usize;
            if next > at {
                append(&path, &bytes[at..next]);
                at = next;
            }
            let n_whole = ends.iter().filter(|&&end| end <= at as u64).count() as u64;
            let arrival = source.await_frame(n_whole - 1, LONG).unwrap();
            prop_assert_eq!((arrival.n_frames, arrival.is_ended), (n_whole, false));
            let new = FrameSet::Range { start: n_read, step: 1, count: n_whole - n_read };
            let seen = read_frames(&source, &atoms, new).unwrap();
            prop_assert_eq!(seen.len() as u64, n_whole - n_read);
            for (seen, expected) in seen.iter().zip(&expected[n_read as usize..]) {
                prop_assert_eq!((seen.index, seen.step, seen.time), (expected.index, expected.step, expected.time));
                let wanted: Vec<_> = atoms.indices().iter().map(|&i| expected.coordinates[i as usize]).collect();
                prop_assert_eq!(&seen.coordinates, &wanted);
            }
            n_read = n_whole;
        }
        append(&folder.path().join("done"), b"");
        prop_assert!(source.await_frame(n_frames as u64, LONG).unwrap().is_ended);
        let back = FrameSet::List([n_frames as u64 - 1, 0, 1, 1].into());
        let seen = read_frames(&source, &AtomSelection::all(N_ATOMS), back).unwrap();
        prop_assert_eq!(seen, [n_frames - 1, 0, 1, 1].map(|i| expected[i].clone()));
    }

    #[test]
    fn follow_refuses_every_torn_end(ending in prop::sample::select(vec!["xtc", "trr", "dcd"]), cut in 0.0f64..1.0) {
        let folder = tempfile::tempdir().unwrap();
        let (_, bytes, ends) = write(&folder.path().join(format!("whole.{ending}")), 5);
        let at = (cut * bytes.len() as f64) as usize;
        let path = folder.path().join(format!("torn.{ending}"));
        append(&path, &bytes[..at]);
        append(&folder.path().join("done"), b"");
        let is_whole = ends.contains(&(at as u64));
        let outcome = follow(&path, with_stop_file(folder.path()), true)
            .and_then(|source| source.await_frame(5, LONG).map(|arrival| arrival.n_frames));
        match outcome {
            Ok(n_frames) => prop_assert!(is_whole && ends[n_frames as usize - 1] == at as u64),
            Err(Error::Format { place, .. }) => prop_assert!(!is_whole && place.path == path),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn run_over_a_growing_file_is_the_same_for_any_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["xtc", "dcd"] {
        let path = folder.path().join(format!("whole.{ending}"));
        let (expected, ..) = write(&path, 100);
        for (n_workers, frames) in
            [(1, FrameSet::endless(0, 1)), (3, FrameSet::endless(0, 1)), (3, FrameSet::endless(7, 9))]
        {
            let n_expected = Ending { n_frames: Some(100), ..Ending::default() };
            let source = follow(&path, n_expected, true).unwrap();
            // The blocks are smaller than usual, so that there are many of them.
            let blocks = Blocks::Arriving(Arriving { frames: frames.clone(), block_frames: 6 });
            let kernel = KeepAll { n_atoms: N_ATOMS, wanted: Quantities::POSITIONS };
            let atoms = AtomSelection::all(N_ATOMS);
            let outcome = run(&source, &atoms, &kernel, &blocks, n_workers, &mut Unattended).unwrap().unwrap();
            let wanted: Vec<_> = (0..frames.n_below(100)).map(|i| expected[frames.get(i) as usize].clone()).collect();
            assert_eq!(outcome.result.0, wanted);
        }
    }
}

/// A monitor that stops a run after the given number of frames.
struct StopAt(u64);

impl Monitor for StopAt {
    fn poll(&mut self, frames_done: u64) -> bool {
        frames_done < self.0
    }
}

#[test]
fn run_that_waits_for_frames_stops_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.xtc");
    write(&path, 10);
    for n_workers in [1, 2] {
        let source = follow(&path, with_stop_file(folder.path()), n_workers == 1).unwrap();
        let blocks = plan(&source, None, Wishes::default(), n_workers).unwrap();
        let kernel = KeepAll { n_atoms: N_ATOMS, wanted: Quantities::POSITIONS };
        let error =
            run(&source, &AtomSelection::all(N_ATOMS), &kernel, &blocks, n_workers, &mut StopAt(10)).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error}");
    }
}

#[test]
fn plan_of_a_growing_file_depends_on_its_atoms_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.xtc");
    write(&path, 10);
    let source = follow(&path, with_stop_file(folder.path()), true).unwrap();
    let expected = Blocks::Arriving(Arriving { frames: FrameSet::endless(0, 1), block_frames: 1024 });
    for n_workers in [1, 7] {
        assert_eq!(plan(&source, None, Wishes::default(), n_workers).unwrap(), expected);
    }
    assert_eq!(expected.extent(2), Some(Extent::Frames(FrameSet::Range { start: 2048, step: 1, count: 1024 })));
    assert!(matches!(
        plan(&source, None, Wishes { n_parts: Some(3), ..Wishes::default() }, 1),
        Err(Error::Unsupported(_))
    ));
}

#[test]
fn follow_ends_when_a_process_is_gone_already() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.trr");
    write(&path, 4);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let source = follow(&path, Ending { process: Some(child.id()), ..Ending::default() }, true).unwrap();
    assert!(source.await_frame(4, LONG).unwrap().is_ended);
    assert_eq!(source.n_frames().unwrap(), 4);
}

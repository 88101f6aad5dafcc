use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::block::FrameSet;
use crate::frame::{FrameBatch, Quantities};
use crate::source::open::{Location, Options, open};
use crate::source::read::{FrameArray, read_frames};
use crate::source::{AtomSelection, SourceExt};
use crate::writer::FileWriter;

fn outline(n_atoms: usize) -> Outline {
    Outline {
        n_atoms,
        quantities: Quantities::POSITIONS,
        has_unit_cell: true,
        first_step: 0,
        steps_per_frame: 1,
        first_time: 0.0,
        interval: 1.0,
    }
}

fn header(index: u64) -> FrameHeader {
    let unit_cell = Some(UnitCell::Dimensions([30.0, 40.0, 50.0, 90.0, 90.0, 90.0]));
    FrameHeader {
        index,
        step: 7 * index as i64,
        time: 2.5 * index as f64,
        unit_cell,
        lambda: None,
        present: Quantities::POSITIONS,
    }
}

fn batch(frames: &[Vec<[f32; 3]>]) -> FrameBatch {
    let mut batch = FrameBatch::with_capacity(frames[0].len(), frames.len());
    for (i, frame) in frames.iter().enumerate() {
        let columns = batch.push(header(i as u64));
        for (atom, &[x, y, z]) in frame.iter().enumerate() {
            (columns.x[atom], columns.y[atom], columns.z[atom]) = (x, y, z);
        }
    }
    batch
}

fn write(path: &Path, encoder: XtcEncoder, frames: &[Vec<[f32; 3]>]) -> Result<()> {
    let mut writer = FileWriter::create(path, encoder)?;
    writer.write(&batch(frames))?;
    writer.finish()
}

fn read_back(path: &Path) -> FrameArray {
    let options = Options::from_names(None, "auto", "none", "keep").unwrap();
    let opened = open(vec![Location::Path(path.into())], options, &Arc::default()).unwrap();
    let source = opened.source();
    source.check_end().unwrap();
    let frames = FrameSet::all(source.n_frames().unwrap());
    read_frames(&*source, &AtomSelection::all(source.n_atoms()), &frames, Quantities::POSITIONS).unwrap()
}

/// Generates atoms in a random walk. Each step has components of up to `reach` in Å.
fn walk(reach: f32, n_atoms: usize) -> impl Strategy<Value = Vec<[f32; 3]>> {
    proptest::collection::vec(proptest::array::uniform3(-reach..reach), n_atoms).prop_map(|steps| {
        let sum = |at: &mut [f32; 3], step: [f32; 3]| {
            *at = [at[0] + step[0], at[1] + step[1], at[2] + step[2]];
            Some(*at)
        };
        steps.into_iter().scan([0.0; 3], sum).collect()
    })
}

proptest! {
    #[test]
    fn frames_read_back_as_what_was_rounded(
        frame in (1usize..80, 0i32..5).prop_flat_map(|(n, scale)| walk(10f32.powi(scale - 1), n)),
        precision in prop::sample::select(vec![10f32, 100.0, 1000.0, 12345.0]),
        is_wide: bool,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.xtc");
        let magic = if is_wide { MAGIC_2023 } else { MAGIC_1995 };
        let encoder = XtcEncoder { magic, ..XtcEncoder::new(&outline(frame.len()), precision).unwrap() };
        write(&path, encoder, &[frame.clone(), frame.clone()]).unwrap();
        let found = read_back(&path);
        prop_assert_eq!(found.headers.len(), 2);
        prop_assert_eq!((found.headers[1].step, found.headers[1].time), (7, 2.5));
        for (position, expected) in found.positions.iter().zip([&frame, &frame].into_iter().flatten().flatten()) {
            let half = if frame.len() > MAX_PLAIN_ATOMS { 5.0 / precision } else { 0.0 };
            prop_assert!((position - expected).abs() <= half * 1.001 + expected.abs() * 3e-7, "{position} {expected}");
        }
    }
}

#[test]
fn frames_of_any_spread_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.xtc");
    // One axis with more than 24 bits, a single point, and atoms at the largest possible distance.
    let wide = (0..20).map(|i| [i as f32 * 1e6, 0.0, -(i as f32)]).collect::<Vec<_>>();
    let point = vec![[1.0; 3]; 20];
    let ends = (0..20).map(|i| [if i % 2 == 0 { -1e7 } else { 1e7 }; 3]).collect::<Vec<_>>();
    let frames = [wide, point, ends];
    write(&path, XtcEncoder::new(&outline(20), 1000.0).unwrap(), &frames).unwrap();
    let found = read_back(&path);
    for (position, expected) in found.positions.iter().zip(frames.iter().flatten().flatten()) {
        assert!((position - expected).abs() <= 0.006 + expected.abs() * 3e-7, "{position} {expected}");
    }
}

#[test]
fn coordinate_that_is_no_number_is_refused_with_frame_and_atom() {
    let directory = tempfile::tempdir().unwrap();
    for (n_atoms, value, words) in [(3, f32::NAN, "NaN"), (30, f32::NAN, "NaN"), (30, f32::INFINITY, "inf")] {
        let mut frames = vec![vec![[1.0; 3]; n_atoms]; 2];
        frames[1][2][1] = value;
        let encoder = XtcEncoder::new(&outline(n_atoms), 1000.0).unwrap();
        let error = write(&directory.path().join("a.xtc"), encoder, &frames).unwrap_err().to_string();
        assert!(error.starts_with("frame 1: atom 2: y is ") && error.contains(words), "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn coordinate_beyond_the_integers_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut frame = vec![[1.0; 3]; 30];
    frame[4][2] = 1e9;
    let refused = |frame: &[[f32; 3]]| {
        let encoder = XtcEncoder::new(&outline(30), 1e6).unwrap();
        write(&directory.path().join("a.xtc"), encoder, &[frame.to_vec()]).unwrap_err().to_string()
    };
    let error = refused(&frame);
    assert!(error.starts_with("frame 0: atom 4: z = 1000000000 Å is too far away"), "{error}");
    // Each coordinate fits, but their difference does not.
    frame[4][2] = 15_000.0;
    frame[5][2] = -15_000.0;
    let error = refused(&frame);
    assert!(error.starts_with("frame 0: atom 4: z lies too far from the other atoms'"), "{error}");
}

#[test]
fn precision_and_number_of_atoms_are_checked() {
    for precision in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(XtcEncoder::new(&outline(10), precision).is_err());
    }
    assert!(XtcEncoder::new(&outline(0), 1000.0).is_err());
    assert_eq!(XtcEncoder::new(&outline(MAX_ATOMS_OF_1995), 1000.0).unwrap().magic, MAGIC_1995);
    assert_eq!(XtcEncoder::new(&outline(MAX_ATOMS_OF_1995 + 1), 1000.0).unwrap().magic, MAGIC_2023);
}

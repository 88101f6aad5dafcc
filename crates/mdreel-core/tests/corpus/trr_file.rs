//! Arbitrary bytes as a TRR file, read completely, partly and from any position, and compared with the oracle.

use mdreel_core::block::{Extent, FrameSet, plan_bytes};
use mdreel_core::frame::Quantities;
use mdreel_core::source::bytes::Access;
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use crate::reading::{read_wanted, run_wanted};
use crate::scratch_file::ScratchFile;
use crate::trr_oracle::{decode_file, expected};
use crate::trr_reading::open;

/// Checks one input.
pub(crate) fn check(bytes: &[u8]) {
    let file = ScratchFile::new(bytes);
    let oracle = decode_file(bytes);
    let Ok(trr) = open(file.path(), Access::Auto) else {
        assert!(oracle.is_err(), "the oracle reads what the source refuses to open");
        return;
    };
    let n_atoms = trr.n_atoms();
    // A frame that contains only a box may state any number of atoms. Only the caller allocates memory for them.
    if n_atoms > bytes.len() {
        let atoms = AtomSelection::new(vec![n_atoms as u32 - 1]).expect("one");
        let _ = read_wanted(&trr, &atoms, Quantities::ALL, &Extent::Bytes(0..bytes.len() as u64), None);
        return;
    }
    let all = AtomSelection::all(n_atoms);
    let few = AtomSelection::new((0..n_atoms as u32).step_by(5).collect()).expect("ascending");
    let len = bytes.len() as u64;
    let whole = read_wanted(&trr, &all, Quantities::ALL, &Extent::Bytes(0..len), None).map(|(seen, ..)| seen);
    match (&whole, &oracle) {
        (Ok(seen), Ok(frames)) => {
            let right = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &all, Quantities::ALL));
            assert_eq!(*seen, right.collect::<Vec<_>>());
        }
        (Err(_), Err(_)) => {}
        (whole, _) => panic!("read: {}, the oracle: {}", whole.is_ok(), oracle.is_ok()),
    }
    let fresh = open(file.path(), Access::Read).expect("opened before");
    let parts = run_wanted(&fresh, &few, Quantities::POSITIONS, &plan_bytes(0..len, 4), 1);
    if let (Ok(Some(parts)), Ok(seen)) = (&parts, &whole) {
        assert_eq!(parts.0.len(), seen.len());
        for (part, frame) in parts.0.iter().zip(seen) {
            let chosen: Vec<_> = frame.coordinates.iter().step_by(5).copied().collect();
            assert_eq!(part.coordinates, chosen);
        }
    }
    let n_frames = trr.n_frames().expect("whole frames are counted");
    let by_number = |set| read_wanted(&trr, &all, Quantities::ALL, &Extent::Frames(set), None).map(|(seen, ..)| seen);
    let located = by_number(FrameSet::all(n_frames)).and_then(|seen| trr.check_end().map(|()| seen));
    assert_eq!(located.ok(), whole.ok());
    let _ = by_number(FrameSet::List((0..n_frames).rev().collect()));
}

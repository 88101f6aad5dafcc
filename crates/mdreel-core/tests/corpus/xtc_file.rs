//! Arbitrary bytes as an XTC file, read completely, partly and from any position, and compared with the oracle.

use mdreel_core::block::{FrameSet, plan_bytes};
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use crate::scratch_file::ScratchFile;
use crate::xtc_oracle::decode_file;
use crate::xtc_reading::{expected, open, open_portable, read_bytes, read_frames, run_all};

/// Checks one input.
pub(crate) fn check(bytes: &[u8]) {
    let file = ScratchFile::new(bytes);
    let oracle = decode_file(bytes);
    let Ok(xtc) = open(file.path()) else {
        assert!(oracle.is_err(), "the oracle reads what the source refuses to open");
        return;
    };
    let n_atoms = xtc.n_atoms();
    // The bytes of the first frame limit the number of atoms: each atom takes at least two bits.
    assert!(n_atoms <= 4 * bytes.len() + 9);
    let all = AtomSelection::all(n_atoms);
    let few = AtomSelection::new((0..n_atoms as u32).step_by(5).collect()).expect("ascending");
    let len = bytes.len() as u64;
    let whole = read_bytes(&open_portable(file.path()).expect("opened before"), &all, 0..len);
    match (&whole, &oracle) {
        (Ok((seen, _)), Ok(frames)) => {
            let right: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &all)).collect();
            assert_eq!(*seen, right);
        }
        (Err(_), Err(_)) => {}
        (whole, _) => panic!("read: {}, the oracle: {}", whole.is_ok(), oracle.is_ok()),
    }
    let parts = run_all(&open(file.path()).expect("opened before"), &few, &plan_bytes(0..len, 4), 1);
    if let (Ok(Some(parts)), Ok((seen, _))) = (&parts, &whole) {
        assert_eq!(parts.0.len(), seen.len());
        for (part, frame) in parts.0.iter().zip(seen) {
            let chosen: Vec<_> = frame.coordinates.iter().step_by(5).copied().collect();
            assert_eq!(part.coordinates, chosen);
        }
    }
    let n_frames = xtc.n_frames().expect("whole frames are counted");
    let located = read_frames(&xtc, &all, FrameSet::all(n_frames)).and_then(|seen| xtc.check_end().map(|()| seen));
    assert_eq!(located.ok(), whole.ok().map(|(seen, _)| seen));
    let _ = read_frames(&xtc, &few, FrameSet::List((0..n_frames).rev().collect()));
}

//! Random valid streams, controlled by the fuzzer. The reader must decode them like the oracle, for any selection. Then
//! one byte of the file changes, and the reader must still agree with the oracle, or both must refuse the file.

use mdreel_core::block::{FrameSet, plan_bytes};
use mdreel_core::source::{AtomSelection, Source};
use crate::scratch_file::ScratchFile;
use crate::xtc_oracle::decode_file;
use crate::xtc_reading::{Kept, expected, open, open_portable, read_bytes, read_frames, run_all};
use crate::xtc_stream::{Coverage, Dice, draw_selection, random_file};

/// Checks one input.
pub(crate) fn check(steer: &[u8]) {
    let mut dice = Dice::new(steer);
    // Some frames are so large that the reader loads only their first part. They are rare, because the fuzzer has
    // limited time.
    let large = dice.one_in(250);
    let n_atoms = 1 + dice.below(if large { 4000 } else { 60 }) as usize;
    let n_frames = 1 + dice.below(if large { 3 } else { 6 }) as usize;
    let mut bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
    let atoms = AtomSelection::new(draw_selection(&mut dice, n_atoms)).expect("ascending");
    let frames = decode_file(&bytes).expect("a valid stream");
    let right = Kept(frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect());
    {
        let file = ScratchFile::new(&bytes);
        let xtc = open(file.path()).expect("a valid file");
        let blocks = plan_bytes(0..bytes.len() as u64, 1 + dice.below(9));
        let parts = run_all(&xtc, &atoms, &blocks, 1).expect("a valid file");
        assert_eq!(parts.as_ref(), Some(&right));
        let list: Vec<u64> = (0..dice.below(20)).map(|_| dice.below(n_frames as u64)).collect();
        let xtc = open_portable(file.path()).expect("a valid file");
        let seen = read_frames(&xtc, &atoms, FrameSet::List(list.as_slice().into())).expect("a valid file");
        let chosen: Vec<_> = list.iter().map(|&i| right.0[i as usize].clone()).collect();
        assert_eq!(seen, chosen);
    }
    let at = dice.below(bytes.len() as u64) as usize;
    bytes[at] = dice.below(256) as u8;
    let file = ScratchFile::new(&bytes);
    let Ok(xtc) = open(file.path()) else {
        assert!(decode_file(&bytes).is_err());
        return;
    };
    let all = AtomSelection::all(xtc.n_atoms());
    let seen = read_bytes(&xtc, &all, 0..bytes.len() as u64).map(|(seen, _)| seen).ok();
    let right = decode_file(&bytes).ok();
    let right = right.map(|frames| frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &all)).collect());
    assert_eq!(seen, right);
}

//! Selected atoms far after others that are not selected: the decoder skips the groups between them without decoding
//! them.

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::source::AtomSelection;
use proptest::prelude::*;

use crate::file_of;
use crate::xtc_oracle::decode_file;
use crate::xtc_reading::{expected, open_in_all_ways, read, read_bytes};
use crate::xtc_stream::{Coverage, Dice, random_file};

/// Draws a few stretches of atoms far from each other, and sometimes the last atom.
fn draw_islands(dice: &mut Dice<'_>, n_atoms: usize) -> Vec<u32> {
    let mut atoms = Vec::new();
    let mut at = dice.below(n_atoms as u64) as usize;
    while at < n_atoms {
        atoms.extend(at as u32..(at + dice.between(1, 40) as usize).min(n_atoms) as u32);
        at += 41 + dice.below(2 * n_atoms as u64) as usize;
    }
    if dice.one_in(3) && atoms.last() != Some(&(n_atoms as u32 - 1)) {
        atoms.push(n_atoms as u32 - 1);
    }
    atoms
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn atoms_far_behind_others_equal_the_oracle(
        steer in proptest::collection::vec(any::<u8>(), 0..64), n_atoms in 500usize..6000, n_frames in 1usize..20,
    ) {
        let mut dice = Dice::new(&steer);
        let bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
        let frames = decode_file(&bytes).expect("a valid stream");
        let file = file_of(&bytes);
        let atoms = AtomSelection::new(draw_islands(&mut dice, n_atoms))?;
        let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
        for xtc in open_in_all_ways(file.path())? {
            for extent in [Extent::Bytes(0..bytes.len() as u64), Extent::Frames(FrameSet::all(n_frames as u64))] {
                prop_assert_eq!(&read(&xtc, &atoms, &extent, 16)?.0, &expected);
            }
        }
    }
}

#[test]
fn damage_before_the_first_wanted_atom_is_found_as_by_the_oracle() {
    let (mut n_corrupt, mut n_sound) = (0, 0);
    for seed in 0u16..300 {
        let steer = seed.to_le_bytes();
        let mut dice = Dice::new(&steer);
        let n_atoms = dice.between(1000, 4000) as usize;
        let n_frames = dice.between(1, 9) as usize;
        let mut bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
        for _ in 0..dice.between(1, 60) {
            // The position lies after the first header.
            let at = dice.between(100, bytes.len() as i64 - 1) as usize;
            bytes[at] ^= 1 << dice.below(8);
        }
        let file = file_of(&bytes);
        let atoms = AtomSelection::new(vec![n_atoms as u32 - 1]).expect("ascending");
        for xtc in open_in_all_ways(file.path()).expect("a valid first header") {
            match (read_bytes(&xtc, &atoms, 0..bytes.len() as u64), decode_file(&bytes)) {
                (Ok((seen, _)), Ok(frames)) => {
                    let expected: Vec<_> =
                        frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
                    assert_eq!(seen, expected, "seed {seed}");
                    n_sound += 1;
                }
                (Err(_), Err(_)) => n_corrupt += 1,
                (seen, frames) => panic!("seed {seed}: {seen:?} against the oracle's {:?}", frames.map(|f| f.len())),
            }
        }
    }
    assert!(n_corrupt > 100 && n_sound > 100, "{n_corrupt} corrupt, {n_sound} sound");
}

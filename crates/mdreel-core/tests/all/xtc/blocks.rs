//! The bits of the result do not depend on the division into blocks or on the number of workers.

use std::time::Instant;

use mdreel_core::block::{Extent, FrameSet, plan_bytes, plan_frames};
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use mdreel_core::span::Recorder;
use proptest::prelude::*;

use crate::file_of;
use crate::xtc_oracle::decode_file;
use crate::xtc_reading::{Kept, expected, open, read_bytes, run_all, seen};
use crate::xtc_stream::{Coverage, Dice, draw_selection, random_file};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_in_bytes_join_and_give_every_frame_in_order(
        steer in proptest::collection::vec(any::<u8>(), 0..64), n_atoms in 1usize..200, n_frames in 1usize..30, n_parts in 1u64..51,
    ) {
        let mut dice = Dice::new(&steer);
        let bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
        let frames = decode_file(&bytes).expect("a valid stream");
        let atoms = AtomSelection::new(draw_selection(&mut dice, n_atoms))?;
        let file = file_of(&bytes);
        let xtc = open(file.path())?;
        let whole = 0..bytes.len() as u64;
        prop_assert_eq!(xtc.unlocated_bytes(), Some([whole].into()));
        let mut parts = Vec::new();
        let mut seen = Vec::new();
        for block in plan_bytes(0..bytes.len() as u64, n_parts) {
            let Extent::Bytes(range) = block.extent else { panic!("a byte plan holds bytes") };
            let (frames, located) = read_bytes(&xtc, &atoms, range.clone())?;
            prop_assert_eq!(frames.len(), located.frames.len());
            prop_assert!(located.frames.iter().all(|frame| range.contains(&frame.offset)));
            let first = seen.len() as u64;
            seen.extend(frames.into_iter().map(|mut frame| { frame.index += first; frame }));
            parts.push(located);
        }
        let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
        prop_assert_eq!(seen, expected);
        prop_assert!(xtc.locate(parts)?);
        prop_assert_eq!(xtc.unlocated_bytes(), None);
        prop_assert_eq!(xtc.n_frames()?, n_frames as u64);
    }

    #[test]
    fn parts_do_not_join_when_one_is_missing(n_frames in 4usize..12, missing in 0usize..12) {
        let bytes = random_file(&mut Dice::new(b"gap"), 20, n_frames, &mut Coverage::default());
        let starts: Vec<_> = decode_file(&bytes).expect("a valid stream").iter().map(|frame| frame.start as u64).collect();
        let file = file_of(&bytes);
        let xtc = open(file.path())?;
        let atoms = AtomSelection::all(20);
        let mut parts = Vec::new();
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(bytes.len() as u64);
            parts.push(read_bytes(&xtc, &atoms, start..end)?.1);
        }
        parts.remove(missing % n_frames);
        prop_assert!(!xtc.locate(parts)?);
        prop_assert!(xtc.unlocated_bytes().is_some());
    }

    #[test]
    fn runs_give_the_same_bits_whatever_the_workers_and_blocks(
        steer in proptest::collection::vec(any::<u8>(), 0..64), n_atoms in 1usize..60, n_frames in 1usize..40, n_parts in 1u64..1001,
    ) {
        let mut dice = Dice::new(&steer);
        let bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
        let frames = decode_file(&bytes).expect("a valid stream");
        let atoms = AtomSelection::new(draw_selection(&mut dice, n_atoms))?;
        let expected = Kept(frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect());
        let file = file_of(&bytes);
        for n_workers in [1, 2, 3, 7] {
            let xtc = open(file.path())?;
            let unlocated = run_all(&xtc, &atoms, &plan_bytes(0..bytes.len() as u64, n_parts), n_workers)?;
            prop_assert_eq!(unlocated.as_ref(), Some(&expected));
            prop_assert!(xtc.unlocated_bytes().is_none(), "a whole pass locates the frames");
            let blocks = plan_frames(&FrameSet::all(n_frames as u64), n_parts);
            let located = run_all(&xtc, &atoms, &blocks, n_workers)?;
            prop_assert_eq!(located.as_ref(), Some(&expected));
        }
    }
}

/// Frames of so few atoms are shorter than the longest header. The bytes that the reader loads after the end of a part
/// can therefore contain a complete frame.
#[test]
fn parts_that_end_anywhere_give_the_smallest_frames() {
    for (n_atoms, n_frames) in (1..11).flat_map(|n_atoms| [(n_atoms, 2), (n_atoms, 5)]) {
        let bytes = random_file(&mut Dice::new(&[]), n_atoms, n_frames, &mut Coverage::default());
        let frames = decode_file(&bytes).expect("a valid stream");
        let atoms = AtomSelection::all(n_atoms);
        let expected = Kept(frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect());
        let file = file_of(&bytes);
        for n_parts in 1..bytes.len() as u64 / 4 {
            let xtc = open(file.path()).expect("a valid file");
            let seen = run_all(&xtc, &atoms, &plan_bytes(0..bytes.len() as u64, n_parts), 1).expect("whole frames");
            assert_eq!(seen.as_ref(), Some(&expected), "{n_atoms} atoms, {n_frames} frames, {n_parts} parts");
        }
    }
}

#[test]
fn a_reader_starts_anew_when_an_extent_was_left_in_the_middle() {
    let bytes = random_file(&mut Dice::new(b"anew"), 50, 9, &mut Coverage::default());
    let frames = decode_file(&bytes).expect("a valid stream");
    let file = file_of(&bytes);
    let xtc = open(file.path()).expect("a valid file");
    let atoms = AtomSelection::all(50);
    let mut reader = xtc.reader(&atoms, Quantities::POSITIONS).expect("a reader");
    let mut recorder = Recorder::new(Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(50, 4);
    for extent in [Extent::Bytes(0..bytes.len() as u64), Extent::Frames(FrameSet::all(9))] {
        reader.start(&extent).expect("a valid extent");
        reader.read(&mut batch, &mut recorder).expect("valid frames");
        let expected: Vec<_> = frames[..4].iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
        assert_eq!(seen(&batch).collect::<Vec<_>>(), expected);
    }
}

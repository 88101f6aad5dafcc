//! The bits of the result do not depend on the division into blocks, on the number of workers, or on the values in the
//! file.

use mdreel_core::block::{FrameSet, plan_bytes, plan_frames};
use mdreel_core::frame::Quantities;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::trr::Trr;
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use proptest::prelude::*;

use crate::file_of;
use crate::reading::{Kept, read_bytes, run_wanted};
use crate::trr_oracle::{RawFrame, decode_file, expected, file_bytes};
use crate::trr_reading::{frame, frames, open};

fn all_of(frames: &[RawFrame], atoms: &AtomSelection) -> Kept {
    Kept(frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, atoms, Quantities::ALL)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn runs_give_the_same_bits_whatever_the_workers_and_blocks(
        n_atoms in prop_oneof![1usize..12, 100usize..110],
        sections in proptest::collection::vec(0u8..128, 1..40), n_parts in 1u64..200, seed in any::<u32>(),
    ) {
        let bytes = file_bytes(&frames(n_atoms, &sections, u64::from(seed)));
        let right = decode_file(&bytes).expect("a valid file");
        let atoms = AtomSelection::new((0..n_atoms as u32).step_by(2).collect())?;
        let all = all_of(&right, &atoms);
        let file = file_of(&bytes);
        for n_workers in [1, 3] {
            let trr = open(file.path(), Access::Auto)?;
            let plan = plan_bytes(0..bytes.len() as u64, n_parts);
            let unlocated = run_wanted(&trr, &atoms, Quantities::ALL, &plan, n_workers)?;
            prop_assert_eq!(unlocated.as_ref(), Some(&all));
            prop_assert!(trr.unlocated_bytes().is_none(), "a whole pass locates the frames");
            let plan = plan_frames(&FrameSet::all(right.len() as u64), n_parts);
            let located = run_wanted(&trr, &atoms, Quantities::ALL, &plan, n_workers)?;
            prop_assert_eq!(located.as_ref(), Some(&all));
        }
    }
}

/// Creates a file whose second and third frames contain the bytes of other frames among their positions.
fn misleading_file() -> (Vec<u8>, Vec<RawFrame>) {
    let n_atoms = 100;
    let mut carried = Vec::new();
    let mut bytes = file_bytes(&frames(n_atoms, &[1], 1));
    for i in 0..2 {
        // The payload consists of complete frames that contain only a box, one after another.
        carried.extend(file_bytes(&frames(n_atoms, &[8; 5], i)));
        let mut carrier = Vec::new();
        crate::trr_oracle::append_frame(&frame(n_atoms, 0b1001, 9), &mut carrier);
        let positions = carrier.len() - 12 * n_atoms;
        let payload = &carried[carried.len() - 600..];
        carrier[positions + 60..positions + 60 + payload.len()].copy_from_slice(payload);
        bytes.extend(carrier);
    }
    bytes.extend(file_bytes(&frames(n_atoms, &[1, 2], 2)));
    let right = decode_file(&bytes).expect("what positions look like is nobody's business");
    assert_eq!(right.len(), 5);
    (bytes, right)
}

#[test]
fn runs_are_right_or_void_when_searches_are_misled() {
    let (bytes, right) = misleading_file();
    let file = file_of(&bytes);
    let atoms = AtomSelection::all(100);
    let all = all_of(&right, &atoms);
    let mut n_void = 0;
    for n_parts in 1..80 {
        let trr = open(file.path(), Access::Auto).expect("a valid file");
        let plan = plan_bytes(0..bytes.len() as u64, n_parts);
        match run_wanted(&trr, &atoms, Quantities::ALL, &plan, 2).expect("a valid file") {
            Some(kept) => assert_eq!(kept, all, "{n_parts} parts"),
            None => n_void += 1,
        }
        let plan = plan_frames(&FrameSet::all(5), n_parts);
        let located = run_wanted(&trr, &atoms, Quantities::ALL, &plan, 2).expect("a valid file");
        assert_eq!(located.as_ref(), Some(&all));
    }
    assert!(n_void > 0, "no search was misled");
}

#[test]
fn a_range_behind_the_end_has_no_frames() {
    let bytes = file_bytes(&frames(5, &[1, 2, 3], 2));
    let file = file_of(&bytes);
    let trr = open(file.path(), Access::Auto).expect("a valid file");
    let len = bytes.len() as u64;
    for range in [len..len, len - 1..len, len..len + 100, 5..5, u64::MAX - 9..u64::MAX] {
        let (seen, located) = read_bytes(&trr, &AtomSelection::all(5), range.clone()).expect("nothing there");
        assert!(seen.is_empty() && located.first.is_none(), "{range:?}");
    }
}

#[test]
fn an_index_is_kept_and_extended_from_its_end_when_the_file_has_grown() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("run.trr");
    let mut bytes = file_bytes(&frames(300, &[1, 0x4f, 8, 1, 2, 1, 1], 2));
    std::fs::write(&path, &bytes).expect("room for a small file");
    let open = || {
        let file = FileBytes::open(&path, Access::Auto).expect("it is there");
        Trr::open(file, Keep::Beside).expect("a valid file")
    };
    assert!(open().unlocated_bytes().is_some());
    assert_eq!(open().n_frames().expect("located"), 7);
    assert!(open().unlocated_bytes().is_none(), "kept");
    bytes.extend(file_bytes(&frames(300, &[2, 3], 7)));
    std::fs::write(&path, &bytes).expect("room for a small file");
    assert_eq!(open().n_frames().expect("located"), 9);
    open().check_end().expect("whole frames");
    // A header in the middle is damaged, away from the ends that the index checks. The file then grows, so the index is
    // checked again.
    let damaged = decode_file(&bytes).expect("a valid file")[2].start;
    assert!(damaged > 4096 && damaged + 4096 < bytes.len());
    bytes[damaged] ^= 1;
    bytes.extend(file_bytes(&frames(300, &[1], 9)));
    std::fs::write(&path, &bytes).expect("room for a small file");
    assert_eq!(open().n_frames().expect("located"), 2);
    assert!(open().check_end().is_err());
}

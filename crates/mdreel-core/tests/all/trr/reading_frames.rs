//! Any frames, atoms and quantities of any file: the reader returns the same bits as the oracle.

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::error::Error;
use mdreel_core::frame::Quantities;
use mdreel_core::source::bytes::Access;
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use mdreel_core::span::SpanKind;
use proptest::prelude::*;

use crate::file_of;
use crate::reading::{read_frames, read_wanted};
use crate::rows_reading::check_rows;
use crate::trr_oracle::{decode_file, expected, file_bytes};
use crate::trr_reading::{frames, open, quantities};

/// Selects atoms of `n_atoms` that lie close together, alone, or in runs.
fn draw_atoms(n_atoms: usize, picks: &[(u32, u32)]) -> AtomSelection {
    let range = |&(start, len): &(u32, u32)| (start % n_atoms as u32..n_atoms as u32).take(len as usize);
    let mut atoms: Vec<u32> = picks.iter().flat_map(range).collect();
    atoms.sort_unstable();
    atoms.dedup();
    AtomSelection::new(atoms).expect("sorted")
}

#[test]
fn oracle_reads_what_it_writes() {
    let written = frames(7, &[0x7f, 0x3f, 0, 1, 0x42, 0x44, 0x0f], 1);
    let read = decode_file(&file_bytes(&written)).expect("a valid file");
    assert_eq!(read.len(), written.len());
    for (read, written) in read.iter().zip(&written) {
        let single = |v: f64| if written.is_double { v } else { f64::from(v as f32) };
        assert_eq!((read.step, read.is_double, read.time), (written.step, written.is_double, single(written.time)));
        for (read, written) in read.quantities.iter().zip(&written.quantities) {
            let written = written.as_ref().map(|atoms| atoms.iter().map(|atom| atom.map(single)).collect());
            assert_eq!(read, &written);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn frames_have_the_bits_that_the_oracle_reads(
        n_atoms in prop_oneof![1usize..12, 60usize..70, Just(3000usize)],
        sections in proptest::collection::vec(0u8..128, 1..14),
        repeat in 1usize..4,
        picks in proptest::collection::vec((any::<u32>(), prop_oneof![Just(1u32), 1u32..40]), 0..12),
        wanted in 0u8..8, seed in any::<u32>(), order in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        capacity in prop_oneof![Just(None), (1usize..9).prop_map(Some)],
    ) {
        // Frames of the same shape follow one another, as in files of simulation programs.
        let sections: Vec<_> = sections.iter().flat_map(|&s| std::iter::repeat_n(s, repeat)).collect();
        let bytes = file_bytes(&frames(n_atoms, &sections, u64::from(seed)));
        let right = decode_file(&bytes).expect("a valid file");
        let atoms = draw_atoms(n_atoms, &picks);
        // A batch of a given capacity has columns only for positions. The reader omits other requested quantities.
        let wanted = quantities(wanted);
        let held = if capacity.is_some() { wanted.both(Quantities::POSITIONS) } else { wanted };
        let file = file_of(&bytes);
        let all: Vec<_> = right.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms, held)).collect();
        let list: Vec<_> = order.iter().map(|index| index.index(right.len()) as u64).collect();
        for access in [Access::Map, Access::Read] {
            let trr = open(file.path(), access)?;
            let whole = Extent::Bytes(0..bytes.len() as u64);
            prop_assert_eq!(&read_wanted(&trr, &atoms, wanted, &whole, capacity)?.0, &all);
            let by_number = Extent::Frames(FrameSet::all(all.len() as u64));
            prop_assert_eq!(&read_wanted(&trr, &atoms, wanted, &by_number, capacity)?.0, &all);
            let in_any_order = Extent::Frames(FrameSet::List(list.clone().into()));
            let chosen: Vec<_> = list.iter().map(|&i| all[i as usize].clone()).collect();
            prop_assert_eq!(&read_wanted(&trr, &atoms, wanted, &in_any_order, capacity)?.0, &chosen);
            check_rows(&trr, &atoms, wanted, &FrameSet::List(list.clone().into()));
            let times: Vec<_> = right.iter().map(|frame| f64::from(frame.time as f32)).collect();
            prop_assert_eq!(trr.times()?, times);
            trr.check_end()?;
        }
    }
}

#[test]
fn frame_of_several_loads_has_the_bits_that_the_oracle_reads() {
    let n_atoms = 60_000;
    let bytes = file_bytes(&frames(n_atoms, &[0x0f, 0x4f, 0x0f], 3));
    let right = decode_file(&bytes).expect("a valid file");
    let file = file_of(&bytes);
    let trr = open(file.path(), Access::Auto).expect("a valid file");
    let scattered = AtomSelection::new((0..n_atoms as u32).step_by(997).collect()).expect("ascending");
    for atoms in [AtomSelection::all(n_atoms), scattered] {
        let all: Vec<_> = right.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms, Quantities::ALL)).collect();
        for extent in [Extent::Bytes(0..bytes.len() as u64), Extent::Frames(FrameSet::all(3))] {
            assert_eq!(read_wanted(&trr, &atoms, Quantities::ALL, &extent, None).expect("whole").0, all);
        }
        check_rows(&trr, &atoms, Quantities::ALL, &FrameSet::all(3));
    }
}

#[test]
fn only_the_bytes_that_pay_are_read() {
    let n_atoms = 30_000;
    let bytes = file_bytes(&frames(n_atoms, &[0x0f; 4], 3));
    let file = file_of(&bytes);
    let n_bytes = |wanted, atoms: &[u32]| {
        let trr = open(file.path(), Access::Read).expect("a valid file");
        let atoms = AtomSelection::new(atoms.to_vec()).expect("ascending");
        let extent = Extent::Frames(FrameSet::all(4));
        let (_, _, spans) = read_wanted(&trr, &atoms, wanted, &extent, None).expect("whole");
        let read = spans.iter().filter(|span| span.kind == SpanKind::Read);
        read.map(|span| span.n_bytes).sum::<u64>()
    };
    let all: Vec<u32> = (0..n_atoms as u32).collect();
    let section = 12 * n_atoms as u64;
    assert!(n_bytes(Quantities::ALL, &all) <= bytes.len() as u64);
    let positions = n_bytes(Quantities::POSITIONS, &all);
    assert!((4 * section..4 * section + 1000).contains(&positions), "{positions}");
    let velocities = n_bytes(quantities(2), &all);
    assert!((4 * section..4 * section + 1000).contains(&velocities), "{velocities}");
    assert!(n_bytes(Quantities::POSITIONS, &[29_999]) < 1000);
    assert!(n_bytes(Quantities::NONE, &all) < 1000);
}

#[test]
fn frames_that_do_not_exist_are_refused() {
    let bytes = file_bytes(&frames(3, &[1, 2], 1));
    let file = file_of(&bytes);
    let trr = open(file.path(), Access::Auto).expect("a valid file");
    let beyond = read_frames(&trr, &AtomSelection::all(3), FrameSet::all(3));
    assert!(matches!(beyond, Err(Error::FrameIndex { frame: 2, n_frames: 2, .. })));
    assert!(matches!(trr.reader(&AtomSelection::all(4), Quantities::ALL), Err(Error::Mismatch(_))));
}

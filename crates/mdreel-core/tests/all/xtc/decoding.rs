//! Every possible encoding of a frame: the decoder returns the same bits as the oracle.

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use mdreel_core::span::SpanKind;
use proptest::prelude::*;

use crate::file_of;
use crate::xtc_oracle::{decode_file, product_bits};
use crate::xtc_reading::{expected, open, open_in_all_ways, read, read_bytes, read_frames};
use crate::xtc_stream::{Coverage, Dice, Shape, Width, append_frame, draw_selection, random_file};

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..64)
}

fn any_n_atoms() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 1usize..10, 5 => 10usize..60, 3 => 60usize..1200]
}

#[test]
fn streams_cover_all_that_the_format_allows() {
    let mut coverage = Coverage::default();
    for seed in 0u16..400 {
        random_file(&mut Dice::new(&seed.to_le_bytes()), 300, 2, &mut coverage);
    }
    assert_eq!(coverage.packed_bits, (1..=72).collect());
    assert_eq!(coverage.field_bits, (1..=32).collect());
    assert_eq!(coverage.small_indices, (9..=72).collect());
    assert_eq!(coverage.runs, (0..=10).collect());
    assert_eq!(coverage.kept_runs, (0..=10).collect());
    assert_eq!(coverage.changes, (-1..=1).collect());
    assert!(coverage.thin_axes);
}

#[test]
fn every_width_of_a_big_coordinate_equals_the_oracle() {
    for bits in 1..=72 {
        for magic in [1995, 2023] {
            let steer = [bits as u8, magic as u8];
            let mut dice = Dice::new(&steer);
            let mut bytes = Vec::new();
            for most_run in [0, 1, 8, 10, 10] {
                let shape = Shape { n_atoms: 90, magic, width: Width::Packed(bits), most_run };
                append_frame(&mut dice, shape, &mut bytes, &mut Coverage::default());
            }
            let frames = decode_file(&bytes).expect("a valid stream");
            let file = file_of(&bytes);
            let atoms = AtomSelection::all(90);
            let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
            for xtc in open_in_all_ways(file.path()).expect("a valid file") {
                assert_eq!(read_frames(&xtc, &atoms, FrameSet::all(5)).expect("valid frames"), expected, "{bits} bits");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_stream_and_selection_equal_the_oracle(steer in any_bytes(), n_atoms in any_n_atoms(), n_frames in 1usize..8) {
        let mut dice = Dice::new(&steer);
        let bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
        let frames = decode_file(&bytes).expect("a valid stream");
        prop_assert_eq!(frames.len(), n_frames);
        let file = file_of(&bytes);
        let xtc = open(file.path())?;
        prop_assert_eq!(xtc.n_atoms(), n_atoms);
        for selection in [(0..n_atoms as u32).collect(), draw_selection(&mut dice, n_atoms), draw_selection(&mut dice, n_atoms)] {
            let atoms = AtomSelection::new(selection)?;
            let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
            for xtc in open_in_all_ways(file.path())? {
                let (seen, located) = read_bytes(&xtc, &atoms, 0..bytes.len() as u64)?;
                prop_assert_eq!(&seen, &expected);
                prop_assert_eq!(located.first, Some(0));
                prop_assert_eq!(located.end, bytes.len() as u64);
            }
            prop_assert_eq!(read_frames(&xtc, &atoms, FrameSet::all(n_frames as u64))?, expected);
        }
        prop_assert_eq!(xtc.n_frames()?, n_frames as u64);
        let times: Vec<_> = frames.iter().map(|frame| f64::from(frame.time)).collect();
        prop_assert_eq!(xtc.times()?, times);
        xtc.check_end()?;
    }

    #[test]
    fn frames_by_number_equal_the_oracle_in_any_order(
        steer in any_bytes(), n_atoms in any_n_atoms(), n_frames in 1usize..12, capacity in 1usize..9,
        (start, step) in (0u64..12, 1u64..5), list in proptest::collection::vec(0u64..12, 0..40),
    ) {
        let mut dice = Dice::new(&steer);
        let bytes = random_file(&mut dice, n_atoms, n_frames, &mut Coverage::default());
        let frames = decode_file(&bytes).expect("a valid stream");
        let atoms = AtomSelection::new(draw_selection(&mut dice, n_atoms))?;
        let file = file_of(&bytes);
        let xtc = open(file.path())?;
        let n = n_frames as u64;
        let start = start % n;
        let range = FrameSet::Range { start, step, count: (n - start).div_ceil(step) };
        let list = FrameSet::List(list.iter().map(|i| i % n).collect());
        for set in [range, list] {
            let numbers = (0..set.len()).map(|i| set.get(i));
            let expected: Vec<_> = numbers.map(|i| expected(&frames[i as usize], i, &atoms)).collect();
            prop_assert_eq!(read(&xtc, &atoms, &Extent::Frames(set), capacity)?.0, expected);
        }
    }
}

/// Creates frames of more than 32 KiB whose first atoms take very different fractions of their bytes.
fn uneven_file(dice: &mut Dice<'_>, n_atoms: usize, n_frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..n_frames {
        let shape = match dice.below(3) {
            0 => Shape { n_atoms, magic: 1995, width: Width::Packed(40), most_run: 10 },
            1 => Shape { n_atoms, magic: 2023, width: Width::Packed(72), most_run: 0 },
            _ => Shape { n_atoms, magic: 1995, width: Width::Fields, most_run: 2 },
        };
        append_frame(dice, shape, &mut bytes, &mut Coverage::default());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn large_frames_equal_the_oracle_when_only_their_first_part_is_read(
        steer in any_bytes(), early in 1usize..3000, capacity in 1usize..20,
    ) {
        let mut dice = Dice::new(&steer);
        let bytes = uneven_file(&mut dice, 9000, 12);
        let frames = decode_file(&bytes).expect("a valid stream");
        let file = file_of(&bytes);
        let atoms = AtomSelection::new(draw_selection(&mut dice, early))?;
        let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
        for xtc in open_in_all_ways(file.path())? {
            for extent in [Extent::Bytes(0..bytes.len() as u64), Extent::Frames(FrameSet::all(12))] {
                prop_assert_eq!(&read(&xtc, &atoms, &extent, capacity)?.0, &expected);
            }
        }
    }
}

#[test]
fn frames_are_read_again_when_their_first_part_was_too_little() {
    // The frames of the first load need few bytes. The reader therefore loads few bytes of the next frames, which need
    // many.
    let mut bytes = Vec::new();
    let mut dice = Dice::new(b"uneven");
    for bits in [16; 40].into_iter().chain([72, 16, 16, 60, 72, 60]) {
        let shape = Shape { n_atoms: 20_000, magic: 1995, width: Width::Packed(bits), most_run: 0 };
        append_frame(&mut dice, shape, &mut bytes, &mut Coverage::default());
    }
    let frames = decode_file(&bytes).expect("a valid stream");
    let atoms = AtomSelection::new(vec![0, 17, 3000, 4999]).expect("ascending");
    let file = file_of(&bytes);
    for located in [false, true] {
        let xtc = open(file.path()).expect("a valid file");
        let n = xtc.n_frames().expect("a valid file");
        let extent = if located { Extent::Frames(FrameSet::all(n)) } else { Extent::Bytes(0..bytes.len() as u64) };
        let (seen, _, spans) = read(&xtc, &atoms, &extent, 1).expect("valid frames");
        let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
        assert_eq!(seen, expected);
        let reads: Vec<_> = spans.iter().filter(|span| span.kind == SpanKind::Read).collect();
        let mut from = 0;
        let too_little = reads.iter().filter(|load| {
            let loaded = &frames[from..from + load.n_frames as usize];
            from += loaded.len();
            load.n_bytes < loaded.iter().map(|frame| frame.needed[4999] as u64).sum()
        });
        assert!(too_little.count() > 0, "located: {located}");
        assert_eq!(from, frames.len());
    }
}

#[test]
fn product_bits_count_as_the_format_does() {
    assert_eq!([1, 2, 3, 4].map(|size| product_bits([size, 1, 1])), [1, 2, 2, 3]);
}

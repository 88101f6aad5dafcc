//! DCD: the reader returns what the writer wrote, in every variant of the format.

use mdreel_core::Error;
use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::source::dcd::Flavor;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::{Recorder, SpanKind};
use mdreel_core::unit_cell::UnitCell;
use proptest::prelude::*;

use crate::dcd_reading::{Frames, open, read, read_all};
use crate::dcd_writer::DcdWriter;

/// A cell with angles in degrees, which the reader does not convert.
const CELL: [f64; 6] = [30.0, 80.0, 40.0, 70.0, 60.0, 50.0];

/// Compares frames that were read with the written ones, bit by bit.
fn check(writer: &DcdWriter, read: &Frames, atoms: &[u32], frames: &[u64]) -> Result<(), String> {
    let numbers: Vec<u64> = read.headers.iter().map(|header| header.index).collect();
    if numbers != frames {
        return Err(format!("frames {numbers:?} instead of {frames:?}"));
    }
    for (i, &frame) in frames.iter().enumerate() {
        for (axis, column) in read.columns[i].iter().enumerate() {
            let expected: Vec<f32> =
                atoms.iter().map(|&atom| writer.coordinate(frame as usize, atom as usize, axis)).collect();
            if let Some(k) = (0..atoms.len()).find(|&k| column[k].to_bits() != expected[k].to_bits()) {
                let (atom, got, expected) = (atoms[k], column[k], expected[k]);
                return Err(format!("frame {frame}, axis {axis}, atom {atom}: {got} instead of {expected}"));
            }
        }
        let cell = writer
            .cell(frame as usize)
            .map(|[a, gamma, b, beta, alpha, c]| UnitCell::Dimensions([a, b, c, alpha, beta, gamma].map(|v| v as f32)));
        if read.headers[i].unit_cell != cell {
            return Err(format!("frame {frame}: cell {:?} instead of {cell:?}", read.headers[i].unit_cell));
        }
    }
    Ok(())
}

/// Returns writers of every variant of the format.
fn flavours() -> Vec<DcdWriter> {
    let mut flavours = Vec::new();
    for bits in 0..16 {
        let (big_endian, wide_markers) = (bits & 1 > 0, bits & 2 > 0);
        let (cells, fourth_dimension) = (if bits & 4 > 0 { vec![CELL] } else { Vec::new() }, bits & 8 > 0);
        for charmm_version in [0, 24, 41] {
            if charmm_version == 0 && bits >= 4 {
                continue;
            }
            for free_atoms in [None, Some(vec![1, 2, 5, 8, 20]), Some(vec![20, 3, 0]), Some(vec![])] {
                flavours.push(DcdWriter {
                    big_endian,
                    wide_markers,
                    charmm_version,
                    cells: cells.clone(),
                    fourth_dimension,
                    free_atoms,
                    n_atoms: 21,
                    n_frames: 5,
                    ..DcdWriter::default()
                });
            }
        }
    }
    flavours
}

#[test]
fn test_dcd_gives_what_was_written_in_every_flavour() {
    for writer in flavours() {
        let dcd = open(&writer.write().bytes).expect("a good file");
        assert_eq!(dcd.header().flavor == Flavor::Xplor, writer.charmm_version == 0);
        assert_eq!((dcd.n_atoms(), dcd.n_frames().unwrap(), dcd.uncounted_bytes()), (21, 5, 0));
        for atoms in [(0..21).collect(), vec![], vec![20], vec![3, 4, 6, 7], vec![1, 2, 5], (1..20).collect()] {
            let selection = AtomSelection::new(atoms.clone()).unwrap();
            let read = read(&dcd, &selection, FrameSet::all(5), 3).expect("good frames");
            check(&writer, &read, &atoms, &[0, 1, 2, 3, 4]).unwrap_or_else(|error| panic!("{writer:?}: {error}"));
        }
    }
}

#[test]
fn test_dcd_gives_times_and_steps_of_the_header() {
    for (charmm_version, time_step) in [(24, f64::from(0.020_454_828_f32)), (0, 0.0204548273)] {
        let writer = DcdWriter { charmm_version, time_step, first_step: 7, steps_per_frame: 3, ..DcdWriter::default() };
        let dcd = open(&writer.write().bytes).unwrap();
        let frames = read_all(&writer.write().bytes).unwrap();
        let expected: Vec<f64> =
            (0..3).map(|frame| (f64::from(frame) + 7.0 / 3.0) * (time_step * 4.888821e-2 * 3.0)).collect();
        assert_eq!(dcd.times().unwrap(), expected);
        assert_eq!(frames.headers.iter().map(|header| header.time).collect::<Vec<_>>(), expected);
        assert_eq!(frames.headers.iter().map(|header| header.step).collect::<Vec<_>>(), [7, 10, 13]);
    }
}

#[test]
fn test_dcd_counts_frames_as_steps_when_the_header_has_no_interval() {
    let writer = DcdWriter { steps_per_frame: 0, first_step: 0, ..DcdWriter::default() };
    let frames = read_all(&writer.write().bytes).unwrap();
    assert_eq!(frames.headers.iter().map(|header| header.step).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(frames.headers.iter().all(|header| header.time.is_finite()));
}

#[test]
fn test_dcd_takes_each_frames_own_cell() {
    let cells = vec![CELL, [0.0; 6], [10.0, 0.0, 20.0, 0.0, 0.0, 30.0], [20.0, 5.0, 20.0, 5.0, -5.0, 20.0]];
    let frames = read_all(&DcdWriter { cells, n_frames: 4, ..DcdWriter::default() }.write().bytes).unwrap();
    let lengths = |i: usize| frames.headers[i].unit_cell.map(|cell| cell.dimensions()[..3].to_vec());
    assert_eq!(lengths(0), Some(vec![30.0, 40.0, 50.0]));
    assert_eq!(lengths(1), None);
    assert_eq!(frames.headers[2].unit_cell, Some(UnitCell::Dimensions([10.0, 20.0, 30.0, 90.0, 90.0, 90.0])));
    assert_eq!(lengths(3), Some(vec![450f64.sqrt() as f32; 3]));
}

#[test]
fn test_dcd_reads_frames_larger_than_a_load() {
    // A column has 1.2 MB, so a frame takes several loads. Their edges divide runs and gathers.
    let n_atoms = 300_000;
    for (big_endian, cells, free_atoms) in
        [(false, vec![CELL], None), (true, vec![], None), (false, vec![CELL], Some((5..n_atoms as u32).collect()))]
    {
        let writer = DcdWriter { n_atoms, n_frames: 2, big_endian, cells, ..DcdWriter::default() };
        let dcd = open(&DcdWriter { free_atoms: free_atoms.clone(), ..writer.clone() }.write().bytes).unwrap();
        for step in [1, 2, 977, 5_000] {
            // The selection omits the fixed atoms (0 to 4), because the oracle looks them up one by one.
            let atoms: Vec<u32> = (5..n_atoms as u32).step_by(step).collect();
            let selection = AtomSelection::new(atoms.clone()).unwrap();
            let read = read(&dcd, &selection, FrameSet::all(2), 2).unwrap();
            check(&writer, &read, &atoms, &[0, 1]).unwrap_or_else(|error| panic!("step {step}: {error}"));
        }
    }
}

#[test]
fn test_dcd_reads_only_what_pays() {
    let writer = DcdWriter { n_atoms: 100_000, n_frames: 8, cells: vec![CELL], ..DcdWriter::default() };
    let dcd = open(&writer.write().bytes).unwrap();
    let n_bytes = |atoms: Vec<u32>| {
        let selection = AtomSelection::new(atoms.clone()).unwrap();
        let read = read(&dcd, &selection, FrameSet::all(8), 8).unwrap();
        check(&writer, &read, &atoms, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let reads = read.spans.iter().filter(|span| span.kind == SpanKind::Read);
        reads.map(|span| span.n_bytes).sum::<u64>()
    };
    let frame_bytes = 12 * 100_000 + 56 + 24;
    assert_eq!(n_bytes((0..100_000).collect()), 8 * frame_bytes);
    assert!(n_bytes((0..1_000).collect()) < 8 * (12 * 1_000 + 400));
    assert!(n_bytes(vec![50_000]) < 8 * 400);
}

#[test]
fn test_dcd_records_spans_that_cover_all_frames() {
    let writer = DcdWriter { n_frames: 11, free_atoms: None, ..DcdWriter::default() };
    let dcd = open(&writer.write().bytes).unwrap();
    let read = read(&dcd, &AtomSelection::all(7), FrameSet::all(11), 4).unwrap();
    for kind in [SpanKind::Read, SpanKind::Decompress] {
        let spans = read.spans.iter().filter(|span| span.kind == kind);
        assert_eq!(spans.map(|span| span.n_frames).sum::<u64>(), 11);
    }
    assert!(read.spans.iter().all(|span| span.n_bytes > 0));
}

#[test]
fn test_dcd_starts_again_after_an_extent() {
    let writer = DcdWriter { n_frames: 6, free_atoms: Some(vec![1, 4]), ..DcdWriter::default() };
    let dcd = open(&writer.write().bytes).unwrap();
    let atoms = AtomSelection::all(7);
    let mut reader = dcd.reader(&atoms, Quantities::POSITIONS).unwrap();
    let mut recorder = Recorder::new(std::time::Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(7, 4);
    for start in [4, 0, 2] {
        reader.start(&Extent::Frames(FrameSet::Range { start, step: 1, count: 2 })).unwrap();
        reader.read(&mut batch, &mut recorder).unwrap();
        assert_eq!(batch.headers().iter().map(|header| header.index).collect::<Vec<_>>(), [start, start + 1]);
        assert_eq!(batch.columns(1).y[4], writer.coordinate(start as usize + 1, 4, 1));
        assert_eq!(batch.columns(1).y[3], writer.coordinate(0, 3, 1));
        reader.read(&mut batch, &mut recorder).unwrap();
        assert!(batch.is_empty());
    }
}

#[test]
fn test_dcd_refuses_what_it_does_not_have() {
    let dcd = open(&DcdWriter::default().write().bytes).unwrap();
    let beyond = AtomSelection::new(vec![3, 7]).unwrap();
    assert!(
        matches!(dcd.reader(&beyond, Quantities::POSITIONS).err(), Some(Error::Mismatch(problem)) if problem.message.contains("7 atoms"))
    );
    let atoms = AtomSelection::all(7);
    let mut reader = dcd.reader(&atoms, Quantities::POSITIONS).unwrap();
    let frames = FrameSet::List([0, 3, 1].into());
    let error = reader.start(&Extent::Frames(frames)).unwrap_err();
    assert!(matches!(error, Error::FrameIndex { frame: 3, n_frames: 3, .. }), "{error}");
    assert!(matches!(reader.start(&Extent::Bytes(0..100)), Err(Error::Unsupported(_))));
    let mut recorder = Recorder::new(std::time::Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(6, 4);
    assert!(matches!(reader.read(&mut batch, &mut recorder), Err(Error::Mismatch(_))));
}

/// Generates selections as kernels use them: scattered atoms and contiguous stretches.
fn selections(n_atoms: usize) -> impl Strategy<Value = Vec<u32>> {
    let stretch = (0..n_atoms, 1usize..400, 1usize..1500);
    prop::collection::vec(stretch, 0..6).prop_map(move |stretches| {
        let mut atoms: Vec<u32> = Vec::new();
        for (start, count, step) in stretches {
            atoms.extend((start..n_atoms).step_by(if step > 900 { 1 } else { step }).take(count).map(|i| i as u32));
        }
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn test_dcd_gives_what_was_written_for_any_selection(
        (n_atoms, atoms, free) in (1usize..9_000).prop_flat_map(|n| {
            (Just(n), selections(n), prop::option::of(selections(n).prop_shuffle()))
        }),
        frames in prop_oneof![
            (0u64..6, 1u64..4).prop_map(|(start, step)| FrameSet::Range { start, step, count: (6 - start).div_ceil(step) }),
            prop::collection::vec(0u64..6, 0..9).prop_map(|list| FrameSet::List(list.into())),
        ],
        capacity in 1usize..9,
        bits in 0u32..16,
    ) {
        let writer = DcdWriter {
            big_endian: bits & 1 > 0,
            wide_markers: bits & 2 > 0,
            cells: if bits & 4 > 0 { vec![CELL] } else { vec![] },
            fourth_dimension: bits & 8 > 0,
            // If all atoms are free, the file has no list of them.
            free_atoms: free.filter(|free| free.len() < n_atoms),
            n_atoms,
            n_frames: 6,
            ..DcdWriter::default()
        };
        let dcd = open(&writer.write().bytes).unwrap();
        let selection = AtomSelection::new(atoms.clone()).unwrap();
        let numbers: Vec<u64> = (0..frames.len()).map(|i| frames.get(i)).collect();
        let read = read(&dcd, &selection, frames, capacity).unwrap();
        prop_assert_eq!(check(&writer, &read, &atoms, &numbers), Ok(()));
    }
}

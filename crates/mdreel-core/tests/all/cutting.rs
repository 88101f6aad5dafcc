//! Round trip: frames that are cut into chunks and read with the reader of chunked files do not change.

use std::io::Write;

use mdreel_core::Result;
use mdreel_core::block::FrameSet;
use mdreel_core::convert::{ChunkSink, chunk_outline, convert_to_chunks};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities, Quantity};
use mdreel_core::pool::{Monitor, Unattended};
use mdreel_core::source::AtomSelection;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::chunked::{
    Cells, Chunked, Conversion, Description, Filter, Kind, Layout, Number, StoredChunk,
};
use mdreel_core::source::memory::MemorySource;
use mdreel_core::unit_cell::UnitCell;
use mdreel_core::writer::chunks::{Chunk, ChunkCutter, ChunkLayout, CutFrames};
use proptest::prelude::*;
use tempfile::NamedTempFile;

use crate::chunked_reading::read;

/// A sink that collects the chunks and the starts of the writes.
#[derive(Default, PartialEq, Debug)]
struct Collected {
    frames: CutFrames,
    starts: Vec<u64>,
}

impl ChunkSink for Collected {
    fn write(&mut self, first: u64, cut: CutFrames) -> Result<()> {
        self.starts.push(first);
        self.frames.steps.extend(cut.steps);
        self.frames.times.extend(cut.times);
        self.frames.cells.extend(cut.cells);
        let moved = cut.chunks.into_iter().map(|chunk| Chunk { frame: chunk.frame + first, ..chunk });
        self.frames.chunks.extend(moved);
        Ok(())
    }
}

/// Creates a trajectory of different numbers, with frames 2 ps apart and a cell in two of three frames.
fn memory(n_frames: usize, n_atoms: usize) -> MemorySource {
    let positions = (0..n_frames * n_atoms * 3).map(|i| i as f32 / 8.0).collect();
    let cell = |i: usize| (i % 3 != 2).then_some(UnitCell::Dimensions([10.0 + i as f32, 20.0, 30.0, 90.0, 90.0, 90.0]));
    let times = (0..n_frames).map(|i| 2.0 * i as f64).collect();
    MemorySource::new(n_atoms, positions, times, (0..n_frames).map(cell).collect()).unwrap()
}

/// Creates a file from the chunks of a quantity and opens it with the reader.
fn reassemble(cut: &CutFrames, layout: &ChunkLayout, quantity: Quantity) -> Chunked {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(&[0xaa; 7]).expect("room on the disk");
    let mut offset = 7;
    let mut chunks = Vec::new();
    let per_row = layout.n_atoms.div_ceil(layout.chunk_atoms) as u64;
    for chunk in cut.chunks.iter().filter(|chunk| chunk.quantity == quantity) {
        let (row, column) = (chunk.frame / layout.chunk_frames as u64, chunk.atom / layout.chunk_atoms as u64);
        let size = chunk.bytes.len() as u64;
        chunks.push(StoredChunk { cell: row * per_row + column, offset, size, filter_mask: 0 });
        file.write_all(&chunk.bytes).expect("room on the disk");
        offset += size;
    }
    let filters = match layout.deflate_level {
        Some(_) => vec![Filter::Shuffle { element_bytes: 4 }, Filter::Deflate],
        None => Vec::new(),
    };
    let description = Description {
        name: "/value".into(),
        number: Number { kind: Kind::F32, is_big_endian: false },
        shape: [cut.times.len() as u64, layout.n_atoms as u64, 3],
        chunk: [layout.chunk_frames as u64, layout.chunk_atoms as u64, 3],
        filters,
        chunks,
        // The value of every missing chunk.
        fill_value: f64::NAN,
        conversion: Conversion { scale: 1.0, in_double: false, unit: 1.0 },
        frames: None,
    };
    let layout = Layout {
        times: cut.times.clone(),
        steps: cut.steps.clone(),
        quantities: vec![(Quantity::Positions, description)],
        cells: Cells::None,
    };
    Chunked::open(FileBytes::open(file.path(), Access::Auto).unwrap(), layout).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn frames_cut_and_put_together_are_what_they_were(
        (n_frames, n_atoms) in (1usize..70, 1usize..60),
        (chunk_frames, chunk_atoms) in (1usize..20, 1usize..70),
        deflate_level in prop::option::of(0u32..10),
        n_workers in 1usize..4,
        every in 1usize..4,
        step in 1u64..4,
    ) {
        let source = memory(n_frames, n_atoms);
        let atoms = AtomSelection::new((0..n_atoms as u32).step_by(every).collect()).unwrap();
        let frames = FrameSet::Range { start: 0, step, count: (n_frames as u64).div_ceil(step) };
        let outline = chunk_outline(&source, &atoms, &frames).unwrap();
        prop_assert_eq!((outline.quantities, outline.has_unit_cell), (Quantities::POSITIONS, true));
        let (quantities, has_unit_cell, n_atoms) = (outline.quantities, true, atoms.len());
        let layout = ChunkLayout { n_atoms, quantities, has_unit_cell, chunk_frames, chunk_atoms, deflate_level };
        let mut sink = Collected::default();
        convert_to_chunks(&source, &atoms, &frames, layout, n_workers, &mut Unattended, &mut sink).unwrap();
        let mut alone = Collected::default();
        convert_to_chunks(&source, &atoms, &frames, layout, 1, &mut Unattended, &mut alone).unwrap();
        prop_assert_eq!(&sink, &alone);
        prop_assert!(sink.starts.iter().all(|start| start % chunk_frames as u64 == 0));
        let wanted: Vec<u64> = (0..frames.len()).map(|i| frames.get(i)).collect();
        let cells = wanted.iter().flat_map(|&i| match i % 3 {
            2 => [0.0; 9],
            _ => [10.0 + i as f32, 0.0, 0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 30.0],
        });
        prop_assert_eq!(&sink.frames.cells, &cells.collect::<Vec<f32>>());
        prop_assert_eq!(&sink.frames.times, &wanted.iter().map(|&i| 2.0 * i as f64).collect::<Vec<_>>());
        let back = reassemble(&sink.frames, &layout, Quantity::Positions);
        let seen = read(&back, &AtomSelection::all(atoms.len()), FrameSet::all(frames.len()), 5).unwrap();
        let n_all = source_atoms(&source);
        for (i, (index, rows)) in seen.iter().enumerate() {
            prop_assert_eq!(*index, i as u64);
            let expected: Vec<[f32; 3]> = atoms.indices().iter().map(|&atom| {
                std::array::from_fn(|k| ((wanted[i] as usize * n_all + atom as usize) * 3 + k) as f32 / 8.0)
            }).collect();
            prop_assert_eq!(rows, &expected);
        }
        prop_assert_eq!(seen.len(), wanted.len());
    }

    #[test]
    fn every_quantity_is_cut_into_chunks_of_its_own(
        batches in prop::collection::vec(1usize..9, 1..6),
        (chunk_frames, chunk_atoms) in (1usize..12, 1usize..12),
        deflate_level in prop::option::of(Just(1u32)),
    ) {
        let quantities = Quantities::ALL;
        let layout =
            ChunkLayout { n_atoms: 7, quantities, has_unit_cell: false, chunk_frames, chunk_atoms, deflate_level };
        let mut cutter = ChunkCutter::new(layout);
        // Values of earlier frames must not remain in the padding of the last chunk.
        cutter.add(&batch_of(0, 11, Quantities::ALL), &mut || true).unwrap();
        cutter.finish(&mut || true).unwrap();
        let mut n_frames = 0;
        for n in batches {
            cutter.add(&batch_of(n_frames, n, Quantities::ALL), &mut || true).unwrap();
            n_frames += n;
        }
        let cut = cutter.finish(&mut || true).unwrap();
        prop_assert!(cut.cells.is_empty());
        if deflate_level.is_none() {
            let numbers: usize = cut.chunks.iter().flat_map(|chunk| chunk.bytes.as_chunks::<4>().0)
                .filter(|&&number| f32::from_le_bytes(number) != 0.0).count();
            prop_assert_eq!(numbers, 3 * 3 * 7 * n_frames);
        }
        for quantity in Quantities::ALL.iter() {
            let back = reassemble(&cut, &layout, quantity);
            let seen = read(&back, &AtomSelection::all(7), FrameSet::all(n_frames as u64), 4).unwrap();
            prop_assert_eq!(seen.len(), n_frames);
            for (frame, rows) in seen {
                for (atom, row) in rows.iter().enumerate() {
                    prop_assert_eq!(*row, std::array::from_fn(|k| number(frame as usize, atom, k, quantity)));
                }
            }
        }
    }
}

fn source_atoms(source: &MemorySource) -> usize {
    use mdreel_core::source::Source;
    source.n_atoms()
}

/// Returns a nonzero number that is different for each atom, frame, axis and quantity.
fn number(frame: usize, atom: usize, axis: usize, quantity: Quantity) -> f32 {
    (((frame * 16 + atom) * 4 + axis) * 4 + quantity as usize + 1) as f32
}

/// Creates frames of seven atoms.
fn batch_of(first: usize, n: usize, present: Quantities) -> FrameBatch {
    let mut batch = FrameBatch::for_quantities(7, Quantities::ALL);
    for i in 0..n {
        let header = FrameHeader {
            index: (first + i) as u64,
            step: i as i64,
            time: i as f64,
            unit_cell: None,
            lambda: None,
            present,
        };
        batch.push(header);
        for quantity in Quantities::ALL.iter() {
            let columns = batch.columns_of_mut(i, quantity).unwrap();
            for (k, column) in [columns.x, columns.y, columns.z].into_iter().enumerate() {
                (0..7).for_each(|atom| column[atom] = number(first + i, atom, k, quantity));
            }
        }
    }
    batch
}

fn layout() -> ChunkLayout {
    let quantities = Quantities::ALL;
    ChunkLayout { n_atoms: 7, quantities, has_unit_cell: false, chunk_frames: 4, chunk_atoms: 3, deflate_level: None }
}

#[test]
fn frame_without_what_others_have_is_named() {
    let positions_alone = batch_of(40, 3, Quantities::POSITIONS);
    let error = ChunkCutter::new(layout()).add(&positions_alone, &mut || true).unwrap_err().to_string();
    assert_eq!(error, "frame 40: no velocities, which H5MD demands");
    let mut batch = batch_of(5, 2, Quantities::ALL);
    batch.header_mut(1).unit_cell = Some(UnitCell::Dimensions([1.0, 1.0, 1.0, 90.0, 90.0, 90.0]));
    let error = ChunkCutter::new(layout()).add(&batch, &mut || true).unwrap_err().to_string();
    assert_eq!(error, "frame 6: a unit cell, which the first frame lacks");
}

#[test]
fn chunks_that_cannot_be_are_refused() {
    for (changed, said) in [
        (ChunkLayout { chunk_frames: 0, ..layout() }, "hold nothing"),
        (ChunkLayout { chunk_atoms: 0, ..layout() }, "hold nothing"),
        (ChunkLayout { n_atoms: 0, ..layout() }, "hold nothing"),
        (ChunkLayout { chunk_frames: 1 << 20, chunk_atoms: 1 << 20, ..layout() }, "4 GiB or more"),
        (ChunkLayout { chunk_frames: usize::MAX, chunk_atoms: 2, ..layout() }, "4 GiB or more"),
        (ChunkLayout { deflate_level: Some(10), ..layout() }, "from 0 to 9, not 10"),
    ] {
        let error = changed.check().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    layout().check().unwrap();
    let mut sink = Collected::default();
    let (atoms, frames) = (AtomSelection::all(8), FrameSet::all(2));
    let done = convert_to_chunks(&memory(2, 8), &atoms, &frames, layout(), 1, &mut Unattended, &mut sink);
    assert!(done.unwrap_err().to_string().contains("chunks of 7 atoms for a selection of 8"));
}

/// A monitor that stops a conversion at once.
struct Impatient;

impl Monitor for Impatient {
    fn poll(&mut self, _frames_done: u64) -> bool {
        false
    }
}

#[test]
fn conversion_stops_between_chunks_when_nobody_wants_them() {
    let mut asked = 0;
    let mut cutter = ChunkCutter::new(layout());
    cutter
        .add(&batch_of(0, 4, Quantities::ALL), &mut || {
            asked += 1;
            asked < 3
        })
        .unwrap();
    assert_eq!((asked, cutter.finish(&mut || false).unwrap().chunks.len()), (3, 2));
    let source = memory(2, 400);
    let frames = FrameSet::List(vec![0; 1_000_000].into());
    let layout = ChunkLayout {
        n_atoms: 400,
        quantities: Quantities::POSITIONS,
        has_unit_cell: true,
        chunk_frames: 64,
        chunk_atoms: 64,
        deflate_level: Some(9),
    };
    for n_workers in [1, 3] {
        let mut sink = Collected::default();
        let atoms = AtomSelection::all(400);
        let done = convert_to_chunks(&source, &atoms, &frames, layout, n_workers, &mut Impatient, &mut sink);
        assert!(matches!(done, Err(mdreel_core::Error::Interrupted)));
    }
}

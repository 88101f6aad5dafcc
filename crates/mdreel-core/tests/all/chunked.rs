//! Chunked trajectories of every layout, compared with a loop over the numbers that were written.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use mdreel_core::block::FrameSet;
use mdreel_core::frame::Quantity;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::chunked::{
    Cells, Chunked, Conversion, Description, Filter, Kind, Layout, Number, StoredChunk,
};
use mdreel_core::source::{AtomSelection, SourceExt};
use mdreel_core::{Error, Result};
use proptest::prelude::*;
use tempfile::NamedTempFile;

use crate::chunked_reading::read;

/// Returns the value of a number. All values are different and exact in float32.
fn value(frame: u64, row: u64, column: u64) -> f32 {
    (frame * 1000 + row * 4 + column) as f32 / 8.0
}

/// A file and the description of the dataset in it.
struct Written {
    bytes: Vec<u8>,
    description: Description,
}

/// Writes a dataset of `shape` in chunks, without the chunks in `missing`, and in reverse order if `is_reversed`.
fn write(shape: [u64; 3], chunk: [u64; 3], is_deflated: bool, missing: &[u64], is_reversed: bool) -> Written {
    let grid: [u64; 3] = std::array::from_fn(|axis| shape[axis].div_ceil(chunk[axis]));
    let n_cells: u64 = grid.iter().product();
    let mut bytes = vec![0xaa; 100];
    let mut chunks = Vec::new();
    let cells: Box<dyn Iterator<Item = u64>> =
        if is_reversed { Box::new((0..n_cells).rev()) } else { Box::new(0..n_cells) };
    for cell in cells.filter(|cell| !missing.contains(cell)) {
        let origin =
            [cell / (grid[1] * grid[2]) * chunk[0], cell / grid[2] % grid[1] * chunk[1], cell % grid[2] * chunk[2]];
        let mut content = Vec::new();
        for frame in origin[0]..origin[0] + chunk[0] {
            for row in origin[1]..origin[1] + chunk[1] {
                for column in origin[2]..origin[2] + chunk[2] {
                    content.extend(value(frame, row, column).to_le_bytes());
                }
            }
        }
        // Every other chunk is stored without the filter, as its mask states.
        let is_skipped = cell % 2 == 1;
        if is_deflated && !is_skipped {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&content).expect("memory");
            content = encoder.finish().expect("memory");
        }
        let (offset, size) = (bytes.len() as u64, content.len() as u64);
        chunks.push(StoredChunk { cell, offset, size, filter_mask: u32::from(is_skipped) });
        bytes.extend(content);
    }
    let description = Description {
        name: "/positions".into(),
        number: Number { kind: Kind::F32, is_big_endian: false },
        shape,
        chunk,
        filters: if is_deflated { vec![Filter::Deflate] } else { Vec::new() },
        chunks,
        fill_value: -1.5,
        conversion: Conversion { scale: 1.0, in_double: false, unit: 2.0 },
        frames: None,
    };
    Written { bytes, description }
}

fn open(written: &Written) -> Result<Chunked> {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(&written.bytes).expect("room on the disk");
    let n_frames = written.description.shape[0];
    let layout = Layout {
        times: (0..n_frames).map(|frame| frame as f64).collect(),
        steps: (0..n_frames as i64).collect(),
        quantities: vec![(Quantity::Positions, written.description.clone())],
        cells: Cells::None,
    };
    FileBytes::open(file.path(), Access::Auto).and_then(|file| Chunked::open(file, layout))
}

proptest! {
    #[test]
    fn chunked_gives_what_was_written(
        shape in (1u64..20, 1u64..40),
        chunk in (1u64..8, 1u64..45, 1u64..4),
        is_deflated: bool,
        is_reversed: bool,
        missing in prop::collection::vec(0u64..30, 0..4),
        asked in prop::collection::vec(0u64..1000, 1..50),
        every in 1usize..7,
        capacity in 1usize..9,
    ) {
        let (shape, chunk) = ([shape.0, shape.1, 3], [chunk.0, chunk.1, chunk.2]);
        let source = open(&write(shape, chunk, is_deflated, &missing, is_reversed)).unwrap();
        let atoms = AtomSelection::new((0..shape[1] as u32).step_by(every).collect()).unwrap();
        let frames: Vec<u64> = asked.iter().map(|frame| frame % shape[0]).collect();
        let seen = read(&source, &atoms, FrameSet::List(frames.clone().into()), capacity).unwrap();
        let grid: [u64; 3] = std::array::from_fn(|axis| shape[axis].div_ceil(chunk[axis]));
        let expected: Vec<_> = frames.iter().map(|&frame| {
            let rows = atoms.indices().iter().map(|&row| std::array::from_fn(|column| {
                let (row, column) = (u64::from(row), column as u64);
                let cell = (frame / chunk[0] * grid[1] + row / chunk[1]) * grid[2] + column / chunk[2];
                2.0 * if missing.contains(&cell) { -1.5 } else { value(frame, row, column) }
            }));
            (frame, rows.collect::<Vec<[f32; 3]>>())
        }).collect();
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn chunked_reads_large_frames_in_several_loads() {
    let source = open(&write([3, 400_000, 3], [1, 400_000, 3], false, &[], false)).unwrap();
    let atoms = AtomSelection::new(vec![0, 1, 150_000, 399_999]).unwrap();
    let seen = read(&source, &atoms, FrameSet::all(3), 16).unwrap();
    assert_eq!(seen[2].1[3], std::array::from_fn(|column| 2.0 * value(2, 399_999, column as u64)));
    let seen = read(&source, &AtomSelection::all(400_000), FrameSet::all(3), 16).unwrap();
    assert_eq!(seen[1].1[200_000], std::array::from_fn(|column| 2.0 * value(1, 200_000, column as u64)));
}

/// Returns the message of the error that a changed description causes.
fn refusal(change: impl FnOnce(&mut Description)) -> String {
    let mut written = write([4, 5, 3], [2, 5, 3], true, &[], false);
    change(&mut written.description);
    match open(&written) {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn chunked_refuses_descriptions_that_do_not_fit_the_file() {
    assert!(refusal(|it| it.chunks[1].size = 1 << 40).contains("frame 2, byte"));
    assert!(refusal(|it| it.chunks[1].offset = u64::MAX).contains("but the file ends at byte"));
    assert!(refusal(|it| it.chunks[1].cell = 2).contains("only 2"));
    assert!(refusal(|it| it.chunks[1].cell = 0).contains("two chunks 0"));
    assert!(refusal(|it| it.chunks[1].size -= 4).contains("cannot be stored in"));
    assert!(refusal(|it| it.chunk = [1 << 30, 5, 3]).contains("cannot be stored in"));
    assert!(refusal(|it| it.chunk = [u64::MAX, 5, 3]).contains("no file holds the shape"));
    assert!(refusal(|it| it.chunk = [2, 0, 3]).contains("no file holds the shape"));
    assert!(refusal(|it| it.shape[1] = 1 << 62).contains("no file holds the shape"));
    assert!(refusal(|it| it.shape[2] = 2).contains("3 columns were expected"));
    assert!(refusal(|it| it.frames = Some(vec![Some(0); 2])).contains("4 frames of 5 rows were expected"));
    assert!(refusal(|it| it.frames = Some(vec![Some(9); 4])).contains("frame 9 was asked for"));
}

#[test]
fn chunked_names_frame_and_byte_of_a_corrupt_chunk() {
    let mut written = write([4, 5, 3], [2, 5, 3], true, &[1], false);
    let chunk = written.description.chunks[0];
    written.bytes[chunk.offset as usize + 12] ^= 0xff;
    let source = open(&written).unwrap();
    let error = read(&source, &AtomSelection::all(5), FrameSet::List([1].into()), 4).unwrap_err().to_string();
    assert!(error.contains("frame 1, byte 100: /positions: "), "{error}");
    let whole = read(&source, &AtomSelection::all(5), FrameSet::List([2, 3].into()), 4).unwrap();
    assert_eq!(whole[0].1[0], [-3.0; 3]);
    assert!(matches!(
        read(&source, &AtomSelection::all(5), FrameSet::List([4].into()), 4),
        Err(Error::FrameIndex { frame: 4, n_frames: 4, .. })
    ));
}

#[test]
fn chunked_says_which_frames_should_stay_together() {
    assert_eq!(open(&write([9, 5, 3], [4, 5, 3], true, &[], false)).unwrap().preferred_step(), 4);
    assert_eq!(open(&write([9, 5, 3], [4, 5, 3], false, &[], false)).unwrap().preferred_step(), 1);
    assert_eq!(open(&write([9, 5, 3], [4, 2, 3], false, &[], false)).unwrap().preferred_step(), 4);
}

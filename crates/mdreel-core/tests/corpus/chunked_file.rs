//! Arbitrary bytes as chunks of any layout. The first bytes determine the description of the file, and the rest is the
//! file.

use crate::chunked_reading::read;
use mdreel_core::block::FrameSet;
use mdreel_core::frame::Quantity;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::chunked::{
    Cells, Chunked, Conversion, Description, Filter, Kind, Layout, Number, StoredChunk,
};
use mdreel_core::source::{AtomSelection, Source};
use crate::scratch_file::ScratchFile;

/// Number of bytes that describe the file. `CHUNK` is the number of bytes that describe a chunk.
const DESCRIPTION: usize = 12;
const CHUNK: usize = 6;

/// Checks one input.
pub(crate) fn check(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<DESCRIPTION>() else { return };
    let n_chunks = usize::from(head[0] % 8);
    let Some((table, content)) = rest.split_at_checked(CHUNK * n_chunks) else { return };
    let kinds = [Kind::F32, Kind::F64, Kind::I32, Kind::I64];
    let filters = [
        Filter::Shuffle { element_bytes: usize::from(head[1] % 10) },
        Filter::Deflate,
        Filter::Fletcher32,
        Filter::Lzf,
    ];
    let n_frames = u64::from(head[2] % 16);
    let chunk = |at: &[u8]| StoredChunk {
        cell: u64::from(at[0]),
        offset: u64::from(at[1]),
        size: u64::from(u16::from_le_bytes([at[2], at[3]])),
        filter_mask: u32::from(at[4]),
    };
    let description = Description {
        name: "/fuzz".into(),
        number: Number { kind: kinds[usize::from(head[3] % 4)], is_big_endian: head[3] & 4 != 0 },
        shape: [n_frames, u64::from(head[4] % 32), 3],
        chunk: [u64::from(head[5]), u64::from(head[6]), u64::from(head[7] % 5)],
        filters: filters.into_iter().enumerate().filter(|(i, _)| head[8] >> i & 1 == 1).map(|(_, it)| it).collect(),
        chunks: table.chunks_exact(CHUNK).map(chunk).collect(),
        fill_value: f64::from(head[9]),
        conversion: Conversion { scale: f64::from(head[10]), in_double: head[11] & 1 == 1, unit: 1.0 },
        frames: None,
    };
    let layout = Layout {
        times: vec![0.0; n_frames as usize],
        steps: vec![0; n_frames as usize],
        quantities: vec![(Quantity::Positions, description)],
        cells: Cells::None,
    };
    let file = ScratchFile::new(content);
    let opened = FileBytes::open(file.path(), Access::Read).and_then(|file| Chunked::open(file, layout));
    let Ok(source) = opened else { return };
    let few = AtomSelection::new((0..source.n_atoms() as u32).step_by(3).collect()).expect("ascending");
    let all = AtomSelection::all(source.n_atoms());
    let Ok(whole) = read(&source, &all, FrameSet::all(n_frames), 5) else {
        let _ = read(&source, &few, FrameSet::all(n_frames), 16);
        return;
    };
    let backwards = FrameSet::List((0..n_frames).rev().collect());
    let part = read(&source, &few, backwards, 3).expect("all of it was read");
    for ((frame, seen), (expected_frame, expected)) in part.iter().zip(whole.iter().rev()) {
        assert_eq!(frame, expected_frame);
        let bits = |rows: &[[f32; 3]]| rows.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
        let expected: Vec<[f32; 3]> = expected.iter().step_by(3).copied().collect();
        assert_eq!(bits(seen), bits(&expected));
    }
}

//! XTC: the control pass, the decoding of every 15th atom and of all atoms, with each instruction set; from memory.
//!
//! Needs a real trajectory, whose groups of atoms are as long as those of real molecules: `$MDREEL_BENCH_XTC`, by
//! default the one that the benchmarks make.

use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::simd::Level;
use mdreel_core::source::bytes::MARGIN;
use mdreel_core::source::located::ChainedHeader;
use mdreel_core::source::xtc::coded::Coded;
use mdreel_core::source::xtc::control::{Groups, LANES, Walks, Wanted, walk};
use mdreel_core::source::xtc::decode::Decoder;
use mdreel_core::source::xtc::header::{Header, Storage};

const N_FRAMES: usize = 64 * LANES;
const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/benchmarks/data/adk-50000.xtc");

fn coded(bytes: &[u8]) -> Vec<Coded<'_>> {
    let mut frames = Vec::new();
    let mut at = 0;
    while let Ok(Some(header)) = Header::parse(&bytes[at..]) {
        let end = at + header.frame_len() as usize;
        if end + MARGIN > bytes.len() || frames.len() == N_FRAMES {
            break;
        }
        if let Storage::Compressed(compression) = &header.storage {
            frames.push(Coded::new(compression, header.n_atoms, &bytes[at + header.header_len..end + MARGIN]));
        }
        at = end;
    }
    frames.truncate(frames.len() / LANES * LANES);
    frames
}

#[expect(clippy::print_stderr, reason = "says why there is nothing to measure")]
fn decode(criterion: &mut Criterion) {
    let path = std::env::var_os("MDREEL_BENCH_XTC").map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from);
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("no trajectory at {}: set MDREEL_BENCH_XTC, or run ./task bench --make-data", path.display());
        return;
    };
    let n_atoms = Header::parse(&bytes).ok().flatten().map_or(0, |header| header.n_atoms);
    let frames = coded(&bytes);
    let selections = [
        ("every 15th atom", (0..n_atoms as u32).step_by(15).collect::<Vec<_>>()),
        ("all atoms", (0..n_atoms as u32).collect()),
        ("the last hundredth", (n_atoms as u32 - n_atoms as u32 / 100..n_atoms as u32).collect()),
    ];
    let mut group = criterion.benchmark_group("xtc");
    group.throughput(Throughput::Elements(frames.len() as u64));
    for level in Level::available() {
        let wanted = Wanted::new(&selections[1].1);
        let mut groups = Box::<Groups>::default();
        group.bench_function(format!("control pass, {}", level.name()), |bencher| {
            bencher.iter(|| {
                for frames in frames.chunks(LANES) {
                    let mut walks = Walks::none();
                    frames.iter().enumerate().for_each(|(lane, frame)| frame.begin(&mut walks, lane));
                    while !walks.are_over(&wanted) {
                        walk::<true>(level, &mut walks, &wanted, &mut groups);
                    }
                }
            });
        });
        for (name, indices) in &selections {
            let wanted = Wanted::new(indices);
            let mut decoder = Decoder::new(level);
            let mut batch = FrameBatch::with_capacity(indices.len(), LANES);
            for _ in 0..LANES {
                batch.push(FrameHeader {
                    index: 0,
                    step: 0,
                    time: 0.0,
                    unit_cell: None,
                    lambda: None,
                    present: Quantities::POSITIONS,
                });
            }
            let mut ends = Vec::new();
            group.bench_function(format!("{name}, {}", level.name()), |bencher| {
                bencher.iter(|| {
                    for frames in frames.chunks(LANES) {
                        let mut columns: Vec<_> = batch.columns_from_mut(0).collect();
                        decoder.decode(&wanted, frames, &mut columns, &mut ends);
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);

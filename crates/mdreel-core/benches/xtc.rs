//! XTC: the control pass, and the decoding of every 15th atom and of all atoms, with each instruction set, from memory.
//!
//! The benchmark needs a real trajectory, because only real molecules have groups of atoms of realistic lengths.
//! `$MDREEL_BENCH_XTC` names it; the default is the trajectory that the benchmarks create.

use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::internals::{ControlPass, Decoding, FRAMES_AT_ONCE, Frames, frame_size};
use mdreel_core::simd::Level;
use mdreel_core::source::bytes::MARGIN;

const N_FRAMES: usize = 64 * FRAMES_AT_ONCE;
const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/benchmarks/data/adk-50000.xtc");

fn coded(bytes: &[u8]) -> Vec<Frames<'_>> {
    let mut all = vec![Frames::default()];
    let (mut at, mut n_frames) = (0, 0);
    while let Some((length, _)) = frame_size(&bytes[at..]) {
        let end = at + length as usize;
        if end + MARGIN > bytes.len() || n_frames == N_FRAMES {
            break;
        }
        if all.last().is_none_or(|frames| frames.len() == FRAMES_AT_ONCE) {
            all.push(Frames::default());
        }
        n_frames += usize::from(all.last_mut().is_some_and(|frames| frames.push(&bytes[at..end + MARGIN])));
        at = end;
    }
    all.retain(|frames| frames.len() == FRAMES_AT_ONCE);
    all
}

#[expect(clippy::print_stderr, reason = "says why there is nothing to measure")]
fn decode(criterion: &mut Criterion) {
    let path = std::env::var_os("MDREEL_BENCH_XTC").map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from);
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("no trajectory at {}: set MDREEL_BENCH_XTC, or run ./task bench --make-data", path.display());
        return;
    };
    let n_atoms = frame_size(&bytes).map_or(0, |(_, n_atoms)| n_atoms);
    let frames = coded(&bytes);
    let selections = [
        ("every 15th atom", (0..n_atoms as u32).step_by(15).collect::<Vec<_>>()),
        ("all atoms", (0..n_atoms as u32).collect()),
        ("the last hundredth", (n_atoms as u32 - n_atoms as u32 / 100..n_atoms as u32).collect()),
    ];
    let mut group = criterion.benchmark_group("xtc");
    group.throughput(Throughput::Elements((frames.len() * FRAMES_AT_ONCE) as u64));
    for level in Level::available() {
        let mut pass = ControlPass::new(level, &selections[1].1);
        group.bench_function(format!("control pass, {}", level.name()), |bencher| {
            bencher.iter(|| frames.iter().map(|frames| pass.walk(frames)).sum::<usize>());
        });
        for (name, indices) in &selections {
            let mut decoding = Decoding::new(level, indices);
            let mut batch = FrameBatch::with_capacity(indices.len(), FRAMES_AT_ONCE);
            for _ in 0..FRAMES_AT_ONCE {
                batch.push(FrameHeader {
                    index: 0,
                    step: 0,
                    time: 0.0,
                    unit_cell: None,
                    lambda: None,
                    present: Quantities::POSITIONS,
                });
            }
            group.bench_function(format!("{name}, {}", level.name()), |bencher| {
                bencher.iter(|| frames.iter().for_each(|frames| decoding.decode(frames, &mut batch)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);

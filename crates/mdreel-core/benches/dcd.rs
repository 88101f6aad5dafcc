//! DCD: reading 214 of 3,341 atoms (the Cα atoms of adenylate kinase) and all atoms, from the page cache.

#[path = "../tests/support/dcd_reading.rs"]
mod dcd_reading;
#[path = "../tests/support/dcd_writer.rs"]
mod dcd_writer;

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::dcd::Dcd;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::Recorder;

use dcd_writer::DcdWriter;

const N_ATOMS: usize = 3_341;
const N_FRAMES: u64 = 1_000;

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dcd");
    group.throughput(Throughput::Elements(N_FRAMES));
    for (order, big_endian) in [("native", false), ("foreign", true)] {
        let writer = DcdWriter { n_atoms: N_ATOMS, n_frames: N_FRAMES as usize, big_endian, ..DcdWriter::default() };
        let file = dcd_reading::file_of(&writer.write().bytes);
        let dcd = FileBytes::open(file.path(), Access::Auto).and_then(Dcd::open).expect("a good file");
        let selections =
            [("214 atoms", (0..214).map(|i| i * 15 + i % 7).collect()), ("all atoms", (0..N_ATOMS as u32).collect())];
        for (name, indices) in selections {
            let atoms = AtomSelection::new(indices).expect("ascending");
            let mut reader = dcd.reader(&atoms, Quantities::POSITIONS).expect("a reader");
            let mut batch = FrameBatch::for_atoms(atoms.len());
            group.bench_function(format!("{name}, {order} order"), |bencher| {
                bencher.iter(|| {
                    let mut recorder = Recorder::new(Instant::now(), 0);
                    reader.start(&Extent::Frames(FrameSet::all(N_FRAMES))).expect("frames");
                    let mut sum = 0.0;
                    loop {
                        reader.read(&mut batch, &mut recorder).expect("good frames");
                        if batch.is_empty() {
                            break sum;
                        }
                        sum += batch.columns(0).x[0];
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);

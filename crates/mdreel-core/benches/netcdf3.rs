//! AMBER NetCDF: reading 214 of 3,341 atoms (the Cα atoms of adenylate kinase) and all atoms, from the page cache.

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::netcdf3::NetCdf3;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::Recorder;
use mdreel_core::writer::netcdf3::NetCdf3Encoder;
use mdreel_core::writer::{FileWriter, Outline};

const N_ATOMS: usize = 3_341;
const N_FRAMES: u64 = 1_000;

fn write(path: &std::path::Path) {
    let outline = Outline {
        n_atoms: N_ATOMS,
        quantities: Quantities::POSITIONS,
        has_unit_cell: false,
        first_step: 0,
        steps_per_frame: 1,
        first_time: 0.0,
        interval: 1.0,
    };
    let mut writer = FileWriter::create(path, NetCdf3Encoder::new(&outline).expect("few atoms")).expect("a file");
    // The file is written in large pieces, so that it is cached in large pages, like a file that was read from a disk.
    let mut batch = FrameBatch::with_capacity(N_ATOMS, 100);
    for index in 0..N_FRAMES {
        let present = Quantities::POSITIONS;
        let columns =
            batch.push(FrameHeader { index, step: 0, time: index as f64, unit_cell: None, lambda: None, present });
        for column in [columns.x, columns.y, columns.z] {
            column.iter_mut().zip(0..).for_each(|(value, i)| *value = (i % 997) as f32 * 0.125);
        }
        if batch.len() == batch.capacity() || index + 1 == N_FRAMES {
            writer.write(&batch).expect("room on the disk");
            batch.clear();
        }
    }
    writer.finish().expect("room on the disk");
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("netcdf3");
    group.throughput(Throughput::Elements(N_FRAMES));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("positions.nc");
    write(&path);
    let netcdf = FileBytes::open(&path, Access::Auto).and_then(NetCdf3::open).expect("a good file");
    let selections =
        [("214 atoms", (0..214).map(|i| i * 15 + i % 7).collect()), ("all atoms", (0..N_ATOMS as u32).collect())];
    for (name, indices) in selections {
        let atoms = AtomSelection::new(indices).expect("ascending");
        let mut reader = netcdf.reader(&atoms, Quantities::POSITIONS).expect("a reader");
        let mut batch = FrameBatch::for_atoms(atoms.len());
        group.bench_function(name, |bencher| {
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
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);

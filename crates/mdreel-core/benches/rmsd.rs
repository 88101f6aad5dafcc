//! RMSD of frames in memory: Cα atoms of adenylate kinase (214) and all its atoms (3341).

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::kernel::pass::Pass;
use mdreel_core::kernel::{Kernel, rmsd::Rmsd};
use mdreel_core::simd::Level;

/// A generator of 64 random bits (Knuth's MMIX), which is sufficient for coordinates.
struct Random(u64);

impl Random {
    /// Returns a uniformly distributed number from -0.5 to 0.5.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// Creates a globule of `n_atoms` atoms at protein density, and frames that fluctuate about it by 2 Å.
fn globule(n_atoms: usize, random: &mut Random) -> (Vec<[f64; 3]>, FrameBatch) {
    let width = 60.0 * (n_atoms as f64 / 3341.0).cbrt();
    let reference: Vec<[f64; 3]> = (0..n_atoms).map(|_| [(); 3].map(|()| width * random.next())).collect();
    let mut batch = FrameBatch::for_atoms(n_atoms);
    for index in 0..batch.capacity() as u64 {
        let columns = batch.push(FrameHeader {
            index,
            step: 0,
            time: 0.0,
            unit_cell: None,
            lambda: None,
            present: Quantities::POSITIONS,
        });
        for (i, point) in reference.iter().enumerate() {
            columns.x[i] = (point[0] + 4.0 * random.next()) as f32;
            columns.y[i] = (point[1] + 4.0 * random.next()) as f32;
            columns.z[i] = (point[2] + 4.0 * random.next()) as f32;
        }
    }
    (reference, batch)
}

fn rmsd(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rmsd");
    let mut random = Random(7);
    for n_atoms in [214, 3341] {
        let (reference, batch) = globule(n_atoms, &mut random);
        let weights: Vec<f64> = (0..n_atoms).map(|_| 1.0 + random.next()).collect();
        group.throughput(Throughput::Elements(batch.len() as u64));
        for level in Level::available() {
            for (name, weights, superposition) in
                [("superposed", None, true), ("weighted", Some(&weights[..]), true), ("as_is", None, false)]
            {
                let rmsd = Rmsd::at_level(&reference, weights, superposition, level).expect("valid reference");
                let mut kernel = Pass::of(rmsd);
                group.bench_function(BenchmarkId::new(format!("{name}/{}", level.name()), n_atoms), |bencher| {
                    bencher.iter(|| {
                        let mut tally = kernel.empty();
                        kernel.map(&batch, &mut tally).expect("finite coordinates");
                        tally
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, rmsd);
criterion_main!(benches);

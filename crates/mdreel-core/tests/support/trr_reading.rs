//! Creation of TRR files, and reading them in every possible way.

use std::path::Path;

use mdreel_core::error::Result;
use mdreel_core::frame::{Quantities, Quantity};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::trr::Trr;

use crate::trr_oracle::RawFrame;

/// Opens a file without storing its index.
pub(crate) fn open(path: &Path, access: Access) -> Result<Trr> {
    Trr::open(FileBytes::open(path, access)?, Keep::Nowhere)
}

/// Returns the quantities whose bits are set.
pub(crate) fn quantities(bits: u8) -> Quantities {
    let all = [Quantity::Positions, Quantity::Velocities, Quantity::Forces];
    all.into_iter().enumerate().fold(Quantities::NONE, |set, (k, q)| set.with(q, bits & (1 << k) != 0))
}

/// Creates a frame of many different numbers. The bits of `sections` select its parts, from the lowest bit on:
/// positions, velocities, forces, box, virial, pressure, double precision. A frame without any part gets a box.
pub(crate) fn frame(n_atoms: usize, sections: u8, seed: u64) -> RawFrame {
    let has = |k: u8| sections & (1 << k) != 0;
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 50) as f64 - 4.0
    };
    let matrix = |number: &mut dyn FnMut() -> f64| std::array::from_fn(|_| number());
    let is_empty = sections & 0b11_1111 == 0;
    RawFrame {
        is_double: has(6),
        step: seed as i32,
        time: number() * 1e4,
        lambda: number(),
        box_vectors: (has(3) || is_empty).then(|| if seed.is_multiple_of(5) { [0.0; 9] } else { matrix(&mut number) }),
        virial: has(4).then(|| matrix(&mut number)),
        pressure: has(5).then(|| matrix(&mut number)),
        quantities: [0, 1, 2].map(|k| has(k).then(|| (0..n_atoms).map(|_| [(); 3].map(|()| number())).collect())),
        n_atoms,
        ..RawFrame::default()
    }
}

/// Creates frames with these sections.
pub(crate) fn frames(n_atoms: usize, sections: &[u8], seed: u64) -> Vec<RawFrame> {
    sections.iter().zip(1..).map(|(&sections, i)| frame(n_atoms, sections, 100 * seed + i)).collect()
}

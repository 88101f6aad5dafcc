//! Arbitrary coordinates to encode: the encoder returns an error, or the reader and the oracle read them back within
//! the precision.

use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::writer::xtc::XtcEncoder;
use mdreel_core::writer::{Encoder, Outline};
use crate::xtc_oracle::decode_file;

const PRECISIONS: [f32; 5] = [1.0, 100.0, 1000.0, 12345.0, 1e6];

/// Checks one input.
pub(crate) fn check(steer: &[u8]) {
    let [precision, shift, words @ ..] = steer else { return };
    let precision = PRECISIONS[usize::from(*precision) % PRECISIONS.len()];
    // Most floats with random bits are far apart. Small steps from one to the next produce runs.
    let steps = words.chunks_exact(2).map(|word| f32::from(i16::from_le_bytes([word[0], word[1]])) / 256.0);
    let scale = 2f32.powi(i32::from(*shift as i8) / 8);
    let mut at = [0.0; 3];
    let mut positions = Vec::new();
    for (i, step) in steps.enumerate() {
        at[i % 3] += step * scale;
        if i % 3 == 2 {
            positions.push(at);
        }
    }
    let n_atoms = positions.len();
    let outline = Outline {
        n_atoms,
        quantities: Quantities::POSITIONS,
        has_unit_cell: false,
        first_step: 0,
        steps_per_frame: 1,
        first_time: 0.0,
        interval: 1.0,
    };
    let Ok(encoder) = XtcEncoder::new(&outline, precision) else { return };
    let mut batch = FrameBatch::with_capacity(n_atoms, 1);
    let header = FrameHeader { index: 0, step: 3, time: 1.5, unit_cell: None, lambda: None, present: Quantities::POSITIONS };
    let columns = batch.push(header);
    for (atom, &[x, y, z]) in positions.iter().enumerate() {
        (columns.x[atom], columns.y[atom], columns.z[atom]) = (x, y, z);
    }
    let mut bytes = Vec::new();
    if encoder.encode(&batch, &mut bytes).is_err() {
        return;
    }
    let frames = decode_file(&bytes).expect("what was encoded");
    assert_eq!((frames.len(), frames[0].end), (1, bytes.len()));
    for (found, expected) in frames[0].coordinates.iter().flatten().zip(positions.iter().flatten()) {
        let half = if n_atoms > 9 { 5.0 / precision } else { 0.0 };
        assert!((found - expected).abs() <= half * 1.001 + expected.abs() * 4e-7, "{found} {expected}");
    }
}

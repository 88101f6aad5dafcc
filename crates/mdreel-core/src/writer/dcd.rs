//! DCD as written by CHARMM, NAMD and MDAnalysis: little-endian, with record markers of 32 bits.
//!
//! # Sources
//!
//! CHARMM documentation (`dynamc.doc`), the DCD plugin page of VMD, NAMD's release notes (cosines in the unit cell).

use super::{Encoder, Outline};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantity};
use crate::units::PICOSECOND_PER_AKMA;

/// The version of CHARMM whose conventions the file follows.
const CHARMM_VERSION: i32 = 24;
/// Number of bytes of a title line.
const TITLE_LINE: usize = 80;
/// Position of the number of frames: in the first record, after its marker and the word CORD.
const COUNT_AT: u64 = 8;
/// Maximum number of bytes in a record with 32-bit markers.
const MAX_RECORD: usize = i32::MAX as usize;

/// An encoder of DCD.
#[derive(Debug, Clone)]
pub(crate) struct DcdEncoder {
    n_atoms: usize,
    has_unit_cell: bool,
    clock: Clock,
}

impl DcdEncoder {
    /// Creates an encoder for the trajectory of `outline`.
    pub(crate) fn new(outline: &Outline) -> Result<Self> {
        if outline.n_atoms == 0 || 4 * outline.n_atoms > MAX_RECORD {
            let most = MAX_RECORD / 4;
            return Err(Error::mismatch(format!("a DCD frame holds 1 to {most} atoms, got {}", outline.n_atoms)));
        }
        Ok(DcdEncoder { n_atoms: outline.n_atoms, has_unit_cell: outline.has_unit_cell, clock: Clock::new(outline) })
    }

    fn write_unit_cell(&self, header: &FrameHeader, out: &mut Vec<u8>) -> Result<()> {
        if !self.has_unit_cell {
            return match header.unit_cell {
                None => Ok(()),
                Some(_) => Err(Error::mismatch(
                    "a unit cell, which the first frame lacks: a DCD file has one in every frame or in none",
                )
                .at_frame(header.index)),
            };
        }
        // Programs interpret zeros as no cell.
        let cell = header.unit_cell.map_or([0.0; 6], |cell| {
            let [a, b, c, alpha, beta, gamma] = cell.dimensions().map(f64::from);
            // Computing the cosine with the sine makes the result for 90 degrees exactly 0.
            let cosine = |angle: f64| (90.0 - angle).to_radians().sin();
            [a, cosine(gamma), b, cosine(beta), cosine(alpha), c]
        });
        push_record(out, cell.iter().flat_map(|v| v.to_le_bytes()));
        Ok(())
    }
}

impl Encoder for DcdEncoder {
    fn begin(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut control = [0i32; 20];
        // The first number is the number of frames, which `end` fills in.
        control[1] = self.clock.first_step;
        control[2] = self.clock.steps_per_frame;
        control[9] = self.clock.time_step.to_bits() as i32;
        control[10] = i32::from(self.has_unit_cell);
        control[19] = CHARMM_VERSION;
        push_record(out, b"CORD".iter().copied().chain(control.iter().flat_map(|v| v.to_le_bytes())));
        let mut title = [b' '; TITLE_LINE];
        let text = b"REMARKS written by mdreel";
        title[..text.len()].copy_from_slice(text);
        push_record(out, 1i32.to_le_bytes().into_iter().chain(title));
        push_record(out, (self.n_atoms as i32).to_le_bytes());
        Ok(())
    }

    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
        super::check_atoms(batch, self.n_atoms)?;
        out.reserve(batch.len() * (12 * self.n_atoms + 80));
        for (i, header) in batch.headers().iter().enumerate() {
            let positions = super::demanded(batch, i, Quantity::Positions, "DCD")?;
            self.write_unit_cell(header, out)?;
            for column in [positions.x, positions.y, positions.z] {
                push_record(out, column.iter().flat_map(|v| v.to_le_bytes()));
            }
        }
        Ok(())
    }

    fn end(&self, n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        let Ok(n_frames) = i32::try_from(n_frames) else {
            return Err(Error::unsupported(format!("a DCD file counts up to {} frames, got {n_frames}", i32::MAX)));
        };
        Ok(vec![(COUNT_AT, n_frames.to_le_bytes().to_vec())])
    }
}

/// Appends a Fortran record.
fn push_record(out: &mut Vec<u8>, content: impl IntoIterator<Item = u8>) {
    let marker_at = out.len();
    out.extend([0; 4]);
    out.extend(content);
    let length = ((out.len() - marker_at - 4) as u32).to_le_bytes();
    out[marker_at..marker_at + 4].copy_from_slice(&length);
    out.extend(length);
}

/// The times of all frames, as the header defines them. Frame `i` is at `first_step / steps_per_frame + i` intervals
/// from zero.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Clock {
    first_step: i32,
    steps_per_frame: i32,
    /// Integration time step in AKMA units.
    time_step: f32,
}

impl Clock {
    /// Keeps the steps of the outline if they agree with its times. Otherwise it keeps the times, and a step is a
    /// fraction of the interval.
    fn new(outline: &Outline) -> Self {
        let has_interval = outline.interval.is_finite() && outline.interval != 0.0;
        // The time of a single frame can be expressed as an interval from zero.
        let interval = match (has_interval, outline.first_time) {
            (true, _) => outline.interval,
            (false, time) if time != 0.0 && time.is_finite() => time,
            (false, _) => 1.0,
        };
        let intervals_before = if outline.first_time.is_finite() { outline.first_time / interval } else { 0.0 };
        let own = i32::try_from(outline.steps_per_frame).ok().filter(|&steps| steps > 0);
        let fitting = own.into_iter().chain([1, 10, 100, 1000, 10_000]).find_map(|steps| {
            let first = (intervals_before * f64::from(steps)).round();
            let is_exact = (first - intervals_before * f64::from(steps)).abs() <= 1e-4 * f64::from(steps).max(1.0);
            (is_exact && first.abs() <= f64::from(i32::MAX)).then_some((first as i32, steps))
        });
        let (first_step, steps_per_frame) = fitting.unwrap_or((intervals_before.round() as i32, 1));
        let time_step = (interval / f64::from(steps_per_frame) / PICOSECOND_PER_AKMA) as f32;
        Clock { first_step, steps_per_frame, time_step }
    }
}

#[cfg(test)]
mod tests;

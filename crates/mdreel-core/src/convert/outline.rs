//! What a file says of its frames before the first one, found out from the first two and the last.

use crate::block::FrameSet;
use crate::error::Result;
use crate::frame::{FrameHeader, Quantities, Quantity};
use crate::source::read::read_frames;
use crate::source::{AtomSelection, Source};
use crate::writer::Outline;

/// Relative error of a time in single precision, with room for sums.
const TIME_ERROR: f64 = 4.0 * f32::EPSILON as f64;

/// The outline of `frames` of `source`, which may hold `quantities`. If frames of the file are to be `alike`, they hold
/// those quantities that all frames have which are looked at.
pub(super) fn outline_of(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    quantities: Quantities,
    alike: bool,
) -> Result<Outline> {
    let n_frames = frames.len();
    let looked_at = [0, 1, n_frames.wrapping_sub(1)].into_iter().filter(|&i| i < n_frames).map(|i| frames.get(i));
    // The headers are wanted, no atoms.
    let none = AtomSelection::all(0);
    let read = read_frames(source, &none, &FrameSet::List(looked_at.collect()), quantities)?;
    let held = |header: &FrameHeader| header.present.with(Quantity::Positions, true);
    let quantities = match alike {
        true => read.headers.iter().fold(quantities, |common, header| common.both(held(header))),
        false => quantities,
    };
    let first = read.headers.first();
    let (steps_per_frame, interval) = match read.headers.as_slice() {
        [first, second, last] => (second.step.wrapping_sub(first.step), interval(first, second, last, n_frames)),
        _ => (1, 0.0),
    };
    Ok(Outline {
        n_atoms: atoms.len(),
        quantities,
        has_unit_cell: first.is_some_and(|first| first.unit_cell.is_some()),
        first_step: first.map_or(0, |first| first.step),
        steps_per_frame,
        first_time: first.map_or(0.0, |first| first.time),
        interval,
    })
}

/// The time between frames: over all of them, which is free of the rounding of each time, where that agrees with the
/// first two.
fn interval(first: &FrameHeader, second: &FrameHeader, last: &FrameHeader, n_frames: u64) -> f64 {
    let of_first = second.time - first.time;
    let of_all = (last.time - first.time) / (n_frames - 1) as f64;
    let error = TIME_ERROR * (first.time.abs() + second.time.abs());
    if (of_all - of_first).abs() <= error { of_all } else { of_first }
}

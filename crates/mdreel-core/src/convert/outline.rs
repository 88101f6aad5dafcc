//! Properties that a file stores before its first frame, determined from the first two frames and the last one.

use crate::block::FrameSet;
use crate::error::{Error, Result};
use crate::frame::{FrameHeader, Quantities, Quantity};
use crate::source::damage::OnError;
use crate::source::read::read_frames;
use crate::source::{AtomSelection, Source, SourceExt};
use crate::writer::Outline;

/// Relative error of a time in single precision, with a margin for sums.
const TIME_ERROR: f64 = 4.0 * f32::EPSILON as f64;

/// Returns the outline of `frames` of `source`, which may contain `quantities`. If the frames of the file must be
/// `alike`, the outline contains only the quantities that all inspected frames have.
pub(super) fn outline_of(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    quantities: Quantities,
    alike: bool,
) -> Result<Outline> {
    let seen = frames_looked_at(source, atoms, frames, quantities)?;
    let held = |header: &FrameHeader| header.present.with(Quantity::Positions, true);
    let quantities = match alike {
        true => seen.iter().fold(quantities, |common, (_, header)| common.both(held(header))),
        false => quantities,
    };
    let first = seen.first().map(|(_, header)| header);
    let (steps_per_frame, interval) = match seen.as_slice() {
        [first, second, last] => (second.1.step.wrapping_sub(first.1.step), interval(first, second, last)),
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

/// The position of a frame among those to write, and its header.
type Seen = (u64, FrameHeader);

/// Returns the first two frames and the last one. If there are only one or two frames, the last one appears twice.
fn frames_looked_at(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    quantities: Quantities,
) -> Result<Vec<Seen>> {
    if source.on_error() != OnError::Raise {
        return whole_frames_looked_at(source, atoms, frames, quantities);
    }
    let n_frames = frames.len();
    let places: Vec<u64> = [0, 1, n_frames.wrapping_sub(1)].into_iter().filter(|&i| i < n_frames).collect();
    let looked_at = FrameSet::List(places.iter().map(|&i| frames.get(i)).collect());
    // Only headers are needed, so no atoms are selected.
    let read = read_frames(source, &AtomSelection::all(0), &looked_at, quantities)?;
    Ok(places.into_iter().zip(read.headers).collect())
}

/// Returns the same for the undamaged frames. Damage shows only when the atoms are read.
fn whole_frames_looked_at(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    quantities: Quantities,
) -> Result<Vec<Seen>> {
    let stops = source.on_error() == OnError::Stop;
    let look = |i: u64| match read_frames(source, atoms, &FrameSet::List([frames.get(i)].into()), quantities) {
        Ok(read) => Ok(read.headers.first().map(|header| (i, *header))),
        Err(Error::Format { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    let mut seen = Vec::new();
    for i in 0..frames.len() {
        match look(i)? {
            Some(frame) => seen.push(frame),
            None if stops => break,
            None => {}
        }
        if seen.len() == 2 {
            break;
        }
    }
    // If the trajectory ends at damage, its end is not known yet.
    let last = match seen.last() {
        Some(&(second, _)) if !stops => {
            (second + 1..frames.len()).rev().find_map(|i| look(i).transpose()).transpose()?
        }
        _ => None,
    };
    if seen.len() == 2 {
        seen.push(last.unwrap_or(seen[1]));
    }
    Ok(seen)
}

/// Returns the time between frames. It is the average over all frames, which does not suffer from the rounding of each
/// time, if that agrees with the first two frames. Otherwise it is the time between those two.
fn interval((begin, first): &Seen, (_, second): &Seen, (end, last): &Seen) -> f64 {
    let of_first = second.time - first.time;
    let of_all = (last.time - first.time) / (end - begin) as f64;
    let error = TIME_ERROR * (first.time.abs() + second.time.abs());
    if (of_all - of_first).abs() <= error { of_all } else { of_first }
}

//! Properties that a file stores before its first frame, determined from the first two frames and the last one.

use crate::block::FrameSet;
use crate::error::{Error, Result};
use crate::frame::{FrameHeader, Quantities, Quantity};
use crate::source::damage::OnError;
use crate::source::read::read_frames;
use crate::source::{AtomSelection, Source, SourceExt};
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

/// A frame of those to be written: its place among them, and its header.
type Seen = (u64, FrameHeader);

/// The first two frames and the last: of two or one, the last again; none of none.
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
    // The headers are selected, no atoms.
    let read = read_frames(source, &AtomSelection::all(0), &looked_at, quantities)?;
    Ok(places.into_iter().zip(read.headers).collect())
}

/// The same of those frames that are not damaged, which shows when their atoms are read.
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
    // The end of the frames is not known yet.
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

/// The time between frames: over all of them, which is free of the rounding of each time, where that agrees with the
/// first two.
fn interval((begin, first): &Seen, (_, second): &Seen, (end, last): &Seen) -> f64 {
    let of_first = second.time - first.time;
    let of_all = (last.time - first.time) / (end - begin) as f64;
    let error = TIME_ERROR * (first.time.abs() + second.time.abs());
    if (of_all - of_first).abs() <= error { of_all } else { of_first }
}

//! Frames that have come through a channel and are still needed.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use crate::layout::{FrameView, Section};
use crate::section::{DataType, SectionKind};
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::{Quantities, Quantity};
use mdreel_core::source::fault::Fault;
use mdreel_core::source::lookout::Known;
use mdreel_core::source::xtc::alone;
use mdreel_core::unit_cell::UnitCell;

/// The smallest limits of kept frames and of their bytes. They hold two of the largest blocks into which growing trajectories are
/// divided (`plan`), with velocities and forces. With lower limits, a block could wait for frames for which there is no space.
const LEAST_FRAMES: usize = 2 * 16;
const LEAST_BYTES: usize = 2 * 3 * (16 << 20);

/// A frame copied out of the ring.
#[derive(Debug, PartialEq)]
pub(super) struct Frame {
    pub step: i64,
    pub time: f64,
    pub unit_cell: Option<UnitCell>,
    /// Positions, velocities and forces: three numbers per atom, in the units of the core.
    values: [Option<Vec<f32>>; 3],
}

impl Frame {
    /// Copies the data that analyses can use from a frame in a ring. Messages name `path`.
    pub(crate) fn copy(path: &Path, n_atoms: usize, view: &FrameView<'_>) -> Result<Self> {
        let header = view.header;
        let wrong = |message: String| Err(Error::format(path, Some(header.sequence), None, message));
        if header.n_atoms != n_atoms as u64 {
            return wrong(format!("expected {n_atoms} atoms, as the manifest says, got {}", header.n_atoms));
        }
        let mut values = [None, None, None];
        for section in view.sections() {
            let Some(quantity) = quantity_of(section.kind) else { continue };
            let place = &mut values[quantity as usize];
            if place.is_some() {
                return wrong(format!("expected one section of {}, got several", quantity.name()));
            }
            match numbers(&section, n_atoms) {
                Ok(numbers) => *place = Some(numbers),
                Err(fault) => return wrong(format!("{}, byte {}: {}", quantity.name(), fault.byte, fault.message)),
            }
        }
        let vector = |row: [f64; 3]| row.map(|value| value as f32);
        let unit_cell = header.cell.map(|[a, b, c, d, e, f, g, h, i]| {
            UnitCell::Vectors([vector([a, b, c]), vector([d, e, f]), vector([g, h, i])])
        });
        Ok(Frame { step: header.step, time: header.time, unit_cell, values })
    }

    /// Returns the quantities that the frame has.
    pub(crate) fn quantities(&self) -> Quantities {
        let all = Quantities::ALL.iter();
        all.fold(Quantities::NONE, |set, quantity| set.with(quantity, self.values(quantity).is_some()))
    }

    /// Returns a quantity as three numbers per atom, if the frame has it.
    pub(crate) fn values(&self, quantity: Quantity) -> Option<&[f32]> {
        self.values[quantity as usize].as_deref()
    }

    fn n_bytes(&self) -> usize {
        self.values.iter().flatten().map(|values| size_of_val(values.as_slice())).sum()
    }
}

/// Returns the quantity of a section, if analyses can use it.
pub(super) fn quantity_of(kind: SectionKind) -> Option<Quantity> {
    match kind {
        SectionKind::Positions => Some(Quantity::Positions),
        SectionKind::Velocities => Some(Quantity::Velocities),
        SectionKind::Forces => Some(Quantity::Forces),
        SectionKind::Energies | SectionKind::Custom(_) => None,
    }
}

/// Decodes a section with three numbers per atom.
fn numbers(section: &Section<'_>, n_atoms: usize) -> std::result::Result<Vec<f32>, Fault> {
    let of_doubles =
        |bytes: &[[u8; 8]]| bytes.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32).collect::<Vec<_>>();
    match section.data_type {
        DataType::Float32 => {
            Ok(section.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
        }
        DataType::Float64 => Ok(of_doubles(section.bytes.as_chunks().0)),
        // An atom type precedes the coordinates of each atom.
        DataType::TypeAndFloat64 => {
            let atoms = section.bytes.as_chunks::<28>().0.iter();
            Ok(atoms.flat_map(|atom| of_doubles(atom[4..].as_chunks().0)).collect())
        }
        DataType::Xtc => alone::positions(section.bytes, n_atoms),
    }
}

/// The state of a channel's frames, and the frames that are kept.
#[derive(Debug)]
pub(super) struct Kept {
    /// The kept frames in order, with their numbers.
    frames: VecDeque<(u64, Arc<Frame>)>,
    /// The times of all frames that have come, ps.
    times: Vec<f64>,
    n_bytes: usize,
    most_bytes: usize,
    /// The first wanted frame. With `step`, it determines which later frames are wanted.
    first: u64,
    step: u64,
    is_ended: bool,
    failure: Option<Error>,
}

impl Known for Kept {
    fn n_frames(&self) -> u64 {
        self.times.len() as u64
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}

impl Kept {
    /// Creates an empty collection that keeps about `memory` bytes.
    pub(crate) fn new(memory: usize) -> Self {
        Kept {
            frames: VecDeque::new(),
            times: Vec::new(),
            n_bytes: 0,
            most_bytes: memory.max(LEAST_BYTES),
            first: 0,
            step: 1,
            is_ended: false,
            failure: None,
        }
    }

    /// Returns the times of all frames that have come, ps.
    pub(crate) fn times(&self) -> &[f64] {
        &self.times
    }

    /// Records that no more frames will come.
    pub(crate) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Records the error after which no more frames will come.
    pub(crate) fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }

    /// Returns whether the next frame to come is wanted.
    pub(crate) fn wants_next(&self) -> bool {
        self.wants(self.n_frames())
    }

    fn wants(&self, frame: u64) -> bool {
        frame.checked_sub(self.first).is_some_and(|since| since.is_multiple_of(self.step))
    }

    /// Adds the time of a frame that has come, and the frame itself if it is wanted.
    pub(crate) fn push(&mut self, time: f64, frame: Option<Frame>) {
        let number = self.n_frames();
        self.times.push(time);
        if let Some(frame) = frame {
            self.n_bytes += frame.n_bytes();
            self.frames.push_back((number, Arc::new(frame)));
        }
    }

    /// Returns whether the source must take no more frames until some of the kept ones are released.
    pub(crate) fn is_full(&self) -> bool {
        self.n_bytes >= self.most_bytes && self.frames.len() >= LEAST_FRAMES
    }

    /// Returns the number of the first frame that would not fit, if frames have `frame_bytes` bytes. The size of a kept frame
    /// replaces `frame_bytes`.
    pub(crate) fn n_room(&self, frame_bytes: usize) -> u64 {
        let frame_bytes = self.frames.front().map_or(frame_bytes, |(_, frame)| frame.n_bytes());
        self.most_bytes.div_ceil(frame_bytes.max(1)).max(LEAST_FRAMES) as u64 + self.first
    }

    /// Sets which frames are wanted from now on.
    pub(crate) fn want(&mut self, first: u64, step: u64) {
        (self.first, self.step) = (self.first.max(first), step.max(1));
        // Frames that were released do not come back, so `first` never decreases. It stays on a frame of the new stride.
        self.first = first + (self.first - first).next_multiple_of(self.step);
        let mut frames = std::mem::take(&mut self.frames);
        frames.retain(|(frame, _)| self.wants(*frame));
        self.frames = frames;
        self.n_bytes = self.frames.iter().map(|(_, frame)| frame.n_bytes()).sum();
    }

    /// Releases the frames before this one.
    pub(crate) fn release(&mut self, frame: u64) {
        self.first = self.first.max(frame);
        while let Some((number, kept)) = self.frames.front()
            && *number < frame
        {
            self.n_bytes -= kept.n_bytes();
            self.frames.pop_front();
        }
    }

    /// Returns a frame that has come, if it is kept.
    pub(crate) fn get(&self, frame: u64) -> Option<Arc<Frame>> {
        let place = self.frames.binary_search_by_key(&frame, |(number, _)| *number).ok()?;
        Some(Arc::clone(&self.frames[place].1))
    }
}

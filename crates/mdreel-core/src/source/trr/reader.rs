//! Reader of one worker for a TRR file.
//!
//! The parts of a frame to load follow from its shape, which only its header contains. To load many frames at a time,
//! the reader guesses their shape: from the length in the index, or as the shape of the previous frame. It checks every
//! header after loading it. If a guess is wrong, it loads the frames from this one on again.

use std::ops::Range;

use super::header::Header;
use super::plan::FramePlan;
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::source::bytes::ByteReader;
use crate::source::fault::Fault;
use crate::source::located::{ChainedHeader, LocatedFile, location};
use crate::source::pieces::{LOAD_BYTES, Place};
use crate::source::rows::NextRows;
use crate::source::{AtomSelection, LocatedFrames, Reader};
use crate::span::{Recorder, SpanKind};

/// A frame to be read.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    /// Number in the trajectory, or in the block if the number of frames before the block is unknown.
    number: u64,
    /// Position of the first byte in the file.
    offset: u64,
    /// Index of the plan for the guessed shape.
    plan: usize,
}

/// Frames of an extent that have not been read yet.
#[derive(Debug)]
enum Rest {
    /// The frames of `set` from the `next`-th on.
    Frames { set: FrameSet, next: u64 },
    /// The frames that start at `at` or later and before `end`. The next frame has the number `number`.
    Bytes { at: u64, end: u64, number: u64 },
}

/// Reader of the frames of a TRR file for one worker.
#[derive(Debug)]
pub(super) struct TrrReader<'a> {
    file: &'a LocatedFile<Header>,
    wanted: Quantities,
    places: Vec<Place>,
    bytes: ByteReader<'a>,
    rest: Rest,
    located: LocatedFrames,
    /// Plans for the shapes found so far.
    plans: Vec<FramePlan>,
    /// Index of the plan of the last frame that was read.
    latest: usize,
    /// Maximum number of frames to guess at a time. It is one after a wrong guess, and doubles after each load without
    /// one.
    trust: usize,
    chosen: Vec<Chosen>,
    ranges: Vec<Range<u64>>,
}

impl<'a> TrrReader<'a> {
    pub(crate) fn new(file: &'a LocatedFile<Header>, atoms: &AtomSelection, wanted: Quantities) -> Self {
        TrrReader {
            file,
            wanted,
            places: Place::of_slots(atoms.indices()),
            bytes: file.file.reader(),
            rest: Rest::Bytes { at: 0, end: 0, number: 0 },
            located: LocatedFrames::default(),
            plans: Vec::new(),
            latest: 0,
            trust: usize::MAX,
            chosen: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Returns the index of the plan for frames with this header's shape.
    fn plan_of(&mut self, header: &Header) -> usize {
        self.plans.iter().position(|plan| plan.shape == header.shape).unwrap_or_else(|| {
            self.plans.push(FramePlan::new(header.shape, self.wanted, &self.places));
            self.plans.len() - 1
        })
    }

    fn error(&self, frame: &Chosen, fault: &Fault) -> Error {
        let number = matches!(self.rest, Rest::Frames { .. }).then_some(frame.number);
        fault.error(self.file.file.path(), number, frame.offset)
    }

    /// Chooses the next frames of the extent for one load, at most `room`.
    fn choose(&mut self, room: usize) -> Result<()> {
        self.chosen.clear();
        let mut n_bytes = 0;
        while self.chosen.len() < room.min(self.trust) {
            let Some(frame) = self.guess(self.chosen.len() as u64)? else { break };
            let plan = self.plans[frame.plan].pieces();
            n_bytes += plan.n_bytes();
            // A frame that needs several loads does not share them with other frames.
            if !self.chosen.is_empty() && (n_bytes > LOAD_BYTES || plan.loads().len() > 1) {
                break;
            }
            self.chosen.push(frame);
            if plan.loads().len() > 1 {
                break;
            }
        }
        Ok(())
    }

    /// Returns the frame after the chosen ones, if it can be loaded together with them.
    fn guess(&mut self, n_chosen: u64) -> Result<Option<Chosen>> {
        let last = self.chosen.last().map(|last| (last.offset, self.plans[last.plan].shape.frame_len()));
        let (number, offset, len) = match &self.rest {
            Rest::Frames { set, next } => {
                if next + n_chosen >= set.len() {
                    return Ok(None);
                }
                let number = set.get(next + n_chosen);
                let range = self.file.range(number)?;
                // Ranges are loaded in ascending order, so a step back ends the load.
                if last.is_some_and(|(offset, len)| range.start < offset + len) {
                    return Ok(None);
                }
                (number, range.start, Some(range.end - range.start))
            }
            &Rest::Bytes { at, end, number } => {
                let offset = last.map_or(at, |(offset, len)| offset + len);
                if offset >= end {
                    return Ok(None);
                }
                (number + n_chosen, offset, None)
            }
        };
        let fits = |plan: &FramePlan| match len {
            Some(len) => plan.shape.frame_len() == len,
            None => plan.shape.frame_len() <= self.file.file.len() - offset,
        };
        let known = match self.plans.get(self.latest) {
            Some(latest) if fits(latest) => Some(self.latest),
            _ if len.is_some() => self.plans.iter().position(fits),
            _ => None,
        };
        if let Some(plan) = known {
            return Ok(Some(Chosen { number, offset, plan }));
        }
        if n_chosen > 0 && len.is_none() {
            return Ok(None);
        }
        let header = match self.file.header_at(offset) {
            Err(Error::Format { mut place, message }) if len.is_some() => {
                place.frame = Some(number);
                return Err(Error::Format { place, message });
            }
            header => header?,
        };
        let plan = self.plan_of(&header);
        Ok(Some(Chosen { number, offset, plan }))
    }

    /// Checks whether the header in the loaded bytes of a chosen frame has the guessed shape, and returns it if so.
    /// Otherwise, the next guess uses the shape in this header.
    fn check(&mut self, frame: &Chosen, slot: usize) -> Result<Option<Header>> {
        let header = match self.file.check_header(self.bytes.get(slot), frame.offset) {
            Ok(header) => header,
            Err(fault) => return Err(self.error(frame, &fault)),
        };
        let guessed = self.plans[frame.plan].shape;
        if header.shape == guessed {
            self.latest = frame.plan;
            return Ok(Some(header));
        }
        if matches!(self.rest, Rest::Frames { .. }) && header.frame_len() != guessed.frame_len() {
            let message = format!("the frame has {} bytes, its index says {}", header.frame_len(), guessed.frame_len());
            return Err(self.error(frame, &Fault::new(0, message)));
        }
        self.latest = self.plan_of(&header);
        self.trust = 1;
        Ok(None)
    }

    /// Replaces the contents of `batch` with the next frames: as many as it has room for, or the frames of one load if
    /// they go to `rows`.
    fn read_next(
        &mut self,
        batch: &mut FrameBatch,
        mut rows: Option<&mut NextRows<'_>>,
        recorder: &mut Recorder,
    ) -> Result<()> {
        batch.check(self.places.len())?;
        batch.clear();
        while batch.len() < batch.capacity() {
            // If the file is truncated during the load, headers look corrupt. The truncation is the better error
            // message.
            let chosen = self.choose(batch.capacity() - batch.len());
            chosen.or_else(|error| self.bytes.confirm().and(Err(error)))?;
            if self.chosen.is_empty() {
                break;
            }
            self.read_chosen(batch, rows.as_deref_mut(), recorder)?;
            if let Some(rows) = rows.as_deref_mut().filter(|_| !batch.is_empty()) {
                rows.write_rest(batch, 0);
                break;
            }
        }
        Ok(())
    }

    /// Adds the chosen frames to `batch`, up to the first wrong guess. Some coordinates may go directly to `rows`
    /// instead.
    fn read_chosen(
        &mut self,
        batch: &mut FrameBatch,
        mut rows: Option<&mut NextRows<'_>>,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let chosen = std::mem::take(&mut self.chosen);
        let first = batch.len();
        let n_loads = chosen.first().map_or(0, |frame| self.plans[frame.plan].pieces().loads().len());
        for load in 0..n_loads {
            let start_ns = recorder.now();
            self.ranges.clear();
            for frame in &chosen {
                let pieces = self.plans[frame.plan].pieces();
                let loaded = &pieces.all()[pieces.loads()[load].clone()];
                let shifted = |bytes: &Range<u64>| frame.offset + bytes.start..frame.offset + bytes.end;
                self.ranges.extend(loaded.iter().map(|piece| shifted(&piece.bytes)));
            }
            let n_bytes = self.bytes.load(&self.ranges)?;
            let n_frames = if load == 0 { chosen.len() as u64 } else { 0 };
            let start_ns = recorder.record(SpanKind::Read, start_ns, n_frames, n_bytes);
            let gathered = self.gather(&chosen, load, first, batch, rows.as_deref_mut());
            // A truncated file looks corrupt. The truncation is the better error message.
            self.bytes.confirm()?;
            gathered?;
            let n_added = if load == 0 { (batch.len() - first) as u64 } else { 0 };
            recorder.record(SpanKind::Decompress, start_ns, n_added, n_bytes);
            if batch.len() == first {
                break;
            }
        }
        let n_added = batch.len() - first;
        if n_added == chosen.len() {
            self.trust = self.trust.saturating_mul(2);
        }
        match &mut self.rest {
            Rest::Frames { next, .. } => *next += n_added as u64,
            Rest::Bytes { at, number, .. } => {
                *number += n_added as u64;
                if let Some(frame) = n_added.checked_sub(1).map(|last| &chosen[last]) {
                    *at = frame.offset + self.plans[frame.plan].shape.frame_len();
                    self.located.end = *at;
                }
            }
        }
        self.chosen = chosen;
        Ok(())
    }

    /// Distributes the loaded bytes. The first load of frames adds them to `batch`, from the `first`-th on.
    fn gather(
        &mut self,
        chosen: &[Chosen],
        load: usize,
        first: usize,
        batch: &mut FrameBatch,
        mut rows: Option<&mut NextRows<'_>>,
    ) -> Result<()> {
        let mut slot = 0;
        for (i, frame) in chosen.iter().enumerate() {
            if load == 0 {
                let Some(header) = self.check(frame, slot)? else { break };
                let plan = &self.plans[frame.plan];
                batch.push(FrameHeader {
                    index: frame.number,
                    step: header.step(),
                    time: header.time(),
                    unit_cell: plan.unit_cell(self.bytes.get(slot)),
                    lambda: Some(header.lambda),
                    present: plan.present,
                });
                if matches!(self.rest, Rest::Bytes { .. }) {
                    self.located.frames.push(location(&header, frame.offset));
                }
            }
            let plan = &self.plans[frame.plan];
            for piece in &plan.pieces().all()[plan.pieces().loads()[load].clone()] {
                plan.gather(piece, self.bytes.get(slot), batch, first + i, rows.as_deref_mut());
                slot += 1;
            }
        }
        Ok(())
    }
}

impl Reader for TrrReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.rest = match extent {
            Extent::Frames(set) => Rest::Frames { set: set.clone(), next: 0 },
            Extent::Bytes(range) => {
                let first = self.file.find_frame(range.clone())?;
                let at = first.unwrap_or(range.end);
                self.located = LocatedFrames { first, end: at, frames: Vec::new() };
                Rest::Bytes { at, end: range.end.min(self.file.file.len()), number: 0 }
            }
        };
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        self.read_next(batch, None, recorder)
    }

    fn read_rows(&mut self, batch: &mut FrameBatch, rows: &mut NextRows<'_>, recorder: &mut Recorder) -> Result<()> {
        self.read_next(batch, Some(rows), recorder)
    }

    fn located(&mut self) -> LocatedFrames {
        std::mem::take(&mut self.located)
    }
}

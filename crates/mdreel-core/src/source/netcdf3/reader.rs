//! Reader of one worker for a NetCDF file.

use std::ops::Range;

use super::layout::Layout;
use super::plan::PartPlan;
use crate::block::Extent;
use crate::error::Result;
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::source::bytes::{ByteReader, FileBytes};
use crate::source::numbered::NumberedFrames;
use crate::source::pieces::{LOAD_BYTES, Place};
use crate::source::rows::NextRows;
use crate::source::{AtomSelection, Reader};
use crate::span::{Recorder, SpanKind};
use crate::unit_cell::UnitCell;

/// Reader of the selected atoms of a NetCDF file.
#[derive(Debug)]
pub(super) struct NetCdf3Reader<'a> {
    file: &'a FileBytes,
    layout: &'a Layout,
    n_atoms: usize,
    present: Quantities,
    plans: Vec<PartPlan>,
    bytes: ByteReader<'a>,
    ranges: Vec<Range<u64>>,
    frames: NumberedFrames,
}

impl<'a> NetCdf3Reader<'a> {
    /// Creates a reader of the `present` quantities of `atoms`.
    pub(crate) fn new(file: &'a FileBytes, layout: &'a Layout, atoms: &AtomSelection, present: Quantities) -> Self {
        let places = Place::of_slots(atoms.indices());
        NetCdf3Reader {
            file,
            layout,
            n_atoms: atoms.len(),
            present,
            plans: layout.parts.iter().map(|part| PartPlan::new(part, &places, present)).collect(),
            bytes: file.reader(),
            ranges: Vec::new(),
            frames: NumberedFrames::default(),
        }
    }

    /// Returns the number of frames that can be loaded together without exceeding the size of a load.
    fn room(&self) -> u64 {
        let frame_bytes: u64 = self.plans.iter().map(|plan| plan.pieces().n_bytes()).sum();
        (LOAD_BYTES / frame_bytes.max(1)).max(1)
    }

    /// Replaces the contents of `batch` with the next frames: as many as it has room for, or the frames of one load if
    /// they go to `rows`.
    fn read_next(
        &mut self,
        batch: &mut FrameBatch,
        mut rows: Option<&mut NextRows<'_>>,
        recorder: &mut Recorder,
    ) -> Result<()> {
        batch.check(self.n_atoms)?;
        batch.clear();
        while batch.len() < batch.capacity() {
            self.frames.choose(self.room().min((batch.capacity() - batch.len()) as u64));
            if self.frames.chosen().is_empty() {
                break;
            }
            self.read_frames(batch, rows.as_deref_mut(), recorder)?;
            self.frames.advance();
            if let Some(rows) = &mut rows {
                rows.write_rest(batch, 0);
                break;
            }
        }
        Ok(())
    }

    /// Adds the chosen frames to `batch`. Some coordinates may go directly to `rows` instead.
    fn read_frames(
        &mut self,
        batch: &mut FrameBatch,
        mut rows: Option<&mut NextRows<'_>>,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let first = batch.len();
        for &index in self.frames.chosen() {
            // Without a variable of times, frames are 1 ps apart, as in MDAnalysis.
            let present = self.present.both(batch.wanted());
            batch.push(FrameHeader {
                index,
                step: index as i64,
                time: index as f64,
                unit_cell: None,
                lambda: None,
                present,
            });
        }
        let mut n_frames = self.frames.chosen().len() as u64;
        for plan in &self.plans {
            for load in plan.pieces().loads() {
                let start_ns = recorder.now();
                self.ranges.clear();
                for &frame in self.frames.chosen() {
                    self.ranges.extend(plan.ranges(load.clone(), frame));
                }
                let n_bytes = self.bytes.load(&self.ranges)?;
                let start_ns = recorder.record(SpanKind::Read, start_ns, n_frames, n_bytes);
                for i in 0..self.frames.chosen().len() {
                    for (k, piece) in load.clone().enumerate() {
                        let bytes = self.bytes.get(i * load.len() + k);
                        plan.take(piece, bytes, batch, first + i, rows.as_deref_mut());
                    }
                }
                self.bytes.confirm()?;
                recorder.record(SpanKind::Decompress, start_ns, n_frames, n_bytes);
                // The recorder counts each frame once, regardless of the number of loads.
                n_frames = 0;
            }
        }
        for i in first..batch.len() {
            let header = batch.header_mut(i);
            header.unit_cell = header.unit_cell.filter(has_lengths);
        }
        Ok(())
    }
}

/// Returns whether a cell has lengths. Programs write zeros if there is no cell.
fn has_lengths(cell: &UnitCell) -> bool {
    cell.dimensions()[..3].iter().any(|&length| length != 0.0)
}

impl Reader for NetCdf3Reader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.frames.start(extent, self.file, self.layout.n_frames)?;
        if let [part] = &self.layout.parts[..] {
            self.frames.expect(&mut self.bytes, |frame| part.offset(frame));
        }
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        self.read_next(batch, None, recorder)
    }

    fn read_rows(&mut self, batch: &mut FrameBatch, rows: &mut NextRows<'_>, recorder: &mut Recorder) -> Result<()> {
        self.read_next(batch, Some(rows), recorder)
    }
}

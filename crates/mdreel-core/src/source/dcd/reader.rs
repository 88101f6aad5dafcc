//! Reader of one worker for a DCD file.

use std::ops::Range;

use super::cell::unit_cell;
use super::header::Header;
use super::layout::{Layout, check_marker};
use super::plan::FramePlan;
use crate::block::Extent;
use crate::error::Result;
use crate::frame::{ColumnsMut, FrameBatch, FrameHeader, Quantities};
use crate::source::bytes::{ByteReader, FileBytes};
use crate::source::numbered::NumberedFrames;
use crate::source::pieces::{LOAD_BYTES, Place};
use crate::source::{AtomSelection, Reader};
use crate::span::{Recorder, SpanKind};

/// Reader of the selected atoms of a DCD file.
#[derive(Debug)]
pub(super) struct DcdReader<'a> {
    file: &'a FileBytes,
    header: &'a Header,
    layout: &'a Layout,
    n_atoms: usize,
    first: FramePlan,
    /// Plan of later frames, if it differs from that of the first frame.
    later: Option<FramePlan>,
    fixed: Fixed,
    bytes: ByteReader<'a>,
    ranges: Vec<Range<u64>>,
    frames: NumberedFrames,
}

/// Positions of the selected atoms that only the first frame contains.
#[derive(Debug)]
enum Fixed {
    /// All frames contain all selected atoms.
    None,
    /// The reader has not read the first frame yet.
    Unread,
    /// The first frame.
    Read(FrameBatch),
}

impl<'a> DcdReader<'a> {
    /// Creates a reader of `atoms`.
    pub(crate) fn new(
        file: &'a FileBytes,
        header: &'a Header,
        layout: &'a Layout,
        atoms: &AtomSelection,
    ) -> Result<Self> {
        atoms.check(header.n_atoms)?;
        let all = Place::of_slots(atoms.indices());
        let free: Option<Vec<Place>> = header.free_atoms.as_ref().map(|free_atoms| {
            let target = |atom: &u32| atoms.indices().binary_search(atom).ok();
            let place = |(atom, slot)| target(atom).map(|target| Place { slot, target: target as u32 });
            free_atoms.iter().zip(0..).filter_map(place).collect()
        });
        let some_fixed = free.as_ref().is_some_and(|free| free.len() < all.len());
        Ok(DcdReader {
            file,
            header,
            layout,
            n_atoms: atoms.len(),
            first: FramePlan::new(&layout.first, header.format, &all),
            later: free.map(|free| FramePlan::new(&layout.later, header.format, &free)),
            fixed: if some_fixed { Fixed::Unread } else { Fixed::None },
            bytes: file.reader(),
            ranges: Vec::new(),
            frames: NumberedFrames::default(),
        })
    }

    /// Returns the number of frames that can be loaded together, because they have the same plan and are small enough.
    fn room(&self) -> u64 {
        match (self.frames.next(), &self.later) {
            (Some(0), Some(_)) | (None, _) => 1,
            (Some(first), later) => {
                let plan = plan_of(&self.first, later.as_ref(), first);
                (LOAD_BYTES / plan.pieces().n_bytes().max(1)).max(1)
            }
        }
    }

    /// Adds the chosen frames to `batch`.
    fn read_frames(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        let Some(&first) = self.frames.chosen().first() else { return Ok(()) };
        let plan = plan_of(&self.first, self.later.as_ref(), first);
        // A plan with several loads reads a single frame, and each load fills a part of its columns.
        let n_frames = self.frames.chosen().len() as u64;
        let mut columns: Option<ColumnsMut<'_>> = None;
        for (number, load) in plan.pieces().loads().iter().enumerate() {
            let start_ns = recorder.now();
            let pieces = &plan.pieces().all()[load.clone()];
            self.ranges.clear();
            for &frame in self.frames.chosen() {
                let start = self.layout.offset(frame);
                self.ranges.extend(pieces.iter().map(|piece| start + piece.bytes.start..start + piece.bytes.end));
            }
            let n_bytes = self.bytes.load(&self.ranges)?;
            let n_frames = if load.start == 0 { n_frames } else { 0 };
            let start_ns = recorder.record(SpanKind::Read, start_ns, n_frames, n_bytes);
            let mut copied = Ok(());
            for (i, &frame) in self.frames.chosen().iter().enumerate() {
                let bytes = |k: usize| self.bytes.get(i * pieces.len() + k);
                if load.start == 0 {
                    let cell = if pieces.is_empty() { None } else { plan.cell(bytes(0)) };
                    let added = batch.push(FrameHeader {
                        index: frame,
                        step: self.header.step(frame),
                        time: self.header.time(frame),
                        unit_cell: cell.and_then(unit_cell),
                        lambda: None,
                        present: Quantities::POSITIONS,
                    });
                    if let (Fixed::Read(first), true) = (&self.fixed, frame > 0) {
                        let first = first.columns(0);
                        added.x.copy_from_slice(first.x);
                        added.y.copy_from_slice(first.y);
                        added.z.copy_from_slice(first.z);
                    }
                    columns = Some(added);
                }
                let columns = columns.as_mut().expect("the first load adds the frame");
                plan.gather(number, bytes, columns);
                for (k, piece) in pieces.iter().enumerate() {
                    // The check follows the gathering, which also brings the markers into the cache. Before it, the
                    // check would wait for each marker.
                    if let Some((at, got, expected)) = plan.wrong_marker(piece, bytes(k)) {
                        let at = self.layout.offset(frame) + at;
                        copied = copied.and_then(|()| check_marker(self.file, frame, at, got, expected));
                    }
                }
            }
            // A truncated file looks corrupt. The truncation is the better error message.
            self.bytes.confirm()?;
            copied?;
            recorder.record(SpanKind::Decompress, start_ns, n_frames, n_bytes);
        }
        Ok(())
    }

    /// Reads the first frame, if later frames lack selected atoms.
    fn read_fixed(&mut self, recorder: &mut Recorder) -> Result<()> {
        if matches!(self.fixed, Fixed::Unread) && self.frames.next().is_some() {
            let mut first = FrameBatch::with_capacity(self.n_atoms, 1);
            self.frames.choose_only(0);
            self.read_frames(&mut first, recorder)?;
            self.fixed = Fixed::Read(first);
        }
        Ok(())
    }
}

fn plan_of<'p>(first: &'p FramePlan, later: Option<&'p FramePlan>, frame: u64) -> &'p FramePlan {
    match later {
        Some(later) if frame > 0 => later,
        _ => first,
    }
}

impl Reader for DcdReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.frames.start(extent, self.file, self.layout.n_frames(self.file))?;
        self.frames.expect(&mut self.bytes, |frame| self.layout.offset(frame));
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.check(self.n_atoms)?;
        batch.clear();
        self.read_fixed(recorder)?;
        while batch.len() < batch.capacity() {
            self.frames.choose(self.room().min((batch.capacity() - batch.len()) as u64));
            if self.frames.chosen().is_empty() {
                break;
            }
            self.read_frames(batch, recorder)?;
            self.frames.advance();
        }
        Ok(())
    }
}

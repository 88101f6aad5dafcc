//! Segments: a trajectory split into files, each written by one worker from its beginning to its end.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::{Output, check_count, outline_of};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::pool::{Monitor, Shared, Worker, run_blocks};
use crate::source::{AtomSelection, Source, StoredFrames};
use crate::span::{Recorder, Span, SpanKind};
use crate::writer::{Encoder, FileWriter};

/// Bytes that are copied at a time.
const CHUNK: u64 = 4 << 20;

/// A file, and the consecutive frames that it is to hold.
pub struct Segment {
    /// The file.
    pub output: Output,
    /// Its frames.
    pub frames: Range<u64>,
}

/// Writes each of `segments` to its file, `n_workers` at a time. Where all atoms are wanted, the format stays the
/// same, and frames stand alone in it, their bytes are copied as they are. Returns what everything cost. An error leaves
/// the segments that were whole before.
pub fn split(
    source: &dyn Source,
    atoms: &AtomSelection,
    segments: &[Segment],
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<Span>> {
    let epoch = Instant::now();
    atoms.check(source.n_atoms())?;
    let make_worker = |index: usize| {
        let recorder = Recorder::new(epoch, index as u32);
        Ok(SegmentWorker { source, atoms, segments, recorder })
    };
    let mut spans = Vec::new();
    run_blocks(segments.len(), n_workers, make_worker, monitor, |mut of_segment: Vec<Span>| {
        spans.append(&mut of_segment);
        Ok(())
    })?;
    Ok(spans)
}

struct SegmentWorker<'a> {
    source: &'a dyn Source,
    atoms: &'a AtomSelection,
    segments: &'a [Segment],
    recorder: Recorder,
}

/// Frames that are copied, not encoded.
struct Verbatim;

impl Encoder for Verbatim {
    fn begin(&self, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn encode(&self, _batch: &FrameBatch, _out: &mut Vec<u8>) -> Result<()> {
        Err(Error::Unsupported("frames that are copied as bytes are not encoded".into()))
    }

    fn end(&self, _n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        Ok(Vec::new())
    }
}

impl SegmentWorker<'_> {
    /// Copies the frames of a segment. `None` when nobody wants it any more.
    fn copy(
        &mut self,
        stored: &[StoredFrames<'_>],
        segment: usize,
        wanted: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Written>> {
        let verbatim: Arc<dyn Encoder> = Arc::new(Verbatim);
        let mut writer = FileWriter::create(&self.segments[segment].output.path, verbatim)?;
        for part in stored {
            let mut at = part.bytes.start;
            let mut n_told = 0;
            while at < part.bytes.end {
                let end = part.bytes.end.min(at + CHUNK);
                let start_ns = self.recorder.now();
                let bytes = part.file.read_vec(at..end)?;
                let read_ns = self.recorder.record(SpanKind::Read, start_ns, 0, end - at);
                // Frames are counted where the last of them ends.
                writer.append(&bytes, if end == part.bytes.end { part.n_frames } else { 0 })?;
                self.recorder.record(SpanKind::Write, read_ns, 0, end - at);
                at = end;
                let share = u128::from(at - part.bytes.start) * u128::from(part.n_frames)
                    / u128::from(part.bytes.end - part.bytes.start);
                if !wanted(share as u64 - n_told) {
                    return Ok(None);
                }
                n_told = share as u64;
            }
        }
        Ok(Some(writer))
    }

    /// Encodes the frames of a segment. `None` when nobody wants it any more.
    fn encode(&mut self, segment: usize, wanted: &mut dyn FnMut(u64) -> bool) -> Result<Option<Written>> {
        let Segment { output, frames } = &self.segments[segment];
        let quantities = output.quantities(self.source);
        let set = FrameSet::Range { start: frames.start, step: 1, count: frames.end - frames.start };
        let mut writer = output.begin(self.source, &outline_of(self.source, self.atoms, &set, quantities)?)?;
        let mut reader = self.source.reader(self.atoms, quantities)?;
        reader.start(&Extent::Frames(set))?;
        let mut batch = FrameBatch::for_quantities(self.atoms.len(), quantities);
        loop {
            reader.read(&mut batch, &mut self.recorder)?;
            if batch.is_empty() {
                return Ok(Some(writer));
            }
            let start_ns = self.recorder.now();
            writer.write(&batch)?;
            self.recorder.record(SpanKind::Compute, start_ns, batch.len() as u64, 0);
            if !wanted(batch.len() as u64) {
                return Ok(None);
            }
        }
    }
}

type Written = FileWriter<Arc<dyn Encoder>>;

impl Worker for SegmentWorker<'_> {
    type Output = Vec<Span>;

    fn work(&mut self, segment: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Vec<Span>> {
        self.recorder.set_block(segment as u32);
        let mut wanted = |n_frames: u64| {
            shared.add_frames(n_frames as usize);
            tick();
            shared.wanted(segment)
        };
        let Segment { output, frames } = &self.segments[segment];
        let written = match output.stored(self.source, self.atoms, frames)? {
            Some(stored) => self.copy(&stored, segment, &mut wanted)?,
            None => self.encode(segment, &mut wanted)?,
        };
        let Some(writer) = written else { return Ok(Vec::new()) };
        let start_ns = self.recorder.now();
        check_count(writer.n_frames(), frames.end - frames.start)?;
        writer.finish()?;
        self.recorder.record(SpanKind::Write, start_ns, 0, 0);
        Ok(self.recorder.take())
    }
}

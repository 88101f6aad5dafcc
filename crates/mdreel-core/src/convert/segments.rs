//! Division of a trajectory into several files. One worker writes each file from beginning to end.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::output::{Output, check_count};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::source::{AtomSelection, Source, StoredFrames};
use crate::span::{Recorder, Span, SpanKind};
use crate::writer::{Encoder, FileWriter};

/// Number of bytes copied at a time.
const CHUNK: u64 = 4 << 20;

/// A file and the consecutive frames that it will contain.
pub struct Segment {
    /// The file.
    pub output: Output,
    /// The frames of the file.
    pub frames: Range<u64>,
}

/// Writes each of `segments` to its file, `n_workers` at a time. Returns the spans of all work. If an error occurs, the
/// segments completed before remain.
///
/// The bytes of frames are copied unchanged if all atoms are selected, the format and precision stay the same, and
/// frames are self-contained in the format.
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
    run_blocks(0..segments.len(), Crew::on_demand(n_workers), make_worker, monitor, |mut of_segment: Vec<Span>| {
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

/// An encoder for frames that are copied instead of encoded.
pub(super) struct Verbatim;

impl Encoder for Verbatim {
    fn begin(&self, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn encode(&self, _batch: &FrameBatch, _out: &mut Vec<u8>) -> Result<()> {
        Err(Error::unsupported("frames that are copied as bytes are not encoded"))
    }

    fn end(&self, _n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        Ok(Vec::new())
    }
}

impl SegmentWorker<'_> {
    /// Copies the frames of a segment. Returns `None` if the segment is no longer wanted.
    fn copy(
        &mut self,
        stored: &[StoredFrames<'_>],
        segment: usize,
        wanted: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Written>> {
        let verbatim: Arc<dyn Encoder> = Arc::new(Verbatim);
        let mut writer = FileWriter::create(&self.segments[segment].output.path, verbatim)?;
        for part in stored {
            let Range { start, end } = part.bytes;
            // Number of frames that end before a byte, if all frames had the same size.
            let n_before = |byte: u64| {
                let frame_bytes = u128::from(byte - start) * u128::from(part.n_frames);
                (frame_bytes / u128::from(end - start)) as u64
            };
            for at in (start..end).step_by(CHUNK as usize) {
                let stop = end.min(at + CHUNK);
                let n_frames = n_before(stop) - n_before(at);
                let start_ns = self.recorder.now();
                let bytes = part.file.read_vec(at..stop)?;
                let read_ns = self.recorder.record(SpanKind::Read, start_ns, n_frames, stop - at);
                writer.append(&bytes, n_frames)?;
                self.recorder.record(SpanKind::Write, read_ns, n_frames, stop - at);
                if !wanted(n_frames) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(writer))
    }

    /// Encodes the frames of a segment. Returns `None` if the segment is no longer wanted.
    fn encode(&mut self, segment: usize, wanted: &mut dyn FnMut(u64) -> bool) -> Result<Option<Written>> {
        let Segment { output, frames } = &self.segments[segment];
        let set = FrameSet::Range { start: frames.start, step: 1, count: frames.end - frames.start };
        let outline = output.outline(self.source, self.atoms, &set)?;
        let mut writer = output.begin(self.source, &outline)?;
        let mut reader = self.source.reader(self.atoms, outline.quantities)?;
        reader.start(&Extent::Frames(set))?;
        let mut batch = FrameBatch::for_quantities(self.atoms.len(), outline.quantities);
        let mut bytes = Vec::new();
        loop {
            reader.read(&mut batch, &mut self.recorder)?;
            if batch.is_empty() {
                return Ok(Some(writer));
            }
            let (start_ns, n_frames) = (self.recorder.now(), batch.len() as u64);
            bytes.clear();
            writer.encoder().encode(&batch, &mut bytes)?;
            let encoded_ns = self.recorder.record(SpanKind::Compute, start_ns, n_frames, bytes.len() as u64);
            writer.append(&bytes, n_frames)?;
            self.recorder.record(SpanKind::Write, encoded_ns, n_frames, bytes.len() as u64);
            if !wanted(n_frames) {
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

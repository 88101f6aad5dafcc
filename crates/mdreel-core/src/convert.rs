//! Conversions: frames of a source, encoded by workers side by side, written in order.
//!
//! The file has the same bytes whatever the number of workers: an encoder keeps nothing from frame to frame, and what
//! blocks became is appended in their order.

mod outline;
mod segments;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use segments::Verbatim;
pub use segments::{Segment, split};

use crate::block::{Block, FrameSet, plan_frames};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantity};
use crate::pool::{Monitor, Shared, Worker, run_blocks};
use crate::source::tolerant::{Damage, OnError, account};
use crate::source::{AtomSelection, Reader, Source, StoredFrames};
use crate::span::{COORDINATOR, Recorder, Span, SpanKind};
use crate::writer::format::{OutputFormat, Settings};
use crate::writer::{Encoder, FileWriter, Outline};
use outline::outline_of;

/// Bytes of coordinates in a block: what waits for its turn to be written stays small.
const BLOCK_BYTES: u64 = 1 << 20;

/// A file to be written.
#[derive(Clone)]
pub struct Output {
    path: PathBuf,
    format: &'static OutputFormat,
    settings: Settings,
}

impl Output {
    /// A file whose format is that of its ending.
    pub fn new(path: &Path, settings: Settings) -> Result<Self> {
        Ok(Output { path: path.to_owned(), format: OutputFormat::of(path)?, settings })
    }

    /// What of `frames` of `source` is written.
    fn outline(&self, source: &dyn Source, atoms: &AtomSelection, frames: &FrameSet) -> Result<Outline> {
        let quantities = source.quantities().both(self.format.quantities).with(Quantity::Positions, true);
        outline_of(source, atoms, frames, quantities, self.format.alike)
    }

    /// Begins the file. Where nobody chose a precision, it is that of `source`.
    fn begin(&self, source: &dyn Source, outline: &Outline) -> Result<FileWriter<Arc<dyn Encoder>>> {
        let mut settings = self.settings;
        if self.format.rounds {
            settings.precision = settings.precision.or(source.precision());
        }
        FileWriter::create(&self.path, self.format.encoder(outline, &settings)?)
    }

    /// Whether the bytes of single frames can be copied, if they are whole.
    fn copies(&self, source: &dyn Source, atoms: &AtomSelection) -> bool {
        let is_plain = atoms.len() == source.n_atoms() && self.settings.precision.is_none();
        is_plain && source.stored_format() == Some(self.format.name)
    }

    /// The bytes of `frames`, if to copy them is all that is to be done.
    fn stored<'a>(
        &self,
        source: &'a dyn Source,
        atoms: &AtomSelection,
        frames: &Range<u64>,
    ) -> Result<Option<Vec<StoredFrames<'a>>>> {
        // Which frames are whole shows when they are decoded.
        if atoms.len() != source.n_atoms() || self.settings.precision.is_some() || source.on_error() != OnError::Raise {
            return Ok(None);
        }
        let stored = source.stored_frames(frames.clone())?;
        Ok(stored.filter(|parts| parts.iter().all(|part| part.format == self.format.name)))
    }
}

/// A file that was written.
#[derive(Debug)]
pub struct Converted {
    /// Frames in it.
    pub n_frames: u64,
    /// What everything cost.
    pub spans: Vec<Span>,
    /// Frames that were left out, if the source is one that goes on at damage.
    pub damage: Vec<Damage>,
}

/// Writes `frames` of `source`, of the selected atoms, on `n_workers` threads. Where all atoms of consecutive frames are
/// wanted in the format and the precision that they have, their bytes are copied as they are, if frames stand alone in the
/// format. An error leaves no file.
pub fn convert(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    output: &Output,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Converted> {
    atoms.check(source.n_atoms())?;
    if let Some(range) = consecutive(frames)
        && output.stored(source, atoms, &range)?.is_some()
    {
        let segment = Segment { output: output.clone(), frames: range };
        let spans = split(source, atoms, std::slice::from_ref(&segment), 1, monitor)?;
        return Ok(Converted { n_frames: frames.len(), spans, damage: Vec::new() });
    }
    let epoch = Instant::now();
    let mut coordinator = Recorder::new(epoch, COORDINATOR);
    let outline = output.outline(source, atoms, frames)?;
    let wanted = outline.quantities;
    let copies = source.on_error() != OnError::Raise && output.copies(source, atoms);
    let mut writer = match copies {
        true => FileWriter::create(&output.path, Arc::new(Verbatim) as Arc<dyn Encoder>)?,
        false => output.begin(source, &outline)?,
    };
    let encoder = Arc::clone(writer.encoder());
    coordinator.record(SpanKind::Open, 0, 0, 0);
    let frame_bytes = 12 * atoms.len().max(1) as u64 * wanted.count() as u64;
    let blocks = plan_frames(frames, frames.len().div_ceil((BLOCK_BYTES / frame_bytes).max(1)));
    let make_worker = |index: usize| {
        let mut recorder = Recorder::new(epoch, index as u32);
        let start_ns = recorder.now();
        let reader = source.reader(atoms, wanted)?;
        let free_since = recorder.record(SpanKind::Open, start_ns, 0, 0);
        let batch = FrameBatch::for_quantities(atoms.len(), wanted);
        let stops = source.on_error() == OnError::Stop;
        let copied = copies.then_some(source);
        Ok(EncodingWorker { reader, stops, copied, encoder: &*encoder, blocks: &blocks, batch, recorder, free_since })
    };
    let (mut spans, mut damage) = (Vec::new(), Vec::new());
    run_blocks(blocks.len(), n_workers, make_worker, monitor, |mut block: EncodedBlock| {
        let start_ns = coordinator.now();
        writer.append(&block.bytes, block.n_frames)?;
        coordinator.record(SpanKind::Write, start_ns, block.n_frames, block.bytes.len() as u64);
        spans.append(&mut block.spans);
        damage.append(&mut block.damage);
        Ok(())
    })?;
    let start_ns = coordinator.now();
    if damage.is_empty() {
        check_count(writer.n_frames(), frames.len())?;
    }
    let n_frames = writer.n_frames();
    let damage = account(source, damage)?;
    if let (0, Some(first)) = (n_frames, damage.first()) {
        return Err(first.clone().into_error());
    }
    writer.finish()?;
    coordinator.record(SpanKind::Write, start_ns, 0, 0);
    spans.append(&mut coordinator.take());
    Ok(Converted { n_frames, spans, damage })
}

/// The range that frames are, if they are one.
fn consecutive(frames: &FrameSet) -> Option<Range<u64>> {
    let (first, n) = (frames.get((!frames.is_empty()).then_some(0)?), frames.len());
    match frames {
        FrameSet::Range { step: 1, .. } => {}
        FrameSet::List(list) if list.windows(2).all(|pair| pair[1] == pair[0] + 1) => {}
        _ if n == 1 => {}
        _ => return None,
    }
    Some(first..first + n)
}

/// Appends the frames of a batch as they are stored.
fn copy_frames(source: &dyn Source, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
    for run in batch.headers().chunk_by(|before, next| next.index == before.index + 1) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        for part in source.stored_frames(first.index..last.index + 1)?.unwrap_or_default() {
            out.extend(part.file.read_vec(part.bytes)?);
        }
    }
    Ok(())
}

/// A source that ends early would leave a file that looks whole.
fn check_count(n_written: u64, n_wanted: u64) -> Result<()> {
    if n_written == n_wanted {
        return Ok(());
    }
    Err(Error::Mismatch(format!("{n_wanted} frames were to be written, but the trajectory gave {n_written}")))
}

/// What a block became.
struct EncodedBlock {
    bytes: Vec<u8>,
    n_frames: u64,
    spans: Vec<Span>,
    damage: Vec<Damage>,
}

struct EncodingWorker<'a> {
    reader: Box<dyn Reader + 'a>,
    /// Whether nothing is wanted behind damage.
    stops: bool,
    /// Whose stored frames are copied, once they are known to be whole, rather than encoded.
    copied: Option<&'a dyn Source>,
    encoder: &'a dyn Encoder,
    blocks: &'a [Block],
    batch: FrameBatch,
    recorder: Recorder,
    /// Since when the worker has been waiting for a block, in the recorder's time.
    free_since: u64,
}

impl Worker for EncodingWorker<'_> {
    type Output = EncodedBlock;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<EncodedBlock> {
        self.recorder.set_block(block as u32);
        self.recorder.record(SpanKind::Wait, self.free_since, 0, 0);
        let mut bytes = Vec::new();
        let mut n_frames = 0;
        self.reader.start(&self.blocks[block].extent)?;
        while shared.wanted(block) {
            self.reader.read(&mut self.batch, &mut self.recorder)?;
            if self.batch.is_empty() {
                break;
            }
            let (start_ns, n_before) = (self.recorder.now(), bytes.len());
            match self.copied {
                Some(source) => copy_frames(source, &self.batch, &mut bytes)?,
                None => self.encoder.encode(&self.batch, &mut bytes)?,
            }
            let n = self.batch.len() as u64;
            self.recorder.record(SpanKind::Compute, start_ns, n, (bytes.len() - n_before) as u64);
            n_frames += n;
            shared.add_frames(self.batch.len());
            tick();
        }
        let damage = self.reader.damage();
        if self.stops && !damage.is_empty() {
            shared.end_with(block);
        }
        self.free_since = self.recorder.now();
        Ok(EncodedBlock { bytes, n_frames, spans: self.recorder.take(), damage })
    }
}

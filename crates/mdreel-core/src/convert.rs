//! Conversion of the frames of a source: workers encode blocks in parallel, and the blocks are written in order.
//!
//! The bytes of the file do not depend on the number of workers: an encoder has no state between frames, and the
//! encoded blocks are appended in order.

mod blocks;
mod chunks;
mod outline;
mod output;
mod segments;

use std::ops::Range;
use std::sync::Arc;

pub use chunks::{ChunkSink, chunk_outline, convert_to_chunks};
pub use output::Output;
use output::check_count;
use segments::Verbatim;
pub use segments::{Segment, split};

use crate::block::{FrameSet, plan_frames};
use crate::error::Result;
use crate::frame::FrameBatch;
use crate::pool::Monitor;
use crate::source::damage::{Damage, OnError};
use crate::source::{AtomSelection, Source, SourceExt};
use crate::span::{Span, SpanKind};
use crate::writer::{Encoder, FileWriter};
use blocks::{BlockCoder, Conversion};

/// Number of bytes of coordinates in a block. It is small to limit the memory of blocks that wait to be written.
const BLOCK_BYTES: u64 = 1 << 20;

/// A converted file.
#[derive(Debug)]
pub struct Converted {
    /// Number of frames in the file.
    pub n_frames: u64,
    /// The spans of all work.
    pub spans: Vec<Span>,
    /// Damaged frames that were skipped, if the source tolerates damage.
    pub damage: Vec<Damage>,
}

/// Writes the selected atoms of `frames` of `source` on `n_workers` threads. If an error occurs, no file is left.
///
/// The bytes of frames are copied unchanged if all atoms are selected, the format and precision stay the same, and
/// frames are self-contained in the format. The frames must also be consecutive, unless the source tolerates damage.
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
    let mut conversion = Conversion::begin();
    let outline = output.outline(source, atoms, frames)?;
    let copies = source.on_error() != OnError::Raise && output.copies(source, atoms);
    let mut writer = match copies {
        true => FileWriter::create(&output.path, Arc::new(Verbatim) as Arc<dyn Encoder>)?,
        false => output.begin(source, &outline)?,
    };
    let encoder = Arc::clone(writer.encoder());
    conversion.record(SpanKind::Open);
    let frame_bytes = 12 * atoms.len().max(1) as u64 * outline.quantities.count() as u64;
    let blocks = plan_frames(frames, frames.len().div_ceil((BLOCK_BYTES / frame_bytes).max(1)));
    let make_coder = || Appending { copied: copies.then_some(source), encoder: &*encoder, bytes: Vec::new() };
    let wanted = (atoms, outline.quantities);
    let damage = conversion.run(source, wanted, &blocks, n_workers, monitor, make_coder, |bytes, n_frames| {
        writer.append(&bytes, n_frames)?;
        Ok(bytes.len() as u64)
    })?;
    let n_frames = writer.n_frames();
    match damage.first() {
        Some(first) if n_frames == 0 => return Err(first.clone().into_error()),
        Some(_) => {}
        None => check_count(n_frames, frames.len())?,
    }
    writer.finish()?;
    conversion.record(SpanKind::Write);
    Ok(Converted { n_frames, spans: conversion.end(), damage })
}

/// Returns the frames as a range if they are consecutive.
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

/// Appends the stored bytes of the frames of a batch.
fn copy_frames(source: &dyn Source, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
    for run in batch.headers().chunk_by(|before, next| next.index == before.index + 1) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        for part in source.stored_frames(first.index..last.index + 1)?.unwrap_or_default() {
            out.extend(part.file.read_vec(part.bytes)?);
        }
    }
    Ok(())
}

/// A coder whose bytes are appended to a file.
struct Appending<'a> {
    /// The source from which stored frames are copied instead of encoded. A frame is copied only after it has been
    /// decoded without an error.
    copied: Option<&'a dyn Source>,
    encoder: &'a dyn Encoder,
    bytes: Vec<u8>,
}

impl BlockCoder for Appending<'_> {
    type Coded = Vec<u8>;

    fn add(&mut self, batch: &FrameBatch, _is_wanted: &mut dyn FnMut() -> bool) -> Result<u64> {
        let n_before = self.bytes.len();
        match self.copied {
            Some(source) => copy_frames(source, batch, &mut self.bytes)?,
            None => self.encoder.encode(batch, &mut self.bytes)?,
        }
        Ok((self.bytes.len() - n_before) as u64)
    }

    fn finish(&mut self, _is_wanted: &mut dyn FnMut() -> bool) -> Result<Vec<u8>> {
        Ok(std::mem::take(&mut self.bytes))
    }
}

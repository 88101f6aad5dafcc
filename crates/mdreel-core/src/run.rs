//! A run: blocks of a source, mapped by a kernel, merged in order.

use std::time::Instant;

use crate::block::{Block, Extent};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::kernel::Kernel;
use crate::pool::{Monitor, Shared, Worker, run_blocks};
use crate::reduce::Partial;
use crate::source::tolerant::{Damage, OnError, account};
use crate::source::{AtomSelection, LocatedFrames, Reader, Source};
use crate::span::{COORDINATOR, Recorder, Span, SpanKind};

/// What a run gives back.
#[derive(Debug)]
pub struct Outcome<P> {
    /// The merged result.
    pub result: P,
    /// What everything cost.
    pub spans: Vec<Span>,
    /// Frames that were left out, if the source is one that goes on at damage.
    pub damage: Vec<Damage>,
}

/// Maps the blocks of `source` with `kernel` on `n_workers` threads and merges the partial results in block order.
/// Returns `None` when blocks of bytes did not join (see [`Source::locate`]) or met what is no frame: a block may have
/// been misled, and does not know which frame it is in. The caller then plans by frames, and gets the result, or an
/// error that knows its frame.
pub fn run<K: Kernel>(
    source: &dyn Source,
    atoms: &AtomSelection,
    kernel: &K,
    blocks: &[Block],
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Option<Outcome<K::Partial>>> {
    atoms.check(source.n_atoms())?;
    if kernel.n_atoms() != atoms.len() {
        return Err(Error::Mismatch(format!(
            "the kernel wants {} atoms, the selection has {}",
            kernel.n_atoms(),
            atoms.len()
        )));
    }
    let epoch = Instant::now();
    let mut coordinator = Recorder::new(epoch, COORDINATOR);
    let mut spans = Vec::new();
    let mut located = Vec::new();
    let mut damage = Vec::new();
    let mut result = kernel.empty();
    result.reserve(blocks.iter().map(n_known_frames).sum());
    let make_worker = |index: usize| {
        let mut recorder = Recorder::new(epoch, index as u32);
        let start_ns = recorder.now();
        let wanted = kernel.quantities();
        let reader = source.reader(atoms, wanted)?;
        let free_since = recorder.record(SpanKind::Open, start_ns, 0, 0);
        Ok(BlockWorker {
            reader,
            stops: source.on_error() == OnError::Stop,
            kernel,
            blocks,
            batch: FrameBatch::for_quantities(atoms.len(), wanted),
            recorder,
            free_since,
        })
    };
    let done = run_blocks(blocks.len(), n_workers, make_worker, monitor, |mut output: BlockOutput<K::Partial>| {
        let start_ns = coordinator.now();
        if let Some(part) = output.located {
            output.partial.renumber(result.n_frames());
            located.push(part);
        }
        let n_frames = output.partial.n_frames();
        result.merge(output.partial);
        spans.append(&mut output.spans);
        damage.append(&mut output.damage);
        coordinator.record(SpanKind::Reduce, start_ns, n_frames, 0);
        Ok(())
    });
    let in_bytes = blocks.iter().any(|block| matches!(block.extent, Extent::Bytes(_)));
    match done {
        Err(Error::Format { .. }) if in_bytes => return Ok(None),
        done => done?,
    }
    if !located.is_empty() && !source.locate(located)? {
        return Ok(None);
    }
    spans.append(&mut coordinator.take());
    let damage = account(source, damage)?;
    Ok(Some(Outcome { result, spans, damage }))
}

/// Frames of a block, as far as they have been counted.
fn n_known_frames(block: &Block) -> u64 {
    match &block.extent {
        Extent::Frames(frames) => frames.len(),
        Extent::Bytes(_) => 0,
    }
}

struct BlockOutput<P> {
    partial: P,
    spans: Vec<Span>,
    located: Option<LocatedFrames>,
    damage: Vec<Damage>,
}

struct BlockWorker<'a, K> {
    reader: Box<dyn Reader + 'a>,
    /// Whether nothing is wanted behind damage.
    stops: bool,
    kernel: &'a K,
    blocks: &'a [Block],
    batch: FrameBatch,
    recorder: Recorder,
    /// Since when the worker has been waiting for a block, in the recorder's time.
    free_since: u64,
}

impl<K: Kernel> Worker for BlockWorker<'_, K> {
    type Output = BlockOutput<K::Partial>;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        let extent = &self.blocks[block].extent;
        self.recorder.set_block(block as u32);
        self.recorder.record(SpanKind::Wait, self.free_since, 0, 0);
        let mut partial = self.kernel.empty();
        partial.reserve(n_known_frames(&self.blocks[block]));
        self.reader.start(extent)?;
        while shared.wanted(block) {
            self.reader.read(&mut self.batch, &mut self.recorder)?;
            if self.batch.is_empty() {
                break;
            }
            check_presence(self.kernel.needs(), &self.batch)?;
            let start_ns = self.recorder.now();
            self.kernel.map(&self.batch, &mut partial)?;
            self.recorder.record(SpanKind::Compute, start_ns, self.batch.len() as u64, 0);
            shared.add_frames(self.batch.len());
            tick();
        }
        let located = matches!(extent, Extent::Bytes(_)).then(|| self.reader.located());
        let damage = self.reader.damage();
        if self.stops && !damage.is_empty() {
            shared.end_with(block);
        }
        self.free_since = self.recorder.now();
        Ok(BlockOutput { partial, spans: self.recorder.take(), located, damage })
    }
}

/// Refuses frames that lack what the kernel cannot do without.
fn check_presence(needs: Quantities, batch: &FrameBatch) -> Result<()> {
    let Some(header) = batch.headers().iter().find(|header| !header.present.contains_all(needs)) else { return Ok(()) };
    let missing = needs.iter().find(|&quantity| !header.present.contains(quantity));
    let name = missing.map_or("quantities", Quantity::name);
    Err(Error::Mismatch(format!("frame {} has no {name}, which the analysis needs", header.index)))
}

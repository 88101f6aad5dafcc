//! A run: blocks of a source, mapped by a kernel, merged in order.

use std::time::Instant;

use crate::block::{Blocks, Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::kernel::Kernel;
use crate::pool::{Monitor, POLL_INTERVAL, Shared, Worker, run_blocks};
use crate::reduce::Partial;
use crate::source::growth::Growth;
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
/// error that knows its frame. Frames of a source that grows are waited for; the run ends when the source does.
pub fn run<K: Kernel>(
    source: &dyn Source,
    atoms: &AtomSelection,
    kernel: &K,
    blocks: &Blocks,
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
    result.reserve(blocks.n_known_frames());
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
            growth: source.growth(),
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
    match done {
        Err(Error::Format { .. }) if blocks.are_of_bytes() => return Ok(None),
        done => done?,
    }
    if !located.is_empty() && !source.locate(located)? {
        return Ok(None);
    }
    spans.append(&mut coordinator.take());
    let damage = account(source, damage)?;
    Ok(Some(Outcome { result, spans, damage }))
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
    blocks: &'a Blocks,
    growth: Option<&'a dyn Growth>,
    batch: FrameBatch,
    recorder: Recorder,
    /// Since when the worker has been waiting for a block, in the recorder's time.
    free_since: u64,
}

impl<K: Kernel> Worker for BlockWorker<'_, K> {
    type Output = BlockOutput<K::Partial>;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        let extent = self.blocks.extent(block).unwrap_or(Extent::Frames(FrameSet::all(0)));
        self.recorder.set_block(block as u32);
        self.recorder.record(SpanKind::Wait, self.free_since, 0, 0);
        let mut partial = self.kernel.empty();
        partial.reserve(extent.n_known_frames());
        match (self.growth, &extent) {
            (Some(growth), Extent::Frames(frames)) => {
                self.map_arriving(growth, frames, block, &mut partial, shared, tick)?;
            }
            _ => self.map_extent(&extent, block, &mut partial, shared, tick)?,
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

impl<K: Kernel> BlockWorker<'_, K> {
    /// Maps the frames of an extent.
    fn map_extent(
        &mut self,
        extent: &Extent,
        block: usize,
        partial: &mut K::Partial,
        shared: &Shared,
        tick: &mut dyn FnMut(),
    ) -> Result<()> {
        self.reader.start(extent)?;
        while shared.wanted(block) {
            self.reader.read(&mut self.batch, &mut self.recorder)?;
            if self.batch.is_empty() {
                break;
            }
            check_presence(self.kernel.needs(), &self.batch)?;
            let start_ns = self.recorder.now();
            self.kernel.map(&self.batch, partial)?;
            self.recorder.record(SpanKind::Compute, start_ns, self.batch.len() as u64, 0);
            shared.add_frames(self.batch.len());
            tick();
        }
        Ok(())
    }

    /// Maps frames as they come, and says so when they end before the block does.
    fn map_arriving(
        &mut self,
        growth: &dyn Growth,
        frames: &FrameSet,
        block: usize,
        partial: &mut K::Partial,
        shared: &Shared,
        tick: &mut dyn FnMut(),
    ) -> Result<()> {
        let mut n_mapped = 0;
        let mut waiting_since = self.recorder.now();
        while n_mapped < frames.len() && shared.wanted(block) {
            let next = frames.get(n_mapped);
            let arrival = growth.await_frame(next, POLL_INTERVAL)?;
            tick();
            if next < arrival.n_frames {
                self.recorder.record(SpanKind::Wait, waiting_since, 0, 0);
                let n_there = frames.n_below(arrival.n_frames);
                let extent = Extent::Frames(frames.slice(n_mapped..n_there));
                self.map_extent(&extent, block, partial, shared, tick)?;
                n_mapped = n_there;
                waiting_since = self.recorder.now();
            } else if arrival.is_ended {
                shared.end_with(block);
                break;
            }
        }
        Ok(())
    }
}

/// Refuses frames that lack what the kernel cannot do without.
fn check_presence(needs: Quantities, batch: &FrameBatch) -> Result<()> {
    let Some(header) = batch.headers().iter().find(|header| !header.present.contains_all(needs)) else { return Ok(()) };
    let missing = needs.iter().find(|&quantity| !header.present.contains(quantity));
    let name = missing.map_or("quantities", Quantity::name);
    Err(Error::Mismatch(format!("frame {} has no {name}, which the analysis needs", header.index)))
}

//! Runs: map the blocks of a source with a kernel and merge the results in order.

use std::ops::Range;
use std::time::Instant;

use crate::block::{Blocks, Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::kernel::Kernel;
use crate::part::Part;
use crate::pool::{Crew, Monitor, POLL_INTERVAL, Shared, Worker, run_blocks};
use crate::reduce::Partial;
use crate::source::damage::{Damage, OnError};
use crate::source::growth::Growth;
use crate::source::tolerant::account;
use crate::source::{AtomSelection, Reader, Source, SourceExt};
use crate::span::{COORDINATOR, Recorder, Span, SpanKind};

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome<P> {
    /// The merged result.
    pub result: P,
    /// The time and cost of every part of the run.
    pub spans: Vec<Span>,
    /// Frames that were skipped, if the source continues after damage.
    pub damage: Vec<Damage>,
}

/// Maps the blocks of `source` with `kernel` on `n_workers` threads. See [`Job::run`].
pub fn run<K: Kernel>(
    source: &dyn Source,
    atoms: &AtomSelection,
    kernel: &K,
    blocks: &Blocks,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Option<Outcome<K::Partial>>> {
    Job { source, atoms, kernel, blocks }.run(Crew::on_demand(n_workers), monitor)
}

/// The work on every block.
#[derive(Clone, Copy)]
pub struct Job<'a, K> {
    /// The trajectory.
    pub source: &'a dyn Source,
    /// The atoms that the kernel gets.
    pub atoms: &'a AtomSelection,
    /// The computation.
    pub kernel: &'a K,
    /// The frames, divided into blocks.
    pub blocks: &'a Blocks,
}

impl<K: Kernel> Job<'_, K> {
    /// Maps all blocks with the threads of a crew and merges the partial results in block order.
    ///
    /// Returns `None` if blocks of bytes did not join (see
    /// [`ByteBlocks::locate`](crate::source::capabilities::ByteBlocks::locate)) or contained bytes that are not a
    /// frame. A block of bytes may have found a wrong first frame, and it does not know the numbers of its frames. The
    /// caller then plans by frames and gets the result, or an error with the frame number.
    ///
    /// The run waits for the frames of a growing source and ends when the source ends.
    pub fn run(&self, crew: Crew, monitor: &mut dyn Monitor) -> Result<Option<Outcome<K::Partial>>> {
        let whole = Part::whole(self.kernel.empty());
        match self.map_into(whole, 0..self.blocks.len(), crew, 0, monitor) {
            Err(Error::Format { .. }) if self.blocks.are_of_bytes() => Ok(None),
            part => finish(self.source, part?),
        }
    }

    /// Maps some of the blocks and returns a part of the result. Its spans number the workers from `first_worker`. A
    /// worker that works alone also merges.
    pub fn map(
        &self,
        blocks: Range<usize>,
        crew: Crew,
        first_worker: u32,
        monitor: &mut dyn Monitor,
    ) -> Result<Part<K::Partial>> {
        let part = Part::empty(blocks.start, self.kernel.empty());
        self.map_into(part, blocks, crew, first_worker, monitor)
    }

    fn map_into(
        &self,
        mut part: Part<K::Partial>,
        blocks: Range<usize>,
        crew: Crew,
        first_worker: u32,
        monitor: &mut dyn Monitor,
    ) -> Result<Part<K::Partial>> {
        self.check()?;
        let epoch = Instant::now();
        let is_lone = crew.is_one(blocks.len());
        let mut coordinator = Recorder::new(epoch, if is_lone { first_worker } else { COORDINATOR });
        part.partial.reserve(self.blocks.n_known_frames(blocks.clone()));
        let growth = self.source.growth();
        if let Some(growth) = growth
            && let Some((first, step)) = self.arriving_from(blocks.start)
        {
            growth.want(first, step);
        }
        let make_worker =
            |index: usize| BlockWorker::new(self, Recorder::new(epoch, first_worker + index as u32), is_lone);
        part.is_last = run_blocks(blocks, crew, make_worker, monitor, |block: Part<K::Partial>| {
            let start_ns = coordinator.now();
            let n_frames = block.partial.n_frames();
            part.merge(block);
            coordinator.record(SpanKind::Reduce, start_ns, n_frames, 0);
            if let Some(growth) = growth
                && let Some((frame, _)) = self.arriving_from(part.blocks.end)
            {
                growth.release(frame);
            }
            Ok(())
        })?;
        part.spans.append(&mut coordinator.take());
        Ok(part)
    }

    /// Returns the first frame of a block and the distance to the next frame, if the frames arrive one after another.
    fn arriving_from(&self, block: usize) -> Option<(u64, u64)> {
        match (self.blocks, self.blocks.extent(block)?) {
            (Blocks::Arriving(_), Extent::Frames(FrameSet::Range { start, step, .. })) => Some((start, step)),
            _ => None,
        }
    }

    fn check(&self) -> Result<()> {
        self.atoms.check(self.source.n_atoms())?;
        let (wanted, selected) = (self.kernel.n_atoms(), self.atoms.len());
        if wanted == selected {
            return Ok(());
        }
        Err(Error::mismatch(format!("the kernel wants {wanted} atoms, the selection has {selected}")))
    }
}

/// Returns the outcome of a run after all of its blocks have been merged into one part. Returns `None` if blocks of
/// bytes did not join.
pub fn finish<P>(source: &dyn Source, part: Part<P>) -> Result<Option<Outcome<P>>> {
    if !part.located.is_empty() && !source.locate(part.located)? {
        return Ok(None);
    }
    let damage = account(source, part.damage)?;
    Ok(Some(Outcome { result: part.partial, spans: part.spans, damage }))
}

struct BlockWorker<'a, K> {
    reader: Box<dyn Reader + 'a>,
    /// Whether the run stops at damaged frames.
    stops: bool,
    kernel: K,
    blocks: &'a Blocks,
    growth: Option<&'a dyn Growth>,
    batch: FrameBatch,
    recorder: Recorder,
    /// Whether the worker merges its results itself and therefore never waits for a block.
    is_lone: bool,
    /// The time on the recorder's clock at which the worker started to wait for a block.
    free_since: u64,
}

impl<K: Kernel> Worker for BlockWorker<'_, K> {
    type Output = Part<K::Partial>;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        let extent = self.blocks.extent(block).unwrap_or(Extent::Frames(FrameSet::all(0)));
        self.recorder.set_block(block as u32);
        if !self.is_lone {
            self.recorder.record(SpanKind::Wait, self.free_since, 0, 0);
        }
        let mut partial = self.kernel.empty();
        partial.reserve(extent.n_known_frames());
        let mapped = match (self.growth, &extent) {
            (Some(growth), Extent::Frames(frames)) => {
                self.map_arriving(growth, frames, block, &mut partial, shared, tick)
            }
            _ => self.map_extent(&extent, block, &mut partial, shared, tick),
        };
        // The kernel also completes the block after an error: results that the kernel has kept back belong to this
        // block.
        let begun_ns = self.recorder.now();
        if self.kernel.complete(&mut partial) {
            self.recorder.record(SpanKind::Compute, begun_ns, 0, 0);
        }
        mapped?;
        let located = matches!(extent, Extent::Bytes(_)).then(|| self.reader.located()).into_iter().collect();
        let damage = self.reader.damage();
        if self.stops && !damage.is_empty() {
            shared.end_with(block);
        }
        self.free_since = self.recorder.now();
        let spans = self.recorder.take();
        Ok(Part { blocks: block..block + 1, partial, spans, located, damage, is_last: false })
    }
}

impl<'a, K: Kernel> BlockWorker<'a, K> {
    fn new(job: &Job<'a, K>, mut recorder: Recorder, is_lone: bool) -> Result<Self> {
        let start_ns = recorder.now();
        let wanted = job.kernel.quantities();
        let reader = job.source.reader(job.atoms, wanted)?;
        let free_since = recorder.record(SpanKind::Open, start_ns, 0, 0);
        Ok(BlockWorker {
            reader,
            stops: job.source.on_error() == OnError::Stop,
            kernel: job.kernel.clone(),
            blocks: job.blocks,
            growth: job.source.growth(),
            batch: FrameBatch::for_quantities(job.atoms.len(), wanted),
            recorder,
            is_lone,
            free_since,
        })
    }

    /// Maps the frames of an extent.
    fn map_extent(
        &mut self,
        extent: &Extent,
        block: usize,
        partial: &mut K::Partial,
        shared: &Shared,
        tick: &mut dyn FnMut(),
    ) -> Result<()> {
        // In a block of bytes, the search for the first frame reads data here.
        let start_ns = self.recorder.now();
        self.reader.start(extent)?;
        let mut start_ns = self.recorder.record(SpanKind::Read, start_ns, 0, 0);
        while shared.wanted(block) {
            self.reader.read(&mut self.batch, &mut self.recorder)?;
            if self.batch.is_empty() {
                // Finding the end of the block can also require reading.
                self.recorder.record(SpanKind::Read, start_ns.max(self.recorder.ended()), 0, 0);
                break;
            }
            check_presence(self.kernel.needs(), &self.batch)?;
            let begun_ns = self.recorder.now();
            self.kernel.map(&self.batch, partial)?;
            self.recorder.record(SpanKind::Compute, begun_ns, self.batch.len() as u64, 0);
            shared.add_frames(self.batch.len());
            tick();
            start_ns = self.recorder.now();
        }
        Ok(())
    }

    /// Maps frames as they arrive. Ends the run if the frames end before the block does.
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
                self.recorder.record(SpanKind::Wait, waiting_since, 0, 0);
                shared.end_with(block);
                break;
            }
        }
        Ok(())
    }
}

/// Returns an error if a frame lacks a quantity that the kernel needs.
fn check_presence(needs: Quantities, batch: &FrameBatch) -> Result<()> {
    let Some(header) = batch.headers().iter().find(|header| !header.present.contains_all(needs)) else { return Ok(()) };
    let missing = needs.iter().find(|&quantity| !header.present.contains(quantity));
    let name = missing.map_or("quantities", Quantity::name);
    Err(Error::mismatch(format!("no {name}, which the analysis needs")).at_frame(header.index))
}

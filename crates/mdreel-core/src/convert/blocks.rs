//! Blocks of a conversion. Each block is read and encoded by one worker, and the blocks are written in order.

use std::time::Instant;

use crate::block::Block;
use crate::error::Result;
use crate::frame::{FrameBatch, Quantities};
use crate::pool::{Crew, Monitor, Shared, USUALLY_AHEAD, Worker, run_blocks};
use crate::source::damage::{Damage, OnError};
use crate::source::tolerant::account;
use crate::source::{AtomSelection, Reader, Source, SourceExt};
use crate::span::{COORDINATOR, Recorder, Span, SpanKind};

/// A coder of the frames of a block.
pub(super) trait BlockCoder {
    /// The result for a block.
    type Coded: Send;

    /// Number of blocks per worker that may wait to be written.
    const AHEAD: usize = USUALLY_AHEAD;

    /// Codes frames. Returns the number of bytes produced, as far as it is known. It calls `is_wanted` every few
    /// milliseconds and may stop if that returns false.
    fn add(&mut self, batch: &FrameBatch, is_wanted: &mut dyn FnMut() -> bool) -> Result<u64>;

    /// Returns the result for the frames added since the last call.
    fn finish(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<Self::Coded>;
}

/// A conversion and its recorded spans.
pub(super) struct Conversion {
    epoch: Instant,
    coordinator: Recorder,
    since: u64,
    spans: Vec<Span>,
}

impl Conversion {
    /// Starts a conversion and its clock.
    pub(crate) fn begin() -> Self {
        let epoch = Instant::now();
        Conversion { epoch, coordinator: Recorder::new(epoch, COORDINATOR), since: 0, spans: Vec::new() }
    }

    /// Records the work of the calling thread since the last call.
    pub(crate) fn record(&mut self, kind: SpanKind) {
        self.since = self.coordinator.record(kind, self.since, 0, 0);
    }

    /// Codes `blocks` of `source` in parallel. It passes the result of each block with its number of frames to `write`,
    /// in the order of the blocks. `write` returns the number of bytes written. Returns the skipped damage, if the
    /// source tolerates damage.
    #[expect(clippy::too_many_arguments, reason = "what a run is about, and who does which part of it")]
    pub(crate) fn run<C: BlockCoder>(
        &mut self,
        source: &dyn Source,
        (atoms, wanted): (&AtomSelection, Quantities),
        blocks: &[Block],
        n_workers: usize,
        monitor: &mut dyn Monitor,
        make_coder: impl Fn() -> C + Sync,
        mut write: impl FnMut(C::Coded, u64) -> Result<u64>,
    ) -> Result<Vec<Damage>> {
        let epoch = self.epoch;
        let stops = source.on_error() == OnError::Stop;
        let make_worker = |index: usize| {
            let mut recorder = Recorder::new(epoch, index as u32);
            let start_ns = recorder.now();
            let reader = source.reader(atoms, wanted)?;
            let free_since = recorder.record(SpanKind::Open, start_ns, 0, 0);
            let batch = FrameBatch::for_quantities(atoms.len(), wanted);
            Ok(CodingWorker { reader, stops, coder: make_coder(), blocks, batch, recorder, free_since })
        };
        let mut damage = Vec::new();
        run_blocks(
            0..blocks.len(),
            Crew::on_demand(n_workers),
            make_worker,
            monitor,
            |mut block: CodedBlock<C::Coded>| {
                let start_ns = self.coordinator.now();
                let n_bytes = write(block.coded, block.n_frames)?;
                self.since = self.coordinator.record(SpanKind::Write, start_ns, block.n_frames, n_bytes);
                self.spans.append(&mut block.spans);
                damage.append(&mut block.damage);
                Ok(())
            },
        )?;
        account(source, damage)
    }

    /// Returns the spans of all work.
    pub(crate) fn end(mut self) -> Vec<Span> {
        self.spans.append(&mut self.coordinator.take());
        self.spans
    }
}

/// The result for a block, with its spans and damage.
struct CodedBlock<T> {
    coded: T,
    n_frames: u64,
    spans: Vec<Span>,
    damage: Vec<Damage>,
}

struct CodingWorker<'a, C> {
    reader: Box<dyn Reader + 'a>,
    /// Whether frames after damage are not needed.
    stops: bool,
    coder: C,
    blocks: &'a [Block],
    batch: FrameBatch,
    recorder: Recorder,
    /// The time since which the worker has been waiting for a block, on the recorder's clock.
    free_since: u64,
}

impl<C: BlockCoder> Worker for CodingWorker<'_, C> {
    type Output = CodedBlock<C::Coded>;

    const AHEAD: usize = C::AHEAD;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        self.recorder.set_block(block as u32);
        self.recorder.record(SpanKind::Wait, self.free_since, 0, 0);
        let mut n_frames = 0;
        let mut is_wanted = || {
            tick();
            shared.wanted(block)
        };
        self.reader.start(&self.blocks[block].extent)?;
        while is_wanted() {
            self.reader.read(&mut self.batch, &mut self.recorder)?;
            if self.batch.is_empty() {
                break;
            }
            let (start_ns, n) = (self.recorder.now(), self.batch.len() as u64);
            let n_bytes = self.coder.add(&self.batch, &mut is_wanted)?;
            self.recorder.record(SpanKind::Compute, start_ns, n, n_bytes);
            n_frames += n;
            shared.add_frames(self.batch.len());
        }
        let start_ns = self.recorder.now();
        let coded = self.coder.finish(&mut is_wanted)?;
        self.free_since = self.recorder.record(SpanKind::Compute, start_ns, 0, 0);
        let damage = self.reader.damage();
        if self.stops && !damage.is_empty() {
            shared.end_with(block);
        }
        Ok(CodedBlock { coded, n_frames, spans: self.recorder.take(), damage })
    }
}

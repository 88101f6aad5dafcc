//! Spans: the time and cost of every part of a run. All other timing values are derived from them.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What a worker did during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SpanKind {
    /// Opening the source: header, index, buffers.
    Open,
    /// Bringing bytes from storage into memory.
    Read,
    /// Turning bytes into coordinates (decompression, byte order, units).
    Decompress,
    /// The analysis kernel, or the encoder of a format.
    Compute,
    /// Waiting for a block.
    Wait,
    /// Merging partial results.
    Reduce,
    /// Bringing bytes from memory into storage.
    Write,
    /// Bringing results to where they are put together.
    Communicate,
}

impl SpanKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [SpanKind; 8] = [
        SpanKind::Open,
        SpanKind::Read,
        SpanKind::Decompress,
        SpanKind::Compute,
        SpanKind::Wait,
        SpanKind::Reduce,
        SpanKind::Write,
        SpanKind::Communicate,
    ];

    /// The kind's name in tables and files.
    pub fn name(self) -> &'static str {
        ["open", "read", "decompress", "compute", "wait", "reduce", "write", "communicate"][self as usize]
    }
}

/// One stretch of one worker's time, on the monotonic clock, from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// What was done.
    pub kind: SpanKind,
    /// For which block; `NO_BLOCK` for what belongs to none.
    pub block: u32,
    /// By which worker; `COORDINATOR` for the merging thread.
    pub worker: u32,
    /// Start, nanoseconds since the run began.
    pub start_ns: u64,
    /// End, nanoseconds since the run began.
    pub stop_ns: u64,
    /// Frames handled.
    pub n_frames: u64,
    /// Bytes handled.
    pub n_bytes: u64,
}

/// The block number of spans that belong to no block.
pub(crate) const NO_BLOCK: u32 = u32::MAX;
/// The worker number of the thread that hands out blocks and merges.
pub(crate) const COORDINATOR: u32 = u32::MAX;

/// Records the spans of one worker.
#[derive(Debug)]
pub struct Recorder {
    epoch: Instant,
    worker: u32,
    block: u32,
    spans: Vec<Span>,
}

impl Recorder {
    /// A recorder for `worker` in the run that began at `epoch`.
    pub fn new(epoch: Instant, worker: u32) -> Self {
        Recorder { epoch, worker, block: NO_BLOCK, spans: Vec::new() }
    }

    /// Says which block the next spans belong to.
    pub(crate) fn set_block(&mut self, block: u32) {
        self.block = block;
    }

    /// Nanoseconds since the run began.
    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Records a span from `start_ns` to now and returns now, so that spans can follow each other without a gap.
    pub fn record(&mut self, kind: SpanKind, start_ns: u64, n_frames: u64, n_bytes: u64) -> u64 {
        let stop_ns = self.now();
        self.spans.push(Span { kind, block: self.block, worker: self.worker, start_ns, stop_ns, n_frames, n_bytes });
        stop_ns
    }

    /// When the last span ended, of those that nobody has taken.
    pub(crate) fn ended(&self) -> u64 {
        self.spans.last().map_or(0, |span| span.stop_ns)
    }

    /// Takes the spans recorded so far.
    pub fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }
}

//! Spans: the time and cost of every part of a run. All other timing values are derived from them.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What a worker did during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SpanKind {
    /// Opening the source: header, index and buffers.
    Open,
    /// Reading bytes from storage into memory.
    Read,
    /// Converting bytes to coordinates: decompression, byte order and units.
    Decompress,
    /// Running the analysis kernel, or the encoder of a format.
    Compute,
    /// Waiting for a block.
    Wait,
    /// Merging partial results.
    Reduce,
    /// Writing bytes from memory to storage.
    Write,
    /// Sending results to the process that merges them.
    Communicate,
}

impl SpanKind {
    /// All kinds, in the order of their discriminants.
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

    /// Returns the name of the kind in tables and files.
    pub fn name(self) -> &'static str {
        ["open", "read", "decompress", "compute", "wait", "reduce", "write", "communicate"][self as usize]
    }
}

/// A period of one worker's time, measured with the monotonic clock from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The activity of the worker.
    pub kind: SpanKind,
    /// Number of the block, or `NO_BLOCK` if the span belongs to no block.
    pub block: u32,
    /// Number of the worker, or `COORDINATOR` for the merging thread.
    pub worker: u32,
    /// Start in nanoseconds since the run began.
    pub start_ns: u64,
    /// End in nanoseconds since the run began.
    pub stop_ns: u64,
    /// Number of frames processed.
    pub n_frames: u64,
    /// Number of bytes processed.
    pub n_bytes: u64,
}

/// The block number of spans that belong to no block.
pub(crate) const NO_BLOCK: u32 = u32::MAX;
/// The worker number of the thread that hands out blocks and merges results.
pub(crate) const COORDINATOR: u32 = u32::MAX;

/// A recorder of the spans of one worker.
#[derive(Debug)]
pub struct Recorder {
    epoch: Instant,
    worker: u32,
    block: u32,
    spans: Vec<Span>,
}

impl Recorder {
    /// Creates a recorder for `worker` in the run that began at `epoch`.
    pub fn new(epoch: Instant, worker: u32) -> Self {
        Recorder { epoch, worker, block: NO_BLOCK, spans: Vec::new() }
    }

    /// Sets the block to which the next spans belong.
    pub(crate) fn set_block(&mut self, block: u32) {
        self.block = block;
    }

    /// Returns the nanoseconds since the run began.
    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Records a span from `start_ns` to now. Returns the end of the span, so that the next span can follow without a
    /// gap.
    pub fn record(&mut self, kind: SpanKind, start_ns: u64, n_frames: u64, n_bytes: u64) -> u64 {
        let stop_ns = self.now();
        self.spans.push(Span { kind, block: self.block, worker: self.worker, start_ns, stop_ns, n_frames, n_bytes });
        stop_ns
    }

    /// Returns the time at which the last span in the recorder ended, or 0 if the recorder has no span.
    pub(crate) fn ended(&self) -> u64 {
        self.spans.last().map_or(0, |span| span.stop_ns)
    }

    /// Removes and returns the spans recorded so far.
    pub fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }
}

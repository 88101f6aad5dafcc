//! The pool: hands blocks to workers on demand and hands their results on in block order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How often the calling thread looks after its monitor.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The caller's eye on a run: progress goes out, the wish to stop comes in.
pub trait Monitor {
    /// Called on the calling thread about every [`POLL_INTERVAL`]. `false` stops the run.
    fn poll(&mut self, frames_done: u64) -> bool;
}

/// A monitor that never stops a run.
#[derive(Debug, Default)]
pub struct Unattended;

impl Monitor for Unattended {
    fn poll(&mut self, _frames_done: u64) -> bool {
        true
    }
}

/// What the workers of a run share.
#[derive(Debug, Default)]
pub struct Shared {
    /// The next block to hand out.
    next: AtomicUsize,
    /// The first block that failed; later ones are not begun.
    failed: AtomicUsize,
    stop: AtomicBool,
    frames_done: AtomicUsize,
}

impl Shared {
    /// Whether the work on `block` is still wanted.
    pub fn wanted(&self, block: usize) -> bool {
        !self.stop.load(Ordering::Relaxed) && block <= self.failed.load(Ordering::Relaxed)
    }

    /// Says that frames were mapped.
    pub fn add_frames(&self, n: usize) {
        self.frames_done.fetch_add(n, Ordering::Relaxed);
    }

    fn take(&self, n_blocks: usize) -> Option<usize> {
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        (block < n_blocks && self.wanted(block)).then_some(block)
    }
}

/// A worker: made on the thread that it runs on, works block after block.
pub trait Worker {
    /// What a block becomes.
    type Output: Send;

    /// Works on one block; returns early when `shared` no longer wants it, and calls `tick` every few
    /// milliseconds.
    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output>;
}

/// Runs blocks `0..n_blocks` on `n_workers` threads and calls `merge` with each output in block order, on the
/// calling thread. With one worker everything happens on the calling thread. Of several failing blocks the first
/// in order is reported, whatever finished first.
pub fn run_blocks<W: Worker>(
    n_blocks: usize,
    n_workers: usize,
    make_worker: impl Fn(usize) -> Result<W> + Sync,
    monitor: &mut dyn Monitor,
    mut merge: impl FnMut(W::Output) -> Result<()>,
) -> Result<()> {
    let shared = Shared { failed: AtomicUsize::new(usize::MAX), ..Shared::default() };
    if n_workers <= 1 || n_blocks <= 1 {
        return run_serial(n_blocks, &shared, make_worker, monitor, merge);
    }
    let (sender, receiver) = mpsc::channel::<(usize, Result<W::Output>)>();
    std::thread::scope(|scope| {
        for index in 0..n_workers.min(n_blocks) {
            let (sender, shared, make_worker) = (sender.clone(), &shared, &make_worker);
            let body = move || {
                let mut worker = None;
                while let Some(block) = shared.take(n_blocks) {
                    let output = match &mut worker {
                        Some(worker) => W::work(worker, block, shared, &mut || ()),
                        None => make_worker(index).and_then(|made| worker.insert(made).work(block, shared, &mut || ())),
                    };
                    if output.is_err() {
                        shared.failed.fetch_min(block, Ordering::Relaxed);
                    }
                    if sender.send((block, output)).is_err() {
                        break;
                    }
                }
            };
            std::thread::Builder::new()
                .name(format!("mdreel-{index}"))
                .spawn_scoped(scope, body)
                .map_err(|error| Error::Worker(format!("worker thread {index} could not be started: {error}")))
                .inspect_err(|_| shared.stop.store(true, Ordering::Relaxed))?;
        }
        drop(sender);
        let merged = collect(&receiver, &shared, monitor, &mut merge);
        shared.stop.store(true, Ordering::Relaxed);
        let n_merged = merged?;
        if n_merged < n_blocks {
            return Err(Error::Worker(format!("only {n_merged} of {n_blocks} blocks came back")));
        }
        Ok(())
    })
}

fn collect<T>(
    receiver: &mpsc::Receiver<(usize, Result<T>)>,
    shared: &Shared,
    monitor: &mut dyn Monitor,
    merge: &mut dyn FnMut(T) -> Result<()>,
) -> Result<usize> {
    let mut waiting = BTreeMap::new();
    let mut n_merged = 0;
    let mut polled = Instant::now();
    loop {
        match receiver.recv_timeout(POLL_INTERVAL.saturating_sub(polled.elapsed())) {
            Ok((block, output)) => {
                waiting.insert(block, output);
                while let Some(output) = waiting.remove(&n_merged) {
                    merge(output?)?;
                    n_merged += 1;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(n_merged),
        }
        if polled.elapsed() >= POLL_INTERVAL {
            polled = Instant::now();
            if !monitor.poll(shared.frames_done.load(Ordering::Relaxed) as u64) {
                return Err(Error::Interrupted);
            }
        }
    }
}

fn run_serial<W: Worker>(
    n_blocks: usize,
    shared: &Shared,
    make_worker: impl Fn(usize) -> Result<W>,
    monitor: &mut dyn Monitor,
    mut merge: impl FnMut(W::Output) -> Result<()>,
) -> Result<()> {
    let mut worker = make_worker(0)?;
    let mut polled = Instant::now();
    let mut tick = || {
        if polled.elapsed() >= POLL_INTERVAL {
            polled = Instant::now();
            if !monitor.poll(shared.frames_done.load(Ordering::Relaxed) as u64) {
                shared.stop.store(true, Ordering::Relaxed);
            }
        }
    };
    for block in 0..n_blocks {
        let output = worker.work(block, shared, &mut tick)?;
        if !shared.wanted(block) {
            return Err(Error::Interrupted);
        }
        merge(output)?;
    }
    Ok(())
}

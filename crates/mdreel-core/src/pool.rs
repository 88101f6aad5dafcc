//! A pool that gives blocks to workers on demand and returns their results in block order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::block::Blocks;
use crate::error::{Error, Result};

/// Interval at which the calling thread polls its monitor.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Number of blocks, for each worker, that the pool usually hands out beyond the first block that is not merged yet.
/// Results that wait for a slow block take memory. This number keeps the other workers busy while one block takes as
/// long as this many blocks.
pub(crate) const USUALLY_AHEAD: usize = 16;

/// The rule that assigns blocks to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Each free worker takes the next block.
    #[default]
    Demand,
    /// Each worker has a fixed share of consecutive blocks. All shares have about the same size, and a worker that
    /// finishes early is idle. Khoshlessan et al. (2017, 2019) divided trajectories in this way, with one block per
    /// share.
    Static,
}

impl Schedule {
    /// Returns the schedule with the given name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "demand" => Ok(Schedule::Demand),
            "static" => Ok(Schedule::Static),
            _ => Err(Error::unsupported(format!("unknown schedule {name:?}; known: demand, static"))),
        }
    }
}

/// The threads that work on blocks.
#[derive(Debug, Clone)]
pub struct Crew {
    /// Number of threads. With one thread, the calling thread does all the work.
    n_workers: usize,
    /// The start of each worker's share, followed by the end of the last share, counted from the first block. `None` if
    /// each free worker takes the next block.
    shares: Option<Vec<usize>>,
}

impl Crew {
    /// Creates a crew of `n_workers` threads for a range of blocks.
    pub fn new(n_workers: usize, schedule: Schedule, blocks: &Blocks, range: Range<usize>) -> Self {
        match schedule {
            Schedule::Demand => Crew::on_demand(n_workers),
            Schedule::Static => Crew::sharing(blocks.shares(std::slice::from_ref(&range), n_workers)),
        }
    }

    /// Creates a crew whose threads take the next block when they are free.
    pub(crate) fn on_demand(n_workers: usize) -> Self {
        Crew { n_workers, shares: None }
    }

    /// Creates a crew whose threads have one share each, between consecutive edges.
    fn sharing(edges: Vec<usize>) -> Self {
        Crew { n_workers: edges.len() - 1, shares: Some(edges) }
    }

    /// Returns whether a single thread works on all of `n_blocks` blocks.
    pub(crate) fn is_one(&self, n_blocks: usize) -> bool {
        self.n_workers.min(n_blocks) <= 1
    }

    /// Returns the share of one worker of the blocks from `first` on, or `None` if shares are not fixed.
    fn share(&self, worker: usize, first: usize) -> Option<Range<usize>> {
        self.shares.as_ref().map(|edges| first + edges[worker]..first + edges[worker + 1])
    }
}

/// The caller's interface to a run: it receives the progress and can stop the run.
pub trait Monitor {
    /// Reports the number of frames done. The calling thread calls this method about every [`POLL_INTERVAL`]. The run
    /// stops if it returns `false`.
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

/// The state that the workers of a run share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The next block to hand out.
    next: AtomicUsize,
    /// The first block that failed. Workers do not start later blocks.
    failed: AtomicUsize,
    /// The block that turned out to be the last.
    last: AtomicUsize,
    stop: AtomicBool,
    frames_done: AtomicUsize,
    /// The end of the merged blocks. `changed` signals that it moved or that waiting is no longer necessary.
    merged: Mutex<usize>,
    changed: Condvar,
}

impl Shared {
    /// Returns whether the work on `block` is still wanted.
    pub(crate) fn wanted(&self, block: usize) -> bool {
        let last = self.failed.load(Ordering::Relaxed).min(self.last.load(Ordering::Relaxed));
        !self.stop.load(Ordering::Relaxed) && block <= last
    }

    /// Declares `block` the last block. The pool drops the results of later blocks.
    pub(crate) fn end_with(&self, block: usize) {
        self.change(|_| {
            self.last.fetch_min(block, Ordering::Relaxed);
        });
    }

    /// Returns the end of the blocks before `end` that are to be merged.
    fn wanted_end(&self, end: usize) -> usize {
        end.min(self.last.load(Ordering::Relaxed).saturating_add(1))
    }

    /// Returns whether a block turned out to be the last.
    fn is_ended(&self) -> bool {
        self.last.load(Ordering::Relaxed) != usize::MAX
    }

    /// Adds `n` to the number of mapped frames.
    pub(crate) fn add_frames(&self, n: usize) {
        self.frames_done.fetch_add(n, Ordering::Relaxed);
    }

    /// Takes the next block before `end`. Waits until the block lies less than `n_ahead` blocks beyond the merged
    /// blocks.
    fn take(&self, end: usize, n_ahead: usize) -> Option<usize> {
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        if block >= end {
            return None;
        }
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        while self.wanted(block) && block - *merged >= n_ahead {
            merged = self.changed.wait(merged).unwrap_or_else(PoisonError::into_inner);
        }
        self.wanted(block).then_some(block)
    }

    /// Changes the state that workers wait for and wakes them.
    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.merged.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Records that a block failed.
    fn fail(&self, block: usize) {
        self.change(|_| {
            self.failed.fetch_min(block, Ordering::Relaxed);
        });
    }

    /// Stops the run, so that workers take no more blocks.
    fn halt(&self) {
        self.change(|_| self.stop.store(true, Ordering::Relaxed));
    }
}

/// A guard that stops the run if a worker panics, so that the other workers do not wait for its block.
struct Vigil<'a>(&'a Shared);

impl Drop for Vigil<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

/// A worker, created on the thread on which it runs. It processes one block after another.
pub(crate) trait Worker {
    /// The result of a block.
    type Output: Send;

    /// Number of blocks, for each worker, that the pool may hand out beyond the first block that is not merged yet.
    /// Workers with large results need a small number.
    const AHEAD: usize = USUALLY_AHEAD;

    /// Processes one block. Returns early when `shared` no longer wants the block, and calls `tick` every few
    /// milliseconds.
    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output>;
}

/// Runs blocks on the threads of a crew and calls `merge` with each output in block order, on the calling thread. With
/// one worker, the calling thread does all the work. If several blocks fail, the function returns the error of the
/// first one in block order, even if another block failed earlier in time. Returns `true` if a worker found that a
/// block is the last one ([`Shared::end_with`]).
pub(crate) fn run_blocks<W: Worker>(
    blocks: Range<usize>,
    crew: Crew,
    make_worker: impl Fn(usize) -> Result<W> + Sync,
    monitor: &mut dyn Monitor,
    mut merge: impl FnMut(W::Output) -> Result<()>,
) -> Result<bool> {
    let none = || AtomicUsize::new(usize::MAX);
    let start = (AtomicUsize::new(blocks.start), Mutex::new(blocks.start));
    let shared = Shared { next: start.0, merged: start.1, failed: none(), last: none(), ..Shared::default() };
    let crew = Crew { n_workers: crew.n_workers.min(blocks.len()), ..crew };
    if crew.is_one(blocks.len()) {
        return run_serial(blocks, &shared, make_worker, monitor, merge);
    }
    let (sender, receiver) = mpsc::channel::<(usize, Result<W::Output>)>();
    std::thread::scope(|scope| {
        let n_workers = crew.n_workers;
        for index in 0..n_workers {
            let (sender, shared, make_worker) = (sender.clone(), &shared, &make_worker);
            let (mut share, end) = (crew.share(index, blocks.start), blocks.end);
            let body = move || {
                let _vigil = Vigil(shared);
                let mut worker = None;
                let mut take = || match &mut share {
                    // With fixed shares, a worker must not wait for blocks of other shares, because no other worker
                    // will take them.
                    Some(share) => share.next().filter(|&block| shared.wanted(block)),
                    None => shared.take(end, W::AHEAD * n_workers),
                };
                while let Some(block) = take() {
                    let output = match &mut worker {
                        Some(worker) => W::work(worker, block, shared, &mut || ()),
                        None => make_worker(index).and_then(|made| worker.insert(made).work(block, shared, &mut || ())),
                    };
                    if output.is_err() {
                        shared.fail(block);
                    }
                    if sender.send((block, output)).is_err() {
                        break;
                    }
                }
            };
            std::thread::Builder::new()
                .name(format!("mdreel-{index}"))
                .spawn_scoped(scope, body)
                .map_err(|error| Error::worker(format!("worker thread {index} could not be started: {error}")))
                .inspect_err(|_| shared.halt())?;
        }
        drop(sender);
        let merged = collect(&receiver, &shared, blocks.start, monitor, &mut merge);
        shared.halt();
        let (merged, wanted) = (merged?, shared.wanted_end(blocks.end));
        if merged < wanted {
            let (n_merged, n_wanted) = (merged - blocks.start, wanted - blocks.start);
            return Err(Error::worker(format!("only {n_merged} of {n_wanted} blocks came back")));
        }
        Ok(shared.is_ended())
    })
}

/// Merges blocks from `merged` on. Returns the end of the merged blocks.
fn collect<T>(
    receiver: &mpsc::Receiver<(usize, Result<T>)>,
    shared: &Shared,
    mut merged: usize,
    monitor: &mut dyn Monitor,
    merge: &mut dyn FnMut(T) -> Result<()>,
) -> Result<usize> {
    let mut waiting = BTreeMap::new();
    let mut polled = Instant::now();
    loop {
        match receiver.recv_timeout(POLL_INTERVAL.saturating_sub(polled.elapsed())) {
            Ok((block, output)) => {
                waiting.insert(block, output);
                while merged < shared.wanted_end(usize::MAX)
                    && let Some(output) = waiting.remove(&merged)
                {
                    merge(output?)?;
                    merged += 1;
                    shared.change(|shared| *shared = merged);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(merged),
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
    blocks: Range<usize>,
    shared: &Shared,
    make_worker: impl Fn(usize) -> Result<W>,
    monitor: &mut dyn Monitor,
    mut merge: impl FnMut(W::Output) -> Result<()>,
) -> Result<bool> {
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
    let mut block = blocks.start;
    while block < shared.wanted_end(blocks.end) {
        let output = worker.work(block, shared, &mut tick)?;
        if !shared.wanted(block) {
            return Err(Error::Interrupted);
        }
        merge(output)?;
        block += 1;
    }
    Ok(shared.is_ended())
}

#[cfg(test)]
mod tests;

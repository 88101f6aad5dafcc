//! Pool that gives blocks to workers on demand and returns their results in block order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::block::Blocks;
use crate::error::{Error, Result};

/// How often the calling thread looks after its monitor.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Blocks, for each worker, that may usually be taken beyond the first that is not merged yet. What waits for a slow
/// block takes memory; so many keep the other workers busy while one block takes as long as all these.
pub(crate) const USUALLY_AHEAD: usize = 16;

/// Which worker takes which block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// The next one, whoever is free.
    #[default]
    Demand,
    /// Each worker has a share of its own, of consecutive blocks, as large as the others': whoever is done rests. This
    /// is how Khoshlessan et al. (2017, 2019) cut trajectories, with one block in a share.
    Static,
}

impl Schedule {
    /// The schedule of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "demand" => Ok(Schedule::Demand),
            "static" => Ok(Schedule::Static),
            _ => Err(Error::unsupported(format!("unknown schedule {name:?}; known: demand, static"))),
        }
    }
}

/// Who works on blocks.
#[derive(Debug, Clone)]
pub struct Crew {
    /// How many threads; with one the calling thread does everything.
    n_workers: usize,
    /// Where the share of each worker begins, and behind them where the last one ends, counted from the first block;
    /// `None` where whoever is free takes the next one.
    shares: Option<Vec<usize>>,
}

impl Crew {
    /// `n_workers` threads for a range of blocks.
    pub fn new(n_workers: usize, schedule: Schedule, blocks: &Blocks, range: Range<usize>) -> Self {
        match schedule {
            Schedule::Demand => Crew::on_demand(n_workers),
            Schedule::Static => Crew::sharing(blocks.shares(std::slice::from_ref(&range), n_workers)),
        }
    }

    /// Threads that take the next block when they are free.
    pub(crate) fn on_demand(n_workers: usize) -> Self {
        Crew { n_workers, shares: None }
    }

    /// Threads that have a share each, from one edge to the next.
    fn sharing(edges: Vec<usize>) -> Self {
        Crew { n_workers: edges.len() - 1, shares: Some(edges) }
    }

    /// Whether one of them does so many blocks alone.
    pub(crate) fn is_one(&self, n_blocks: usize) -> bool {
        self.n_workers.min(n_blocks) <= 1
    }

    /// The share of one worker of the blocks from `first` on, where shares are fixed.
    fn share(&self, worker: usize, first: usize) -> Option<Range<usize>> {
        self.shares.as_ref().map(|edges| first + edges[worker]..first + edges[worker + 1])
    }
}

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
pub(crate) struct Shared {
    /// The next block to hand out.
    next: AtomicUsize,
    /// The first block that failed; later ones are not begun.
    failed: AtomicUsize,
    /// The block that turned out to be the last.
    last: AtomicUsize,
    stop: AtomicBool,
    frames_done: AtomicUsize,
    /// The end of the blocks that are merged, and the signal that it moved, or that nobody needs to wait any more.
    merged: Mutex<usize>,
    changed: Condvar,
}

impl Shared {
    /// Whether the work on `block` is still wanted.
    pub(crate) fn wanted(&self, block: usize) -> bool {
        let last = self.failed.load(Ordering::Relaxed).min(self.last.load(Ordering::Relaxed));
        !self.stop.load(Ordering::Relaxed) && block <= last
    }

    /// Says that nothing comes behind `block`: what was made of later blocks is dropped.
    pub(crate) fn end_with(&self, block: usize) {
        self.change(|_| {
            self.last.fetch_min(block, Ordering::Relaxed);
        });
    }

    /// The end of the blocks that are to be merged, of those before `end`.
    fn wanted_end(&self, end: usize) -> usize {
        end.min(self.last.load(Ordering::Relaxed).saturating_add(1))
    }

    /// Whether a block turned out to be the last.
    fn is_ended(&self) -> bool {
        self.last.load(Ordering::Relaxed) != usize::MAX
    }

    /// Says that frames were mapped.
    pub(crate) fn add_frames(&self, n: usize) {
        self.frames_done.fetch_add(n, Ordering::Relaxed);
    }

    /// Takes the next block before `end`, once it lies less than `n_ahead` blocks beyond what is merged.
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

    /// Changes what workers wait for, and wakes them.
    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.merged.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Says that a block failed.
    fn fail(&self, block: usize) {
        self.change(|_| {
            self.failed.fetch_min(block, Ordering::Relaxed);
        });
    }

    /// Says that no block is selected any more.
    fn halt(&self) {
        self.change(|_| self.stop.store(true, Ordering::Relaxed));
    }
}

/// Keeps the others from waiting for the block of a worker that panics.
struct Vigil<'a>(&'a Shared);

impl Drop for Vigil<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

/// A worker: made on the thread that it runs on, works block after block.
pub(crate) trait Worker {
    /// What a block becomes.
    type Output: Send;

    /// Blocks, for each worker, that may be taken beyond the first that is not merged yet: few where they are large.
    const AHEAD: usize = USUALLY_AHEAD;

    /// Works on one block; returns early when `shared` no longer wants it, and calls `tick` every few
    /// milliseconds.
    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output>;
}

/// Runs blocks on the threads of a crew and calls `merge` with each output in block order, on the calling thread. With
/// one worker everything happens on the calling thread. Of several failing blocks the first in order is reported,
/// whatever finished first. A worker may find that a block is the last ([`Shared::end_with`]): then it returns `true`.
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
                    // Nobody else will ever take what the others' shares wait for.
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

/// Merges from block `merged` on; returns the end of what was merged.
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

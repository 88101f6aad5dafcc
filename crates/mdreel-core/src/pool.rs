//! The pool: hands blocks to workers on demand and hands their results on in block order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How often the calling thread looks after its monitor.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Blocks, for each worker, that may usually be taken beyond the first that is not merged yet. What waits for a slow
/// block takes memory; so many keep the other workers busy while one block takes as long as all these.
pub const USUALLY_AHEAD: usize = 16;

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
    /// The block that turned out to be the last.
    last: AtomicUsize,
    stop: AtomicBool,
    frames_done: AtomicUsize,
    /// Blocks merged, and the signal that there are more of them, or that nobody needs to wait any more.
    n_merged: Mutex<usize>,
    changed: Condvar,
}

impl Shared {
    /// Whether the work on `block` is still wanted.
    pub fn wanted(&self, block: usize) -> bool {
        let last = self.failed.load(Ordering::Relaxed).min(self.last.load(Ordering::Relaxed));
        !self.stop.load(Ordering::Relaxed) && block <= last
    }

    /// Says that nothing comes behind `block`: what was made of later blocks is dropped.
    pub fn end_with(&self, block: usize) {
        self.change(|_| {
            self.last.fetch_min(block, Ordering::Relaxed);
        });
    }

    /// Number of blocks of at most `n_blocks` that are to be merged.
    fn n_wanted(&self, n_blocks: usize) -> usize {
        n_blocks.min(self.last.load(Ordering::Relaxed).saturating_add(1))
    }

    /// Says that frames were mapped.
    pub fn add_frames(&self, n: usize) {
        self.frames_done.fetch_add(n, Ordering::Relaxed);
    }

    /// Takes the next block, once it lies less than `n_ahead` blocks beyond what is merged.
    fn take(&self, n_blocks: usize, n_ahead: usize) -> Option<usize> {
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        if block >= n_blocks {
            return None;
        }
        let mut n_merged = self.n_merged.lock().unwrap_or_else(PoisonError::into_inner);
        while self.wanted(block) && block - *n_merged >= n_ahead {
            n_merged = self.changed.wait(n_merged).unwrap_or_else(PoisonError::into_inner);
        }
        self.wanted(block).then_some(block)
    }

    /// Changes what workers wait for, and wakes them.
    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.n_merged.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Says that a block failed.
    fn fail(&self, block: usize) {
        self.change(|_| {
            self.failed.fetch_min(block, Ordering::Relaxed);
        });
    }

    /// Says that no block is wanted any more.
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
pub trait Worker {
    /// What a block becomes.
    type Output: Send;

    /// Blocks, for each worker, that may be taken beyond the first that is not merged yet: few where they are large.
    const AHEAD: usize = USUALLY_AHEAD;

    /// Works on one block; returns early when `shared` no longer wants it, and calls `tick` every few
    /// milliseconds.
    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output>;
}

/// Runs blocks `0..n_blocks` on `n_workers` threads and calls `merge` with each output in block order, on the
/// calling thread. With one worker everything happens on the calling thread. Of several failing blocks the first
/// in order is reported, whatever finished first. A worker may find that a block is the last ([`Shared::end_with`]).
pub fn run_blocks<W: Worker>(
    n_blocks: usize,
    n_workers: usize,
    make_worker: impl Fn(usize) -> Result<W> + Sync,
    monitor: &mut dyn Monitor,
    mut merge: impl FnMut(W::Output) -> Result<()>,
) -> Result<()> {
    let none = || AtomicUsize::new(usize::MAX);
    let shared = Shared { failed: none(), last: none(), ..Shared::default() };
    if n_workers <= 1 || n_blocks <= 1 {
        return run_serial(n_blocks, &shared, make_worker, monitor, merge);
    }
    let (sender, receiver) = mpsc::channel::<(usize, Result<W::Output>)>();
    std::thread::scope(|scope| {
        for index in 0..n_workers.min(n_blocks) {
            let (sender, shared, make_worker) = (sender.clone(), &shared, &make_worker);
            let body = move || {
                let _vigil = Vigil(shared);
                let mut worker = None;
                while let Some(block) = shared.take(n_blocks, W::AHEAD * n_workers) {
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
                .map_err(|error| Error::Worker(format!("worker thread {index} could not be started: {error}")))
                .inspect_err(|_| shared.halt())?;
        }
        drop(sender);
        let merged = collect(&receiver, &shared, monitor, &mut merge);
        shared.halt();
        let (n_merged, n_wanted) = (merged?, shared.n_wanted(n_blocks));
        if n_merged < n_wanted {
            return Err(Error::Worker(format!("only {n_merged} of {n_wanted} blocks came back")));
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
                while n_merged < shared.n_wanted(usize::MAX)
                    && let Some(output) = waiting.remove(&n_merged)
                {
                    merge(output?)?;
                    n_merged += 1;
                    shared.change(|merged| *merged = n_merged);
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
    let mut block = 0;
    while block < shared.n_wanted(n_blocks) {
        let output = worker.work(block, shared, &mut tick)?;
        if !shared.wanted(block) {
            return Err(Error::Interrupted);
        }
        merge(output)?;
        block += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of their own numbers; the first one waits until `n_others` others are done, and one may panic.
    struct Numbers<'a> {
        done: &'a AtomicUsize,
        n_others: usize,
        panics: Option<usize>,
    }

    impl Worker for Numbers<'_> {
        type Output = usize;

        fn work(&mut self, block: usize, shared: &Shared, _tick: &mut dyn FnMut()) -> Result<usize> {
            assert_ne!(self.panics, Some(block), "on purpose");
            while block == 0 && self.done.load(Ordering::Relaxed) < self.n_others && shared.wanted(block) {
                std::thread::yield_now();
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            Ok(block)
        }
    }

    #[test]
    fn pool_takes_no_more_blocks_than_may_wait_for_a_slow_one() {
        // The first block waits for as many as may be done before it; then nobody may have begun one more.
        let n_ahead = 3 * USUALLY_AHEAD;
        let done = AtomicUsize::new(0);
        let mut merged = Vec::new();
        let make = |_| Ok(Numbers { done: &done, n_others: n_ahead - 1, panics: None });
        run_blocks(10 * n_ahead, 3, make, &mut Unattended, |block| {
            if block == 0 {
                assert!(done.load(Ordering::Relaxed) <= n_ahead);
            }
            merged.push(block);
            Ok(())
        })
        .unwrap();
        assert_eq!(merged, (0..10 * n_ahead).collect::<Vec<_>>());
    }

    /// Blocks of their own numbers, of which one is the last.
    struct Ending(usize);

    impl Worker for Ending {
        type Output = usize;

        fn work(&mut self, block: usize, shared: &Shared, _tick: &mut dyn FnMut()) -> Result<usize> {
            if block >= self.0 {
                shared.end_with(block);
            }
            Ok(block)
        }
    }

    #[test]
    fn pool_merges_nothing_behind_the_block_that_turned_out_to_be_the_last() {
        for (n_workers, last) in [(1, 0), (1, 70), (2, 0), (3, 1), (4, 7), (4, 70)] {
            let mut merged = Vec::new();
            run_blocks(
                usize::MAX,
                n_workers,
                |_| Ok(Ending(last)),
                &mut Unattended,
                |block| {
                    merged.push(block);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(merged, (0..=last).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn pool_ends_when_a_worker_panics() {
        let done = AtomicUsize::new(0);
        let make = |_| Ok(Numbers { done: &done, n_others: 0, panics: Some(0) });
        let _ = run_blocks(100 * USUALLY_AHEAD, 3, make, &mut Unattended, |_| Ok(()));
    }

    #[test]
    fn pool_ends_when_merging_fails() {
        let done = AtomicUsize::new(0);
        let make = |_| Ok(Numbers { done: &done, n_others: 0, panics: None });
        let fail = |_| Err(Error::Mismatch("on purpose".into()));
        let error = run_blocks(100 * USUALLY_AHEAD, 3, make, &mut Unattended, fail).unwrap_err();
        assert_eq!(error.to_string(), "on purpose");
    }
}

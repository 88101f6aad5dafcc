use super::*;

/// A worker that returns block numbers. The first block waits until `n_others` others are done, and one block may
/// panic.
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
    // The first block waits for as many blocks as may be done before it. No worker may then start another one.
    let n_ahead = 3 * USUALLY_AHEAD;
    let done = AtomicUsize::new(0);
    let mut merged = Vec::new();
    let make = |_| Ok(Numbers { done: &done, n_others: n_ahead - 1, panics: None });
    run_blocks(0..10 * n_ahead, Crew::on_demand(3), make, &mut Unattended, |block| {
        if block == 0 {
            assert!(done.load(Ordering::Relaxed) <= n_ahead);
        }
        merged.push(block);
        Ok(())
    })
    .unwrap();
    assert_eq!(merged, (0..10 * n_ahead).collect::<Vec<_>>());
}

/// A worker that returns block numbers and declares one block the last.
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
        let is_ended = run_blocks(
            0..usize::MAX,
            Crew::on_demand(n_workers),
            |_| Ok(Ending(last)),
            &mut Unattended,
            |block| {
                merged.push(block);
                Ok(())
            },
        )
        .unwrap();
        assert!(is_ended);
        assert_eq!(merged, (0..=last).collect::<Vec<_>>());
    }
}

/// A worker that returns block numbers together with its own number.
struct Named(usize);

impl Worker for Named {
    type Output = (usize, usize);

    fn work(&mut self, block: usize, _shared: &Shared, _tick: &mut dyn FnMut()) -> Result<Self::Output> {
        Ok((block, self.0))
    }
}

#[test]
fn pool_merges_some_of_the_blocks_in_order_whoever_takes_them() {
    let edges = vec![0, 7, 7, 995];
    for crew in [Crew::on_demand(1), Crew::on_demand(3), Crew::sharing(edges.clone())] {
        let mut merged = Vec::new();
        let is_shared = crew.shares.is_some();
        let is_ended = run_blocks(
            5..1000,
            crew,
            |index| Ok(Named(index)),
            &mut Unattended,
            |output| {
                merged.push(output);
                Ok(())
            },
        );
        assert!(!is_ended.unwrap());
        assert!(merged.iter().map(|(block, _)| *block).eq(5..1000));
        if is_shared {
            let own = |worker: usize| 5 + edges[worker]..5 + edges[worker + 1];
            assert!(merged.iter().all(|&(block, worker)| own(worker).contains(&block)));
        }
    }
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn pool_ends_when_a_worker_panics() {
    let done = AtomicUsize::new(0);
    let make = |_| Ok(Numbers { done: &done, n_others: 0, panics: Some(0) });
    let _ = run_blocks(0..100 * USUALLY_AHEAD, Crew::on_demand(3), make, &mut Unattended, |_| Ok(()));
}

#[test]
fn pool_ends_when_merging_fails() {
    let done = AtomicUsize::new(0);
    let make = |_| Ok(Numbers { done: &done, n_others: 0, panics: None });
    let fail = |_| Err(Error::mismatch("on purpose"));
    let error = run_blocks(0..100 * USUALLY_AHEAD, Crew::on_demand(3), make, &mut Unattended, fail).unwrap_err();
    assert_eq!(error.to_string(), "on purpose");
}

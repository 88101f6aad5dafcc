//! Repetition of a computation, for benchmarks with any ratio of computing time to reading time.

use super::Computation;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Slots};

/// Computation that runs another one several times on the same frames and keeps the values of the last repetition.
pub struct Repeated {
    computation: Box<dyn Computation>,
    n_times: usize,
}

impl Repeated {
    /// Repeats `computation` `n_times` times.
    ///
    /// Returns an error if `n_times` is 0, or if the computation has results other than values of single frames: sums would
    /// contain each frame several times.
    pub fn new(computation: Box<dyn Computation>, n_times: usize) -> Result<Self> {
        if n_times == 0 {
            return Err(Error::mismatch("a computation is repeated 1 or more times, not 0"));
        }
        let layout = computation.layout();
        if layout != Layout::columns(layout.n_columns) || computation.own().is_some() {
            return Err(Error::mismatch("only computations of single frames can be repeated: this one adds up frames"));
        }
        Ok(Repeated { computation, n_times })
    }
}

impl Computation for Repeated {
    fn n_atoms(&self) -> usize {
        self.computation.n_atoms()
    }

    fn quantities(&self) -> Quantities {
        self.computation.quantities()
    }

    fn layout(&self) -> Layout {
        self.computation.layout()
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(Repeated { computation: self.computation.another(), n_times: self.n_times })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        (0..self.n_times).try_for_each(|_| self.computation.map(batch, slots))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::kernel::fluctuation::Fluctuation;
    use crate::kernel::rmsd::Rmsd;

    /// Computation that counts how often frames are processed, over all of its copies.
    struct Counting(Arc<AtomicUsize>);

    impl Computation for Counting {
        fn n_atoms(&self) -> usize {
            2
        }

        fn layout(&self) -> Layout {
            Layout::columns(1)
        }

        fn another(&self) -> Box<dyn Computation> {
            Box::new(Counting(Arc::clone(&self.0)))
        }

        fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
            for i in 0..batch.len() {
                slots.row(i)[0] = self.0.fetch_add(1, Ordering::Relaxed) as f64;
            }
            Ok(())
        }
    }

    fn frames(first: u64) -> FrameBatch {
        batch(first, &[vec![[0.0; 3], [1.0, 2.0, 3.0]], vec![[0.0; 3], [2.0, 1.0, 0.5]]], None)
    }

    #[test]
    fn frames_are_computed_so_often_and_the_last_values_stay() {
        let seen = Arc::new(AtomicUsize::new(0));
        let repeated = Repeated::new(Box::new(Counting(Arc::clone(&seen))), 5).unwrap();
        let copy = repeated.another();
        assert_eq!((copy.n_atoms(), copy.layout()), (2, Layout::columns(1)));
        let tally = mapped(repeated, &[frames(0), frames(2)]).unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 4 * 5);
        assert_eq!(tally.rows.column(0).collect::<Vec<_>>(), [8.0, 9.0, 18.0, 19.0]);
    }

    #[test]
    fn values_are_those_of_the_computation_alone() {
        let rmsd = || Rmsd::new(&[[0.5; 3], [3.0, 1.0, 2.0]], None, true).unwrap();
        let alone = mapped(rmsd(), &[frames(0), frames(2)]).unwrap();
        for n_times in [1, 2, 40] {
            let repeated = Repeated::new(Box::new(rmsd()), n_times).unwrap();
            assert_eq!(mapped(repeated, &[frames(0), frames(2)]).unwrap(), alone);
        }
    }

    #[test]
    fn what_cannot_be_repeated_is_refused() {
        let message = |error: Option<Error>| error.unwrap().to_string();
        let rmsd = Rmsd::new(&[[0.0; 3]; 2], None, true).unwrap();
        assert!(message(Repeated::new(Box::new(rmsd), 0).err()).contains("1 or more times"));
        let sums = Fluctuation::new(&[[0.0; 3]; 2]).unwrap();
        assert!(message(Repeated::new(Box::new(sums), 3).err()).contains("adds up frames"));
    }
}

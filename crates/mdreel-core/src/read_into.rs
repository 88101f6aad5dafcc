//! Multithreaded reading of frames into memory of the caller.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::block::{Extent, FrameSet};
use crate::error::Result;
use crate::frame::{FrameBatch, FrameHeader, Quantities, Quantity};
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::source::damage::{Damage, OnError};
use crate::source::rows::{NextRows, Rows};
use crate::source::tolerant::account;
use crate::source::{AtomSelection, Reader, Source, SourceExt};
use crate::span::{NO_BLOCK, Recorder};

/// The frames that were read.
#[derive(Debug)]
pub struct FramesRead {
    /// Headers of the frames in each portion. If the reader skipped damaged frames, a portion has fewer headers. They
    /// then belong to the first rows of the portion.
    pub headers: Vec<Vec<FrameHeader>>,
    /// Frames that were skipped, if the source continues after damage.
    pub damage: Vec<Damage>,
}

/// A request to read frames.
pub struct Job<'a> {
    /// The trajectory.
    pub source: &'a dyn Source,
    /// The atoms.
    pub atoms: &'a AtomSelection,
    /// The quantities.
    pub wanted: Quantities,
    /// The frames. They must exist already: the job does not wait for a growing source.
    pub frames: &'a FrameSet,
    /// Number of frames in each portion except the last, which may have fewer; at least 1.
    pub portion_frames: u64,
}

impl Job<'_> {
    /// Reads the frames with `n_workers` threads, the k-th portion of them into the k-th element of `portions`.
    /// Releases the frames of a growing source.
    pub fn read_into<R: Rows>(
        &self,
        portions: Vec<R>,
        n_workers: usize,
        monitor: &mut dyn Monitor,
    ) -> Result<FramesRead> {
        self.atoms.check(self.source.n_atoms())?;
        let portions: Vec<_> = portions.into_iter().map(|rows| Mutex::new(Some(rows))).collect();
        let make_worker = |_| RowWorker::new(self, &portions);
        let (mut headers, mut damage) = (Vec::with_capacity(portions.len()), Vec::new());
        run_blocks(0..portions.len(), Crew::on_demand(n_workers), make_worker, monitor, |(read, mut found)| {
            headers.push(read);
            damage.append(&mut found);
            Ok(())
        })?;
        if let (Some(growth), FrameSet::Range { start, step, count }) = (self.source.growth(), self.frames) {
            growth.release(start + step * count);
        }
        Ok(FramesRead { headers, damage: account(self.source, damage)? })
    }

    /// Returns the frames of a portion.
    fn extent(&self, portion: usize) -> Extent {
        let start = portion as u64 * self.portion_frames;
        Extent::Frames(self.frames.slice(start..(start + self.portion_frames).min(self.frames.len())))
    }
}

struct RowWorker<'a, R> {
    job: &'a Job<'a>,
    portions: &'a [Mutex<Option<R>>],
    reader: Box<dyn Reader + 'a>,
    batch: FrameBatch,
    recorder: Recorder,
}

impl<'a, R> RowWorker<'a, R> {
    fn new(job: &'a Job<'a>, portions: &'a [Mutex<Option<R>>]) -> Result<Self> {
        // Sources always provide positions.
        let wanted = job.wanted.with(Quantity::Positions, true);
        Ok(RowWorker {
            job,
            portions,
            reader: job.source.reader(job.atoms, wanted)?,
            batch: FrameBatch::for_quantities(job.atoms.len(), wanted),
            recorder: Recorder::new(Instant::now(), NO_BLOCK),
        })
    }
}

impl<R: Rows> Worker for RowWorker<'_, R> {
    type Output = (Vec<FrameHeader>, Vec<Damage>);

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        let rows = self.portions[block].lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut headers = Vec::new();
        self.reader.start(&self.job.extent(block))?;
        // The pool hands out each portion once, so its rows are still available.
        if let Some(mut rows) = rows {
            while shared.wanted(block) {
                let mut next = NextRows::new(&mut rows, headers.len(), self.job.wanted);
                self.reader.read_rows(&mut self.batch, &mut next, &mut self.recorder)?;
                if self.batch.is_empty() {
                    break;
                }
                headers.extend_from_slice(self.batch.headers());
                shared.add_frames(self.batch.len());
                self.recorder.take();
                tick();
            }
        }
        let damage = self.reader.damage();
        if self.job.source.on_error() == OnError::Stop && !damage.is_empty() {
            shared.end_with(block);
        }
        Ok((headers, damage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Columns;
    use crate::pool::Unattended;
    use crate::source::memory::MemorySource;

    struct Copied<'a>(&'a mut [f32]);

    impl Rows for Copied<'_> {
        fn write(&mut self, row: usize, _quantity: Quantity, columns: Option<Columns<'_>>) {
            self.0[row] = columns.map_or(f32::NAN, |columns| columns.y[0]);
        }
    }

    #[test]
    fn frames_reach_the_rows_in_the_order_asked_for() {
        let positions = (0..30).map(|i| i as f32).collect();
        let source = MemorySource::new(2, positions, (0..5).map(f64::from).collect(), Vec::new()).unwrap();
        let atoms = AtomSelection::new(vec![1]).unwrap();
        let frames = FrameSet::List([4, 0, 2, 2, 1].into());
        for n_workers in [1, 3] {
            let mut y = [0.0; 5];
            let portions = y.chunks_mut(2).map(Copied).collect();
            let wanted = Quantities::POSITIONS;
            let job = Job { source: &source, atoms: &atoms, wanted, frames: &frames, portion_frames: 2 };
            let read = job.read_into(portions, n_workers, &mut Unattended).unwrap();
            assert_eq!(y, [28.0, 4.0, 16.0, 16.0, 10.0]);
            let times: Vec<f64> = read.headers.iter().flatten().map(|header| header.time).collect();
            assert_eq!(times, [4.0, 0.0, 2.0, 2.0, 1.0]);
        }
    }
}

use proptest::prelude::*;

use super::*;
use crate::block::{Block, plan_frames};
use crate::frame::FrameHeader;
use crate::kernel::Kernel;
use crate::pool::Unattended;
use crate::reduce::Rows;
use crate::run::{Outcome, run};
use crate::source::capabilities::EndCheck;

/// A source with frames of one atom. Some of the frames are damaged. A batch with a damaged frame is lost, including the
/// frames before it.
struct Broken {
    n_frames: u64,
    damaged: Vec<u64>,
    torn: bool,
}

struct BrokenReader<'a> {
    source: &'a Broken,
    extent: FrameSet,
    next: u64,
}

impl Broken {
    fn error(&self, frame: u64) -> Error {
        Error::format("broken".as_ref(), Some(frame), Some(10 * frame), "broken")
    }
}

impl Source for Broken {
    fn n_atoms(&self) -> usize {
        1
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.n_frames)
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok((0..self.n_frames).map(|frame| frame as f64).collect())
    }

    fn n_bytes(&self) -> u64 {
        10 * self.n_frames
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { end_check: Some(self), ..Capabilities::NONE }
    }

    fn reader<'a>(&'a self, _atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(BrokenReader { source: self, extent: FrameSet::all(0), next: 0 }))
    }
}

impl EndCheck for Broken {
    fn check_end(&self) -> Result<()> {
        if self.torn { Err(self.error(self.n_frames)) } else { Ok(()) }
    }
}

impl Reader for BrokenReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        let Extent::Frames(frames) = extent else { return Err(Error::unsupported("bytes")) };
        (self.extent, self.next) = (frames.clone(), 0);
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, _recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        while self.next < self.extent.len() && batch.len() < 5 {
            let index = self.extent.get(self.next);
            self.next += 1;
            if self.source.damaged.contains(&index) {
                return Err(self.source.error(index));
            }
            let (time, present) = (index as f64, Quantities::POSITIONS);
            batch.push(FrameHeader { index, step: 0, time, unit_cell: None, lambda: None, present });
        }
        Ok(())
    }
}

/// A kernel that returns the numbers of frames.
#[derive(Clone)]
struct Numbers;

impl Kernel for Numbers {
    type Partial = Rows;

    fn n_atoms(&self) -> usize {
        1
    }

    fn empty(&self) -> Rows {
        Rows::new(1)
    }

    fn map(&mut self, batch: &FrameBatch, partial: &mut Rows) -> Result<()> {
        batch.headers().iter().for_each(|header| partial.push(header.index, header.time, &[0.0]));
        Ok(())
    }
}

fn read(source: &dyn Source, blocks: &[Block], n_workers: usize) -> Result<(Vec<u64>, Vec<u64>)> {
    let outcome = run(source, &AtomSelection::all(1), &Numbers, &blocks.to_vec().into(), n_workers, &mut Unattended)?;
    let Some(Outcome { result, damage, .. }) = outcome else { panic!("there are no blocks of bytes") };
    Ok((result.frames().collect(), damage.iter().map(|damage| damage.frame).collect()))
}

proptest! {
    #[test]
    fn whole_frames_are_read_whatever_the_blocks_and_workers(
        order in prop::collection::vec(0u64..60, 1..80),
        damaged in prop::collection::btree_set(0u64..60, 0..20),
        torn in any::<bool>(),
        n_parts in 1u64..20,
        n_workers in 1usize..4,
    ) {
        let damaged: Vec<u64> = damaged.into_iter().collect();
        let broken = || Arc::new(Broken { n_frames: 60, damaged: damaged.clone(), torn });
        let blocks = plan_frames(&FrameSet::List(order.clone().into()), n_parts);
        let ends = torn.then_some(60);
        let is_damaged = |frame: &u64| damaged.contains(frame);

        let (whole, left_out) = read(&Tolerant::skipping(broken()), &blocks, n_workers).unwrap();
        let (mut lost, expected): (Vec<u64>, Vec<u64>) = order.iter().copied().partition(is_damaged);
        lost.sort_unstable();
        lost.dedup();
        prop_assert_eq!(whole, expected);
        prop_assert_eq!(left_out, lost.into_iter().chain(ends).collect::<Vec<_>>());

        let (before, at) = read(&Tolerant::stopping(broken()), &blocks, n_workers).unwrap();
        let n_before = order.iter().take_while(|&frame| !is_damaged(frame)).count();
        prop_assert_eq!(&before, &order[..n_before]);
        prop_assert_eq!(at, order.get(n_before).copied().or(ends).into_iter().collect::<Vec<_>>());

        let raised = read(&*broken(), &blocks, n_workers);
        match order.get(n_before) {
            Some(frame) => {
                let message = raised.unwrap_err().to_string();
                let expected = format!("frame {frame},");
                prop_assert!(message.contains(&expected), "{}", message);
            }
            None => prop_assert_eq!(raised.unwrap(), (order, Vec::new())),
        }
    }
}

#[test]
fn failing_storage_is_not_damage() {
    let errors = [
        Error::io("a".as_ref(), std::io::Error::other("gone")),
        Error::format("a".as_ref(), None, Some(3), "the file was cut while being read"),
        Error::mismatch("not finite"),
    ];
    for error in errors {
        let text = error.to_string();
        assert_eq!(Damage::of(3, error).unwrap_err().to_string(), text);
    }
}

#[test]
fn name_of_a_choice_is_found() {
    for choice in [OnError::Raise, OnError::Stop, OnError::Skip] {
        assert_eq!(OnError::from_name(choice.name()).unwrap(), choice);
    }
    assert!(OnError::from_name("ignore").unwrap_err().to_string().contains("known: raise, stop, skip"));
}

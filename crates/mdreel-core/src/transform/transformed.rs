//! A source that transforms its frames while they are read.

use std::sync::{Arc, OnceLock};

use super::{Mover, Transform};
use crate::block::Extent;
use crate::error::Result;
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::source::capabilities::Capabilities;
use crate::source::damage::Damage;
use crate::source::{AtomSelection, LocatedFrames, Reader, Source};
use crate::span::{Recorder, SpanKind};

/// A trajectory whose frames are transformed. Its reader also reads the atoms that the transformations need. The frames
/// differ from the stored ones, so their bytes cannot be copied.
pub struct Transformed {
    inner: Arc<dyn Source>,
    transforms: Vec<Arc<dyn Transform>>,
    selections: Selections,
}

impl Transformed {
    /// Creates a source that applies the transformations to `inner` in order. Returns an error if `inner` does not
    /// contain the atoms that they name.
    pub fn new(inner: Arc<dyn Source>, transforms: Vec<Arc<dyn Transform>>) -> Result<Self> {
        for transform in &transforms {
            let last = transform.named().iter().max().copied();
            AtomSelection::new(last.into_iter().collect())?.check(inner.n_atoms())?;
        }
        Ok(Transformed { inner, transforms, selections: Selections::default() })
    }

    /// Returns the selected atoms and the other atoms that the transformations need.
    fn needed(&self, atoms: &AtomSelection) -> Result<AtomSelection> {
        let mut needed = atoms.indices().to_vec();
        for transform in self.transforms.iter().rev() {
            transform.add_needed(&mut needed);
            needed.sort_unstable();
            needed.dedup();
        }
        AtomSelection::new(needed)
    }
}

/// A list of distinct selections that readers refer to. It lives as long as the source.
#[derive(Default)]
struct Selections(OnceLock<Box<(AtomSelection, Selections)>>);

impl Selections {
    fn keep(&self, selection: AtomSelection) -> &AtomSelection {
        let mut list = self;
        loop {
            let (kept, rest) = &**list.0.get_or_init(|| Box::new((selection.clone(), Selections::default())));
            if *kept == selection {
                return kept;
            }
            list = rest;
        }
    }
}

impl Source for Transformed {
    fn n_atoms(&self) -> usize {
        self.inner.n_atoms()
    }

    fn n_frames(&self) -> Result<u64> {
        self.inner.n_frames()
    }

    fn times(&self) -> Result<Vec<f64>> {
        self.inner.times()
    }

    fn n_bytes(&self) -> u64 {
        self.inner.n_bytes()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let inner = self.inner.capabilities();
        Capabilities {
            segments: inner.segments,
            frame_offsets: inner.frame_offsets,
            byte_blocks: inner.byte_blocks,
            shared_places: inner.shared_places,
            // The stored bytes contain the frames before the transformation.
            frame_copies: None,
            growth: inner.growth,
            end_check: inner.end_check,
            on_error: inner.on_error,
            file: inner.file,
            n_fetched: inner.n_fetched,
            precision: inner.precision,
            preferred_step: inner.preferred_step,
            quantities: inner.quantities,
        }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        let needed = self.selections.keep(self.needed(atoms)?);
        let wanted = wanted.with(Quantity::Positions, true);
        let chosen = (needed != atoms).then(|| {
            let place = |atom| needed.indices().binary_search(atom).map(|place| place as u32).ok();
            let places = atoms.indices().iter().filter_map(place).collect();
            (places, FrameBatch::for_quantities(needed.len(), wanted))
        });
        Ok(Box::new(TransformedReader {
            inner: self.inner.reader(needed, wanted)?,
            movers: self.transforms.iter().map(|transform| transform.mover(needed.indices())).collect(),
            chosen,
        }))
    }
}

/// A worker's reader of transformed frames.
struct TransformedReader<'a> {
    inner: Box<dyn Reader + 'a>,
    movers: Vec<Box<dyn Mover>>,
    /// The positions of the selected atoms among those that are read, and a batch for all atoms that are read. `None`
    /// if both sets are equal.
    chosen: Option<(Vec<u32>, FrameBatch)>,
}

fn move_atoms(movers: &mut [Box<dyn Mover>], batch: &mut FrameBatch) -> Result<()> {
    movers.iter_mut().try_for_each(|mover| mover.apply(batch))
}

impl Reader for TransformedReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.inner.start(extent)
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        match &mut self.chosen {
            None => {
                self.inner.read(batch, recorder)?;
                let start_ns = recorder.now();
                move_atoms(&mut self.movers, batch)?;
                recorder.record(SpanKind::Compute, start_ns, 0, 0);
            }
            Some((places, all)) => {
                self.inner.read(all, recorder)?;
                let start_ns = recorder.now();
                move_atoms(&mut self.movers, all)?;
                batch.copy_atoms(all, places);
                recorder.record(SpanKind::Compute, start_ns, 0, 0);
            }
        }
        Ok(())
    }

    fn located(&mut self) -> LocatedFrames {
        self.inner.located()
    }

    fn damage(&mut self) -> Vec<Damage> {
        self.inner.damage()
    }
}

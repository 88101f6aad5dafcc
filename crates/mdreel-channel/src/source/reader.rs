//! The reader with which one worker gets frames from a channel.

use std::sync::Arc;

use super::ChannelSource;
use super::kept::Frame;
use mdreel_core::block::Extent;
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::{ColumnsMut, FrameBatch, FrameHeader};
use mdreel_core::source::lookout::Known;
use mdreel_core::source::{AtomSelection, Reader};
use mdreel_core::span::{Recorder, SpanKind};

/// A reader of kept frames.
pub(super) struct ChannelReader<'a> {
    source: &'a ChannelSource,
    atoms: &'a AtomSelection,
    /// The frames of the extent, with their numbers. They stay in memory even if the source releases them.
    frames: std::vec::IntoIter<(u64, Arc<Frame>)>,
}

impl<'a> ChannelReader<'a> {
    pub(crate) fn new(source: &'a ChannelSource, atoms: &'a AtomSelection) -> Self {
        ChannelReader { source, atoms, frames: Vec::new().into_iter() }
    }
}

impl Reader for ChannelReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        let path = &self.source.path;
        let known = self.source.lookout.known();
        let frames = extent.numbered(path, known.n_frames())?;
        let found = (0..frames.len()).map(|i| {
            let frame = frames.get(i);
            let gone = || {
                let message = "the frame has gone by: a channel is read once, by one run";
                Error::stream(message).at_frame(frame).in_file(path)
            };
            known.get(frame).map(|kept| (frame, kept)).ok_or_else(gone)
        });
        self.frames = found.collect::<Result<Vec<_>>>()?.into_iter();
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        let start_ns = recorder.now();
        let room = batch.capacity();
        for (index, frame) in self.frames.by_ref().take(room) {
            let at = batch.len();
            let present = frame.quantities();
            let Frame { step, time, unit_cell, .. } = *frame;
            batch.push(FrameHeader { index, step, time, unit_cell, lambda: None, present });
            for quantity in batch.wanted().iter() {
                if let (Some(values), Some(columns)) = (frame.values(quantity), batch.columns_of_mut(at, quantity)) {
                    gather(values, self.atoms.indices(), columns);
                }
            }
        }
        if !batch.is_empty() {
            let n_frames = batch.len() as u64;
            let n_bytes = n_frames * 12 * (self.atoms.len() * batch.wanted().count()) as u64;
            recorder.record(SpanKind::Read, start_ns, n_frames, n_bytes);
        }
        Ok(())
    }
}

/// Copies the selected atoms from interleaved x, y and z values to columns. The caller has checked that the atoms exist.
fn gather(values: &[f32], atoms: &[u32], columns: ColumnsMut<'_>) {
    let values = values.as_chunks::<3>().0;
    let ColumnsMut { x, y, z } = columns;
    for (((x, y), z), &atom) in x.iter_mut().zip(y).zip(z).zip(atoms) {
        [*x, *y, *z] = values[atom as usize];
    }
}

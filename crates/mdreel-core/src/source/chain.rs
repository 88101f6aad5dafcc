//! Chains: several trajectories of the same atoms, read as one.

mod cut;
mod piece;
mod properties;
mod reader;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::frame::Quantities;
use crate::source::capabilities::{ByteBlocks, Capabilities, EndCheck, FrameCopies, Segments, SharedPlaces};
use crate::source::damage::{Damage, OnError};
use crate::source::lazy_list::LazyList;
use crate::source::places::Places;
use crate::source::{AtomSelection, LocatedFrames, Reader, Source, SourceExt, StoredFrames};
use properties::ChainProperties;

pub(crate) use properties::SegmentProperties;

/// Handling of segments that overlap in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlaps {
    /// Keeps all frames of all segments.
    #[default]
    Keep,
    /// Ends a segment where the next one begins. This drops the frames that a simulation wrote after the checkpoint
    /// from which it was continued.
    Drop,
}

/// Several sources that are read one after another. Frames are numbered consecutively, and each frame keeps the time
/// from its segment. For blocks of bytes, the segments form one virtual file, in order.
pub struct ChainSource {
    segments: Arc<LazyList<Segment>>,
    properties: ChainProperties,
    overlaps: Overlaps,
    /// The index of the first frame of each segment, followed by the number of all frames.
    first_frames: OnceLock<Vec<u64>>,
    /// Set once [`Self::look`] has run.
    looked: OnceLock<()>,
}

/// A source and the path by which error messages name it.
#[derive(Clone)]
pub(crate) struct Segment {
    pub source: Arc<dyn Source>,
    pub path: Arc<Path>,
}

impl ChainSource {
    /// Chains sources with these properties. They must have the same number of atoms.
    pub(crate) fn new(
        segments: LazyList<Segment>,
        properties: impl IntoIterator<Item = SegmentProperties>,
        overlaps: Overlaps,
    ) -> Result<Self> {
        let properties = ChainProperties::of(properties, |i| &segments.get(i).path)?;
        Ok(ChainSource::of(segments, properties, overlaps))
    }

    fn of(segments: LazyList<Segment>, properties: ChainProperties, overlaps: Overlaps) -> Self {
        let (first_frames, looked) = (OnceLock::new(), OnceLock::new());
        ChainSource { segments: Arc::new(segments), properties, overlaps, first_frames, looked }
    }

    /// Returns the same chain with other sources of the same files: `source(i)` returns the source of the i-th file.
    pub(crate) fn map(&self, source: impl Fn(usize) -> Arc<dyn Source> + Send + Sync + 'static) -> Self {
        let same = Arc::clone(&self.segments);
        let create = move |i| Segment { source: source(i), path: Arc::clone(&same.get(i).path) };
        // Other sources may find other frames.
        let properties = ChainProperties { is_whole: false, ..self.properties.clone() };
        ChainSource::of(LazyList::new(self.segments.len(), create), properties, self.overlaps)
    }

    /// Returns the bytes of a segment in the virtual file.
    fn bytes(&self, segment: usize) -> Range<u64> {
        let ends = &self.properties.ends;
        segment.checked_sub(1).map_or(0, |before| ends[before])..ends[segment]
    }

    /// Lets every segment check whether its frames are already located. Several threads do this, because each segment
    /// may have to load an index.
    fn look(&self) {
        self.looked.get_or_init(|| {
            let sources: Vec<_> = self.segments.iter().map(|segment| &*segment.source).collect();
            let look_at = |sources: &[&dyn Source]| sources.iter().for_each(|one| drop(one.unlocated_bytes()));
            let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
            let mut shares = sources.chunks(sources.len().div_ceil(n_threads));
            let own = shares.next().unwrap_or_default();
            std::thread::scope(|scope| {
                for share in shares {
                    let thread = std::thread::Builder::new().spawn_scoped(scope, move || look_at(share));
                    if thread.is_err() {
                        look_at(share);
                    }
                }
                look_at(own);
            });
        });
    }

    fn first_frames(&self) -> Result<&[u64]> {
        if let Some(firsts) = self.first_frames.get() {
            return Ok(firsts);
        }
        self.look();
        let mut firsts = vec![0];
        for (i, segment) in self.segments.iter().enumerate() {
            let n_frames = match self.overlaps {
                Overlaps::Keep => segment.source.n_frames()?,
                Overlaps::Drop => self.n_frames_before_next(i)?,
            };
            firsts.push(firsts[firsts.len() - 1] + n_frames);
        }
        Ok(self.first_frames.get_or_init(|| firsts))
    }

    /// Returns the number of frames of a segment before the next segment with frames begins.
    fn n_frames_before_next(&self, segment: usize) -> Result<u64> {
        let times = self.ascending_times(segment)?;
        for next in segment + 1..self.segments.len() {
            if let Some(begin) = self.ascending_times(next)?.first() {
                // Times are rounded sums of many steps. The frame at the border is in both segments, and its times may
                // differ a little.
                let tolerance = times.windows(2).next().map_or(0.0, |pair| 1e-3 * (pair[1] - pair[0]));
                return Ok(times.partition_point(|time| time + tolerance < *begin) as u64);
            }
        }
        Ok(times.len() as u64)
    }

    fn ascending_times(&self, segment: usize) -> Result<Vec<f64>> {
        let Segment { source, path } = self.segments.get(segment);
        let times = source.times()?;
        match times.windows(2).position(|pair| pair[0] > pair[1]) {
            None => Ok(times),
            Some(frame) => Err(Error::mismatch(format!(
                "time goes back from {} ps in frame {frame} to {} ps: where segments overlap cannot be told",
                times[frame],
                times[frame + 1]
            ))
            .in_file(path)),
        }
    }
}

impl Source for ChainSource {
    fn n_atoms(&self) -> usize {
        self.properties.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.first_frames()?.last().copied().unwrap_or_default())
    }

    fn times(&self) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for (segment, firsts) in self.segments.iter().zip(self.first_frames()?.windows(2)) {
            let n_frames = (firsts[1] - firsts[0]) as usize;
            times.extend(segment.source.times()?.into_iter().take(n_frames));
        }
        Ok(times)
    }

    fn n_bytes(&self) -> u64 {
        self.properties.ends[self.segments.len() - 1]
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let properties = &self.properties;
        let n_fetched = || self.segments.iter().filter_map(|segment| segment.source.n_fetched()).sum::<u64>();
        Capabilities {
            segments: Some(self),
            // A byte position identifies a frame only together with its file.
            frame_offsets: None,
            byte_blocks: Some(self),
            shared_places: Some(self),
            frame_copies: Some(self),
            // The frames of a segment after a growing one could not be numbered.
            growth: None,
            end_check: Some(self),
            on_error: OnError::Raise,
            file: None,
            n_fetched: properties.is_remote.then(n_fetched),
            precision: properties.precision,
            preferred_step: properties.preferred_step,
            quantities: properties.quantities,
        }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(self.chain_reader(atoms, wanted))
    }
}

impl EndCheck for ChainSource {
    fn check_end(&self) -> Result<()> {
        if self.properties.is_whole {
            return Ok(());
        }
        self.segments.iter().try_for_each(|segment| segment.source.check_end())
    }
}

impl Segments for ChainSource {
    fn segment_ends(&self) -> Result<Vec<u64>> {
        Ok(self.first_frames()?[1..].to_vec())
    }

    fn damaged_ends(&self) -> Result<Vec<Damage>> {
        let mut all = Vec::new();
        for (segment, &end) in self.segments.iter().zip(&self.first_frames()?[1..]) {
            let ends = segment.source.damaged_ends()?;
            // The next segment continues the numbering here, regardless of how many frames this one lacks.
            all.extend(ends.into_iter().map(|damage| Damage { frame: end, ..damage }));
        }
        Ok(all)
    }
}

impl ByteBlocks for ChainSource {
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        if self.overlaps == Overlaps::Drop || self.properties.is_whole {
            return None;
        }
        self.look();
        let mut all = Vec::new();
        for (i, segment) in self.segments.iter().enumerate() {
            let base = self.bytes(i).start;
            all.extend(segment.source.unlocated_bytes()?.iter().map(|range| base + range.start..base + range.end));
        }
        Some(all)
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        let mut of_segments: Vec<Vec<LocatedFrames>> = self.segments.iter().map(|_| Vec::new()).collect();
        for part in parts {
            let Some(first) = part.first else { continue };
            let mut rest = part.frames.as_slice();
            let mut first = Some(first);
            for (i, parts) in of_segments.iter_mut().enumerate() {
                let Range { start: base, end: segment_end } = self.bytes(i);
                let n = rest.partition_point(|frame| frame.offset < segment_end);
                let (own, others) = rest.split_at(n);
                rest = others;
                if let Some(start) = own.first() {
                    // A block that continues in the next segment has read this one to its end.
                    let end = if others.is_empty() { part.end } else { segment_end };
                    let mut frames = own.to_vec();
                    frames.iter_mut().for_each(|frame| frame.offset -= base);
                    let first = first.take().unwrap_or(start.offset);
                    parts.push(LocatedFrames { first: Some(first - base), end: end.saturating_sub(base), frames });
                }
            }
        }
        for (segment, parts) in self.segments.iter().zip(of_segments) {
            if !segment.source.locate(parts)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl SharedPlaces for ChainSource {
    fn places(&self) -> Vec<Places> {
        self.segments.iter().flat_map(|segment| segment.source.places()).collect()
    }

    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        let mut rest = places.peekable();
        let mut segments = self.segments.iter();
        while rest.peek().is_some() {
            let Some(segment) = segments.next() else { break };
            segment.source.take_places(&mut rest)?;
        }
        Ok(())
    }
}

impl FrameCopies for ChainSource {
    fn stored_format(&self) -> Option<&'static str> {
        let format = self.segments.get(0).source.stored_format();
        format.filter(|_| self.segments.iter().all(|segment| segment.source.stored_format() == format))
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        let mut all = Vec::new();
        for (segment, firsts) in self.segments.iter().zip(self.first_frames()?.windows(2)) {
            let own = frames.start.max(firsts[0])..frames.end.min(firsts[1]);
            if own.is_empty() {
                continue;
            }
            match segment.source.stored_frames(own.start - firsts[0]..own.end - firsts[0])? {
                Some(mut stored) => all.append(&mut stored),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }
}

#[cfg(test)]
mod tests;

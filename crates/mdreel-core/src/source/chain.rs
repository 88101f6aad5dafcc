//! Chains: several trajectories of the same atoms, read as one.

mod cut;
mod piece;
mod reader;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::frame::Quantities;
use crate::source::capabilities::{ByteBlocks, Capabilities, EndCheck, FrameCopies, Segments, SharedPlaces};
use crate::source::damage::{Damage, OnError};
use crate::source::places::Places;
use crate::source::{AtomSelection, LocatedFrames, Reader, Source, SourceExt, StoredFrames};

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
    segments: Vec<Segment>,
    overlaps: Overlaps,
    /// The index of the first frame of each segment, followed by the number of all frames.
    first_frames: OnceLock<Vec<u64>>,
    /// Set once [`Self::look`] has run.
    looked: OnceLock<()>,
    common: OnceLock<Common>,
}

/// Properties of all segments together, which reading does not change.
struct Common {
    is_remote: bool,
    precision: Option<f32>,
    preferred_step: u64,
    quantities: Quantities,
}

struct Segment {
    source: Arc<dyn Source>,
    path: Arc<Path>,
    /// The bytes of the segment in the virtual file.
    bytes: Range<u64>,
}

impl ChainSource {
    /// Chains sources that have the same number of atoms. Error messages name the sources by their paths.
    pub(crate) fn new(segments: Vec<(Arc<Path>, Arc<dyn Source>)>, overlaps: Overlaps) -> Result<Self> {
        let Some((first_path, first)) = segments.first() else {
            return Err(Error::mismatch("a chain needs at least one trajectory"));
        };
        let n_atoms = first.n_atoms();
        if let Some((path, other)) = segments.iter().find(|(_, source)| source.n_atoms() != n_atoms) {
            return Err(Error::mismatch(format!(
                "{} has {n_atoms} atoms, {} has {}: a chain needs the same atoms in every trajectory",
                first_path.display(),
                path.display(),
                other.n_atoms()
            )));
        }
        let mut end = 0;
        let segments = segments
            .into_iter()
            .map(|(path, source)| {
                let start = end;
                end += source.n_bytes();
                Segment { source, path, bytes: start..end }
            })
            .collect();
        Ok(ChainSource::of(segments, overlaps))
    }

    fn of(segments: Vec<Segment>, overlaps: Overlaps) -> Self {
        let (first_frames, looked, common) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        ChainSource { segments, overlaps, first_frames, looked, common }
    }

    /// Returns the same chain with other sources of the same files: `source(i)` returns the source of the i-th file.
    pub(crate) fn map(&self, mut source: impl FnMut(usize) -> Arc<dyn Source>) -> Self {
        let mapped = |(i, segment): (usize, &Segment)| Segment {
            source: source(i),
            path: Arc::clone(&segment.path),
            bytes: segment.bytes.clone(),
        };
        ChainSource::of(self.segments.iter().enumerate().map(mapped).collect(), self.overlaps)
    }

    fn common(&self) -> &Common {
        self.common.get_or_init(|| {
            let each = || self.segments.iter().map(|segment| segment.source.capabilities());
            let step = self.segments[0].source.preferred_step();
            Common {
                is_remote: each().any(|one| one.n_fetched.is_some()),
                precision: each().filter_map(|one| one.precision).reduce(f32::max),
                preferred_step: if each().all(|one| one.preferred_step == step) { step } else { 1 },
                quantities: each().map(|one| one.quantities).fold(Quantities::NONE, Quantities::either),
            }
        })
    }

    /// Lets every segment check whether its frames are already located. Several threads do this, because each segment
    /// may have to load an index.
    fn look(&self) {
        self.looked.get_or_init(|| {
            let look_at = |segments: &[Segment]| segments.iter().for_each(|one| drop(one.source.unlocated_bytes()));
            let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
            let mut shares = self.segments.chunks(self.segments.len().div_ceil(n_threads));
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
        let Segment { source, path, .. } = &self.segments[segment];
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
        self.segments[0].source.n_atoms()
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
        self.segments.iter().map(|segment| segment.source.n_bytes()).sum()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let common = self.common();
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
            n_fetched: common.is_remote.then(n_fetched),
            precision: common.precision,
            preferred_step: common.preferred_step,
            quantities: common.quantities,
        }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(self.chain_reader(atoms, wanted))
    }
}

impl EndCheck for ChainSource {
    fn check_end(&self) -> Result<()> {
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
        if self.overlaps == Overlaps::Drop {
            return None;
        }
        self.look();
        let mut all = Vec::new();
        for segment in &self.segments {
            let base = segment.bytes.start;
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
            for (segment, parts) in self.segments.iter().zip(&mut of_segments) {
                let base = segment.bytes.start;
                let n = rest.partition_point(|frame| frame.offset < segment.bytes.end);
                let (own, others) = rest.split_at(n);
                rest = others;
                if let Some(start) = own.first() {
                    // A block that continues in the next segment has read this one to its end.
                    let end = if others.is_empty() { part.end } else { segment.bytes.end };
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
        self.segments.iter().try_for_each(|segment| segment.source.take_places(places))
    }
}

impl FrameCopies for ChainSource {
    fn stored_format(&self) -> Option<&'static str> {
        let format = self.segments[0].source.stored_format();
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

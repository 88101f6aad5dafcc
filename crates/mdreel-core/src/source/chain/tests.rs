use std::sync::Mutex;
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::block::{Extent, FrameSet, plan_bytes};
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::kernel::Kernel;
use crate::pool::Unattended;
use crate::reduce::Rows;
use crate::run::run;
use crate::source::FrameLocation;
use crate::source::memory::MemorySource;
use crate::span::Recorder;

/// Builds segments of one atom. Its x is the number of the frame in the chain.
fn chain(lengths: &[usize]) -> ChainSource {
    let mut number = 0;
    let segments = lengths.iter().map(|&length| {
        let positions = (0..length).flat_map(|i| [(number + i) as f32, 0.0, 0.0]).collect();
        let times = (0..length).map(|i| i as f64).collect();
        number += length;
        let source: Arc<dyn Source> = Arc::new(MemorySource::new(1, positions, times, Vec::new()).unwrap());
        Segment { source, path: Path::new("segment").into() }
    });
    chained(segments.collect(), Overlaps::Keep).unwrap()
}

fn chained(segments: Vec<Segment>, overlaps: Overlaps) -> Result<ChainSource> {
    let properties: Vec<_> = segments.iter().map(|segment| SegmentProperties::of(&*segment.source)).collect();
    ChainSource::new(segments.into(), properties, overlaps)
}

fn read(source: &dyn Source, frames: FrameSet) -> Result<Vec<(u64, f32)>> {
    let atoms = AtomSelection::all(1);
    let mut reader = source.reader(&atoms, Quantities::POSITIONS)?;
    let mut recorder = Recorder::new(Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(1, 3);
    reader.start(&Extent::Frames(frames))?;
    let mut seen = Vec::new();
    loop {
        reader.read(&mut batch, &mut recorder)?;
        if batch.is_empty() {
            return Ok(seen);
        }
        seen.extend((0..batch.len()).map(|i| (batch.header(i).index, batch.columns(i).x[0])));
    }
}

proptest! {
    #[test]
    fn chain_gives_every_frame_its_number(
        lengths in prop::collection::vec(0usize..6, 1..6),
        step in 1u64..5,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let source = chain(&lengths);
        let n_frames = source.n_frames().unwrap();
        let range = FrameSet::Range { start: 0, step, count: n_frames.div_ceil(step) };
        let expected: Vec<_> = (0..n_frames).step_by(step as usize).map(|i| (i, i as f32)).collect();
        prop_assert_eq!(read(&source, range).unwrap(), expected);
        if n_frames > 0 {
            let list: Vec<u64> = picks.iter().map(|pick| pick.index(n_frames as usize) as u64).collect();
            let expected: Vec<_> = list.iter().map(|&i| (i, i as f32)).collect();
            prop_assert_eq!(read(&source, FrameSet::List(list.into())).unwrap(), expected);
        }
    }
}

#[test]
fn chain_refuses_a_frame_behind_the_last_segment() {
    let error = read(&chain(&[2, 3]), FrameSet::List([5].into())).unwrap_err();
    assert!(matches!(error, Error::FrameIndex { frame: 5, n_frames: 5, .. }));
}

#[test]
fn chain_refuses_segments_of_other_atoms() {
    let of = |n: usize| Arc::new(MemorySource::new(n, Vec::new(), Vec::new(), Vec::new()).unwrap());
    let segments = [("a", 3), ("b", 4)].map(|(path, n)| Segment { source: of(n), path: Path::new(path).into() });
    let error = chained(segments.into(), Overlaps::Keep).err().unwrap().to_string();
    assert!(error.contains("a has 3 atoms, b has 4"), "{error}");
}

/// Builds segments of one atom with these times. Its x is the number of the segment.
fn timed(times: &[&[f64]], overlaps: Overlaps) -> ChainSource {
    let segments = times.iter().enumerate().map(|(i, times)| {
        let positions = times.iter().flat_map(|_| [i as f32, 0.0, 0.0]).collect();
        let source: Arc<dyn Source> = Arc::new(MemorySource::new(1, positions, times.to_vec(), Vec::new()).unwrap());
        Segment { source, path: Path::new(&format!("part{i}")).into() }
    });
    chained(segments.collect(), overlaps).unwrap()
}

#[test]
fn chain_ends_a_segment_where_the_next_begins_on_request() {
    let times: [&[f64]; 4] = [&[0.0, 2.0, 4.0, 6.0], &[], &[4.000_000_1, 6.0, 8.0], &[5.0, 7.0]];
    let chain = timed(&times, Overlaps::Drop);
    assert_eq!(chain.times().unwrap(), [0.0, 2.0, 4.000_000_1, 5.0, 7.0]);
    assert_eq!(chain.n_frames().unwrap(), 5);
    let expected = [0.0, 0.0, 2.0, 3.0, 3.0];
    let seen = read(&chain, FrameSet::all(5)).unwrap();
    assert_eq!(seen, (0..5).zip(expected).collect::<Vec<_>>());
    assert_eq!(timed(&times, Overlaps::Keep).n_frames().unwrap(), 9);
}

#[test]
fn chain_refuses_to_drop_overlaps_when_time_goes_back_within_a_segment() {
    let error = timed(&[&[0.0, 2.0, 1.0], &[3.0]], Overlaps::Drop).n_frames().unwrap_err().to_string();
    assert!(error.starts_with("part0: time goes back from 2 ps in frame 1 to 1 ps"), "{error}");
}

/// A file of frames of `size` bytes each, which can be found from anywhere. x is the number of the frame in the file.
struct Unlocated {
    size: u64,
    n_frames: u64,
    located: Mutex<Vec<LocatedFrames>>,
}

impl Unlocated {
    /// Returns whether the located parts join and cover the whole file.
    fn is_whole(&self) -> bool {
        let parts = self.located.lock().unwrap();
        let parts: Vec<_> = parts.iter().filter(|part| part.first.is_some()).collect();
        let offsets: Vec<u64> = parts.iter().flat_map(|part| part.frames.iter().map(|frame| frame.offset)).collect();
        let expected: Vec<u64> = (0..self.n_frames).map(|i| i * self.size).collect();
        parts.windows(2).all(|pair| pair[1].first == Some(pair[0].end))
            && parts.last().is_none_or(|part| part.end == self.n_bytes())
            && offsets == expected
    }
}

impl Source for Unlocated {
    fn n_atoms(&self) -> usize {
        1
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.n_frames)
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok((0..self.n_frames).map(|i| i as f64).collect())
    }

    fn n_bytes(&self) -> u64 {
        self.size * self.n_frames
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { byte_blocks: Some(self), ..Capabilities::NONE }
    }

    fn reader<'a>(&'a self, _atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(UnlocatedReader { size: self.size, range: 0..0, next: 0 }))
    }
}

impl ByteBlocks for Unlocated {
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        Some(std::iter::once(0..self.n_bytes()).collect())
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        *self.located.lock().unwrap() = parts;
        Ok(self.is_whole())
    }
}

struct UnlocatedReader {
    size: u64,
    /// The frames of the block.
    range: Range<u64>,
    next: u64,
}

impl Reader for UnlocatedReader {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        let Extent::Bytes(bytes) = extent else { panic!("only bytes are asked for") };
        self.range = bytes.start.div_ceil(self.size)..bytes.end.div_ceil(self.size);
        self.next = self.range.start;
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, _recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        while self.next < self.range.end && batch.len() < batch.capacity() {
            let header = FrameHeader {
                index: self.next - self.range.start,
                step: 0,
                time: 0.0,
                unit_cell: None,
                lambda: None,
                present: Quantities::POSITIONS,
            };
            batch.push(header).x[0] = self.next as f32;
            self.next += 1;
        }
        Ok(())
    }

    fn located(&mut self) -> LocatedFrames {
        let frames = self.range.clone().map(|i| FrameLocation { offset: i * self.size, step: 0, time: 0.0 });
        LocatedFrames {
            first: (!self.range.is_empty()).then_some(self.range.start * self.size),
            end: self.range.end * self.size,
            frames: frames.collect(),
        }
    }
}

/// A kernel that returns the x of the first atom of each frame.
#[derive(Clone)]
struct FirstX;

impl Kernel for FirstX {
    type Partial = Rows;

    fn n_atoms(&self) -> usize {
        1
    }

    fn empty(&self) -> Rows {
        Rows::new(1)
    }

    fn map(&mut self, batch: &FrameBatch, partial: &mut Rows) -> Result<()> {
        for (i, header) in batch.headers().iter().enumerate() {
            partial.push(header.index, header.time, &[f64::from(batch.columns(i).x[0])]);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn chain_locates_the_frames_of_each_segment(
        shapes in prop::collection::vec((1u64..9, 0u64..7), 1..5),
        n_parts in 1u64..40,
        n_workers in 1usize..3,
    ) {
        let files: Vec<_> = shapes
            .iter()
            .map(|&(size, n_frames)| Arc::new(Unlocated { size, n_frames, located: Mutex::default() }))
            .collect();
        let segments = files
            .iter()
            .map(|file| Segment { source: Arc::clone(file) as _, path: Path::new("file").into() });
        let chain = chained(segments.collect(), Overlaps::Keep).unwrap();
        let ranges = SourceExt::unlocated_bytes(&chain).unwrap();
        let blocks = plan_bytes(0..ranges.last().unwrap().end, n_parts);
        let atoms = AtomSelection::all(1);
        let outcome = run(&chain, &atoms, &FirstX, &blocks.into(), n_workers, &mut Unattended).unwrap();
        let series = outcome.expect("the parts join").result;
        let expected: Vec<f64> = shapes.iter().flat_map(|&(_, n)| (0..n).map(|i| i as f64)).collect();
        prop_assert_eq!(series.column(0).collect::<Vec<_>>(), &expected[..]);
        prop_assert!(series.frames().eq(0..expected.len() as u64));
        for file in &files {
            prop_assert!(file.is_whole());
        }
    }
}

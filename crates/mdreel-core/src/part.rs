//! Parts: the results of consecutive blocks, which can merge with the part that follows, in the same or in another
//! process.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::reduce::Partial;
use crate::source::LocatedFrames;
use crate::source::damage::Damage;
use crate::span::{NO_BLOCK, Span};

/// What the bytes of a part begin with. The last digit is that of their layout.
const MAGIC: &[u8; 8] = b"mdreelP3";

/// What consecutive blocks became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part<P> {
    /// The blocks.
    pub blocks: Range<usize>,
    /// Their partial results, merged.
    pub partial: P,
    /// What they cost.
    pub spans: Vec<Span>,
    /// Where their frames are; one for each block, if they are blocks of bytes.
    pub located: Vec<LocatedFrames>,
    /// What was left out of them.
    pub damage: Vec<Damage>,
    /// Whether nothing comes behind them, though more was planned.
    pub is_last: bool,
}

impl<P: Partial> Part<P> {
    /// The part of no blocks, in front of block `first`.
    pub fn empty(first: usize, partial: P) -> Self {
        let (spans, located, damage) = Default::default();
        Part { blocks: first..first, partial, spans, located, damage, is_last: false }
    }

    /// The part of no blocks in front of all blocks of a run, which will all be merged into it.
    pub fn whole(mut partial: P) -> Self {
        partial.begin();
        Part::empty(0, partial)
    }

    /// Adds the part that follows. Frames of blocks of bytes are counted from the beginning of each part.
    pub fn merge(&mut self, mut next: Part<P>) {
        debug_assert_eq!(self.blocks.end, next.blocks.start, "parts are merged in order");
        if !next.located.is_empty() {
            next.partial.renumber(self.partial.n_frames());
        }
        self.partial.merge(next.partial);
        self.spans.append(&mut next.spans);
        self.located.append(&mut next.located);
        self.damage.append(&mut next.damage);
        self.blocks.end = next.blocks.end;
        self.is_last = next.is_last;
    }

    /// Numbers its blocks from `first` on: they were planned for themselves, and come behind others.
    pub fn move_to(&mut self, first: usize) {
        let (before, n_blocks) = (self.blocks.start as u32, self.blocks.len());
        self.blocks = first..first + n_blocks;
        for span in self.spans.iter_mut().filter(|span| span.block != NO_BLOCK) {
            span.block = (span.block - before).saturating_add(first as u32);
        }
    }

    /// Says which worker has done it, where that is known afterwards only.
    pub fn done_by(&mut self, worker: u32) {
        self.spans.iter_mut().for_each(|span| span.worker = worker);
    }

    /// Moves its spans by `offset_ns`: another process has counted from another moment.
    pub fn shift(&mut self, offset_ns: i64) {
        for span in &mut self.spans {
            span.start_ns = span.start_ns.saturating_add_signed(offset_ns);
            span.stop_ns = span.stop_ns.saturating_add_signed(offset_ns);
        }
    }
}

impl<P: Serialize + DeserializeOwned> Part<P> {
    /// Itself as bytes, for another process or a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_extend(self, MAGIC.to_vec())
            .map_err(|error| Error::worker(format!("a part could not be turned into bytes: {error}")))
    }

    /// The part that these bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |message: String| Error::mismatch(format!("{} bytes are no part: {message}", bytes.len()));
        let content =
            bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("another program or version has made them".into()))?;
        let (part, rest) = postcard::take_from_bytes(content).map_err(|error| wrong(error.to_string()))?;
        if !rest.is_empty() {
            return Err(wrong(format!("{} bytes are left over", rest.len())));
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::error::Place;
    use crate::reduce::{Layout, Sum, Tally};
    use crate::source::FrameLocation;
    use crate::span::SpanKind;

    fn nothing() -> Tally {
        Tally::new(&[Layout { n_columns: 2, n_sums: 1, n_counts: 2, record: Some(1) }])
    }

    fn part(block: usize, n_frames: u64, of_bytes: bool) -> Part<Tally> {
        let mut partial = nothing();
        (0..n_frames).for_each(|k| partial.rows.push(k, 0.5 * k as f64, &[f64::NAN, -0.0]));
        (0..n_frames).step_by(4).for_each(|k| partial.records[0].push(k, &[k as f64 / 3.0]));
        (partial.sums[0], partial.counts[1]) = (Sum::of(-0.1), n_frames);
        let start_ns = 1000 * block as u64;
        let span = Span {
            kind: SpanKind::Compute,
            block: block as u32,
            worker: 3,
            start_ns,
            stop_ns: start_ns + 10,
            n_frames,
            n_bytes: u64::MAX,
        };
        let frames = vec![FrameLocation { offset: 7, step: -1, time: 1e300 }];
        let located = LocatedFrames { first: Some(7), end: 70, frames };
        #[cfg(unix)]
        let path: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"not \xff UTF-8.xtc".to_vec());
        #[cfg(not(unix))]
        let path = std::ffi::OsString::from("a.xtc");
        let place = Place { path: PathBuf::from(path), frame: Some(2), byte: None };
        let damage = Damage { frame: 2, at_end: false, place, message: "µ".into() };
        Part {
            blocks: block..block + 1,
            partial,
            spans: vec![span],
            located: if of_bytes { vec![located] } else { Vec::new() },
            damage: vec![damage],
            is_last: false,
        }
    }

    fn bits(part: &Part<Tally>) -> Vec<u64> {
        part.partial.rows.clone().into_values().into_iter().map(f64::to_bits).collect()
    }

    #[test]
    fn part_is_the_same_after_a_way_through_bytes() {
        for of_bytes in [false, true] {
            let sent = part(4, 10, of_bytes);
            let mut came = Part::from_bytes(&sent.to_bytes().unwrap()).unwrap();
            assert_eq!(bits(&came), bits(&sent));
            assert_eq!(came.partial.records, sent.partial.records);
            came.partial = nothing();
            assert_eq!(came, Part { partial: nothing(), ..sent });
        }
    }

    #[test]
    fn part_of_a_plan_of_its_own_follows_another_one() {
        let mut whole = Part::empty(0, nothing());
        for turn in 0..3 {
            let mut next = part(0, 10, false);
            next.move_to(turn);
            whole.merge(next);
        }
        assert_eq!(whole.blocks, 0..3);
        assert!(whole.spans.iter().map(|span| span.block).eq(0..3));
    }

    #[test]
    fn bytes_that_are_torn_or_of_something_else_are_refused() {
        let bytes = part(4, 10, true).to_bytes().unwrap();
        for n in 0..bytes.len() {
            assert!(Part::<Tally>::from_bytes(&bytes[..n]).is_err(), "{n} bytes");
        }
        assert!(Part::<Tally>::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn frames_of_blocks_of_bytes_are_numbered_on() {
        let mut whole = Part::empty(2, nothing());
        (2..5).for_each(|block| whole.merge(part(block, 10, true)));
        assert!(whole.partial.rows.frames().eq(0..30));
        assert_eq!((whole.blocks, whole.located.len(), whole.spans.len()), (2..5, 3, 3));
        let thrice = (0..3).fold(Sum::default(), |mut sum, _| {
            sum += Sum::of(-0.1);
            sum
        });
        assert_eq!((whole.partial.sums, whole.partial.counts), (vec![thrice], vec![0, 30]));
        let frames = [0.0, 4.0, 8.0];
        let expected =
            [0.0, 10.0, 20.0].map(|first| frames.map(|frame| [first + frame, frame / 3.0])).concat().concat();
        assert_eq!(whole.partial.records[0].clone().into_values(), expected);
    }
}

//! Parts: the results of consecutive blocks. A part can merge with the part that follows, in the same process or in
//! another one.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::reduce::Partial;
use crate::source::LocatedFrames;
use crate::source::damage::Damage;
use crate::span::{NO_BLOCK, Span};

/// The first bytes of a serialized part. The last digit is the version of the layout.
const MAGIC: &[u8; 8] = b"mdreelP3";

/// The result of consecutive blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part<P> {
    /// The blocks.
    pub blocks: Range<usize>,
    /// The merged partial results of the blocks.
    pub partial: P,
    /// The time spans of the work on the blocks.
    pub spans: Vec<Span>,
    /// The locations of their frames: one entry for each block, if they are blocks of bytes.
    pub located: Vec<LocatedFrames>,
    /// The damaged frames that were skipped.
    pub damage: Vec<Damage>,
    /// Whether nothing follows these blocks, although more blocks were planned.
    pub is_last: bool,
}

impl<P: Partial> Part<P> {
    /// Creates the part of no blocks before block `first`.
    pub fn empty(first: usize, partial: P) -> Self {
        let (spans, located, damage) = Default::default();
        Part { blocks: first..first, partial, spans, located, damage, is_last: false }
    }

    /// Creates the part of no blocks at the start of a run. All blocks of the run will be merged into it.
    pub fn whole(mut partial: P) -> Self {
        partial.begin();
        Part::empty(0, partial)
    }

    /// Adds the part that follows. In blocks of bytes, each part counts its frames from 0, so the method renumbers
    /// them.
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

    /// Numbers the blocks of the part from `first` on. The method serves blocks that were planned separately and follow
    /// others.
    pub fn move_to(&mut self, first: usize) {
        let (before, n_blocks) = (self.blocks.start as u32, self.blocks.len());
        self.blocks = first..first + n_blocks;
        for span in self.spans.iter_mut().filter(|span| span.block != NO_BLOCK) {
            span.block = (span.block - before).saturating_add(first as u32);
        }
    }

    /// Sets the worker of all spans, if it becomes known only after the work.
    pub fn done_by(&mut self, worker: u32) {
        self.spans.iter_mut().for_each(|span| span.worker = worker);
    }

    /// Shifts all spans by `offset_ns`, because another process counts time from a different moment.
    pub fn shift(&mut self, offset_ns: i64) {
        for span in &mut self.spans {
            span.start_ns = span.start_ns.saturating_add_signed(offset_ns);
            span.stop_ns = span.stop_ns.saturating_add_signed(offset_ns);
        }
    }
}

impl<P: Serialize + DeserializeOwned> Part<P> {
    /// Serializes the part, for another process or a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_extend(self, MAGIC.to_vec())
            .map_err(|error| Error::worker(format!("a part could not be turned into bytes: {error}")))
    }

    /// Deserializes a part from `bytes`.
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

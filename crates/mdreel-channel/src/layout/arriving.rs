//! Frames that come in pieces, as through a network: each piece is copied to its place when it comes.

use std::fmt;
use std::path::Path;

use super::hasher::Hasher;
use super::{Entry, Head, Header};
use crate::section::{DataType, SectionKind};
use mdreel_core::error::{Error, Result};

/// A frame of which some bytes have come, and the next ones are awaited.
pub struct Arriving {
    head: Head,
    /// How many bytes have come.
    n_there: usize,
    /// The section that has not ended in these, and the checksum of what has come of it.
    section: usize,
    sum: Hasher,
}

impl fmt::Debug for Arriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arriving({} of {} bytes of {:?})", self.n_there, self.head.length, self.head.header)
    }
}

impl Arriving {
    /// A frame of `n_bytes` of which `first` is the first piece, and has all of its header: that is checked, and nothing is copied.
    /// `path` is for messages.
    pub(crate) fn begin(path: &Path, first: &[u8], n_bytes: usize) -> Result<Self> {
        let head = Head::decode(path, first, n_bytes)?;
        if head.length != n_bytes {
            let message = format!("expected {} bytes, as the frame says, got {n_bytes}", head.length);
            return Err(Error::format(path, Some(head.header.sequence), None, message));
        }
        let sum = Self::sum_of(head.entries.first());
        Ok(Arriving { head, n_there: 0, section: 0, sum })
    }

    /// The header of a frame of `n_bytes`, of which `first` is the first piece. `path` is for messages.
    pub fn header_of(path: &Path, first: &[u8], n_bytes: usize) -> Result<Header> {
        Head::decode(path, first, n_bytes).map(|head| head.header)
    }

    fn sum_of(entry: Option<&Entry>) -> Hasher {
        Hasher::of(entry.map_or(0, |entry| entry.bytes.len()))
    }

    /// The header.
    pub(crate) fn header(&self) -> Header {
        self.head.header
    }

    /// What its sections are, in order.
    pub(crate) fn sections(&self) -> impl ExactSizeIterator<Item = (SectionKind, DataType)> + '_ {
        self.head.entries.iter().map(|entry| (entry.kind, entry.data_type))
    }

    /// How many bytes have come.
    pub(crate) fn n_there(&self) -> usize {
        self.n_there
    }

    /// Whether all bytes have come.
    pub(crate) fn is_whole(&self) -> bool {
        self.n_there == self.head.length
    }

    /// Copies the bytes that come next to their place in `target`, at whose start the frame is to be, and compares each section
    /// that ends in them with its checksum: what is there is the frame only if this has never failed. `path` is for messages.
    pub(crate) fn copy(&mut self, path: &Path, piece: &[u8], target: &mut [u8]) -> Result<()> {
        let Head { header, entries, length } = &self.head;
        let refuse = |message: String| Err(Error::mismatch(message).at_frame(header.sequence));
        let (room, left) = (target.len(), length - self.n_there);
        if piece.len() > left {
            return refuse(format!("expected at most {left} bytes more, got {}", piece.len()));
        }
        let Some(target) = target.get_mut(self.n_there..self.n_there + piece.len()) else {
            return refuse(format!("{length} bytes do not fit into {room}"));
        };
        let (mut rest, mut target) = (piece, target);
        while !rest.is_empty() {
            // Up to where the next section begins, or the one that this is in ends.
            let entry = entries.get(self.section);
            let is_inside = entry.is_some_and(|entry| entry.bytes.start <= self.n_there);
            let end = entry.map_or(*length, |entry| if is_inside { entry.bytes.end } else { entry.bytes.start });
            let (now, later) = rest.split_at(rest.len().min(end - self.n_there));
            let (there, behind) = target.split_at_mut(now.len());
            if is_inside {
                self.sum.copy(now, there);
            } else {
                there.copy_from_slice(now);
            }
            self.n_there += now.len();
            (rest, target) = (later, behind);
            while let Some(entry) = entries.get(self.section).filter(|entry| entry.bytes.end <= self.n_there) {
                self.section += 1;
                let sum = std::mem::replace(&mut self.sum, Self::sum_of(entries.get(self.section)));
                entry.check(sum.value(), header.sequence, path)?;
            }
        }
        Ok(())
    }
}

//! Frames that arrive in pieces, for example through a network. Each piece is copied to its place when it arrives.

use std::fmt;
use std::path::Path;

use super::hasher::Hasher;
use super::{Entry, Head, Header};
use crate::section::{DataType, SectionKind};
use mdreel_core::error::{Error, Result};

/// A partially received frame.
pub struct Arriving {
    head: Head,
    /// The number of bytes that have arrived.
    n_there: usize,
    /// The first section that is not complete, and the checksum of the part of it that has arrived.
    section: usize,
    sum: Hasher,
}

impl fmt::Debug for Arriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arriving({} of {} bytes of {:?})", self.n_there, self.head.length, self.head.header)
    }
}

impl Arriving {
    /// Begins a frame of `n_bytes` bytes. `first` is its first piece, which contains the complete header. This checks the header
    /// and copies nothing. Messages name `path`.
    pub(crate) fn begin(path: &Path, first: &[u8], n_bytes: usize) -> Result<Self> {
        let head = Head::decode(path, first, n_bytes)?;
        if head.length != n_bytes {
            let message = format!("expected {} bytes, as the frame says, got {n_bytes}", head.length);
            return Err(Error::format(path, Some(head.header.sequence), None, message));
        }
        let sum = Self::sum_of(head.entries.first());
        Ok(Arriving { head, n_there: 0, section: 0, sum })
    }

    /// Returns the header of a frame of `n_bytes` bytes whose first piece is `first`. Messages name `path`.
    pub fn header_of(path: &Path, first: &[u8], n_bytes: usize) -> Result<Header> {
        Head::decode(path, first, n_bytes).map(|head| head.header)
    }

    fn sum_of(entry: Option<&Entry>) -> Hasher {
        Hasher::of(entry.map_or(0, |entry| entry.bytes.len()))
    }

    /// Returns the header.
    pub(crate) fn header(&self) -> Header {
        self.head.header
    }

    /// Returns the kinds and data types of the sections, in order.
    pub(crate) fn sections(&self) -> impl ExactSizeIterator<Item = (SectionKind, DataType)> + '_ {
        self.head.entries.iter().map(|entry| (entry.kind, entry.data_type))
    }

    /// Returns the number of bytes that have arrived.
    pub(crate) fn n_there(&self) -> usize {
        self.n_there
    }

    /// Returns whether all bytes have arrived.
    pub(crate) fn is_whole(&self) -> bool {
        self.n_there == self.head.length
    }

    /// Copies the next bytes to their place in `target`, which begins with the frame. This compares each section that ends in
    /// these bytes with its checksum. The target contains the frame only if no call has failed. Messages name `path`.
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
            // Continues to the start of the next section, or to the end of the current one.
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

//! Frames whose bytes lie in several pieces, as they come through a network.

use std::path::Path;

use super::hasher::Hasher;
use super::{Entry, Head, Header};
use crate::channel::section::{DataType, SectionKind};
use crate::error::{Error, Result};

/// A frame in pieces of bytes that somebody else holds, of which the first has all of its header.
#[derive(Debug, Clone)]
pub struct FramePieces<'a> {
    head: Head,
    pieces: &'a [&'a [u8]],
}

impl<'a> FramePieces<'a> {
    /// The frame that these pieces are, and nothing else; its header is checked, its sections are not. `path` is for messages.
    pub fn decode(path: &Path, pieces: &'a [&'a [u8]]) -> Result<Self> {
        let n_bytes = pieces.iter().map(|piece| piece.len()).sum();
        let head = Head::decode(path, pieces.first().copied().unwrap_or_default(), n_bytes)?;
        if head.length != n_bytes {
            let message = format!("expected {} bytes, as the frame says, got {n_bytes}", head.length);
            return Err(Error::format(path, Some(head.header.sequence), None, message));
        }
        Ok(FramePieces { head, pieces })
    }

    /// The header of a frame of `n_bytes`, of which `first` is the first piece. `path` is for messages.
    pub fn header_of(path: &Path, first: &[u8], n_bytes: usize) -> Result<Header> {
        Head::decode(path, first, n_bytes).map(|head| head.header)
    }

    /// The header.
    pub fn header(&self) -> Header {
        self.head.header
    }

    /// What its sections are, in order.
    pub fn sections(&self) -> impl ExactSizeIterator<Item = (SectionKind, DataType)> + '_ {
        self.head.entries.iter().map(|entry| (entry.kind, entry.data_type))
    }

    /// Copies the frame to the start of `target`, and compares each section with its checksum on the way: what is there is the
    /// frame only if this returns how many bytes it has. `path` is for messages.
    pub fn copy_to(&self, path: &Path, target: &mut [u8]) -> Result<usize> {
        let (room, Head { header, entries, length }) = (target.len(), &self.head);
        let Some(target) = target.get_mut(..*length) else {
            let message = format!("frame {}: {length} bytes do not fit into {room}", header.sequence);
            return Err(Error::Mismatch(message));
        };
        let mut entries = entries.iter().peekable();
        let of_next = |entry: Option<&&Entry>| Hasher::of(entry.map_or(0, |entry| entry.bytes.len()));
        let (mut at, mut sum) = (0, of_next(entries.peek()));
        for piece in self.pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                // Up to where the next section begins, or the one that this is in ends.
                let is_inside = entries.peek().is_some_and(|entry| entry.bytes.start <= at);
                let end =
                    entries.peek().map_or(*length, |entry| if is_inside { entry.bytes.end } else { entry.bytes.start });
                let (now, later) = rest.split_at(rest.len().min(end - at));
                let there = &mut target[at..at + now.len()];
                if is_inside {
                    sum.copy(now, there);
                } else {
                    there.copy_from_slice(now);
                }
                (at, rest) = (at + now.len(), later);
                while let Some(entry) = entries.next_if(|entry| entry.bytes.end <= at) {
                    entry.check(std::mem::replace(&mut sum, of_next(entries.peek())).value(), header.sequence, path)?;
                }
            }
        }
        Ok(*length)
    }

    /// The frame in one piece.
    pub fn joined(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

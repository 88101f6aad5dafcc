//! The stand-in for memory maps on systems where mdreel does not map files: every file is read.

use std::fs::File;
use std::ops::Range;

/// A mapped file, of which there is none here.
#[derive(Debug)]
pub(super) enum FileMap {}

impl FileMap {
    /// Return `None`: the file is read instead.
    pub(super) fn new(_file: &File, _len: u64) -> Option<Self> {
        None
    }

    /// Bytes mapped.
    pub(super) fn len(&self) -> usize {
        match *self {}
    }

    /// The bytes mapped.
    pub(super) fn bytes(&self) -> &[u8] {
        match *self {}
    }

    /// Put pages into the page table.
    pub(super) fn populate(&self, _bytes: Range<usize>) {
        match *self {}
    }

    /// The first byte that could not be read.
    pub(super) fn broken_at(&self) -> Option<u64> {
        match *self {}
    }

    /// Mark the map as not to be trusted.
    pub(super) fn break_at(&self, _byte: usize) {
        match *self {}
    }

    /// Whether this thread may read the map.
    pub(super) fn is_safe_here(&self) -> bool {
        match *self {}
    }
}

/// The part of a map that a reader has put into the page table.
#[derive(Debug, Default)]
pub(super) struct Held;

impl Held {
    /// Take note that `bytes` are about to be used.
    #[expect(clippy::unused_self, reason = "the interface of maps")]
    pub(super) fn hold(&mut self, map: &FileMap, _bytes: &Range<usize>) {
        match *map {}
    }

    /// Release everything.
    #[expect(clippy::unused_self, reason = "the interface of maps")]
    pub(super) fn release(&mut self, map: &FileMap) {
        match *map {}
    }
}

//! Replacement for memory maps on systems where mdreel does not map files: every file is read.

use std::fs::File;
use std::ops::Range;

/// A mapped file. This type has no values.
#[derive(Debug)]
pub(super) enum FileMap {}

impl FileMap {
    /// Returns `None`, so the file is read instead.
    pub(super) fn new(_file: &File, _len: u64) -> Option<Self> {
        None
    }

    /// Returns the number of mapped bytes.
    pub(super) fn len(&self) -> usize {
        match *self {}
    }

    /// Returns the mapped bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        match *self {}
    }

    /// Enters pages into the page table.
    pub(super) fn populate(&self, _bytes: Range<usize>) {
        match *self {}
    }

    /// Returns the first byte that could not be read.
    pub(super) fn broken_at(&self) -> Option<u64> {
        match *self {}
    }

    /// Marks the map as invalid from `_byte` on.
    pub(super) fn break_at(&self, _byte: usize) {
        match *self {}
    }

    /// Returns whether this thread may read the map.
    pub(super) fn is_safe_here(&self) -> bool {
        match *self {}
    }
}

/// The part of a map that a reader has entered into the page table.
#[derive(Debug, Default)]
pub(super) struct Held;

impl Held {
    /// Records that `_bytes` are about to be used.
    #[expect(clippy::unused_self, reason = "the interface of maps")]
    pub(super) fn hold(&mut self, map: &FileMap, _bytes: &Range<usize>) {
        match *map {}
    }

    /// Releases all pages.
    #[expect(clippy::unused_self, reason = "the interface of maps")]
    pub(super) fn release(&mut self, map: &FileMap) {
        match *map {}
    }
}

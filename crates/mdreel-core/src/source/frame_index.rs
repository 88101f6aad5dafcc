//! The frame index: where each frame of a file starts, kept in the user's cache between runs.
//!
//! An index file is written under a temporary name and renamed, so that it needs no lock: whoever comes last wins, and
//! all write the same. It carries what tells whether it still belongs to the data: size, modification time, and a
//! checksum of the first and of the last bytes that it covers. A file that has only grown keeps its index; the new
//! part is located and appended.

mod claim;
mod packed;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::FrameLocation;
use super::bytes::FileBytes;
use crate::error::{Error, Result};

pub use claim::{Claim, PATIENCE, Turn};
pub use packed::PackedIndex;

const MAGIC: &[u8; 8] = b"mdreelX2";
/// Bytes at either end of the covered part that the checksum covers.
const CHECKED_BYTES: u64 = 4096;
const RECORD: usize = 20;
const HEAD: usize = 8 * 7;

/// Where the index of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// In the user's cache directory.
    #[default]
    Cache,
    /// Next to the data.
    Beside,
    /// Nowhere.
    Nowhere,
}

/// Where each frame of a file is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameIndex {
    /// One after the other as they are kept, so that an index of millions of frames is there when it is read.
    records: Vec<u8>,
    /// Where the last frame ends.
    pub end: u64,
}

impl FrameIndex {
    /// Adds frames behind the last one.
    pub fn extend(&mut self, frames: impl IntoIterator<Item = FrameLocation>) {
        for frame in frames {
            let mut record = [0; RECORD];
            record[..8].copy_from_slice(&frame.offset.to_le_bytes());
            record[8..12].copy_from_slice(&(frame.step as i32).to_le_bytes());
            record[12..].copy_from_slice(&frame.time.to_le_bytes());
            self.records.extend_from_slice(&record);
        }
    }

    /// The frames, in order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = FrameLocation> + Clone {
        self.records.as_chunks::<RECORD>().0.iter().map(location)
    }

    /// The `i`-th frame.
    pub fn get(&self, i: usize) -> Option<FrameLocation> {
        self.records.as_chunks::<RECORD>().0.get(i).map(location)
    }

    /// The bytes of the `i`-th frame.
    pub fn range(&self, i: usize) -> Option<std::ops::Range<u64>> {
        let end = self.get(i + 1).map_or(self.end, |next| next.offset);
        Some(self.get(i)?.offset..end)
    }

    /// The frame in which a byte lies, of those that are covered.
    pub fn frame_at(&self, byte: u64) -> Option<usize> {
        let records = self.records.as_chunks::<RECORD>().0;
        (byte < self.end).then(|| records.partition_point(|record| location(record).offset <= byte))?.checked_sub(1)
    }

    /// Forgets all frames from the `n_frames`-th on.
    pub fn truncate(&mut self, n_frames: usize) {
        if let Some(first) = self.get(n_frames) {
            self.end = first.offset;
            self.records.truncate(n_frames * RECORD);
        }
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.records.len() / RECORD
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The index kept for `file`, if it is there and belongs to it. It may cover only the first part of a file that
    /// has grown. An index that cannot be read is no error: it is made anew.
    pub fn load(file: &FileBytes, keep: Keep) -> Option<FrameIndex> {
        let mut kept = fs::File::open(place_of(file, keep)?).ok()?;
        let n_kept = kept.metadata().ok()?.len();
        let mut head = [0; HEAD];
        kept.read_exact(&mut head).ok()?;
        let word = |k: usize| u64::from_le_bytes(head[8 * k..8 * k + 8].try_into().unwrap_or_default());
        let [size, modified, end, n_frames, ends_sum] = [1, 2, 3, 4, 5].map(word);
        let n_records = n_frames.checked_mul(RECORD as u64)?;
        if &head[..8] != MAGIC || n_records.checked_add(HEAD as u64 + 8)? != n_kept || end > file.len() || end > size {
            return None;
        }
        let mut records = Vec::new();
        records.try_reserve_exact(n_records as usize).ok()?;
        (&kept).take(n_records).read_to_end(&mut records).ok()?;
        let mut sum = [0; 8];
        kept.read_exact(&mut sum).ok()?;
        if sum != checksum(&records, checksum(&head, 0)).to_le_bytes() {
            return None;
        }
        // Same size and time, or grown: in both cases the covered part must look as it did.
        let unchanged = size == file.len() && modified == version(file)?;
        if !unchanged && size >= file.len() || ends_sum != ends_checksum(file, end).ok()? {
            return None;
        }
        let index = FrameIndex { records, end };
        let offsets = || index.frames().map(|frame| frame.offset);
        let is_ascending = offsets().zip(offsets().skip(1).chain([end])).all(|(offset, next)| offset < next);
        is_ascending.then_some(index)
    }

    /// Keeps the index of `file` for later runs. That it cannot be kept (a read-only home, a full disk) is the
    /// caller's to ignore: the index is a help, not a result.
    pub fn save(&self, file: &FileBytes, keep: Keep) -> Result<()> {
        let Some(path) = place_of(file, keep) else { return Ok(()) };
        let Some(modified) = version(file) else { return Ok(()) };
        let mut head = MAGIC.to_vec();
        for word in [file.len(), modified, self.end, self.len() as u64, ends_checksum(file, self.end)?, 0] {
            head.extend(word.to_le_bytes());
        }
        let sum = checksum(&self.records, checksum(&head, 0)).to_le_bytes();
        let directory = path.parent().unwrap_or(Path::new("."));
        if keep == Keep::Cache {
            fs::create_dir_all(directory).map_err(|error| Error::io(directory, error))?;
        }
        let temporary = path.with_extension(format!("{}.{:x}.part", std::process::id(), thread_number()));
        let write = || -> std::io::Result<()> {
            let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
            [&head, &self.records, &sum[..]].into_iter().try_for_each(|part| file.write_all(part))?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&temporary);
            Error::io(&path, error)
        })
    }
}

fn location(record: &[u8; RECORD]) -> FrameLocation {
    FrameLocation {
        offset: u64::from_le_bytes(record[..8].try_into().unwrap_or_default()),
        step: i64::from(i32::from_le_bytes(record[8..12].try_into().unwrap_or_default())),
        time: f64::from_le_bytes(record[12..].try_into().unwrap_or_default()),
    }
}

/// Two threads of a process must not share a temporary name.
fn thread_number() -> u64 {
    let here = 0u8;
    std::ptr::from_ref(&here) as u64
}

/// Where the index of a file is kept.
fn place_of(file: &FileBytes, keep: Keep) -> Option<PathBuf> {
    match (file.version(), keep) {
        (None, _) => place(file.path(), keep),
        (Some(_), Keep::Cache) => Some(in_cache(file.path(), file.path().file_name()?)?),
        // We do not write to servers.
        (Some(_), Keep::Beside | Keep::Nowhere) => None,
    }
}

fn in_cache(location: &Path, name: &std::ffi::OsStr) -> Option<PathBuf> {
    let sum = checksum(location.as_os_str().as_encoded_bytes(), 0);
    Some(cache_directory()?.join("index").join(format!("{}.{sum:016x}.index", name.to_string_lossy())))
}

/// Where the index of `data` is kept.
pub fn place(data: &Path, keep: Keep) -> Option<PathBuf> {
    match keep {
        Keep::Nowhere => None,
        Keep::Beside => {
            let mut name = std::ffi::OsString::from(".");
            name.push(data.file_name()?);
            name.push(".mdreel-index");
            Some(data.with_file_name(name))
        }
        Keep::Cache => {
            let absolute = fs::canonicalize(data).ok()?;
            in_cache(&absolute, absolute.file_name()?)
        }
    }
}

/// mdreel's cache directory: `$MDREEL_CACHE_DIR`, else `mdreel` in the user's cache directory.
fn cache_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = set("MDREEL_CACHE_DIR") {
        return Some(own);
    }
    if let Some(cache) = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return Some(cache.join("mdreel"));
    }
    let home = set("HOME")?;
    Some(if cfg!(target_os = "macos") { home.join("Library/Caches/mdreel") } else { home.join(".cache/mdreel") })
}

/// Changes when the file does: its modification time in ns, or what its server says.
fn version(file: &FileBytes) -> Option<u64> {
    if let Some(version) = file.version() {
        return Some(checksum(version.as_bytes(), 0));
    }
    let modified = fs::metadata(file.path()).ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64)
}

fn ends_checksum(file: &FileBytes, end: u64) -> Result<u64> {
    let first = file.read_vec(0..end.min(CHECKED_BYTES))?;
    let last = file.read_vec(end.saturating_sub(CHECKED_BYTES)..end)?;
    Ok(checksum(&last, checksum(&first, 0)))
}

/// FNV-1a: enough to notice change and damage, not made against malice.
fn checksum(bytes: &[u8], seed: u64) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut sum = seed ^ 0xcbf2_9ce4_8422_2325;
    for word in &mut words {
        sum = (sum ^ u64::from_le_bytes(word.try_into().unwrap_or_default()))
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }
    for &byte in words.remainder() {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    }
    sum
}

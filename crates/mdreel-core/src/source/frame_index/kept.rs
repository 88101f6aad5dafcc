//! Files of frame indices, in the user's cache or next to the data.
//!
//! An index file is written under a temporary name and renamed, so it needs no lock: all processes write the same
//! content, and the last one wins. The file contains the size, modification time and change time of the data, and a
//! checksum of the first and last bytes that it covers. These values show whether it still belongs to the data. A
//! program cannot set the change time (`st_ctime`): each write changes it, as does resetting the modification time. The
//! change time of a copy, of a restored backup, or of a file with a new mode also differs. mdreel then builds the index
//! again, which costs no more than the first time.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::FrameIndex;
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;
use crate::writer::final_name::give_name_until_power_fails;

const MAGIC: &[u8; 8] = b"mdreelX4";
/// Number of bytes at either end of the covered part that the checksum covers.
const CHECKED_BYTES: u64 = 4096;
const HEAD: usize = 8 * 7;

/// The place where the index of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// In the user's cache directory.
    #[default]
    Cache,
    /// Next to the data.
    Beside,
    /// Nowhere: no index is kept.
    Nowhere,
}

impl FrameIndex {
    /// Loads the index kept for `file`, if there is one that belongs to the file. An index that cannot be read is not
    /// an error, because it is built again.
    ///
    /// The index may cover only the first part of a file that has grown. The caller must then check that the file still
    /// has these frames, which may have been overwritten when the file grew.
    pub fn load(file: &FileBytes, keep: Keep) -> Option<FrameIndex> {
        let mut kept = fs::File::open(place_of(file, keep)?).ok()?;
        let n_kept = kept.metadata().ok()?.len();
        let mut head = [0; HEAD];
        kept.read_exact(&mut head).ok()?;
        let word = |k: usize| u64::from_le_bytes(head[8 * k..8 * k + 8].try_into().unwrap_or_default());
        let [size, modified, changed, end, ends_sum, n_content] = [1, 2, 3, 4, 5, 6].map(word);
        if &head[..8] != MAGIC || n_content.checked_add(HEAD as u64 + 8)? != n_kept || end > file.len() || end > size {
            return None;
        }
        let mut content = Vec::new();
        content.try_reserve_exact(n_content as usize).ok()?;
        (&kept).take(n_content).read_to_end(&mut content).ok()?;
        let mut sum = [0; 8];
        kept.read_exact(&mut sum).ok()?;
        if sum != checksum(&content, checksum(&head, 0)).to_le_bytes() {
            return None;
        }
        // Either size and times are the same, or the file has grown. In both cases, the checksum of the covered part
        // must match.
        let unchanged = size == file.len() && [modified, changed] == version(file)?;
        if !unchanged && size >= file.len() || ends_sum != ends_checksum(file, end).ok()? {
            return None;
        }
        let index: FrameIndex = postcard::from_bytes(&content).ok()?;
        (index.end == end && index.is_whole()).then_some(index)
    }

    /// Keeps the index of `file` for later runs. The caller may ignore an error (a read-only home directory, a full
    /// disk): the index saves time but is not a result.
    pub fn save(&self, file: &FileBytes, keep: Keep) -> Result<()> {
        let Some(path) = place_of(file, keep) else { return Ok(()) };
        let Some([modified, changed]) = version(file) else { return Ok(()) };
        let content = postcard::to_allocvec(self)
            .map_err(|error| Error::worker(format!("a frame index cannot be turned into bytes: {error}")))?;
        let mut head = MAGIC.to_vec();
        for word in [file.len(), modified, changed, self.end, ends_checksum(file, self.end)?, content.len() as u64] {
            head.extend(word.to_le_bytes());
        }
        let sum = checksum(&content, checksum(&head, 0)).to_le_bytes();
        write(&path, keep, &[&head, &content, &sum])
    }
}

/// Writes a kept file from parts. It replaces an older file as a whole.
pub(in crate::source) fn write(path: &Path, keep: Keep, parts: &[&[u8]]) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    if keep == Keep::Cache {
        fs::create_dir_all(directory).map_err(|error| Error::io(directory, error))?;
    }
    let temporary = path.with_extension(format!("{}.{:x}.part", std::process::id(), thread_number()));
    let write = || -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        // The file is not synced. After a power failure, the checksum reveals a damaged file, and the file is written
        // again.
        give_name_until_power_fails(&temporary, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::io(path, error)
    })
}

/// Returns a number that differs between the threads of a process, so that they use different temporary names.
pub(super) fn thread_number() -> u64 {
    let here = 0u8;
    std::ptr::from_ref(&here) as u64
}

/// Returns the path of the index of a file.
pub(super) fn place_of(file: &FileBytes, keep: Keep) -> Option<PathBuf> {
    match (file.version(), keep) {
        (None, _) => place(file.path(), keep),
        (Some(_), Keep::Cache) => Some(in_cache(file.path(), file.path().file_name()?)?),
        // mdreel does not write to servers.
        (Some(_), Keep::Beside | Keep::Nowhere) => None,
    }
}

fn in_cache(location: &Path, name: &std::ffi::OsStr) -> Option<PathBuf> {
    let sum = checksum(location.as_os_str().as_encoded_bytes(), 0);
    Some(cache_directory()?.join("index").join(format!("{}.{sum:016x}.index", name.to_string_lossy())))
}

/// Returns the path of the index of `data`.
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

/// Returns the path of a kept file that describes several files. `first` is the first of them, and `key` identifies all
/// of them.
pub(in crate::source) fn place_of_several(first: &Path, keep: Keep, key: &[u8]) -> Option<PathBuf> {
    let name = format!("{}.{:016x}", first.file_name()?.to_string_lossy(), checksum(key, 0));
    match keep {
        Keep::Nowhere => None,
        Keep::Beside => Some(first.with_file_name(format!(".{name}.mdreel-index"))),
        Keep::Cache => Some(cache_directory()?.join("index").join(format!("{name}.files.index"))),
    }
}

/// Returns mdreel's cache directory: `$MDREEL_CACHE_DIR` if set, otherwise `mdreel` in the user's cache directory.
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

/// Returns numbers that change when the file changes: its modification time and change time, or a checksum of the
/// version that its server reports. The times are those at opening. Otherwise bytes written while the frames are
/// located would count as located.
fn version(file: &FileBytes) -> Option<[u64; 2]> {
    match file.version() {
        Some(version) => Some([checksum(version.as_bytes(), 0), 0]),
        None => file.times(),
    }
}

fn ends_checksum(file: &FileBytes, end: u64) -> Result<u64> {
    let first = file.read_vec(0..end.min(CHECKED_BYTES))?;
    let last = file.read_vec(end.saturating_sub(CHECKED_BYTES)..end)?;
    Ok(checksum(&last, checksum(&first, 0)))
}

/// Returns a checksum in the style of FNV-1a. It detects changes and damage, but gives no protection against
/// manipulation.
pub(in crate::source) fn checksum(bytes: &[u8], seed: u64) -> u64 {
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

//! Identity and times of a file, which distinguish it from another file with the same path.

use std::fs::{File, Metadata};
use std::io::Result;
use std::path::Path;

/// Returns device and inode of an open file.
#[cfg(unix)]
pub(super) fn identity(_file: &File, metadata: &Metadata) -> Result<(u64, u64)> {
    Ok(of(metadata))
}

/// Returns volume and file index of an open file.
#[cfg(windows)]
pub(super) fn identity(file: &File, _metadata: &Metadata) -> Result<(u64, u64)> {
    let facts = winapi_util::file::information(file)?;
    Ok((facts.volume_serial_number(), facts.file_index()))
}

/// Returns the identity and the size of the file at `path` now.
pub(in crate::source) fn identity_and_size(path: &Path) -> Result<((u64, u64), u64)> {
    identity_and_metadata(path).map(|(identity, metadata)| (identity, metadata.len()))
}

/// Returns the identity and the metadata of the file at `path` now.
#[cfg(unix)]
pub(super) fn identity_and_metadata(path: &Path) -> Result<((u64, u64), Metadata)> {
    let metadata = std::fs::metadata(path)?;
    Ok((of(&metadata), metadata))
}

/// Returns the identity and the metadata of the file at `path` now.
#[cfg(windows)]
pub(super) fn identity_and_metadata(path: &Path) -> Result<((u64, u64), Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    Ok((identity(&file, &metadata)?, metadata))
}

#[cfg(unix)]
fn of(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;

    (metadata.dev(), metadata.ino())
}

/// Returns when a file was last modified and last changed, in ns.
#[cfg(unix)]
pub(super) fn times(metadata: &Metadata) -> [u64; 2] {
    use std::os::unix::fs::MetadataExt;

    let in_ns = |seconds: i64, ns: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(ns).cast_unsigned();
    [in_ns(metadata.mtime(), metadata.mtime_nsec()), in_ns(metadata.ctime(), metadata.ctime_nsec())]
}

/// Returns when a file was last modified and created, in ns. The standard library does not provide the change time on
/// Windows. Only the checksums of the frame index reveal a program that sets the modification time back.
#[cfg(windows)]
pub(super) fn times(metadata: &Metadata) -> [u64; 2] {
    use std::os::windows::fs::MetadataExt;

    [metadata.last_write_time(), metadata.creation_time()].map(|ticks| ticks.wrapping_mul(100))
}

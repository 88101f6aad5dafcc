//! Reads and writes at a position of a file, with the same functions on every system.
//!
//! On Windows these calls also move the file's own position, so no code may mix them with calls that rely on it.

use std::fs::File;
use std::io::Result;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;

/// Reads some of the bytes from `at` on, and returns their number. 0 means that the file ends there.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<usize> {
    file.read_at(bytes, at)
}

/// Reads some of the bytes from `at` on, and returns their number. 0 means that the file ends there.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<usize> {
    file.seek_read(bytes, at)
}

/// Fills `bytes` with the bytes from `at` on.
///
/// # Errors
/// Returns `UnexpectedEof` if the file ends early.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> Result<()> {
    file.read_exact_at(bytes, at)
}

/// Fills `bytes` with the bytes from `at` on.
///
/// # Errors
/// Returns `UnexpectedEof` if the file ends early.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => (bytes, at) = (&mut bytes[n..], at + n as u64),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `bytes` at the position `at`.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> Result<()> {
    file.write_all_at(bytes, at)
}

/// Writes all of `bytes` at the position `at`.
#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(n) => (bytes, at) = (&bytes[n..], at + n as u64),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

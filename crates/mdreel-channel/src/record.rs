//! Small files that are either complete or absent. Each has eight bytes that identify its format, the checksum of its body, and
//! the body.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::directory::Directory;
use super::layout::checksum;
use super::staging::reserve;
use mdreel_core::error::{Error, Result};

/// The longest file that is read, in bytes.
const MOST_BYTES: u64 = 16 << 20;
/// The number of attempts to write a file by giving back disk space that a staging reserves.
const MOST_TRIES: usize = 10;

/// Replaces the file of this name atomically: at any moment, either the old or the new file exists, and it is complete. With
/// `is_synced`, this also holds if the machine crashes.
pub(crate) fn write(
    directory: &Directory,
    name: &str,
    magic: &[u8; 8],
    value: &impl Serialize,
    is_synced: bool,
) -> Result<()> {
    let refused =
        |error: postcard::Error| Error::mismatch(format!("cannot be written: {error}")).in_file(&directory.join(name));
    let body = postcard::to_allocvec(value).map_err(refused)?;
    let place = || {
        directory.place_file(name, 0, |path, mut file| {
            let pieces: [&[u8]; 3] = [magic, &checksum(&body).to_le_bytes(), &body];
            let written = file.write_all(&pieces.concat());
            let synced = written.and_then(|()| if is_synced { file.sync_data() } else { Ok(()) });
            synced.map_err(|error| Error::io(path, error))
        })
    };
    let mut placed = place();
    // A producer with staging may reserve the space again before this writer gets it.
    for _ in 0..MOST_TRIES {
        if !placed.as_ref().is_err_and(reserve::is_full) || !reserve::give_back(directory) {
            break;
        }
        placed = place();
    }
    placed?;
    if is_synced { directory.sync() } else { Ok(()) }
}

/// Reads the value in the file of this name.
pub(super) fn read<T: DeserializeOwned>(directory: &Directory, name: &str, magic: &[u8; 8]) -> Result<T> {
    Ok(read_with_file(directory, name, magic)?.0)
}

fn read_with_file<T: DeserializeOwned>(directory: &Directory, name: &str, magic: &[u8; 8]) -> Result<(T, File)> {
    let path = directory.join(name);
    let file = directory.open_file(name, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    (&file).take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| Error::io(&path, error))?;
    let wrong = |byte, message: String| Err(Error::format(&path, None, Some(byte), message));
    let Some(rest) = bytes.strip_prefix(magic) else {
        return wrong(0, format!("expected {}, got something else", magic.escape_ascii()));
    };
    let Some((sum, body)) = rest.split_first_chunk::<8>() else {
        return wrong(8, format!("expected a checksum, got {} bytes", rest.len()));
    };
    let (expected, got) = (u64::from_le_bytes(*sum), checksum(body));
    if expected != got {
        return wrong(8, format!("expected the checksum {expected:#018x}, got {got:#018x}"));
    }
    let value = postcard::from_bytes(body);
    let value = value.map_err(|error| Error::format(&path, None, Some(16), error.to_string()))?;
    Ok((value, file))
}

/// Reads as `read` does; `None` if there is no such file.
pub(crate) fn read_if_there<T: DeserializeOwned>(
    directory: &Directory,
    name: &str,
    magic: &[u8; 8],
) -> Result<Option<T>> {
    Ok(read_if_there_with_file(directory, name, magic)?.map(|(value, _)| value))
}

/// Reads as `read_if_there` does, and also returns the file.
pub(super) fn read_if_there_with_file<T: DeserializeOwned>(
    directory: &Directory,
    name: &str,
    magic: &[u8; 8],
) -> Result<Option<(T, File)>> {
    match read_with_file(directory, name, magic) {
        Ok(read) => Ok(Some(read)),
        Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

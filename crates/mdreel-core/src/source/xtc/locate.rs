//! Locating frames: hopping from header to header, and finding a frame from anywhere in the file.

use std::path::Path;

use super::header::{Fault, Header, MAX_HEADER_LEN};
use crate::error::{Error, Result};
use crate::source::FrameLocation;
use crate::source::bytes::FileBytes;
use crate::source::frame_index::FrameIndex;

/// Bytes that one look for a frame's start reads.
const SEARCH_BYTES: u64 = 1 << 20;

/// What the file ends with.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The whole frames.
    pub index: FrameIndex,
    /// What is wrong behind the last whole frame, if anything: a torn frame, or something else.
    pub rest: Option<Fault>,
}

/// Turns a fault of a frame into an error of the file.
pub fn error_at(path: &Path, frame: Option<u64>, offset: u64, fault: &Fault) -> Error {
    Error::format(path, frame, Some(offset + fault.byte), fault.message.clone())
}

/// The header at `offset`, which must be that of a whole frame of `n_atoms` atoms within the file.
pub fn header_at(file: &FileBytes, offset: u64, n_atoms: usize) -> Result<std::result::Result<Header, Fault>> {
    let mut bytes = [0; MAX_HEADER_LEN];
    let n = file.len().saturating_sub(offset).min(MAX_HEADER_LEN as u64) as usize;
    file.read_exact(&mut bytes[..n], offset)?;
    Ok(check_header(&bytes[..n], offset, file.len(), n_atoms))
}

/// Checks a header at `offset` of a file of `file_len` bytes.
pub fn check_header(bytes: &[u8], offset: u64, file_len: u64, n_atoms: usize) -> std::result::Result<Header, Fault> {
    let torn = |needed: String| {
        let rest = file_len - offset;
        Fault::new(0, format!("the last frame is torn: {needed}, but the file ends after {rest}"))
    };
    let Some(header) = Header::parse(bytes)? else {
        return Err(torn(format!("its header needs up to {MAX_HEADER_LEN} bytes")));
    };
    if header.n_atoms != n_atoms {
        return Err(Fault::new(4, format!("expected {n_atoms} atoms as in the first frame, got {}", header.n_atoms)));
    }
    if header.frame_len() > file_len - offset {
        return Err(torn(format!("it needs {} bytes", header.frame_len())));
    }
    Ok(header)
}

/// A frame's place in the index.
pub fn location(header: &Header, offset: u64) -> FrameLocation {
    FrameLocation { offset, step: i64::from(header.step), time: f64::from(header.time) }
}

/// Locates all frames behind those that `known` covers, by hopping from header to header.
pub fn scan(file: &FileBytes, n_atoms: usize, known: Option<FrameIndex>) -> Result<Located> {
    let mut index = known.unwrap_or_default();
    while index.end < file.len() {
        let start = index.end;
        match header_at(file, start, n_atoms)? {
            Ok(header) => {
                index.extend([location(&header, start)]);
                index.end = start + header.frame_len();
            }
            Err(fault) => {
                let rest = Some(Fault { byte: start + fault.byte, ..fault });
                return Ok(Located { index, rest });
            }
        }
    }
    Ok(Located { index, rest: None })
}

/// The first frame that starts in `range`: found by the look of its header, and believed when another header, or
/// the end of the file, stands where it ends. Everything in XDR is aligned to words of 4 bytes.
pub fn find_frame(file: &FileBytes, n_atoms: usize, range: std::ops::Range<u64>) -> Result<Option<u64>> {
    if range.start == 0 {
        return Ok((!range.is_empty()).then_some(0));
    }
    let range = range.start..range.end.min(file.len());
    if range.is_empty() {
        return Ok(None);
    }
    let mut at = range.start.next_multiple_of(4);
    let atoms = (n_atoms as u32).to_be_bytes();
    while at < range.end {
        let end = file.len().min(at + SEARCH_BYTES + MAX_HEADER_LEN as u64);
        let bytes = file.read_vec(at..end)?;
        let last = (range.end - at).min(SEARCH_BYTES) as usize;
        for i in (0..last).step_by(4) {
            // The atom count stands at the front and again behind the box: random bytes rarely look like that.
            if bytes.get(i + 4..i + 8) != Some(&atoms) || bytes.get(i + 52..i + 56) != Some(&atoms) {
                continue;
            }
            let offset = at + i as u64;
            let Ok(header) = check_header(&bytes[i..], offset, file.len(), n_atoms) else { continue };
            let next = offset + header.frame_len();
            if next == file.len() || header_at(file, next, n_atoms)?.is_ok() {
                return Ok(Some(offset));
            }
        }
        at += last as u64;
        at = at.next_multiple_of(4);
    }
    Ok(None)
}

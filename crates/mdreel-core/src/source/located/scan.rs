//! Location of frames, from header to header or from any position in the file.

use serde::{Deserialize, Serialize};

use super::chained_header::ChainedHeader;
use crate::error::Result;
use crate::source::FrameLocation;
use crate::source::bytes::FileBytes;
use crate::source::fault::Fault;
use crate::source::frame_index::FrameIndex;

/// Number of bytes of the first long read in a search for a frame. Most frames are shorter.
const FIRST_LOOK: u64 = 64 << 10;
/// Maximum number of bytes of one read in a search.
const LONGEST_LOOK: u64 = 1 << 20;
/// Number of frames located between two calls of `beat`.
const FRAMES_PER_BEAT: usize = 16;
/// Maximum number of bytes of a header.
const LONGEST: usize = 128;

/// Positions of the frames of a file, and its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Located {
    /// The complete frames, and the gaps between them.
    pub index: FrameIndex,
    /// Defect after the last complete frame, if any: a torn frame, or other bytes.
    pub rest: Option<Fault>,
    /// Entries of the index that are not frames, in order. There are gaps only if the search continued after damage.
    pub gaps: Vec<Gap>,
}

/// A stretch of bytes that has an entry in the index, but is not a frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gap {
    /// Number of its entry in the index.
    pub frame: u64,
    /// The defect and its byte in the file.
    pub fault: Fault,
}

/// Returns the header at `offset`, which must be that of a complete frame of `n_atoms` atoms within the file.
pub(crate) fn header_at<H: ChainedHeader>(
    file: &FileBytes,
    offset: u64,
    n_atoms: usize,
) -> Result<std::result::Result<H, Fault>> {
    let mut bytes = [0; LONGEST];
    let n = file.len().saturating_sub(offset).min(H::MAX_LEN as u64) as usize;
    file.read_exact(&mut bytes[..n], offset)?;
    Ok(check_header(&bytes[..n], offset, file.len(), n_atoms))
}

/// Checks a header at `offset` of a file of `file_len` bytes.
pub(crate) fn check_header<H: ChainedHeader>(
    bytes: &[u8],
    offset: u64,
    file_len: u64,
    n_atoms: usize,
) -> std::result::Result<H, Fault> {
    let torn = |needed: String| {
        let rest = file_len - offset;
        Fault::new(0, format!("the last frame is torn: {needed}, but the file ends after {rest}"))
    };
    let Some(header) = H::parse(bytes)? else {
        return Err(torn(format!("its header needs up to {} bytes", H::MAX_LEN)));
    };
    if header.n_atoms() != n_atoms {
        let message = format!("expected {n_atoms} atoms as in the first frame, got {}", header.n_atoms());
        return Err(Fault::new(H::ATOMS_AT, message));
    }
    if header.frame_len() > file_len - offset {
        return Err(torn(format!("it needs {} bytes", header.frame_len())));
    }
    Ok(header)
}

/// Locates all frames after those that `known` covers, by hopping from header to header. Calls `beat` at regular
/// intervals.
pub(crate) fn scan<H: ChainedHeader>(
    file: &FileBytes,
    n_atoms: usize,
    known: Option<FrameIndex>,
    mut beat: impl FnMut(),
) -> Result<Located> {
    let mut index = known.unwrap_or_default();
    while index.end < file.len() {
        let start = index.end;
        if index.len().is_multiple_of(FRAMES_PER_BEAT) {
            beat();
        }
        match header_at::<H>(file, start, n_atoms)? {
            Ok(header) => {
                index.extend([location(&header, start)]);
                index.end = start + header.frame_len();
            }
            Err(fault) => {
                let rest = Some(Fault { byte: start + fault.byte, ..fault });
                return Ok(Located { index, rest, gaps: Vec::new() });
            }
        }
    }
    Ok(Located { index, rest: None, gaps: Vec::new() })
}

/// Returns the entry of a frame in the index.
pub(crate) fn location<H: ChainedHeader>(header: &H, offset: u64) -> FrameLocation {
    FrameLocation { offset, step: header.step(), time: header.time() }
}

/// Returns the position of the first frame that starts in `range`. The search accepts a header if another header, or
/// the end of the file, follows its frame. Everything in XDR is aligned to words of 4 bytes.
pub(crate) fn find_frame<H: ChainedHeader>(
    file: &FileBytes,
    n_atoms: usize,
    range: std::ops::Range<u64>,
) -> Result<Option<u64>> {
    if range.start == 0 {
        return Ok((!range.is_empty()).then_some(0));
    }
    search::<H>(file, n_atoms, range, 4, |next| Ok(next == file.len() || header_at::<H>(file, next, n_atoms)?.is_ok()))
}

/// Returns the first complete frame that starts in `range`, at a multiple of `step` bytes, and for whose end `believed`
/// returns true.
pub(crate) fn search<H: ChainedHeader>(
    file: &FileBytes,
    n_atoms: usize,
    range: std::ops::Range<u64>,
    step: usize,
    mut believed: impl FnMut(u64) -> Result<bool>,
) -> Result<Option<u64>> {
    let end = range.end.min(file.len());
    let mut at = range.start.next_multiple_of(step as u64);
    // A caller may know the start of a frame, so this position is checked first.
    let mut look = step as u64;
    while at < end {
        let bytes = file.read_vec(at..file.len().min(at + look + H::MAX_LEN as u64))?;
        let last = (end - at).min(look) as usize;
        for i in (0..last).step_by(step) {
            if !H::looks_right(&bytes[i..], n_atoms as u32) {
                continue;
            }
            let offset = at + i as u64;
            let Ok(header) = check_header::<H>(&bytes[i..], offset, file.len(), n_atoms) else { continue };
            if believed(offset + header.frame_len())? {
                return Ok(Some(offset));
            }
        }
        at += last as u64;
        at = at.next_multiple_of(step as u64);
        look = (4 * look).clamp(FIRST_LOOK, LONGEST_LOOK);
    }
    Ok(None)
}

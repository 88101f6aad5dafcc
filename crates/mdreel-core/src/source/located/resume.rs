//! Locating frames across damage: where the chain of headers breaks, the next header is searched for.

use super::ChainedHeader;
use super::scan::{Gap, Located, header_at, location, search};
use crate::error::Result;
use crate::source::FrameLocation;
use crate::source::bytes::FileBytes;
use crate::source::fault::Fault;
use crate::source::frame_index::FrameIndex;

/// Locates all frames behind those that `known` covers. A stretch without a header takes one number, whatever was in it,
/// as does a frame that says to be longer than it is: both are [`Gap`]s.
/// What is left of a frame that says to be shorter than it is cannot be told from another one that was damaged.
pub fn scan_past_damage<H: ChainedHeader>(
    file: &FileBytes,
    n_atoms: usize,
    known: Option<FrameIndex>,
) -> Result<Located> {
    let mut index = known.unwrap_or_default();
    let mut gaps = Vec::new();
    while index.end < file.len() {
        let start = index.end;
        let fault = match header_at::<H>(file, start, n_atoms)? {
            Ok(header) => {
                index.extend([location(&header, start)]);
                index.end = start + header.frame_len();
                continue;
            }
            Err(fault) => Fault { byte: start + fault.byte, ..fault },
        };
        let last = index.len().checked_sub(1).and_then(|i| index.get(i));
        if let Some(last) = last
            && let Some(next) = frame_within::<H>(file, n_atoms, last.offset, start)?
        {
            let message = format!(
                "the header says that the frame has {} bytes, but the next frame begins after {}",
                start - last.offset,
                next - last.offset
            );
            gaps.push(Gap { frame: index.len() as u64 - 1, fault: Fault { byte: last.offset, message } });
            index.end = next;
            continue;
        }
        // Bytes may be missing, as where a file was appended to a torn one: headers may stand at any byte.
        let next = search::<H>(file, n_atoms, start + 1..file.len(), 1, |_| Ok(true))?;
        let found = next.map(|next| Ok((next, header_at::<H>(file, next, n_atoms)?))).transpose()?;
        let Some((next, Ok(header))) = found else {
            return Ok(Located { index, rest: Some(fault), gaps });
        };
        let message = format!("{}; the next frame was found at byte {next}", fault.message);
        gaps.push(Gap { frame: index.len() as u64, fault: Fault { message, ..fault } });
        // The one frame that is lost most often has the time between its neighbours'.
        let behind = location(&header, next);
        let before = last.unwrap_or(behind);
        let (time, step) = (f64::midpoint(before.time, behind.time), i64::midpoint(before.step, behind.step));
        index.extend([FrameLocation { offset: start, step, time }]);
        index.end = next;
    }
    Ok(Located { index, rest: None, gaps })
}

/// A frame that begins within what the frame at `offset` says to be its own, up to `end`.
fn frame_within<H: ChainedHeader>(file: &FileBytes, n_atoms: usize, offset: u64, end: u64) -> Result<Option<u64>> {
    search::<H>(file, n_atoms, offset + 1..end, 1, |next| {
        Ok(next == file.len() || header_at::<H>(file, next, n_atoms)?.is_ok())
    })
}

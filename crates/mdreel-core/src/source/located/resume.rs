//! Location of frames across damage: if the chain of headers breaks, the code searches for the next header.

use super::chained_header::ChainedHeader;
use super::scan::{Gap, Located, header_at, location, search};
use crate::error::Result;
use crate::source::FrameLocation;
use crate::source::bytes::FileBytes;
use crate::source::fault::Fault;
use crate::source::frame_index::FrameIndex;

/// Locates all frames after those that `known` covers. A stretch without a header takes one number, regardless of its
/// contents, and so does a frame whose header gives too large a length. Both are [`Gap`]s. If the header of a frame
/// gives too small a length, the rest of the frame looks like another damaged frame.
pub(crate) fn scan_past_damage<H: ChainedHeader>(
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
        // The header of a frame may give too large a length, so the search begins within the last frame. Bytes may be
        // missing, for example if a program appended frames to a torn one, so a header may start at any byte.
        let last = index.len().checked_sub(1).and_then(|i| index.get(i));
        let behind = last.map_or(start, |last| last.offset) + 1..file.len();
        let next = search::<H>(file, n_atoms, behind, 1, |_| Ok(true))?;
        let found = next.map(|next| Ok((next, header_at::<H>(file, next, n_atoms)?))).transpose()?;
        let Some((next, Ok(header))) = found else {
            return Ok(Located { index, rest: Some(fault), gaps });
        };
        index.end = next;
        if let Some(last) = last.filter(|_| next < start) {
            let (claimed, got) = (start - last.offset, next - last.offset);
            let message =
                format!("the header says that the frame has {claimed} bytes, but the next frame begins after {got}");
            gaps.push(Gap { frame: index.len() as u64 - 1, fault: Fault { byte: last.offset, message } });
            continue;
        }
        let message = format!("{}; the next frame was found at byte {next}", fault.message);
        gaps.push(Gap { frame: index.len() as u64, fault: Fault { message, ..fault } });
        // In most cases, a single frame is lost. Its time is halfway between those of its neighbours.
        let behind = location(&header, next);
        let before = last.unwrap_or(behind);
        let (time, step) = (f64::midpoint(before.time, behind.time), i64::midpoint(before.step, behind.step));
        index.extend([FrameLocation { offset: start, step, time }]);
    }
    Ok(Located { index, rest: None, gaps })
}

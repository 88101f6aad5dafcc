//! Positions of frames in the file and of variables in a frame.

use super::amber::{Field, Frames, Trajectory};
use super::header::Header;
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Variables that are stored together in each frame: all variables if these are in records, otherwise a single one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Position at which the first frame begins.
    pub start: u64,
    /// Number of bytes from one frame to the next.
    pub stride: u64,
    /// The variables, in their order in the file.
    pub fields: Vec<Field>,
}

impl Part {
    /// Returns the position at which a frame begins.
    pub(crate) fn offset(&self, frame: u64) -> u64 {
        self.start + frame * self.stride
    }
}

/// Positions of the frames of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub parts: Vec<Part>,
    /// Number of complete frames that the header counts, or of all complete frames if it counts none.
    pub n_frames: u64,
    /// Number of frames according to the header; `None` if the writer left it open.
    pub n_counted: Option<u64>,
    /// Number of bytes after the last of these frames, if the file grows.
    pub uncounted_bytes: u64,
    /// Torn frame after the last of these frames, if any.
    torn: Option<Torn>,
}

/// A frame that is not complete.
#[derive(Debug, Clone, PartialEq)]
struct Torn {
    frame: u64,
    /// Position at which the frame, or a variable of it, begins.
    byte: u64,
    /// Number of bytes that it needs from this position on.
    n_bytes: u64,
}

impl Layout {
    /// Determines the number of frames of `file`. Returns an error if the only frame is torn.
    pub(crate) fn new(file: &FileBytes, header: &Header, trajectory: &Trajectory) -> Result<Self> {
        for field in &trajectory.fields {
            if field.begin < header.end {
                let message =
                    format!("expected {:?} behind the header, which ends at byte {}", field.content, header.end);
                return Err(Error::format(file.path(), None, Some(field.begin), message));
            }
        }
        let layout = match trajectory.frames {
            Frames::Records => records(file, header, trajectory)?,
            Frames::Fixed(n_frames) => fixed(file, trajectory, n_frames),
        };
        if layout.n_frames == 0 {
            layout.check_last_frame(file)?;
        }
        Ok(layout)
    }

    /// Checks that the file contains all frames that the header counts. If the header counts none, the last frame must
    /// be complete.
    pub(crate) fn check_last_frame(&self, file: &FileBytes) -> Result<()> {
        let Some(torn) = &self.torn else { return Ok(()) };
        let counted = match self.n_counted {
            None => "the header leaves their number open".to_owned(),
            Some(n_counted) => format!("the header counts {n_counted}"),
        };
        Err(Error::format(
            file.path(),
            Some(torn.frame),
            Some(torn.byte),
            format!(
                "the last frame is torn: it needs {} bytes from here on, but the file ends after {}; {} whole frames \
                 come before it (to use them, read only these frames), {counted}",
                torn.n_bytes,
                file.len().saturating_sub(torn.byte),
                self.n_frames
            ),
        ))
    }

    /// Returns the number of bytes of all frames.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.parts.iter().map(|part| self.n_frames * part.stride).sum()
    }
}

/// Returns the layout of a file whose frames are records. A record contains all variables that grow, one after the
/// other.
fn records(file: &FileBytes, header: &Header, trajectory: &Trajectory) -> Result<Layout> {
    let stride = header.record_bytes(file)?;
    let growing = || header.variables.iter().filter(|variable| variable.is_record);
    let start = growing().map(|variable| variable.begin).min().unwrap_or(header.end);
    // The bytes that pad the last variable may be missing after the last record.
    let mut first_end = start;
    for variable in growing() {
        let end =
            variable.begin.checked_add(variable.n_bytes).filter(|&end| end - start <= stride).ok_or_else(|| {
                let message = format!(
                    "{} of {} bytes does not fit into the first record, of {stride} bytes from byte {start} on",
                    variable.name, variable.n_bytes
                );
                Error::format(file.path(), None, Some(variable.begin), message)
            })?;
        first_end = first_end.max(end);
    }
    let mut fields = trajectory.fields.clone();
    fields.sort_by_key(|field| field.begin);
    if let Some(pair) = fields.windows(2).find(|pair| pair[0].begin + pair[0].n_bytes > pair[1].begin) {
        let message = format!("{:?} and {:?} lie on top of each other", pair[0].content, pair[1].content);
        return Err(Error::format(file.path(), None, Some(pair[1].begin), message));
    }
    let n_whole = file.len().checked_sub(first_end).map_or(0, |rest| 1 + rest / stride);
    let n_frames = match header.n_records {
        None | Some(0) => n_whole,
        Some(n_counted) => n_counted.min(n_whole),
    };
    let uncounted_bytes = file.len().saturating_sub(start + n_frames * stride);
    let is_torn = match header.n_records {
        None | Some(0) => uncounted_bytes > 0,
        Some(n_counted) => n_counted > n_whole,
    };
    let torn = is_torn.then(|| Torn { frame: n_frames, byte: start + n_frames * stride, n_bytes: first_end - start });
    let parts = vec![Part { start, stride, fields }];
    Ok(Layout { parts, n_frames, n_counted: header.n_records, uncounted_bytes, torn })
}

/// Returns the layout of a file that does not grow. Each variable contains all frames, one after the other.
fn fixed(file: &FileBytes, trajectory: &Trajectory, n_counted: u64) -> Layout {
    let n_whole = |field: &Field| (file.len().saturating_sub(field.begin) / field.n_bytes).min(n_counted);
    let n_frames = trajectory.fields.iter().map(n_whole).min().unwrap_or(0);
    let shortest = trajectory.fields.iter().find(|&field| n_whole(field) == n_frames && n_frames < n_counted);
    let torn = shortest.map(|field| Torn {
        frame: n_frames,
        byte: field.begin + n_frames * field.n_bytes,
        n_bytes: field.n_bytes,
    });
    let part = |field: &Field| Part { start: field.begin, stride: field.n_bytes, fields: vec![*field] };
    let parts = trajectory.fields.iter().map(part).collect();
    Layout { parts, n_frames, n_counted: Some(n_counted), uncounted_bytes: 0, torn }
}

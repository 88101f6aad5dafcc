//! Reader of DCD files, the trajectories of CHARMM, NAMD, X-PLOR, LAMMPS and OpenMM.
//!
//! A header (`header`) precedes frames of a fixed size (`layout`). A frame contains an optional unit cell (`cell`), the
//! x, the y and the z of all atoms, and an optional fourth dimension, each as a Fortran record (`record`). mdreel reads
//! only the ranges of bytes that contain selected atoms (`plan`), and gathers these atoms (`gather`).
//!
//! # Number of frames
//!
//! Writers store the number of frames in the header. However, some of them write the intended number at the beginning,
//! and programs that crashed do not write it at all. The size of the file therefore determines the number, as in VMD
//! and MDAnalysis. An incomplete last frame is an error ([`EndCheck`]), unless the header counts exactly the complete
//! frames before it. In that case, the writer is still running or has crashed, and the file has all frames that it
//! counts (see [`Dcd::uncounted_bytes`]).
//!
//! # Sources
//!
//! CHARMM documentation (`dynamc.doc`, `image.doc`), the X-PLOR manual, and the DCD plugin page of VMD.

mod cell;
mod gather;
mod header;
mod layout;
mod plan;
mod reader;
mod record;

use std::ops::Range;
use std::path::Path;

pub use header::{Flavor, Header};
pub use record::{ByteOrder, RecordFormat};

use crate::error::Result;
use crate::frame::Quantities;
use crate::source::bytes::FileBytes;
use crate::source::capabilities::{Capabilities, EndCheck, FrameOffsets};
use crate::source::fault::Fault;
use crate::source::{AtomSelection, Reader, Source};
use layout::Layout;
use reader::DcdReader;

/// An open DCD trajectory.
#[derive(Debug)]
pub struct Dcd {
    file: FileBytes,
    header: Header,
    layout: Layout,
}

impl Dcd {
    /// Opens a file: reads the header and checks the records of the first frame. Returns an error if the only frame is
    /// torn.
    pub fn open(file: FileBytes) -> Result<Self> {
        let header = Header::read(&file)?;
        let layout = Layout::new(&header);
        layout.check_ends(&file, &header)?;
        Ok(Dcd { file, header, layout })
    }

    /// Opens a growing file, which may not contain a complete frame yet, and reads its header.
    pub(super) fn growing(file: FileBytes) -> Result<Self> {
        let header = Header::read(&file)?;
        let layout = Layout::new(&header);
        Ok(Dcd { file, header, layout })
    }

    /// Returns the range of bytes of a frame, which may not be in the file yet.
    pub(super) fn frame_bytes(&self, frame: u64) -> Range<u64> {
        let start = self.layout.offset(frame);
        start..start.saturating_add(self.layout.frame(frame).len)
    }

    /// Checks the first and the last record marker of a frame in the file. Returns the fault of a wrong marker and the
    /// value found there.
    pub(super) fn check_outer_markers(&self, frame: u64) -> Result<Option<(Fault, u64)>> {
        let layout = self.layout.frame(frame);
        for &(at, expected) in layout.markers.first().into_iter().chain(layout.markers.last()) {
            let mut marker = [0; 8];
            self.file.read_exact(&mut marker[..self.header.format.marker_bytes], self.layout.offset(frame) + at)?;
            let got = self.header.format.length(&marker);
            if got != expected {
                let message = format!("expected a record marker of {expected}, got {got}");
                return Ok(Some((Fault::new(at, message), got)));
            }
        }
        Ok(None)
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> &FileBytes {
        &self.file
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of bytes after the last complete frame. They belong to a frame that the header does not count
    /// (yet).
    pub fn uncounted_bytes(&self) -> u64 {
        self.layout.rest(&self.file)
    }
}

impl Source for Dcd {
    fn n_atoms(&self) -> usize {
        self.header.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.layout.n_frames(&self.file))
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok((0..self.layout.n_frames(&self.file)).map(|frame| self.header.time(frame)).collect())
    }

    fn n_bytes(&self) -> u64 {
        self.layout.offset(self.layout.n_frames(&self.file)) - self.layout.offset(0)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { frame_offsets: Some(self), end_check: Some(self), ..Capabilities::of_file(&self.file) }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(DcdReader::new(&self.file, &self.header, &self.layout, atoms)?))
    }
}

impl EndCheck for Dcd {
    fn check_end(&self) -> Result<()> {
        self.layout.check_last_frame(&self.file, self.header.n_frames_counted)
    }
}

impl FrameOffsets for Dcd {
    fn frame_offset(&self, frame: u64) -> Result<u64> {
        Ok(self.layout.offset(frame))
    }
}

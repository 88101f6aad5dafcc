//! DCD: the trajectory format of CHARMM, NAMD, X-PLOR, LAMMPS and OpenMM.
//!
//! A header (`header`) is followed by frames of a fixed size (`layout`): an optional unit cell (`cell`), the x, the y
//! and the z of all atoms, and an optional fourth dimension, each of them a Fortran record (`record`). Of a frame,
//! only the ranges of bytes that hold wanted atoms are read (`plan`), and the wanted atoms are gathered from them
//! (`gather`).
//!
//! # How many frames there are
//!
//! Writers count frames in the header, but some count at the beginning what they intend to write, and programs that
//! died did not count at all: the size of the file decides, as in VMD and MDAnalysis. A last frame that is not whole
//! is an error ([`Source::check_end`]), unless the header counts exactly the whole frames before it: then the writer is still at it, or died
//! at it, and no frame that the file claims to have is missed (see [`Dcd::uncounted_bytes`]).
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

use std::path::Path;

pub use header::{Flavor, Header};
pub use record::{ByteOrder, RecordFormat};

use crate::error::Result;
use crate::frame::Quantities;
use crate::source::bytes::FileBytes;
use crate::source::{AtomSelection, Reader, Source};
use layout::Layout;
use reader::DcdReader;

/// A DCD trajectory that has been opened.
#[derive(Debug)]
pub struct Dcd {
    file: FileBytes,
    header: Header,
    layout: Layout,
}

impl Dcd {
    /// Reads the header and checks the records of the first frame. A file whose only frame is torn is refused.
    pub fn open(file: FileBytes) -> Result<Self> {
        let header = Header::read(&file)?;
        let layout = Layout::new(&file, &header)?;
        Ok(Dcd { file, header, layout })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes behind the last frame, of a frame that the header does not count (yet).
    pub fn uncounted_bytes(&self) -> u64 {
        self.layout.rest()
    }
}

impl Source for Dcd {
    fn n_atoms(&self) -> usize {
        self.header.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.layout.n_frames())
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok((0..self.layout.n_frames()).map(|frame| self.header.time(frame)).collect())
    }

    fn file(&self) -> Option<&FileBytes> {
        Some(&self.file)
    }

    fn n_bytes(&self) -> u64 {
        self.layout.offset(self.layout.n_frames()) - self.layout.offset(0)
    }

    fn check_end(&self) -> Result<()> {
        self.layout.check_last_frame(&self.file, self.header.n_frames_counted)
    }

    fn frame_offset(&self, frame: u64) -> Result<Option<u64>> {
        Ok(Some(self.layout.offset(frame)))
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(DcdReader::new(&self.file, &self.header, &self.layout, atoms)?))
    }
}

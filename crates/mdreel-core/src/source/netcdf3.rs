//! Reader of AMBER NetCDF files, the trajectories of AMBER in files of the classic family (CDF-1, CDF-2 and CDF-5).
//!
//! A header (`scanner`, `header`) describes variables. The convention of AMBER (`amber`) defines the variables of a
//! trajectory: time, coordinates, cell, velocities and forces, as big-endian numbers with a scale (`number`). Variables
//! that grow with the file are stored together in records, and each of the others in one piece (`layout`). mdreel reads
//! only those ranges of bytes of a frame that contain selected atoms (`plan`).
//!
//! # Number of frames
//!
//! The header counts records, and the library that most programs use keeps the count correct. Further records belong to
//! a frame that is being written, or that was being written when the program died, and are not part of the file. A file
//! that is too short for its count is torn ([`EndCheck`]). If the count is 0 or left open, the size of the file
//! determines the number of frames, as for DCD.
//!
//! # Sources
//!
//! The NetCDF Classic Format Specification (Unidata) with its extension to 64-bit data (PnetCDF), and the AMBER NetCDF
//! Trajectory/Restart Convention 1.0 (ambermd.org). Scales and units are applied in the same order as in MDAnalysis, so
//! the results agree bit for bit.

mod amber;
mod header;
mod layout;
mod number;
mod plan;
mod reader;
mod scanner;
mod version;

use std::path::Path;

pub(crate) use version::Version;

use crate::error::Result;
use crate::frame::{Quantities, Quantity};
use crate::source::bytes::FileBytes;
use crate::source::capabilities::{Capabilities, EndCheck};
use crate::source::{AtomSelection, Reader, Source};
use amber::{Content, Trajectory};
use header::Header;
use layout::Layout;
use reader::NetCdf3Reader;

/// Number of times to read at once.
const TIMES: u64 = 1024;

/// An open AMBER NetCDF trajectory.
#[derive(Debug)]
pub struct NetCdf3 {
    file: FileBytes,
    header: Header,
    trajectory: Trajectory,
    layout: Layout,
}

impl NetCdf3 {
    /// Opens a file and reads its header. Returns an error if the only frame is torn.
    pub fn open(file: FileBytes) -> Result<Self> {
        let header = Header::read(&file)?;
        let trajectory = Trajectory::new(&file, &header)?;
        let layout = Layout::new(&file, &header, &trajectory)?;
        Ok(NetCdf3 { file, header, trajectory, layout })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the version of the classic format.
    pub fn version(&self) -> Version {
        self.header.version
    }

    /// Returns the text of an attribute of the file, such as `title`, `program` or `ConventionVersion`.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.header.text(name)
    }

    /// Returns the number of bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file.len()
    }

    /// Returns the number of frames that the header counts, or `None` if the writer left it open.
    pub fn n_frames_counted(&self) -> Option<u64> {
        self.layout.n_counted
    }

    /// Returns the number of bytes after the last frame. They belong to frames that the header does not count (yet).
    pub fn uncounted_bytes(&self) -> u64 {
        self.layout.uncounted_bytes
    }

    /// Returns whether frames have times.
    pub fn has_times(&self) -> bool {
        self.trajectory.field_of(Content::Time).is_some()
    }

    /// Returns whether frames have unit cells.
    pub fn has_unit_cell(&self) -> bool {
        self.trajectory.field_of(Content::Lengths).is_some()
    }

    /// Returns the quantities of the frames.
    fn present(&self) -> Quantities {
        self.trajectory.fields.iter().fold(Quantities::NONE, |present, field| match field.content {
            Content::Atoms(quantity) => present.with(quantity, true),
            _ => present,
        })
    }
}

impl Source for NetCdf3 {
    fn n_atoms(&self) -> usize {
        self.trajectory.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.layout.n_frames)
    }

    fn times(&self) -> Result<Vec<f64>> {
        let n_frames = self.layout.n_frames;
        let fields = self.layout.parts.iter().flat_map(|part| part.fields.iter().map(move |field| (part, field)));
        let Some((part, field)) = fields.into_iter().find(|(_, field)| field.content == Content::Time) else {
            return Ok((0..n_frames).map(|frame| frame as f64).collect());
        };
        let mut times = Vec::with_capacity(n_frames as usize);
        let mut bytes = self.file.reader();
        let mut ranges = Vec::new();
        for first in (0..n_frames).step_by(TIMES as usize) {
            let frames = first..n_frames.min(first + TIMES);
            let start = |frame: u64| part.offset(frame) - part.start + field.begin;
            ranges.clear();
            ranges.extend(frames.map(|frame| start(frame)..start(frame) + field.n_bytes));
            bytes.load(&ranges)?;
            times.extend((0..ranges.len()).map(|i| field.numbers.value(bytes.get(i), 0)));
            bytes.confirm()?;
        }
        Ok(times)
    }

    fn n_bytes(&self) -> u64 {
        self.layout.n_bytes()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { end_check: Some(self), quantities: self.present(), ..Capabilities::of_file(&self.file) }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.trajectory.n_atoms)?;
        let present = wanted.with(Quantity::Positions, true).both(self.present());
        Ok(Box::new(NetCdf3Reader::new(&self.file, &self.layout, atoms, present)))
    }
}

impl EndCheck for NetCdf3 {
    fn check_end(&self) -> Result<()> {
        self.layout.check_last_frame(&self.file)
    }
}

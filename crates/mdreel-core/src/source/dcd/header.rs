//! Header of a DCD file: three or four records before the frames.

use super::record::{RecordFormat, RecordScanner};
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;
use crate::units::PICOSECOND_PER_AKMA;

/// Length of the first record, which contains a word and twenty integers.
const CONTROL_BYTES: u64 = 84;

/// Length of a line of the title.
const TITLE_LINE_BYTES: u64 = 80;

/// Program whose conventions a file follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// The conventions of CHARMM, which NAMD, LAMMPS and OpenMM follow.
    Charmm {
        /// Version that the program specified.
        version: i32,
    },
    /// The conventions of X-PLOR: no unit cells, no fourth dimension, and a time step in double precision.
    Xplor,
}

/// Header of a DCD file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Byte order and record markers.
    pub format: RecordFormat,
    /// Conventions of the file.
    pub flavor: Flavor,
    /// Number of frames according to the writer, which is often 0 or the intended number.
    pub n_frames_counted: i32,
    /// Integration step of the first frame.
    pub first_step: i32,
    /// Number of integration steps from one frame to the next, which is never 0 (see `Header::read`).
    pub steps_per_frame: i32,
    /// Integration time step in AKMA units.
    pub time_step: f64,
    /// Number of atoms in each frame.
    pub n_atoms: usize,
    /// Whether each frame has a unit cell.
    pub has_unit_cell: bool,
    /// Whether each frame has a fourth coordinate.
    pub has_fourth_dimension: bool,
    /// Indices of the atoms in later frames, from 0 and in their order. The other atoms are fixed in space, and only
    /// the first frame contains them.
    pub free_atoms: Option<Vec<u32>>,
    /// Position at which the first frame begins.
    pub end: u64,
}

impl Header {
    /// Reads the header of `file`.
    ///
    /// A distance of 0 steps between frames, which programs without integration steps write, is taken as 1.
    pub(crate) fn read(file: &FileBytes) -> Result<Self> {
        let format = detect(file)?;
        let mut records = RecordScanner::new(file, format);
        let (_, control) = records.read("header", CONTROL_BYTES)?;
        // CHARMM's documentation counts the integers (ICNTRL) from 1. They follow the four letters.
        let icntrl = |i: usize| format.i32(&control[4 * i..]);
        let flavor = match icntrl(20) {
            0 => Flavor::Xplor,
            version => Flavor::Charmm { version },
        };
        let is_charmm = flavor != Flavor::Xplor;
        records.skip_lines("title", TITLE_LINE_BYTES)?;
        let (at, n_atoms) = records.read("number of atoms", 4)?;
        let n_atoms = format.i32(&n_atoms);
        if n_atoms <= 0 {
            let message = format!("expected a positive number of atoms, got {n_atoms}");
            return Err(Error::format(file.path(), None, Some(at), message));
        }
        let column_bytes = 4 * n_atoms as u64;
        if format.marker_bytes == 4 && column_bytes > i32::MAX as u64 {
            return Err(Error::unsupported(format!(
                "{n_atoms} atoms need records of {column_bytes} bytes, more than 32-bit record markers can say"
            ))
            .in_file(file.path()));
        }
        let free_atoms = match icntrl(9) {
            0 => None,
            n_fixed => Some(read_free_atoms(file, &mut records, n_atoms, n_fixed)?),
        };
        Ok(Header {
            format,
            flavor,
            n_frames_counted: icntrl(1),
            first_step: icntrl(2),
            steps_per_frame: if icntrl(3) == 0 { 1 } else { icntrl(3) },
            time_step: if is_charmm { f64::from(format.f32(&control[40..])) } else { format.f64(&control[40..]) },
            n_atoms: n_atoms as usize,
            has_unit_cell: is_charmm && icntrl(11) != 0,
            has_fourth_dimension: is_charmm && icntrl(12) == 1,
            free_atoms,
            end: records.at(),
        })
    }

    /// Returns the time of a frame in ps. The operations have the same order as in MDAnalysis, so the results agree bit
    /// for bit. CHARMM files in big-endian order are an exception, because MDAnalysis 2.11 does not swap the bytes of
    /// their time step.
    pub fn time(&self, frame: u64) -> f64 {
        let interval = f64::from(self.steps_per_frame);
        let time_per_frame = self.time_step * PICOSECOND_PER_AKMA * interval;
        (frame as f64 + f64::from(self.first_step) / interval) * time_per_frame
    }

    /// Returns the integration step of a frame.
    pub(crate) fn step(&self, frame: u64) -> i64 {
        i64::from(self.first_step) + frame as i64 * i64::from(self.steps_per_frame)
    }
}

/// Determines the byte order and the width of markers from the first record marker and the word after it.
fn detect(file: &FileBytes) -> Result<RecordFormat> {
    let head = file.read_vec(0..file.len().min(12))?;
    let error = |message: String| Err(Error::format(file.path(), None, Some(0), message));
    if head.is_empty() {
        return error("expected a DCD trajectory, got an empty file".into());
    }
    for format in RecordFormat::ALL {
        let beginning = |word: &[u8; 4]| [format.marker(CONTROL_BYTES).as_slice(), word].concat();
        if head.starts_with(&beginning(b"CORD")) {
            return Ok(format);
        }
        if head.starts_with(&beginning(b"VELD")) {
            return Err(
                Error::unsupported("the file holds velocities (VELD), not coordinates (CORD)").in_file(file.path())
            );
        }
        if head.len() < 12 && beginning(b"CORD").starts_with(&head) {
            return error(format!("expected a DCD header, but the file has only {} bytes", head.len()));
        }
    }
    error(format!("not a DCD trajectory: expected a record of 84 bytes that begins with CORD, got {head:02x?}"))
}

fn read_free_atoms(file: &FileBytes, records: &mut RecordScanner<'_>, n_atoms: i32, n_fixed: i32) -> Result<Vec<u32>> {
    if !(0..=n_atoms).contains(&n_fixed) {
        let message = format!("expected a number of fixed atoms from 0 to {n_atoms}, got {n_fixed}");
        return Err(Error::format(file.path(), None, Some(records.at()), message));
    }
    let n_free = (n_atoms - n_fixed) as u64;
    let format = records.format();
    let (start, content) = records.read("free atoms", 4 * n_free)?;
    let numbers: Vec<i32> = content.chunks_exact(4).map(|bytes| format.i32(bytes)).collect();
    let error = |i: usize, message: String| {
        Err(Error::format(file.path(), None, Some(start + 4 * i as u64), format!("free atoms: {message}")))
    };
    if let Some(i) = numbers.iter().position(|number| !(1..=n_atoms).contains(number)) {
        return error(i, format!("expected an atom number from 1 to {n_atoms}, got {}", numbers[i]));
    }
    let mut sorted: Vec<(i32, usize)> = numbers.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return error(pair[1].1, format!("atom number {} occurs twice", pair[1].0));
    }
    Ok(numbers.into_iter().map(|number| (number - 1) as u32).collect())
}

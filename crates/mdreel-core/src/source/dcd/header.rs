//! Header: three or four records before the frames.

use super::record::{RecordFormat, RecordScanner};
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;
use crate::units::PICOSECOND_PER_AKMA;

/// Length of the first record: a word and twenty integers.
const CONTROL_BYTES: u64 = 84;

/// Length of a line of the title.
const TITLE_LINE_BYTES: u64 = 80;

/// Which program's conventions a file keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// CHARMM's, which NAMD, LAMMPS and OpenMM follow.
    Charmm {
        /// The version that the program claims to be.
        version: i32,
    },
    /// X-PLOR's: neither unit cells nor a fourth dimension, and a time step in double precision.
    Xplor,
}

/// Header of a DCD file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Byte order and record markers.
    pub format: RecordFormat,
    /// Whose conventions.
    pub flavor: Flavor,
    /// Number of frames according to the writer: often 0, or the intended number.
    pub n_frames_counted: i32,
    /// Integration step of the first frame.
    pub first_step: i32,
    /// Integration steps from one frame to the next; never 0 (see `Header::read`).
    pub steps_per_frame: i32,
    /// Integration time step in AKMA units.
    pub time_step: f64,
    /// Atoms in each frame.
    pub n_atoms: usize,
    /// Whether each frame has a unit cell.
    pub has_unit_cell: bool,
    /// Whether each frame has a fourth coordinate.
    pub has_fourth_dimension: bool,
    /// The atoms that later frames hold (from 0, in their order), where the others are fixed in space and stand in
    /// the first frame only.
    pub free_atoms: Option<Vec<u32>>,
    /// Where the first frame begins.
    pub end: u64,
}

impl Header {
    /// Reads the header of `file`.
    ///
    /// A distance of 0 steps between frames, as programs without integration steps write it, is taken as 1.
    pub(crate) fn read(file: &FileBytes) -> Result<Self> {
        let format = detect(file)?;
        let mut records = RecordScanner::new(file, format);
        let (_, control) = records.read("header", CONTROL_BYTES)?;
        // The integers are counted from 1 in CHARMM's documentation (ICNTRL), behind the four letters.
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

    /// The time of a frame in ps. The order of the operations is MDAnalysis's, so the bits are, too (but for
    /// CHARMM files in big-endian order, whose time step MDAnalysis 2.11 does not turn around).
    pub fn time(&self, frame: u64) -> f64 {
        let interval = f64::from(self.steps_per_frame);
        let time_per_frame = self.time_step * PICOSECOND_PER_AKMA * interval;
        (frame as f64 + f64::from(self.first_step) / interval) * time_per_frame
    }

    /// The integration step of a frame.
    pub(crate) fn step(&self, frame: u64) -> i64 {
        i64::from(self.first_step) + frame as i64 * i64::from(self.steps_per_frame)
    }
}

/// Finds byte order and marker width by the first record's marker and the word behind it.
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

//! Trajectory formats, detected from the content of the files.

use serde::{Deserialize, Serialize};

use super::bytes::FileBytes;
use crate::error::{Error, Result};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// GROMACS' compressed trajectory.
    Xtc,
    /// GROMACS' trajectory in full precision, with velocities and forces.
    Trr,
    /// The binary trajectory of CHARMM, NAMD, X-PLOR, LAMMPS and OpenMM.
    Dcd,
    /// AMBER's trajectory in the classic NetCDF formats.
    Ncdf,
}

/// Number of bytes that are enough to detect the format.
const SIGNATURE: u64 = 16;

impl Format {
    /// All formats.
    pub(crate) const ALL: [Format; 4] = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::Xtc => "XTC",
            Format::Trr => "TRR",
            Format::Dcd => "DCD",
            Format::Ncdf => "NCDF",
        }
    }

    /// Returns the format with this name, in upper or lower case.
    pub(crate) fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known = Self::ALL.map(Format::name).join(", ");
            Error::unsupported(format!("unknown trajectory format {name:?}; known: {known}"))
        })
    }

    /// Detects the format of a file from its first bytes.
    pub(crate) fn detect(file: &FileBytes) -> Result<Self> {
        if file.is_empty() {
            return Err(Error::format(
                file.path(),
                None,
                Some(0),
                format!("the file is empty; expected a trajectory ({})", known()),
            ));
        }
        let head = file.read_vec(0..file.len().min(SIGNATURE))?;
        signature(&head).ok_or_else(|| {
            let message = format!("expected a trajectory ({}), found {}", known(), describe(&head));
            Error::format(file.path(), None, Some(0), message)
        })
    }
}

fn signature(head: &[u8]) -> Option<Format> {
    let word: [u8; 4] = head.get(..4)?.try_into().ok()?;
    // XTC files begin with 1995, or with 2023 for larger frames, and TRR files with 1993, all big-endian. DCD files
    // begin with a Fortran record of 84 bytes that starts with CORD. The record length is in either byte order, in 4 or
    // 8 bytes.
    match i32::from_be_bytes(word) {
        1995 | 2023 => return Some(Format::Xtc),
        1993 => return Some(Format::Trr),
        _ => {}
    }
    // The three values are the classic, 64-bit offset and 64-bit data formats of NetCDF.
    if matches!(word, [b'C', b'D', b'F', 1 | 2 | 5]) {
        return Some(Format::Ncdf);
    }
    let is_record = |length: &[u8]| {
        let mut expected = vec![0; length.len()];
        expected[0] = 84;
        let little = length == expected;
        expected.reverse();
        little || length == expected
    };
    let short = is_record(&word) && head.get(4..8) == Some(b"CORD");
    let long = head.get(..8).is_some_and(is_record) && head.get(8..12) == Some(b"CORD");
    (short || long).then_some(Format::Dcd)
}

/// Returns the names of all formats.
fn known() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Describes a file of an unknown format by its first bytes.
fn describe(head: &[u8]) -> String {
    let known: [(&[u8], &str); 7] = [
        (b"CDF", "a NetCDF file of an unknown version"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x1f\x8b", "a file compressed with gzip"),
        (b"BZh", "a file compressed with bzip2"),
        (b"\xfd7zXZ", "a file compressed with xz"),
        (b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
        (b"PSF", "a PSF topology"),
    ];
    if let Some((_, name)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return (*name).to_owned();
    }
    if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return format!("text that begins with {:?}", String::from_utf8_lossy(head));
    }
    let bytes: Vec<String> = head.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("a file that begins with the bytes {}", bytes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_tells_the_formats_apart() {
        assert_eq!(signature(&[0, 0, 7, 203, 1]), Some(Format::Xtc));
        assert_eq!(signature(&[0, 0, 7, 231]), Some(Format::Xtc));
        assert_eq!(signature(&[0, 0, 7, 201]), Some(Format::Trr));
        assert_eq!(signature(b"\x54\0\0\0CORD"), Some(Format::Dcd));
        assert_eq!(signature(b"\0\0\0\x54CORD"), Some(Format::Dcd));
        assert_eq!(signature(b"\x54\0\0\0\0\0\0\0CORD"), Some(Format::Dcd));
        assert_eq!(signature(b"\0\0\0\0\0\0\0\x54CORD"), Some(Format::Dcd));
        assert_eq!(signature(b"CDF\x01"), Some(Format::Ncdf));
        assert_eq!(signature(b"CDF\x02\0\0\0\x05"), Some(Format::Ncdf));
        assert_eq!(signature(b"CDF\x05"), Some(Format::Ncdf));
        assert_eq!(signature(b"CDF\x03"), None);
        assert_eq!(signature(b"\x54\0\0\0VELD"), None);
        assert_eq!(signature(b"\0\0\x07"), None);
        assert_eq!(signature(b""), None);
    }

    #[test]
    fn description_says_what_was_found() {
        assert_eq!(describe(b"CDF\x03"), "a NetCDF file of an unknown version");
        assert_eq!(describe(b"HEADER    HYDROL"), "text that begins with \"HEADER    HYDROL\"");
        assert_eq!(describe(&[0, 255]), "a file that begins with the bytes 00 ff");
    }

    #[test]
    fn name_of_a_format_is_found_in_capitals_or_not() {
        assert_eq!(Format::from_name("xtc").unwrap(), Format::Xtc);
        assert!(Format::from_name("pdb").unwrap_err().to_string().contains("known: XTC, TRR, DCD"));
    }
}

//! Opening of files by their content, regardless of their names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::source::bytes::{Access, FileBytes, OpenFiles, RemoteFile};
use crate::source::chain::{ChainSource, Overlaps};
use crate::source::damage::OnError;
use crate::source::dcd::Dcd;
use crate::source::frame_index::Keep;
use crate::source::memory::MemorySource;
use crate::source::netcdf3::NetCdf3;
use crate::source::tolerant::Tolerant;
use crate::source::trr::Trr;
use crate::source::xtc::Xtc;
use crate::source::{Source, SourceExt};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// GROMACS' compressed trajectory.
    Xtc,
    /// GROMACS' trajectory in full precision, with velocities and forces.
    Trr,
    /// The binary trajectory of CHARMM, NAMD, X-PLOR, LAMMPS and OpenMM.
    Dcd,
    /// AMBER's trajectory in NetCDF, classic formats.
    Ncdf,
}

/// Bytes that are enough to tell the formats apart.
const SIGNATURE: u64 = 16;

impl Format {
    /// All formats.
    pub(crate) const ALL: [Format; 4] = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Xtc => "XTC",
            Format::Trr => "TRR",
            Format::Dcd => "DCD",
            Format::Ncdf => "NCDF",
        }
    }

    /// The format of that name, in capitals or not.
    pub(crate) fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known = Self::ALL.map(Format::name).join(", ");
            Error::unsupported(format!("unknown trajectory format {name:?}; known: {known}"))
        })
    }

    /// The format of a file, by its first bytes.
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

/// How files are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The format, where the content is not to decide.
    pub format: Option<Format>,
    /// The way to the bytes.
    pub access: Access,
    /// Where an index of the frames is kept.
    pub keep: Keep,
    /// Handling of files that overlap in time.
    pub overlaps: Overlaps,
}

impl Options {
    /// The options of these names.
    pub fn from_names(format: Option<&str>, access: &str, index: &str, overlaps: &str) -> Result<Self> {
        let format = format.map(Format::from_name).transpose()?;
        let access = match access {
            "auto" => Access::Auto,
            "map" => Access::Map,
            "read" => Access::Read,
            _ => return Err(Error::unsupported(format!("unknown access {access:?}; known: auto, map, read"))),
        };
        let keep = match index {
            "cache" => Keep::Cache,
            "beside" => Keep::Beside,
            "none" => Keep::Nowhere,
            _ => {
                return Err(Error::unsupported(format!(
                    "unknown place of the index {index:?}; known: cache, beside, none"
                )));
            }
        };
        let overlaps = match overlaps {
            "keep" => Overlaps::Keep,
            "drop" => Overlaps::Drop,
            _ => return Err(Error::unsupported(format!("unknown overlaps {overlaps:?}; known: keep, drop"))),
        };
        Ok(Options { format, access, keep, overlaps })
    }
}

/// Open trajectory with its format.
#[derive(Clone)]
pub enum Opened {
    /// An XTC file.
    Xtc(Arc<Xtc>),
    /// A TRR file.
    Trr(Arc<Trr>),
    /// A DCD file.
    Dcd(Arc<Dcd>),
    /// An AMBER NetCDF file of a classic format.
    Ncdf(Arc<NetCdf3>),
    /// Frames in memory.
    Memory(Arc<MemorySource>),
    /// Trajectory that the caller has opened, and the name of its format.
    Other(Arc<dyn Source>, Arc<str>),
    /// Several of them.
    Chain(Arc<ChainSource>, Vec<Opened>),
}

impl Opened {
    /// The trajectory as a source.
    pub fn source(&self) -> Arc<dyn Source> {
        match self {
            Opened::Xtc(xtc) => Arc::clone(xtc) as _,
            Opened::Trr(trr) => Arc::clone(trr) as _,
            Opened::Dcd(dcd) => Arc::clone(dcd) as _,
            Opened::Ncdf(ncdf) => Arc::clone(ncdf) as _,
            Opened::Memory(memory) => Arc::clone(memory) as _,
            Opened::Other(source, _) => Arc::clone(source),
            Opened::Chain(chain, _) => Arc::clone(chain) as _,
        }
    }

    /// The trajectory as a source that does `on_error` where a frame is damaged.
    pub fn source_on_error(&self, on_error: OnError) -> Result<Arc<dyn Source>> {
        let name = on_error.name();
        if on_error != OnError::Raise && self.source().growth().is_some() {
            let message = format!("on_error={name:?} is for trajectories that are there: this one still grows");
            return Err(Error::unsupported(message));
        }
        Ok(match on_error {
            OnError::Raise => self.source(),
            OnError::Stop => Arc::new(Tolerant::stopping(self.past_damage())),
            OnError::Skip => Arc::new(Tolerant::skipping(self.past_damage())),
        })
    }

    /// The trajectory with the frames that are found behind damage, where a format lets them be found.
    fn past_damage(&self) -> Arc<dyn Source> {
        match self {
            Opened::Xtc(xtc) => Arc::new(xtc.past_damage()),
            Opened::Trr(trr) => Arc::new(trr.past_damage()),
            Opened::Chain(chain, parts) => Arc::new(chain.map(|i| parts[i].past_damage())),
            Opened::Dcd(_) | Opened::Ncdf(_) | Opened::Memory(_) | Opened::Other(..) => self.source(),
        }
    }

    /// The trajectories that it is made of: itself, or the segments of a chain.
    pub fn parts(&self) -> &[Opened] {
        match self {
            Opened::Chain(_, parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// The name of the format.
    pub fn format(&self) -> &str {
        match self {
            Opened::Xtc(_) => Format::Xtc.name(),
            Opened::Trr(_) => Format::Trr.name(),
            Opened::Dcd(_) => Format::Dcd.name(),
            Opened::Ncdf(_) => Format::Ncdf.name(),
            Opened::Memory(_) => "memory",
            Opened::Other(_, format) => format,
            Opened::Chain(..) => "chain",
        }
    }
}

/// Whether a file is one of HDF5, whose structure is for others to read. Its signature stands at its beginning, or
/// behind a block of the user's of 512 bytes or of that times a power of two.
pub fn is_hdf5(path: &Path) -> Result<bool> {
    const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";
    let file = FileBytes::open(path, Access::Read)?;
    for at in std::iter::once(0).chain((9..32).map(|power| 1 << power)) {
        if at + SIGNATURE.len() as u64 > file.len() {
            break;
        }
        if file.read_vec(at..at + SIGNATURE.len() as u64)? == SIGNATURE {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Joins trajectories of the same atoms to one. The paths name them in errors.
pub fn chain(parts: Vec<(PathBuf, Opened)>, overlaps: Overlaps) -> Result<Opened> {
    let segments = parts.iter().map(|(path, part)| (path.clone(), part.source())).collect();
    let chain = ChainSource::new(segments, overlaps)?;
    Ok(Opened::Chain(Arc::new(chain), parts.into_iter().map(|(_, part)| part).collect()))
}

/// Where a file is.
pub enum Location {
    /// In a file system.
    Path(PathBuf),
    /// Behind a network.
    Remote(RemoteFile),
}

impl Location {
    fn open(self, access: Access, open_files: &Arc<OpenFiles>) -> Result<FileBytes> {
        match self {
            Location::Path(path) => FileBytes::open_among(&path, access, Arc::clone(open_files)),
            Location::Remote(file) => Ok(FileBytes::remote(file)),
        }
    }
}

/// Opens files as one trajectory.
pub fn open(locations: Vec<Location>, options: Options) -> Result<Opened> {
    let open_files = Arc::default();
    let open_one = |location: Location| {
        let file = location.open(options.access, &open_files)?;
        Ok((file.path().to_owned(), open_file(file, options)?))
    };
    let mut opened = locations.into_iter().map(open_one).collect::<Result<Vec<_>>>()?;
    if opened.len() == 1 {
        return Ok(opened.swap_remove(0).1);
    }
    chain(opened, options.overlaps)
}

fn open_file(file: FileBytes, options: Options) -> Result<Opened> {
    let format = options.format.map_or_else(|| Format::detect(&file), Ok)?;
    Ok(match format {
        Format::Xtc => Opened::Xtc(Arc::new(Xtc::open(file, options.keep)?)),
        Format::Trr => Opened::Trr(Arc::new(Trr::open(file, options.keep)?)),
        Format::Dcd => Opened::Dcd(Arc::new(Dcd::open(file)?)),
        Format::Ncdf => Opened::Ncdf(Arc::new(NetCdf3::open(file)?)),
    })
}

fn signature(head: &[u8]) -> Option<Format> {
    let word: [u8; 4] = head.get(..4)?.try_into().ok()?;
    // XTC: 1995, or 2023 for frames that may be larger, big-endian; TRR: 1993. DCD: a Fortran record of 84 bytes that
    // begins with CORD; its length is in either byte order, in 4 or 8 bytes.
    match i32::from_be_bytes(word) {
        1995 | 2023 => return Some(Format::Xtc),
        1993 => return Some(Format::Trr),
        _ => {}
    }
    // NetCDF of the classic, 64-bit offset and 64-bit data formats.
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

/// The names of all formats.
fn known() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Type of a file that is not a supported trajectory, guessed from its first bytes.
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

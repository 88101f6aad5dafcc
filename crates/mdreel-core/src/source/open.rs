//! Opening of files by their content, regardless of their names.

mod external;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::source::bytes::{Access, ExternalReads, FileBytes, OpenFiles, RemoteFile};
use crate::source::chain::{ChainSource, Overlaps, Segment, SegmentProperties};
use crate::source::damage::OnError;
use crate::source::dcd::Dcd;
use crate::source::deferred::{Deferred, OpenLater, Outline, check_content};
use crate::source::format::Format;
use crate::source::frame_index::Keep;
use crate::source::lazy_list::LazyList;
use crate::source::memory::MemorySource;
use crate::source::netcdf3::NetCdf3;
use crate::source::tolerant::Tolerant;
use crate::source::trr::Trr;
use crate::source::xtc::Xtc;
use crate::source::{Source, SourceExt};

/// Options for opening files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The format; `None` detects it from the content.
    pub format: Option<Format>,
    /// The way in which bytes are read.
    pub access: Access,
    /// The place where the frame index is kept.
    pub keep: Keep,
    /// Handling of files that overlap in time.
    pub overlaps: Overlaps,
}

impl Options {
    /// Parses the names of the options.
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

/// An open trajectory together with its format.
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
    /// A trajectory that the caller has opened, with the name of its format.
    Other(Arc<dyn Source>, Arc<str>),
    /// A file that another process has opened. This process opens it at the first read.
    Deferred(Arc<Deferred>, Arc<KnownFile>),
    /// A chain of several trajectories.
    Chain(Arc<ChainSource>, Arc<Parts>),
}

impl Opened {
    /// Returns the trajectory as a source.
    pub fn source(&self) -> Arc<dyn Source> {
        match self {
            Opened::Xtc(xtc) => Arc::clone(xtc) as _,
            Opened::Trr(trr) => Arc::clone(trr) as _,
            Opened::Dcd(dcd) => Arc::clone(dcd) as _,
            Opened::Ncdf(ncdf) => Arc::clone(ncdf) as _,
            Opened::Memory(memory) => Arc::clone(memory) as _,
            Opened::Other(source, _) => Arc::clone(source),
            Opened::Deferred(deferred, _) => Arc::clone(deferred) as _,
            Opened::Chain(chain, _) => Arc::clone(chain) as _,
        }
    }

    /// Returns the trajectory as a source that handles damaged frames according to `on_error`.
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

    /// Returns a source that also finds the frames after a damaged part, if the format allows it.
    fn past_damage(&self) -> Arc<dyn Source> {
        match self {
            Opened::Xtc(xtc) => Arc::new(xtc.past_damage()),
            Opened::Trr(trr) => Arc::new(trr.past_damage()),
            Opened::Deferred(deferred, _) => Arc::new(deferred.past_damage()),
            Opened::Chain(chain, parts) => {
                let parts = Arc::clone(parts);
                Arc::new(chain.map(move |i| parts.get(i).opened.past_damage()))
            }
            Opened::Dcd(_) | Opened::Ncdf(_) | Opened::Memory(_) | Opened::Other(..) => self.source(),
        }
    }

    /// Returns the number of parts of the trajectory: the segments of a chain, or otherwise the trajectory itself.
    pub fn n_parts(&self) -> usize {
        match self {
            Opened::Chain(_, parts) => parts.len(),
            _ => 1,
        }
    }

    /// Returns the parts of the trajectory.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = &Opened> {
        (0..self.n_parts()).map(move |i| match self {
            Opened::Chain(_, parts) => &parts.get(i).opened,
            _ => self,
        })
    }

    /// Returns the name of the format.
    pub fn format(&self) -> &str {
        match self {
            Opened::Xtc(_) => Format::Xtc.name(),
            Opened::Trr(_) => Format::Trr.name(),
            Opened::Dcd(_) => Format::Dcd.name(),
            Opened::Ncdf(_) => Format::Ncdf.name(),
            Opened::Memory(_) => "memory",
            Opened::Other(_, format) => format,
            Opened::Deferred(_, file) => file.outline.content.format.name(),
            Opened::Chain(..) => "chain",
        }
    }
}

/// Returns whether a file is an HDF5 file. The structure of such a file is read by another library.
///
/// The HDF5 signature stands at the beginning of the file, or after a user block of 512 bytes times a power of two.
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

/// A part of a chain.
#[derive(Clone)]
pub struct Part {
    pub(crate) path: Arc<Path>,
    pub(crate) opened: Opened,
}

/// The parts of a chain, in order.
pub type Parts = LazyList<Part>;

/// Joins trajectories of the same atoms into one. Error messages name the segments by their paths.
pub fn chain(parts: Vec<(Arc<Path>, Opened)>, overlaps: Overlaps) -> Result<Opened> {
    let parts: Vec<_> = parts.into_iter().map(|(path, opened)| Part { path, opened }).collect();
    let properties: Vec<_> = parts.iter().map(|part| SegmentProperties::of(&*part.opened.source())).collect();
    chain_later(parts.into(), properties, overlaps)
}

/// Joins trajectories with these properties into one. Each one is created when it is needed.
pub(crate) fn chain_later(
    parts: Parts,
    properties: impl IntoIterator<Item = SegmentProperties>,
    overlaps: Overlaps,
) -> Result<Opened> {
    let parts = Arc::new(parts);
    let all = Arc::clone(&parts);
    let create = move |i| {
        let Part { path, opened } = all.get(i);
        Segment { source: opened.source(), path: Arc::clone(path) }
    };
    let segments = LazyList::new(parts.len(), create);
    Ok(Opened::Chain(Arc::new(ChainSource::new(segments, properties, overlaps)?), parts))
}

/// The location of a file.
#[derive(Clone)]
pub enum Location {
    /// A path in a file system.
    Path(Arc<Path>),
    /// A path in a file system. Another library reads most bytes of the file.
    External(PathBuf, Arc<dyn ExternalReads>),
    /// A remote file, read through the network.
    Remote(Arc<RemoteFile>),
}

impl Location {
    fn path(&self) -> &Path {
        match self {
            Location::Path(path) => path,
            Location::External(path, _) => path,
            Location::Remote(file) => file.path(),
        }
    }

    fn open(self, access: Access, open_files: &Arc<OpenFiles>) -> Result<FileBytes> {
        match self {
            Location::Path(path) => FileBytes::open_among(&path, access, Arc::clone(open_files)),
            Location::External(path, reads) => {
                Ok(FileBytes::open_among(&path, access, Arc::clone(open_files))?.read_by(reads))
            }
            Location::Remote(file) => Ok(FileBytes::remote(file)),
        }
    }
}

/// Opens files as one trajectory. `open_files` limits how many of them are open at a time.
pub fn open(locations: Vec<Location>, options: Options, open_files: &Arc<OpenFiles>) -> Result<Opened> {
    let open_one = |location: Location| {
        let file = location.open(options.access, open_files)?;
        Ok((file.path().into(), open_file(file, options)?))
    };
    let mut opened = locations.into_iter().map(open_one).collect::<Result<Vec<_>>>()?;
    if opened.len() == 1 {
        return Ok(opened.swap_remove(0).1);
    }
    chain(opened, options.overlaps)
}

/// The description of an open trajectory for other processes, which open its files at the first read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    outlines: Vec<Outline>,
    /// The index of the first frame of each segment, if known.
    first_frames: Option<Vec<u64>>,
}

impl Announcement {
    /// Describes `opened`. Returns `None` if it contains anything besides files that other processes can open.
    pub fn of(opened: &Opened) -> Result<Option<Self>> {
        let outline = |part: &Opened| match part {
            Opened::Deferred(_, file) => Ok(Some(file.outline.clone())),
            Opened::Chain(..) | Opened::Memory(_) | Opened::Other(..) => Ok(None),
            _ => Outline::of(&*part.source(), part.format()),
        };
        let outlines: Option<Vec<_>> = opened.parts().map(outline).collect::<Result<_>>()?;
        let first_frames = match opened {
            Opened::Chain(chain, _) => chain.known_first_frames().map(<[u64]>::to_vec),
            _ => None,
        };
        Ok(outlines.map(|outlines| Announcement { outlines, first_frames }))
    }

    /// Encodes the announcement for another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|error| Error::worker(format!("a trajectory cannot be told of: {error}")))
    }

    /// Decodes an announcement.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |error| Error::mismatch(format!("{} bytes do not tell of a trajectory: {error}", bytes.len()));
        postcard::from_bytes(bytes).map_err(wrong)
    }
}

/// A file that another process has opened and described.
pub struct KnownFile {
    location: Location,
    outline: Outline,
    options: Options,
    open_files: Arc<OpenFiles>,
    opened: Mutex<Option<Opened>>,
}

impl KnownFile {
    pub(crate) fn new(location: Location, outline: Outline, options: Options, open_files: Arc<OpenFiles>) -> Self {
        KnownFile { location, outline, options, open_files, opened: Mutex::default() }
    }

    /// Returns the open file. Returns an error if it is not the file that was described.
    pub fn opened(&self) -> Result<Opened> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let stamped = |path: &Path| {
            let stamp = self.outline.stamp.clone();
            FileBytes::stamped(path, self.options.access, stamp, Arc::clone(&self.open_files))
        };
        let file = match &self.location {
            Location::Path(path) => stamped(path),
            Location::External(path, reads) => stamped(path).read_by(Arc::clone(reads)),
            Location::Remote(file) => FileBytes::remote(Arc::clone(file)),
        };
        file.ensure_open()?;
        file.check_remote(&self.outline.stamp)?;
        let found = open_file(file, self.options)?;
        if let Some(Outline { content, .. }) = Outline::of(&*found.source(), found.format())? {
            check_content(self.location.path(), &self.outline.content, &content)?;
        }
        Ok(opened.insert(found).clone())
    }
}

impl OpenLater for KnownFile {
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn open(&self, past_damage: bool) -> Result<Arc<dyn Source>> {
        let opened = self.opened()?;
        Ok(if past_damage { opened.past_damage() } else { opened.source() })
    }
}

/// Returns a trajectory of files that another process has opened. This process opens each file at the first read.
/// `open_files` limits how many of them are open at a time.
pub fn open_announced(
    locations: Vec<Location>,
    options: Options,
    told: Announcement,
    open_files: &Arc<OpenFiles>,
) -> Result<Opened> {
    let Announcement { outlines, first_frames } = told;
    if outlines.len() != locations.len() {
        let (n, n_told) = (locations.len(), outlines.len());
        return Err(Error::mismatch(format!("{n} files, but {n_told} were told of")));
    }
    let defer = |(location, outline): (Location, Outline)| {
        let path = location.path().into();
        let file = Arc::new(KnownFile::new(location, outline, options, Arc::clone(open_files)));
        (path, Opened::Deferred(Arc::new(Deferred::new(Arc::clone(&file) as _, false)), file))
    };
    let mut parts: Vec<_> = locations.into_iter().zip(outlines).map(defer).collect();
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0).1);
    }
    let chained = chain(parts, options.overlaps)?;
    if let (Opened::Chain(chain, _), Some(firsts)) = (&chained, first_frames) {
        chain.take_first_frames(firsts)?;
    }
    Ok(chained)
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

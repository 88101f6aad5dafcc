//! Descriptions of chains, kept for later runs.
//!
//! A run over many files needs the content of each file and the positions of its frames. The kept description contains
//! both, together with facts from the file system: size, inode, modification time and change time. A later run queries
//! the files without opening them, and opens each file when it reads its first frame. If one of the files differs, the
//! run ignores the description. Other processes receive the description in the form in which it was kept.
//!
//! mdreel describes only whole files: all frames are located, and each file ends with a complete frame. The files must
//! not have been written in the last seconds, so that each later change shows in their times.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bytes::{OpenFiles, Stamps};
use super::chain::Overlaps;
use super::deferred::{Content, Deferred, OpenLater, Outline, WholeFile};
use super::frame_index::kept::{checksum, place_of_several, write};
use super::frame_index::{FrameIndex, Keep};
use super::open::{KnownFile, Location, Opened, Options, chain};
use super::{Source, SourceExt};
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"mdreelC1";
const HEAD: usize = 8 * 4;
/// The separator between the paths of a chain.
const SEPARATOR: char = '\0';

/// The description of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptChain {
    /// The paths as given to the run that opened the files.
    paths: String,
    /// The directory that relative paths refer to; `None` if all paths are absolute.
    folder: Option<PathBuf>,
    stamps: Stamps,
    contents: Vec<Content>,
    /// The index of the first frame of each file, followed by the number of all frames.
    first_frames: Vec<u64>,
    /// Number of frames of each file in `index`.
    n_located: Vec<u64>,
    /// The frames of all files that need an index, as if these files were one.
    index: Arc<FrameIndex>,
}

/// A description and the notes kept with it.
pub struct Kept {
    /// The description.
    pub chain: KeptChain,
    /// The description, encoded for other processes.
    pub bytes: Vec<u8>,
    /// Notes that the caller has added.
    pub notes: String,
}

impl KeptChain {
    /// Loads the description of the files at these paths, which are separated by NUL. Returns `None` if there is no
    /// description, or if a file has changed.
    pub fn load(paths: &str, options: Options) -> Option<Kept> {
        let place = place_of(paths, options)?;
        let each: Vec<_> = paths.split(SEPARATOR).map(Path::new).collect();
        let (now, kept) = Stamps::of(&each, || Kept::read(&place, paths));
        let (now, mut kept) = (now?, kept?);
        if kept.chain.stamps.len() != now.len() || !now.are_unchanged(&kept.chain.stamps) {
            return None;
        }
        if now != kept.chain.stamps {
            // The files are the same, but seen from another machine.
            kept.chain.stamps = now;
            kept.bytes = postcard::to_allocvec(&kept.chain).ok()?;
        }
        Some(kept)
    }

    /// Keeps the description of `opened`, which was opened from these paths. Each file must end with a complete frame.
    /// Returns whether the chain can be described.
    pub fn keep(opened: &Opened, paths: &str, options: Options, notes: &str) -> Result<bool> {
        let Some(place) = place_of(paths, options) else { return Ok(false) };
        let Some(chain) = KeptChain::of(opened, paths)? else { return Ok(false) };
        let content = postcard::to_allocvec(&chain)
            .map_err(|error| Error::worker(format!("a chain cannot be turned into bytes: {error}")))?;
        let sum = checksum(&content, checksum(notes.as_bytes(), 0));
        let mut head = MAGIC.to_vec();
        for word in [content.len() as u64, notes.len() as u64, sum] {
            head.extend(word.to_le_bytes());
        }
        write(&place, options.keep, &[&head, &content, notes.as_bytes()])?;
        Ok(true)
    }

    fn of(opened: &Opened, paths: &str) -> Result<Option<Self>> {
        let Opened::Chain(chain, parts) = opened else { return Ok(None) };
        let each: Vec<_> = paths.split(SEPARATOR).map(Path::new).collect();
        let outline = |part: &Opened| match part {
            Opened::Deferred(_, file) => Ok(Some(file.outline().clone())),
            Opened::Chain(..) | Opened::Memory(_) | Opened::Other(..) => Ok(None),
            _ => Outline::of(&*part.source(), part.format()),
        };
        let Some(outlines) = parts.iter().map(outline).collect::<Result<Option<Vec<_>>>>()? else { return Ok(None) };
        let (Some(stamps), ()) = Stamps::of(&each, || ()) else { return Ok(None) };
        if !stamps.are_settled() || !stamps.agree(outlines.iter().map(|outline| &outline.stamp)) {
            return Ok(None);
        }
        let (mut index, mut n_located) = (FrameIndex::default(), Vec::new());
        for (part, outline) in parts.iter().zip(&outlines) {
            let n_before = index.len();
            if outline.content.needs_index() {
                let places = part.source().places();
                let [places] = &places[..] else { return Ok(None) };
                let Some(own) = places.whole_index() else { return Ok(None) };
                index.append(own);
            }
            n_located.push((index.len() - n_before) as u64);
        }
        // All frames are located, so counting them opens no file.
        chain.n_frames()?;
        let Some(first_frames) = chain.known_first_frames() else { return Ok(None) };
        Ok(Some(KeptChain {
            paths: paths.to_owned(),
            folder: folder_of(&each),
            stamps,
            contents: outlines.into_iter().map(|outline| outline.content).collect(),
            first_frames: first_frames.to_vec(),
            n_located,
            index: Arc::new(index),
        }))
    }

    /// Decodes the description that another process has sent.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let chain: KeptChain = postcard::from_bytes(bytes)
            .map_err(|error| Error::mismatch(format!("{} bytes do not describe a chain: {error}", bytes.len())))?;
        if chain.is_complete() {
            return Ok(chain);
        }
        Err(Error::mismatch(format!("{} bytes describe no complete chain", bytes.len())))
    }

    /// Returns whether the columns have matching lengths.
    fn is_complete(&self) -> bool {
        let n_files = self.stamps.len();
        let n_located: u64 = self.n_located.iter().fold(0, |sum, n| sum.saturating_add(*n));
        n_files > 1
            && [self.contents.len(), self.n_located.len(), self.paths.split(SEPARATOR).count()] == [n_files; 3]
            && self.index.is_complete()
            && n_located == self.index.len() as u64
    }

    /// Opens the files as one trajectory. Each file is opened when it is first read. `open_files` limits how many of
    /// them are open at a time.
    pub fn open(self, options: Options, open_files: &Arc<OpenFiles>) -> Result<Opened> {
        let (mut first, mut start) = (0, 0_u64);
        let mut parts = Vec::with_capacity(self.stamps.len());
        let columns = self.contents.into_iter().zip(self.n_located);
        for (i, (path, (content, n_located))) in self.paths.split(SEPARATOR).zip(columns).enumerate() {
            let path = PathBuf::from(path);
            let outline = Outline { stamp: self.stamps.get(i), content };
            let index = outline.content.needs_index().then(|| Arc::clone(&self.index));
            let len = if index.is_some() { outline.stamp.len } else { 0 };
            let (frames, bytes) = (first..first + n_located as usize, start..start.saturating_add(len));
            (first, start) = (frames.end, bytes.end);
            let location = Location::Path(path.clone());
            let file = Arc::new(KnownFile::new(location, outline, options, Arc::clone(open_files)));
            let deferred = Deferred::known(Arc::clone(&file) as _, WholeFile { index, frames, bytes });
            parts.push((path, Opened::Deferred(Arc::new(deferred), file)));
        }
        let chained = chain(parts, options.overlaps)?;
        if let Opened::Chain(chain, _) = &chained {
            chain.take_first_frames(self.first_frames)?;
        }
        Ok(chained)
    }
}

impl Kept {
    /// Reads the description kept for these paths.
    fn read(place: &Path, paths: &str) -> Option<Self> {
        let mut bytes = fs::read(place).ok()?;
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let word = |k: usize| u64::from_le_bytes(head[8 * k..8 * k + 8].try_into().unwrap_or_default());
        let [n_content, n_notes, sum] = [1, 2, 3].map(word);
        if &head[..8] != MAGIC || n_content.checked_add(n_notes)? != rest.len() as u64 {
            return None;
        }
        let (content, notes) = rest.split_at(n_content as usize);
        if checksum(content, checksum(notes, 0)) != sum {
            return None;
        }
        let notes = String::from_utf8(notes.to_vec()).ok()?;
        bytes.truncate(HEAD + n_content as usize);
        bytes.drain(..HEAD);
        let chain = KeptChain::from_bytes(&bytes).ok()?;
        let each: Vec<_> = paths.split(SEPARATOR).map(Path::new).collect();
        let is_of_these = chain.paths == paths && chain.folder == folder_of(&each);
        is_of_these.then_some(Kept { chain, bytes, notes })
    }
}

/// Returns the working directory of this process, if some of the paths are relative.
fn folder_of(paths: &[&Path]) -> Option<PathBuf> {
    let is_needed = paths.iter().any(|path| path.is_relative());
    is_needed.then(|| std::env::current_dir().unwrap_or_default())
}

fn place_of(paths: &str, options: Options) -> Option<PathBuf> {
    let each: Vec<_> = paths.split(SEPARATOR).map(Path::new).collect();
    let first = each.first().filter(|_| each.len() > 1)?;
    let format = options.format.map_or("", |format| format.name());
    let overlaps = if options.overlaps == Overlaps::Drop { "drop" } else { "keep" };
    let folder = folder_of(&each).unwrap_or_default();
    let key = format!("{format}{SEPARATOR}{overlaps}{SEPARATOR}{}{SEPARATOR}{paths}", folder.display());
    match options.keep {
        Keep::Nowhere => None,
        keep => place_of_several(first, keep, key.as_bytes()),
    }
}

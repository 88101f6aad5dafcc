//! Descriptions of chains, kept for later runs.
//!
//! A run over many files needs the content of each file and the positions of its frames. The kept description contains
//! both, together with facts from the file system: size, inode, modification time and change time. A later run opens
//! each file when it reads its first frame. Meanwhile, it queries all files without opening them. If one of them
//! differs, the run discards its results and ignores the description. Other processes receive the description in the
//! form in which it was kept.
//!
//! mdreel describes only whole files: all frames are located, and each file ends with a complete frame. The files must
//! not have been written in the last seconds, so that each later change shows in their times.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bytes::{OpenFiles, StampQuery, Stamps};
use super::chain::Overlaps;
use super::deferred::{Content, Deferred, OpenLater, Outline, WholeFile};
use super::frame_index::kept::{checksum, place_of_several, write};
use super::frame_index::{FrameIndex, Keep};
use super::open::{KnownFile, Location, Opened, Options, Part, Parts, chain_later};
use super::{Source, SourceExt};
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"mdreelC3";
const HEAD: usize = 8 * 5;
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
    pub notes: Notes,
}

/// Notes that are kept with a description, and read when they are needed.
#[derive(Debug)]
pub struct Notes {
    place: PathBuf,
    start: u64,
    len: u64,
    sum: u64,
}

impl Notes {
    /// Reads the notes. Returns `None` if the description has been removed or replaced.
    pub fn read(&self) -> Option<String> {
        let mut file = File::open(&self.place).ok()?;
        file.seek(SeekFrom::Start(self.start)).ok()?;
        let mut notes = Vec::new();
        file.take(self.len).read_to_end(&mut notes).ok()?;
        let is_whole = notes.len() as u64 == self.len && checksum(&notes, 0) == self.sum;
        is_whole.then(|| String::from_utf8(notes).ok()).flatten()
    }
}

/// A check whether files have changed since they were described.
#[derive(Debug)]
pub struct FileCheck {
    files: Files,
    described: Stamps,
}

#[derive(Debug)]
enum Files {
    /// The paths, separated by NUL.
    Listed(String),
    Queried(StampQuery),
}

impl FileCheck {
    /// Begins to query the files on other threads, if this has not been done.
    pub fn begin(&mut self) {
        if let Files::Listed(paths) = &self.files {
            self.files = Files::Queried(StampQuery::start(each_of(paths)));
        }
    }

    /// Queries the files, and returns whether all of them are unchanged.
    pub fn are_unchanged(mut self) -> bool {
        self.begin();
        match self.files {
            Files::Listed(_) => false,
            Files::Queried(query) => query.stamps().is_some_and(|now| now.are_unchanged(&self.described)),
        }
    }
}

impl KeptChain {
    /// Loads the description of the files at these paths, which are separated by NUL. Returns `None` if there is no
    /// description.
    ///
    /// The returned check tells whether the description is still true. There is no check if a check in advance was
    /// necessary. In this case, a description that is not true is not returned.
    pub fn load(paths: &str, options: Options) -> Option<(Kept, Option<FileCheck>)> {
        let place = place_of(paths, options)?;
        let mut kept = Kept::read(&place, paths)?;
        if kept.chain.stamps.are_of_this_machine() {
            let check = FileCheck { files: Files::Listed(paths.to_owned()), described: kept.chain.stamps.clone() };
            return Some((kept, Some(check)));
        }
        // The files were seen from another machine, where device numbers may differ.
        let now = StampQuery::start(each_of(paths)).stamps()?;
        if !now.are_unchanged(&kept.chain.stamps) {
            return None;
        }
        kept.chain.stamps = now;
        kept.bytes = postcard::to_allocvec(&kept.chain).ok()?;
        Some((kept, None))
    }

    /// Keeps the description of `opened`, which was opened from these paths. Each file must end with a complete frame.
    /// Returns whether the chain can be described.
    pub fn keep(opened: &Opened, paths: &str, options: Options, notes: &str) -> Result<bool> {
        let Some(place) = place_of(paths, options) else { return Ok(false) };
        let Some(chain) = KeptChain::of(opened, paths)?.filter(|chain| chain.stamps.are_settled()) else {
            return Ok(false);
        };
        let content = postcard::to_allocvec(&chain)
            .map_err(|error| Error::worker(format!("a chain cannot be turned into bytes: {error}")))?;
        let sums = [&content, notes.as_bytes()].map(|bytes| checksum(bytes, 0));
        let mut head = MAGIC.to_vec();
        for word in [content.len() as u64, notes.len() as u64].into_iter().chain(sums) {
            head.extend(word.to_le_bytes());
        }
        write(&place, options.keep, &[&head, &content, notes.as_bytes()])?;
        Ok(true)
    }

    fn of(opened: &Opened, paths: &str) -> Result<Option<Self>> {
        let Opened::Chain(chain, _) = opened else { return Ok(None) };
        let each: Vec<_> = paths.split(SEPARATOR).map(Path::new).collect();
        let outline = |part: &Opened| match part {
            Opened::Deferred(_, file) => Ok(Some(file.outline().clone())),
            Opened::Chain(..) | Opened::Memory(_) | Opened::Other(..) => Ok(None),
            _ => Outline::of(&*part.source(), part.format()),
        };
        let Some(outlines) = opened.parts().map(outline).collect::<Result<Option<Vec<_>>>>()? else { return Ok(None) };
        let Some(stamps) = StampQuery::start(each_of(paths)).stamps() else { return Ok(None) };
        if !stamps.agree(outlines.iter().map(|outline| &outline.stamp)) {
            return Ok(None);
        }
        let (mut index, mut n_located) = (FrameIndex::default(), Vec::new());
        for (part, outline) in opened.parts().zip(&outlines) {
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
        let n_paths = 1 + self.paths.bytes().filter(|&byte| byte == SEPARATOR as u8).count();
        n_files > 1
            && [self.contents.len(), self.n_located.len(), n_paths] == [n_files; 3]
            && self.index.is_complete()
            && n_located == self.index.len() as u64
    }

    /// Opens the files as one trajectory. Each file is opened when it is first read, and its source is created when it
    /// is needed. `open_files` limits how many files are open at a time.
    pub fn open(mut self, options: Options, open_files: &Arc<OpenFiles>) -> Result<Opened> {
        let first_frames = std::mem::take(&mut self.first_frames);
        let properties: Vec<_> = self.contents.iter().map(|content| content.as_segment(true)).collect();
        let (begins, open_files) = (self.begins(), Arc::clone(open_files));
        let create = move |i: usize| self.part(i, [begins[i], begins[i + 1]], options, &open_files);
        let chained = chain_later(Parts::new(properties.len(), create), properties, options.overlaps)?;
        if let Opened::Chain(chain, _) = &chained {
            chain.take_first_frames(first_frames)?;
        }
        Ok(chained)
    }

    /// Returns where each file begins in the columns, and where the next file would begin.
    fn begins(&self) -> Vec<Begin> {
        let mut at = Begin::default();
        let mut begins = vec![at];
        let columns = self.contents.iter().zip(&self.n_located).enumerate();
        for (path, (i, (content, &n_located))) in self.paths.split(SEPARATOR).zip(columns) {
            let n_bytes = if content.needs_index() { self.stamps.n_bytes(i) } else { 0 };
            at.path += path.len() + SEPARATOR.len_utf8();
            at.frame += n_located as usize;
            at.byte = at.byte.saturating_add(n_bytes);
            begins.push(at);
        }
        begins
    }

    /// Creates the source of a file.
    fn part(&self, i: usize, [begin, next]: [Begin; 2], options: Options, open_files: &Arc<OpenFiles>) -> Part {
        let path: Arc<Path> = Path::new(&self.paths[begin.path..next.path - SEPARATOR.len_utf8()]).into();
        let outline = Outline { stamp: self.stamps.get(i), content: self.contents[i].clone() };
        let index = outline.content.needs_index().then(|| Arc::clone(&self.index));
        let whole = WholeFile { index, frames: begin.frame..next.frame, bytes: begin.byte..next.byte };
        let file = KnownFile::new(Location::Path(Arc::clone(&path)), outline, options, Arc::clone(open_files));
        let file = Arc::new(file);
        let deferred = Deferred::known(Arc::clone(&file) as _, whole);
        Part { path, opened: Opened::Deferred(Arc::new(deferred), file) }
    }
}

/// The beginning of a file in the columns of a description.
#[derive(Clone, Copy, Default)]
struct Begin {
    /// The byte of `paths`.
    path: usize,
    /// The frame of the index.
    frame: usize,
    /// The byte of the files in the index, as if they were one file.
    byte: u64,
}

impl Kept {
    /// Reads the description kept for these paths.
    fn read(place: &Path, paths: &str) -> Option<Self> {
        let mut file = File::open(place).ok()?;
        let mut head = [0; HEAD];
        file.read_exact(&mut head).ok()?;
        let word = |k: usize| u64::from_le_bytes(head[8 * k..8 * k + 8].try_into().unwrap_or_default());
        let [n_content, n_notes, sum, sum_of_notes] = [1, 2, 3, 4].map(word);
        let start = n_content.checked_add(HEAD as u64)?;
        if &head[..8] != MAGIC || start.checked_add(n_notes)? != file.metadata().ok()?.len() {
            return None;
        }
        let mut bytes = vec![0; n_content as usize];
        file.read_exact(&mut bytes).ok()?;
        if checksum(&bytes, 0) != sum {
            return None;
        }
        let notes = Notes { place: place.to_owned(), start, len: n_notes, sum: sum_of_notes };
        let chain = KeptChain::from_bytes(&bytes).ok()?;
        let each: Vec<_> = paths.split(SEPARATOR).map(Path::new).collect();
        let is_of_these = chain.paths == paths && chain.folder == folder_of(&each);
        is_of_these.then_some(Kept { chain, bytes, notes })
    }
}

fn each_of(paths: &str) -> Vec<PathBuf> {
    paths.split(SEPARATOR).map(PathBuf::from).collect()
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

#[cfg(test)]
mod tests;

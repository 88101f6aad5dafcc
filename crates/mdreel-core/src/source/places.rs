//! Frame offsets and other facts about the files of a trajectory, which one process finds and sends to the other
//! readers.

use serde::{Deserialize, Serialize};

use super::bytes::FileBytes;
use super::fault::Fault;
use super::frame_index::FrameIndex;
use super::located::{Gap, Located};
use crate::error::{Error, Result};

/// Facts about a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// Size of the file in bytes. Another process must see the same size.
    n_bytes: u64,
    located: Option<Known>,
}

/// The positions of the frames of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Known {
    index: FrameIndex,
    rest: Option<Fault>,
    gaps: Vec<Gap>,
}

impl Places {
    /// Collects the facts about `file`.
    pub(crate) fn of(file: &FileBytes, located: Option<&Located>) -> Self {
        let known = |located: &Located| Known {
            index: located.index.clone(),
            rest: located.rest.clone(),
            gaps: located.gaps.clone(),
        };
        Places { n_bytes: file.len(), located: located.map(known) }
    }

    /// Returns the facts about a file of `n_bytes` whose frames have not been located.
    pub(crate) fn of_bytes(n_bytes: u64) -> Self {
        Places { n_bytes, located: None }
    }

    /// Returns the facts about a file of `n_bytes` in which all frames are in `index`, up to the end of the file.
    pub(crate) fn located_whole(n_bytes: u64, index: FrameIndex) -> Self {
        Places { n_bytes, located: Some(Known { index, rest: None, gaps: Vec::new() }) }
    }

    /// Returns the number of frames, if they have been located.
    pub(crate) fn n_frames(&self) -> Result<Option<u64>> {
        let Some(Known { index, .. }) = &self.located else { return Ok(None) };
        check_whole(index)?;
        Ok(Some(index.len() as u64))
    }

    /// Returns whether the frames have been located, and nothing follows the last whole one.
    pub(crate) fn end_whole(&self) -> bool {
        self.located.as_ref().is_some_and(|known| known.rest.is_none())
    }

    /// Returns the time of each frame in ps, if the frames have been located.
    pub(crate) fn times(&self) -> Option<Vec<f64>> {
        self.located.as_ref().map(|known| known.index.frames().map(|frame| frame.time).collect())
    }

    /// Returns the located frames; `None` if they have not been located.
    pub(crate) fn located(self) -> Result<Option<Located>> {
        let Some(Known { index, rest, gaps }) = self.located else { return Ok(None) };
        check_whole(&index)?;
        Ok(Some(Located { index, rest, gaps }))
    }

    /// Returns the index of all frames up to the end of the file, if they have been located and the file contains
    /// nothing else.
    pub(crate) fn whole_index(&self) -> Option<&FrameIndex> {
        let known = self.located.as_ref()?;
        let is_whole = known.rest.is_none() && known.gaps.is_empty() && known.index.end == self.n_bytes;
        is_whole.then_some(&known.index)
    }

    /// Checks that `file` is the described file, as far as this is possible without reading it.
    pub(crate) fn check(&self, file: &FileBytes) -> Result<()> {
        if file.len() == self.n_bytes {
            return Ok(());
        }
        let (here, there) = (file.len(), self.n_bytes);
        let message = format!("{here} bytes are seen here, {there} where the run was begun: it is not the same file");
        Err(Error::format(file.path(), None, None, message))
    }

    /// Encodes the facts about all files for another process.
    pub fn to_bytes(all: &[Places]) -> Result<Vec<u8>> {
        postcard::to_allocvec(all).map_err(|error| Error::worker(format!("frames' places cannot be sent: {error}")))
    }

    /// Decodes the facts.
    pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Places>> {
        let wrong = |error| Error::mismatch(format!("{} bytes do not say where frames are: {error}", bytes.len()));
        postcard::from_bytes(bytes).map_err(wrong)
    }
}

fn check_whole(index: &FrameIndex) -> Result<()> {
    if index.is_whole() {
        return Ok(());
    }
    Err(Error::mismatch(format!("what is said of {} frames is not whole", index.len())))
}

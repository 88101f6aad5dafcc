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
    /// Bytes in the file: another process must see as many.
    n_bytes: u64,
    located: Option<Known>,
}

/// Where its frames are, if that has to be found out, and was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Known {
    index: FrameIndex,
    rest: Option<Fault>,
    gaps: Vec<Gap>,
}

impl Places {
    /// Facts about `file`.
    pub(crate) fn of(file: &FileBytes, located: Option<&Located>) -> Self {
        let known = |located: &Located| Known {
            index: located.index.clone(),
            rest: located.rest.clone(),
            gaps: located.gaps.clone(),
        };
        Places { n_bytes: file.len(), located: located.map(known) }
    }

    /// Where its frames are, if that has to be found out, and was.
    pub(crate) fn located(self) -> Result<Option<Located>> {
        let Some(Known { index, rest, gaps }) = self.located else { return Ok(None) };
        if !index.is_whole() {
            return Err(Error::mismatch(format!("what is said of {} frames is not whole", index.len())));
        }
        Ok(Some(Located { index, rest, gaps }))
    }

    /// Checks that `file` is the described file, as far as possible without reading it.
    pub(crate) fn check(&self, file: &FileBytes) -> Result<()> {
        if file.len() == self.n_bytes {
            return Ok(());
        }
        let (here, there) = (file.len(), self.n_bytes);
        let message = format!("{here} bytes are seen here, {there} where the run was begun: it is not the same file");
        Err(Error::format(file.path(), None, None, message))
    }

    /// Itself and others as bytes, for another process.
    pub fn to_bytes(all: &[Places]) -> Result<Vec<u8>> {
        postcard::to_allocvec(all).map_err(|error| Error::worker(format!("frames' places cannot be sent: {error}")))
    }

    /// Decodes the facts from bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Places>> {
        let wrong = |error| Error::mismatch(format!("{} bytes do not say where frames are: {error}", bytes.len()));
        postcard::from_bytes(bytes).map_err(wrong)
    }
}

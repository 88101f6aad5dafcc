//! The recorded state of the producers of a directory: whether one has come, and how it has ended.

use serde::{Deserialize, Serialize};

use super::names::{STATE, STATE_MAGIC};
use crate::directory::Directory;
use crate::end::End;
use crate::record;
use mdreel_core::error::Result;

/// The recorded state of the producers. Programs without mdreel support read only the number of the variant (`names::ENDED`), so
/// the order of the variants matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// More files may come.
    Open,
    /// No more files will come.
    Ended(End),
}

impl State {
    /// Writes the state atomically. With `is_synced`, it also stays complete if the machine crashes.
    pub(crate) fn write(&self, directory: &Directory, is_synced: bool) -> Result<()> {
        record::write(directory, STATE, STATE_MAGIC, self, is_synced)
    }

    /// Reads the state; `None` if no producer has used the directory.
    pub(crate) fn read(directory: &Directory) -> Result<Option<Self>> {
        record::read_if_there(directory, STATE, STATE_MAGIC)
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::ENDED;
    use super::*;

    #[test]
    fn one_byte_of_the_file_says_whether_more_files_may_come() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(&place.path().join("frames")).unwrap();
        assert_eq!(State::read(&directory).unwrap(), None);
        let failed = State::Ended(End::Failed("the disk is full".into()));
        for state in [State::Open, State::Ended(End::Finished), State::Open, State::Ended(End::Stopped), failed] {
            state.write(&directory, false).unwrap();
            assert_eq!(State::read(&directory).unwrap(), Some(state.clone()));
            let bytes = std::fs::read(directory.join(STATE)).unwrap();
            assert_eq!(bytes[ENDED] == 0, state == State::Open);
        }
    }
}

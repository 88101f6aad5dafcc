//! What is kept of the producers of a directory: whether one has come, and how it has ended.

use serde::{Deserialize, Serialize};

use super::names::{STATE, STATE_MAGIC};
use crate::directory::Directory;
use crate::end::End;
use crate::record;
use mdreel_core::error::Result;

/// What the producers have said. Programs that know nothing of mdreel have only the number of the variant looked at
/// (`names::ENDED`), so that the order matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// More files may come.
    Open,
    /// No more files will come.
    Ended(End),
}

impl State {
    /// Writes it: whole, or not at all. `is_synced` says whether that holds also if the machine dies.
    pub(crate) fn write(&self, directory: &Directory, is_synced: bool) -> Result<()> {
        record::write(directory, STATE, STATE_MAGIC, self, is_synced)
    }

    /// Reads it; `None` if no producer has been here.
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

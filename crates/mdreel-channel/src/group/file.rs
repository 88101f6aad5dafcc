//! The files of groups, which contain the properties of a group and the progress of its members.
//!
//! If the channel has a staging, they are next to its segments and have its level of durability. Otherwise, they are in the
//! directory of the channel. `group.NAME` contains the properties of the group, and `group.NAME.member.MEMBER` the last commit of
//! a member. Each of these files is replaced as a whole. `group.NAME.lock` has a byte for each live member and one for each step
//! that a member works on.

use std::fs::{File, OpenOptions};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::consumer::Start;
use super::super::directory::Directory;
use super::super::layout::{Header, checksum};
use super::super::record;
use super::super::staging::Durability;
use super::super::staging::place::StagingPlace;
use super::settled::Settled;
use mdreel_core::error::{Error, Result};

const FACTS_MAGIC: &[u8; 8] = b"MDREELGR";
const STATE_MAGIC: &[u8; 8] = b"MDREELGS";
/// The largest state of a result that a commit accepts, in bytes.
pub(crate) const MOST_BLOB: usize = 64 << 10;
/// The longest name of a group or a member.
pub(crate) const MOST_NAME: usize = 64;

/// The distribution of frames among the members of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Each member gets every frame.
    Broadcast,
    /// The members share the frames: each frame goes to one of them.
    Share,
}

impl Mode {
    /// Describes what a group of this mode does, for messages.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Mode::Broadcast => "gives each member every frame",
            Mode::Share => "shares its frames among its members",
        }
    }

    /// Describes the frames that a member of this mode requests, for messages.
    pub(super) fn wish(self) -> &'static str {
        match self {
            Mode::Broadcast => "every frame",
            Mode::Share => "a share of the frames",
        }
    }
}

/// The properties of a group, defined by its first member.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The distribution of frames among the members.
    pub mode: Mode,
    /// The frame with which the group begins as long as it has no commits.
    pub start: Start,
}

impl Facts {
    /// Returns the number of the first frame that a group without commits may need.
    pub(super) fn first(self) -> u64 {
        if let Start::Sequence(sequence) = self.start { sequence } else { 0 }
    }
}

/// The identity of a frame in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The number of the producer's incarnation.
    pub epoch: u64,
    /// The number of the frame.
    pub sequence: u64,
    /// The step of the simulation.
    pub step: i64,
}

impl From<&Header> for Identity {
    fn from(header: &Header) -> Self {
        Identity { epoch: header.epoch, sequence: header.sequence, step: header.step }
    }
}

/// The last commit of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number of commits so far.
    pub n_commits: u64,
    /// The last frame that was committed.
    pub last: Option<Identity>,
    /// The number of the first frame that is still needed: by this member in broadcast mode, by any member in share mode.
    pub from: u64,
    /// In share mode, the steps that need no more work, as far as this member knows.
    pub settled: Settled,
    /// The number of frames that the member could not get.
    pub missed: u64,
    /// The state of the result, in a format of the member's choice.
    #[serde(with = "serde_bytes")]
    pub blob: Vec<u8>,
}

/// Returns the directory with the files of a channel's groups, and whether these files must survive a crash of the machine.
pub(super) fn place(channel: &Path) -> Result<(Directory, bool)> {
    let directory = Directory::open(channel)?;
    // A new producer records the place of its staging before it creates the ring. Until then, the place is unknown.
    directory.open_file("ring", OpenOptions::new().read(true))?;
    match StagingPlace::of(&directory)? {
        Some(place) => Ok((Directory::open(&place.path)?, place.level == Durability::Fsync)),
        None => Ok((directory, false)),
    }
}

/// Refuses a name that is empty, too long, or has characters that would make file names ambiguous.
pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if (1..=MOST_NAME).contains(&name.len()) && name.chars().all(is_allowed) {
        return Ok(());
    }
    let expected = format!("expected 1 to {MOST_NAME} letters of the ASCII alphabet, digits, - and _");
    Err(Error::mismatch(format!("name of a {what}: {expected}, got {name:?}")))
}

fn facts_name(group: &str) -> String {
    format!("group.{group}")
}

pub(super) fn lock_name(group: &str) -> String {
    format!("group.{group}.lock")
}

pub(super) fn state_name(group: &str, member: &str) -> String {
    format!("group.{group}.member.{member}")
}

/// Returns a number for a member, from which the byte of its lock follows.
pub(super) fn number(member: &str) -> u64 {
    checksum(member.as_bytes())
}

pub(crate) fn read_facts(directory: &Directory, group: &str) -> Result<Option<Facts>> {
    record::read_if_there(directory, &facts_name(group), FACTS_MAGIC)
}

pub(super) fn write_facts(directory: &Directory, group: &str, facts: &Facts, is_synced: bool) -> Result<()> {
    record::write(directory, &facts_name(group), FACTS_MAGIC, facts, is_synced)
}

/// Reads the last commit of a member. It also returns the open file, as the next commit replaces it by another one.
pub(crate) fn read_state(directory: &Directory, group: &str, member: &str) -> Result<Option<(State, File)>> {
    record::read_if_there_with_file(directory, &state_name(group, member), STATE_MAGIC)
}

pub(super) fn write_state(
    directory: &Directory,
    (group, member): (&str, &str),
    state: &State,
    is_synced: bool,
) -> Result<()> {
    record::write(directory, &state_name(group, member), STATE_MAGIC, state, is_synced)
}

/// Returns the groups whose files are in a directory, in order.
pub(crate) fn groups(directory: &Directory) -> Result<Vec<String>> {
    names(directory, |name| match name.split('.').collect::<Vec<_>>()[..] {
        ["group", group] => Some(group.to_owned()),
        _ => None,
    })
}

/// Returns the members of a group, in order.
pub(super) fn members(directory: &Directory, group: &str) -> Result<Vec<String>> {
    names(directory, |name| match name.split('.').collect::<Vec<_>>()[..] {
        ["group", of, "member", member] if of == group => Some(member.to_owned()),
        _ => None,
    })
}

fn names(directory: &Directory, wanted: impl Fn(&str) -> Option<String>) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(directory.path()).map_err(|error| Error::io(directory.path(), error))?;
    let all = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = all.filter_map(|name| wanted(&name)).collect();
    found.sort_unstable();
    Ok(found)
}

pub(super) fn remove(directory: &Directory, group: &str, members: &[String]) -> Result<()> {
    let states = members.iter().map(|member| state_name(group, member));
    // The group exists as long as the file of its properties does, so this file is removed first.
    for name in std::iter::once(facts_name(group)).chain(states) {
        let path = directory.join(&name);
        std::fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
    }
    Ok(())
}

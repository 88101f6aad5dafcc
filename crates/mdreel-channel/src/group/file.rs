//! The files of groups: what a group is, and how far each of its members has come.
//!
//! They lie beside the segments of a channel that has a staging, and then have its level of durability; else in the channel's own
//! directory. `group.NAME` says what the group is, `group.NAME.member.MEMBER` what a member has committed; each file is replaced as
//! a whole. `group.NAME.lock` has a byte for each member that lives and one for each step that a member works on.

use std::fs::File;
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
/// The longest state of a result that a commit takes.
pub(crate) const MOST_BLOB: usize = 64 << 10;
/// The longest name of a group or a member.
pub(crate) const MOST_NAME: usize = 64;

/// Which frames a member of a group gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Each frame.
    Broadcast,
    /// Those that no other member has: each frame goes to one of them.
    Share,
}

impl Mode {
    /// What a group of this mode does, for messages.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Mode::Broadcast => "gives each member every frame",
            Mode::Share => "shares its frames among its members",
        }
    }

    /// What a member of this mode asks for, for messages.
    pub(super) fn wish(self) -> &'static str {
        match self {
            Mode::Broadcast => "every frame",
            Mode::Share => "a share of the frames",
        }
    }
}

/// What a group is; said by who comes first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Which frames a member gets.
    pub mode: Mode,
    /// Where a group begins that has not committed anything.
    pub start: Start,
}

impl Facts {
    /// The first frame that may be wanted by a group without commits.
    pub(super) fn first(self) -> u64 {
        if let Start::Sequence(sequence) = self.start { sequence } else { 0 }
    }
}

/// Which frame of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The incarnation of the producer.
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

/// What a member has committed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// How many commits there were.
    pub n_commits: u64,
    /// The frame that was committed last.
    pub last: Option<Identity>,
    /// No frame before this number is wanted: by this member of a broadcast, by any member that shares.
    pub from: u64,
    /// Of a group that shares: the steps that need no more work, as far as this member knows.
    pub settled: Settled,
    /// Frames that could not be had any more.
    pub missed: u64,
    /// The state of the result, in its own words.
    #[serde(with = "serde_bytes")]
    pub blob: Vec<u8>,
}

/// Where the groups of a channel have their files, and whether these survive the machine.
pub(super) fn place(channel: &Path) -> Result<(Directory, bool)> {
    let directory = Directory::open(channel)?;
    match StagingPlace::of(&directory)? {
        Some(place) => Ok((Directory::open(&place.path)?, place.level == Durability::Fsync)),
        None => Ok((directory, false)),
    }
}

/// Refuses names that would not be those of one file each.
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

/// A number for a member, for its lock.
pub(super) fn number(member: &str) -> u64 {
    checksum(member.as_bytes())
}

pub(crate) fn read_facts(directory: &Directory, group: &str) -> Result<Option<Facts>> {
    record::read_if_there(directory, &facts_name(group), FACTS_MAGIC)
}

pub(super) fn write_facts(directory: &Directory, group: &str, facts: &Facts, is_synced: bool) -> Result<()> {
    record::write(directory, &facts_name(group), FACTS_MAGIC, facts, is_synced)
}

/// What a member has committed, and the file that says it, which is another one after the next commit.
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

/// The groups whose files are in a directory, in order.
pub(crate) fn groups(directory: &Directory) -> Result<Vec<String>> {
    names(directory, |name| match name.split('.').collect::<Vec<_>>()[..] {
        ["group", group] => Some(group.to_owned()),
        _ => None,
    })
}

/// The members of a group, in order.
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
    // The group is there for as long as it says what it is.
    for name in std::iter::once(facts_name(group)).chain(states) {
        let path = directory.join(&name);
        std::fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
    }
    Ok(())
}

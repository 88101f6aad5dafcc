//! Groups of consumers. A member of a group commits its result together with its place in the stream.
//!
//! A commit replaces one small file of the member. The file contains the frames that the member has processed and the state of
//! its result, so the two never disagree. A member that died continues from its last commit and receives the frames after it
//! again. No frame is therefore in a committed result twice, and none is left out. Effects outside that state (for example, a
//! line that the member has written to another file) are repeated for these frames.

pub mod file;
pub(crate) mod settled;
mod share;
mod sharing;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::catch_up::{CatchUp, Found, Next};
use super::consumer::{Consumer, Start};
use super::directory::Directory;
use super::lock::Locks;
use super::manifest::Manifest;
use super::staging::place::StagingPlace;
use super::staging::{Durability, reserve};
use file::{Facts, Identity, MOST_BLOB, Mode, State};
use mdreel_core::error::{Error, Result};
use share::{FIRST_MEMBER, Share};

/// The byte whose lock protects the definition of a group.
const FACTS: u64 = 0;
/// The longest time to wait for another member that defines a group.
const LONG: Duration = Duration::from_secs(10);

/// The parameters with which a member joins a group.
#[derive(Debug, Clone, Copy)]
pub struct Membership<'a> {
    /// The name of the group.
    pub group: &'a str,
    /// The name of the member. It rejoins under the same name.
    pub member: &'a str,
    /// The mode of the group, which determines which frames a member gets.
    pub mode: Mode,
    /// The start of the group if it is new. `Start::Latest` means the frame that comes next at that time, also for members that
    /// join later.
    pub start: Start,
}

/// A group as recorded in its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// The properties of the group.
    pub facts: Facts,
    /// The members, in the order of their names, with the last commit of each.
    pub members: Vec<(String, State)>,
}

impl Group {
    /// Returns the number of the first frame that the group may still need.
    fn first_wanted(&self) -> u64 {
        let from = self.members.iter().map(|(_, state)| state.from);
        let from = if self.facts.mode == Mode::Share { from.max() } else { from.min() };
        from.unwrap_or(self.facts.first())
    }
}

/// A member of a group.
#[derive(Debug)]
pub struct Member {
    path: PathBuf,
    group: String,
    name: String,
    directory: Directory,
    is_synced: bool,
    /// Holds the locks on the member's name and on the steps that it works on.
    locks: Locks,
    mode: Mode,
    reader: CatchUp,
    state: State,
    /// The number of frames missed before this process joined.
    missed_before: u64,
    /// The last frame that was handed out.
    last: Option<Identity>,
    share: Share,
}

impl Member {
    /// Joins a group of the channel in a directory. A member that has joined before continues after its last commit.
    pub fn join(channel: &Path, membership: Membership<'_>) -> Result<Self> {
        let Membership { group, member, mode, .. } = membership;
        file::check_name("group", group)?;
        file::check_name("member", member)?;
        let (directory, is_synced) = file::place(channel)?;
        let locks = Locks::open(&directory, &file::lock_name(group), true)?;
        if !locks.take(member_byte(member))? {
            let message = format!("member {member} of group {group} is there already");
            return Err(Error::stream(message).in_file(channel));
        }
        let facts = agree(channel, &directory, &locks, (group, mode, membership.start), is_synced)?;
        let state = file::read_state(&directory, group, member)?.map(|(state, _)| state);
        let is_new = state.is_none();
        let state = state.unwrap_or_else(|| State { from: facts.first(), ..State::default() });
        if is_new {
            // From now on, the staging keeps the frames that the member has not committed.
            file::write_state(&directory, (group, member), &state, is_synced)?;
        }
        let mut share = Share::default();
        let (from, seen) = match mode {
            Mode::Broadcast => (state.from, state.last.map(|last| (last.epoch, last.step))),
            Mode::Share => {
                share.refresh(&directory, group, member)?;
                (share.first_wanted(&state), None)
            }
        };
        let has_commits = from > facts.first();
        let reader =
            if has_commits { CatchUp::resume(channel, from, seen)? } else { CatchUp::join(channel, facts.start)? };
        let (path, group, name) = (channel.to_owned(), group.to_owned(), member.to_owned());
        let (missed_before, last) = (state.missed, None);
        Ok(Member { path, group, name, directory, is_synced, locks, mode, reader, state, missed_before, last, share })
    }

    /// Returns the properties that all frames share.
    pub fn manifest(&self) -> &Manifest {
        self.reader.manifest()
    }

    /// Returns the last commit of this member, made in this process or an earlier one.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the number of frames that this member could not get.
    pub fn missed(&self) -> u64 {
        self.missed_before + self.reader.missed() + self.share.missed
    }

    /// Returns the next frame for this member, or the end; see `Consumer::next`.
    ///
    /// In a group that shares frames, a member without uncommitted frames receives the end when all others have committed their
    /// frames, or have died and this member has processed theirs. A member with uncommitted frames receives the end at once: it
    /// has to commit, and may call `next` again.
    pub fn next(&mut self, at_most: Duration) -> Result<Next<'_>> {
        let found = self.find(at_most)?;
        Ok(self.reader.hand_out(found))
    }

    /// Finds the next frame as `next` does. The caller has to give the frame back.
    pub(super) fn find(&mut self, at_most: Duration) -> Result<Found> {
        self.locks.check()?;
        let found = match self.mode {
            Mode::Broadcast => self.reader.find(at_most)?,
            Mode::Share => self.find_shared(at_most)?,
        };
        if let Found::Ring(header) | Found::Staged(header) | Found::Again(header) = &found {
            self.last = Some(Identity::from(header));
        }
        Ok(found)
    }

    pub(super) fn reader(&self) -> &CatchUp {
        &self.reader
    }

    pub(super) fn reader_mut(&mut self) -> &mut CatchUp {
        &mut self.reader
    }

    /// Commits all frames that were handed out. `blob` is the state of the result that includes them.
    pub fn commit(&mut self, blob: &[u8]) -> Result<()> {
        let last = match self.mode {
            Mode::Broadcast => self.last,
            Mode::Share => self.share.last(),
        };
        self.commit_through(last, blob)
    }

    /// Commits the frames that were handed out up to `through`. `blob` is the state of the result that includes these frames and
    /// no others. With `None`, only the state changes. After success, the commit is in effect; after an error, the previous one
    /// is.
    pub(crate) fn commit_through(&mut self, through: Option<Identity>, blob: &[u8]) -> Result<()> {
        self.locks.check()?;
        if blob.len() > MOST_BLOB {
            let message = format!("a commit: expected a state of at most {MOST_BLOB} bytes, got {}", blob.len());
            return Err(Error::mismatch(message).in_file(&self.path));
        }
        let mut state = self.state.clone();
        state.blob = blob.to_vec();
        state.n_commits += 1;
        state.missed = self.missed();
        state.last = through.or(state.last);
        if self.mode == Mode::Share {
            return self.commit_shared(through, state);
        }
        if let Some(through) = through {
            let next = through.sequence.saturating_add(1);
            if self.last.is_none_or(|last| through.sequence > last.sequence) || next < state.from {
                return Err(self.not_had(through));
            }
            state.from = next;
        }
        self.keep(state)
    }

    /// Replaces the file of this member.
    fn keep(&mut self, state: State) -> Result<()> {
        file::write_state(&self.directory, (&self.group, &self.name), &state, self.is_synced)?;
        self.state = state;
        Ok(())
    }

    fn not_had(&self, through: Identity) -> Error {
        let Identity { sequence, step, .. } = through;
        let message =
            format!("a commit through frame {sequence} (step {step}), which member {} was not handed out", self.name);
        Error::mismatch(message).in_file(&self.path)
    }

    /// Returns the last commits of the group's members, in the order of their names. Together they form the shared result.
    pub(crate) fn states(&self) -> Result<Vec<(String, State)>> {
        states(&self.directory, &self.group)
    }

    /// Leaves the group for now, but keeps the frames that the caller holds.
    pub(super) fn step_aside(&mut self) -> Result<()> {
        self.locks.give_back_all()
    }

    /// Leaves the group for now. Its uncommitted frames go to other members if the group shares frames; otherwise, this member
    /// receives them again when it rejoins.
    pub fn leave(self) {}
}

fn member_byte(member: &str) -> u64 {
    FIRST_MEMBER + (file::number(member) >> 3)
}

/// Returns the properties of a group. The first member to join defines them.
fn agree(
    channel: &Path,
    directory: &Directory,
    locks: &Locks,
    (group, mode, start): (&str, Mode, Start),
    is_synced: bool,
) -> Result<Facts> {
    let begin = Instant::now();
    while !locks.take(FACTS)? {
        if begin.elapsed() > LONG {
            let message = format!("group {group}: another member has been joining for {LONG:?}");
            return Err(Error::stream_timeout(message).in_file(channel));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let outcome = file::read_facts(directory, group).and_then(|facts| match facts {
        Some(facts) => Ok(facts),
        None => {
            let start = match start {
                Start::Latest => Start::Sequence(Consumer::join(channel, start)?.sequence()),
                start => start,
            };
            let facts = Facts { mode, start };
            if directory.path() != channel {
                reserve::keep(directory)?;
            }
            file::write_facts(directory, group, &facts, is_synced)?;
            Ok(facts)
        }
    });
    locks.give_back(FACTS)?;
    let facts = outcome?;
    if facts.mode != mode {
        let message = format!("group {group} {}, but this member wants {}", facts.mode.rule(), mode.wish());
        return Err(Error::mismatch(message).in_file(channel));
    }
    Ok(facts)
}

/// Creates a group of the channel in a directory. The group begins with the next frame and has no members yet. An existing group
/// does not change.
pub fn declare(channel: &Path, group: &str, mode: Mode) -> Result<()> {
    file::check_name("group", group)?;
    let (directory, is_synced) = file::place(channel)?;
    let locks = Locks::open(&directory, &file::lock_name(group), true)?;
    agree(channel, &directory, &locks, (group, mode, Start::Latest), is_synced).map(|_| ())
}

fn states(directory: &Directory, group: &str) -> Result<Vec<(String, State)>> {
    let mut states = Vec::new();
    for member in file::members(directory, group)? {
        // The group may have been removed in the meantime.
        if let Some((state, _)) = file::read_state(directory, group, &member)? {
            states.push((member, state));
        }
    }
    Ok(states)
}

/// Returns the groups of the channel in a directory.
pub fn groups(channel: &Path) -> Result<Vec<Group>> {
    groups_in(&file::place(channel)?.0)
}

fn groups_in(directory: &Directory) -> Result<Vec<Group>> {
    let mut all = Vec::new();
    for name in file::groups(directory)? {
        if let Some(facts) = file::read_facts(directory, &name)? {
            let members = states(directory, &name)?;
            all.push(Group { name, facts, members });
        }
    }
    Ok(all)
}

/// Checks that the groups of a run that continues are where a producer with this staging looks for them. Otherwise, their members
/// would begin again without their commits.
pub(super) fn check_place(channel: &Directory, staging: Option<(&Path, Durability)>) -> Result<()> {
    let path = |place: Option<StagingPlace>| place.map_or_else(|| channel.path().to_owned(), |place| place.path);
    let (earlier, now) = (path(StagingPlace::of(channel)?), path(StagingPlace::to_note(staging)));
    if earlier == now || !earlier.exists() {
        return Ok(());
    }
    let groups = file::groups(&Directory::open(&earlier)?)?;
    if groups.is_empty() {
        return Ok(());
    }
    let found = format!("the commits of its groups ({}) are in {}", groups.join(", "), earlier.display());
    let advice = "use the same staging as before, or begin a new run";
    Err(Error::mismatch(format!("{found}, and would be lost with another staging: {advice}")).in_file(channel.path()))
}

/// Returns the number of the first frame that one of the groups in a directory may still need; `None` without groups.
pub(super) fn first_wanted(directory: &Directory) -> Result<Option<u64>> {
    Ok(groups_in(directory)?.iter().map(Group::first_wanted).min())
}

/// Removes a group of the channel in a directory, with all commits of its members. Returns a `Stream` error if one of them is
/// alive.
pub fn remove(channel: &Path, group: &str) -> Result<()> {
    file::check_name("group", group)?;
    let (directory, _) = file::place(channel)?;
    let locks = Locks::open(&directory, &file::lock_name(group), true)?;
    let members = file::members(&directory, group)?;
    for member in &members {
        if !locks.take(member_byte(member))? {
            let message = format!("group {group} is in use: its member {member} lives");
            return Err(Error::stream(message).in_file(channel));
        }
    }
    file::remove(&directory, group, &members)
}

//! The state of a group in share mode, in which each step goes to one member.
//!
//! A member that works on a step holds a lock on a byte for that step. The kernel drops the lock when its holder dies, and the
//! member commits the step before it releases the lock. A member that gets the lock of a step and does not find the step
//! committed is therefore the only one that works on it. Members need no other communication, and none of them has to detect a
//! death: the steps of a dead member are free.
//!
//! Members share steps, not frame numbers, because a restarted simulation gives the same step another number. Each member reads
//! all frames. It remembers the frames that others hold until these are committed, because it may have to process them.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::super::directory::Directory;
use super::file::{self, Identity, State};
use mdreel_core::error::{Error, Result};

/// The first byte of members' locks. The bytes of steps are below it.
pub(super) const FIRST_MEMBER: u64 = 1 << 62;
/// The interval between two checks for frames that others have given back.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// The largest number of frames that a member may have without a commit.
pub(super) const MOST_HANDED: usize = 1 << 16;
/// The largest absolute value of a step.
const MOST_STEP: i64 = 1 << 60;

/// The knowledge of a member about a group in share mode.
#[derive(Debug, Default)]
pub(super) struct Share {
    others: Vec<Other>,
    /// The frames that were handed out and not committed, in this order. The member holds the locks on their steps.
    pub(super) handed: VecDeque<Identity>,
    /// The frames that others work on, by step.
    pub(super) passed: BTreeMap<i64, Identity>,
    /// The last frame that was read in the order of the stream.
    pub(super) read: Option<Identity>,
    /// The greatest step that was read.
    pub(super) greatest: Option<i64>,
    pub(super) looked: Option<Instant>,
    /// The number of frames that no member can get any more.
    pub(super) missed: u64,
}

/// The commit of another member, as last read from its file.
#[derive(Debug)]
struct Other {
    name: String,
    state: State,
    /// The device and inode of that file. The next commit makes a new file, which cannot have the same inode as long as this one
    /// is open.
    number: (u64, u64),
    _file: File,
}

impl Share {
    /// Reads the commits of the other members that have changed.
    pub(super) fn refresh(&mut self, directory: &Directory, group: &str, member: &str) -> Result<()> {
        let names = file::members(directory, group)?;
        self.others.retain(|other| names.contains(&other.name));
        for name in names.into_iter().filter(|name| name != member) {
            let known = self.others.iter().position(|other| other.name == name);
            let path = directory.join(&file::state_name(group, &name));
            let now = path.symlink_metadata().ok().map(|facts| (facts.dev(), facts.ino()));
            if known.is_some_and(|at| Some(self.others[at].number) == now) {
                continue;
            }
            let Some((state, open)) = file::read_state(directory, group, &name)? else { continue };
            let facts = open.metadata().map_err(|error| Error::io(&path, error))?;
            let other = Other { name, state, number: (facts.dev(), facts.ino()), _file: open };
            match known {
                Some(at) => self.others[at] = other,
                None => self.others.push(other),
            }
        }
        Ok(())
    }

    pub(super) fn states<'a>(&'a self, own: &'a State) -> impl Iterator<Item = &'a State> {
        self.others.iter().map(|other| &other.state).chain(std::iter::once(own))
    }

    /// Returns the number of the first frame that the group may still need.
    pub(super) fn first_wanted(&self, own: &State) -> u64 {
        self.states(own).map(|state| state.from).max().unwrap_or_default()
    }

    /// Returns the last frame that was handed out and not committed.
    pub(super) fn last(&self) -> Option<Identity> {
        self.handed.back().copied()
    }

    pub(super) fn is_done(&self, own: &State, step: i64) -> bool {
        self.states(own).any(|state| state.settled.holds(step))
    }

    /// Drops the frames of others that have been committed.
    pub(super) fn settle(&mut self, own: &State) {
        let mut passed = std::mem::take(&mut self.passed);
        passed.retain(|step, _| !self.is_done(own, *step));
        self.passed = passed;
    }
}

/// Returns the byte of the lock on a step.
pub(super) fn byte(step: i64) -> Result<u64> {
    if !(-MOST_STEP..=MOST_STEP).contains(&step) {
        return Err(Error::unsupported(format!("a group that shares: expected steps up to {MOST_STEP}, got {step}")));
    }
    let byte = 1 + (step + MOST_STEP).cast_unsigned();
    debug_assert!(byte < FIRST_MEMBER);
    Ok(byte)
}

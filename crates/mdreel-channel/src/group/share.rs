//! A group that shares: each step goes to one member.
//!
//! Who works on a step holds a lock on a byte for it, which the kernel drops when the holder dies, and commits it before the lock
//! goes. So whoever gets the lock of a step and does not find it committed is the only one that works on it. Nothing else has to be
//! told to others, and nobody has to notice a death: what a dead member had is free.
//!
//! Steps are what is shared, and not numbers of frames: a restarted simulation gives the same step another number. Each member reads
//! all frames, and keeps in mind those that others have until they are committed, as these may have to be done by this one.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::super::directory::Directory;
use super::file::{self, Identity, State};
use mdreel_core::error::{Error, Result};

/// The bytes of steps lie below this, those of members above.
pub(super) const FIRST_MEMBER: u64 = 1 << 62;
/// So often it is looked whether others have given something back.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// More frames than this a member may not have without a commit.
pub(super) const MOST_HANDED: usize = 1 << 16;
/// Steps lie between this and its negative.
const MOST_STEP: i64 = 1 << 60;

/// What a member knows of a group that shares.
#[derive(Debug, Default)]
pub(super) struct Share {
    others: Vec<Other>,
    /// What was handed out and not committed, in this order. The locks on these steps are held.
    pub(super) handed: VecDeque<Identity>,
    /// What others work on, by step.
    pub(super) passed: BTreeMap<i64, Identity>,
    /// The frame that was read last in the order of the stream.
    pub(super) read: Option<Identity>,
    /// The greatest step that was read.
    pub(super) greatest: Option<i64>,
    pub(super) looked: Option<Instant>,
    /// Frames that nobody can have any more.
    pub(super) missed: u64,
}

/// What another member had committed when that was looked up.
#[derive(Debug)]
struct Other {
    name: String,
    state: State,
    /// The number of the file that said so. The next commit makes a new file, which cannot have the same number as long as this one
    /// is open.
    number: (u64, u64),
    _file: File,
}

impl Share {
    /// Looks up what others have committed.
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

    /// The first frame that may still be wanted.
    pub(super) fn first_wanted(&self, own: &State) -> u64 {
        self.states(own).map(|state| state.from).max().unwrap_or_default()
    }

    /// The last frame that was handed out and not committed.
    pub(super) fn last(&self) -> Option<Identity> {
        self.handed.back().copied()
    }

    pub(super) fn is_done(&self, own: &State, step: i64) -> bool {
        self.states(own).any(|state| state.settled.holds(step))
    }

    /// Forgets of what others work on that which they have committed.
    pub(super) fn settle(&mut self, own: &State) {
        let mut passed = std::mem::take(&mut self.passed);
        passed.retain(|step, _| !self.is_done(own, *step));
        self.passed = passed;
    }
}

/// The byte of a step.
pub(super) fn byte(step: i64) -> Result<u64> {
    if !(-MOST_STEP..=MOST_STEP).contains(&step) {
        return Err(Error::unsupported(format!("a group that shares: expected steps up to {MOST_STEP}, got {step}")));
    }
    let byte = 1 + (step + MOST_STEP).cast_unsigned();
    debug_assert!(byte < FIRST_MEMBER);
    Ok(byte)
}

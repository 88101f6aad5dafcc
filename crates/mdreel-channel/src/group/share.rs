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

use super::super::catch_up::Found;
use super::super::directory::Directory;
use super::super::layout::Header;
use super::file::{self, Identity, State};
use super::settled::Settled;
use super::{FIRST_MEMBER, Member};
use mdreel_core::error::{Error, Result};

/// So often it is looked whether others have given something back.
const LOOK: Duration = Duration::from_millis(20);
/// More frames than this a member may not have without a commit.
const MOST_HANDED: usize = 1 << 16;
/// Steps lie between this and its negative.
const MOST_STEP: i64 = 1 << 60;

/// What a member knows of a group that shares.
#[derive(Debug, Default)]
pub(super) struct Share {
    others: Vec<Other>,
    /// What was handed out and not committed, in this order. The locks on these steps are held.
    handed: VecDeque<Identity>,
    /// What others work on, by step.
    passed: BTreeMap<i64, Identity>,
    /// The frame that was read last in the order of the stream.
    read: Option<Identity>,
    /// The greatest step that was read.
    greatest: Option<i64>,
    looked: Option<Instant>,
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

    fn states<'a>(&'a self, own: &'a State) -> impl Iterator<Item = &'a State> {
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

    fn is_done(&self, own: &State, step: i64) -> bool {
        self.states(own).any(|state| state.settled.holds(step))
    }

    /// Forgets of what others work on that which they have committed.
    fn settle(&mut self, own: &State) {
        let mut passed = std::mem::take(&mut self.passed);
        passed.retain(|step, _| !self.is_done(own, *step));
        self.passed = passed;
    }
}

/// The byte of a step.
fn byte(step: i64) -> Result<u64> {
    if !(-MOST_STEP..=MOST_STEP).contains(&step) {
        return Err(Error::Unsupported(format!("a group that shares: expected steps up to {MOST_STEP}, got {step}")));
    }
    let byte = 1 + (step + MOST_STEP).cast_unsigned();
    debug_assert!(byte < FIRST_MEMBER);
    Ok(byte)
}

impl Member {
    /// The next frame that nobody else has.
    pub(super) fn find_shared(&mut self, at_most: Duration) -> Result<Found> {
        let begin = Instant::now();
        loop {
            if let Some(found) = self.find_given_back()? {
                return Ok(found);
            }
            let left = at_most.saturating_sub(begin.elapsed());
            match self.reader.find(left.min(LOOK)) {
                Ok(Found::End(end)) => {
                    // All was read: what a restarted simulation should have sent again, and has not, will not come.
                    let reader = &self.reader;
                    self.share.passed.retain(|_, passed| !reader.is_redone(passed.epoch, passed.step));
                    if self.share.passed.is_empty() || !self.share.handed.is_empty() {
                        return Ok(Found::End(end));
                    }
                    std::thread::sleep(left.min(LOOK));
                }
                Ok(found) => {
                    self.reader.forget_steps();
                    match self.try_take(&found) {
                        Ok(true) => return Ok(found),
                        Ok(false) => self.reader.give_back(&found),
                        Err(error) => {
                            self.reader.give_back(&found);
                            return Err(error);
                        }
                    }
                    // Frames of others do not use up the time: they come as fast as they can be read.
                    continue;
                }
                Err(Error::StreamTimeout(_)) => {}
                Err(error) => return Err(error),
            }
            if left.is_zero() {
                let n = self.share.passed.len();
                let message = format!("nothing to do within {at_most:?}; other members work on {n} frames");
                let place = format!("{}, member {} of group {}", self.path.display(), self.name, self.group);
                return Err(Error::StreamTimeout(format!("{place}: {message}")));
            }
        }
    }

    fn refresh(&mut self) -> Result<()> {
        self.share.refresh(&self.directory, &self.group, &self.name)
    }

    /// Whether a frame that was read is for this member from now on.
    fn try_take(&mut self, found: &Found) -> Result<bool> {
        let (Found::Ring(header) | Found::Staged(header) | Found::Again(header)) = found else { return Ok(false) };
        let identity = Identity::from(header);
        let step = identity.step;
        self.check_order(header)?;
        self.share.read = Some(identity);
        self.share.greatest = self.share.greatest.max(Some(step));
        if self.share.is_done(&self.state, step) || self.share.handed.iter().any(|handed| handed.step == step) {
            return Ok(false);
        }
        // Of a step that was read before a restart, this is the frame that counts.
        self.share.passed.insert(step, identity);
        if self.share.handed.len() >= MOST_HANDED {
            let message = format!("expected a commit after at most {MOST_HANDED} frames");
            return Err(Error::Mismatch(format!("{}, step {step}: {message}", self.path.display())));
        }
        self.try_lock(identity)
    }

    /// Takes the lock on a step that is not committed.
    fn try_lock(&mut self, identity: Identity) -> Result<bool> {
        let step = identity.step;
        if !self.locks.take(byte(step)?)? {
            return Ok(false);
        }
        // Who had it before has committed it before the lock went, or has died.
        let refreshed = self.refresh();
        if refreshed.is_err() || self.share.is_done(&self.state, step) {
            self.locks.give_back(byte(step)?)?;
            self.share.settle(&self.state);
            return refreshed.map(|()| false);
        }
        self.share.passed.remove(&step);
        self.share.handed.push_back(identity);
        Ok(true)
    }

    /// Steps are what is shared: one that comes twice would be done once.
    fn check_order(&self, header: &Header) -> Result<()> {
        match self.share.read {
            Some(read) if read.epoch == header.epoch && read.step >= header.step => Err(Error::Mismatch(format!(
                "{}, frame {}: a group can share frames whose steps grow, got step {} behind step {}",
                self.path.display(),
                header.sequence,
                header.step,
                read.step
            ))),
            _ => Ok(()),
        }
    }

    /// A frame that another member had, and has not committed before it died or left.
    fn find_given_back(&mut self) -> Result<Option<Found>> {
        if self.share.passed.is_empty() || self.share.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(None);
        }
        self.share.looked = Some(Instant::now());
        self.refresh()?;
        self.share.settle(&self.state);
        let candidates: Vec<Identity> = self.share.passed.values().copied().collect();
        for identity in candidates {
            // Of a restarted simulation, the frame counts that is yet to be read.
            if self.reader.is_redone(identity.epoch, identity.step) || !self.try_lock(identity)? {
                continue;
            }
            let found = self.reader.find_again(identity.sequence);
            if let Ok(Some(found)) = found {
                // There may be more of it.
                self.share.looked = None;
                return Ok(Some(found));
            }
            // Nobody can have it any more, or the next look tells.
            self.share.handed.pop_back();
            self.locks.give_back(byte(identity.step)?)?;
            if let Err(error) = found {
                self.share.passed.insert(identity.step, identity);
                return Err(error);
            }
            self.share.missed += 1;
        }
        Ok(None)
    }

    /// Commits what was handed out up to a frame.
    pub(super) fn commit_shared(&mut self, through: Option<Identity>, mut state: State) -> Result<()> {
        let n = match through {
            None => 0,
            Some(through) => match self.share.handed.iter().position(|handed| *handed == through) {
                Some(at) => at + 1,
                None => return Err(self.not_had(through)),
            },
        };
        self.refresh()?;
        self.share.settle(&self.state);
        let share = &self.share;
        let steps: Vec<i64> = share.handed.iter().take(n).map(|handed| handed.step).collect();
        let open = || share.handed.iter().skip(n).chain(share.passed.values());
        // What is read in this process begins where the whole group had nothing left.
        let from = open().map(|identity| identity.sequence).min().or(share.read.map(|read| read.sequence + 1));
        state.from = share.first_wanted(&self.state).max(from.unwrap_or_default());
        // Each step that was read is committed, handed out or somebody else's.
        let read = Settled::new(share.greatest, open().map(|identity| identity.step));
        let known = share.states(&self.state).map(|state| &state.settled);
        state.settled = Settled::union(&known.chain([&read]).collect::<Vec<_>>());
        self.keep(state)?;
        self.share.handed.drain(..n);
        // Behind the commit: who gets one of these locks now finds it.
        steps.into_iter().try_for_each(|step| self.locks.give_back(byte(step)?))
    }
}

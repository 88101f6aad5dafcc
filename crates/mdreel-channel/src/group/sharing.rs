//! The operations of a member of a group in share mode.

use std::time::{Duration, Instant};

use super::Member;
use super::file::{Identity, State};
use super::settled::Settled;
use super::share::{LOOK, MOST_HANDED, byte};
use crate::catch_up::Found;
use crate::layout::Header;
use mdreel_core::error::{Error, Result};

impl Member {
    /// Finds the next frame that no other member has.
    pub(super) fn find_shared(&mut self, at_most: Duration) -> Result<Found> {
        let begin = Instant::now();
        loop {
            if let Some(found) = self.find_given_back()? {
                return Ok(found);
            }
            let left = at_most.saturating_sub(begin.elapsed());
            let found = self.reader.find(left.min(LOOK));
            if let Err(error) = self.excuse_settled() {
                found.iter().for_each(|found| self.reader.give_back(found));
                return Err(error);
            }
            match found {
                Ok(Found::End(end)) => {
                    // The whole stream was read. A frame that a restarted simulation should have published again, but has not,
                    // will not come.
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
                    // Frames of others do not use up the time, because they come as fast as they can be read.
                    continue;
                }
                Err(Error::StreamTimeout(_)) => {}
                Err(error) => return Err(error),
            }
            if left.is_zero() {
                let n = self.share.passed.len();
                let message =
                    format!("nothing to do within {} s; other members work on {n} frames", at_most.as_secs_f64());
                let place = format!("{}, member {} of group {}", self.path.display(), self.name, self.group);
                return Err(Error::stream_timeout(format!("{place}: {message}")));
            }
        }
    }

    /// Excludes committed frames from the missed ones. Frames that the whole group has committed may be gone before a slow or
    /// rejoining member could read them.
    fn excuse_settled(&mut self) -> Result<()> {
        if self.reader.has_gaps() {
            self.refresh()?;
            self.reader.excuse_before(self.share.first_wanted(&self.state));
        }
        Ok(())
    }

    fn refresh(&mut self) -> Result<()> {
        self.share.refresh(&self.directory, &self.group, &self.name)
    }

    /// Takes the frame that was read for this member, if it needs work and its lock is free. Returns whether it was taken.
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
        // If the step was also read before a restart, this frame replaces the earlier one.
        self.share.passed.insert(step, identity);
        if self.share.handed.len() >= MOST_HANDED {
            let message = format!("expected a commit after at most {MOST_HANDED} frames");
            return Err(Error::mismatch(format!("{}, step {step}: {message}", self.path.display())));
        }
        self.try_lock(identity)
    }

    /// Takes the lock on a step that is not committed. Returns whether the step is this member's.
    fn try_lock(&mut self, identity: Identity) -> Result<bool> {
        let step = identity.step;
        if !self.locks.take(byte(step)?)? {
            return Ok(false);
        }
        // The previous holder has committed the step before it released the lock, or has died.
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

    /// Checks that the steps of an epoch increase. Members share steps, so a step that came twice would be processed once.
    fn check_order(&self, header: &Header) -> Result<()> {
        match self.share.read {
            Some(read) if read.epoch == header.epoch && read.step >= header.step => Err(Error::mismatch(format!(
                "a group can share frames whose steps grow, got step {} behind step {}",
                header.step, read.step
            ))
            .at_frame(header.sequence)
            .in_file(&self.path)),
            _ => Ok(()),
        }
    }

    /// Finds a frame that another member had and did not commit before it died or left.
    fn find_given_back(&mut self) -> Result<Option<Found>> {
        if self.share.passed.is_empty() || self.share.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(None);
        }
        self.share.looked = Some(Instant::now());
        self.refresh()?;
        self.share.settle(&self.state);
        let candidates: Vec<Identity> = self.share.passed.values().copied().collect();
        for identity in candidates {
            // After a restart, the frame to process is the one that is yet to be read.
            if self.reader.is_redone(identity.epoch, identity.step) || !self.try_lock(identity)? {
                continue;
            }
            let found = self.reader.find_again(identity.sequence);
            if let Ok(Some(found)) = found {
                // There may be more frames to find.
                self.share.looked = None;
                return Ok(Some(found));
            }
            // No member can get the frame any more, or an error occurred, and the next look tries again.
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

    /// Commits the frames that were handed out up to `through`.
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
        // The frames that this process read begin where the group had none left to process.
        let from = open().map(|identity| identity.sequence).min().or(share.read.map(|read| read.sequence + 1));
        state.from = share.first_wanted(&self.state).max(from.unwrap_or_default());
        // Each step that was read is committed, handed out, or held by another member.
        let read = Settled::new(share.greatest, open().map(|identity| identity.step));
        let known = share.states(&self.state).map(|state| &state.settled);
        state.settled = Settled::union(&known.chain([&read]).collect::<Vec<_>>());
        self.keep(state)?;
        self.share.handed.drain(..n);
        // The locks are released after the commit, so that a member that gets one of them finds the commit.
        steps.into_iter().try_for_each(|step| self.locks.give_back(byte(step)?))
    }
}

//! The producer of a channel, with which a simulation publishes its frames.

mod arrival;
mod claiming;
mod relay;
mod slots;
mod staged;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::atomic::Ordering;
use super::directory::Directory;
use super::end::End;
use super::epochs::UNCERTAIN;
use super::group;
use super::layout::{Arriving, FrameView, Header, Section, encode, frame_len};
use super::lock::{Locks, PRODUCER};
use super::loss;
use super::manifest::Manifest;
use super::participants;
use super::ring_file::{Geometry, MOST_EPOCHS, RingFile};
use super::staging::place::StagingPlace;
use super::staging::{Durability, Staging};
use arrival::Arrival;
use mdreel_core::error::{Error, Result};

/// The resume step of a producer that begins a new run, in which frames of earlier epochs do not count.
const NEW_RUN: i64 = i64::MIN;

/// A function that takes the bytes of a frame for which the ring has no room.
pub(crate) type Spill = Box<dyn FnMut(&[u8]) -> Result<()> + Send>;

/// The policy for a full ring.
pub enum Policy {
    /// The producer waits for its consumers for at most this time. After that, it returns `StreamTimeout` and does not publish the
    /// frame.
    Block(Duration),
    /// The producer never waits. It overwrites the oldest frame that no consumer holds, and counts the frame as dropped if a
    /// consumer has not taken it yet. If consumers hold all slots, the new frame is dropped.
    DropOldest,
    /// The producer passes the frame to a function.
    Spill(Spill),
}

/// The settings with which a producer opens its channel.
pub struct Settings {
    /// The size of the ring. It must match the size of an existing channel.
    pub geometry: Geometry,
    /// The properties that all frames share. They must match the properties of an existing channel.
    pub manifest: Manifest,
    /// The policy for a full ring.
    pub policy: Policy,
    /// The first step that this producer publishes. Consumers skip frames of earlier epochs from this step on.
    pub resume_step: i64,
    /// The staging to which frames are written before they are published; `None` for the ring alone.
    pub staging: Option<Staging>,
}

/// The properties of a frame that the simulation provides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The step of the simulation.
    pub step: i64,
    /// The time in ps.
    pub time: f64,
    /// The row vectors of the cell in Å.
    pub cell: Option<[f64; 9]>,
}

/// The result of publishing a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The number of the frame.
    pub sequence: u64,
    /// The durability that the frame has reached.
    pub level: Durability,
    /// Whether the ring was full, so that the frame went to the function of `Policy::Spill` and not into the ring.
    pub is_spilled: bool,
    /// Whether consumers held all slots, so that the frame was dropped, or is in staging alone.
    pub is_dropped: bool,
}

/// The header and the bytes of a frame that was staged but not published.
type Unseen = (Header, Vec<u8>);

/// A producer, which publishes the frames of a channel.
pub struct Producer {
    path: PathBuf,
    directory: Directory,
    ring: RingFile,
    locks: Locks,
    policy: Policy,
    staging: Option<Staging>,
    manifest: Manifest,
    epoch: u64,
    scratch: Vec<u8>,
    /// The frame that a relay is receiving.
    arrival: Option<Arrival>,
    /// The last step that was published in this epoch.
    last_step: Option<i64>,
    /// The time when the producer began to wait for room; `None` if it does not wait.
    waits: Option<Instant>,
    /// The time when the producer last looked for dead consumers after it had dropped frames.
    freed: Option<Instant>,
}

impl Producer {
    /// Opens the channel in a directory, and creates the directory if it does not exist. If an earlier producer of the channel has
    /// died or has ended it, this begins the next epoch. Returns an error if the channel has a running producer.
    pub fn open(path: &Path, settings: Settings) -> Result<Self> {
        let resume_step = settings.resume_step;
        let mut producer = Self::enter(path, settings)?;
        let geometry = producer.ring.geometry();
        if let Some(staging) = &mut producer.staging {
            staging.allow_in_place(geometry);
        }
        producer.begin_epoch(resume_step)?;
        Ok(producer)
    }

    /// Becomes the producer of the channel without beginning an epoch.
    fn enter(path: &Path, settings: Settings) -> Result<Self> {
        let directory = Directory::create(path)?;
        let Settings { geometry, manifest, policy, mut staging, resume_step } = settings;
        let locks = Locks::open(&directory, "lock", true)?;
        if !locks.take(PRODUCER)? {
            let found = participants::holder(&directory, PRODUCER);
            let name = found.map_or_else(String::new, |found| format!(": {found}"));
            return Err(Error::stream(format!("the channel has a running producer{name}")).in_file(path));
        }
        participants::record(&directory, PRODUCER);
        loss::forget(&directory);
        if resume_step != NEW_RUN {
            group::check_place(&directory, staging.as_ref().map(Staging::place))?;
        }
        if !directory.join("ring").exists() {
            manifest.write(&directory)?;
            // A consumer that finds the ring needs the place of the staging as well.
            StagingPlace::note(&directory, staging.as_ref().map(Staging::place))?;
            RingFile::create(&directory, geometry, manifest.stream)?;
        }
        let mut ring = RingFile::open(&directory, true)?;
        ring.populate();
        ring.protocol().recover();
        let kept = Manifest::read(&directory)?;
        if kept != manifest || ring.geometry() != geometry {
            let differs = kept.difference(&manifest).unwrap_or_else(|| ring.geometry().difference(geometry));
            let advice = "use the same settings, or remove the channel or choose another name";
            return Err(Error::mismatch(format!("{differs}: {advice}")).in_file(path));
        }
        slots::adopt(&mut ring, &directory, staging.as_mut())?;
        StagingPlace::note(&directory, staging.as_ref().map(Staging::place))?;
        let (path, scratch) = (path.to_owned(), Vec::new());
        Ok(Producer {
            path,
            directory,
            ring,
            locks,
            policy,
            staging,
            manifest,
            epoch: 0,
            scratch,
            arrival: None,
            last_step: None,
            waits: None,
            freed: None,
        })
    }

    /// Begins an epoch, whose numbers follow all numbers in the ring and in staging.
    fn begin_epoch(&mut self, resume_step: i64) -> Result<()> {
        let n_before = self.ring.head().n_epochs.load(Ordering::Relaxed);
        let (next, unseen) = self.count_on(n_before > 0)?;
        let mut steps = self.resume_steps()?;
        if n_before == 0 && !steps.is_empty() && next > 0 && resume_step == NEW_RUN {
            return Err(self.staging_without_channel(next));
        }
        if n_before == 0 {
            // The first numbers of the earlier epochs were lost with the old ring.
            let head = self.ring.head();
            let unknown = head.first_sequences.iter().take(steps.len()).skip(1);
            unknown.for_each(|first| first.store(UNCERTAIN, Ordering::Release));
        }
        steps.push(resume_step);
        self.set_epochs(&steps)?;
        if let Some(first) = self.ring.head().first_sequences.get(self.epoch as usize) {
            first.store(next, Ordering::Release);
        }
        if let Some((_, frame)) = unseen.filter(|(header, _)| header.step < resume_step) {
            self.publish_late(&frame)?;
        }
        self.begin_at(next);
        Ok(())
    }

    fn staging_without_channel(&self, n_frames: u64) -> Error {
        let place = self.staging.as_ref().map(|staging| staging.place().0.display().to_string()).unwrap_or_default();
        let found =
            format!("the staging {place} has {n_frames} frames of a channel that is gone, and a new run hides them");
        let advice = "to continue that run, set the first step to publish (resume_step); for a new run, give another \
                      staging, or move this one away";
        Error::mismatch(format!("{found}: {advice}")).in_file(&self.path)
    }

    /// Returns the resume step of each epoch so far.
    fn resume_steps(&self) -> Result<Vec<i64>> {
        let head = self.ring.head();
        let n_before = head.n_epochs.load(Ordering::Relaxed);
        if n_before > 0 {
            let words = head.resume_steps.iter().take(n_before.min(MOST_EPOCHS as u64) as usize);
            return Ok(words.map(|word| word.load(Ordering::Relaxed).cast_signed()).collect());
        }
        // The channel may have been opened before and been lost with the memory of the machine. In this case, the staging knows the
        // steps.
        self.staging.as_ref().map_or_else(|| Ok(Vec::new()), Staging::resume_steps)
    }

    /// Sets the resume steps of all epochs, and makes the last epoch the current one.
    fn set_epochs(&mut self, steps: &[i64]) -> Result<()> {
        if steps.len() > MOST_EPOCHS {
            let message = format!("a channel may be opened {MOST_EPOCHS} times");
            return Err(Error::unsupported(message).in_file(&self.path));
        }
        if let Some(staging) = &self.staging {
            staging.keep_resume_steps(steps)?;
        }
        let head = self.ring.head();
        for (word, step) in head.resume_steps.iter().zip(steps) {
            word.store(step.cast_unsigned(), Ordering::Relaxed);
        }
        self.epoch = steps.len().saturating_sub(1) as u64;
        head.n_epochs.store(steps.len() as u64, Ordering::Relaxed);
        // The end is cleared before the epoch is set. A consumer that sees the new epoch skips the frames that the simulation
        // computes again, and must not take the old end for the end of the new epoch.
        head.end.store(0, Ordering::Release);
        head.epoch.store(self.epoch, Ordering::Release);
        Ok(())
    }

    /// Continues with the number `next`.
    fn begin_at(&self, next: u64) {
        let head = self.ring.head();
        head.sequence.store(next, Ordering::Release);
        // A producer that died while it waited has left these values. This producer does not wait.
        head.control.sleeps.store(0, Ordering::Relaxed);
        head.waits_since.store(0, Ordering::Relaxed);
    }

    /// Returns the number of the next frame, which follows all frames that were published or staged. Also returns the last staged
    /// frame if an earlier producer of this ring died before it published the frame.
    fn count_on(&mut self, is_old_ring: bool) -> Result<(u64, Option<Unseen>)> {
        let n_published = self.ring.head().control.head.load(Ordering::Relaxed);
        let mut next = self.ring.head().sequence.load(Ordering::Relaxed);
        if let Some(last) = n_published.checked_sub(1) {
            let sequence = match self.ring.in_segment(last) {
                Some(place) => place.sequence,
                // SAFETY: only this producer writes to slots, and only after it has claimed one.
                None => FrameView::decode(&self.path, unsafe { self.ring.frame(last) })?.header.sequence,
            };
            next = next.max(sequence.saturating_add(1));
        }
        let mut unseen = None;
        if let Some(staging) = &mut self.staging {
            if let Some(frame) = staging.take_last() {
                let header = FrameView::decode(&self.path, &frame)?.header;
                if header.stream != self.manifest.stream {
                    let expected = self.manifest.stream;
                    let message = format!("expected staged frames of stream {expected}, got {}", header.stream);
                    return Err(Error::mismatch(message).in_file(&self.path));
                }
                if is_old_ring && header.sequence >= next {
                    unseen = Some((header, frame));
                }
            }
            next = next.max(staging.next_sequence());
        }
        Ok((next, unseen))
    }

    /// Publishes a frame that had reached its durability when its producer died. If the ring has no room, the frame stays in
    /// staging only, as if it had been spilled.
    fn publish_late(&mut self, frame: &[u8]) -> Result<()> {
        let mut arriving = Arriving::begin(&self.path, frame, frame.len())?;
        let Ok(position) = self.ring.protocol().claim(false) else { return Ok(()) };
        self.release(position);
        let copy = |slot: &mut [u8]| arriving.copy(&self.path, frame, slot).map(|()| frame.len());
        // SAFETY: the position was claimed above.
        unsafe { self.ring.write(position, copy) }?;
        self.ring.protocol().publish(position);
        Ok(())
    }

    /// Returns the number of the current epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the number of frames that were overwritten before every consumer had seen them, or that arrived while consumers held
    /// all slots.
    pub fn dropped(&self) -> u64 {
        self.ring.head().control.dropped.load(Ordering::Relaxed)
    }

    /// Returns how many frames the slowest consumer is behind; `None` without consumers.
    pub fn lag(&self) -> Option<u64> {
        self.ring.protocol().lag()
    }

    /// Publishes a frame, and returns when it has reached its level of durability. Without staging, the data is copied once, into
    /// the slot of the frame.
    pub fn publish(&mut self, moment: &Moment, sections: &[Section<'_>]) -> Result<Published> {
        self.locks.check()?;
        if let Some(last) = self.last_step
            && moment.step <= last
        {
            let message = format!("step {} came after step {last}: the steps of a run must increase", moment.step);
            return Err(Error::mismatch(message).in_file(&self.path));
        }
        let published = self.put(moment, sections)?;
        self.last_step = Some(moment.step);
        Ok(published)
    }

    fn put(&mut self, moment: &Moment, sections: &[Section<'_>]) -> Result<Published> {
        let sequence = self.ring.head().sequence.load(Ordering::Relaxed);
        let header = Header {
            stream: self.manifest.stream,
            epoch: self.epoch,
            sequence,
            step: moment.step,
            time: moment.time,
            n_atoms: self.manifest.n_atoms,
            cell: moment.cell,
        };
        let Some(position) = self.claim(sequence)? else {
            return self.leave_out(&header, sections);
        };
        let level = self.write(position, &header, sections)?;
        self.ring.protocol().publish(position);
        // The number is stored after the head: a consumer that finds this number passed, but no frame in the ring, knows that the
        // ring does not have the frame.
        self.ring.head().sequence.store(sequence + 1, Ordering::Release);
        Ok(Published { sequence, level, is_spilled: false, is_dropped: false })
    }

    /// Publishes a frame for which the ring has no room, to the function of `Policy::Spill` and to staging.
    fn leave_out(&mut self, header: &Header, sections: &[Section<'_>]) -> Result<Published> {
        let sequence = header.sequence;
        let length = frame_len(sections.iter().map(|section| section.bytes.len())).unwrap_or(0);
        self.scratch.resize(length, 0);
        let length = encode(header, sections, &mut self.scratch)?;
        let bytes = &self.scratch[..length];
        // A staged frame counts as published. The function may refuse the frame, so it is called first.
        let is_spilled = match &mut self.policy {
            Policy::Spill(spill) => spill(bytes).map(|()| true)?,
            _ => false,
        };
        let is_dropped = !is_spilled;
        let mut level = Durability::Ring;
        if let Some(staging) = &mut self.staging {
            slots::restore(&mut self.ring, staging, length)?;
            level = staging.append(sequence, bytes)?;
        }
        if is_dropped {
            self.ring.head().control.dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.ring.head().sequence.store(sequence + 1, Ordering::Release);
        // A waiting consumer that reads staging finds the frame there.
        self.ring.protocol().ring_arrival();
        Ok(Published { sequence, level, is_spilled, is_dropped })
    }

    /// Returns the number of live consumers that take every frame.
    pub fn n_consumers(&self) -> Result<usize> {
        self.free_the_dead()?;
        Ok(self.ring.protocol().lags().count())
    }

    /// Writes the end record and wakes the consumers. Staged frames are synced to the disk first.
    pub fn end(mut self, end: &End) -> Result<()> {
        self.locks.check()?;
        if let Some(staging) = &mut self.staging {
            // The ring then has its frames even if the staging is moved or deleted. If this fails, they stay in the staging.
            let _ = slots::restore_all(&mut self.ring, staging.directory());
            staging.sync()?;
        }
        end.write(self.ring.head());
        self.ring.protocol().ring_arrival();
        Ok(())
    }

    /// Leaves the channel without an end record, as a producer does that dies, and tells its consumers the reason.
    pub fn leave(self, reason: &str) -> Result<()> {
        self.locks.check()?;
        loss::write(&self.directory, reason);
        Ok(())
    }
}

//! Frames that are held while later ones are taken, for any time and on any thread.
//!
//! Each frame that is held has its own pin, and the producer skips its slot. If consumers hold half of the slots, further frames
//! are copied, so that there is always a slot for a new frame. This is for languages with automatic memory management, which decide
//! when a value is dropped. Frames from staging are copies, and do not affect the producer.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::catch_up::{CatchUp, Found, Kept};
use super::consumer::Start;
use super::end::End;
use super::group::file::{Identity, State};
use super::group::{Member, Membership};
use super::layout::{FrameView, Header};
use super::manifest::Manifest;
use super::ring_file::RingFile;
use mdreel_core::error::{Error, Result};

/// A consumer that lives as long as one of its frames does.
#[derive(Debug)]
pub struct Holder {
    path: PathBuf,
    manifest: Manifest,
    ring: Arc<RingFile>,
    taker: Mutex<Taker>,
    /// The pins of frames that were dropped. The next thread that locks the consumer gives them back.
    returned: Mutex<Vec<usize>>,
    /// Whether the consumer has left the ring for good.
    has_left: AtomicBool,
}

/// The consumer that takes the frames.
#[derive(Debug)]
enum Taker {
    Alone(Box<CatchUp>),
    Member(Box<Member>),
}

impl Taker {
    fn reader(&self) -> &CatchUp {
        match self {
            Taker::Alone(reader) => reader,
            Taker::Member(member) => member.reader(),
        }
    }

    fn reader_mut(&mut self) -> &mut CatchUp {
        match self {
            Taker::Alone(reader) => reader,
            Taker::Member(member) => member.reader_mut(),
        }
    }

    fn find(&mut self, at_most: Duration) -> Result<Found> {
        match self {
            Taker::Alone(reader) => reader.find(at_most),
            Taker::Member(member) => member.find(at_most),
        }
    }
}

/// The next frame or the end.
#[derive(Debug)]
pub enum HeldNext {
    /// A frame.
    Frame(Held),
    /// No more frames will come.
    End(End),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Holder {
    /// Joins the channel in a directory; see `CatchUp::join`.
    pub fn join(path: &Path, start: Start) -> Result<Arc<Self>> {
        Ok(Self::of(path, Taker::Alone(Box::new(CatchUp::join(path, start)?))))
    }

    /// Joins the channel in a directory; see `Consumer::join_latest`.
    pub fn join_latest(path: &Path) -> Result<Arc<Self>> {
        Ok(Self::of(path, Taker::Alone(Box::new(CatchUp::join_latest(path)?))))
    }

    /// Joins a group of the channel in a directory; see `Member::join`.
    pub fn join_group(path: &Path, membership: Membership<'_>) -> Result<Arc<Self>> {
        Ok(Self::of(path, Taker::Member(Box::new(Member::join(path, membership)?))))
    }

    fn of(path: &Path, taker: Taker) -> Arc<Self> {
        let (manifest, ring) = (taker.reader().manifest().clone(), taker.reader().ring());
        let (taker, returned) = (Mutex::new(taker), Mutex::default());
        let has_left = AtomicBool::new(false);
        Arc::new(Holder { path: path.to_owned(), manifest, ring, taker, returned, has_left })
    }

    /// Returns the properties that all frames share.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the number of frames that were not available any more.
    pub fn missed(&self) -> u64 {
        match &*lock(&self.taker) {
            Taker::Alone(reader) => reader.missed(),
            Taker::Member(member) => member.missed(),
        }
    }

    /// Returns the number of requested frames of the run that were lost before the first one was handed out.
    pub fn n_late(&self) -> u64 {
        lock(&self.taker).reader().n_late()
    }

    /// Returns the number of frames of the ring that are held.
    pub fn n_held(&self) -> usize {
        let mut taker = lock(&self.taker);
        self.settle(&mut taker);
        taker.reader().n_held()
    }

    /// Returns the next frame, or the end; see `Consumer::next`.
    pub fn next(self: &Arc<Self>, at_most: Duration) -> Result<HeldNext> {
        let mut taker = lock(&self.taker);
        self.settle(&mut taker);
        // This is checked under the lock: a thread that was about to call `next` must not bring the consumer back into the ring.
        self.check_open()?;
        let found = taker.find(at_most);
        let next = found.map(|found| {
            let kept = taker.reader_mut().keep(&found);
            match found {
                Found::End(end) => HeldNext::End(end),
                Found::Ring(header) | Found::Staged(header) | Found::Again(header) => {
                    HeldNext::Frame(Held { holder: Arc::clone(self), kept, header })
                }
            }
        });
        self.settle(&mut taker);
        next
    }

    /// Leaves the ring, so that no producer waits for this consumer. Frames that are held stay unchanged.
    pub fn leave(&self) {
        let mut taker = lock(&self.taker);
        self.settle(&mut taker);
        self.has_left.store(true, Ordering::Relaxed);
        taker.reader_mut().leave();
        if let Taker::Member(member) = &mut *taker {
            // If a lock cannot be released, other members see this member as alive until its frames are dropped.
            let _ = member.step_aside();
        }
    }

    /// Commits frames that were handed out to a member, up to `through`; see `Member::commit_through`. Without `through`, commits
    /// all of them.
    pub fn commit(&self, through: Option<Identity>, blob: &[u8]) -> Result<()> {
        let mut taker = lock(&self.taker);
        self.check_open()?;
        match (&mut *taker, through) {
            (Taker::Member(member), None) => member.commit(blob),
            (Taker::Member(member), through) => member.commit_through(through, blob),
            (Taker::Alone(_), _) => Err(self.no_member()),
        }
    }

    /// Returns the last commit of the member.
    pub fn state(&self) -> Result<State> {
        match &*lock(&self.taker) {
            Taker::Member(member) => Ok(member.state().clone()),
            Taker::Alone(_) => Err(self.no_member()),
        }
    }

    /// Returns the last commits of all members of the group; see `Member::states`.
    pub fn states(&self) -> Result<Vec<(String, State)>> {
        match &*lock(&self.taker) {
            Taker::Member(member) => member.states(),
            Taker::Alone(_) => Err(self.no_member()),
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.has_left.load(Ordering::Relaxed) {
            return Err(Error::mismatch("the consumer is closed; create another one to read on").in_file(&self.path));
        }
        Ok(())
    }

    fn no_member(&self) -> Error {
        Error::mismatch("the consumer is in no group, so that it cannot commit").in_file(&self.path)
    }

    /// Gives back the pins of frames that were dropped.
    fn settle(&self, taker: &mut Taker) {
        let returned = std::mem::take(&mut *lock(&self.returned));
        returned.into_iter().for_each(|pin| taker.reader_mut().let_go(pin));
    }
}

/// A frame that the producer cannot overwrite while this value lives.
#[derive(Debug)]
pub struct Held {
    holder: Arc<Holder>,
    kept: Kept,
    header: Header,
}

impl Held {
    /// Returns the header of the frame.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the bytes of the frame. Their address does not change.
    pub fn bytes(&self) -> &[u8] {
        match &self.kept {
            // SAFETY: the position is pinned until this value is dropped.
            Kept::Held(pinned) => unsafe { pinned.bytes(&self.holder.ring) },
            Kept::Copied(bytes) => bytes,
        }
    }

    /// Returns the frame with its sections.
    pub fn view(&self) -> Result<FrameView<'_>> {
        FrameView::decode(&self.holder.path, self.bytes())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Kept::Held(pinned) = &self.kept else { return };
        lock(&self.holder.returned).push(pinned.pin);
        // If another thread waits for the next frame meanwhile, that thread gives the pin back after its wait.
        if let Ok(mut taker) = self.holder.taker.try_lock() {
            self.holder.settle(&mut taker);
        }
    }
}

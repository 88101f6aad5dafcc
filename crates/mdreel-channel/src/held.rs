//! Frames that are held while later ones are taken: as long as somebody wants them, on whatever thread.
//!
//! Each frame that is held has a pin of its own, and the producer skips its slot. Where consumers hold half of the slots, further
//! frames are copies, so that there is always a slot for a new frame. It is for languages that decide themselves when a value has
//! gone. Frames from staging are copies, of which no producer knows.

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

/// A consumer that is there as long as one of its frames is.
#[derive(Debug)]
pub struct Holder {
    path: PathBuf,
    manifest: Manifest,
    ring: Arc<RingFile>,
    taker: Mutex<Taker>,
    /// Pins of frames that nobody wants any more, for whoever has the consumer to give them back.
    returned: Mutex<Vec<usize>>,
    /// Whether it has left the ring for good.
    has_left: AtomicBool,
}

/// Who takes the frames.
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

/// What comes next.
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

    /// What holds for all frames.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Frames that could not be had any more.
    pub fn missed(&self) -> u64 {
        match &*lock(&self.taker) {
            Taker::Alone(reader) => reader.missed(),
            Taker::Member(member) => member.missed(),
        }
    }

    /// Frames of the run that had gone before the first one was handed out.
    pub fn n_late(&self) -> u64 {
        lock(&self.taker).reader().n_late()
    }

    /// Frames of the ring that are held.
    pub fn n_held(&self) -> usize {
        let mut taker = lock(&self.taker);
        self.settle(&mut taker);
        taker.reader().n_held()
    }

    /// The next frame, or the end; see `Consumer::next`.
    pub fn next(self: &Arc<Self>, at_most: Duration) -> Result<HeldNext> {
        let mut taker = lock(&self.taker);
        self.settle(&mut taker);
        // Known once the lock is there: a thread that was about to ask must not bring the consumer back into the ring.
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

    /// Leaves the ring, so that no producer waits for what was not taken. Frames that are held stay as they are.
    pub fn leave(&self) {
        let mut taker = lock(&self.taker);
        self.settle(&mut taker);
        self.has_left.store(true, Ordering::Relaxed);
        taker.reader_mut().leave();
        if let Taker::Member(member) = &mut *taker {
            // A lock that stays says that this member is still there, until its frames have gone.
            let _ = member.step_aside();
        }
    }

    /// Commits frames that were handed out to a member; see `Member::commit_through`. Without `through`, all of them.
    pub fn commit(&self, through: Option<Identity>, blob: &[u8]) -> Result<()> {
        let mut taker = lock(&self.taker);
        self.check_open()?;
        match (&mut *taker, through) {
            (Taker::Member(member), None) => member.commit(blob),
            (Taker::Member(member), through) => member.commit_through(through, blob),
            (Taker::Alone(_), _) => Err(self.no_member()),
        }
    }

    /// What a member has committed.
    pub fn state(&self) -> Result<State> {
        match &*lock(&self.taker) {
            Taker::Member(member) => Ok(member.state().clone()),
            Taker::Alone(_) => Err(self.no_member()),
        }
    }

    /// What the members of the group have committed; see `Member::states`.
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

    /// Gives back what nobody wants any more.
    fn settle(&self, taker: &mut Taker) {
        let returned = std::mem::take(&mut *lock(&self.returned));
        returned.into_iter().for_each(|pin| taker.reader_mut().let_go(pin));
    }
}

/// A frame that nobody can overwrite while this lives.
#[derive(Debug)]
pub struct Held {
    holder: Arc<Holder>,
    kept: Kept,
    header: Header,
}

impl Held {
    /// The frame's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of the frame. They stay where they are.
    pub fn bytes(&self) -> &[u8] {
        match &self.kept {
            // SAFETY: the position is held until this is dropped.
            Kept::Held(pinned) => unsafe { pinned.bytes(&self.holder.ring) },
            Kept::Copied(bytes) => bytes,
        }
    }

    /// The frame with its sections.
    pub fn view(&self) -> Result<FrameView<'_>> {
        FrameView::decode(&self.holder.path, self.bytes())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Kept::Held(pinned) = &self.kept else { return };
        lock(&self.holder.returned).push(pinned.pin);
        // Who waits for the next frame meanwhile gives it back when that has come, or has not.
        if let Ok(mut taker) = self.holder.taker.try_lock() {
            self.holder.settle(&mut taker);
        }
    }
}

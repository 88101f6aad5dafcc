//! Claims on frame indices. If many processes open the same new file at once, one of them builds the index, and the
//! others wait for it.
//!
//! A claim is a small file next to the index. Exclusive creation makes it, which needs no lock and works on network
//! file systems. Its holder appends a byte to it now and then. If a claim does not change for a while, its process has
//! died, and another process removes the claim. If no claim can be created, or if a claim ends without an index, each
//! process builds the index itself. This costs more time but changes nothing else.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::FrameIndex;
use super::kept::{Keep, place_of, thread_number};
use crate::source::bytes::FileBytes;

/// Interval at which the holder of a claim shows that it is alive.
const BEAT: Duration = Duration::from_millis(500);
/// Time after which the holder of an unchanged claim is considered dead. Network file systems show changes late.
pub(crate) const PATIENCE: Duration = Duration::from_secs(6);
/// The first and the longest pause between two checks of a claim.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// The result of a claim: the process that builds the index.
#[derive(Debug)]
pub(crate) enum Turn {
    /// This process builds the index; others wait.
    Ours(Claim),
    /// Another process has built the index.
    Made(FrameIndex),
    /// This process builds the index; no process waits for another.
    Alone,
}

/// The right to build an index, released on drop.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    beaten: Instant,
}

impl Claim {
    /// Claims the right to build the index of `file`, or waits while another process builds it. An index counts only if
    /// it covers more than the first `covered` bytes and `believed` accepts it.
    pub(crate) fn take(
        file: &FileBytes,
        keep: Keep,
        covered: u64,
        patience: Duration,
        believed: &dyn Fn(&FrameIndex) -> bool,
    ) -> Turn {
        let Some(path) = place_of(file, keep).map(|path| path.with_extension("claim")) else { return Turn::Alone };
        let made = || FrameIndex::load(file, keep).filter(|index| index.end > covered && believed(index));
        loop {
            match create(&path) {
                Ok(()) => {
                    let claim = Claim { path, beaten: Instant::now() };
                    // Another process may have built it between the caller's check and the claim.
                    return made().map_or(Turn::Ours(claim), Turn::Made);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(_) => return Turn::Alone,
            }
            match wait(&path, patience, &made) {
                Waited::Made(index) => return Turn::Made(index),
                Waited::Given => return Turn::Alone,
                // The claim is removed, unless another process has just taken it over.
                Waited::Dead(content) if fs::read(&path).is_ok_and(|now| now == content) => {
                    if fs::remove_file(&path).is_err() {
                        return Turn::Alone;
                    }
                }
                Waited::Dead(_) => {}
            }
        }
    }

    /// Shows that the holder is alive. This costs nothing if it was called recently.
    pub(crate) fn beat(&mut self) {
        if self.beaten.elapsed() >= BEAT {
            self.beaten = Instant::now();
            // The file is opened each time, because closing it makes the change visible to other machines. If the file
            // is missing, the other processes continue without waiting.
            let _ = OpenOptions::new().append(true).open(&self.path).and_then(|mut file| file.write_all(b"."));
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The result of waiting for the holder of a claim.
enum Waited {
    /// The holder has built an index.
    Made(FrameIndex),
    /// The claim has disappeared, and there is no index.
    Given,
    /// The claim has stopped changing. It has this content.
    Dead(Vec<u8>),
}

fn create(path: &Path) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // This content makes each claim unique.
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    write!(file, "{} {:x} {now}", std::process::id(), thread_number())
}

fn wait(claim: &Path, patience: Duration, made: &dyn Fn() -> Option<FrameIndex>) -> Waited {
    let (mut content, mut since) = (None, Instant::now());
    let [mut pause, longest] = PAUSES;
    loop {
        let now = fs::read(claim).ok();
        // The order matters: a holder keeps the index before it releases the claim.
        if let Some(index) = made() {
            return Waited::Made(index);
        }
        let Some(now) = now else { return Waited::Given };
        if content.as_ref() == Some(&now) && since.elapsed() >= patience {
            return Waited::Dead(now);
        }
        if content.as_ref() != Some(&now) {
            (content, since) = (Some(now), Instant::now());
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::bytes::Access;

    const NO_PATIENCE: Duration = Duration::from_millis(20);

    fn data() -> (tempfile::TempDir, FileBytes, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.xtc");
        fs::write(&path, [1; 100]).unwrap();
        let file = FileBytes::open(&path, Access::Read).unwrap();
        let claim = place_of(&file, Keep::Beside).unwrap().with_extension("claim");
        (directory, file, claim)
    }

    fn take(file: &FileBytes, keep: Keep, covered: u64, patience: Duration) -> Turn {
        Claim::take(file, keep, covered, patience, &|_| true)
    }

    fn index(end: u64) -> FrameIndex {
        let mut index = FrameIndex { end, ..FrameIndex::default() };
        index.extend([crate::source::FrameLocation { offset: 0, step: 1, time: 2.0 }]);
        index
    }

    #[test]
    fn claim_is_given_back() {
        let (_directory, file, path) = data();
        let Turn::Ours(claim) = take(&file, Keep::Beside, 0, PATIENCE) else { panic!("nobody else") };
        assert!(path.exists());
        drop(claim);
        assert!(!path.exists());
    }

    #[test]
    fn claim_waits_for_the_index_of_another() {
        let (_directory, file, path) = data();
        let Turn::Ours(claim) = take(&file, Keep::Beside, 0, PATIENCE) else { panic!("nobody else") };
        std::thread::scope(|scope| {
            let others: Vec<_> = (0..4).map(|_| scope.spawn(|| take(&file, Keep::Beside, 0, PATIENCE))).collect();
            index(100).save(&file, Keep::Beside).unwrap();
            drop(claim);
            for other in others {
                let Turn::Made(made) = other.join().unwrap() else { panic!("it was made") };
                assert_eq!(made, index(100));
            }
        });
        assert!(!path.exists());
        // An index that is already known does not count.
        assert!(matches!(take(&file, Keep::Beside, 100, PATIENCE), Turn::Ours(_)));
        assert!(matches!(take(&file, Keep::Beside, 99, PATIENCE), Turn::Made(_)));
        // An invalid index does not count either.
        assert!(matches!(Claim::take(&file, Keep::Beside, 0, PATIENCE, &|_| false), Turn::Ours(_)));
    }

    #[test]
    fn claim_that_ends_without_an_index_leaves_everybody_alone() {
        let (_directory, file, _) = data();
        let Turn::Ours(claim) = take(&file, Keep::Beside, 0, PATIENCE) else { panic!("nobody else") };
        let began = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                began.wait();
                take(&file, Keep::Beside, 0, PATIENCE)
            });
            began.wait();
            drop(claim);
            // The other thread may have come before the claim was released, or after it.
            assert!(matches!(other.join().unwrap(), Turn::Alone | Turn::Ours(_)));
        });
    }

    #[test]
    fn claim_of_a_dead_process_is_taken_over() {
        let (_directory, file, path) = data();
        fs::write(&path, "4194304 0 0").unwrap();
        let turn = take(&file, Keep::Beside, 0, NO_PATIENCE);
        assert!(matches!(turn, Turn::Ours(_)));
        assert_ne!(fs::read(&path).unwrap(), b"4194304 0 0");
    }

    #[test]
    fn claim_that_cannot_be_made_stops_nobody() {
        let (_directory, file, path) = data();
        assert!(matches!(take(&file, Keep::Nowhere, 0, PATIENCE), Turn::Alone));
        fs::create_dir(&path).unwrap();
        assert!(matches!(take(&file, Keep::Beside, 0, NO_PATIENCE), Turn::Alone));
    }
}

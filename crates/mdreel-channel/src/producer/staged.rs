//! The writes of a frame to the ring and to staging: a single one if possible, and otherwise two.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::Producer;
use crate::atomic::Ordering;
use crate::directory::Directory;
use crate::layout::{Header, Section, encode, frame_len};
use crate::ring_file::{InSegment, RingFile};
use crate::staging::place::StagingPlace;
use crate::staging::{Durability, Staging, segment_name};
use mdreel_core::error::{Error, Result};

impl Producer {
    /// Writes a frame to a claimed slot and to staging, and returns the durability that it has reached.
    pub(super) fn write(&mut self, position: u64, header: &Header, sections: &[Section<'_>]) -> Result<Durability> {
        let Producer { ring, staging, .. } = self;
        let length = frame_len(sections.iter().map(|section| section.bytes.len()));
        if let Some(staging) = staging
            && let Some(length) = length.filter(|length| *length as u64 <= ring.geometry().slot_len)
        {
            restore(ring, staging, length)?;
            let encode = |bytes: &mut [u8]| encode(header, sections, bytes);
            let written = staging.write_in_place(header.sequence, length, encode);
            ring.head().n_deleted_files.store(staging.n_deleted(), Ordering::Relaxed);
            if let Some((place, level)) = written? {
                ring.refer(position, place);
                return Ok(level);
            }
        }
        // SAFETY: the caller has claimed the position.
        let bytes = unsafe { ring.write(position, |slot| encode(header, sections, slot)) }?;
        staging.as_mut().map_or(Ok(Durability::Ring), |staging| staging.append(header.sequence, bytes))
    }

    /// Records that the slot of a claimed position no longer refers to its previous frame.
    pub(super) fn release(&mut self, position: u64) {
        if let Some(place) = self.ring.forget(position)
            && let Some(staging) = &mut self.staging
        {
            staging.release(place.first);
        }
    }
}

/// Copies the frames of segments that retention has to delete to their slots, before a frame of this length is written.
pub(super) fn restore(ring: &mut RingFile, staging: &mut Staging, length: usize) -> Result<()> {
    while let Some(first) = staging.must_leave(length as u64)? {
        restore_from(ring, staging.directory(), |place| place.first == first)?;
        staging.leave();
    }
    Ok(())
}

/// Copies the frames in segments of a staging to their slots. A frame is lost if another program has deleted or replaced its segment.
fn restore_from(ring: &mut RingFile, staging: &Directory, is_chosen: impl Fn(&InSegment) -> bool) -> Result<()> {
    let chosen: Vec<_> = ring.all_in_segments().filter(|(_, place)| is_chosen(place)).collect();
    for (position, place) in chosen {
        let name = segment_name(place.first);
        let refused = |error| Error::io(&staging.join(&name), error);
        let file = match staging.open_file(&name, OpenOptions::new().read(true)) {
            Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => continue,
            outcome => outcome?,
        };
        if file.metadata().map_err(refused)?.ino() == place.inode {
            ring.restore(position, |bytes| file.read_exact_at(bytes, place.offset).map_err(refused))?;
        }
    }
    Ok(())
}

/// Takes over the slots of an earlier producer that refer to segments. If the staging is the same, the segments stay as long as the
/// slots refer to them. Otherwise, the frames are copied to the slots.
pub(super) fn adopt(ring: &mut RingFile, channel: &Directory, staging: Option<&mut Staging>) -> Result<()> {
    let places: Vec<_> = ring.all_in_segments().collect();
    if places.is_empty() {
        return Ok(());
    }
    let earlier = StagingPlace::of(channel)?;
    match (earlier, staging) {
        (Some(earlier), Some(staging)) if staging.place().0 == earlier.path => {
            places.iter().for_each(|(_, place)| staging.refer(place.first));
        }
        (Some(earlier), _) => {
            if let Ok(directory) = Directory::open(&earlier.path) {
                for (_, place) in &places {
                    let _ = restore_from(ring, &directory, |other| other == place);
                }
            }
        }
        (None, _) => {}
    }
    Ok(())
}

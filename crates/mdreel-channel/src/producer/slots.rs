//! Slots of the ring that refer to segments of staging.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::directory::Directory;
use crate::ring_file::{InSegment, RingFile};
use crate::staging::place::StagingPlace;
use crate::staging::{Staging, segment};
use mdreel_core::error::{Error, Result};

/// Copies the frames of segments that retention has to delete to their slots, before a frame of this length is written.
pub(super) fn restore(ring: &mut RingFile, staging: &mut Staging, length: usize) -> Result<()> {
    while let Some(first) = staging.must_leave(length as u64)? {
        restore_from(ring, staging.directory(), |place| place.first == first)?;
        staging.leave();
    }
    Ok(())
}

/// Copies all frames of a ring that are in segments of a staging to their slots.
pub(super) fn restore_all(ring: &mut RingFile, staging: &Directory) -> Result<()> {
    restore_from(ring, staging, |_| true)
}

/// Copies the frames in segments of a staging to their slots. A frame is lost if another program has deleted or replaced its segment.
fn restore_from(ring: &mut RingFile, staging: &Directory, is_chosen: impl Fn(&InSegment) -> bool) -> Result<()> {
    let chosen: Vec<_> = ring.all_in_segments().filter(|(_, place)| is_chosen(place)).collect();
    for (position, place) in chosen {
        let name = segment::name(place.first);
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

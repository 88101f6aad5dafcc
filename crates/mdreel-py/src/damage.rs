//! Damage that a pass over a trajectory left out.

use std::path::PathBuf;

use mdreel_core::source::damage::Damage;

/// A damaged frame: its number (none if a file ends too early), the path, the byte if it is known, and the message of the error.
pub(crate) type Record = (Option<u64>, PathBuf, Option<u64>, String);

/// Converts damage to the arguments of the Python class `mdreel.execution.damage.DamagedFrame`.
pub(crate) fn records(damage: Vec<Damage>) -> Vec<Record> {
    let record = |damage: Damage| {
        let frame = (!damage.at_end).then_some(damage.frame);
        let (path, byte) = (damage.place.path.clone(), damage.place.byte);
        (frame, path, byte, damage.into_error().to_string())
    };
    damage.into_iter().map(record).collect()
}

//! Damage that a pass over a trajectory left out.

use std::path::PathBuf;

use mdreel_core::source::tolerant::Damage;

/// Frame (none where a file ends too early), path, byte if it is known, and what the error says.
pub(crate) type Record = (Option<u64>, PathBuf, Option<u64>, String);

/// The damage as `mdreel.execution.damage.DamagedFrame` takes it.
pub(crate) fn records(damage: Vec<Damage>) -> Vec<Record> {
    let record = |damage: Damage| {
        let frame = (!damage.at_end).then_some(damage.frame);
        let (path, byte) = (damage.place.path.clone(), damage.place.byte);
        (frame, path, byte, damage.into_error().to_string())
    };
    damage.into_iter().map(record).collect()
}

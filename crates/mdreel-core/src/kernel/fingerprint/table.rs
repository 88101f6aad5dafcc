//! Tables of interactions: the residues that interact in each frame, and the kinds of their interactions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::reduce::{Own, Value};

/// Two residues and the number of an interaction.
pub type Column = [u32; 3];

/// One occurrence of an interaction between two residues in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Occurrence {
    pub(super) column: Column,
    /// The sites in the first and the second group.
    pub(super) sites: [u32; 2],
    pub(super) distance: f64,
    /// Start and end of the waters of a bridge in the list of the frame.
    pub(super) waters: [u32; 2],
}

/// The sites and the distance (Å) of each occurrence. With water bridges, also the number of waters of each occurrence, and the
/// residues of the waters of all occurrences.
pub type Occurrences = (Vec<[u32; 2]>, Vec<f32>, Option<(Vec<u8>, Vec<u32>)>);

/// Four lists: the columns that were ever found, in ascending order; the column of each entry; the number of occurrences of
/// each entry; and the occurrences, if the table lists them.
///
/// The entries are in the order of the frames and, within a frame, in the order of the columns.
pub type Entries = (Vec<Column>, Vec<u32>, Vec<u32>, Option<Occurrences>);

/// The interactions of a block of frames. The tables of blocks are merged in the order of the blocks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FingerprintTable {
    /// The index of each column, in the order in which the columns were found.
    places: BTreeMap<Column, u32>,
    entries: Vec<u32>,
    counts: Vec<u32>,
    occurrences: Option<Occurrences>,
}

impl FingerprintTable {
    /// Creates the table of no frames.
    pub(super) fn new(keeps_occurrences: bool, has_bridges: bool) -> Self {
        let waters = has_bridges.then(Default::default);
        let occurrences = keeps_occurrences.then(|| (Vec::new(), Vec::new(), waters));
        FingerprintTable { occurrences, ..FingerprintTable::default() }
    }

    /// Adds a frame with these occurrences, which must be sorted by column, and their waters. Returns the number of entries of
    /// the frame.
    pub(super) fn add<'a>(&mut self, found: &[Occurrence], waters_of: impl Fn(&Occurrence) -> &'a [u32]) -> usize {
        let before = self.entries.len();
        for same in found.chunk_by(|one, other| one.column == other.column) {
            let place = self.place(same[0].column);
            self.entries.push(place);
            self.counts.push(same.len() as u32);
        }
        if let Some((sites, distances, bridged)) = &mut self.occurrences {
            sites.extend(found.iter().map(|one| one.sites));
            distances.extend(found.iter().map(|one| one.distance as f32));
            if let Some((n_waters, waters)) = bridged {
                n_waters.extend(found.iter().map(|one| waters_of(one).len() as u8));
                found.iter().for_each(|one| waters.extend_from_slice(waters_of(one)));
            }
        }
        self.entries.len() - before
    }

    fn place(&mut self, column: Column) -> u32 {
        let next = self.places.len() as u32;
        *self.places.entry(column).or_insert(next)
    }

    /// Adds the table of the frames that follow.
    fn append(&mut self, next: FingerprintTable) {
        if self.entries.is_empty() {
            *self = next;
            return;
        }
        let mut moved = vec![0; next.places.len()];
        for (column, place) in next.places {
            moved[place as usize] = self.place(column);
        }
        self.entries.extend(next.entries.into_iter().map(|place| moved[place as usize]));
        self.counts.extend(next.counts);
        if let (Some((sites, distances, bridged)), Some((of_next, farther, more))) =
            (&mut self.occurrences, next.occurrences)
        {
            sites.extend(of_next);
            distances.extend(farther);
            if let (Some((n_waters, waters)), Some((n_more, more))) = (bridged, more) {
                n_waters.extend(n_more);
                waters.extend(more);
            }
        }
    }

    /// Takes the entries of all frames.
    pub fn take(&mut self) -> Entries {
        let (places, occurrences) = (std::mem::take(&mut self.places), self.occurrences.take());
        let (mut entries, counts) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.counts));
        let mut ranks = vec![0; places.len()];
        (0..).zip(places.values()).for_each(|(rank, &place)| ranks[place as usize] = rank);
        entries.iter_mut().for_each(|place| *place = ranks[*place as usize]);
        (places.into_keys().collect(), entries, counts, occurrences)
    }
}

impl Value for FingerprintTable {
    fn expect(&mut self, _n_frames: u64) {}

    fn merge(&mut self, mut next: Own) {
        match &mut next {
            Own::Nothing => {}
            Own::Bytes(bytes) => {
                self.append(
                    postcard::from_bytes(bytes).expect("a table of interactions is what its computation wrote"),
                );
            }
            Own::Here(_) => {
                let next = next.here::<FingerprintTable>().expect("tables of interactions merge with their kind");
                self.append(std::mem::take(next));
            }
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("numbers can be written")
    }
}

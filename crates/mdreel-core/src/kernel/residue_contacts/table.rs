//! Tables of contacts: statistics of each pair that was ever in contact, and the contacts of each frame.

use serde::{Deserialize, Serialize};

use super::places::Places;
use crate::reduce::{Own, Sum, Value};

/// Statistics of a pair over the frames in which it is in contact. Frames are counted from the first frame of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairStatistics {
    /// The numbers of the units.
    pub units: [u32; 2],
    /// The number of frames in contact.
    pub n_frames: u64,
    /// The number of uninterrupted periods in contact.
    pub n_events: u64,
    /// The first frame in contact.
    pub first: u64,
    /// The last frame in contact.
    pub last: u64,
    /// The sum of the distances, Å.
    pub sum: Sum,
    /// The smallest distance, Å.
    pub minimum: f64,
}

/// The pair index and the distance (Å) of each contact, one frame after another.
pub(super) type Series = (Places, Vec<f32>);

/// The contacts of a block of frames. The tables of blocks are merged in the order of the blocks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ContactTable {
    n_frames: u64,
    pairs: Vec<PairStatistics>,
    /// The contacts of each frame; `None` if the table does not list them.
    series: Option<Series>,
    /// For each first unit, its second units in ascending order, each with the index of the pair.
    places: Vec<Vec<(u32, u32)>>,
}

impl ContactTable {
    /// Creates the table of no frames, for units with numbers below `n_units`.
    pub(super) fn new(n_units: usize, keeps_series: bool) -> Self {
        let (series, places) = (keeps_series.then(Default::default), vec![Vec::new(); n_units]);
        ContactTable { series, places, ..ContactTable::default() }
    }

    /// Adds a frame with these contacts.
    pub(super) fn add(&mut self, contacts: &[([u32; 2], f64)]) {
        let frame = self.n_frames;
        self.n_frames += 1;
        for &(units, distance) in contacts {
            let sum = Sum::of(distance);
            let one =
                PairStatistics { units, n_frames: 1, n_events: 1, first: frame, last: frame, sum, minimum: distance };
            let place = self.count(one);
            if let Some((places, distances)) = &mut self.series {
                places.widen_for(self.pairs.len());
                places.push(place);
                distances.push(distance as f32);
            }
        }
    }

    /// Adds the statistics of a pair over later frames, and returns the index of the pair.
    fn count(&mut self, next: PairStatistics) -> u32 {
        let [from, to] = next.units;
        let row = &mut self.places[from as usize];
        match row.binary_search_by_key(&to, |&(to, _)| to) {
            Ok(found) => {
                let place = row[found].1;
                let pair = &mut self.pairs[place as usize];
                pair.n_frames += next.n_frames;
                pair.n_events += next.n_events - u64::from(pair.last + 1 == next.first);
                pair.last = next.last;
                pair.sum += next.sum;
                pair.minimum = pair.minimum.min(next.minimum);
                place
            }
            Err(at) => {
                let place = self.pairs.len() as u32;
                row.insert(at, (to, place));
                self.pairs.push(next);
                place
            }
        }
    }

    /// Adds the table of the frames that follow.
    fn append(&mut self, next: ContactTable) {
        if self.n_frames == 0 {
            *self = next;
            return;
        }
        let before = self.n_frames;
        self.n_frames += next.n_frames;
        let moved = next.pairs.into_iter().map(|pair| {
            let (first, last) = (pair.first + before, pair.last + before);
            self.count(PairStatistics { first, last, ..pair })
        });
        let moved: Vec<u32> = moved.collect();
        if let (Some((places, distances)), Some((of_next, farther))) = (&mut self.series, next.series) {
            places.widen_for(self.pairs.len());
            places.extend_moved(of_next, &moved);
            distances.extend(farther);
        }
    }

    /// Takes the statistics of the pairs, in the order of their units, and the contacts of all frames if they are listed.
    ///
    /// The contacts are in the order of the frames. They consist of the index of the pair in this order and the distance (Å).
    pub fn take(&mut self) -> (Vec<PairStatistics>, Option<Series>) {
        let (pairs, mut series) = (std::mem::take(&mut self.pairs), self.series.take());
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_unstable_by_key(|&place| pairs[place as usize].units);
        if let Some((places, _)) = &mut series {
            let mut ranks = vec![0; pairs.len()];
            (0..).zip(&order).for_each(|(rank, &place)| ranks[place as usize] = rank);
            places.move_all(&ranks);
        }
        (order.into_iter().map(|place| pairs[place as usize].clone()).collect(), series)
    }
}

impl Value for ContactTable {
    fn expect(&mut self, _n_frames: u64) {}

    fn merge(&mut self, mut next: Own) {
        match &mut next {
            Own::Nothing => {}
            Own::Bytes(bytes) => {
                self.append(postcard::from_bytes(bytes).expect("a table of contacts is what its computation wrote"));
            }
            Own::Here(_) => {
                let next = next.here::<ContactTable>().expect("tables of contacts merge with their kind");
                self.append(std::mem::take(next));
            }
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("numbers can be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N_UNITS: u32 = 400;

    /// Returns contacts between consecutive pairs of units, with distances that depend on the pair and the frame.
    fn contacts(pairs: std::ops::Range<usize>, frame: usize) -> Vec<([u32; 2], f64)> {
        let every = (0..N_UNITS).flat_map(|i| (i + 1..N_UNITS).map(move |j| [i, j]));
        let distance = |[i, j]: [u32; 2]| 1.0 + f64::from((7 * i + 13 * j + frame as u32) % 97) / 31.0;
        every.enumerate().filter(|(k, _)| pairs.contains(k)).map(|(_, pair)| (pair, distance(pair))).collect()
    }

    fn table(frames: &[Vec<([u32; 2], f64)>]) -> ContactTable {
        let mut table = ContactTable::new(N_UNITS as usize, true);
        frames.iter().for_each(|found| table.add(found));
        table
    }

    fn merged(tables: impl IntoIterator<Item = ContactTable>, as_bytes: bool) -> ContactTable {
        let mut whole = ContactTable::new(N_UNITS as usize, true);
        for next in tables {
            let here = Own::Here(Box::new(next));
            whole.merge(if as_bytes { here.clone() } else { here });
        }
        whole
    }

    /// Returns the expected indices of the series, from a search for each contact, and the distances.
    fn expected(frames: &[Vec<([u32; 2], f64)>]) -> (Vec<u32>, Vec<f32>) {
        let mut pairs: Vec<[u32; 2]> = frames.iter().flatten().map(|(pair, _)| *pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let of = |(pair, distance): &([u32; 2], f64)| (pairs.binary_search(pair).unwrap() as u32, *distance as f32);
        frames.iter().flatten().map(of).unzip()
    }

    #[test]
    fn places_have_two_bytes_up_to_65536_pairs_however_blocks_merge() {
        for n_pairs in [65_535, 65_536, 65_537] {
            // No single frame has all pairs, and the last pairs appear first in the series.
            let frames =
                [contacts(50_000..n_pairs, 0), contacts(0..20_000, 1), Vec::new(), contacts(10_000..60_000, 3)];
            let whole = table(&frames).take();
            let (_, Some((places, distances))) = &whole else { panic!("the series is kept") };
            assert_eq!(matches!(places, Places::Short(_)), n_pairs <= 65_536, "{n_pairs} pairs");
            assert_eq!((places.to_long(), distances.clone()), expected(&frames));
            for as_bytes in [false, true] {
                let each = || frames.each_ref().map(|found| table(std::slice::from_ref(found)));
                assert_eq!(merged(each(), as_bytes).take(), whole);
                let [a, b, c, d] = each();
                let (left, right) = (merged([a, b, c], as_bytes), merged([d], as_bytes));
                assert_eq!(merged([left, right], as_bytes).take(), whole);
                let [a, b, c, d] = each();
                assert_eq!(merged([a, merged([b, merged([c, d], as_bytes)], as_bytes)], as_bytes).take(), whole);
            }
        }
    }
}

//! Reading into rows of the caller in two ways: rows that take values directly from the file, and rows that take
//! columns.

use mdreel_core::block::FrameSet;
use mdreel_core::error::Result;
use mdreel_core::frame::{Columns, FrameHeader, Quantities, Quantity};
use mdreel_core::pool::Unattended;
use mdreel_core::read_into::Job;
use mdreel_core::source::damage::Damage;
use mdreel_core::source::read::{FrameArray, read_frames};
use mdreel_core::source::rows::Rows;
use mdreel_core::source::{AtomSelection, Source};

/// The initial value of rows, which shows that they were not written.
const UNTOUCHED: f32 = -7.5;

/// Some rows of each quantity.
struct Portion {
    n_atoms: usize,
    takes_values: bool,
    quantities: Vec<(Quantity, Vec<[f32; 3]>)>,
    /// Number of rows that were written as columns.
    n_columns: usize,
}

impl Portion {
    fn row(&mut self, row: usize, quantity: Quantity) -> &mut [[f32; 3]] {
        let (_, values) = self.quantities.iter_mut().find(|(of, _)| *of == quantity).expect("a wanted quantity");
        &mut values[row * self.n_atoms..][..self.n_atoms]
    }
}

impl Rows for &mut Portion {
    fn write(&mut self, row: usize, quantity: Quantity, columns: Option<Columns<'_>>) {
        self.n_columns += usize::from(columns.is_some());
        for (i, atom) in self.row(row, quantity).iter_mut().enumerate() {
            *atom = columns.map_or([f32::NAN; 3], |Columns { x, y, z }| [x[i], y[i], z[i]]);
        }
    }

    fn values(&mut self, row: usize, quantity: Quantity) -> Option<&mut [[f32; 3]]> {
        self.takes_values.then(|| self.row(row, quantity))
    }
}

/// The result of reading: the bits of each quantity in each portion, the headers and the damage.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub values: Vec<Vec<(Quantity, Vec<u32>)>>,
    pub headers: Vec<Vec<FrameHeader>>,
    pub damage: Vec<Damage>,
}

/// Reads frames into rows. The second returned value is the number of rows that were written as columns.
pub(crate) fn read_rows(
    source: &dyn Source,
    atoms: &AtomSelection,
    wanted: Quantities,
    frames: &FrameSet,
    (portion_frames, n_workers): (u64, usize),
    takes_values: bool,
) -> Result<(Outcome, usize)> {
    let portion = |start: u64| {
        let n_rows = portion_frames.min(frames.len() - start) as usize;
        let empty = |quantity| (quantity, vec![[UNTOUCHED; 3]; n_rows * atoms.len()]);
        Portion { n_atoms: atoms.len(), takes_values, quantities: wanted.iter().map(empty).collect(), n_columns: 0 }
    };
    let mut portions: Vec<Portion> = (0..frames.len()).step_by(portion_frames as usize).map(portion).collect();
    let job = Job { source, atoms, wanted, frames, portion_frames };
    let read = job.read_into(portions.iter_mut().collect(), n_workers, &mut Unattended)?;
    let n_columns = portions.iter().map(|portion| portion.n_columns).sum();
    let bits = |(quantity, values): (Quantity, Vec<[f32; 3]>)| {
        (quantity, values.as_flattened().iter().map(|value| value.to_bits()).collect())
    };
    let values = portions.into_iter().map(|portion| portion.quantities.into_iter().map(bits).collect()).collect();
    Ok((Outcome { values, headers: read.headers, damage: read.damage }, n_columns))
}

fn bits_of(array: &FrameArray, quantity: Quantity) -> Vec<u32> {
    let values = match quantity {
        Quantity::Positions => &array.positions,
        Quantity::Velocities => &array.velocities,
        Quantity::Forces => &array.forces,
    };
    values.iter().map(|value| value.to_bits()).collect()
}

/// Checks that rows contain the same bits as frames that are read one after another. The function reads all quantities
/// together and each quantity alone, with several portion sizes and numbers of threads. Rows that take values must get
/// no columns.
pub(crate) fn check_rows(source: &dyn Source, atoms: &AtomSelection, wanted: Quantities, frames: &FrameSet) {
    let right = read_frames(source, atoms, frames, wanted).expect("good frames");
    let alone = wanted.iter().map(|quantity| Quantities::NONE.with(quantity, true));
    for (wanted, way) in std::iter::once(wanted).chain(alone).zip([(2, 2), (100, 1), (1, 1), (3, 1)]) {
        let (straight, n_columns) = read_rows(source, atoms, wanted, frames, way, true).expect("good frames");
        assert_eq!(n_columns, 0, "rows of columns");
        let (columns, _) = read_rows(source, atoms, wanted, frames, way, false).expect("good frames");
        for outcome in [straight, columns] {
            for (k, quantity) in wanted.iter().enumerate() {
                let bits: Vec<u32> = outcome.values.iter().flat_map(|portion| portion[k].1.clone()).collect();
                assert!(bits == bits_of(&right, quantity), "{} of {frames:?}", quantity.name());
            }
            let headers = outcome.headers.concat();
            assert_eq!(headers.len(), right.headers.len());
            for (header, right) in headers.iter().zip(&right.headers) {
                let present = wanted.both(right.present);
                assert_eq!(FrameHeader { present, ..*header }, FrameHeader { present, ..*right });
                assert_eq!(wanted.both(header.present), present);
            }
        }
    }
}
